//! Tests that need private access: the last generations of a cell, and cells and free lists that
//! are deliberately broken.

use core::mem;
use core::num::NonZeroU32;
use std::vec::Vec;

use super::*;
use crate::Avl;
use crate::dict::By;
use tickwright_nodes::Record;
use tickwright_nodes::arena::SlotState;

type Numbers<B> = SlabDict<By<fn(&u32) -> u32>, u32, B>;
const KEY: By<fn(&u32) -> u32> = By(|&n| n);

#[test]
fn a_cell_that_has_used_up_its_generations_is_retired() {
    let mut dictionary = Numbers::<RedBlack>::with_last_generation(KEY, (u32::MAX >> 1) - 2);
    let first = dictionary.insert(1).unwrap();
    assert_eq!(dictionary.remove(first), Ok(1));
    let second = dictionary.insert(2).unwrap();
    assert_eq!(
        (second.slot.index, second.slot.generation),
        (first.slot.index, NonZeroU32::new(u32::MAX >> 1).unwrap())
    );
    assert_eq!(dictionary.remove(second), Ok(2));
    let third = dictionary.insert(3).unwrap();
    assert_ne!(third.slot.index, first.slot.index, "no generation is left for the first cell");
    for stale in [first, second] {
        assert_eq!(dictionary.get(stale), Err(DictError::Stale));
    }
    assert_eq!(dictionary.check(), Ok(()));
}

#[test]
fn a_bounded_dictionary_of_retired_cells_is_full_until_more_is_reserved() {
    let mut dictionary = Numbers::<Avl>::bounded(KEY, 2).unwrap();
    dictionary.sorted.nodes.arena.first_generation = (u32::MAX >> 1) - 1;
    let only = dictionary.insert(1).unwrap();
    dictionary.remove(only).unwrap();
    dictionary.insert(2).unwrap();
    let refused = dictionary.insert(3).unwrap_err();
    assert_eq!((refused.reason, refused.value), (DictError::Full, 3));
    dictionary.reserve(1).unwrap();
    dictionary.insert(3).unwrap();
    assert_eq!(dictionary.reserve(1), Err(DictError::Full));
    assert_eq!(dictionary.check(), Ok(()));
}

#[test]
fn check_names_broken_storage() {
    let mut dictionary = Numbers::<RedBlack>::new(KEY);
    let entries: Vec<_> = (0..6).map(|n| dictionary.insert(n).unwrap()).collect();
    dictionary.remove(entries[1]).unwrap();
    dictionary.remove(entries[4]).unwrap();
    assert_eq!(dictionary.check(), Ok(()));

    let live = entries[0].slot.index.at();
    let slot =
        mem::replace(&mut dictionary.sorted.nodes.arena.columns.0[live].slot, SlotState::Free { last: 7 });
    assert_eq!(dictionary.check(), Err(Violation::Storage), "a linked cell is free");
    // `check` also finds the damage if the counts of live and free cells are correct.
    let other = entries[1].slot.index.at();
    let free = mem::replace(&mut dictionary.sorted.nodes.arena.columns.0[other].slot, slot);
    assert_eq!(dictionary.check(), Err(Violation::Storage), "one linked cell is free, one free cell is live");
    let slot = mem::replace(&mut dictionary.sorted.nodes.arena.columns.0[other].slot, free);
    dictionary.sorted.nodes.arena.columns.0[live].slot = slot;
    assert_eq!(dictionary.check(), Ok(()));

    let head = dictionary.sorted.nodes.arena.free;
    for wrong in [None, Some(entries[0].slot.index), Some(entries[1].slot.index)] {
        dictionary.sorted.nodes.arena.free = wrong;
        assert_eq!(dictionary.check(), Err(Violation::Storage), "the free list starts at {wrong:?}");
    }
    dictionary.sorted.nodes.arena.free = head;
    let head = head.unwrap();
    let record = mem::replace(
        &mut dictionary.sorted.nodes.arena.columns.0[head.at()].record,
        DictRecord::vacant(Some(head)),
    );
    assert_eq!(dictionary.check(), Err(Violation::Storage), "the free list goes in a circle");
    dictionary.sorted.nodes.arena.columns.0[head.at()].record = record;
    dictionary.sorted.nodes.arena.retired = 1;
    assert_eq!(dictionary.check(), Err(Violation::Storage), "a retired cell that is none");
    dictionary.sorted.nodes.arena.retired = 0;
    for len in [3, 5] {
        dictionary.sorted.nodes.arena.len = len;
        assert_eq!(dictionary.check(), Err(Violation::Storage));
    }
    dictionary.sorted.nodes.arena.len = 4;
    assert_eq!(dictionary.check(), Ok(()));
}

#[test]
fn a_linked_cell_that_is_free_is_named_when_all_counts_agree() {
    let mut dictionary = Numbers::<RedBlack>::new(KEY);
    let entries: Vec<_> = (0..3).map(|n| dictionary.insert(n).unwrap()).collect();
    let (linked, unlinked) = (entries[0].slot.index, entries[2].slot.index);
    dictionary.remove(entries[2]).unwrap();
    // Two cells swap places. The free list is updated, but the tree is not.
    let free = mem::replace(
        &mut dictionary.sorted.nodes.arena.columns.0[unlinked.at()].slot,
        SlotState::Free { last: 1 },
    );
    dictionary.sorted.nodes.arena.columns.0[unlinked.at()].slot =
        mem::replace(&mut dictionary.sorted.nodes.arena.columns.0[linked.at()].slot, free);
    assert_eq!(dictionary.check(), Err(Violation::Storage));
}
