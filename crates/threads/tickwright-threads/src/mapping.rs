//! Memory for stacks: one mapping for each stack, with or without a guard.

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

/// A mapping: the guard, which nobody may touch, and above it the stack.
pub(crate) struct Mapping {
    span: Span,
    /// The number of counted mappings, this one included.
    count: Option<Arc<AtomicUsize>>,
}

/// FreeBSD reserves no memory for a mapping anyway. macOS knows no mappings of stacks.
#[cfg(not(any(target_os = "freebsd", target_vendor = "apple")))]
const KIND: i32 = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_STACK;
#[cfg(target_os = "freebsd")]
const KIND: i32 = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
#[cfg(target_vendor = "apple")]
const KIND: i32 = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;

impl Mapping {
    /// Maps a stack; both sizes are in whole pages. The platform provides each page when it is
    /// first touched.
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

    /// Makes the drop of the mapping subtract 1 from `count`. The caller has counted the stack
    /// there.
    pub(crate) fn counted(mut self, count: Arc<AtomicUsize>) -> Self {
        self.count = Some(count);
        self
    }

    /// Where it is.
    pub(crate) fn span(&self) -> Span {
        self.span
    }

    /// The stack's addresses, without the guard.
    pub(crate) fn stack(&self) -> Range<usize> {
        self.span.stack()
    }

    /// The addresses of the guard.
    pub(crate) fn guard(&self) -> Range<usize> {
        self.span.guard()
    }
}

/// Returns the reason why no stack could be mapped. If the host's bound on mappings was reached, it
/// is that bound. Otherwise `other` turns the platform's error into the result.
pub(crate) fn why_none(error: io::Error, other: impl FnOnce(io::Error) -> CreateError) -> CreateError {
    let bound = (error.raw_os_error() == Some(libc::ENOMEM)).then(mappings).flatten();
    match bound {
        // A stack and its guard take two mappings: the guard is split off the mapping of both.
        Some((have, most)) if have + 2 > most => CreateError::MapCount { have, most },
        _ => other(error),
    }
}

/// The number of mappings that the process has, and the most that it may have. Counts the lines of
/// a file, which takes milliseconds if there are many, so only errors call it.
fn mappings() -> Option<(usize, usize)> {
    let most = std::fs::read_to_string("/proc/sys/vm/max_map_count").ok()?.trim().parse().ok()?;
    let mut maps = std::fs::File::open("/proc/self/maps").ok()?;
    // The buffer is small, because a thread with a small stack may run this.
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
