//! The expected answers: an implementation of the contract with the simplest collections of `std`.
//! The oracle imports nothing from `tickwright-core`.
//!
//! For a granular queue, the machine first checks that the expiry chosen by the queue is within the
//! bound. Then the machine [passes](Oracle::settle) this expiry to the oracle, and the oracle
//! expects exactly this expiry.

use std::collections::{BTreeMap, HashMap};

use crate::subject::Fired;

/// The order in which timers leave: by expiry, and among timers of equal expiry by arrival.
type Place = (u64, u64);

/// A timer queue that is simple enough to be obviously correct. Timers are named by their values,
/// which must be unique.
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
    /// Creates an empty queue without a bound.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates an empty queue that refuses to hold more than `most` timers.
    #[must_use]
    pub fn bounded(most: usize) -> Self {
        Self { bound: Some(most), ..Self::default() }
    }

    /// Returns the greatest `now` that was passed so far.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Returns the number of pending timers.
    #[must_use]
    pub fn len(&self) -> usize {
        self.pending.len()
    }

    /// Returns whether no timer is pending.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// Advances `now`. A time that is smaller than `now` changes nothing.
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

    /// Moves the timer `value`, which has just arrived, to the expiry that a granular queue stated
    /// for it.
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

    /// Returns the pending timers in the order in which they leave.
    pub fn in_order(&self) -> impl Iterator<Item = Fired> + '_ {
        self.pending.iter().map(|(&(expiry, _), &value)| Fired::new(value, expiry))
    }

    /// Returns the timer that leaves first.
    #[must_use]
    pub fn head(&self) -> Option<Fired> {
        self.in_order().next()
    }

    /// Returns the timer that leaves after the head.
    #[must_use]
    pub fn second(&self) -> Option<Fired> {
        self.in_order().nth(1)
    }

    /// Returns the `nth` pending timer, where `nth` is taken modulo their number.
    #[must_use]
    pub fn nth(&self, nth: u8) -> Option<Fired> {
        self.in_order().nth(usize::from(nth).checked_rem(self.len())?)
    }

    /// Returns the expiry of `value` if it is pending.
    #[must_use]
    pub fn expiry(&self, value: u32) -> Option<u64> {
        self.places.get(&value).map(|&(expiry, _)| expiry)
    }

    /// Returns the `max(deadline, now)` of the last (re)insert of `value`, if it is pending.
    #[must_use]
    pub fn deadline(&self, value: u32) -> Option<u64> {
        self.places.contains_key(&value).then(|| self.deadlines.get(&value).copied())?
    }

    /// Returns whether a timer is due.
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

    /// Removes all timers.
    pub fn clear(&mut self) {
        self.pending.clear();
        self.places.clear();
    }
}
