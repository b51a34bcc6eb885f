//! What `{:?}` shows of each type: its name, and the fields that a report of a bug wants.
#![cfg(feature = "alloc")]

use core::fmt::Debug;

use tickwright_core::odict::{
    Avl, BPlusDict, By, DictError, Dictionary, HookDict, InDict, Link, RedBlack, Refused, SlabDict,
};
use tickwright_core::storage::hook::HookPtr;
use tickwright_core::storage::{Discipline, Hooked, Record};
use tickwright_core::{
    AvlTree, BoundedHeap, CoarseWheel, DaryHeap, Family, Heap, HookQueue, LentHeap, RbTree, RbTreeCached,
    SlabQueue, SortedList, Timer, TimerQueue, Wheel,
};

fn shows(value: impl Debug, words: &[&str]) {
    let text = format!("{value:?}");
    for word in words {
        assert!(text.contains(word), "{word}: {text}");
    }
}

/// A structure and its record.
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
        structure!(AvlTree, ["TimerTree"], ["expiry"]);
    }
    {
        structure!(Wheel, ["Wheel", "elapsed: 0", "len: 0", "occupied"], ["expiry"]);
    }
    {
        structure!(CoarseWheel, ["Coarse", "clk: 0", "due", "occupied", "far_occupied"], ["deadline"]);
    }
    {
        structure!(DaryHeap<4>, ["Heap", "len: 0"], ["cell: 0"]);
    }
    {
        structure!(BoundedHeap<4, 4>, ["Heap", "len: 0"], ["cell: 0"]);
    }
    {
        structure!(LentHeap<4>, ["Heap", "len: 0"], ["cell: 0"]);
    }
    type Linked<B> = <InDict<B> as Hooked>::Record<HookPtr<InDict<B>>>;
    shows(<Linked<RedBlack> as Record<_>>::IDLE, &["DictRecord", "tree", "list"]);
    shows(<Linked<Avl> as Record<_>>::IDLE, &["DictRecord", "tree", "list"]);
}

#[test]
fn queues_and_timers() {
    let timer = Timer::<SortedList, _>::new(5);
    shows(&timer, &["Timer", "list", "linked: false", "value: 5"]);
    let mut hooked: HookQueue<'_, SortedList, i32> = HookQueue::new();
    hooked.insert(9, &timer).unwrap();
    shows(&timer, &["linked: true"]);
    shows(&hooked, &["HookQueue", "list", "now: 0", "len: 1"]);
    let mut owned = SlabQueue::<Wheel, ()>::new();
    owned.insert(3, ()).unwrap();
    shows(&owned, &["SlabQueue", "wheel", "now: 0", "len: 1"]);
}

#[test]
fn dictionaries_and_heaps() {
    shows(Link::<RedBlack>::new(), &["Link", "linked: false"]);
    let hooked: HookDict<'_, (), u32> = HookDict::new(());
    shows(hooked, &["HookDict", "len: 0"]);
    let mut owned = SlabDict::new(By(|&n: &u32| n));
    owned.insert(7).unwrap();
    shows(&owned, &["SlabDict", "len: 1"]);
    shows(owned.iter(), &["Range", "ends: Some"]);
    shows(BPlusDict::new(By(|&n: &u32| n)), &["BPlusDict", "len: 0"]);
    shows(By(()), &["By"]);
    shows(Refused { reason: DictError::Full, value: () }, &["Refused", "Full"]);
    let heap: Heap<u32, fn(&u32, &u32) -> core::cmp::Ordering> = Heap::new(u32::cmp);
    shows(heap, &["Heap", "elements: []"]);
}
