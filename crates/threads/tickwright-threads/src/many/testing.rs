//! The ways of NGPT, in which the M:N model can work at single steps, to be measured beside ours.
#![cfg_attr(not(feature = "testing"), allow(dead_code, unreachable_pub, reason = "all steps are ours"))]

use core::time::Duration;
use std::io::{self, PipeReader, PipeWriter, Read as _, Write as _};
use std::os::fd::AsRawFd as _;

use crate::io::poll;

/// Switches between our way and NGPT's at single steps of a thread's life, with the feature
/// `testing`. NGPT's other ways are settings: no [guard](super::ManyToMany::guard), no stack that
/// is [kept](super::ManyToMany::keep), a name for each thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Knobs {
    /// One lock guards the queues of all workers, instead of a lock for each worker. Even so, a
    /// thread that has begun stays on its worker.
    pub global_queue: bool,
    /// Every switch makes a system call for the signal mask, as `swapcontext` does.
    pub sigmask_per_switch: bool,
    /// A byte in a pipe wakes a sleeping worker, instead of a futex.
    pub pipe_wake: bool,
}

impl Knobs {
    /// This library's way: all knobs are off.
    #[must_use]
    pub const fn ours() -> Self {
        Self { global_queue: false, sigmask_per_switch: false, pipe_wake: false }
    }

    /// NGPT 2.2's way: all knobs are on.
    #[must_use]
    pub const fn ngpt() -> Self {
        Self { global_queue: true, sigmask_per_switch: true, pipe_wake: true }
    }
}

/// What `swapcontext` does at every switch: asks for the signal mask.
#[cold]
pub(super) fn ask_for_signal_mask() {
    // SAFETY: 1. The call changes nothing and writes nothing.
    unsafe {
        libc::pthread_sigmask(libc::SIG_BLOCK, core::ptr::null(), core::ptr::null_mut());
    }
}

/// A pipe on which a worker sleeps.
pub(super) struct Pipe {
    read: PipeReader,
    write: PipeWriter,
}

impl Pipe {
    /// Both ends are closed on `exec`. On a platform without `pipe2`, a program that another thread
    /// executes at this moment may inherit them.
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

    /// Wakes the thread that sleeps. If the pipe is full, the thread wakes anyway.
    pub(super) fn write(&self) {
        let _ = (&self.write).write(b"w");
    }

    /// Sleeps until the pipe is written to or `most` is over, and reads what was written.
    pub(super) fn sleep(&self, most: Option<Duration>) {
        let most =
            most.map_or(-1, |most| i32::try_from(most.as_nanos().div_ceil(1_000_000)).unwrap_or(i32::MAX));
        if poll(self.read.as_raw_fd(), libc::POLLIN, most).unwrap_or(false) {
            let _ = (&self.read).read(&mut [0; 64]);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_executed_inherits_no_end() {
        let pipe = Pipe::new().unwrap();
        for end in [pipe.read.as_raw_fd(), pipe.write.as_raw_fd()] {
            // SAFETY: 1. The call only reads a flag of our descriptor.
            let flags = unsafe { libc::fcntl(end, libc::F_GETFD) };
            assert_eq!(flags & libc::FD_CLOEXEC, libc::FD_CLOEXEC);
        }
    }

    #[test]
    fn a_sleeper_takes_what_was_written() {
        let pipe = Pipe::new().unwrap();
        let ready = || {
            let mut ask = libc::pollfd { fd: pipe.read.as_raw_fd(), events: libc::POLLIN, revents: 0 };
            // SAFETY: 1. One entry.
            unsafe { libc::poll(&raw mut ask, 1, 0) }
        };
        pipe.write();
        pipe.write();
        assert_eq!(ready(), 1);
        pipe.sleep(None);
        assert_eq!(ready(), 0, "else every later sleep ends at once");
    }
}
