//! Counts what each thread allocates: for bytes per timer, and for the conformance clause that
//! nothing allocates after a reserve. It costs two additions to thread-locals per allocation, about
//! a nanosecond.
#![allow(unsafe_code, reason = "an allocator is an unsafe trait")]

use core::alloc::{GlobalAlloc, Layout};
use core::cell::Cell;
use core::sync::atomic::{AtomicBool, Ordering};
use std::alloc::System;

use signal_hook::consts::SIGABRT;
use signal_hook::flag;

use crate::error::LabError;

/// The system's allocator, counted.
#[derive(Debug)]
pub(crate) struct Counting;

thread_local! {
    // Constants without destructors, so that touching them never allocates, also while a thread
    // ends.
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    static LIVE: Cell<isize> = const { Cell::new(0) };
    static REFUSALS: Cell<u64> = const { Cell::new(0) };
}

/// Allocations that this thread asked for and was refused.
pub(crate) fn refusals() -> u64 {
    REFUSALS.get()
}

/// Allocations that this thread has made.
pub(crate) fn allocations() -> u64 {
    ALLOCATIONS.get()
}

/// Bytes that this thread has allocated and not freed; below 0 when it freed those of others.
pub(crate) fn live_bytes() -> isize {
    LIVE.get()
}

/// Whether the system refused memory to this process.
static REFUSED: AtomicBool = AtomicBool::new(false);

/// Ends the process with the exit code of [`LabError::Memory`] where the standard library aborts
/// because memory was refused. It has then said how many bytes were.
///
/// # Errors
/// When the system refuses the handler.
pub(crate) fn install() -> Result<(), LabError> {
    flag::register_conditional_shutdown(SIGABRT, LabError::MEMORY.into(), &REFUSED)
        .map(drop)
        .map_err(|source| LabError::io("watching for SIGABRT", source))
}

/// Checks that `bytes` can be had now, for what `what` names. Asks before a run what would abort
/// it.
///
/// # Errors
/// [`LabError::Memory`], with what to do.
pub(crate) fn room(bytes: usize, what: &str) -> Result<(), LabError> {
    Vec::<u8>::new().try_reserve_exact(bytes).map_err(|_| {
        let mib = (bytes >> 20).max(1);
        LabError::memory(format!("{what} takes at least {mib} MiB, which the system refuses"))
    })
}

/// Counts an allocation of `bytes` more, unless it failed.
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

/// Layouts are at most `isize::MAX` bytes.
fn signed(bytes: usize) -> isize {
    isize::try_from(bytes).unwrap_or(isize::MAX)
}

// SAFETY: 1. every call goes to `System` with the arguments that it came with, so the caller's and
// `System`'s promises hold unchanged, and the answer of `System` is returned as it is; 2. the
// counters neither allocate nor panic (constant thread-locals without destructors, and an atomic).
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: 1. as for the whole implementation.
        note(unsafe { System.alloc(layout) }, signed(layout.size()))
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.set(LIVE.get() - signed(layout.size()));
        // SAFETY: 1. as for the whole implementation.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: 1. as for the whole implementation.
        note(unsafe { System.alloc_zeroed(layout) }, signed(layout.size()))
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: 1. as for the whole implementation.
        note(unsafe { System.realloc(pointer, layout, size) }, signed(size) - signed(layout.size()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_refused_is_not_counted() {
        let (count, bytes) = (allocations(), live_bytes());
        // As much as there are addresses.
        assert!(Vec::<u8>::new().try_reserve_exact(isize::MAX as usize).is_err());
        let mut few = vec![1u8; 100];
        assert!(few.try_reserve_exact(isize::MAX as usize - 200).is_err());
        assert_eq!((allocations() - count, live_bytes() - bytes), (1, 100));
        let error = room(isize::MAX as usize, "all of it").unwrap_err();
        assert_eq!(error.code(), LabError::MEMORY);
        assert!(error.to_string().contains("ulimit -v"), "{error}");
    }
}
