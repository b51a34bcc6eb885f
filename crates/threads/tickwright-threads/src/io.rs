//! Waiting for descriptors.

use std::io;
use std::os::fd::{AsFd, AsRawFd as _};

use crate::here;
use crate::poll::poll;

/// Waits until a read from `source` would not wait: there is data, an end or an error. In the M:N
/// model only the thread waits, and its worker runs other threads. A regular file is always ready.
/// Several threads may wait for one descriptor, to read or to write, on any workers. Each goes on
/// when the descriptor is ready for its operation.
///
/// # Errors
/// The error of the platform.
pub fn readable(source: &impl AsFd) -> io::Result<()> {
    wait(source, false)
}

/// Like [`readable`], but for writing.
///
/// # Errors
/// As [`readable`].
pub fn writable(source: &impl AsFd) -> io::Result<()> {
    wait(source, true)
}

fn wait(source: &impl AsFd, writable: bool) -> io::Result<()> {
    let fd = source.as_fd().as_raw_fd();
    match here::with(|host| host.wait_for_descriptor(fd, writable)).flatten() {
        // `EPERM`: the descriptor is always ready, like a regular file. `poll` below returns at
        // once.
        Some(Err(error)) if error.raw_os_error() == Some(libc::EPERM) => {}
        Some(waited) => return waited,
        None => {}
    }
    let events = if writable { libc::POLLOUT } else { libc::POLLIN };
    while !poll(fd, events, -1)? {}
    Ok(())
}
