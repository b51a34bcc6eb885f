//! The signal mask of a kernel thread.

use core::mem::MaybeUninit;

/// The signals that a thread blocks.
#[derive(Clone, Copy)]
pub(crate) struct Mask(libc::sigset_t);

impl Mask {
    /// The caller's.
    pub(crate) fn current() -> Self {
        Self::replace(libc::SIG_BLOCK, None)
    }

    /// Makes this mask the caller's.
    pub(crate) fn set(&self) {
        Self::replace(libc::SIG_SETMASK, Some(&self.0));
    }

    #[cfg(test)]
    pub(crate) fn raw(&self) -> *const libc::sigset_t {
        &raw const self.0
    }

    /// Blocks all signals for the caller.
    pub(crate) fn block_all() {
        let mut all = MaybeUninit::uninit();
        // SAFETY: 1. `all` has room for a set, and the call fills it.
        unsafe {
            libc::sigfillset(all.as_mut_ptr());
        }
        // SAFETY: 1. Filled.
        Self(unsafe { all.assume_init() }).set();
    }

    fn replace(how: i32, with: Option<&libc::sigset_t>) -> Self {
        let mut before = MaybeUninit::<libc::sigset_t>::zeroed();
        let with = with.map_or(core::ptr::null(), core::ptr::from_ref);
        // SAFETY: 1. `with` is null or a filled set, and `before` has room for a set. The call
        // cannot fail with these arguments.
        unsafe {
            libc::pthread_sigmask(how, with, before.as_mut_ptr());
        }
        // SAFETY: 1. A set consists of plain numbers: zeros, or those that the call has written.
        Self(unsafe { before.assume_init() })
    }
}
