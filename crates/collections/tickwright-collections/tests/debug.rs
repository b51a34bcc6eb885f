//! Tests that `{:?}` shows the name of each type and the fields that a bug report needs.
#![cfg(feature = "alloc")]

use core::fmt::Debug;

use tickwright_collections::{
    Avl, BPlusDict, By, DictError, Dictionary, Heap, HookDict, InDict, Link, NotInserted, RedBlack, SlabDict,
};
use tickwright_nodes::Record;
use tickwright_nodes::hook::{HookPtr, Hooked};

fn shows(value: impl Debug, words: &[&str]) {
    let text = format!("{value:?}");
    for word in words {
        assert!(text.contains(word), "{word}: {text}");
    }
}

#[test]
fn links() {
    type Linked<B> = <InDict<B> as Hooked>::Record<HookPtr<InDict<B>>>;
    shows(<Linked<RedBlack> as Record<_>>::IDLE, &["DictRecord", "tree", "list"]);
    shows(<Linked<Avl> as Record<_>>::IDLE, &["DictRecord", "tree", "list"]);
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
    shows(NotInserted { reason: DictError::Full, value: () }, &["NotInserted", "Full"]);
    let heap: Heap<u32, fn(&u32, &u32) -> core::cmp::Ordering> = Heap::new(u32::cmp);
    shows(heap, &["Heap", "elements: []"]);
}
