//! The wheel beside a model: what expires when by the arithmetic alone, and in which order.

use std::vec::Vec;

use super::super::{CoarseWheel, Geometry};
use crate::contract::{Inserted, Pending, Removed, Span, Tick, TimerQueue};
use crate::family::testing::{Random, STEPS};
use crate::storage::hook::{HookQueue, Timer};
use crate::storage::slab::SlabQueue;

const IDS: u32 = if cfg!(miri) { 10 } else { 40 };

/// A pending timer of the model.
#[derive(Clone, Copy, Debug)]
struct Entry {
    id: u32,
    deadline: Tick,
    expiry: Tick,
    /// Its level; `DEPTH` of one that was due at once.
    level: usize,
    /// When it came into its bucket; for a far timer when it was inserted.
    arrival: u64,
    /// For a far timer, the tick at which it comes into the top level.
    far_until: Option<Tick>,
}

struct Twin<Q: TimerQueue, V, const B: usize, const S: u32, const D: usize> {
    queue: Q,
    value: V,
    id: fn(&Q::Value) -> u32,
    model: Vec<Entry>,
    arrivals: u64,
    keys: Vec<Option<Q::Key>>,
    random: Random,
}

impl<Q, V, const B: usize, const S: u32, const D: usize> Twin<Q, V, B, S, D>
where
    Q: TimerQueue,
    V: Fn(u32) -> Q::Value,
{
    fn arrive(&mut self) -> u64 {
        self.arrivals += 1;
        self.arrivals
    }

    /// By expiry, then the higher level, far ones behind those of the top level, those that were
    /// due at once last; then by arrival.
    fn sort(&mut self) {
        self.model.sort_by_key(|entry| {
            let rank = if entry.level == D { D } else { D - 1 - entry.level };
            // Two buckets of level 0 end at the last tick.
            let granule = if entry.level == 0 { entry.deadline } else { 0 };
            (entry.expiry, rank, granule, entry.far_until.is_some(), entry.arrival)
        });
    }

    /// Far timers come into the top level in the order in which they were inserted.
    fn refile(&mut self) {
        let now = self.queue.now();
        let mut far: Vec<usize> = (0..self.model.len())
            .filter(|&at| self.model[at].far_until.is_some_and(|until| until <= now))
            .collect();
        far.sort_by_key(|&at| (self.model[at].far_until, self.model[at].arrival));
        for at in far {
            self.model[at].arrival = self.arrive();
            self.model[at].far_until = None;
        }
    }

    /// Where a far timer waits, step by step.
    fn far_until(deadline: Tick, now: Tick) -> Option<Tick> {
        let granule = Geometry::<B, S, D>::granule(D - 1);
        let last = deadline / granule * granule;
        let mut clock = now;
        while deadline / granule - clock / granule >= B as u64 {
            let power = 63 - (last ^ clock).leading_zeros();
            clock = last >> power << power;
        }
        (clock > now).then_some(clock)
    }

    fn enter(&mut self, id: u32, deadline: Tick) {
        self.refile();
        let now = self.queue.now();
        let deadline = deadline.max(now);
        let level = match Geometry::<B, S, D>::level(deadline - now) {
            _ if deadline == now => D,
            Some(level) => level,
            None => D - 1,
        };
        let expiry = if level == D { now } else { Geometry::<B, S, D>::bucket_end(deadline, level) };
        let far_until = Self::far_until(deadline, now);
        let arrival = self.arrive();
        self.model.push(Entry { id, deadline, expiry, level, arrival, far_until });
        self.sort();
        assert!(expiry >= deadline && expiry - deadline <= Geometry::<B, S, D>::lateness(deadline - now));
    }

    fn leave(&mut self, id: u32) {
        self.model.retain(|entry| entry.id != id);
    }

    fn insert(&mut self, id: u32, deadline: Tick) -> bool {
        let Ok(Inserted { key, head: change }) = self.queue.insert(deadline, (self.value)(id)) else {
            panic!("{id} was refused")
        };
        self.keys[id as usize] = Some(key);
        self.enter(id, deadline);
        change.is_changed()
    }

    fn remove(&mut self, id: u32) -> bool {
        let Removed { value, head: change } =
            self.queue.remove(self.keys[id as usize].take().unwrap()).unwrap();
        assert_eq!((self.id)(&value), id);
        self.leave(id);
        change.is_changed()
    }

    fn reschedule(&mut self, id: u32, deadline: Tick) -> bool {
        let change = self.queue.reschedule(self.keys[id as usize].unwrap(), deadline).unwrap();
        let now = self.queue.now();
        self.refile();
        let entry = self.model.iter_mut().find(|entry| entry.id == id).unwrap();
        let stays = entry.far_until.is_none()
            && entry.level < D
            && entry.expiry > now
            && deadline > now
            && Geometry::<B, S, D>::same_bucket(entry.deadline, deadline, entry.level)
            && Geometry::<B, S, D>::level(deadline - now).unwrap_or(D) >= entry.level;
        if stays {
            entry.deadline = deadline;
            assert!(entry.expiry - deadline <= Geometry::<B, S, D>::lateness(deadline - now));
            self.sort();
        } else {
            self.leave(id);
            self.enter(id, deadline);
        }
        change.is_changed()
    }

    /// The head of the model left the queue.
    fn delivered(&mut self, id: u32, deadline: Tick, expiry: Tick) {
        let head = self.model.remove(0);
        assert_eq!((id, deadline, expiry), (head.id, head.deadline, head.expiry));
        assert!(expiry <= self.queue.now());
        self.keys[id as usize] = None;
    }

    fn is_due(&self) -> bool {
        self.model.first().is_some_and(|head| head.expiry <= self.queue.now())
    }

    fn pop(&mut self, now: Tick) {
        match self.queue.pop_expired(now) {
            Some(expired) => self.delivered((self.id)(&expired.value), expired.deadline, expired.expiry),
            None => assert!(!self.is_due()),
        }
    }

    fn pop_and_reinsert(&mut self, now: Tick, delay: Span) {
        let Some(expired) = self.queue.pop_and_reinsert(now, |expiry, _| expiry.saturating_add(delay)) else {
            return assert!(!self.is_due());
        };
        let head = self.model.remove(0);
        assert_eq!(Some(expired.key), self.keys[head.id as usize]);
        assert_eq!((expired.deadline, expired.expiry), (head.deadline, head.expiry));
        self.enter(head.id, expired.expiry.saturating_add(delay));
    }

    fn advance(&mut self, now: Tick, budget: usize) {
        let mut delivered = Vec::new();
        let id = self.id;
        let advance = self.queue.advance_within(now, budget, |expired| {
            delivered.push((id(&expired.value), expired.deadline, expired.expiry));
        });
        assert_eq!(advance.delivered, delivered.len());
        assert!(advance.delivered + advance.moved <= budget);
        for (id, deadline, expiry) in delivered {
            self.delivered(id, deadline, expiry);
        }
        let now = self.queue.now();
        let wake = self.queue.next_wake();
        assert_eq!(wake.is_none_or(|wake| wake > now), advance.complete);
        assert!(!advance.complete || !self.is_due());
        assert!(advance.complete || advance.delivered + advance.moved == budget);
    }

    fn compare(&mut self) {
        assert_eq!(self.queue.check(), Ok(()));
        assert_eq!(self.queue.len(), self.model.len());
        let pending = |at: usize| {
            let entry = self.model.get(at)?;
            Some(Pending { key: self.keys[entry.id as usize]?, expiry: entry.expiry })
        };
        assert_eq!(self.queue.peek(), pending(0), "{:?}", self.model);
        assert_eq!(self.queue.second(), pending(1), "{:?}", self.model);
        let expiry = self.model.first().map(|head| head.expiry);
        assert_eq!(self.queue.next_expiry(), expiry);
        let wake = self.queue.next_wake();
        if self.model.iter().all(|entry| entry.far_until.is_none()) {
            assert_eq!(wake.is_some(), expiry.is_some());
        }
        assert!(wake.is_some() == expiry.is_some() && wake <= expiry);
    }

    /// A span with so many bits, or near the start of a level.
    fn span(&mut self) -> Span {
        let bits = self.random.below(65);
        let any = u64::from(self.random.below(u32::MAX)) << 32 | u64::from(self.random.below(u32::MAX));
        match self.random.below(8) {
            0 => 0,
            1 => u64::from(self.random.below(4)),
            2..=4 => {
                let start = Geometry::<B, S, D>::start(self.random.below(D as u32 + 1) as usize);
                (start + u64::from(self.random.below(5))).saturating_sub(2)
            }
            5 => Span::MAX,
            6 => any.checked_shr(64 - bits.min(12)).unwrap_or(0),
            _ => any.checked_shr(64 - bits).unwrap_or(0),
        }
    }

    /// A tick that deadlines and clocks like to meet.
    fn tick(&mut self) -> Tick {
        let now = self.queue.now();
        let near = self.random.below(3);
        let known =
            self.model.get(self.random.below(IDS) as usize).map(|entry| (entry.deadline, entry.expiry));
        match (self.random.below(6), known) {
            (0, Some((deadline, _))) => deadline.saturating_add(near.into()).saturating_sub(1),
            (1, Some((_, expiry))) => expiry.saturating_add(near.into()).saturating_sub(1),
            _ => now.saturating_add(self.span()),
        }
    }

    /// Mostly a little on, sometimes far, sometimes to the tick of what is next.
    fn time(&mut self) -> Tick {
        let now = self.queue.now();
        match self.random.below(12) {
            0 => self.queue.next_wake().unwrap_or(now),
            1..=3 => self.queue.next_expiry().unwrap_or(now).saturating_sub(u64::from(self.random.below(2))),
            4 => {
                let span = self.span();
                now.saturating_add(span >> self.random.below(40))
            }
            5..=7 => now.saturating_add(self.random.below(70).into()),
            _ => now,
        }
    }

    fn run(mut self, start: Tick) -> Tick {
        self.pop(start);
        for _ in 0..STEPS {
            let id = self.random.below(IDS);
            let wake = self.queue.next_wake();
            let reported = match (self.keys[id as usize].is_some(), self.random.below(10)) {
                (_, 0..=1) => {
                    let now = self.time();
                    self.pop(now);
                    true
                }
                (_, 2) => {
                    let (now, delay) = (self.time(), self.span());
                    self.pop_and_reinsert(now, delay);
                    true
                }
                (_, 3..=4) => {
                    let (now, budget) = (self.time(), self.random.below(6) as usize);
                    self.advance(now, if budget == 5 { usize::MAX } else { budget });
                    true
                }
                (false, _) => {
                    let deadline = self.tick();
                    self.insert(id, deadline)
                }
                (true, 5..=7) => {
                    let deadline = self.tick();
                    self.reschedule(id, deadline)
                }
                (true, _) => self.remove(id),
            };
            assert!(reported || self.queue.next_wake() == wake, "no change was reported");
            self.compare();
        }
        self.queue.now()
    }
}

fn against_the_model<const B: usize, const S: u32, const D: usize>() {
    for seed in 0..if cfg!(miri) { 2 } else { 8 } {
        for start in [0, (1 << 40) - 100, Tick::MAX - (1 << 36), Tick::MAX - (1 << 14), Tick::MAX - 70] {
            let seed = seed ^ start;
            let slab = Twin::<_, _, B, S, D> {
                queue: SlabQueue::<CoarseWheel<B, S, D>, u32>::new(),
                value: |id| id,
                id: |&value| value,
                model: Vec::new(),
                arrivals: 0,
                keys: (0..IDS).map(|_| None).collect(),
                random: Random::new(seed),
            };
            let slab_end = slab.run(start);
            let timers: Vec<Timer<CoarseWheel<B, S, D>, u32>> = (0..IDS).map(Timer::new).collect();
            let hook = Twin::<_, _, B, S, D> {
                queue: HookQueue::<'_, CoarseWheel<B, S, D>, u32>::new(),
                value: |id| &timers[id as usize],
                id: |timer| timer.payload,
                model: Vec::new(),
                arrivals: 0,
                keys: (0..IDS).map(|_| None).collect(),
                random: Random::new(seed),
            };
            assert_eq!(hook.run(start), slab_end);
        }
    }
}

#[test]
fn agrees_with_the_model() {
    against_the_model::<64, 3, 9>();
}

#[test]
fn agrees_with_the_model_in_other_geometries() {
    against_the_model::<8, 2, 4>();
    against_the_model::<16, 4, 3>();
    against_the_model::<64, 3, 8>();
    against_the_model::<2, 1, 2>();
}
