//! The window: timers that are due soon, in memory.

use std::collections::HashMap;
use std::sync::Arc;

use tickwright_core::{DefaultQueue, Key, Tick};

use crate::statement::{NEVER, Waiting};

/// The window holds every waiting timer before `high`. Each timer beyond `high` is due at `far` or
/// later.
///
/// A popped timer stays in the window as an idle timer, so that the next arm reuses its key.
#[derive(Debug)]
pub(crate) struct Window {
    queue: DefaultQueue<Waiting>,
    keys: HashMap<Arc<str>, Key>,
    high: (i64, i64),
    far: i64,
    /// No pending timer is due before this time. The queue cannot provide this time, because it
    /// counts a timer that is overdue at its arrival as due at its arrival.
    low: i64,
}

impl Window {
    /// Creates an empty window. No timer is due before `low`, and later timers are not loaded yet.
    pub(crate) fn new(low: i64) -> Self {
        Self { queue: DefaultQueue::new(), keys: HashMap::new(), high: (low, 0), far: low, low: NEVER }
    }

    /// Adds a waiting timer. Returns `false` if memory runs out.
    #[must_use]
    pub(crate) fn learn(&mut self, row: Waiting) -> bool {
        if (row.due, row.seq) >= self.high {
            self.far = self.far.min(row.due);
            self.forget(&row.id);
            return true;
        }
        let tick = tick(row.due);
        self.low = self.low.min(row.due);
        if let Some(&key) = self.keys.get(&row.id)
            && let Some(known) = self.queue.get_mut(key)
        {
            *known = row;
            return self.queue.arm(key, tick).is_ok();
        }
        let id = row.id.clone();
        match self.queue.insert(tick, row) {
            Ok(key) => {
                self.keys.insert(id, key);
                true
            }
            Err(_) => false,
        }
    }

    /// Removes a timer, pending or idle.
    pub(crate) fn forget(&mut self, id: &str) {
        if let Some(key) = self.keys.remove(id) {
            let _ = self.queue.remove(key);
        }
    }

    /// Removes a timer if it is idle and still has this seq.
    pub(crate) fn finish(&mut self, id: &str, seq: i64) {
        if let Some(&key) = self.keys.get(id)
            && self.queue.is_idle(key)
            && self.queue.get(key).is_some_and(|row| row.seq == seq)
        {
            self.forget(id);
        }
    }

    /// Returns the due time and the seq from which the next load begins.
    pub(crate) fn high(&self) -> (i64, i64) {
        self.high
    }

    /// Returns a time. Each timer beyond the window is due at this time or later.
    pub(crate) fn far(&self) -> i64 {
        self.far
    }

    /// Adds the rows of a load at `high`. If the load returned fewer rows than requested, no timers
    /// follow these rows, and the window reaches at least to `until`.
    #[must_use]
    pub(crate) fn load(&mut self, rows: Vec<Waiting>, asked: usize, until: i64) -> bool {
        let last = rows.last().map(|row| (row.due, row.seq.saturating_add(1)));
        if rows.len() >= asked {
            self.high = last.unwrap_or(self.high);
            self.far = self.high.0;
        } else {
            let end = last.map_or(until, |(due, _)| until.max(due.saturating_add(1)));
            self.high = self.high.max((end, 0));
            self.far = NEVER;
        }
        rows.into_iter().all(|row| self.learn(row))
    }

    /// Returns a lower bound on the earliest due time of the waiting timers.
    pub(crate) fn wake(&self) -> i64 {
        let near = match self.queue.next_wake() {
            Some(at) if at <= self.queue.now() => self.low,
            wake => wake.map_or(NEVER, |at| i64::try_from(at).unwrap_or(NEVER)),
        };
        near.min(self.far)
    }

    /// Makes up to `limit` due timers idle and returns these timers.
    pub(crate) fn due(&mut self, now: i64, limit: usize) -> Vec<Waiting> {
        let mut rows = Vec::new();
        while rows.len() < limit
            && let Some(due) = self.queue.pop_and_keep(tick(now))
        {
            rows.extend(self.queue.get(due.key).cloned());
        }
        let wake = self.queue.next_wake();
        if wake.is_none_or(|at| at > self.queue.now()) {
            self.low = wake.map_or(NEVER, |at| i64::try_from(at).unwrap_or(NEVER));
        }
        rows
    }

    /// Returns whether the queue's clock has passed this time, which means that the engine's clock
    /// was set back.
    pub(crate) fn is_past(&self, now: i64) -> bool {
        tick(now) < self.queue.now()
    }

    /// Returns the number of pending timers in memory.
    pub(crate) fn len(&self) -> usize {
        self.queue.len()
    }
}

/// Converts a time into a tick. Due times are at least 0, and a clock before 1970 is treated as
/// 1970.
fn tick(at: i64) -> Tick {
    Tick::try_from(at).unwrap_or(0)
}
