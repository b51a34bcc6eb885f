//! The wait of a kernel thread for a descriptor.

use core::ffi::{c_int, c_short};
use std::io;
use std::os::fd::RawFd;

/// Waits until one of `events` has come, for at most `most_ms` milliseconds; -1 means no limit.
/// Returns `false` if no event has come, or if a signal ended the wait.
///
/// # Errors
/// `EBADF` for a descriptor that is not open; what the system says.
pub(crate) fn poll(fd: RawFd, events: c_short, most_ms: c_int) -> io::Result<bool> {
    let mut ask = libc::pollfd { fd, events, revents: 0 };
    // SAFETY: 1. The call gets one entry, which only we use.
    match unsafe { libc::poll(&raw mut ask, 1, most_ms) } {
        0.. if ask.revents & libc::POLLNVAL != 0 => Err(io::Error::from_raw_os_error(libc::EBADF)),
        0.. => Ok(ask.revents != 0),
        _ => match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::Interrupted => Ok(false),
            error => Err(error),
        },
    }
}
