//! The memory of stacks. Each stack is one mapping, with or without a guard. The sizes come from
//! the thread's attributes (`attributes.rs`), or else from the settings of the model
//! (`many/settings.rs`, `kernel/one_to_one.rs`).

use core::ops::Range;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::io::{self, Read as _};
use std::sync::Arc;

use crate::error::CreateError;

/// The addresses of a stack, and of the guard right below it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Span {
    guard: usize,
    start: usize,
    end: usize,
}

impl Span {
    pub(crate) fn stack(self) -> Range<usize> {
        self.start..self.end
    }

    pub(crate) fn guard(self) -> Range<usize> {
        self.guard..self.start
    }
}

/// A mapping, which consists of the inaccessible guard and the stack above it.
pub(crate) struct Mapping {
    span: Span,
    /// The shared count of mappings, in which this mapping is included.
    count: Option<Arc<AtomicUsize>>,
}

/// FreeBSD never reserves memory for a mapping. macOS has no flag for mappings of stacks.
#[cfg(not(any(target_os = "freebsd", target_vendor = "apple")))]
const KIND: i32 = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_STACK;
#[cfg(target_os = "freebsd")]
const KIND: i32 = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
#[cfg(target_vendor = "apple")]
const KIND: i32 = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;

impl Mapping {
    /// Maps a stack. Both sizes are in bytes, and are multiples of the page size. The platform
    /// provides each page when it is first touched.
    pub(crate) fn new(stack: usize, guard: usize) -> io::Result<Self> {
        let len = stack + guard;
        // SAFETY: 1. The platform chooses the address, so the new mapping replaces no other
        // mapping.
        let base = unsafe {
            libc::mmap(core::ptr::null_mut(), len, libc::PROT_READ | libc::PROT_WRITE, KIND, -1, 0)
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let at = base.expose_provenance();
        let mapping = Self { span: Span { guard: at, start: at + guard, end: at + len }, count: None };
        // SAFETY: 1. The first `guard` bytes belong to our mapping, and hold no data.
        if guard > 0 && unsafe { libc::mprotect(base, guard, libc::PROT_NONE) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(mapping)
    }

    /// Makes the drop of the mapping subtract 1 from `count`, to which the caller has added 1.
    pub(crate) fn counted(mut self, count: Arc<AtomicUsize>) -> Self {
        self.count = Some(count);
        self
    }

    /// Returns the addresses of the mapping.
    pub(crate) fn span(&self) -> Span {
        self.span
    }

    /// Returns the stack's addresses, without the guard.
    pub(crate) fn stack(&self) -> Range<usize> {
        self.span.stack()
    }

    /// Returns the addresses of the guard.
    pub(crate) fn guard(&self) -> Range<usize> {
        self.span.guard()
    }
}

/// Returns the reason why no stack could be mapped: [`CreateError::MapCount`] if the number of
/// mappings has reached the host's limit, and otherwise the result of `other` for the platform's
/// error.
pub(crate) fn why_none(error: io::Error, other: impl FnOnce(io::Error) -> CreateError) -> CreateError {
    let bound = (error.raw_os_error() == Some(libc::ENOMEM)).then(mappings).flatten();
    match bound {
        // A stack with a guard takes two mappings, because the platform splits the guard off.
        Some((have, most)) if have + 2 > most => CreateError::MapCount { have, most },
        _ => other(error),
    }
}

/// Returns the number of mappings of the process, and the largest number that the host allows. The
/// function counts the lines of a file, which can take milliseconds, so it is called only after an
/// error.
fn mappings() -> Option<(usize, usize)> {
    let most = std::fs::read_to_string("/proc/sys/vm/max_map_count").ok()?.trim().parse().ok()?;
    let mut maps = std::fs::File::open("/proc/self/maps").ok()?;
    // The buffer is small, because a thread with a small stack can run this.
    let (mut have, mut part) = (0, [0_u8; 1024]);
    loop {
        match maps.read(&mut part).ok()? {
            0 => return Some((have, most)),
            read => have += part.iter().take(read).filter(|byte| **byte == b'\n').count(),
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: 1. The mapping is ours, and is unmapped once. 2. The owner of the mapping owns
        // the code that runs on it, and none runs any more.
        unsafe {
            let Span { guard, end, .. } = self.span;
            libc::munmap(core::ptr::with_exposed_provenance_mut(guard), end - guard);
        }
        if let Some(count) = &self.count {
            count.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
