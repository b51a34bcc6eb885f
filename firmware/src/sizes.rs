//! Checks the sizes that the pages of the structures state for 32-bit targets. `ci/no_std.sh`
//! checks the sizes of structures that need an allocator.

use tickwright_core::{
    BoundedFlat, BoundedHeap, CoarseWheel, HookQueue, RbTree, RbTreeCached, SmallWheel, SortedList, Timer,
    TinyWheel, Wheel,
};

const _: () = {
    assert!(size_of::<Timer<SortedList, ()>>() == 24);
    assert!(size_of::<Timer<BoundedFlat<4>, ()>>() == 16);
    assert!(size_of::<Timer<BoundedHeap<4, 4>, ()>>() == 8);
    assert!(size_of::<Timer<RbTree, ()>>() == 32);
    assert!(size_of::<Timer<RbTreeCached, ()>>() == 32);
    assert!(size_of::<Timer<Wheel, ()>>() == 32);
    assert!(size_of::<Timer<CoarseWheel, ()>>() == 32);
    assert!(size_of::<HookQueue<'_, BoundedHeap<4, 20>, ()>>() == 488);
    assert!(size_of::<HookQueue<'_, Wheel, ()>>() / 1024 == 11);
    assert!(size_of::<HookQueue<'_, CoarseWheel, ()>>() / 1024 == 5);
    // The sizes are 4.3 and 2.6 KiB, rounded.
    assert!((size_of::<HookQueue<'_, SmallWheel, ()>>() * 10 + 512) / 1024 == 43);
    assert!((size_of::<HookQueue<'_, TinyWheel, ()>>() * 10 + 512) / 1024 == 26);
};
