//! Compares queues over both storages with a sorted vector. Other tests damage lists deliberately,
//! and `check` must find the damage.

use core::ops::Range;
use std::vec::Vec;

use super::lists::{LISTS, Lists};
use super::record::Place;
use super::{Delays, FixedDelay, FixedDelayRecord};
use crate::contract::{Span, Tick, Violation};
use crate::explain::Whereabouts;
use crate::queue::hook::{HookQueue, Timer};
use crate::queue::slab::SlabQueue;
use crate::structure::Discipline;
use crate::structures::testing::{Entry, Exact, Model, Random, VecNodes, prepared_twins, twins};

/// The number of timers of a script: ids `0..IDS`.
const IDS: u32 = 48;

const SEEDS: Range<u64> = if cfg!(miri) { 1..9 } else { 0..10 };

/// Returns the shortest delays, up to `count`, that hash to the list of delay 7.
fn colliding(count: usize) -> Vec<Span> {
    let number = Lists::<usize>::number_of(7);
    (7..).filter(|&delay| Lists::<usize>::number_of(delay) == number).take(count).collect()
}

/// Defines an exact model that draws its delays with the given expression.
macro_rules! delays {
    ($(#[$meta:meta])* $name:ident, $random:ident => $span:expr) => {
        $(#[$meta])*
        #[derive(Debug, Default)]
        struct $name(Exact);

        impl Model for $name {
            fn len(&self) -> usize {
                self.0.len()
            }

            fn get(&self, at: usize) -> Option<Entry> {
                self.0.get(at)
            }

            fn insert(&mut self, id: u32, deadline: Tick, now: Tick) {
                self.0.insert(id, deadline, now);
            }

            fn remove(&mut self, id: u32) {
                self.0.remove(id);
            }

            fn span($random: &mut Random) -> Span {
                $span
            }
        }
    };
}

delays! {
    /// Draws one of two delays most of the time, and sometimes another delay, including the least
    /// and the greatest.
    FewDelays, random => match random.below(12) {
        0 => Span::MAX - Span::from(random.below(2)),
        1 => 0,
        2 => random.below(64).into(),
        3..=6 => 30,
        _ => 5,
    }
}

delays! {
    /// Draws delays that hash to the same list, one of them more often than the others.
    Collisions, random => {
        let known = [7, 384, 617, 994, 1227, 1371];
        known[(random.below(8) as usize).saturating_sub(2)]
    }
}

#[test]
fn agrees_with_a_sorted_vec() {
    twins::<FixedDelay, Exact>(IDS, SEEDS);
    twins::<FixedDelay, FewDelays>(IDS, SEEDS);
    twins::<FixedDelay, Collisions>(IDS, SEEDS);
}

/// Compares queues whose arrival numbers begin at `first` with the model.
fn worn_shells<M: Model>(first: u32) {
    prepared_twins::<FixedDelay, M>(
        IDS,
        SEEDS,
        |slab| slab.queue.start_sequence_at(first),
        |hook| hook.queue.start_sequence_at(first),
    );
}

#[test]
fn used_up_arrival_numbers_are_given_again_in_order() {
    for first in [u32::MAX, u32::MAX - 1, u32::MAX - 40, u32::MAX - 100] {
        worn_shells::<Exact>(first);
        worn_shells::<FewDelays>(first);
        worn_shells::<Collisions>(first);
    }
}

type Queue = SlabQueue<FixedDelay, u32>;

/// Returns the values in the order in which their timers leave.
fn drain(queue: &mut Queue) -> Vec<u32> {
    queue.expired(Tick::MAX).map(|timer| timer.value).collect()
}

#[test]
fn the_delays_of_the_model_share_a_list() {
    assert_eq!(colliding(6), [7, 384, 617, 994, 1227, 1371]);
}

/// Eight timers with four different delays are due at tick 100, and leave in the order of their
/// arrival.
#[test]
fn equals_leave_in_the_order_of_arrival_across_lists_and_heap() {
    for first in [0, u32::MAX - 7, u32::MAX - 4] {
        let mut queue = Queue::new();
        queue.start_sequence_at(first);
        let mut value = 0;
        for now in [0, 40, 60, 70] {
            assert!(queue.pop_expired(now).is_none());
            for _ in 0..2 {
                queue.insert(100, value).unwrap();
                value += 1;
            }
            assert_eq!(queue.check(), Ok(()));
        }
        let key = queue.peek().unwrap().key;
        queue.reschedule(key, 100).unwrap();
        assert_eq!(queue.check(), Ok(()));
        assert_eq!(drain(&mut queue), [1, 2, 3, 4, 5, 6, 7, 0]);
    }
}

#[test]
fn a_timer_of_a_known_delay_adds_no_entry_to_the_heap() {
    let mut queue = Queue::new();
    let keys: Vec<_> = (0..100).map(|n| queue.insert(5 + 20 * Tick::from(n % 2), n).unwrap()).collect();
    assert_eq!((queue.store.order.heap.len, queue.check()), (2, Ok(())));
    for key in &keys[10..60] {
        assert!(!queue.driven().remove(*key).unwrap().1.is_changed());
    }
    assert_eq!((queue.store.order.heap.len, queue.check()), (2, Ok(())));
    for key in &keys[60..] {
        assert!(!queue.driven().reschedule(*key, 25).unwrap().is_changed());
    }
    assert_eq!((queue.store.order.heap.len, queue.len(), queue.check()), (2, 50, Ok(())));
    // The first node of a list leaves in each of three ways. Each time the next node takes over the
    // cell.
    assert!(queue.driven().remove(keys[0]).unwrap().1.is_changed());
    assert!(queue.driven().reschedule(keys[2], 25).unwrap().is_changed());
    assert_eq!(queue.pop_expired(5).map(|timer| timer.value), Some(4));
    assert_eq!((queue.store.order.heap.len, queue.len(), queue.check()), (2, 48, Ok(())));
}

/// Returns the delay of the list that the colliding delays share, and whether the list is shared.
fn list(queue: &Queue) -> (Span, bool) {
    let list = queue.store.order.lists.0[Lists::<usize>::number_of(7)];
    (list.delay, list.shared)
}

#[test]
fn a_delay_takes_the_list_of_a_lone_timer_and_of_no_shared_one() {
    let delays = colliding(3);
    let mut queue = Queue::new();
    queue.insert(delays[0], 0).unwrap();
    assert_eq!(list(&queue), (delays[0], false));
    queue.insert(delays[1], 1).unwrap();
    assert_eq!((list(&queue), queue.store.order.heap.len), ((delays[1], false), 2));
    queue.insert(delays[1], 2).unwrap();
    assert_eq!((list(&queue), queue.store.order.heap.len), ((delays[1], true), 2));
    // Timers of a third delay and of the first delay go into the heap.
    queue.insert(delays[2], 3).unwrap();
    queue.insert(delays[0], 4).unwrap();
    assert_eq!((list(&queue), queue.store.order.heap.len), ((delays[1], true), 4));
    assert_eq!(queue.check(), Ok(()));
    // The timer of the first delay, which is only in the heap, leaves; the list does not change.
    assert_eq!(queue.pop_expired(delays[0]).map(|timer| timer.value), Some(0));
    assert_eq!((list(&queue), queue.check()), ((delays[1], true), Ok(())));
    assert_eq!(drain(&mut queue), [4, 1, 2, 3]);
    assert_eq!(list(&queue), (delays[1], false));
    let mut queue = Queue::new();
    for value in 0..2 {
        queue.insert(delays[0], value).unwrap();
    }
    // The list is empty again, so another delay can take it.
    assert_eq!(drain(&mut queue), [0, 1]);
    queue.insert(delays[1], 2).unwrap();
    assert_eq!(queue.store.order.lists.0[Lists::<usize>::number_of(0)].delay, 0, "the clock is at its end");
    assert_eq!(queue.check(), Ok(()));
}

#[test]
fn a_cleared_queue_has_empty_lists() {
    let mut queue = Queue::new();
    for value in 0..10 {
        queue.insert(7, value).unwrap();
    }
    queue.clear();
    assert_eq!((queue.check(), queue.next_expiry(), list(&queue)), (Ok(()), None, (0, false)));
    queue.insert(7, 3).unwrap();
    assert_eq!((queue.check(), drain(&mut queue)), (Ok(()), Vec::from([3])));
}

#[test]
fn deadlines_at_the_end_of_time_have_the_delay_that_is_left() {
    let mut queue = Queue::new();
    for (value, now) in [0, 0, 1, Tick::MAX - 7, Tick::MAX, Tick::MAX].into_iter().enumerate() {
        assert!(queue.pop_expired(now).is_none_or(|timer| timer.expiry >= Tick::MAX - 3));
        queue.insert(now.saturating_add(Tick::MAX - 3), value as u32).unwrap();
        queue.insert(Tick::MAX, 10 + value as u32).unwrap();
        assert_eq!(queue.check(), Ok(()));
    }
    let mut last = 0;
    for timer in queue.expired(Tick::MAX) {
        assert!(timer.expiry >= last);
        last = timer.expiry;
    }
}

#[test]
fn many_timers_of_few_and_of_many_delays_leave_in_order() {
    let mut random = Random::new(5);
    let count = if cfg!(miri) { 500 } else { 30_000 };
    let mut queue = Queue::new();
    let mut model = Vec::new();
    let mut now = 0;
    for id in 0..count {
        now += Tick::from(random.below(3));
        let delay = match random.below(10) {
            0..=5 => 1_000_000,
            6..=8 => 1_000_000 + Tick::from(random.below(10)),
            _ => 1_000_000 + Tick::from(random.below(100_000)),
        };
        assert!(queue.pop_expired(now).is_none());
        queue.insert(now + delay, id).unwrap();
        model.push((now + delay, id));
    }
    assert_eq!(queue.check(), Ok(()));
    model.sort_unstable();
    for (expiry, id) in model {
        let fired = queue.pop_expired(Tick::MAX).unwrap();
        assert_eq!((fired.expiry, fired.value), (expiry, id));
    }
    assert_eq!(queue.check(), Ok(()));
}

/// If room for an entry per timer is reserved, a timer takes 48 bytes. Otherwise only the entries
/// that exist take memory.
#[test]
fn a_timer_takes_32_bytes_and_16_in_the_heap() {
    let table = LISTS * 16;
    let count = 100_000;
    let queue = Queue::with_capacity(count).unwrap();
    // Unused bytes: three cells before the root, one cell after the last entry, and index 0 of the
    // slab.
    assert_eq!(queue.heap_bytes(), 48 * count + 4 * 16 + 32 + table);
    let mut queue = Queue::new();
    assert_eq!(queue.heap_bytes(), 0);
    type Order<F> = <F as crate::structure::Family>::Of<crate::queue::slab::Idx>;
    let lists = size_of::<Vec<u8>>() + size_of::<Tick>() + size_of::<usize>();
    let heap = size_of::<Order<super::super::dary_heap::DaryHeap<4>>>();
    assert_eq!(size_of::<Order<FixedDelay>>(), heap + lists);
    for value in 0..1_000 {
        queue.insert(500, value).unwrap();
    }
    let heap = queue.store.order.heap_bytes();
    assert!(heap <= table + 4 * 64, "{heap} bytes for one entry");
}

#[test]
fn an_explanation_tells_the_list_or_the_cell() {
    let mut queue = Queue::new();
    let keys: Vec<_> = (0..3).map(|value| queue.insert(500, value).unwrap()).collect();
    let head = Whereabouts::Heap { arity: 4, position: 1, positions: 1 };
    assert_eq!(queue.explain(keys[0]).unwrap().whereabouts, head);
    assert_eq!(queue.explain(keys[2]).unwrap().whereabouts, Whereabouts::DelayList { delay: 500 });
    let said = std::format!("{}", queue.explain(keys[1]).unwrap());
    assert_eq!(said, "due at 500; in the list of delay 500, behind another timer");
}

type Id = usize;
type Records = VecNodes<FixedDelayRecord<Id>>;

fn records(count: usize) -> Records {
    VecNodes((0..count).map(|_| <FixedDelayRecord<Id> as crate::structure::Record<Id>>::IDLE).collect())
}

/// Timers 1 to 3 have delay 20 and are due at 20, 20 and 25. Timers 4 and 5 have delay 7 and are
/// due at 12. Timer 6 has a delay of 384, which hashes to the list of delay 7, so timer 6 is in the
/// heap without a list. Timer 7 is the only timer in its list.
fn whole() -> (Delays<Id>, Records) {
    let mut queue = Delays::NEW;
    let mut records = records(9);
    let timers = [(20, 0), (20, 0), (25, 5), (12, 5), (12, 5), (389, 5), (60, 5)];
    for (id, (deadline, now)) in (1..).zip(timers) {
        queue.reserve(id - 1, 1).unwrap();
        let _ = queue.insert(&mut records, id, deadline, now);
    }
    assert_eq!(queue.check(&records, 7), Ok(()));
    assert_eq!((queue.heap.len, queue.heap.next_sequence), (4, 7));
    (queue, records)
}

fn broken(wound: impl Fn(&mut Delays<Id>, &mut Records)) -> Violation {
    let (mut queue, mut records) = whole();
    wound(&mut queue, &mut records);
    queue.check(&records, 7).unwrap_err()
}

#[test]
fn every_broken_field_is_found() {
    let number = |delay| Lists::<Id>::number_of(delay);

    // Damages the number of nodes, and links nodes in a circle.
    let (queue, nodes) = whole();
    for len in [6, 8] {
        assert_eq!(queue.check(&nodes, len), Err(Violation::Count));
    }
    assert_eq!(broken(|_, records| records.0[2].next = None), Violation::Head);
    assert_eq!(broken(|_, records| records.0[3].next = Some(2)), Violation::BackLink);
    assert_eq!(broken(|_, records| records.0[3].next = Some(8)), Violation::BackLink);
    let stray = |next| {
        broken(|queue, records| {
            records.0[3].next = Some(8);
            records.0[8] = FixedDelayRecord::inside(25, 3, next, number(20), 6);
            queue.lists.0[number(20)].tail = Some(8);
        })
    };
    assert_eq!(stray(None), Violation::Count);
    assert_eq!(stray(Some(3)), Violation::BackLink);

    // Damages the record of a node with an entry: the expiry, the cell, and whether the node is in
    // the heap.
    for head in [1, 4, 6, 7] {
        assert_eq!(broken(|_, records| records.0[head].expiry += 1), Violation::Position);
        assert_eq!(broken(|_, records| records.0[head].place += 1), Violation::Position);
        assert_eq!(broken(|_, records| records.0[head].prev = Some(8)), Violation::BackLink);
    }
    // Damages nodes inside a list: their back links, list numbers, expiries and arrival numbers.
    for inside in [2, 3, 5] {
        assert_eq!(broken(|_, records| records.0[inside].prev = Some(6)), Violation::BackLink);
        assert_eq!(broken(|_, records| records.0[inside].prev = None), Violation::BackLink);
        assert_eq!(broken(|_, records| records.0[inside].place += 1), Violation::Bucket);
        assert_eq!(broken(|_, records| records.0[inside].expiry = 3), Violation::Order);
        assert_eq!(broken(|_, records| records.0[inside].mark = 7), Violation::Sequence);
    }
    assert_eq!(broken(|_, records| records.0[2].mark = 0), Violation::Sequence);
    assert_eq!(broken(|_, records| records.0[5].mark = 2), Violation::Sequence);
    // Makes the first node of a list name no list, or another list.
    assert_eq!(broken(|_, records| records.0[1].mark = 0), Violation::Bucket);
    assert_eq!(broken(|_, records| records.0[7].mark = 0), Violation::Head);

    // Damages the table: its tails, marks and delays.
    let table = |delay: Span, wound: fn(&mut super::DelayList<Id>)| {
        broken(|queue, _| wound(&mut queue.lists.0[number(delay)]))
    };
    for delay in [20, 7] {
        assert_eq!(table(delay, |list| list.tail = None), Violation::Head);
        assert_eq!(table(delay, |list| list.tail = Some(1)), Violation::Head);
        assert_eq!(table(delay, |list| list.shared = false), Violation::Occupied);
        assert_eq!(table(delay, |list| list.delay += 1), Violation::Bucket);
    }
    assert_eq!(table(3, |list| list.shared = true), Violation::Occupied);
    assert_eq!(table(3, |list| list.tail = Some(6)), Violation::Head);
    assert_eq!(broken(|queue, _| queue.lists = Lists::NONE), Violation::Head);
    // Makes a poll miss the timers that are due at 12.
    assert_eq!(broken(|queue, _| queue.quiet = 13), Violation::Minimum);
    // `check` also verifies the heap's own invariants.
    assert_eq!(broken(|queue, _| queue.heap.next_sequence = 5), Violation::Sequence);
}

/// If the table gets no memory, every timer is in the heap.
#[test]
fn a_queue_without_lists_is_a_heap() {
    let mut queue: Delays<Id> = Delays::NEW;
    let mut records = records(40);
    for id in 1..40 {
        queue.heap.reserve_entries(id - 1, 1).unwrap();
        let _ = queue.insert(&mut records, id, 10 + (id as Tick % 3), 0);
        assert_eq!(queue.check(&records, id), Ok(()));
    }
    assert_eq!(queue.heap.len, 39);
    let _ = queue.reschedule(&mut records, 5, 12, 3);
    let _ = queue.remove(&mut records, 6);
    assert_eq!(queue.check(&records, 38), Ok(()));
    let order = core::iter::from_fn(|| queue.pop(&mut records, 99, &mut 1)).map(|popped| popped.handle);
    let expected = (1..40).filter(|id| id % 3 == 0 && *id != 6).chain((1..40).filter(|id| id % 3 == 1));
    assert!(order.eq(expected.chain((1..40).filter(|id| id % 3 == 2 && *id != 5)).chain([5])));
}

/// If a reschedule gets no memory for an entry, the timer stays in its list, in the order of
/// expiry. After that, a new timer with the delay of the list can be due before the list's last
/// timer. In that case the list does not accept the new timer.
#[test]
fn a_list_takes_a_timer_in_order_where_there_is_no_memory() {
    for expiry in 0..50 {
        let mut queue: Delays<Id> = Delays::NEW;
        let mut records = records(9);
        for (id, now) in (1..=4).zip([0, 10, 10, 20]) {
            queue.reserve(id - 1, 1).unwrap();
            let _ = queue.insert(&mut records, id, now + 20, now);
        }
        // Reschedules a timer from the middle of the list, and then the head.
        for id in [2, 1] {
            let arrival = queue.take_arrival(&mut records);
            let left = queue.leave(&mut records, id);
            assert!(left.cell.is_none());
            let first = (1..=4).filter(|other| *other != id).map(|other| records.0[other].expiry);
            let earliest = first.min().unwrap();
            let led = queue.insert_sorted(&mut records, id, expiry, arrival, left.list.unwrap());
            assert_eq!(led, expiry < earliest);
            assert_eq!((queue.check(&records, 4), queue.heap.len), (Ok(()), 1));
        }
        // The list has one timer, which is due at or before 49. If that timer is due after 41, the
        // list is not in the order of its delay.
        let _ = queue.insert(&mut records, 5, 41, 21);
        assert_eq!(queue.check(&records, 5), Ok(()));
        let mut last = 0;
        let mut order = Vec::new();
        while let Some(popped) = queue.pop(&mut records, 99, &mut 1) {
            assert!(popped.expiry >= last);
            last = popped.expiry;
            order.push(popped.handle);
        }
        assert_eq!((order.len(), queue.check(&records, 0)), (5, Ok(())));
        // Timers leave by expiry, and with equal expiry by arrival: 3 at 30, 4 at 40, then 2, 1,
        // then 5 at 41.
        let at = |id| order.iter().position(|other| *other == id).unwrap();
        assert!(at(2) < at(1) && (expiry < 30 || at(3) < at(2)) && (expiry < 40 || at(4) < at(2)));
        assert_eq!(at(1) < at(5), expiry <= 41);
    }
}

/// The last timer of a list is later than the list's delay requires, because there was no memory
/// for a heap entry. If a timer in the middle of the list is re-armed with the list's delay, it
/// must not move after that last timer.
#[test]
fn a_rearm_does_not_go_behind_a_later_tail() {
    let mut queue: Delays<Id> = Delays::NEW;
    let mut records = records(9);
    for (id, now) in (1..=4).zip([0, 10, 10, 20]) {
        queue.reserve(id - 1, 1).unwrap();
        let _ = queue.insert(&mut records, id, now + 20, now);
    }
    // The following lines do what `move_anywhere` does with timer 2 when the heap gets no memory.
    let arrival = queue.take_arrival(&mut records);
    let left = queue.leave(&mut records, 2);
    assert!(!queue.insert_sorted(&mut records, 2, 90, arrival, left.list.unwrap()));
    let _ = queue.reschedule(&mut records, 3, 50, 30);
    assert_eq!(queue.check(&records, 4), Ok(()));
    let leave: Vec<_> = core::iter::from_fn(|| queue.pop(&mut records, 99, &mut 1))
        .map(|popped| (popped.handle, popped.expiry))
        .collect();
    assert_eq!(leave, [(1, 20), (4, 40), (3, 50), (2, 90)]);
}

#[test]
fn a_node_tells_where_it_stands() {
    let (queue, records) = whole();
    assert!(matches!(records.0[1].place(), Place::InHeap { list: Some(_), .. }));
    assert!(matches!(records.0[2].place(), Place::Inside { prev: 1, .. }));
    assert!(matches!(records.0[6].place(), Place::InHeap { list: None, .. }));
    let mut visited = Vec::new();
    queue.for_each(&records, |id| visited.push(id));
    visited.sort_unstable();
    assert_eq!(visited, [1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn nodes_in_structs_have_40_bytes() {
    #[cfg(target_pointer_width = "64")]
    assert_eq!(size_of::<Timer<FixedDelay, ()>>(), 40);
    let timers: Vec<Timer<FixedDelay, u32>> = (0..4).map(Timer::new).collect();
    let mut queue: HookQueue<'_, FixedDelay, u32> = HookQueue::new();
    for timer in &timers {
        queue.insert(9, timer).unwrap();
    }
    drop(queue);
    assert!(timers.iter().all(|timer| !timer.is_linked()));
}
