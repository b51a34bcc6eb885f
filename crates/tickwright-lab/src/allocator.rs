//! Counts what is allocated, where the lab asks for it: for bytes per timer, and for the conformance clause that nothing
//! allocates after a reserve. Off, it costs one load per allocation.
#![allow(unsafe_code, reason = "an allocator is an unsafe trait")]

use core::alloc::{GlobalAlloc, Layout};
use core::cell::Cell;
use core::sync::atomic::{AtomicBool, AtomicIsize, Ordering};
use std::alloc::System;

/// The system's allocator, counted.
#[derive(Debug)]
pub(crate) struct Counting;

static COUNTING: AtomicBool = AtomicBool::new(false);
static LIVE: AtomicIsize = AtomicIsize::new(0);

thread_local! {
    // Constant and without a destructor, so that touching it never allocates.
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// How many bytes more are allocated after `body` than before it. For one caller at a time.
pub(crate) fn growth<R>(body: impl FnOnce(&dyn Fn() -> usize) -> R) -> R {
    let before = COUNTING.swap(true, Ordering::Relaxed);
    let start = LIVE.load(Ordering::Relaxed);
    let result = body(&|| usize::try_from(LIVE.load(Ordering::Relaxed) - start).unwrap_or(0));
    COUNTING.store(before, Ordering::Relaxed);
    result
}

/// Counts from now on; for [`allocations`].
pub(crate) fn count_from_now_on() {
    COUNTING.store(true, Ordering::Relaxed);
}

/// Allocations that this thread has made while counting was on.
pub(crate) fn allocations() -> u64 {
    ALLOCATIONS.with(Cell::get)
}

fn note(allocations: u64, bytes: isize) {
    if COUNTING.load(Ordering::Relaxed) {
        LIVE.fetch_add(bytes, Ordering::Relaxed);
        ALLOCATIONS.with(|count| count.set(count.get() + allocations));
    }
}

/// Layouts are at most `isize::MAX` bytes.
fn signed(bytes: usize) -> isize {
    isize::try_from(bytes).unwrap_or(isize::MAX)
}

// SAFETY: 1. every call goes to `System` with the arguments that it came with, so the caller's and `System`'s promises hold
// unchanged; 2. the counters neither allocate nor panic (atomics, and a constant thread-local without destructor).
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
