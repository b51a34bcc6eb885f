//! Tests that the results of a queue's queries, about all timers and about each timer, agree with
//! the order in which the timers leave. The tests do this in many states of every structure. Random
//! operations with small budgets lead to these states, so a cascade, a sort or a move inside the
//! structure is often half done.
#![cfg(feature = "alloc")]

mod common;

use tickwright_core::Whereabouts;
use tickwright_core::{
    Explanation, Family, HookQueue, Key, LadderQueue, Pending, SlabQueue, SmallWheel, Tick, Timer,
    TimerQueue, TimerRef, TinyWheel, for_each_family, for_each_slab_only_family, snapshot,
};
use tickwright_nodes::testing::Random;

/// Draws a deadline, usually after `now`. The deadline is often the deadline of other timers too,
/// and sometimes in the past.
fn deadline(random: &mut Random, now: Tick) -> Tick {
    let delay = match random.below(10) {
        0..=3 => u64::from(random.below(3)) * 64,
        4..=6 => u64::from(random.below(100)),
        7 => u64::from(random.below(5_000)),
        8 => u64::from(random.below(u32::MAX)) >> random.below(32),
        _ => 1 << random.below(40),
    };
    if random.below(20) == 0 { now / 2 } else { now + delay }
}

/// Returns whether an explanation of a timer that is due at `expiry` is true at `now`.
fn is_true(said: Explanation, expiry: Tick, now: Tick) -> bool {
    said.expiry == expiry
        && said.deadline <= expiry
        && match said.whereabouts {
            Whereabouts::Bucket { first, last, moves_at, .. } => {
                (first..=last).contains(&expiry) && moves_at.is_none_or(|at| at <= expiry)
            }
            Whereabouts::EndingBucket { first, last, .. } => {
                (first..=last).contains(&said.deadline) && last.checked_add(1).unwrap_or(last) == expiry
            }
            Whereabouts::FarBucket { reinserted_at, .. } => reinserted_at <= expiry && expiry > now,
            Whereabouts::Deferred { placed } => placed < expiry,
            Whereabouts::Heap { position, positions, .. } => (1..=positions).contains(&position),
            Whereabouts::DueList => expiry <= now,
            _ => true,
        }
}

/// All queries about the timers of a queue, in the same form for both storages.
trait Says: TimerQueue {
    fn sorted(&self) -> Vec<Pending<Self::Key>>;
    fn saved(&self) -> Vec<u8>;
    fn said(&self, key: Self::Key) -> Explanation;
}

impl<F: Family> Says for SlabQueue<F, u32> {
    fn sorted(&self) -> Vec<Pending<Key>> {
        self.iter_sorted().unwrap().map(|(pending, _)| pending).collect()
    }

    fn saved(&self) -> Vec<u8> {
        let mut bytes = vec![0; snapshot::bytes::<u32>(self.len()).unwrap()];
        assert_eq!(self.snapshot(&mut bytes), Ok(bytes.len()));
        bytes
    }

    fn said(&self, key: Key) -> Explanation {
        self.explain(key).unwrap()
    }
}

impl<'a, F: Family> Says for HookQueue<'a, F, u32> {
    fn sorted(&self) -> Vec<Pending<TimerRef<'a, F, u32>>> {
        self.iter_sorted().unwrap().collect()
    }

    fn saved(&self) -> Vec<u8> {
        let mut bytes = vec![0; snapshot::bytes::<u32>(self.len()).unwrap()];
        assert_eq!(self.snapshot(&mut bytes, |timer| timer.payload), Ok(bytes.len()));
        bytes
    }

    fn said(&self, key: TimerRef<'a, F, u32>) -> Explanation {
        self.explain(key.get()).unwrap()
    }
}

/// A timer of the model, which leaves after all timers with a lower `(expiry, arrival)`.
#[derive(Clone, Copy)]
struct Known<K> {
    key: K,
    id: usize,
    arrival: u64,
}

struct Run<Q: TimerQueue> {
    queue: Q,
    values: Vec<Q::Value>,
    known: Vec<Known<Q::Key>>,
    free: Vec<usize>,
    arrivals: u64,
    name: &'static str,
}

impl<Q: Says> Run<Q>
where
    Q::Value: Copy,
{
    fn new(queue: Q, values: Vec<Q::Value>, name: &'static str) -> Self {
        let free = (0..values.len()).collect();
        Self { queue, values, known: Vec::new(), free, arrivals: 0, name }
    }

    fn gone(&mut self, key: Q::Key) {
        let at = self.known.iter().position(|known| known.key == key).unwrap();
        self.free.push(self.known.swap_remove(at).id);
    }

    /// Compares the results of the queue's queries with the model.
    fn compare(&self) {
        let (queue, name) = (&self.queue, self.name);
        assert_eq!(queue.check(), Ok(()), "{name}");
        let sorted = queue.sorted();
        assert_eq!(sorted.len(), queue.len(), "{name}");
        assert!(sorted.is_sorted_by_key(|pending| pending.expiry), "{name}");
        if Q::ORDER.is_exact() {
            let mut known = self.known.clone();
            known.sort_by_key(|known| {
                let expiry = queue.said(known.key).expiry;
                (expiry, known.arrival)
            });
            let expected = known.iter().map(|known| known.key);
            assert!(sorted.iter().map(|pending| pending.key).eq(expected), "{name}: order among equals");
        }
        assert_eq!(queue.peek(), sorted.first().copied(), "{name}");
        assert_eq!(queue.second(), sorted.get(1).copied(), "{name}");
        assert_eq!(queue.next_expiry(), sorted.first().map(|head| head.expiry), "{name}");
        for pending in &sorted {
            let said = queue.said(pending.key);
            assert!(is_true(said, pending.expiry, queue.now()), "{name} at {}: {said:?}", queue.now());
        }
    }

    fn run(&mut self, seed: u64, steps: u32) {
        let mut random = Random::new(seed);
        let spans = [1, 3, 70, 5_000][seed as usize % 4];
        for step in 0..steps {
            let now = self.queue.now();
            let some = (!self.known.is_empty()).then(|| random.below(self.known.len() as u32) as usize);
            let grows = step % 900 < 600;
            match (random.below(10), some) {
                (0..=4, _) if grows => {
                    let Some(id) = self.free.pop() else { continue };
                    let inserted = self.queue.insert_at(deadline(&mut random, now), self.values[id], 0);
                    let key = inserted.ok().unwrap();
                    self.known.push(Known { key, id, arrival: self.arrivals });
                    self.arrivals += 1;
                }
                (5..=7, Some(at)) => {
                    let key = self.known[at].key;
                    self.queue.reschedule_at(key, deadline(&mut random, now), 0).unwrap();
                    self.known[at].arrival = self.arrivals;
                    self.arrivals += 1;
                }
                (8, Some(at)) => {
                    let key = self.known[at].key;
                    assert!(self.queue.remove(key).is_ok());
                    self.gone(key);
                }
                (9, _) | (0..=4, _) => {
                    let to = now + u64::from(random.below(spans));
                    let mut left = Vec::new();
                    let budget = random.below(12) as usize;
                    let _ = self.queue.advance_within(to, budget, |expired| left.push(expired.key));
                    left.into_iter().for_each(|key| self.gone(key));
                }
                _ => {}
            }
            if step % 16 == 0 {
                self.compare();
            }
        }
        self.compare();
        let mut sorted = self.queue.sorted().into_iter();
        // The snapshot has the timers in the same order, each with the number of ticks until its
        // deadline.
        let (saved, now) = (self.queue.saved(), self.queue.now());
        let mut entries = saved[12..].chunks_exact(12);
        while let Some(wake) = self.queue.next_wake() {
            while let Some(expired) = self.queue.pop_expired(wake) {
                let pending = sorted.next().unwrap();
                assert_eq!((pending.key, pending.expiry), (expired.key, expired.expiry), "{}", self.name);
                let entry = entries.next().unwrap();
                let left = u64::from_le_bytes(entry[..8].try_into().unwrap());
                let id = u32::from_le_bytes(entry[8..].try_into().unwrap());
                assert_eq!(left, expired.deadline.saturating_sub(now), "{}", self.name);
                let known = self.known.iter().find(|known| known.key == expired.key).unwrap();
                assert_eq!(id as usize, known.id, "{}", self.name);
            }
        }
        assert!(sorted.next().is_none());
    }
}

const SEEDS: core::ops::Range<u64> = if cfg!(miri) { 0..1 } else { 0..8 };
const STEPS: u32 = if cfg!(miri) { 200 } else { 2_000 };

fn in_a_slab<F: Family>() {
    for seed in SEEDS {
        for ids in [20, 1_500] {
            Run::new(SlabQueue::<F, u32>::new(), (0..ids).collect(), F::ID).run(seed, STEPS);
        }
    }
}

fn over_hooks<F: Family>() {
    for seed in SEEDS {
        let timers: Vec<Timer<F, u32>> = (0..1_500).map(Timer::new).collect();
        Run::new(HookQueue::new(), timers.iter().collect(), F::ID).run(seed, STEPS);
    }
}

macro_rules! each {
    ([$test:ident] $($id:literal => $family:ty;)+) => {$($test::<$family>();)+};
}

#[test]
fn every_structure_in_a_slab_tells_the_order_and_the_place() {
    for_each_family! { each [in_a_slab] }
    for_each_slab_only_family! { each [in_a_slab] }
    in_a_slab::<SmallWheel>();
    in_a_slab::<TinyWheel>();
}

#[test]
fn every_structure_over_hooks_tells_the_order_and_the_place() {
    for_each_family! { each [over_hooks] }
}

/// Many timers are due at one tick. In the ladder they are first in one bucket, in order or not,
/// and later in the run.
#[test]
fn a_crowd_at_one_tick_is_told_in_order() {
    fn crowd<F: Family>() {
        for mixed in [false, true] {
            let mut run = Run::new(SlabQueue::<F, u32>::new(), (0..3_000).collect(), F::ID);
            for id in 0..2_000 {
                let key = run.queue.insert_at(5_000, run.values[id], 0).unwrap();
                run.known.push(Known { key, id, arrival: run.arrivals });
                run.arrivals += 1;
                if mixed && id % 7 == 3 {
                    // The timer is moved to a later tick and back, so in the bucket its entry
                    // precedes the entries of timers that arrived earlier.
                    let moved = &mut run.known[id / 2];
                    run.queue.reschedule_at(moved.key, 5_900, 0).unwrap();
                    run.queue.reschedule_at(moved.key, 5_000, 0).unwrap();
                    moved.arrival = run.arrivals;
                    run.arrivals += 1;
                }
            }
            run.compare();
            for budget in [10, 100, 700, 1, 300, 5_000, 3, 40] {
                let mut left = Vec::new();
                let _ = run.queue.advance_within(5_000, budget, |expired| left.push(expired.key));
                left.into_iter().for_each(|key| run.gone(key));
                run.compare();
                if let Some(moved) = run.known.first().copied() {
                    run.queue.reschedule_at(moved.key, 5_000, 0).unwrap();
                    run.known[0].arrival = run.arrivals;
                    run.arrivals += 1;
                    run.compare();
                }
            }
        }
    }
    crowd::<LadderQueue>();
    crowd::<SmallWheel>();
}
