//! Tests, in every family, what slab storage promises apart from the order of its timers.
#![cfg(feature = "alloc")]

#[macro_use]
mod common;

use core::cell::Cell;
use std::rc::Rc;

use common::due;
use tickwright_core::{
    Family, HeadChange, Key, KeyError, Reject, SlabQueue, for_each_family, for_each_slab_only_family,
};

/// A number of timers that fits into every bounded family in the list.
const FEW: u64 = 6;

/// The number of generations of a slot.
const GENERATIONS: u32 = u32::MAX >> 1;

type Queue<F> = SlabQueue<F, u64>;

fn filled<F: Family>() -> (Queue<F>, Vec<Key>) {
    let mut queue = Queue::new();
    let keys = (0..FEW).map(|at| queue.insert_at(at * 7 % 5, at, 0).unwrap()).collect();
    (queue, keys)
}

fn a_key_tells_its_expiry<F: Family>() {
    let (queue, keys) = filled::<F>();
    for (at, &key) in (0..FEW).zip(&keys) {
        assert_eq!(queue.expiry(key), Some(due::<F>(0, at * 7 % 5)));
    }
}

fn an_iterator_takes_out_what_it_is_asked_for<F: Family>() {
    let (mut queue, keys) = filled::<F>();
    let last = due::<F>(0, 4);
    let before = queue.len();
    let first = queue.expired(last).next().expect("all are due");
    assert_eq!((queue.len(), queue.now()), (before - 1, last), "the others stay");
    assert!(!queue.contains(first.key));
    assert_eq!(queue.expired(last).count(), before - 1);
    assert!(keys.iter().all(|&key| !queue.contains(key)) && queue.is_empty());
    assert_eq!(queue.expired(u64::MAX).next(), None);
}

fn retain_asks_for_each_once<F: Family>() {
    let (mut queue, keys) = filled::<F>();
    let mut asked = Vec::new();
    // If another timer is due at the same tick as the removed timer, the queue is allowed, but not
    // required, to report a change.
    queue.retain(|pending, value| {
        asked.push(pending.key);
        assert_eq!(pending.expiry, due::<F>(0, *value * 7 % 5));
        *value += 10;
        *value % 2 == 1
    });
    assert_eq!(asked, keys);
    assert_eq!(queue.check(), Ok(()));
    let kept: Vec<_> = keys.iter().map(|&key| queue.get(key).copied()).collect();
    assert_eq!(kept, [None, Some(11), None, Some(13), None, Some(15)]);
    assert_eq!(queue.driven().retain(|_, _| true), HeadChange::Same);
    assert!(queue.driven().retain(|_, _| false).is_changed());
    assert!(queue.is_empty());
    assert_eq!(queue.driven().retain(|_, _| unreachable!("nothing is pending")), HeadChange::Same);
}

fn assert_stale<F: Family>(queue: &mut Queue<F>, key: Key) {
    assert_eq!(queue.remove(key).unwrap_err(), KeyError::Stale);
    assert_eq!(queue.reschedule_at(key, 0, 0).unwrap_err(), KeyError::Stale);
    assert_eq!((queue.get(key), queue.expiry(key)), (None, None));
    assert_eq!(queue.get_mut(key), None);
}

fn keys_are_stale_for_ever<F: Family>() {
    let (mut queue, keys) = filled::<F>();
    let mut gone = vec![keys[2]];
    queue.remove(keys[2]).unwrap();
    gone.extend(core::iter::from_fn(|| queue.pop_expired(2)).map(|expired| expired.key));
    let rounds = if cfg!(miri) { 10 } else { 500 };
    for round in 0..rounds {
        let key = queue.insert_at(round, round, 0).unwrap();
        assert!(!gone.contains(&key), "a key was issued twice");
        if round % 2 == 0 {
            queue.remove(key).unwrap();
        } else {
            while queue.pop_expired(round).is_some() {}
        }
        gone.push(key);
    }
    queue.clear();
    gone.extend(keys);
    for _ in 0..FEW {
        queue.insert_at(u64::MAX, 0, 0).unwrap();
    }
    for &key in &gone {
        assert_stale(&mut queue, key);
    }
    assert_eq!((queue.len() as u64, queue.check()), (FEW, Ok(())));
}

fn a_slot_is_retired_after_its_last_generation<F: Family>() {
    let mut queue = Queue::<F>::with_last_generation(GENERATIONS - 2);
    let first = queue.insert_at(1, 1, 0).unwrap();
    queue.remove(first).unwrap();
    let second = queue.insert_at(1, 2, 0).unwrap();
    assert_eq!(first.to_bits() & 0xffff_ffff, second.to_bits() & 0xffff_ffff, "one slot, two generations");
    assert_eq!(second.to_bits() >> 32, u64::from(GENERATIONS));
    queue.pop_expired(due::<F>(0, 1)).unwrap();
    assert_eq!(queue.check(), Ok(()));
    let third = queue.insert_at(1, 3, 0).unwrap();
    assert_ne!(second.to_bits() & 0xffff_ffff, third.to_bits() & 0xffff_ffff, "the slot was used again");
    assert_stale(&mut queue, first);
    assert_stale(&mut queue, second);
    queue.clear();
    assert_stale(&mut queue, third);
    assert_eq!((queue.len(), queue.check()), (0, Ok(())));
}

/// The generation of an idle slot has its top bit set. A number with this generation is not a key,
/// although it equals the slot's word.
fn an_idle_timer_has_no_other_key<F: Family>() {
    let (mut queue, keys) = filled::<F>();
    queue.disarm(keys[2]).unwrap();
    assert_eq!(Key::from_bits(keys[2].to_bits() | 1 << 63), None);
    assert_eq!(queue.reschedule_at(keys[2], 9, 0), Err(KeyError::Idle));
    assert_eq!((queue.expiry(keys[2]), queue.contains(keys[2])), (None, false));
    assert_eq!(queue.explain(keys[2]).unwrap_err(), KeyError::Idle);
    assert_eq!(queue.get(keys[2]), Some(&2));
    assert_eq!(queue.get_mut(keys[2]), Some(&mut 2));
    assert_eq!(
        (queue.len() as u64, queue.idle(), queue.iter_unordered().count() as u64),
        (FEW - 1, 1, FEW - 1)
    );
    queue.retain(|_, _| false);
    assert_eq!((queue.len(), queue.idle(), queue.check()), (0, 1, Ok(())));
    assert_eq!(queue.remove(keys[2]), Ok(2));
    assert_stale(&mut queue, keys[2]);
    assert_eq!((queue.idle(), queue.check()), (0, Ok(())));
}

/// A bounded queue counts idle timers too, and arming an idle timer allocates nothing.
fn an_idle_timer_keeps_its_room<F: Family>() {
    let mut queue = Queue::<F>::bounded(FEW as usize).unwrap();
    let keys: Vec<Key> = (0..FEW).map(|at| queue.insert_idle(at).unwrap()).collect();
    assert_eq!(queue.insert_idle(7).unwrap_err().reason, Reject::Full);
    assert_eq!(queue.insert_at(7, 7, 0).unwrap_err().reason, Reject::Full);
    let bytes = queue.heap_bytes();
    for &key in keys.iter().rev() {
        assert!(queue.is_idle(key));
        queue.arm_at(key, 3, 0).unwrap();
        assert!(!queue.is_idle(key));
    }
    assert_eq!((queue.heap_bytes(), queue.len() as u64, queue.check()), (bytes, FEW, Ok(())));
    let kept: Vec<Key> =
        core::iter::from_fn(|| queue.pop_and_keep(due::<F>(0, 3)).map(|late| late.key)).collect();
    assert_eq!((kept.len() as u64, queue.idle() as u64, queue.next_wake()), (FEW, FEW, None));
    assert!(keys.iter().all(|&key| queue.is_idle(key) && queue.driven().disarm(key) == Ok(HeadChange::Same)));
    queue.clear();
    assert_eq!((queue.idle(), queue.len(), queue.check()), (0, 0, Ok(())));
    assert!(keys.iter().all(|&key| queue.arm_at(key, 9, 0) == Err(KeyError::Stale)));
}

fn a_drain_keeps_idle_timers<F: Family>() {
    let (mut queue, keys) = filled::<F>();
    queue.disarm(keys[2]).unwrap();
    queue.drain_snapshot(&mut [0; 1024]).unwrap();
    assert_eq!((queue.len(), queue.idle(), queue.check()), (0, 1, Ok(())));
    assert_eq!((queue.get(keys[1]), queue.get(keys[2])), (None, Some(&2)));
    queue.arm_at(keys[2], 9, 0).unwrap();
    assert_eq!(queue.pop_expired(due::<F>(0, 9)).map(|late| late.key), Some(keys[2]));
    assert_eq!((queue.len(), queue.idle(), queue.check()), (0, 0, Ok(())));
}

fn keys_survive_the_way_through_a_number<F: Family>() {
    let (mut queue, keys) = filled::<F>();
    for &key in &keys {
        assert_ne!(key.to_bits(), 0);
        assert_eq!(Key::from_bits(key.to_bits()), Some(key));
    }
    let bits = keys[0].to_bits();
    let (generation, index) = (bits >> 32, bits & 0xffff_ffff);
    for none in
        [0, index, generation << 32, u64::from(u32::MAX), u64::from(u32::MAX) << 32, u64::MAX, bits | 1 << 63]
    {
        assert_eq!(Key::from_bits(none), None, "{none:#x}");
    }
    let other_generations = [generation + 1, generation + 7, u64::from(GENERATIONS)];
    let other_indices = [FEW + 1, FEW + 1000, 1 << 31, u64::from(u32::MAX)];
    let forged = other_generations.map(|generation| generation << 32 | index).into_iter();
    for bits in forged.chain(other_indices.map(|index| generation << 32 | index)) {
        assert_stale(&mut queue, Key::from_bits(bits).unwrap());
        assert_stale(&mut Queue::<F>::new(), Key::from_bits(bits).unwrap());
    }
    assert_eq!((queue.len() as u64, queue.check()), (FEW, Ok(())));
    assert_eq!(queue.get(keys[0]), Some(&0));
}

fn reserved_room_is_exact_and_enough<F: Family>() {
    let mut queue = Queue::<F>::with_capacity(FEW as usize).unwrap();
    let bytes = queue.heap_bytes();
    for round in 0..3 {
        for at in 0..FEW {
            queue.insert_at(at, at, 0).unwrap();
        }
        assert_eq!(queue.heap_bytes(), bytes, "round {round} has allocated");
        if round == 0 {
            queue.clear()
        } else {
            while queue.pop_expired(u64::MAX).is_some() {}
        }
        queue.reserve(FEW as usize).unwrap();
        queue.reserve(0).unwrap();
        assert_eq!(queue.heap_bytes(), bytes, "free slots serve a reservation first");
    }
    assert_eq!(Queue::<F>::new().heap_bytes(), 0);
    assert_eq!(Queue::<F>::with_capacity(usize::MAX).unwrap_err(), Reject::Full);
    assert_eq!(Queue::<F>::with_capacity(u32::MAX as usize).unwrap_err(), Reject::Full);
    assert_eq!(queue.reserve(usize::MAX).unwrap_err(), Reject::Full);
    assert_eq!(queue.check(), Ok(()));
}

fn retired_slots_do_not_count_as_room<F: Family>() {
    let mut queue = Queue::<F>::with_last_generation(GENERATIONS - 1);
    queue.reserve(2).unwrap();
    for _ in 0..2 {
        let key = queue.insert_at(0, 0, 0).unwrap();
        queue.remove(key).unwrap();
    }
    queue.reserve(2).unwrap();
    let bytes = queue.heap_bytes();
    queue.insert_at(0, 0, 0).unwrap();
    queue.insert_at(0, 0, 0).unwrap();
    assert_eq!((queue.heap_bytes(), queue.check()), (bytes, Ok(())));
}

fn a_bounded_queue_refuses_and_hands_back<F: Family>() {
    let mut queue = SlabQueue::<F, String>::bounded(3).unwrap();
    let bytes = queue.heap_bytes();
    for at in 0..3 {
        queue.insert_at(at, at.to_string(), 0).unwrap();
    }
    let refused = queue.insert_at(0, "one too many".to_owned(), 0).unwrap_err();
    assert_eq!((refused.reason, refused.value.as_str()), (Reject::Full, "one too many"));
    assert_eq!((queue.len(), queue.next_expiry(), queue.check()), (3, Some(0), Ok(())));
    assert_eq!(queue.reserve(1).unwrap_err(), Reject::Full);
    queue.pop_expired(0).unwrap();
    queue.reserve(1).unwrap();
    queue.insert_at(9, refused.value, 0).unwrap();
    assert_eq!(queue.heap_bytes(), bytes);
    assert_eq!(
        SlabQueue::<F, String>::bounded(0).unwrap().insert_at(0, String::new(), 0).unwrap_err().reason,
        Reject::Full
    );
}

fn iteration_meets_each_pending_timer_once<F: Family>() {
    let (mut queue, keys) = filled::<F>();
    queue.remove(keys[3]).unwrap();
    let mut seen: Vec<_> =
        queue.iter_unordered().map(|(pending, &value)| (pending.key, pending.expiry, value)).collect();
    seen.sort_by_key(|&(_, _, value)| value);
    let expected: Vec<_> =
        (0..FEW).filter(|&at| at != 3).map(|at| (keys[at as usize], due::<F>(0, at * 7 % 5), at)).collect();
    assert_eq!(seen, expected);
}

/// Counts the drops of all bombs, and panics at the drop that the test chooses.
struct Bomb(Rc<Cell<u32>>, u32);
impl Drop for Bomb {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
        if self.1 == 2 {
            std::panic::resume_unwind(Box::new("boom"));
        }
    }
}

fn clear_survives_a_panicking_drop<F: Family>() {
    use core::panic::AssertUnwindSafe;
    use std::panic::catch_unwind;
    if cfg!(not(panic = "unwind")) {
        return; // A panic cannot be caught here.
    }
    let dropped = Rc::new(Cell::new(0));
    let mut queue = SlabQueue::<F, Bomb>::new();
    let keys: Vec<_> =
        (0..5).map(|at| queue.insert_at(u64::from(at), Bomb(dropped.clone(), at), 0).ok().unwrap()).collect();
    assert!(catch_unwind(AssertUnwindSafe(|| queue.clear())).is_err());
    assert_eq!(
        (dropped.get(), queue.len(), queue.check()),
        (5, 0, Ok(())),
        "all payloads went, the panic notwithstanding"
    );
    assert!(keys.iter().all(|&key| queue.get(key).is_none()));
    let bytes = queue.heap_bytes();
    for at in 10..15 {
        assert!(queue.insert_at(at, Bomb(dropped.clone(), 0), 0).is_ok());
    }
    assert_eq!((queue.heap_bytes(), queue.check()), (bytes, Ok(())));
}

fn a_panic_in_a_sink_or_closure_leaves_a_whole_queue<F: Family>() {
    use core::panic::AssertUnwindSafe;
    use std::panic::{catch_unwind, resume_unwind};
    if cfg!(not(panic = "unwind")) {
        return; // A panic cannot be caught here.
    }
    let (mut queue, _) = filled::<F>();
    let rearm =
        catch_unwind(AssertUnwindSafe(|| queue.pop_and_reinsert(9, |_, _| resume_unwind(Box::new(())))));
    assert!(rearm.is_err());
    assert_eq!((queue.len() as u64, queue.now(), queue.check()), (FEW, 9, Ok(())));
    let sink = catch_unwind(AssertUnwindSafe(|| queue.advance(9, |_| resume_unwind(Box::new(())))));
    assert!(sink.is_err());
    assert_eq!((queue.len() as u64, queue.check()), (FEW - 1, Ok(())));
    assert_eq!(queue.advance_within(9, 2, |_| ()).delivered, 2);
}

/// A tick before `now` counts as `now`, also in `pop_expired_within`.
fn time_does_not_run_back_in_steps<F: Family>() {
    let mut queue = Queue::<F>::new();
    let mut unlimited = usize::MAX;
    assert!(queue.pop_expired_within(1_000, &mut unlimited).is_none());
    assert!(queue.pop_expired_within(400, &mut unlimited).is_none());
    assert_eq!(queue.now(), 1_000);
    queue.insert_at(700, 1, 0).unwrap();
    let expired = queue.pop_expired_within(5, &mut unlimited).unwrap();
    assert_eq!((expired.deadline, expired.expiry, queue.now()), (1_000, 1_000, 1_000));
    assert_eq!(queue.check(), Ok(()));
}

for_each_family! { suite [
    time_does_not_run_back_in_steps
    a_key_tells_its_expiry
    an_iterator_takes_out_what_it_is_asked_for
    retain_asks_for_each_once
    keys_are_stale_for_ever
    a_slot_is_retired_after_its_last_generation
    an_idle_timer_has_no_other_key
    an_idle_timer_keeps_its_room
    a_drain_keeps_idle_timers
    keys_survive_the_way_through_a_number
    reserved_room_is_exact_and_enough
    retired_slots_do_not_count_as_room
    a_bounded_queue_refuses_and_hands_back
    iteration_meets_each_pending_timer_once
    clear_survives_a_panicking_drop
    a_panic_in_a_sink_or_closure_leaves_a_whole_queue
] }

mod slab_only {
    use super::*;

    for_each_slab_only_family! { suite [
        time_does_not_run_back_in_steps
        a_key_tells_its_expiry
        an_iterator_takes_out_what_it_is_asked_for
        retain_asks_for_each_once
        keys_are_stale_for_ever
        a_slot_is_retired_after_its_last_generation
        an_idle_timer_has_no_other_key
        an_idle_timer_keeps_its_room
        a_drain_keeps_idle_timers
        keys_survive_the_way_through_a_number
        reserved_room_is_exact_and_enough
        retired_slots_do_not_count_as_room
        a_bounded_queue_refuses_and_hands_back
        iteration_meets_each_pending_timer_once
        clear_survives_a_panicking_drop
        a_panic_in_a_sink_or_closure_leaves_a_whole_queue
    ] }
}

#[test]
fn iteration_in_order_is_the_order_of_delivery() {
    let (mut queue, _) = filled::<tickwright_core::SortedList>();
    let listed: Vec<_> = queue.iter().map(|(pending, &value)| (pending.key, pending.expiry, value)).collect();
    let delivered: Vec<_> =
        core::iter::from_fn(|| queue.pop_expired(u64::MAX)).map(|t| (t.key, t.expiry, t.value)).collect();
    // At the pop all timers are overdue, but each timer still has the expiry that was computed at
    // its insert.
    assert_eq!(listed, delivered);
}
