//! Tests that `{:?}` shows the name of each type and the fields that a bug report needs.
#![cfg(feature = "alloc")]

use core::fmt::Debug;

use tickwright_core::storage::HookPtr;
use tickwright_core::structure::{Discipline, Record};
use tickwright_core::{
    BoundedHeap, CoarseWheel, DaryHeap, Family, FixedDelay, HookQueue, LentHeap, RbTree, RbTreeCached,
    SlabQueue, SortedList, Timer, Wheel,
};

fn shows(value: impl Debug, words: &[&str]) {
    let text = format!("{value:?}");
    for word in words {
        assert!(text.contains(word), "{word}: {text}");
    }
}

/// Checks the debug output of a structure and of its record.
macro_rules! structure {
    ($family:ty, $words:expr, $record:expr) => {
        type Pointer = HookPtr<$family>;
        type Structure = <$family as Family>::Of<Pointer>;
        type Entry = <Structure as Discipline<Pointer>>::Record;
        shows(<Structure as Discipline<Pointer>>::NEW, &$words);
        shows(<Entry as Record<Pointer>>::IDLE, &$record);
    };
}

#[test]
fn structures_and_records() {
    {
        structure!(SortedList, ["List", "head: None"], ["expiry"]);
    }
    {
        structure!(RbTree, ["TimerTree"], ["expiry"]);
    }
    {
        structure!(RbTreeCached, ["TimerTree"], ["expiry"]);
    }
    {
        structure!(Wheel, ["Wheel", "clock: 0", "len: 0", "occupied"], ["expiry"]);
    }
    {
        structure!(CoarseWheel, ["Coarse", "clock: 0", "due", "occupied", "far_occupied"], ["deadline"]);
    }
    {
        structure!(DaryHeap<4>, ["TimerHeap", "len: 0"], ["cell: 0"]);
    }
    {
        structure!(FixedDelay, ["Delays", "TimerHeap", "Lists"], ["expiry", "mark: 0"]);
    }
    {
        structure!(BoundedHeap<4, 4>, ["TimerHeap", "len: 0"], ["cell: 0"]);
    }
    {
        structure!(LentHeap<4>, ["TimerHeap", "len: 0"], ["cell: 0"]);
    }
}

#[test]
fn queues_and_timers() {
    let timer = Timer::<SortedList, _>::new(5);
    shows(&timer, &["Timer", "list", "linked: false", "payload: 5"]);
    let mut hooked: HookQueue<'_, SortedList, i32> = HookQueue::new();
    hooked.insert(9, &timer).unwrap();
    shows(&timer, &["linked: true"]);
    shows(&hooked, &["HookQueue", "list", "now: 0", "len: 1"]);
    let mut owned = SlabQueue::<Wheel, ()>::new();
    owned.insert(3, ()).unwrap();
    shows(&owned, &["SlabQueue", "wheel", "now: 0", "len: 1"]);
}
