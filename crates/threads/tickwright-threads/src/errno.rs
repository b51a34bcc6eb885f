//! Where the platform keeps a kernel thread's `errno`.

use core::ffi::c_int;

/// Returns the address of the calling kernel thread's `errno`, or null on platforms where we do not
/// know it.
pub(crate) fn errno() -> *mut c_int {
    // SAFETY: 1. The call has no arguments and no preconditions.
    #[cfg(target_os = "linux")]
    return unsafe { libc::__errno_location() };
    // SAFETY: 1. The call has no arguments and no preconditions.
    #[cfg(any(target_vendor = "apple", target_os = "freebsd"))]
    return unsafe { libc::__error() };
    #[cfg(not(any(target_os = "linux", target_vendor = "apple", target_os = "freebsd")))]
    return core::ptr::null_mut();
}

/// The value of `errno` before a signal handler ran.
pub(crate) struct Errno(c_int);

impl Errno {
    pub(crate) fn save() -> Self {
        let at = errno();
        // SAFETY: 1. The address is null, or that of the calling thread's `errno`.
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
