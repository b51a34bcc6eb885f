//! A `pthread_attr_t`, which is destroyed when it is dropped. `attributes.rs` has our attributes.

use core::mem::MaybeUninit;
use std::io;

/// The platform's attributes of a thread, freed when dropped.
pub(crate) struct Attr(libc::pthread_attr_t);

impl Attr {
    pub(crate) fn new() -> io::Result<Self> {
        let mut attr = MaybeUninit::uninit();
        // SAFETY: 1. Memory for attributes, which the call fills.
        match unsafe { libc::pthread_attr_init(attr.as_mut_ptr()) } {
            // SAFETY: 1. The call has filled them.
            0 => Ok(Self(unsafe { attr.assume_init() })),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }

    pub(crate) fn as_mut_ptr(&mut self) -> *mut libc::pthread_attr_t {
        &raw mut self.0
    }

    /// Returns the attributes of the calling thread.
    #[cfg(target_os = "linux")]
    pub(crate) fn of_caller() -> Option<Self> {
        let mut attr = MaybeUninit::uninit();
        // SAFETY: 1. The call has no arguments and no preconditions.
        let me = unsafe { libc::pthread_self() };
        // SAFETY: 1. `me` is the calling thread. 2. `attr` has room for attributes, and the call
        // fills it when it returns 0.
        let got = unsafe { libc::pthread_getattr_np(me, attr.as_mut_ptr()) };
        // SAFETY: 1. Filled.
        (got == 0).then(|| Self(unsafe { attr.assume_init() }))
    }

    /// Returns the attributes of the calling thread.
    #[cfg(target_os = "freebsd")]
    pub(crate) fn of_caller() -> Option<Self> {
        let mut attr = Self::new().ok()?;
        // SAFETY: 1. The call has no arguments and no preconditions.
        let me = unsafe { libc::pthread_self() };
        // SAFETY: 1. `me` is the calling thread. 2. The attributes are filled.
        let got = unsafe { libc::pthread_attr_get_np(me, attr.as_mut_ptr()) };
        (got == 0).then_some(attr)
    }
}

impl Drop for Attr {
    fn drop(&mut self) {
        // SAFETY: 1. The attributes were filled, and are freed once.
        unsafe {
            libc::pthread_attr_destroy(&raw mut self.0);
        }
    }
}
