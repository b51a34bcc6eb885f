mod crowd;

use core::cell::Cell;
use std::string::ToString as _;
use std::vec::Vec;

use super::super::testing::{Exact, Model as _, Random, SlabTwin};
use super::LadderQueue;
use super::record::{LadderRecord, SLOTS};
use super::refill::MANY;
use super::run::UNUSED;
use super::rungs::TOP;
use super::state::Ladder;
use crate::SlabQueue;
use crate::contract::{Reject, Tick, Violation};
use crate::explain::Whereabouts;
use crate::queue::slab::Idx;
use crate::structure::{Discipline, Nodes, Record};

/// Records, with a count of how many were looked up.
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

/// A ladder, with a count of the records that each call looks up. Like a slab, it reuses the slot
/// that was vacated last.
struct Counted {
    ladder: Ladder<Idx>,
    nodes: Counting,
    now: Tick,
    vacant: Vec<Idx>,
    live: Vec<Idx>,
    /// The greatest number of records that one call has looked up, and the name of that call.
    worst: (usize, &'static str),
}

impl Counted {
    fn new(slots: usize) -> Self {
        let records = (0..=slots).map(|_| <LadderRecord as Record<Idx>>::IDLE).collect();
        let vacant = (1..=slots).rev().filter_map(Idx::of).collect();
        let nodes = Counting { records, lookups: Cell::new(0) };
        Self {
            ladder: <Ladder<Idx> as Discipline<Idx>>::NEW,
            nodes,
            now: 0,
            vacant,
            live: Vec::new(),
            worst: (0, ""),
        }
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

    /// Delivers up to `most` timers that are due at `now`, within `budget`.
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
type Key = crate::queue::slab::Key;

#[test]
fn agrees_with_a_sorted_vec() {
    let (sizes, seeds) = if cfg!(miri) { (&[5, 40][..], 1..3) } else { (&[5, 40, 300, 1000][..], 0..5) };
    for &ids in sizes {
        for seed in seeds.clone() {
            SlabTwin::<LadderQueue, Exact>::over_slab(ids).run(seed);
        }
    }
}

/// The clock starts at 2^k - d, for several k and d. Timers are due around the clock and around the
/// next power of two. Half of the cases have one more timer, which is due at the last tick. The
/// clock then advances tick by tick.
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

/// Tests buckets that are sorted at once, buckets that are divided, and buckets that fill several
/// chunks, each with one tick and with many ticks.
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

/// Many timers are due at one tick. Some of them were moved there from earlier ticks, in an order
/// other than that of their arrival. Calls with a budget sort the timers while new timers arrive.
#[test]
fn a_long_tick_that_is_mixed_is_sorted_by_arrival() {
    for (n, budget) in [(50, 1), (300, 7), (300, usize::MAX)] {
        let mut random = Random::new(5);
        let mut queue = Queue::new();
        let tick = 5000;
        let mut keys = Vec::new();
        for id in 0..n {
            let at = tick - Tick::from(random.below(2)) * Tick::from(random.below(3000));
            keys.push((id, queue.insert(at, id).unwrap()));
        }
        let mut expected = Vec::new();
        while !keys.is_empty() {
            let (id, key) = keys.swap_remove(random.below(keys.len() as u32) as usize);
            queue.reschedule(key, tick).unwrap();
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
                let key = queue.insert(0, next).unwrap();
                if next % 2 == 0 {
                    queue.reschedule(key, tick).unwrap();
                }
                expected.push(next);
                next += 1;
            }
        }
        assert_eq!(got, expected);
    }
}

/// The number of timers of one tick that move into the run in ten steps.
const CROWD: u32 = 600;

/// Returns a queue with [`CROWD`] timers of one tick: the first of them are in the run, the others
/// in the top.
fn crowd(tick: Tick) -> (Queue, Vec<Key>) {
    let mut queue = Queue::new();
    let keys = (0..CROWD).map(|id| queue.insert(tick, id).unwrap()).collect();
    (queue, keys)
}

/// The dead entry of a cancelled timer is live again when another timer uses the same slot for the
/// same tick.
#[test]
fn a_slot_that_is_used_again_for_its_tick_leaves_last() {
    for tick in [0, 1000] {
        let (mut queue, keys) = crowd(tick);
        queue.remove(keys[150]).unwrap();
        queue.insert(tick, CROWD).unwrap();
        let expected = (0..150).chain(151..=CROWD);
        assert!(queue.expired(tick).map(|expired| expired.value).eq(expected), "{tick}");
    }
}

/// A move to an earlier tick leaves a dead entry in the old bucket. The entry is live again when
/// its slot gets a timer for the entry's tick.
#[test]
fn a_timer_that_comes_back_to_its_tick_leaves_last() {
    for cancels in [false, true] {
        let (mut queue, keys) = crowd(1000);
        queue.reschedule(keys[150], 500).unwrap();
        if cancels {
            queue.remove(keys[150]).unwrap();
            queue.insert(1000, 150).unwrap();
        } else {
            queue.reschedule(keys[150], 1000).unwrap();
        }
        let expected = (0..150).chain(151..CROWD).chain([150]);
        assert!(queue.expired(1000).map(|expired| expired.value).eq(expected), "{cancels}");
    }
}

/// A dead entry in a far bucket does not count as the entry of a timer whose tick has the same low
/// half.
#[test]
fn ticks_with_equal_lower_halves_are_told_apart() {
    let mut queue = Queue::new();
    let keys: Vec<_> = (0..300).map(|id| queue.insert(1 << 61, id).unwrap()).collect();
    for &key in &keys[100..] {
        queue.reschedule(key, 1 << 62).unwrap();
    }
    assert_eq!(queue.expired(1 << 61).count(), 100);
    for (&key, left) in keys[100..].iter().zip((0..200).rev()) {
        queue.remove(key).unwrap();
        assert_eq!((queue.check(), queue.next_expiry()), (Ok(()), (left > 0).then_some(1 << 62)));
    }
}

/// While the division of a bucket is paused, timers for the ticks of this bucket arrive.
#[test]
fn arrivals_during_a_cascade_leave_last() {
    let (mut queue, _) = crowd(5000);
    let mut leave = Vec::new();
    let mut next = CROWD;
    while !queue.is_empty() {
        let advance = queue.advance_within(5000, 10, |expired| leave.push(expired.value));
        assert!(advance.delivered + advance.moved <= 10);
        if next < CROWD + 20 {
            queue.insert(0, next).unwrap();
            next += 1;
        }
        assert_eq!(queue.check(), Ok(()));
    }
    assert!(leave.into_iter().eq(0..CROWD + 20));
}

/// The explanation of a timer in a bucket names that bucket, even while another bucket is being
/// divided.
#[test]
fn an_explanation_names_the_bucket() {
    let (mut queue, keys) = crowd(5000);
    let last = keys[CROWD as usize - 1];
    assert_eq!(
        queue.explain(last).unwrap().to_string(),
        "due at 5000; level 0, bucket 0 [5000, 18446744073709551616); moves down at 5000"
    );
    let far = queue.insert(70_000, CROWD).unwrap();
    assert!(!queue.advance_within(5000, 60, |_| ()).complete);
    assert_eq!(
        queue.explain(far).unwrap().to_string(),
        "due at 70000; level 0, bucket 31 [68489, 70024); moves down at 68489"
    );
    queue.reschedule(far, 80_000).unwrap();
    assert_eq!(
        queue.explain(far).unwrap().to_string(),
        "due at 80000; was moved to a later tick; its entry for 70000 is placed again by then"
    );
}

/// The reserved chunks suffice for any distribution of entries. In this test each bucket has one or
/// two entries, except for one tick, which has all other entries and is sorted.
#[test]
fn reserved_chunks_are_enough() {
    for n in [200, 300, 1500, 4000] {
        let mut queue = Queue::bounded(n).unwrap();
        let bytes = queue.heap_bytes();
        let mut random = Random::new(n as u64);
        let mut keys = Vec::new();
        for id in 0..n as u32 {
            let far = Tick::from(1 + id % 63) << (6 * (id / 63 % 10)) | 1 << 62;
            keys.push(queue.insert(far, id).unwrap());
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

/// A queue takes memory in proportion to the number of its timers, even if this number is small.
#[test]
fn a_queue_takes_few_bytes_a_timer() {
    for (n, bytes) in [(2, 600), (25, 78), (100, 133), (1000, 94), (100_000, 46)] {
        let queue = Queue::with_capacity(n).unwrap();
        let taken = queue.heap_bytes();
        assert!(taken <= n * bytes, "{n} timers take {taken} bytes");
    }
}

/// A timer that is moved to later ticks again and again gets no second entry. A timer that takes
/// over the slot of a cancelled timer gets no second entry either.
#[test]
fn moves_to_later_ticks_and_used_slots_add_no_entries() {
    let mut queue = Queue::new();
    let keys: Vec<_> = (0..1000).map(|id| queue.insert(1000 + Tick::from(id), id).unwrap()).collect();
    for round in 1..50 {
        for &key in &keys {
            assert!(queue.reschedule(key, 1_000_000 * round).is_ok());
        }
    }
    assert!(queue.store.order.entries <= 1000);
    for &key in &keys[..100] {
        let value = queue.remove(key).unwrap();
        queue.insert(1_000_000_000, value).unwrap();
    }
    assert!(queue.store.order.entries <= 1000);
    assert_eq!((queue.store.order.dead(), queue.check()), (0, Ok(())));
}

/// The number of dead entries stays below a bound, whatever timers are cancelled or moved to
/// earlier ticks.
#[test]
fn dead_entries_stay_below_a_bound() {
    let mut random = Random::new(1);
    let mut queue = Queue::new();
    let mut keys = Vec::new();
    for step in 0..200_000_u32 {
        let far = Tick::from(random.below(1 << 24)) << random.below(12);
        let dead = match (step / 20_000) % 4 {
            0 => {
                keys.push(queue.insert(far, step).unwrap());
                0
            }
            1 => {
                let key = keys[random.below(keys.len() as u32) as usize];
                let earlier = queue.expiry(key).unwrap() / 2;
                queue.reschedule(key, earlier).unwrap();
                1
            }
            2 => {
                keys.push(queue.insert(1 << 23, step).unwrap());
                0
            }
            _ => {
                let at = random.below(keys.len() as u32) as usize;
                queue.remove(keys.swap_remove(at)).unwrap();
                1
            }
        };
        if dead > 0 {
            let (live, entries) = (queue.len(), queue.store.order.entries);
            let dead = queue.store.order.dead();
            assert!(dead <= live * 5 / 16 + 138, "{dead} dead of {entries} at {step}");
        }
    }
    assert_eq!(queue.check(), Ok(()));
}

/// A clear drops all entries, and therefore also clears the marks of all slots.
#[test]
fn a_clear_leaves_nothing_to_take_over() {
    let mut queue = Queue::new();
    for id in 0..10 {
        queue.insert(1000, id).unwrap();
    }
    let key = queue.insert(1000, 10).unwrap();
    queue.remove(key).unwrap();
    queue.clear();
    for id in 0..11 {
        queue.insert(2000, id).unwrap();
    }
    assert_eq!(queue.check(), Ok(()));
    assert_eq!(queue.expired(2000).count(), 11);
}

/// Returns a queue with timers in the run, in two rungs and in the top.
fn spread() -> Queue {
    let mut queue = Queue::new();
    for id in 0..2000 {
        queue.insert(1000 + 70 * Tick::from(id), id).unwrap();
    }
    for id in 0..200 {
        queue.insert(1050, id).unwrap();
    }
    assert_eq!(queue.pop_expired(1000).map(|expired| expired.value), Some(0));
    while queue.store.order.depth < 2 {
        assert!(queue.pop_expired(2000).is_some());
    }
    queue.insert(1 << 40, 0).unwrap();
    assert_eq!(queue.check(), Ok(()));
    assert!(!queue.store.order.run.is_empty() && queue.store.order.lists[TOP].len > 0);
    queue
}

/// Causes each kind of damage that `check` can report.
#[test]
fn a_check_finds_what_is_broken() {
    let broken = |wound: fn(&mut Queue)| {
        let mut queue = spread();
        wound(&mut queue);
        queue.check()
    };
    assert_eq!(broken(|queue| queue.store.order.live += 1), Err(Violation::Count));
    assert_eq!(broken(|queue| queue.store.order.entries += 1), Err(Violation::Count));
    assert_eq!(
        broken(|queue| queue.store.order.limit = queue.store.order.entries - 1),
        Err(Violation::Count)
    );
    assert_eq!(
        broken(|queue| {
            let lists = &mut queue.store.order.lists;
            lists.iter_mut().filter(|list| list.len == 0).for_each(|list| list.taken = 1);
        }),
        Err(Violation::Count)
    );
    assert_eq!(
        broken(|queue| {
            queue.store.order.purge.at = queue.store.order.lists.len() - 1;
            queue.store.order.purge.is_on = true;
        }),
        Err(Violation::Count)
    );
    assert_eq!(broken(|queue| queue.store.order.next_sequence = 1), Err(Violation::Sequence));
    assert_eq!(broken(|queue| queue.store.order.run_end = 0), Err(Violation::Head));
    assert_eq!(broken(|queue| queue.store.order.run_end = 1 << 64), Err(Violation::Head));
    assert_eq!(broken(|queue| queue.store.order.run.base += 1), Err(Violation::Position));
    assert_eq!(broken(|queue| queue.store.order.run.offsets.reverse()), Err(Violation::Position));
    assert_eq!(broken(|queue| queue.store.order.run.slots.fill(0)), Err(Violation::Storage));
    assert_eq!(
        broken(|queue| {
            let offsets = &mut queue.store.order.run.offsets;
            let behind = offsets.iter().rposition(|&offset| offset != UNUSED).unwrap_or(0) + 1;
            offsets[behind] = 0;
        }),
        Err(Violation::UnusedCell)
    );
    assert_eq!(broken(|queue| queue.store.order.rungs[0].unmark(255)), Ok(()));
    let last = |queue: &Queue| (0..256).rev().find(|&at| queue.store.order.rungs[0].is_marked(at)).unwrap();
    let mut queue = spread();
    let bucket = last(&queue);
    queue.store.order.rungs[0].unmark(bucket);
    assert_eq!(queue.check(), Err(Violation::Occupied));
    let mut queue = spread();
    let empty = (0..256).find(|&at| !queue.store.order.rungs[0].is_marked(at)).unwrap();
    queue.store.order.rungs[0].mark(empty);
    assert_eq!(queue.check(), Err(Violation::Occupied));
    assert_eq!(broken(|queue| queue.store.order.rungs[0].next = 255), Err(Violation::Occupied));
    assert_eq!(broken(|queue| queue.store.order.rungs[1].end = 1 << 64), Err(Violation::Bucket));
    assert_eq!(broken(|queue| queue.store.order.rungs[1].first += 1), Err(Violation::Bucket));
    assert_eq!(broken(|queue| queue.store.order.rungs[1].mask = 1 << 12), Err(Violation::Bucket));
    assert_eq!(broken(|queue| queue.store.order.rungs[0].base += 1 << 20), Err(Violation::Bucket));
    let mut queue = spread();
    let list = queue.store.order.rungs[0].first + last(&queue);
    queue.store.order.lists.swap(list - 1, list);
    assert_eq!(queue.check(), Err(Violation::Bucket));
}

/// Damages records in each way that `check` can report.
#[test]
fn a_check_finds_damaged_records() {
    let broken = |wound: fn(&mut Counted)| {
        let mut queue = Counted::new(300);
        for at in 0..200 {
            queue.insert(1000 + 7 * at);
        }
        queue.advance(1000, usize::MAX, 1);
        queue.reschedule(150, 1 << 20);
        assert_eq!(queue.ladder.check(&queue.nodes, 199), Ok(()));
        wound(&mut queue);
        queue.ladder.check(&queue.nodes, 199)
    };
    fn record(queue: &mut Counted, at: usize) -> &mut LadderRecord {
        let p = queue.live[at];
        &mut queue.nodes.records[p.at()]
    }
    assert_eq!(broken(|queue| record(queue, 0).expiry += 1), Err(Violation::Position));
    assert_eq!(broken(|queue| record(queue, 100).set_marks(|marks| marks + 1)), Err(Violation::Count));
    assert_eq!(
        broken(|queue| record(queue, 100).set_marks(|marks| marks + (1 << 24))),
        Err(Violation::Position)
    );
    assert_eq!(
        broken(|queue| record(queue, 100).set_marks(|marks| marks ^ (1 << 16))),
        Err(Violation::Count)
    );
    assert_eq!(broken(|queue| record(queue, 100).sequence = 1 << 60), Err(Violation::Sequence));
    // The placed tick is computed from the expiry, so it changes too.
    assert_eq!(broken(|queue| record(queue, 100).expiry = 3), Err(Violation::Bucket));
    assert_eq!(broken(|queue| queue.nodes.records.swap(1, 2)), Err(Violation::Position));
}

/// Entries of one tick are not in the order of arrival, although their bucket is not marked as
/// mixed.
#[test]
fn a_check_finds_an_order_that_is_not_marked() {
    let (mut queue, keys) = crowd(1000);
    queue.reschedule(keys[300], 1000).unwrap();
    assert_eq!(queue.check(), Ok(()));
    queue.store.order.lists[TOP].mixed = false;
    assert_eq!(queue.check(), Err(Violation::Sequence));
}

/// A queue refuses room for more timers than an entry can name slots, and allocates nothing for
/// them.
#[test]
fn slots_beyond_the_last_are_refused() {
    assert_eq!(Queue::with_capacity(SLOTS + 1).err(), Some(Reject::Full));
    let mut queue = Queue::new();
    assert_eq!(queue.reserve(usize::MAX), Err(Reject::Full));
    assert_eq!(queue.heap_bytes(), 0);
}

/// The last tick is an ordinary tick, both for timers that are inserted there and for timers that
/// move there.
#[test]
fn many_timers_share_the_end_of_time() {
    for (first, budget) in [(0, 1), (Tick::MAX - 1, 7), (Tick::MAX, usize::MAX)] {
        let mut queue = Queue::new();
        assert!(queue.pop_expired(first).is_none());
        let keys: Vec<_> = (0..300)
            .map(|id| {
                let tick = if id % 3 == 0 { Tick::MAX } else { Tick::MAX - Tick::from(id) };
                queue.insert(tick, id).unwrap()
            })
            .collect();
        let mut expected: Vec<u32> = (0..300).filter(|id| id % 3 == 0).collect();
        for (id, &key) in (0..300).zip(&keys).rev() {
            if id % 3 == 1 {
                queue.reschedule(key, Tick::MAX).unwrap();
                expected.push(id);
            }
        }
        assert_eq!(queue.check(), Ok(()));
        let early: Vec<u32> = queue.expired(Tick::MAX - 1).map(|expired| expired.value).collect();
        if first == Tick::MAX {
            assert!(
                early
                    .into_iter()
                    .eq((0..300).filter(|id| id % 3 != 1).chain((0..300).rev().filter(|id| id % 3 == 1)))
            );
            continue;
        }
        let mut late: Vec<u32> = (0..300).filter(|id| id % 3 == 2).collect();
        if first == 0 {
            late.reverse();
        }
        assert_eq!(early, late);
        let mut got = Vec::new();
        while !queue.is_empty() {
            let _ = queue.advance_within(Tick::MAX, budget, |expired| got.push(expired.value));
            assert_eq!(queue.check(), Ok(()));
        }
        got.retain(|id| id % 3 != 2);
        assert_eq!(got, expected);
    }
}

/// A slot uses all its versions several times while buckets hold older entries of the slot. The
/// timer leaves once, and after the other timers of its tick.
#[test]
fn versions_that_are_used_again_keep_the_order() {
    for (moves, cancels) in [(255_u32, false), (256, false), (257, true), (700, false), (70_000, true)] {
        let mut queue = Queue::new();
        let keys: Vec<_> = (0..200_u32).map(|id| queue.insert(1 << 20, id).unwrap()).collect();
        let mut key = keys[150];
        // Each move is to an earlier tick, while the first entry stays in a late bucket.
        for step in 0..moves {
            let tick = (1 << 20) - 100_000 + 1000 * Tick::from(step % 2 == 0) - Tick::from(step % 900);
            queue.reschedule(key, tick).unwrap();
            if step % 50 == 0 {
                assert_eq!(queue.check(), Ok(()), "{step}");
            }
        }
        if cancels {
            queue.remove(key).unwrap();
            key = queue.insert(1 << 20, 150).unwrap();
        }
        queue.reschedule(key, 1 << 20).unwrap();
        assert_eq!(queue.check(), Ok(()), "{moves}");
        assert_eq!(queue.iter_unordered().count(), 200);
        assert_eq!(queue.iter_sorted().unwrap().last().map(|(_, &id)| id), Some(150));
        let expected = (0..150).chain(151..200).chain([150]);
        assert!(queue.expired(1 << 20).map(|expired| expired.value).eq(expected), "{moves}");
    }
}

/// A slot is retired while buckets still hold entries of the slot.
#[test]
fn a_retired_slot_leaves_its_entries_behind() {
    let mut queue = Queue::with_last_generation((u32::MAX >> 1) - 2);
    for round in 0..200_u32 {
        let key = queue.insert(1000 - Tick::from(round), round).unwrap();
        if round >= 50 {
            queue.remove(key).unwrap();
            assert_eq!(queue.check(), Ok(()));
        }
    }
    assert!(queue.expired(1000).map(|expired| expired.value).eq((0..50).rev()));
}

/// The run is filled from a bucket that a purge has partly read.
#[test]
fn a_bucket_under_purge_is_entered_in_order() {
    for tick in [100, 1 << 40] {
        for removals in 150..260 {
            let mut queue = Queue::new();
            let keys: Vec<_> =
                (0..400).map(|id| queue.insert(tick + Tick::from(id % 2), id).unwrap()).collect();
            for &key in keys.iter().skip(100).take(removals) {
                queue.remove(key).unwrap();
            }
            queue.insert(tick, 400).unwrap();
            assert_eq!(queue.check(), Ok(()));
            let left = || (0..100).chain(100 + removals as u32..400);
            let expected =
                left().filter(|id| id % 2 == 0).chain([400]).chain(left().filter(|id| id % 2 == 1));
            assert!(queue.expired(tick + 1).map(|expired| expired.value).eq(expected), "{removals}");
        }
    }
}

/// A tick after the clock has many timers, some of which are in the run. Again and again, timers
/// for earlier ticks arrive.
#[test]
fn arrivals_before_a_tick_that_is_being_taken_come_first() {
    for mixed in [false, true] {
        let (mut queue, keys) = crowd(5000);
        let mut expected: Vec<u32> = (0..CROWD).collect();
        if mixed {
            for id in (200..300_u32).rev() {
                queue.reschedule(keys[id as usize], 5000).unwrap();
                expected.retain(|&other| other != id);
                expected.push(id);
            }
        }
        let mut id = CROWD;
        for round in 0..40 {
            let now = 10 * round;
            for _ in 0..70 {
                queue.insert(now + 3, id).unwrap();
                id += 1;
            }
            assert_eq!(queue.check(), Ok(()));
            assert_eq!(queue.expired(now + 3).count(), 70);
            assert_eq!(queue.check(), Ok(()));
        }
        assert!(queue.expired(5000).map(|expired| expired.value).eq(expected), "{mixed}");
    }
}

/// The run is filled with timers of a single tick again and again, each time for an earlier tick.
#[test]
fn crowds_that_arrive_in_descending_order_leave_in_order() {
    for (crowd, step) in [(49, 1), (50, 7), (64, 1000), (200, 1 << 33)] {
        let mut queue = Queue::new();
        let expected = (0..100).rev().flat_map(|at| at * crowd..(at + 1) * crowd);
        for id in 0..100 * crowd {
            queue.insert(Tick::from(100 - id / crowd) * step, id).unwrap();
        }
        assert_eq!(queue.check(), Ok(()));
        assert!(queue.expired(Tick::MAX).map(|expired| expired.value).eq(expected), "{crowd}");
    }
}

/// With a small budget, a call that sorts a long mixed bucket of one tick reads few records.
#[test]
fn a_mixed_tick_is_sorted_in_bounded_steps() {
    let n = if cfg!(miri) { 300 } else { 5000 };
    let mut queue = Counted::new(n);
    for _ in 0..n {
        queue.insert(1 << 30);
    }
    for at in (0..n).rev() {
        queue.reschedule(at, (1 << 30) - 1);
        queue.reschedule(at, 1 << 30);
    }
    queue.worst = (0, "");
    let mut calls = 0;
    while !queue.live.is_empty() {
        queue.call("advance", |q| q.advance(1 << 30, 64, 64));
        calls += 1;
    }
    assert!(queue.worst.0 < 800, "{:?}", queue.worst);
    assert!(calls < n, "{calls}");
}

/// No call except an advance reads more than 130 records, however many timers are pending, and
/// however many dead entries there are and wherever they are.
#[test]
fn no_call_but_an_advance_takes_long() {
    const NEAR: Tick = (1 << 16) + 4000;
    const FAR: Tick = 1 << 40;
    // Dead entries are in buckets of all levels, only in buckets of level 0, or among entries that
    // are moved, sorted and delivered.
    let cases = [
        (NEAR, 1 << 20, 0, 0),
        (NEAR, 60, 0, 0),
        (NEAR, 1, 3000, 1),
        (FAR, 1, 3000, 1),
        (NEAR, 1, usize::MAX, 100),
        (NEAR, 2, usize::MAX, 100),
        (NEAR, 1, 20_000, 1),
    ];
    let populations: &[usize] = if cfg!(miri) { &[1_000] } else { &[30, 150, 1_000, 20_000] };
    for (&n, (case, (first, spread, budget, delivered))) in
        populations.iter().flat_map(|n| cases.into_iter().enumerate().map(move |case| (n, case)))
    {
        for (mixed, script) in [false, true].into_iter().flat_map(|mixed| (0..5).map(move |at| (mixed, at))) {
            let mut random = Random::new(script);
            let mut queue = Counted::new(n);
            for _ in 0..n {
                queue.insert(first + Tick::from(random.below(spread)));
            }
            for at in 0..if mixed { n } else { 0 } {
                queue.reschedule(random.below(n as u32) as usize, first + at as Tick % Tick::from(spread));
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
                    (3, 0) => queue.reschedule(0, soon),
                    (3, _) => {
                        queue.remove(0);
                        queue.insert(first + (1 << 40));
                    }
                    // Again and again, timers of a single tick fill the run, each time at an
                    // earlier tick.
                    _ => queue.reschedule(at, queue.now + 1_000_000 - (step / 49) as Tick),
                }
            }
            let (lookups, name) = queue.worst;
            assert!(lookups <= 130, "{lookups} in {name}: {n}, case {case}, script {script}, {mixed}");
        }
    }
}

/// All timers of one bucket were moved to later ticks. An advance files at most as many of them
/// again as its budget allows.
#[test]
fn a_budget_bounds_the_moved_timers_that_are_filed_again() {
    const FAR: Tick = 1 << 40;
    let mut queue = Queue::new();
    let keys: Vec<_> = (0..20).map(|value| queue.insert(FAR, value).unwrap()).collect();
    for &key in &keys {
        queue.reschedule(key, FAR + 1).unwrap();
    }
    let deferred = |queue: &Queue| {
        let is_deferred = |&&key: &&Key| {
            queue.explain(key).is_ok_and(|found| matches!(found.whereabouts, Whereabouts::Deferred { .. }))
        };
        keys.iter().filter(is_deferred).count()
    };
    assert_eq!(deferred(&queue), 20);
    let mut fired = Vec::new();
    while fired.len() < 20 {
        let before = deferred(&queue);
        let advance = queue.advance_within(FAR + 1, 3, |timer| fired.push(timer.value));
        assert!(before - deferred(&queue) <= 3, "{advance:?}");
        assert_eq!(queue.check(), Ok(()));
    }
    assert!(fired.into_iter().eq(0..20));
}

/// Inserts divide the top, so that a pop after many inserts does not have to divide it in one call.
#[test]
fn inserts_divide_the_top_before_the_first_pop() {
    let mut queue = Queue::new();
    // Up to 64 timers can be in the run.
    for n in 0..MANY as u32 + 65 {
        assert!(n as usize >= MANY || queue.store.order.depth == 0, "{n} timers");
        queue.insert(1 + Tick::from(n) * 13 % 5000, n).unwrap();
    }
    assert_eq!((queue.store.order.depth, queue.check()), (1, Ok(())));
}
