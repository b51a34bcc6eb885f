mod crowd;

use core::cell::Cell;
use std::string::ToString as _;
use std::vec::Vec;

use super::super::testing::{Exact, Model as _, Random, SlabTwin};
use super::LadderQueue;
use super::state::{Ladder, LadderRecord, Near, Work};
use crate::SlabQueue;
use crate::contract::{Tick, Violation};
use crate::storage::slab::Idx;
use crate::storage::{Discipline, Nodes, Record};

/// Records that count their look-ups.
struct Counting {
    records: Vec<LadderRecord>,
    lookups: Cell<usize>,
}

impl Nodes<Idx, LadderRecord> for Counting {
    fn record(&self, p: Idx) -> &LadderRecord {
        self.lookups.set(self.lookups.get() + 1);
        &self.records[p.at()]
    }

    fn record_mut(&mut self, p: Idx) -> &mut LadderRecord {
        self.lookups.set(self.lookups.get() + 1);
        &mut self.records[p.at()]
    }
}

/// A ladder that counts the look-ups of each call. Like a slab, it reuses the slot that was vacated
/// last.
struct Counted {
    ladder: Ladder<Idx>,
    nodes: Counting,
    now: Tick,
    vacant: Vec<Idx>,
    live: Vec<Idx>,
    /// The most look-ups of one call, and the name of that call.
    worst: (usize, &'static str),
}

impl Counted {
    fn new(slots: usize) -> Self {
        let records = (0..=slots).map(|_| <LadderRecord as Record<Idx>>::IDLE).collect();
        let vacant = (1..=slots).rev().filter_map(Idx::of).collect();
        let nodes = Counting { records, lookups: Cell::new(0) };
        Self { ladder: Ladder::NEW, nodes, now: 0, vacant, live: Vec::new(), worst: (0, "") }
    }

    fn call<R>(&mut self, name: &'static str, call: impl FnOnce(&mut Self) -> R) -> R {
        self.nodes.lookups.set(0);
        let result = call(self);
        self.worst = self.worst.max((self.nodes.lookups.get(), name));
        result
    }

    fn insert(&mut self, deadline: Tick) {
        let p = self.vacant.pop().unwrap();
        self.ladder.reserve(self.live.len(), 1).unwrap();
        let _ = self.call("insert", |q| q.ladder.insert(&mut q.nodes, p, deadline, q.now));
        self.live.push(p);
    }

    fn remove(&mut self, at: usize) {
        let p = self.live.swap_remove(at);
        let _ = self.call("remove", |q| q.ladder.remove(&mut q.nodes, p));
        self.vacate(p);
    }

    fn reschedule(&mut self, at: usize, deadline: Tick) {
        let p = self.live[at];
        let _ = self.call("reschedule", |q| q.ladder.reschedule(&mut q.nodes, p, deadline, q.now));
    }

    /// Delivers up to `most` timers that are due at `now`, with this budget.
    fn advance(&mut self, now: Tick, mut budget: usize, most: usize) {
        self.now = now;
        for _ in 0..most {
            let Some(popped) = self.ladder.pop(&mut self.nodes, now, &mut budget) else { break };
            self.live.retain(|&p| p != popped.handle);
            self.vacate(popped.handle);
        }
    }

    fn vacate(&mut self, p: Idx) {
        <LadderRecord as Record<Idx>>::set_vacant(self.nodes.record_mut(p), self.vacant.last().copied());
        self.vacant.push(p);
    }
}

type Twin = SlabTwin<LadderQueue>;
type Queue = SlabQueue<LadderQueue, u32>;
type Key = crate::storage::slab::Key;

#[test]
fn agrees_with_a_sorted_vec() {
    let (sizes, seeds) = if cfg!(miri) { (&[5, 40][..], 1..3) } else { (&[5, 40, 300, 1000][..], 0..5) };
    for &ids in sizes {
        for seed in seeds.clone() {
            SlabTwin::<LadderQueue, Exact>::over_slab(ids).run(seed);
        }
    }
}

/// The clock is at 2^k - d. Timers are around the clock and around the next power of two. Half of
/// the cases have one more timer, at the end of time. The clock then advances tick by tick.
#[test]
fn every_power_of_two_is_passed_in_order() {
    for k in 0..64 {
        for d in [0, 1, 2, 65] {
            for far in [false, true] {
                let edge: Tick = 1 << k;
                let mut twin = Twin::over_slab(32);
                twin.advance(edge.saturating_sub(d), 1);
                if far {
                    twin.insert(0, Tick::MAX);
                }
                let next = edge.saturating_mul(2);
                let deadlines =
                    [edge - 1, edge, edge + 1, next - 1, next, next.saturating_add(1), edge + 63, edge + 64];
                for (id, &deadline) in (1..).zip(&deadlines) {
                    twin.insert(id, deadline);
                }
                for budget in [1, 1, 2, usize::MAX] {
                    twin.advance(twin.now.saturating_add(1), budget);
                }
                while let Some(wake) = twin.queue.next_wake() {
                    twin.advance(wake.saturating_sub(1), usize::MAX);
                    twin.advance(wake, usize::MAX);
                }
                assert_eq!(twin.model.len(), 0);
            }
        }
    }
}

/// Tests buckets that are sorted at once, that cascade, and that fill several chunks, with one tick
/// and many.
#[test]
fn long_buckets_keep_their_order() {
    for n in [7, 31, 32, 63, 64, 65, 66, 200, 1000] {
        for spread in [1, 2, 100, 4096, 1 << 20, 1 << 33] {
            for budget in [3, 50, usize::MAX] {
                let mut random = Random::new(n.into());
                let mut twin = Twin::over_slab(n);
                for id in 0..n {
                    let low = Tick::from(random.below(u32::MAX)) << 2 | Tick::from(random.below(4));
                    twin.insert(id, (1 << 34) + low % spread);
                }
                while twin.model.len() > 0 {
                    let next = twin.queue.next_wake().unwrap().max(twin.now);
                    twin.advance(next, budget);
                }
            }
        }
    }
}

/// Timers of one tick. Some of them were moved there from earlier ticks, in another order than that
/// of arrival. They are sorted under a budget, while new timers arrive.
#[test]
fn a_long_tick_that_is_mixed_is_sorted_by_arrival() {
    for (n, budget) in [(50, 1), (300, 7), (300, usize::MAX)] {
        let mut random = Random::new(5);
        let mut queue = Queue::new();
        let tick = 5000;
        let mut keys = Vec::new();
        for id in 0..n {
            let at = tick - Tick::from(random.below(2)) * Tick::from(random.below(3000));
            keys.push((id, queue.insert(at, id).unwrap().key));
        }
        let mut expected = Vec::new();
        while !keys.is_empty() {
            let (id, key) = keys.swap_remove(random.below(keys.len() as u32) as usize);
            let _ = queue.reschedule(key, tick).unwrap();
            expected.push(id);
        }
        assert_eq!(queue.check(), Ok(()));
        let mut got = Vec::new();
        let mut next = n;
        while !queue.is_empty() {
            let advance = queue.advance_within(tick, budget, |expired| got.push(expired.value));
            assert!(advance.delivered + advance.moved <= budget);
            assert_eq!(queue.check(), Ok(()));
            if next < n + 40 && !queue.is_empty() {
                let key = queue.insert(0, next).unwrap().key;
                if next % 2 == 0 {
                    let _ = queue.reschedule(key, tick).unwrap();
                }
                expected.push(next);
                next += 1;
            }
        }
        assert_eq!(got, expected);
    }
}

/// So many timers of one tick that the run takes them in two parts.
const CROWD: u32 = 600;

/// A crowd: the first timers are in the run, the others in the bucket.
fn crowd(tick: Tick) -> (Queue, Vec<Key>) {
    let mut queue = Queue::new();
    let keys = (0..CROWD).map(|id| queue.insert(tick, id).unwrap().key).collect();
    (queue, keys)
}

/// The entry of a cancelled timer counts again when another timer uses the same slot for the same
/// tick.
#[test]
fn a_slot_that_is_used_again_for_its_tick_leaves_last() {
    for tick in [0, 1000] {
        let (mut queue, keys) = crowd(tick);
        let _ = queue.remove(keys[150]).unwrap();
        let _ = queue.insert(tick, CROWD).unwrap();
        let expected = (0..150).chain(151..=CROWD);
        assert!(queue.expired(tick).map(|expired| expired.value).eq(expected), "{tick}");
    }
}

/// A move to an earlier tick leaves a dead entry behind. The entry is live again when its slot gets
/// a timer for the entry's tick.
#[test]
fn a_timer_that_comes_back_to_its_tick_leaves_last() {
    for cancels in [false, true] {
        let (mut queue, keys) = crowd(1000);
        let _ = queue.reschedule(keys[150], 500).unwrap();
        if cancels {
            let _ = queue.remove(keys[150]).unwrap();
            let _ = queue.insert(1000, 150).unwrap();
        } else {
            let _ = queue.reschedule(keys[150], 1000).unwrap();
        }
        let expected = (0..150).chain(151..CROWD).chain([150]);
        assert!(queue.expired(1000).map(|expired| expired.value).eq(expected), "{cancels}");
    }
}

/// A dead entry of a far bucket does not count for another tick with the same lower half.
#[test]
fn ticks_with_equal_lower_halves_are_told_apart() {
    let mut queue = Queue::new();
    let keys: Vec<_> = (0..300).map(|id| queue.insert(1 << 61, id).unwrap().key).collect();
    for &key in &keys[100..] {
        let _ = queue.reschedule(key, 1 << 62).unwrap();
    }
    assert_eq!(queue.expired(1 << 61).count(), 100);
    assert_eq!(queue.order.entries, 200);
    for (&key, left) in keys[100..].iter().zip((0..200).rev()) {
        let _ = queue.remove(key).unwrap();
        assert_eq!((queue.check(), queue.next_expiry()), (Ok(()), (left > 0).then_some(1 << 62)));
    }
}

/// A cascade of a bucket stops, and timers of its ticks arrive.
#[test]
fn arrivals_during_a_cascade_leave_last() {
    let (mut queue, _) = crowd(5000);
    let mut leave = Vec::new();
    let mut next = CROWD;
    while !queue.is_empty() {
        let advance = queue.advance_within(5000, 10, |expired| leave.push(expired.value));
        assert!(advance.delivered + advance.moved <= 10);
        if next < CROWD + 20 {
            let _ = queue.insert(0, next).unwrap();
            next += 1;
        }
        assert_eq!(queue.check(), Ok(()));
    }
    assert!(leave.into_iter().eq(0..CROWD + 20));
}

/// A timer whose bucket is being moved is explained as moving at once.
#[test]
fn an_explanation_during_a_cascade_names_the_clock() {
    let (mut queue, keys) = crowd(5000);
    assert!(!queue.advance_within(5000, 10, |_| ()).complete);
    let late = queue.explain(keys[CROWD as usize - 1]).unwrap().to_string();
    assert!(late.contains("due at 5000") && !late.contains("moves down at 0"), "{late}");
    let _ = queue.insert(70_000, CROWD).unwrap();
    let far = queue.insert(70_000, CROWD + 1).unwrap().key;
    assert_eq!(
        queue.explain(far).unwrap().to_string(),
        "due at 70000; level 2, bucket 17 [69632, 73728); moves down at 70000"
    );
}

/// The reserved chunks suffice, however entries lie in chunks: one or two in each bucket, and all
/// others in one tick that is sorted.
#[test]
fn reserved_chunks_are_enough() {
    for n in [200, 300, 1500, 4000] {
        let mut queue = Queue::bounded(n).unwrap();
        let bytes = queue.heap_bytes();
        let mut random = Random::new(n as u64);
        let mut keys = Vec::new();
        for id in 0..n as u32 {
            let far = Tick::from(1 + id % 63) << (6 * (id / 63 % 10)) | 1 << 62;
            keys.push(queue.insert(far, id).unwrap().key);
        }
        let _ = queue.advance_within(1 << 62, 1, |_| ());
        for round in 0..6 {
            for &key in &keys {
                let tick = if round % 2 == 0 { 70_000 } else { Tick::from(random.below(u32::MAX)) };
                let _ = queue.reschedule(key, (1 << 62) + tick);
            }
            for budget in 0..60 {
                let _ = queue.advance_within((1 << 62) + 70_000 * (round % 2), budget, |_| ());
            }
        }
        assert_eq!((queue.check(), queue.heap_bytes()), (Ok(()), bytes), "{n}");
    }
}

/// All timers get new arrival numbers, and the dead entry that `next_wake` returned is dropped.
#[test]
fn new_numbers_report_another_wake() {
    for operation in 0..3 {
        let mut queue = Queue::new();
        queue.start_sequence_at(u32::MAX - 2 * 301);
        let alone = queue.insert(1 << 30, 300).unwrap().key;
        // The last timers are in buckets: the run is full enough.
        let keys: Vec<_> = (0..300).map(|id| queue.insert(2000 - Tick::from(id), id).unwrap().key).collect();
        let _ = queue.remove(keys[299]).unwrap();
        let _ = queue.insert(3000, 301).unwrap();
        assert_eq!((queue.next_wake(), queue.next_expiry()), (Some(1701), Some(1702)));
        let change = match operation {
            0 => queue.insert(4000, 302).unwrap().head,
            1 => queue.reschedule(alone, 1 << 31).unwrap(),
            _ => queue.reschedule(keys[290], 4000).unwrap(),
        };
        assert_eq!((queue.next_wake(), change.is_changed()), (Some(1702), true), "{operation}");
        assert_eq!(queue.check(), Ok(()));
    }
}

/// When the run is full, some of its timers go back to buckets. These timers count against the
/// budget, too, and leave in order.
#[test]
fn what_leaves_a_full_run_counts_and_keeps_its_order() {
    for budget in [1, 5, 70, usize::MAX] {
        let mut queue = Queue::new();
        let mut expected = std::collections::BTreeMap::new();
        let mut insert = |queue: &mut Queue, tick: Tick| {
            let id = expected.len() as u32;
            expected.insert((tick, id), id);
            let _ = queue.insert(tick, id).unwrap();
        };
        for _ in 0..300 {
            insert(&mut queue, 1 << 40);
        }
        let (mut leave, mut now, mut spilled) = (Vec::new(), 0, 0);
        for level in (1..6).rev() {
            // The first timer is due. It brings the other timers of its bucket into the run, which
            // are not due.
            now += 1 << (6 * level);
            insert(&mut queue, now);
            for _ in 0..62 {
                insert(&mut queue, now + (1 << (6 * level)) - 2);
            }
            loop {
                let before = queue.order.run.len();
                // Without a budget the run gets full, because a whole bucket moves into it.
                let budget = if level > 2 { usize::MAX } else { budget };
                let advance = queue.advance_within(now, budget, |expired| leave.push(expired.value));
                let gone = before.saturating_sub(queue.order.run.len());
                assert!(gone <= advance.moved + advance.delivered && advance.moved <= budget);
                spilled += gone.saturating_sub(advance.delivered);
                assert_eq!(queue.check(), Ok(()));
                if advance.complete {
                    break;
                }
            }
        }
        assert!(spilled > 0);
        let _ = queue.advance(Tick::MAX, |expired| leave.push(expired.value));
        assert!(leave.into_iter().eq(expected.into_values()), "{budget}");
    }
}

/// A timer that is moved to later ticks again and again gets no second entry. A timer that takes
/// over the slot of a cancelled timer gets none either.
#[test]
fn moves_to_later_ticks_and_used_slots_add_no_entries() {
    let mut queue = Queue::new();
    let keys: Vec<_> = (0..1000).map(|id| queue.insert(1000 + Tick::from(id), id).unwrap().key).collect();
    for round in 1..50 {
        for &key in &keys {
            assert!(queue.reschedule(key, 1_000_000 * round).is_ok());
        }
    }
    assert_eq!(queue.order.entries, 1000);
    for &key in &keys[..100] {
        let value = queue.remove(key).unwrap().value;
        let _ = queue.insert(1_000_000_000, value).unwrap();
    }
    assert_eq!(queue.order.entries, 1000);
    assert_eq!(queue.check(), Ok(()));
}

/// Whatever is cancelled or moved to earlier ticks, dead entries stay below a bound.
#[test]
fn dead_entries_stay_below_two_fifths() {
    let mut random = Random::new(1);
    let mut queue = Queue::new();
    let mut keys = Vec::new();
    for step in 0..200_000_u32 {
        let far = Tick::from(random.below(1 << 24)) << random.below(12);
        let dead = match (step / 20_000) % 4 {
            0 => {
                keys.push(queue.insert(far, step).unwrap().key);
                0
            }
            1 => {
                let key = keys[random.below(keys.len() as u32) as usize];
                let earlier = queue.expiry(key).unwrap() / 2;
                let _ = queue.reschedule(key, earlier).unwrap();
                1
            }
            2 => {
                keys.push(queue.insert(1 << 23, step).unwrap().key);
                0
            }
            _ => {
                let at = random.below(keys.len() as u32) as usize;
                let _ = queue.remove(keys.swap_remove(at)).unwrap();
                1
            }
        };
        if dead > 0 {
            let (live, entries) = (queue.len(), queue.order.entries);
            assert!(entries - live <= live * 2 / 5 + 64, "{} dead of {entries} at {step}", entries - live);
        }
    }
    assert_eq!(queue.check(), Ok(()));
}

/// The arrival numbers are used up: all timers get new numbers, and keep their order.
#[test]
fn arrivals_are_numbered_anew() {
    for before in 0..40 {
        let mut queue = Queue::new();
        queue.start_sequence_at(u32::MAX - 2 * before);
        let mut keys = Vec::new();
        for id in 0..30_u32 {
            keys.push(queue.insert(100 + Tick::from(id % 3), id).unwrap().key);
        }
        for id in [4, 9, 20] {
            let _ = queue.reschedule(keys[id], 101).unwrap();
        }
        assert_eq!(queue.check(), Ok(()));
        let expected = (0..30)
            .step_by(3)
            .filter(|&id| id != 9)
            .chain((1..30).step_by(3).filter(|&id| id != 4))
            .chain([4, 9, 20])
            .chain((2..30).step_by(3).filter(|&id| id != 20));
        assert!(queue.expired(200).map(|expired| expired.value).eq(expected), "{before}");
    }
}

/// The marks of a slot's earlier timers do not survive a clear, since it drops all entries.
#[test]
fn a_clear_leaves_nothing_to_take_over() {
    let mut queue = Queue::new();
    for id in 0..10 {
        let _ = queue.insert(1000, id).unwrap();
    }
    let key = queue.insert(1000, 10).unwrap().key;
    let _ = queue.remove(key).unwrap();
    queue.clear();
    for id in 0..11 {
        let _ = queue.insert(2000, id).unwrap();
    }
    assert_eq!(queue.check(), Ok(()));
    assert_eq!(queue.expired(2000).count(), 11);
}

/// Each kind of damage that `check` can report.
#[test]
fn a_check_finds_what_is_broken() {
    let filled = || {
        let mut queue = Queue::new();
        for id in 0..400 {
            let _ = queue.insert(1000 + 7 * Tick::from(id), id).unwrap();
        }
        assert_eq!(queue.check(), Ok(()));
        queue
    };
    let broken = |wound: fn(&mut Queue)| {
        let mut queue = filled();
        wound(&mut queue);
        queue.check()
    };
    assert_eq!(broken(|queue| queue.order.entries += 1), Err(Violation::Count));
    assert_eq!(broken(|queue| queue.order.live -= 1), Err(Violation::Count));
    assert_eq!(broken(|queue| queue.order.moved += 1), Err(Violation::Count));
    assert_eq!(broken(|queue| queue.order.run.reverse()), Err(Violation::Order));
    assert_eq!(broken(|queue| queue.order.run.truncate(63)), Err(Violation::Count));
    assert_eq!(broken(|queue| queue.order.next_sequence = 300), Err(Violation::Sequence));
    assert_eq!(broken(|queue| queue.order.clock = 1001), Err(Violation::Order));
    assert_eq!(broken(|queue| queue.order.horizon += 1), Err(Violation::Minimum));
    assert_eq!(broken(|queue| queue.order.horizon -= 1), Err(Violation::Minimum));
    let first = |queue: &Queue| queue.order.rungs.first().unwrap();
    assert_eq!(
        broken(|queue| {
            let at = queue.order.rungs.first().unwrap();
            queue.order.rungs.set_min(at, |min| min + 1);
            queue.order.find_horizon();
        }),
        Err(Violation::Minimum)
    );
    assert_eq!(
        broken(|queue| {
            let at = queue.order.rungs.first().unwrap();
            queue.order.rungs.set_min(at, |min| min - 1);
            queue.order.find_horizon();
        }),
        Err(Violation::Minimum)
    );
    let crowded = || {
        let (mut queue, _) = crowd(1000);
        assert_eq!(queue.pop_expired(1000).map(|expired| expired.value), Some(0));
        assert!(matches!(queue.order.work, Work::Front { .. }));
        assert_eq!(queue.check(), Ok(()));
        queue
    };
    let mut queue = crowded();
    queue.order.horizon += 1;
    assert_eq!(queue.check(), Err(Violation::Minimum));
    // A timer of the front stands in the run, where only earlier arrivals do.
    let mut queue = crowded();
    queue.order.run[0] = Near::new(1000, CROWD - 1, CROWD);
    assert_eq!(queue.check(), Err(Violation::Sequence));
    let mut queue = filled();
    let at = first(&queue);
    queue.order.rungs.forget_occupied(at);
    assert!(matches!(queue.check(), Err(Violation::Occupied | Violation::Count)), "{:?}", queue.check());
}

/// A long bucket of one tick whose entries are not in the order of arrival, although its mark is
/// cleared.
#[test]
fn a_check_finds_an_order_that_is_not_marked() {
    let mut queue = Queue::new();
    let mut keys = Vec::new();
    for id in 0..400_u32 {
        keys.push(queue.insert(40 + Tick::from(id / 200), id).unwrap().key);
    }
    // The timer is rescheduled to the same tick: its entry stays, and its arrival is the latest.
    let _ = queue.reschedule(keys[300], 41).unwrap();
    assert_eq!(queue.check(), Ok(()));
    queue.order.rungs.forget_mixed();
    assert_eq!(queue.check(), Err(Violation::Sequence));
}

/// No call except an advance reads more than 500 records. This holds for any number of dead
/// entries, wherever they are.
#[test]
fn no_call_but_an_advance_takes_long() {
    const NEAR: Tick = (1 << 16) + 4000;
    const FAR: Tick = 1 << 40;
    // Dead entries lie in buckets of all levels, of level 0 alone, and among entries that are
    // moved, sorted and delivered.
    let cases = [
        (NEAR, 1 << 20, 0, 0),
        (NEAR, 60, 0, 0),
        (NEAR, 1, 3000, 1),
        (FAR, 1, 3000, 1),
        (NEAR, 1, usize::MAX, 100),
        (NEAR, 2, usize::MAX, 100),
        (NEAR, 1, 20_000, 1),
    ];
    let n = if cfg!(miri) { 1_000 } else { 20_000 };
    for (case, (first, spread, budget, delivered)) in cases.into_iter().enumerate() {
        for mixed in [false, true] {
            for script in 0..4 {
                let mut random = Random::new(script);
                let mut queue = Counted::new(n);
                for _ in 0..n {
                    queue.insert(first + Tick::from(random.below(spread)));
                }
                for at in 0..if mixed { n } else { 0 } {
                    queue
                        .reschedule(random.below(n as u32) as usize, first + at as Tick % Tick::from(spread));
                }
                let budget = if mixed { budget.saturating_mul(3) } else { budget };
                queue.advance(if delivered > 0 { first } else { 0 }, budget, delivered);
                for step in 0..3 * queue.live.len() {
                    let at = random.below(queue.live.len() as u32) as usize;
                    let p = queue.live[at];
                    let left = queue.nodes.records[p.at()].expiry.saturating_sub(queue.now);
                    let soon = queue.now + 1 + Tick::from(random.below(3));
                    match (script, step % 2) {
                        (0, _) => queue.reschedule(at, queue.now + left - left.min(soon - queue.now)),
                        (1, _) => {
                            queue.remove(at);
                            queue.insert(soon);
                        }
                        (2, _) => queue.reschedule(at, if left > 3 { soon } else { first + (1 << 30) }),
                        (_, 0) => queue.reschedule(0, soon),
                        _ => {
                            queue.remove(0);
                            queue.insert(first + (1 << 40));
                        }
                    }
                }
                let (lookups, name) = queue.worst;
                assert!(lookups <= 500, "{lookups} in {name}: case {case}, script {script}, {mixed}");
            }
        }
    }
}
