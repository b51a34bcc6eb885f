//! Checks the sizes that the pages of the structures with an allocator state for 32-bit targets.
//! `firmware/src/sizes.rs` checks the sizes of the other structures.
#![no_std]

use tickwright_core::storage::Idx;
use tickwright_core::structure::{Discipline, Family};
use tickwright_core::{DaryHeap, FixedDelay, FlatQueue, LadderQueue, Timer, Wheel};

/// Returns the number of bytes of a timer's record in a slab.
const fn record<F: Family>() -> usize {
    size_of::<<F::Of<Idx> as Discipline<Idx>>::Record>()
}

/// Returns the size of a structure in a slab, rounded to KiB.
const fn kib<F: Family>() -> usize {
    (size_of::<F::Of<Idx>>() + 512) / 1024
}

const _: () = {
    assert!(size_of::<usize>() == 4);
    assert!(size_of::<Timer<FixedDelay, ()>>() == 32);
    // The size of the node; a cell takes the same.
    assert!(size_of::<Timer<FlatQueue, ()>>() == 16);
    assert!(record::<LadderQueue>() == 24 && kib::<LadderQueue>() == 3);
    assert!(record::<FlatQueue>() == 8);
    assert!(record::<DaryHeap<4>>() == 4);
    assert!(record::<Wheel>() == 24 && kib::<Wheel>() == 11);
};
