//! A mailbox in memory that two processes map.
#![allow(unsafe_code, reason = "mapping memory, and saying what lies in it")]

use core::ops::Deref;
use core::ptr::{self, NonNull};
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fstat, ftruncate, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use super::mailbox::Mailbox;

/// A mapped mailbox, unmapped when dropped.
#[derive(Debug)]
pub(crate) struct Shared(NonNull<Mailbox>);

// SAFETY: 1. it owns its mapping, which any thread may use and unmap; 2. what lies there is shared
// by atomics alone.
unsafe impl Send for Shared {}
// SAFETY: 1. a `&Shared` gives no more than a `&Mailbox`, which is `Sync`.
unsafe impl Sync for Shared {}

/// Memory without a name for one empty mailbox, whose size cannot change any more.
///
/// # Errors
/// When the system has none.
pub(crate) fn memory() -> io::Result<OwnedFd> {
    let fd = memfd_create("tickwright-mailbox", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    ftruncate(&fd, size_of::<Mailbox>() as u64)?;
    fcntl_add_seals(&fd, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
    Ok(fd)
}

impl Shared {
    /// Maps what [`memory`] gave, here or in the parent.
    ///
    /// # Errors
    /// When it is something else, or cannot be mapped.
    pub(crate) fn map(memory: impl AsFd) -> io::Result<Self> {
        if fstat(&memory)?.st_size != size_of::<Mailbox>() as i64 {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "standard input is no mailbox"));
        }
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: 1. no address is asked for, so nothing that is in use is replaced.
        let mapped =
            unsafe { mmap(ptr::null_mut(), size_of::<Mailbox>(), access, MapFlags::SHARED, memory, 0) }?;
        NonNull::new(mapped.cast()).map(Self).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
    }
}

impl Deref for Shared {
    type Target = Mailbox;

    #[inline]
    fn deref(&self) -> &Mailbox {
        // SAFETY: 1. the mapping is as long as a mailbox (the file is, and is sealed),
        // page-aligned, and lives as long as `self`; 2. a mailbox is atomics alone, for which any
        // bytes are valid and writes from elsewhere are allowed.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: 1. this is what `map` mapped; 2. borrows of it have ended, since they borrow
        // `self`.
        let unmapped = unsafe { munmap(self.0.as_ptr().cast(), size_of::<Mailbox>()) };
        debug_assert!(unmapped.is_ok(), "it was mapped");
    }
}
