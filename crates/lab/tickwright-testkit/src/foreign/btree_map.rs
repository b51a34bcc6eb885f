//! `std::collections::BTreeMap` keyed by (expiry, sequence). Async runtimes without a wheel keep
//! their timers in this way.
//!
//! A timer is named by its key in the map. The key stays stale forever after the timer has left,
//! and a timer that moves gets a new key.

use std::collections::BTreeMap;

use crate::subject::{Fired, Full, Make, Offers, Stale, Subject};

/// Creates `BTreeQueue` queues.
#[derive(Debug)]
pub struct BTree;

/// A timer's key: its expiry, and its number among all timers ever inserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    expiry: u64,
    arrival: u64,
}

/// The queue.
#[derive(Debug)]
pub struct BTreeQueue {
    map: BTreeMap<Key, u32>,
    arrivals: u64,
    now: u64,
}

impl Make for BTree {
    type Arena = ();
    type Subject<'a> = BTreeQueue;

    fn name() -> String {
        "std BTreeMap".into()
    }

    const OFFERS: Offers = Offers {
        reschedule: false,
        rearm: false,
        check: false,
        reserve: false,
        bound: false,
        idle: false,
        ..Offers::ALL
    };
    const EXACT: bool = true;

    fn arena(_: usize) {}

    fn make((): &(), _: usize) -> BTreeQueue {
        BTreeQueue { map: BTreeMap::new(), arrivals: 0, now: 0 }
    }
}

impl BTreeQueue {
    fn is_head(&self, key: Key) -> bool {
        self.map.first_key_value().is_some_and(|(&head, _)| head == key)
    }
}

impl Subject for BTreeQueue {
    type Key = Key;

    fn now(&self) -> u64 {
        self.now
    }

    fn len(&self) -> usize {
        self.map.len()
    }

    fn insert(&mut self, deadline: u64, value: u32) -> Result<(Key, bool), Full> {
        let key = Key { expiry: deadline.max(self.now), arrival: self.arrivals };
        self.arrivals += 1;
        self.map.insert(key, value);
        Ok((key, self.is_head(key)))
    }

    fn remove(&mut self, key: Key) -> Result<(u32, bool), Stale> {
        let head = self.is_head(key);
        Ok((self.map.remove(&key).ok_or(Stale)?, head))
    }

    fn tell(&mut self, now: u64) {
        self.now = self.now.max(now);
    }

    fn pop_expired(&mut self, now: u64) -> Option<Fired> {
        self.now = self.now.max(now);
        let head = self.map.first_entry().filter(|head| head.key().expiry <= self.now)?;
        let (Key { expiry, .. }, value) = head.remove_entry();
        Some(Fired::new(value, expiry))
    }

    fn peek(&mut self) -> Option<Fired> {
        self.map.first_key_value().map(|(key, &value)| Fired::new(value, key.expiry))
    }

    fn second(&mut self) -> Option<Fired> {
        self.map.iter().nth(1).map(|(key, &value)| Fired::new(value, key.expiry))
    }

    fn next_expiry(&mut self) -> Option<u64> {
        self.map.first_key_value().map(|(key, _)| key.expiry)
    }

    fn next_wake(&mut self) -> Option<u64> {
        self.next_expiry()
    }

    fn clear(&mut self) {
        self.map.clear();
    }

    fn in_order(&self) -> Option<Vec<u32>> {
        Some(self.map.values().copied().collect())
    }
}
