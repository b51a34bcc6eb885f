//! Tests the sizes of types that firmware uses in statics, so that no change enlarges them
//! unnoticed. The numbers are bytes on a 64-bit target.
#![cfg(target_pointer_width = "64")]

use tickwright_core::{
    BoundedHeap, CoarseWheel, Family, HookQueue, LentHeap, RbTree, RbTreeCached, SortedList, Timer, Wheel,
};

/// Returns the sizes of a queue over caller-owned nodes, and of a node without payload.
const fn sizes<F: Family>() -> (usize, usize) {
    (size_of::<HookQueue<'static, F, ()>>(), size_of::<Timer<F, ()>>())
}

#[cfg(feature = "alloc")]
#[test]
fn wheels_in_slabs_have_not_grown() {
    use tickwright_core::SlabQueue;

    assert_eq!(size_of::<SlabQueue<Wheel, ()>>(), 11_560);
    assert_eq!(size_of::<SlabQueue<CoarseWheel, ()>>(), 5_288);
}

/// This test checks 64-bit targets; `ci/no_std.sh` checks the sizes on 32-bit targets.
#[cfg(feature = "alloc")]
#[test]
fn ladders_in_slabs_have_not_grown() {
    use tickwright_core::{LadderQueue, SlabQueue};

    assert_eq!(size_of::<SlabQueue<LadderQueue, ()>>(), 3_296);
}

/// The table of lists is allocated, so its size is not part of the queue's size.
#[cfg(feature = "alloc")]
#[test]
fn a_queue_of_fixed_delays_has_not_grown() {
    use tickwright_core::{FixedDelay, SlabQueue};

    assert_eq!(size_of::<SlabQueue<FixedDelay, ()>>(), 144);
    assert_eq!(sizes::<FixedDelay>(), (104, 40));
}

#[test]
fn queues_and_nodes_have_not_grown() {
    assert_eq!(sizes::<SortedList>(), (40, 32));
    assert_eq!(sizes::<RbTree>(), (40, 48));
    assert_eq!(sizes::<RbTreeCached>(), (40, 48));
    assert_eq!(sizes::<BoundedHeap<4, 16>>(), (832, 8));
    assert_eq!(sizes::<LentHeap<4>>(), (72, 8));
    assert_eq!(sizes::<Wheel>(), (17_152, 40));
    assert_eq!(sizes::<CoarseWheel>(), (10_376, 40));
}
