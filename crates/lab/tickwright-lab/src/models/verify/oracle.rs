//! The right answers: timers ordered by (expiry, arrival) in a map of the standard library. The
//! oracle shares no code with the queues under measurement.

use std::collections::BTreeMap;

use crate::structures::candidate::{BenchQueue, Timed};

/// The map, and the key of each id in it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Oracle {
    timers: BTreeMap<(u64, u64), u32>,
    places: BTreeMap<u32, (u64, u64)>,
    arrivals: u64,
}

impl Oracle {
    /// Returns the id and the expiry of the head.
    pub(crate) fn first(&self) -> Option<(u32, u64)> {
        self.timers.first_key_value().map(|((expiry, _), id)| (*id, *expiry))
    }

    /// Returns the deadline of an armed timer.
    pub(crate) fn deadline(&self, id: u32) -> Option<u64> {
        self.places.get(&id).map(|(deadline, _)| *deadline)
    }

    /// Returns the number of armed timers.
    pub(crate) fn len(&self) -> usize {
        self.timers.len()
    }
}

impl Timed for Oracle {}

impl BenchQueue for Oracle {
    fn insert(&mut self, id: u32, deadline: u64) {
        self.arrivals += 1;
        let place = (deadline, self.arrivals);
        self.timers.insert(place, id);
        self.places.insert(id, place);
    }

    fn remove(&mut self, id: u32) {
        if let Some(place) = self.places.remove(&id) {
            self.timers.remove(&place);
        }
    }

    fn head(&mut self) -> Option<u64> {
        self.timers.keys().next().map(|(expiry, _)| *expiry)
    }

    fn second(&mut self) -> Option<u64> {
        self.timers.keys().nth(1).map(|(expiry, _)| *expiry)
    }

    fn pop_expired(&mut self, now: u64) -> Option<(u32, u64)> {
        self.head().filter(|head| *head <= now)?;
        let ((expiry, _), id) = self.timers.pop_first()?;
        self.places.remove(&id);
        Some((id, expiry))
    }
}
