//! Deliberately breaks the slab and requires that `check()` reports the damage. Tests that need
//! private access are here too.

use core::num::NonZeroU32;
use std::vec::Vec;

use tickwright_nodes::arena::{GENERATIONS, MOST, SlotState};

use super::*;
use crate::SortedList;
use crate::structure::{Nodes, Record};

type Queue = SlabQueue<SortedList, u32>;

/// Returns a queue with three pending timers in slots 1, 3 and 5. Slots 2 and 4 are free.
fn holed() -> Queue {
    let mut queue = Queue::new();
    let keys = [0, 1, 2, 3, 4].map(|at| queue.insert(u64::from(at), at).unwrap());
    queue.remove(keys[1]).unwrap();
    queue.remove(keys[3]).unwrap();
    assert_eq!(queue.check(), Ok(()));
    queue
}

fn idx(at: u32) -> Idx {
    Idx::of(at as usize).unwrap()
}

#[test]
fn check_names_what_is_broken() {
    type Break = fn(&mut Queue);
    let breaks: [(&str, Violation, Break); 14] = [
        ("a linked slot is free", Violation::Storage, |q| {
            q.store.arena.columns.slots[3] = SlotState::Free { last: 1 }
        }),
        ("a linked timer is idle", Violation::Count, |q| q.store.arena.mark(idx(3), true)),
        ("a free slot is live", Violation::Storage, |q| {
            q.store.arena.columns.slots[2] = SlotState::Live { generation: NonZeroU32::MIN, value: 0 }
        }),
        ("cell 0 is live", Violation::Storage, |q| {
            q.store.arena.columns.slots[0] = SlotState::Live { generation: NonZeroU32::MIN, value: 0 }
        }),
        ("the free list is lost", Violation::Storage, |q| q.store.arena.free = None),
        ("the free list is short", Violation::Storage, |q| {
            *q.store.arena.columns.records.record_mut(idx(4)) = Record::vacant(None)
        }),
        ("the free list has a cycle", Violation::Storage, |q| {
            *q.store.arena.columns.records.record_mut(idx(2)) = Record::vacant(Some(idx(4)))
        }),
        ("the free list runs into a live slot", Violation::Storage, |q| {
            *q.store.arena.columns.records.record_mut(idx(2)) = Record::vacant(Some(idx(1)))
        }),
        ("the free list leaves the slab", Violation::Storage, |q| q.store.arena.free = Some(idx(77))),
        ("a retired slot is on the free list", Violation::Storage, |q| {
            q.store.arena.columns.slots[2] = SlotState::Free { last: GENERATIONS }
        }),
        ("a retirement was not counted", Violation::Storage, |q| q.store.arena.retired = 1),
        ("a slot has no record", Violation::Storage, |q| {
            q.store.arena.columns.slots.push(SlotState::Free { last: 0 })
        }),
        ("the count is off", Violation::Count, |q| q.store.arena.len += 1),
        ("a linked slot is retired, and another one is live", Violation::Storage, |q| {
            q.store.arena.columns.slots[3] = SlotState::Free { last: GENERATIONS };
            q.store.arena.retired = 1;
            q.store.arena.columns.slots[2] = SlotState::Live { generation: NonZeroU32::MIN, value: 0 };
            *q.store.arena.columns.records.record_mut(idx(4)) = Record::vacant(None)
        }),
    ];
    for (name, violation, break_it) in breaks {
        let mut queue = holed();
        break_it(&mut queue);
        assert_eq!(queue.check(), Err(violation), "{name}");
    }
}

#[test]
fn a_bounded_slab_replaces_a_retired_slot_on_request_only() {
    let mut queue = Queue::bounded(2).unwrap();
    queue.store.arena.first_generation = GENERATIONS - 1;
    let bytes = queue.heap_bytes();
    let key = queue.insert(0, 0).unwrap();
    queue.remove(key).unwrap();
    assert_eq!(queue.store.arena.retired, 1);
    queue.insert(0, 1).unwrap();
    assert_eq!(queue.insert(0, 7).unwrap_err(), Rejected { reason: Reject::Full, value: 7 });
    assert_eq!((queue.heap_bytes(), queue.check()), (bytes, Ok(())));
    queue.reserve(1).unwrap();
    queue.insert(0, 7).unwrap();
    assert_eq!((queue.len(), queue.check()), (2, Ok(())));
    assert_eq!(queue.insert(0, 8).unwrap_err().reason, Reject::Full, "the bound stays");
}

#[test]
fn indices_end_before_they_wrap() {
    let mut queue = Queue::new();
    queue.store.arena.len = MOST;
    assert_eq!(queue.insert(0, 1).unwrap_err(), Rejected { reason: Reject::Full, value: 1 });
    assert_eq!(queue.reserve(1), Err(Reject::Full));
    queue.store.arena.len = 0;
    queue.store.arena.retired = 2;
    assert_eq!(queue.reserve(MOST - 1), Err(Reject::Full), "retired slots use up indices");
}

#[test]
fn a_hint_takes_any_key_and_changes_nothing() {
    fn hints<F: Family>() {
        let mut queue: SlabQueue<F, u32> = SlabQueue::new();
        let keys = [3, 1, 2].map(|at| queue.insert_at(at, 0, 0).unwrap());
        queue.remove(keys[1]).unwrap();
        let head = queue.next_expiry();
        for key in keys
            .into_iter()
            .chain([1 << 32 | 1, 7 << 32 | 5, u64::MAX >> 1].map(|bits| Key::from_bits(bits).unwrap()))
        {
            queue.hint(key);
        }
        assert_eq!((queue.len(), queue.next_expiry(), queue.check()), (2, head, Ok(())), "{}", F::ID);
        SlabQueue::<F, u32>::new().hint(keys[0]);
    }
    macro_rules! each {
        ([] $($id:literal => $family:ty;)+) => { $(hints::<$family>();)+ };
    }
    crate::for_each_family!(each []);
    crate::for_each_slab_only_family!(each []);
}

/// Each timer that `upcoming` returns is pending, and is returned for at most one `k`. Families
/// that are marked as `exact` return the timers in the order of delivery.
#[test]
fn upcoming_timers_are_pending() {
    fn upcoming<F: Family>() {
        let mut queue: SlabQueue<F, u32> = SlabQueue::new();
        assert_eq!(queue.upcoming(0), None, "{}", F::ID);
        let mut keys = Vec::new();
        for step in 0..400_u32 {
            let deadline = u64::from(step.wrapping_mul(2_654_435_761) >> 22);
            // A bounded family refuses some of these timers.
            keys.extend(queue.insert_at(deadline, step, 0));
            match step % 7 {
                0 => drop(queue.remove(keys[keys.len() / 2])),
                3 => drop(queue.reschedule_at(keys[keys.len() / 3], deadline / 2, 0)),
                5 => drop(queue.pop_expired(queue.now() + 3)),
                _ => {}
            }
            let (len, head) = (queue.len(), queue.next_expiry());
            let mut seen: Vec<Key> = Vec::new();
            for k in (0..len + 3).chain([usize::MAX]) {
                let Some((key, &value)) = queue.upcoming(k) else { continue };
                assert!(k < len, "{}", F::ID);
                assert_eq!(queue.get(key), Some(&value), "{}", F::ID);
                seen.push(key);
            }
            let sorted: Vec<Key> = queue.iter_sorted().unwrap().map(|(timer, _)| timer.key).collect();
            match F::ID {
                "ladder" => assert!(sorted.starts_with(&seen)),
                "flat" => assert_eq!(sorted, seen),
                _ => {}
            }
            seen.sort_unstable();
            assert!(seen.is_sorted_by(|a, b| a < b), "{}: a timer for two k", F::ID);
            assert_eq!((queue.len(), queue.next_expiry(), queue.check()), (len, head, Ok(())), "{}", F::ID);
        }
    }
    macro_rules! each {
        ([] $($id:literal => $family:ty;)+) => { $(upcoming::<$family>();)+ };
    }
    crate::for_each_family!(each []);
    crate::for_each_slab_only_family!(each []);
}

/// A walk visits each pending or idle timer once, whatever the caller does with timers that were
/// already visited.
#[test]
fn a_walk_over_keys_meets_each_timer() {
    let mut queue = holed();
    let idle = queue.insert_idle(7).unwrap();
    let (mut met, mut from) = (Vec::new(), 0);
    while let Some(key) = queue.next_key(from) {
        met.push(queue.remove(key).unwrap());
        from = key.to_bits() as u32 as usize + 1;
    }
    assert_eq!(met, [0, 2, 7, 4], "the idle timer took slot {:?}", idle.0.index);
    assert_eq!((queue.next_key(0), queue.idle(), queue.len()), (None, 0, 0));
}

/// When the budget is used up, nothing leaves. A timer that leaves stays in the queue as an idle
/// timer.
#[test]
fn a_bounded_pop_keeps_its_timer() {
    let mut queue: SlabQueue<crate::Wheel, u32> = SlabQueue::new();
    let [key, ..] = [100_000, 100_001, 100_090].map(|deadline| queue.insert(deadline, 1).unwrap());
    let mut moves = 0;
    assert_eq!(queue.pop_and_keep_within(100_000, &mut moves), None);
    moves = 10;
    assert_eq!(queue.pop_and_keep_within(100_000, &mut moves).map(|due| due.key), Some(key));
    assert!(moves < 10, "a far timer moves down");
    assert!(queue.is_idle(key) && queue.check().is_ok());
}

/// When 2^31 - 1 further timers have used a slot, an old key names the slot's current timer: see
/// `InlineQueue`.
#[test]
fn slots_inside_a_queue_are_never_retired() {
    let mut queue = InlineQueue::<SortedList, u32, 2>::new();
    let first = queue.insert(5, 0).unwrap();
    let Some(SlotState::Live { generation, .. }) = queue.store.arena.columns.slot_mut(1) else {
        unreachable!()
    };
    *generation = NonZeroU32::new(GENERATIONS).unwrap();
    let last = queue.peek().unwrap().key;
    assert!(last != first && queue.remove(first).is_err());
    assert_eq!(queue.remove(last), Ok(0));
    assert_eq!(queue.insert(5, 1), Ok(first));
    assert!(queue.remove(last).is_err());
    let other = queue.insert(5, 2).unwrap();
    assert!(queue.insert(5, 3).is_err(), "both slots are taken");
    assert_eq!((queue.store.arena.retired, queue.check()), (0, Ok(())));
    queue.disarm(other).unwrap();
    queue.clear();
    assert_eq!((queue.is_empty(), queue.idle(), queue.check()), (true, 0, Ok(())));
    assert_eq!([0, 1, 2].map(|value| queue.insert(9, value).is_ok()), [true, true, false]);
}
