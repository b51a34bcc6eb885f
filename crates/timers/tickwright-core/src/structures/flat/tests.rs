use super::super::testing::{Exact, against_sorted_vec, prepared_twins};
use super::cells::{Cell, Cells, Inline};
use super::{BoundedFlat, FlatQueue};
use crate::contract::Violation;
use crate::{Reject, SlabQueue};

#[test]
fn agrees_with_a_sorted_vec() {
    against_sorted_vec::<FlatQueue>();
}

/// The array has cells for half of the timers, so the test also covers a full array and refused
/// inserts.
#[test]
fn a_bounded_one_agrees_with_a_sorted_vec_and_refuses_beyond_its_bound() {
    prepared_twins::<BoundedFlat<20>, Exact>(40, 0..5, |slab| slab.limit = 20, |hook| hook.limit = 20);
    let mut queue: SlabQueue<BoundedFlat<2>, u8> = SlabQueue::new();
    assert_eq!(SlabQueue::<BoundedFlat<2>, u8>::with_capacity(3).err(), Some(Reject::Full));
    for value in 0..2 {
        assert!(queue.insert(5, value).is_ok());
    }
    assert_eq!(queue.insert(1, 2).map_err(|refused| (refused.reason, refused.value)), Err((Reject::Full, 2)));
    assert!(queue.expired(5).map(|timer| timer.value).eq([0, 1]));
}

#[test]
fn cells_that_are_not_in_use_hold_nothing() {
    let mut cells = Inline::<u8, 3>::NEW;
    for at in 0..3 {
        cells.insert_sorted(Cell { expiry: at, node: 1 });
    }
    cells.remove(1);
    let held = |cells: &Inline<u8, 3>| cells.cells.map(|cell| (cell.expiry, cell.node));
    assert_eq!(held(&cells), [(2, Some(1)), (0, Some(1)), (0, None)]);
    cells.clear();
    assert_eq!((held(&cells), cells.len()), ([(0, None); 3], 0));
}

#[test]
fn a_check_finds_what_is_broken() {
    let queue = || {
        let mut queue: SlabQueue<FlatQueue, u8> = SlabQueue::new();
        for value in 0..3 {
            assert!(queue.insert(10 + u64::from(value), value).is_ok());
        }
        queue
    };
    let mut broken = queue();
    broken.store.order.cells.0.swap(0, 1);
    assert_eq!(broken.check(), Err(Violation::Order));
    let mut broken = queue();
    broken.store.order.cells.0[2].expiry -= 1;
    assert_eq!(broken.check(), Err(Violation::Position));
    let mut broken = queue();
    broken.store.order.cells.0.pop();
    assert_eq!(broken.check(), Err(Violation::Count));
    assert_eq!(queue().check(), Ok(()));
}
