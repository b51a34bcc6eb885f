//! A mailbox in memory that two processes map, and its two ends.
#![allow(unsafe_code, reason = "mapping memory, and saying what lies in it")]

use core::ops::Deref;
use core::ptr::{self, NonNull};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fstat, ftruncate, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use super::channel::{Channel, Port, Reply, Request};
use super::mailbox::{Mailbox, Waiting};

/// A mapped mailbox, unmapped when dropped.
#[derive(Debug)]
pub(crate) struct Shared(NonNull<Mailbox>);

// SAFETY: 1. a `Shared` owns its mapping, which any thread may use and unmap; 2. threads share its
// contents only through atomics.
unsafe impl Send for Shared {}
// SAFETY: 1. a `&Shared` gives access only to a `&Mailbox`, which is `Sync`.
unsafe impl Sync for Shared {}

/// Creates anonymous memory for one empty mailbox. The size of the memory is sealed.
pub(crate) fn memory() -> io::Result<OwnedFd> {
    let fd = memfd_create("tickwright-mailbox", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    ftruncate(&fd, size_of::<Mailbox>() as u64)?;
    fcntl_add_seals(&fd, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
    Ok(fd)
}

impl Shared {
    /// Maps the memory that [`memory`] created, in this process or in its parent.
    ///
    /// # Errors
    /// The memory is of another kind, or cannot be mapped.
    pub(crate) fn map(memory: impl AsFd) -> io::Result<Self> {
        if fstat(&memory)?.st_size != size_of::<Mailbox>() as i64 {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "standard input is no mailbox"));
        }
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: 1. no address is requested, so the call replaces no existing mapping.
        let mapped =
            unsafe { mmap(ptr::null_mut(), size_of::<Mailbox>(), access, MapFlags::SHARED, memory, 0) }?;
        NonNull::new(mapped.cast()).map(Self).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
    }
}

impl Deref for Shared {
    type Target = Mailbox;

    #[inline]
    fn deref(&self) -> &Mailbox {
        // SAFETY: 1. The mapping is as long as a mailbox (the file has that size and is sealed),
        // page-aligned, and lives as long as `self`. 2. A mailbox consists of atomics. Any bytes
        // are valid for atomics, and other processes may write them.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: 1. `map` created this mapping; 2. borrows of the mailbox have ended, since they
        // borrow `self`.
        let unmapped = unsafe { munmap(self.0.as_ptr().cast(), size_of::<Mailbox>()) };
        debug_assert!(unmapped.is_ok(), "it was mapped");
    }
}

/// A client's or server's end of a mailbox. The first end that is dropped hangs up.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) mailbox: Arc<Shared>,
    pub(crate) waiting: Waiting,
}

/// Returns the client's and the server's end of a mailbox.
pub(super) fn ends(mailbox: Shared, waiting: Waiting) -> (End, End) {
    let mailbox = Arc::new(mailbox);
    (End { mailbox: Arc::clone(&mailbox), waiting }, End { mailbox, waiting })
}

/// Hangs up, also during a panic, and wakes the other end.
impl Drop for End {
    fn drop(&mut self) {
        self.mailbox.close(self.waiting);
    }
}

impl Channel for End {
    fn call(&mut self, request: Request) -> io::Result<Reply> {
        let Request { number, target, token } = request;
        self.mailbox.requests.post([number, target, token], self.waiting)?;
        let words = self.mailbox.replies.take(self.waiting)?;
        let [number, answer, _] = words.ok_or(io::ErrorKind::UnexpectedEof)?;
        Ok(Reply { number, answer })
    }
}

impl Port for End {
    fn receive(&mut self) -> io::Result<Option<Request>> {
        let words = self.mailbox.requests.take(self.waiting)?;
        Ok(words.map(|[number, target, token]| Request { number, target, token }))
    }

    fn answer(&mut self, reply: Reply) -> io::Result<()> {
        self.mailbox.replies.post([reply.number, reply.answer, 0], self.waiting)
    }
}
