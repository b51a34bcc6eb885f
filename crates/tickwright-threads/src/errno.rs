//! Where the platform keeps a kernel thread's `errno`.

use core::ffi::c_int;

/// The place of the calling kernel thread's `errno`. Null where we do not know it.
#[cfg(target_os = "linux")]
pub(crate) fn errno() -> *mut c_int {
    // SAFETY: 1. A question without arguments.
    unsafe { libc::__errno_location() }
}

/// The place of the calling kernel thread's `errno`. Null where we do not know it.
#[cfg(any(target_vendor = "apple", target_os = "freebsd"))]
pub(crate) fn errno() -> *mut c_int {
    // SAFETY: 1. A question without arguments.
    unsafe { libc::__error() }
}

/// The place of the calling kernel thread's `errno`. Null where we do not know it.
#[cfg(not(any(target_os = "linux", target_vendor = "apple", target_os = "freebsd")))]
pub(crate) fn errno() -> *mut c_int {
    core::ptr::null_mut()
}

/// What `errno` was before a signal handler.
pub(crate) struct Errno(c_int);

impl Errno {
    pub(crate) fn save() -> Self {
        let at = errno();
        // SAFETY: 1. Null, or the calling thread's.
        Self(unsafe { at.as_ref() }.copied().unwrap_or(0))
    }

    pub(crate) fn restore(self) {
        let at = errno();
        if !at.is_null() {
            // SAFETY: 1. The calling thread's.
            unsafe { at.write(self.0) };
        }
    }
}
