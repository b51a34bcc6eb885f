//! Waiting for descriptors.

use std::io;
use std::os::fd::{AsFd, AsRawFd as _};

use crate::here;
use crate::poll::poll;

/// Waits until `source` can be read from without waiting, or has failed or ended. In the M:N model
/// the thread waits, not its worker. A regular file is always ready. Several threads may wait for
/// one descriptor, to read and to write: each goes on when it is ready for that, wherever they were
/// placed.
///
/// # Errors
/// What the platform says.
pub fn readable(source: &impl AsFd) -> io::Result<()> {
    wait(source, false)
}

/// The same for writing.
///
/// # Errors
/// As [`readable`].
pub fn writable(source: &impl AsFd) -> io::Result<()> {
    wait(source, true)
}

fn wait(source: &impl AsFd, writable: bool) -> io::Result<()> {
    let fd = source.as_fd().as_raw_fd();
    match here::with(|host| host.wait_for_descriptor(fd, writable)).flatten() {
        // A regular file, or another descriptor that is always ready: `poll` below returns at once.
        Some(Err(error)) if error.raw_os_error() == Some(libc::EPERM) => {}
        Some(waited) => return waited,
        None => {}
    }
    let events = if writable { libc::POLLOUT } else { libc::POLLIN };
    while !poll(fd, events, -1)? {}
    Ok(())
}
