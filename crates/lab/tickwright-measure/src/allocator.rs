//! Counts the allocations of each thread. `bench --memory` needs the bytes per timer. A conformance
//! clause requires that a queue allocates nothing after a reserve. Counting costs about a
//! nanosecond per allocation, for two additions to thread-locals.
//!
//! A program that counts its allocations declares
//! `#[global_allocator] static ALLOCATOR: Counting = Counting;`. The functions are inlined there,
//! so that they are compiled with the same optimization as the measured code.
#![allow(unsafe_code, reason = "an allocator is an unsafe trait")]

use core::alloc::{GlobalAlloc, Layout};
use core::cell::Cell;
use core::sync::atomic::{AtomicBool, Ordering};
use std::alloc::System;

use signal_hook::consts::SIGABRT;
use signal_hook::flag;

use crate::error::LabError;

/// The system's allocator with counters.
#[derive(Debug, Clone, Copy)]
pub struct Counting;

thread_local! {
    // Constants without destructors: an access never allocates, not even while a thread ends.
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    static LIVE: Cell<isize> = const { Cell::new(0) };
    static REFUSALS: Cell<u64> = const { Cell::new(0) };
}

/// Returns how many allocations of this thread the system refused.
pub fn refusals() -> u64 {
    REFUSALS.get()
}

/// Returns how many allocations this thread has made.
pub fn allocations() -> u64 {
    ALLOCATIONS.get()
}

/// Returns the bytes that this thread has allocated and not freed. The number is negative if the
/// thread freed memory that other threads allocated.
pub fn live_bytes() -> isize {
    LIVE.get()
}

/// Whether the system has refused memory to this process.
static REFUSED: AtomicBool = AtomicBool::new(false);

/// Makes the process exit with the code of [`LabError::Memory`] when the standard library aborts
/// because the system refused memory. By then, the standard library has printed the number of
/// bytes.
///
/// # Errors
/// If the system refuses the signal handler for SIGABRT.
pub fn install() -> Result<(), LabError> {
    flag::register_conditional_shutdown(SIGABRT, LabError::MEMORY.into(), &REFUSED)
        .map(drop)
        .map_err(|source| LabError::io("watching for SIGABRT", source))
}

/// Checks, before a run, that `bytes` can be allocated, because a refusal during the run would
/// abort the process. `what` names the purpose.
///
/// # Errors
/// [`LabError::Memory`], with advice, if the bytes cannot be allocated.
pub fn room(bytes: usize, what: &str) -> Result<(), LabError> {
    Vec::<u8>::new().try_reserve_exact(bytes).map_err(|_| {
        let mib = (bytes >> 20).max(1);
        LabError::memory(format!("{what} takes at least {mib} MiB, which the system refuses"))
    })
}

/// Counts an allocation of `bytes` additional bytes, unless `pointer` is null.
#[inline]
fn note(pointer: *mut u8, bytes: isize) -> *mut u8 {
    if pointer.is_null() {
        REFUSED.store(true, Ordering::Relaxed);
        REFUSALS.set(REFUSALS.get() + 1);
    } else {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        LIVE.set(LIVE.get() + bytes);
    }
    pointer
}

/// Converts a size. This cannot fail, because layouts have at most `isize::MAX` bytes.
#[inline]
fn signed(bytes: usize) -> isize {
    isize::try_from(bytes).unwrap_or(isize::MAX)
}

// SAFETY: 1. Every call passes its own arguments on to `System`, so the caller's and `System`'s
// promises hold unchanged. The result of `System` is returned unchanged. 2. The counters neither
// allocate nor panic (constant thread-locals without destructors, and an atomic).
unsafe impl GlobalAlloc for Counting {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: 1. as for the whole implementation (see above).
        note(unsafe { System.alloc(layout) }, signed(layout.size()))
    }

    #[inline]
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.set(LIVE.get() - signed(layout.size()));
        // SAFETY: 1. as for the whole implementation (see above).
        unsafe { System.dealloc(pointer, layout) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: 1. as for the whole implementation (see above).
        note(unsafe { System.alloc_zeroed(layout) }, signed(layout.size()))
    }

    #[inline]
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: 1. as for the whole implementation (see above).
        note(unsafe { System.realloc(pointer, layout, size) }, signed(size) - signed(layout.size()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[global_allocator]
    static ALLOCATOR: Counting = Counting;

    #[test]
    fn what_was_refused_is_not_counted() {
        let (count, bytes) = (allocations(), live_bytes());
        // This size is more than any system can provide.
        assert!(Vec::<u8>::new().try_reserve_exact(isize::MAX as usize).is_err());
        let mut few = vec![1u8; 100];
        assert!(few.try_reserve_exact(isize::MAX as usize - 200).is_err());
        assert_eq!((allocations() - count, live_bytes() - bytes), (1, 100));
        let error = room(isize::MAX as usize, "all of it").unwrap_err();
        assert_eq!(error.code(), LabError::MEMORY);
        assert!(error.to_string().contains("ulimit -v"), "{error}");
    }
}
