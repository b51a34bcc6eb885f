//! Counts what each thread allocates: for bytes per timer, and for the conformance clause that nothing allocates after a
//! reserve. It costs two additions to thread-locals per allocation, about a nanosecond.
#![allow(unsafe_code, reason = "an allocator is an unsafe trait")]

use core::alloc::{GlobalAlloc, Layout};
use core::cell::Cell;
use std::alloc::System;

/// The system's allocator, counted.
#[derive(Debug)]
pub(crate) struct Counting;

thread_local! {
    // Constants without destructors, so that touching them never allocates, also while a thread ends.
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    static LIVE: Cell<isize> = const { Cell::new(0) };
}

/// Allocations that this thread has made.
pub(crate) fn allocations() -> u64 {
    ALLOCATIONS.get()
}

/// Bytes that this thread has allocated and not freed; below 0 when it freed those of others.
pub(crate) fn live_bytes() -> isize {
    LIVE.get()
}

fn note(allocations: u64, bytes: isize) {
    ALLOCATIONS.set(ALLOCATIONS.get() + allocations);
    LIVE.set(LIVE.get() + bytes);
}

/// Layouts are at most `isize::MAX` bytes.
fn signed(bytes: usize) -> isize {
    isize::try_from(bytes).unwrap_or(isize::MAX)
}

// SAFETY: 1. every call goes to `System` with the arguments that it came with, so the caller's and `System`'s promises hold
// unchanged; 2. the counters neither allocate nor panic (constant thread-locals without destructors).
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(1, signed(layout.size()));
        // SAFETY: 1. as for the whole implementation.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        note(0, -signed(layout.size()));
        // SAFETY: 1. as for the whole implementation.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(1, signed(layout.size()));
        // SAFETY: 1. as for the whole implementation.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(1, signed(size) - signed(layout.size()));
        // SAFETY: 1. as for the whole implementation.
        unsafe { System.realloc(pointer, layout, size) }
    }
}
