//! Deliberately breaks the arena, in both layouts, and requires that `check` reports the damage.

use core::num::NonZeroU32;
use std::vec::Vec;

use super::*;
use crate::{Record, Violation};

/// A record that stores only the next vacant slot.
struct Link(Option<Idx>);

impl Record<Idx> for Link {
    const IDLE: Self = Self(None);

    fn vacant(next: Option<Idx>) -> Self {
        Self(next)
    }

    fn next_vacant(&self) -> Option<Idx> {
        self.0
    }
}

trait Layout: Columns<Value = u32> {
    const NONE: Self;
}

impl Layout for ApartColumns<Link, u32> {
    const NONE: Self = Self::EMPTY;
}

impl Layout for TogetherColumns<Link, u32> {
    const NONE: Self = Self::EMPTY;
}

fn idx(at: usize) -> Idx {
    Idx::of(at).unwrap()
}

fn live(value: u32) -> SlotState<u32> {
    SlotState::Live { generation: NonZeroU32::MIN, value }
}

/// Returns an arena in which slots 1, 3 and 5 are live and slots 2 and 4 are free.
fn holed<C: Layout>() -> Arena<C> {
    let mut arena = Arena::starting_after(0, C::NONE);
    let ids = [0, 1, 2, 3, 4].map(|value| arena.occupy(value).unwrap());
    assert_eq!(arena.vacate(ids[1].index), Some((ids[1], 1)));
    assert_eq!(arena.vacate(ids[3].index).map(|(_, value)| value), Some(3));
    assert_eq!((arena.check(), arena.len()), (Ok(()), 3));
    assert_eq!((arena.get(ids[0]), arena.get(ids[1])), (Some(&0), None));
    arena
}

fn check_names_what_is_broken<C: Layout>() {
    type Break<C> = fn(&mut Arena<C>);
    let breaks: [(&str, Break<C>); 15] = [
        ("a slot was freed behind its back", |a| {
            *a.columns.slot_mut(3).unwrap() = SlotState::Free { last: 1 };
        }),
        ("a free slot is live", |a| *a.columns.slot_mut(2).unwrap() = live(0)),
        ("slot 0 is live", |a| *a.columns.slot_mut(0).unwrap() = live(0)),
        ("the free list is lost", |a| a.free = None),
        ("the free list is short", |a| a.columns.set_vacant(idx(4), None)),
        ("the free list has a cycle", |a| a.columns.set_vacant(idx(2), Some(idx(4)))),
        ("the free list runs into a live slot", |a| a.columns.set_vacant(idx(2), Some(idx(1)))),
        ("the free list leaves the arena", |a| a.free = Some(idx(77))),
        ("a retired slot is on the free list", |a| {
            *a.columns.slot_mut(2).unwrap() = SlotState::Free { last: GENERATIONS };
        }),
        ("a listed slot is to be taken by index", |a| a.seen = 3),
        ("a free slot is neither listed nor to be taken by index", |a| {
            *a.columns.slot_mut(3).unwrap() = SlotState::Free { last: 1 };
            a.len -= 1;
        }),
        ("a slot is listed in the place of another one", |a| {
            a.seen = 3;
            a.columns.set_vacant(idx(4), None);
        }),
        ("a retirement was not counted", |a| a.retired = 1),
        ("the count is off", |a| a.len += 1),
        ("an idle slot was not counted", |a| a.idle += 1),
    ];
    for (name, break_it) in breaks {
        let mut arena = holed::<C>();
        break_it(&mut arena);
        assert_eq!(arena.check(), Err(Violation::Storage), "{name}");
    }
}

fn a_slot_that_has_used_up_its_generations_is_retired<C: Layout>() {
    let mut arena = Arena::starting_after(GENERATIONS - 2, C::NONE);
    let first = arena.occupy(1).unwrap();
    arena.vacate(first.index);
    let second = arena.occupy(2).unwrap();
    assert_eq!((second.index, second.generation), (first.index, NonZeroU32::new(GENERATIONS).unwrap()));
    arena.vacate(second.index);
    assert_eq!((arena.retired, arena.check()), (1, Ok(())));
    let third = arena.occupy(3).unwrap();
    assert_ne!(third.index, first.index);
    assert_eq!((arena.get(first), arena.get(second), arena.get(third)), (None, None, Some(&3)));
}

fn a_bound_holds_and_replaces_a_retired_slot_on_request_only<C: Layout>() {
    let mut arena = Arena::starting_after(GENERATIONS - 1, C::NONE);
    arena.reserve(2).unwrap();
    arena.bound(2);
    let bytes = arena.columns.heap_bytes();
    let id = arena.occupy(0).unwrap();
    arena.vacate(id.index);
    arena.occupy(1).unwrap();
    assert_eq!(arena.occupy(7), Err(7));
    assert_eq!((arena.columns.heap_bytes(), arena.check()), (bytes, Ok(())));
    arena.reserve(1).unwrap();
    arena.occupy(7).unwrap();
    assert_eq!((arena.len(), arena.check(), arena.is_full()), (2, Ok(()), true));
    assert_eq!((arena.occupy(8), arena.reserve(1)), (Err(8), Err(Full)), "the bound stays");
}

/// Slots are vacated in a scattered order. The free list is dropped once, when few slots are live.
/// Before that, a new value is stored in the slot that was vacated last; after that, in free slots
/// by index.
fn few_live_slots_drop_a_long_free_list<C: Layout>() {
    const SLOTS: usize = 1200;
    let mut arena = Arena::starting_after(GENERATIONS - 3, C::NONE);
    let mut ids: Vec<_> = (0..SLOTS as u32).map(|value| arena.occupy(value).unwrap()).collect();
    while arena.retired == 0 {
        arena.vacate(ids[1].index);
        ids[1] = arena.occupy(1).unwrap();
    }
    let (mut kept, mut dropped) = (Vec::new(), Vec::new());
    for (left, at) in (0..SLOTS).rev().zip((0..SLOTS).map(|at| at * 77 % SLOTS)) {
        if left < 20 {
            kept.push(ids[at].index);
            continue;
        }
        let is_long = arena.seen >= 1024;
        arena.vacate(ids[at].index);
        assert_eq!(arena.check(), Ok(()));
        if arena.seen == 0 && is_long {
            dropped.push(arena.len());
        } else if is_long {
            assert_eq!(arena.free, Some(ids[at].index));
        }
    }
    assert_eq!(dropped, [63]);
    // The slots that stayed live and the retired slot are skipped.
    let taken: Vec<_> = (0..SLOTS - 20).map(|_| arena.occupy(0).unwrap().index).collect();
    assert!(taken.is_sorted() && !taken.iter().any(|index| *index == idx(2) || kept.contains(index)));
    assert_eq!((arena.check(), arena.len(), arena.columns.len()), (Ok(()), SLOTS, SLOTS + 2));
}

/// Retired slots do not lengthen the list, so they do not cause it to be dropped again and again.
fn retired_slots_drop_no_free_list<C: Layout>() {
    let mut arena = Arena::starting_after(GENERATIONS - 1, C::NONE);
    for _ in 0..2000 {
        let id = arena.occupy(0).unwrap();
        arena.vacate(id.index);
        assert!(arena.seen > 0);
    }
    assert_eq!((arena.retired, arena.check()), (2000, Ok(())));
}

macro_rules! for_each_layout {
    ($($test:ident),+ $(,)?) => {
        mod apart {
            $(#[test] fn $test() { super::$test::<super::ApartColumns<super::Link, u32>>(); })+
        }
        mod together {
            $(#[test] fn $test() { super::$test::<super::TogetherColumns<super::Link, u32>>(); })+
        }
    };
}

for_each_layout!(
    check_names_what_is_broken,
    a_slot_that_has_used_up_its_generations_is_retired,
    a_bound_holds_and_replaces_a_retired_slot_on_request_only,
    few_live_slots_drop_a_long_free_list,
    retired_slots_drop_no_free_list,
);

#[test]
fn indices_end_before_they_wrap() {
    assert_eq!((slots_for(0, 0), slots_for(3, 2)), (Some(1), Some(6)));
    assert_eq!((slots_for(MOST, 0), slots_for(MOST - 1, 1)), (Some(MOST + 1), Some(MOST + 1)));
    assert_eq!((slots_for(MOST, 1), slots_for(MOST + 1, 0), slots_for(usize::MAX, 1)), (None, None, None));
    let mut arena = Arena::<ApartColumns<Link, u32>>::starting_after(0, ApartColumns::EMPTY);
    arena.len = MOST;
    assert_eq!((arena.occupy(1), arena.reserve(1)), (Err(1), Err(Full)));
    arena.len = 0;
    arena.retired = 2;
    assert_eq!(arena.reserve(MOST - 1), Err(Full), "retired slots use up indices");
}

#[test]
fn an_id_is_a_number_and_back() {
    let mut arena = Arena::<ApartColumns<Link, u32>>::starting_after(41, ApartColumns::EMPTY);
    let id = arena.occupy(1).unwrap();
    assert_eq!(id.to_bits(), 42 << 32 | 1);
    assert_eq!(SlotId::from_bits(id.to_bits()), Some(id));
    assert_eq!((SlotId::from_bits(0), SlotId::from_bits(7), SlotId::from_bits(1 << 40)), (None, None, None));
}
