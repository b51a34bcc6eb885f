//! Compares a ladder with a map in long random runs that have few ticks and many timers per tick.
//! The shared tests of all families do not reach such states, because they compare all timers after
//! each step and therefore run only short histories.

use std::collections::BTreeMap;
use std::vec::Vec;

use super::super::super::testing::Random;
use super::{Key, Queue};
use crate::contract::{HeadChange, Tick};

/// A pending timer: its key, its expiry and its arrival.
type Pending = (Key, Tick, u64);

struct Crowd {
    queue: Queue,
    /// The pending timers by expiry and arrival, which is the order in which timers leave.
    model: BTreeMap<(Tick, u64), u32>,
    timers: Vec<Option<Pending>>,
    live: Vec<u32>,
    vacant: Vec<u32>,
    /// Ticks that many timers share.
    shared: Vec<Tick>,
    arrivals: u64,
    now: Tick,
    random: Random,
}

impl Crowd {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let timers = [100, 300, 600, 900, 1800][random.below(5) as usize];
        let mut queue = Queue::new();
        let now = [0, 5, (1 << 32) - 50, 1 << 61, Tick::MAX - 300][random.below(5) as usize];
        assert!(queue.pop_expired(now).is_none());
        Self {
            queue,
            model: BTreeMap::new(),
            timers: (0..timers).map(|_| None).collect(),
            live: Vec::new(),
            vacant: (0..timers).collect(),
            shared: Vec::from([now]),
            arrivals: 0,
            now,
            random,
        }
    }

    /// Draws a shared tick, a new tick near a shared tick, or a new tick with the low half of a
    /// shared tick.
    fn tick(&mut self) -> Tick {
        let shared = self.shared[self.random.below(self.shared.len() as u32) as usize];
        let new = match self.random.below(12) {
            0 => self.now.saturating_add(self.random.below(4).into()),
            1 => self.now.saturating_add((self.random.below(60) * 70).into()),
            2 => shared.saturating_add(Tick::from(self.random.below(4)) << (31 + self.random.below(2))),
            3 => (self.now | 63).saturating_add(self.random.below(70).into()),
            4 => self.now.saturating_add(Tick::from(self.random.below(1 << 20)) << self.random.below(44)),
            _ => return shared,
        };
        let at = self.random.below(6) as usize;
        match self.shared.get_mut(at) {
            Some(shared) => *shared = new,
            None => self.shared.push(new),
        }
        new
    }

    fn is_reported(&self, change: HeadChange, wake: Option<Tick>) {
        assert!(change.is_changed() || self.queue.next_wake() == wake, "no change was reported");
    }

    fn enters(&mut self, id: u32, key: Key, deadline: Tick) {
        let expiry = deadline.max(self.now);
        self.arrivals += 1;
        self.timers[id as usize] = Some((key, expiry, self.arrivals));
        self.model.insert((expiry, self.arrivals), id);
    }

    fn leaves(&mut self, id: u32) -> Key {
        let (key, expiry, arrival) = self.timers[id as usize].take().unwrap();
        assert_eq!(self.model.remove(&(expiry, arrival)), Some(id));
        key
    }

    fn insert(&mut self, deadline: Tick) {
        let Some(id) = self.vacant.pop() else { return };
        let wake = self.queue.next_wake();
        let (key, change) = self.queue.driven().insert(deadline, id).unwrap();
        self.is_reported(change, wake);
        self.enters(id, key, deadline);
        self.live.push(id);
    }

    /// Draws the index of a timer in `live`: the timer that arrived last, or any timer.
    fn any(&mut self) -> Option<usize> {
        let last = self.live.len().checked_sub(1)?;
        Some(if self.random.below(4) == 0 { last } else { self.random.below(last as u32 + 1) as usize })
    }

    fn remove(&mut self) {
        let Some(at) = self.any() else { return };
        let id = self.live.swap_remove(at);
        let (wake, key) = (self.queue.next_wake(), self.leaves(id));
        let (value, change) = self.queue.driven().remove(key).unwrap();
        assert_eq!(value, id);
        assert!(self.queue.remove(key).is_err());
        self.is_reported(change, wake);
        self.vacant.push(id);
    }

    fn reschedule(&mut self, to: Tick) {
        let Some(at) = self.any() else { return };
        let id = self.live[at];
        let (_, expiry, _) = self.timers[id as usize].unwrap();
        let to = match self.random.below(5) {
            0 => expiry,
            1 => expiry.saturating_sub(self.random.below(3).into()),
            2 => expiry.saturating_add(self.random.below(3).into()),
            _ => to,
        };
        let (wake, key) = (self.queue.next_wake(), self.leaves(id));
        let change = self.queue.driven().reschedule(key, to).unwrap();
        self.is_reported(change, wake);
        self.enters(id, key, to);
    }

    fn is_due(&self) -> bool {
        self.model.first_key_value().is_some_and(|(&(expiry, _), _)| expiry <= self.now)
    }

    fn advance(&mut self, now: Tick, budget: usize) {
        self.now = self.now.max(now);
        let mut delivered = Vec::new();
        let advance = self.queue.advance_within(now, budget, |expired| delivered.push(expired));
        assert!(advance.delivered + advance.moved <= budget);
        assert!(advance.complete || advance.delivered + advance.moved == budget);
        for expired in delivered {
            let (&(expiry, _), &id) = self.model.first_key_value().unwrap();
            assert_eq!((expired.value, expired.expiry), (id, expiry));
            assert!(expiry <= self.now);
            assert_eq!(self.leaves(id), expired.key);
            self.live.retain(|&other| other != id);
            self.vacant.push(id);
        }
        assert!(!advance.complete || !self.is_due());
        assert_eq!(advance.complete, self.queue.next_wake().is_none_or(|wake| wake > self.now));
    }

    fn compare(&self, checks: bool) {
        let head = self.model.first_key_value().map(|(&(expiry, _), &id)| (id, expiry));
        assert_eq!((self.queue.len(), self.queue.next_expiry()), (self.model.len(), head.map(|(_, at)| at)));
        assert!(self.queue.next_wake() <= head.map(|(_, at)| at));
        if checks {
            assert_eq!(self.queue.check(), Ok(()));
            let shown = |at: Option<(&(Tick, u64), &u32)>| {
                at.map(|(&(expiry, _), &id)| (self.timers[id as usize].unwrap().0, expiry))
            };
            let mut model = self.model.iter();
            assert_eq!(self.queue.peek().map(|timer| (timer.key, timer.expiry)), shown(model.next()));
            assert_eq!(self.queue.second().map(|timer| (timer.key, timer.expiry)), shown(model.next()));
        }
    }

    /// Limits the queue to `lists` lists and `rungs` rungs, and prevents it from allocating more.
    fn limit(&mut self, lists: usize, rungs: usize) {
        self.queue.reserve(self.timers.len()).unwrap();
        self.queue.store.order.lists.truncate(lists);
        self.queue.store.order.rungs.truncate(rungs);
    }

    fn run(&mut self, phases: u32) {
        for _ in 0..phases {
            let budget = [1, 2, 7, 100, usize::MAX][self.random.below(5) as usize];
            let weights = [10, 6, 10, 6, 1].map(|most| self.random.below(most) + 1);
            for step in 0..2 * self.timers.len() {
                let mut choice = self.random.below(weights.iter().sum());
                let operation = weights.iter().position(|&weight| {
                    let found = choice < weight;
                    choice = choice.wrapping_sub(weight);
                    found
                });
                let tick = self.tick();
                match operation {
                    Some(0) => self.insert(tick),
                    Some(1) => self.remove(),
                    Some(2) => self.reschedule(tick),
                    Some(3) => {
                        let to = match self.random.below(10) {
                            0 => self.queue.next_wake(),
                            1 => Some(self.now.saturating_add(self.random.below(3).into())),
                            _ => None,
                        };
                        self.advance(to.unwrap_or(self.now), budget);
                    }
                    _ => match self.random.below(300) {
                        0 => {
                            self.queue.clear();
                            while let Some(id) = self.live.pop() {
                                self.leaves(id);
                                self.vacant.push(id);
                            }
                        }
                        1..=20 => (0..150).for_each(|_| self.insert(tick)),
                        21..=40 => (0..150).for_each(|_| self.reschedule(tick)),
                        _ => {}
                    },
                }
                self.compare(step % 31 == 0);
            }
        }
        while let Some(wake) = self.queue.next_wake() {
            self.advance(wake.max(self.now), if self.arrivals.is_multiple_of(2) { 7 } else { usize::MAX });
        }
        assert!(self.model.is_empty());
    }
}

#[test]
fn crowds_leave_in_order() {
    let (seeds, phases) = if cfg!(miri) { (1, 1) } else { (200, 20) };
    for seed in 0..seeds {
        Crowd::new(seed).run(phases);
    }
}

/// Tests buckets that cannot be divided, because there are too few lists or rungs.
#[test]
fn crowds_leave_in_order_without_memory_for_rungs() {
    let (seeds, phases) = if cfg!(miri) { (1, 1) } else { (12, 8) };
    for (lists, rungs) in [(1, 0), (20, 5), (14, 37), (60, 6), (2000, 5)] {
        for seed in 0..seeds {
            let mut crowd = Crowd::new(seed);
            crowd.limit(lists, rungs);
            crowd.run(phases);
        }
    }
}
