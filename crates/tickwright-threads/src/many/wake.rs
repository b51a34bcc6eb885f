//! A pipe that a worker sleeps at, as NGPT's did.

use core::time::Duration;
use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};

#[derive(Debug)]
pub(super) struct Pipe {
    read: OwnedFd,
    write: OwnedFd,
}

impl Pipe {
    pub(super) fn new() -> io::Result<Self> {
        let mut ends = [0; 2];
        // SAFETY: 1. A place for two descriptors.
        if unsafe { libc::pipe(ends.as_mut_ptr()) } != 0 {
            return Err(io::Error::last_os_error());
        }
        for end in ends {
            // SAFETY: 1. Our descriptor, and numbers.
            unsafe {
                libc::fcntl(end, libc::F_SETFD, libc::FD_CLOEXEC);
            }
            // SAFETY: as above.
            unsafe {
                libc::fcntl(end, libc::F_SETFL, libc::O_NONBLOCK);
            }
        }
        // SAFETY: 1. Open, and nobody else's.
        let read = unsafe { OwnedFd::from_raw_fd(ends[0]) };
        // SAFETY: as above.
        let write = unsafe { OwnedFd::from_raw_fd(ends[1]) };
        Ok(Self { read, write })
    }

    /// Wakes who sleeps. A full pipe wakes as well.
    pub(super) fn write(&self) {
        // SAFETY: 1. One byte to read from.
        unsafe {
            libc::write(self.write.as_raw_fd(), b"w".as_ptr().cast(), 1);
        }
    }

    /// Sleeps until written to, and takes what was written.
    pub(super) fn sleep(&self, most: Option<Duration>) {
        let mut ask = libc::pollfd { fd: self.read.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        let most =
            most.map_or(-1, |most| i32::try_from(most.as_nanos().div_ceil(1_000_000)).unwrap_or(i32::MAX));
        // SAFETY: 1. One entry.
        if unsafe { libc::poll(&raw mut ask, 1, most) } > 0 {
            let mut taken = [0_u8; 64];
            // SAFETY: 1. Room for so many bytes.
            unsafe {
                libc::read(self.read.as_raw_fd(), taken.as_mut_ptr().cast(), taken.len());
            }
        }
    }
}
