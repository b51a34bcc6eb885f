//! Tests `check` itself: each field of the heap, of its entries and of its records is deliberately
//! broken.

use super::{Buffer, Entry, Growing, HeapRecord, Inline, TimerHeap};
use crate::contract::Violation;
use crate::structure::Discipline;
use crate::structures::testing::VecNodes;

type Id = usize;
type Records = VecNodes<HeapRecord>;

fn id(number: u32) -> Id {
    number as usize
}

/// Returns a heap of seven timers with the expiries 1, 1, 2, 2, 3, 3, 4, whose cells are in this
/// order.
fn whole<B: Buffer<Id, D>, const D: usize>() -> (TimerHeap<Id, B, D>, Records) {
    let mut heap = TimerHeap::NEW;
    let mut records = VecNodes((0..8).map(|_| HeapRecord { cell: 0 }).collect());
    for number in 1..8 {
        heap.reserve(heap.len, 1).unwrap();
        let _ = heap.insert(&mut records, id(number), u64::from(number.div_ceil(2)), 0);
    }
    assert_eq!(heap.check(&records, 7), Ok(()));
    (heap, records)
}

fn mutants<B: Buffer<Id, D>, const D: usize>() {
    let broken = |wound: &dyn Fn(&mut TimerHeap<Id, B, D>, &mut Records)| {
        let (mut heap, mut records) = whole::<B, D>();
        wound(&mut heap, &mut records);
        heap.check(&records, 7).unwrap_err()
    };
    let root = D - 1;
    let edit = |cell: usize, wound: &dyn Fn(&mut Entry<Id>)| {
        broken(&|heap, _| wound(&mut heap.buffer.group_mut(cell / D)[cell % D]))
    };

    // The head struct.
    assert_eq!(broken(&|heap, _| heap.len = 6), Violation::Count);
    assert_eq!(broken(&|heap, _| heap.len = 8), Violation::Count);
    assert_eq!(broken(&|heap, _| heap.next_sequence = 6), Violation::Sequence);

    // The flag of the hole that a pop leaves: the test sets the flag while there is no hole, clears
    // it while there is a hole, and sets it in an empty heap.
    let said = if D == 4 { Violation::UnusedCell } else { Violation::Head };
    assert_eq!(broken(&|heap, _| heap.hole = true), said);
    let (mut heap, mut records) = whole::<B, D>();
    assert_eq!(heap.pop(&mut records, 1, &mut 1).map(|popped| popped.handle), Some(id(1)));
    assert_eq!(heap.check(&records, 6), Ok(()));
    if D == 4 {
        heap.hole = false;
        assert_eq!(heap.check(&records, 6), Err(Violation::Count));
    }
    let mut empty = TimerHeap::<Id, B, D>::NEW;
    empty.hole = true;
    empty.buffer.reserve(0, 1).unwrap();
    empty.buffer.set_groups(1);
    assert_eq!(empty.check(&records, 0), Err(Violation::Head));

    let groups = (root + 6) / D + 1;
    assert_eq!(broken(&|heap, _| heap.buffer.set_groups(groups + 1)), Violation::Count);
    assert_eq!(broken(&|heap, _| heap.buffer.set_groups(groups - 1)), Violation::Count);

    // Breaks every cell in use: each field of its entry, and the record of its node.
    for cell in root..root + 7 {
        assert_eq!(edit(cell, &|entry| entry.node = None), Violation::Count);
        let other = if cell == root { 7 } else { 1 };
        assert_eq!(edit(cell, &|entry| entry.node = Some(id(other))), Violation::Position);
        assert_eq!(edit(cell, &|entry| entry.numbers_to_end = !7), Violation::Sequence);
        let number = (cell - root + 1) as u32;
        for wrong in [0, cell as u32 - 1, cell as u32 + 1, u32::MAX] {
            let wound = |_: &mut _, records: &mut Records| records.0[number as usize].cell = wrong;
            assert_eq!(broken(&wound), Violation::Position);
        }
        if cell > root {
            assert_eq!(edit(cell, &|entry| entry.ticks_to_end = !0), Violation::HeapOrder);
        }
    }
    assert_eq!(edit(root, &|entry| entry.ticks_to_end = !9), Violation::HeapOrder);
    // Swaps two entries of equal expiry: only their sequence numbers show the swap.
    assert_eq!(edit(root, &|entry| entry.numbers_to_end = !6), Violation::HeapOrder);
    assert_eq!(edit(root + 1, &|entry| entry.numbers_to_end = !0), Violation::Sequence);

    // Breaks unused cells, before the root and after the last entry.
    for cell in (0..root).chain(root + 7..groups * D) {
        assert_eq!(edit(cell, &|entry| entry.ticks_to_end = !0), Violation::UnusedCell);
        assert_eq!(edit(cell, &|entry| entry.numbers_to_end = !0), Violation::UnusedCell);
        assert_eq!(edit(cell, &|entry| entry.node = Some(id(1))), Violation::UnusedCell);
    }
}

#[test]
fn every_broken_field_is_found() {
    mutants::<Growing<Id, 2>, 2>();
    mutants::<Growing<Id, 4>, 4>();
    mutants::<Inline<Id, 2, 9>, 2>();
    mutants::<Inline<Id, 4, 7>, 4>();
    mutants::<Inline<Id, 4, 11>, 4>();
}

#[test]
fn an_array_is_empty_beyond_the_groups_in_use() {
    let stray = Entry { node: Some(id(3)), ..Entry::EMPTY };
    for cell in 8..11 {
        let (mut heap, records) = whole::<Inline<Id, 4, 11>, 4>();
        heap.buffer.cells[cell] = stray;
        assert_eq!(heap.check(&records, 7), Err(Violation::UnusedCell));
    }
    let (mut heap, records) = whole::<Inline<Id, 4, 11>, 4>();
    heap.buffer.last.cells[0] = stray;
    assert_eq!(heap.check(&records, 7), Err(Violation::UnusedCell));
    let mut empty: Inline<Id, 4, 11> = Buffer::<Id, 4>::NEW;
    empty.group_mut(0)[0] = stray;
    assert!(!empty.rest_is_empty());
}
