//! The expected answers. The contract, implemented with the simplest collections of `std`. It
//! imports nothing from `tickwright-core`.
//!
//! For a granular queue the machine first checks that the expiry which the queue chose is within
//! the bound. Then it [tells](Oracle::settle) the oracle this expiry, and the oracle expects
//! exactly that.

use std::collections::{BTreeMap, HashMap};

use crate::subject::Fired;

/// The order in which timers leave: by expiry, and among equals by arrival.
type Place = (u64, u64);

/// A timer queue that is right because it is too simple to be wrong. Timers are named by their
/// values, which must be unique.
#[derive(Clone, Debug, Default)]
pub struct Oracle {
    now: u64,
    arrivals: u64,
    pending: BTreeMap<Place, u32>,
    places: HashMap<u32, Place>,
    /// For each value: `max(deadline, now)` of the last (re)insert.
    deadlines: HashMap<u32, u64>,
    bound: Option<usize>,
}

impl Oracle {
    /// An empty queue without a bound.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty queue that refuses more than `most` timers.
    #[must_use]
    pub fn bounded(most: usize) -> Self {
        Self { bound: Some(most), ..Self::default() }
    }

    /// The greatest `now` that was passed so far.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.now
    }

    /// The number of pending timers.
    #[must_use]
    pub fn len(&self) -> usize {
        self.pending.len()
    }

    /// Whether none is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// Advances `now`; a time that is smaller than before changes nothing.
    pub fn tell(&mut self, now: u64) {
        self.now = self.now.max(now);
    }

    fn place(&mut self, value: u32, deadline: u64) {
        let place = (deadline.max(self.now), self.arrivals);
        self.arrivals += 1;
        self.pending.insert(place, value);
        self.places.insert(value, place);
        self.deadlines.insert(value, place.0);
    }

    /// Moves `value`, which has just arrived, to the expiry that a granular queue stated for it.
    pub fn settle(&mut self, value: u32, expiry: u64) {
        if let Some(place) = self.places.get_mut(&value) {
            self.pending.remove(place);
            place.0 = expiry;
            self.pending.insert(*place, value);
        }
    }

    /// Makes `value` pending; returns false if the oracle is full.
    pub fn insert(&mut self, deadline: u64, value: u32) -> bool {
        if self.bound.is_some_and(|most| self.len() >= most) {
            return false;
        }
        self.place(value, deadline);
        true
    }

    /// Removes `value`; returns false if it is not pending.
    pub fn remove(&mut self, value: u32) -> bool {
        self.places.remove(&value).is_some_and(|place| self.pending.remove(&place).is_some())
    }

    /// Moves `value`, as a removal and an insert would; returns false if it is not pending.
    pub fn reschedule(&mut self, value: u32, deadline: u64) -> bool {
        let pending = self.remove(value);
        if pending {
            self.place(value, deadline);
        }
        pending
    }

    /// The pending timers in the order in which they leave.
    pub fn in_order(&self) -> impl Iterator<Item = Fired> + '_ {
        self.pending.iter().map(|(&(expiry, _), &value)| Fired::new(value, expiry))
    }

    /// The timer that leaves first.
    #[must_use]
    pub fn head(&self) -> Option<Fired> {
        self.in_order().next()
    }

    /// The one after it.
    #[must_use]
    pub fn second(&self) -> Option<Fired> {
        self.in_order().nth(1)
    }

    /// The `nth` pending timer, where `nth` is taken modulo their number.
    #[must_use]
    pub fn nth(&self, nth: u8) -> Option<Fired> {
        self.in_order().nth(usize::from(nth).checked_rem(self.len())?)
    }

    /// The expiry of `value` while it is pending.
    #[must_use]
    pub fn expiry(&self, value: u32) -> Option<u64> {
        self.places.get(&value).map(|&(expiry, _)| expiry)
    }

    /// `max(deadline, now)` of the last (re)insert of `value`, while it is pending.
    #[must_use]
    pub fn deadline(&self, value: u32) -> Option<u64> {
        self.places.contains_key(&value).then(|| self.deadlines.get(&value).copied())?
    }

    /// Whether a timer is due.
    #[must_use]
    pub fn has_due(&self) -> bool {
        self.head().is_some_and(|head| head.expiry <= self.now)
    }

    /// Advances `now` and removes one due timer.
    pub fn pop(&mut self, now: u64) -> Option<Fired> {
        self.tell(now);
        let head = self.head().filter(|head| head.expiry <= self.now)?;
        let deadline = self.deadline(head.value);
        self.remove(head.value);
        Some(Fired { deadline, ..head })
    }

    /// Advances `now` and removes at most `budget` due timers; also returns whether no due timer is
    /// left.
    pub fn advance(&mut self, now: u64, budget: usize) -> (Vec<Fired>, bool) {
        self.tell(now);
        let mut left = Vec::new();
        while left.len() < budget {
            let Some(fired) = self.pop(now) else { break };
            left.push(fired);
        }
        (left, !self.has_due())
    }

    /// Advances `now`. If the head is due, re-arms it `delay` ticks after its expiry.
    pub fn rearm(&mut self, now: u64, delay: u64) -> Option<Fired> {
        let fired = self.pop(now)?;
        self.place(fired.value, fired.expiry.saturating_add(delay));
        Some(fired)
    }

    /// Removes all.
    pub fn clear(&mut self) {
        self.pending.clear();
        self.places.clear();
    }
}
