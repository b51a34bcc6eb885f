//! A pipe on which a worker sleeps, as in NGPT.

use core::time::Duration;
use std::io::{self, PipeReader, PipeWriter, Read as _, Write as _};
use std::os::fd::AsRawFd as _;

use crate::io::poll;

pub(super) struct Pipe {
    read: PipeReader,
    write: PipeWriter,
}

impl Pipe {
    /// Creates a pipe. Both ends are closed on `exec`. On a platform without `pipe2`, a program
    /// that another thread starts at the same moment can inherit them.
    pub(super) fn new() -> io::Result<Self> {
        let (read, write) = io::pipe()?;
        for end in [read.as_raw_fd(), write.as_raw_fd()] {
            // SAFETY: 1. The arguments are our descriptor and numbers.
            if unsafe { libc::fcntl(end, libc::F_SETFL, libc::O_NONBLOCK) } != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(Self { read, write })
    }

    /// Wakes the thread that sleeps on the pipe. A full pipe is not an error, because the thread
    /// wakes anyway.
    pub(super) fn write(&self) {
        let _ = (&self.write).write(b"w");
    }

    /// Sleeps until a byte is written to the pipe or `most` has passed, and then empties the pipe.
    pub(super) fn sleep(&self, most: Option<Duration>) {
        let most =
            most.map_or(-1, |most| i32::try_from(most.as_nanos().div_ceil(1_000_000)).unwrap_or(i32::MAX));
        if poll(self.read.as_raw_fd(), libc::POLLIN, most).unwrap_or(false) {
            let _ = (&self.read).read(&mut [0; 64]);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
