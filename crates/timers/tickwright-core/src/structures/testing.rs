//! Tools for the tests of the families: nodes in a vector, random numbers, and models with which
//! queues are compared.

use core::fmt::Debug;
use core::ops::Range;
use std::vec::Vec;

pub(crate) use tickwright_nodes::testing::{Random, STEPS, VecNodes, shuffled};

use crate::contract::{Advance, Expired, HeadChange, KeyError, Order, Pending, Reject, Span, Tick};
use crate::queue::Queue;
use crate::queue::hook::{HookPtr, Hooks, Timer};
use crate::queue::slab::{ColumnsOf, Idx, Slab, SlabQueue};
use crate::queue::store::{OrderOf, Store};
use crate::structure::{Discipline, Family, Ordered};

/// A pending timer of a model.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) id: u32,
    pub(crate) deadline: Tick,
    pub(crate) expiry: Tick,
}

/// The timers that a queue should hold, in the order of delivery.
pub(crate) trait Model: Debug + Default {
    /// Returns the number of pending timers.
    fn len(&self) -> usize;

    /// Returns the timer that leaves after `at` other timers.
    fn get(&self, at: usize) -> Option<Entry>;

    fn insert(&mut self, id: u32, deadline: Tick, now: Tick);

    fn remove(&mut self, id: u32);

    fn reschedule(&mut self, id: u32, deadline: Tick, now: Tick) {
        self.remove(id);
        self.insert(id, deadline, now);
    }

    /// Draws a delay for a test. The delay ends at the last tick, at a near tick that other timers
    /// share, or in one of a few buckets of a level, so that many timers share a bucket.
    fn span(random: &mut Random) -> Span {
        match random.below(16) {
            0 => Span::MAX - Span::from(random.below(2)),
            1..=7 => random.below(64).into(),
            _ => Span::from(random.below(u32::MAX)) >> random.below(32) << (4 * random.below(8)),
        }
    }
}

/// The model of an exact queue, which sorts timers by expiry, and timers of equal expiry by
/// arrival.
#[derive(Debug, Default)]
pub(crate) struct Exact(Vec<Entry>);

impl Model for Exact {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn get(&self, at: usize) -> Option<Entry> {
        self.0.get(at).copied()
    }

    fn insert(&mut self, id: u32, deadline: Tick, now: Tick) {
        let expiry = deadline.max(now);
        let at = self.0.partition_point(|other| other.expiry <= expiry);
        self.0.insert(at, Entry { id, deadline: expiry, expiry });
    }

    fn remove(&mut self, id: u32) {
        self.0.retain(|entry| entry.id != id);
    }
}

/// All pending timers of a queue in order.
type InOrder<S> = fn(&Queue<S>) -> Vec<Pending<<S as Store>::Key>>;

/// A queue and a model that run the same operations. Every step compares the queue with the model
/// and calls `check`.
pub(crate) struct Twin<S: Store, M = Exact> {
    pub(crate) queue: Queue<S>,
    pub(crate) model: M,
    /// The greatest `now` that was passed to the queue.
    pub(crate) now: Tick,
    /// The greatest number of timers that fit into the queue.
    pub(crate) limit: usize,
    /// Returns all pending timers in order, if the family can list them in order.
    in_order: Option<InOrder<S>>,
    /// Whether the queue moves timers internally, so that `next_wake` is only a lower bound.
    moves: bool,
    /// The value and the key of each id. An id that is not pending has no key.
    values: Vec<S::Value>,
    pub(crate) keys: Vec<Option<S::Key>>,
    id: fn(&S::Value) -> u32,
}

pub(crate) type SlabTwin<F, M = Exact> = Twin<Slab<F, u32, ColumnsOf<F, u32>>, M>;
pub(crate) type HookTwin<'a, F, M = Exact> = Twin<Hooks<'a, F, u32>, M>;

impl<F: Family, M: Model> SlabTwin<F, M> {
    pub(crate) fn over_slab(ids: u32) -> Self {
        let moves = <F::Of<Idx> as Discipline<Idx>>::MOVES;
        Self::new(SlabQueue::<F, u32>::new(), moves, (0..ids).collect(), |&id| id)
    }
}

impl<'a, F: Family, M: Model> HookTwin<'a, F, M> {
    /// Creates a twin over hooks. The payload of each timer must be its index in `timers`.
    pub(crate) fn over_hooks(timers: &'a [Timer<F, u32>]) -> Self {
        let moves = <F::Of<HookPtr<F>> as Discipline<HookPtr<F>>>::MOVES;
        Self::new(Queue::<Hooks<'a, F, u32>>::new(), moves, timers.iter().collect(), |timer| timer.payload)
    }
}

impl<S: Store<Value: Copy>, M: Model> Twin<S, M> {
    fn new(queue: Queue<S>, moves: bool, values: Vec<S::Value>, id: fn(&S::Value) -> u32) -> Self {
        let keys = values.iter().map(|_| None).collect();
        let (model, now, limit, in_order) = (M::default(), 0, usize::MAX, None);
        Self { queue, model, now, limit, in_order, moves, values, keys, id }
    }

    fn is_head(&self, id: u32) -> bool {
        self.model.get(0).is_some_and(|head| head.id == id)
    }

    fn is_due(&self) -> bool {
        self.model.get(0).is_some_and(|head| head.expiry <= self.now)
    }

    /// Checks that a change of the alarm is reported. If `next_wake` is exact, also checks that
    /// nothing except a change of the head is reported.
    fn reported(&self, change: HeadChange, of_head: bool, wake: Option<Tick>) {
        assert!(change.is_changed() || self.queue.next_wake() == wake, "no change was reported");
        assert!(self.moves || change.is_changed() == of_head, "{change:?}, of the head: {of_head}");
    }

    /// Checks the expiry of an inserted timer in the model against the lateness that the queue
    /// declares.
    fn entered(&self, id: u32, deadline: Tick) {
        let entry = (0..).map_while(|at| self.model.get(at)).find(|entry| entry.id == id).unwrap();
        let lateness = match OrderOf::<S>::ORDER {
            Order::Exact => 0,
            Order::Granular { lateness } => lateness(deadline.saturating_sub(self.now)),
        };
        assert_eq!(entry.deadline, deadline.max(self.now));
        assert!(entry.expiry >= entry.deadline && entry.expiry - entry.deadline <= lateness, "{entry:?}");
    }

    fn is_stale(&mut self, key: S::Key) {
        assert_eq!(self.queue.reschedule_at(key, 0, 0).err(), Some(KeyError::Stale));
        assert_eq!(self.queue.remove(key).err(), Some(KeyError::Stale));
    }

    pub(crate) fn insert(&mut self, id: u32, deadline: Tick) {
        let wake = self.queue.next_wake();
        match self.queue.driven().insert_at(deadline, self.values[id as usize], self.now) {
            Ok((key, head)) => {
                self.keys[id as usize] = Some(key);
                self.model.insert(id, deadline, self.now);
                self.entered(id, deadline);
                self.reported(head, self.is_head(id), wake);
            }
            Err(refused) => {
                assert_eq!((refused.reason, (self.id)(&refused.value)), (Reject::Full, id));
                assert_eq!(self.model.len(), self.limit, "timer {id} was refused");
            }
        }
        self.compare();
    }

    pub(crate) fn remove(&mut self, id: u32) {
        let (wake, was_head) = (self.queue.next_wake(), self.is_head(id));
        let key = self.keys[id as usize].take().unwrap();
        let (value, head) = self.queue.driven().remove(key).unwrap();
        assert_eq!((self.id)(&value), id);
        self.model.remove(id);
        self.reported(head, was_head, wake);
        self.is_stale(key);
        self.compare();
    }

    pub(crate) fn reschedule(&mut self, id: u32, deadline: Tick) {
        let (wake, was_head) = (self.queue.next_wake(), self.is_head(id));
        let change =
            self.queue.driven().reschedule_at(self.keys[id as usize].unwrap(), deadline, self.now).unwrap();
        self.model.reschedule(id, deadline, self.now);
        self.entered(id, deadline);
        self.reported(change, was_head || self.is_head(id), wake);
        self.compare();
    }

    fn clear(&mut self) {
        self.queue.clear();
        self.model = M::default();
        for id in 0..self.keys.len() {
            if let Some(key) = self.keys[id].take() {
                self.is_stale(key);
            }
        }
        self.compare();
    }

    /// Checks that the delivered timer is the model's head.
    fn delivered(&mut self, Expired { key, deadline, expiry, value: id }: Expired<S::Key, u32>) {
        let head = self.model.get(0).unwrap();
        assert_eq!((id, deadline, expiry), (head.id, head.deadline, head.expiry), "{:?}", self.model);
        assert!(expiry <= self.now);
        assert_eq!(Some(key), self.keys[id as usize].take());
        self.model.remove(id);
        self.is_stale(key);
    }

    pub(crate) fn pop(&mut self, now: Tick) {
        self.now = self.now.max(now);
        match self.queue.pop_expired(now) {
            Some(Expired { key, deadline, expiry, value }) => {
                self.delivered(Expired { key, deadline, expiry, value: (self.id)(&value) });
            }
            None => assert!(!self.is_due()),
        }
        self.compare();
    }

    fn pop_and_reinsert(&mut self, now: Tick, delay: Span) {
        self.now = self.now.max(now);
        let (id, mut seen) = (self.id, None);
        let expired = self.queue.pop_and_reinsert(now, |expiry, value| {
            seen = Some((id(value), expiry));
            expiry.saturating_add(delay)
        });
        if let Some(expired) = expired {
            let Entry { id, deadline, expiry } = self.model.get(0).unwrap();
            assert_eq!(seen, Some((id, expiry)));
            assert_eq!((expired.deadline, expired.expiry), (deadline, expiry));
            assert_eq!(Some(expired.key), self.keys[id as usize]);
            assert!(expiry <= self.now);
            self.model.remove(id);
            self.model.insert(id, expiry.saturating_add(delay), self.now);
            self.entered(id, expiry.saturating_add(delay));
        } else {
            assert!(seen.is_none() && !self.is_due());
        }
        self.compare();
    }

    /// Returns how many timers the queue delivered and how many it moved.
    pub(crate) fn advance(&mut self, now: Tick, budget: usize) -> (usize, usize) {
        self.now = self.now.max(now);
        let (id, mut all) = (self.id, Vec::new());
        let advance = self.queue.advance_within(now, budget, |Expired { key, deadline, expiry, value }| {
            all.push(Expired { key, deadline, expiry, value: id(&value) });
        });
        let Advance { delivered, moved, complete } = advance;
        assert_eq!(delivered, all.len());
        assert!(delivered + moved <= budget && (self.moves || moved == 0), "{advance:?} of {budget}");
        for expired in all {
            self.delivered(expired);
        }
        assert_eq!(self.queue.next_wake().is_none_or(|wake| wake > self.now), complete);
        assert!(!complete || !self.is_due());
        assert!(complete || delivered + moved == budget, "{advance:?} of {budget}");
        self.compare();
        (delivered, moved)
    }

    pub(crate) fn compare(&self) {
        let pending = |at: usize| {
            let entry = self.model.get(at)?;
            Some(Pending { key: self.keys[entry.id as usize]?, expiry: entry.expiry })
        };
        assert_eq!(self.queue.check(), Ok(()));
        assert_eq!((self.queue.now(), self.queue.len()), (self.now, self.model.len()));
        assert_eq!(self.queue.peek(), pending(0), "{:?}", self.model);
        assert_eq!(self.queue.second(), pending(1), "{:?}", self.model);
        let (wake, expiry) = (self.queue.next_wake(), pending(0).map(|head| head.expiry));
        assert_eq!(self.queue.next_expiry(), expiry);
        assert!(wake.is_some() == expiry.is_some() && wake <= expiry, "{wake:?} for {expiry:?}");
        assert!(self.moves || wake == expiry, "{wake:?} for {expiry:?}");
        if let Some(in_order) = self.in_order {
            assert!(in_order(&self.queue).into_iter().eq((0..self.model.len()).filter_map(pending)));
        }
    }

    /// Inserts and removes timers in special orders, to which trees and lists are sensitive.
    fn named_orders(&mut self) {
        let ids = u32::try_from(self.keys.len()).unwrap().min(60);
        let mut random = Random::new(7);
        let ascending: Vec<u32> = (0..ids).collect();
        let descending: Vec<u32> = (0..ids).rev().collect();
        let equal: Vec<u32> = (0..ids).map(|_| 5).collect();
        let mixed = shuffled(ids, &mut random);
        for deadlines in [&ascending, &descending, &equal, &mixed] {
            for end in 0..5 {
                for (id, &deadline) in (0..).zip(deadlines) {
                    self.insert(id, self.now.saturating_add(deadline.into()));
                }
                while let Some(last) = self.model.len().checked_sub(1) {
                    let id = |at| self.model.get(at).unwrap().id;
                    match end {
                        0 => self.remove(id(0)),
                        1 => self.remove(id(last)),
                        2 => self.remove(id(last.div_ceil(2))),
                        3 => self.remove((0..ids).find(|&id| self.keys[id as usize].is_some()).unwrap()),
                        _ => self.pop(self.model.get(last).unwrap().expiry),
                    }
                }
            }
        }
    }

    /// Draws a tick for a deadline or a clock, often a critical value and sometimes a past tick.
    fn tick(&self, random: &mut Random) -> Tick {
        let near = random.below(3).into();
        let known = self.model.get(random.below(self.keys.len() as u32) as usize);
        match (random.below(8), known) {
            (0, Some(entry)) => entry.deadline.saturating_add(near).saturating_sub(1),
            (1, Some(entry)) => entry.expiry.saturating_add(near).saturating_sub(1),
            (2, _) if near == 0 => self.now.saturating_sub(M::span(random)),
            _ => self.now.saturating_add(M::span(random)),
        }
    }

    /// Draws the next clock: mostly a little later than `now`, sometimes far later, sometimes at
    /// the next wake-up.
    fn time(&self, random: &mut Random) -> Tick {
        match random.below(12) {
            0..=1 => self.queue.next_wake().unwrap_or(self.now),
            2..=3 => {
                let next = self.queue.next_expiry().unwrap_or(self.now);
                next.saturating_sub(random.below(2).into())
            }
            4 => self.now.saturating_add(M::span(random) >> random.below(40)),
            5..=7 => self.now.saturating_add(random.below(70).into()),
            _ => self.now,
        }
    }

    /// Runs random operations, during which the number of pending timers varies between 0 and the
    /// number of ids. Seed 0 begins with the special orders of insertion. Returns the last tick.
    pub(crate) fn run(&mut self, seed: u64) -> Tick {
        const STARTS: [Tick; 5] =
            [0, (1 << 40) - 100, Tick::MAX - (1 << 36), Tick::MAX - (1 << 14), Tick::MAX - 70];
        let start = STARTS[seed as usize % STARTS.len()];
        self.pop(start);
        if seed == 0 {
            self.named_orders();
        }
        let mut random = Random::new(seed);
        let ids = u32::try_from(self.keys.len()).unwrap();
        // The clock advances to the last tick step by step, because an advance to the expiry of a
        // far timer would move it there in one step.
        let bits = Tick::BITS - (Tick::MAX - start).leading_zeros();
        for step in 0..STEPS {
            let shift = bits.saturating_sub((bits + 2) * step / STEPS);
            let latest = start + (Tick::MAX - start).checked_shr(shift).unwrap_or(0);
            let id = random.below(ids);
            let growing = (step / (4 * ids)).is_multiple_of(2);
            let time = self.time(&mut random).min(latest);
            match (self.keys[id as usize].is_some(), random.below(12)) {
                (false, 0) => self.pop(time),
                (false, 1) => self.pop_and_reinsert(time, M::span(&mut random)),
                (_, 2) => {
                    let budget = match random.below(8) {
                        few @ 0..=4 => few as usize,
                        5 => random.below(40) as usize,
                        _ => usize::MAX,
                    };
                    self.advance(time, budget);
                }
                (_, 3) if random.below(100) == 0 => self.clear(),
                (false, 4..=7) if !growing => {}
                (false, _) => self.insert(id, self.tick(&mut random)),
                (true, 4..=7) => self.reschedule(id, self.tick(&mut random)),
                (true, _) if growing => {}
                (true, _) => self.remove(id),
            }
        }
        let end = self.now;
        self.advance(Tick::MAX, usize::MAX);
        assert_eq!(self.model.len(), 0);
        end
    }
}

/// Compares a family with a model over both storages. `slab` and `hook` prepare the queues.
pub(crate) fn prepared_twins<F: Family, M: Model>(
    ids: u32,
    seeds: Range<u64>,
    slab: impl Fn(&mut SlabTwin<F, M>),
    hook: impl Fn(&mut HookTwin<'_, F, M>),
) {
    for seed in seeds {
        let mut twin = Twin::over_slab(ids);
        slab(&mut twin);
        let end = twin.run(seed);
        let timers: Vec<Timer<F, u32>> = (0..ids).map(Timer::new).collect();
        let mut twin = Twin::over_hooks(&timers);
        hook(&mut twin);
        assert_eq!(twin.run(seed), end);
    }
}

/// Compares a family with a model over both storages.
pub(crate) fn twins<F: Family, M: Model>(ids: u32, seeds: Range<u64>) {
    prepared_twins::<F, M>(ids, seeds, |_| {}, |_| {});
}

/// Compares a family, including its iterators, with a sorted vector over both storages.
pub(super) fn against_sorted_vec<F: Family>()
where
    F::Of<Idx>: Ordered<Idx>,
    F::Of<HookPtr<F>>: Ordered<HookPtr<F>>,
{
    prepared_twins::<F, Exact>(
        if cfg!(miri) { 12 } else { 60 },
        0..5,
        |slab| slab.in_order = Some(|queue| queue.iter().map(|(pending, _)| pending).collect()),
        |hook| hook.in_order = Some(|queue| queue.iter().collect()),
    );
}
