//! Waits until a descriptor is readable or writable.

use core::ffi::{c_int, c_short};
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, RawFd};

use crate::host;

/// Waits until a read from `source` would not block, because there is data, the end of the file, or
/// an error. In the M:N model only the calling thread waits, and its worker runs other threads. A
/// regular file is always ready. Several threads, on the same worker or on different workers, can
/// wait for the same descriptor, to read or to write. Each thread continues when the descriptor is
/// ready for its operation.
///
/// # Errors
/// The error of the platform.
pub fn readable(source: &impl AsFd) -> io::Result<()> {
    wait(source, false)
}

/// Like [`readable`], but for writing.
///
/// # Errors
/// The same as for [`readable`].
pub fn writable(source: &impl AsFd) -> io::Result<()> {
    wait(source, true)
}

fn wait(source: &impl AsFd, writable: bool) -> io::Result<()> {
    let fd = source.as_fd().as_raw_fd();
    match host::with(|host| host.wait_for_descriptor(fd, writable)).flatten() {
        // `EPERM` means that the descriptor is always ready, like a regular file, so `poll` below
        // returns at once.
        Some(Err(error)) if error.raw_os_error() == Some(libc::EPERM) => {}
        Some(waited) => return waited,
        None => {}
    }
    let events = if writable { libc::POLLOUT } else { libc::POLLIN };
    while !poll(fd, events, -1)? {}
    Ok(())
}

/// Waits until one of `events` has come, for at most `most_ms` milliseconds, where -1 means no
/// limit. Returns `false` if no event has come, or if a signal ended the wait.
///
/// # Errors
/// `EBADF` for a descriptor that is not open, or another error of the system.
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
