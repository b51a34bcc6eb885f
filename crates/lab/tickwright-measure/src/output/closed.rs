//! Finds out whether standard output was closed when the program began (`>&-` of a shell).
//!
//! The runtime of the standard library replaces a closed standard stream by /dev/null before
//! `main`. Later, that stream cannot be distinguished from a stream that the user redirected to
//! /dev/null. Therefore the check runs before the runtime starts, as a constructor of the program.

use std::io;

#[cfg(target_os = "linux")]
mod constructor {
    use core::sync::atomic::{AtomicBool, Ordering};

    static WAS_CLOSED: AtomicBool = AtomicBool::new(false);

    extern "C" fn look() {
        let is_closed = rustix::io::fcntl_getfd(rustix::stdio::stdout()).is_err();
        WAS_CLOSED.store(is_closed, Ordering::Relaxed);
    }

    // SAFETY: 1. The section holds pointers to functions of the C ABI, and `look` is one. 2. `look`
    // needs nothing of the standard library's runtime: it makes one system call and stores a bool.
    #[allow(unsafe_code, reason = "a constructor, which runs before the standard library's runtime")]
    #[used]
    #[unsafe(link_section = ".init_array")]
    static LOOK: extern "C" fn() = look;

    pub(super) fn was_closed() -> bool {
        WAS_CLOSED.load(Ordering::Relaxed)
    }
}

/// Returns whether the program was started without a standard output.
pub(super) fn stdout_was_closed() -> bool {
    #[cfg(target_os = "linux")]
    return constructor::was_closed();
    #[cfg(not(target_os = "linux"))]
    return false;
}

/// Returns the error of a write to a closed descriptor.
pub(super) fn error() -> io::Error {
    #[cfg(unix)]
    return rustix::io::Errno::BADF.into();
    #[cfg(not(unix))]
    return io::ErrorKind::BrokenPipe.into();
}
