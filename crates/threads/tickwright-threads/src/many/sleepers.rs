//! The threads of one worker that wait for a time. They are in one of the core crate's timer
//! queues.

use tickwright::time::{Instant, Ticks};
use tickwright_core::{Family, Key, SlabQueue, TimerQueue, for_each_family};

/// A timer queue of any family, whose payloads are the numbers of records.
pub(super) trait Sleepers: Send {
    /// Inserts an entry. Returns `None` if there is no memory.
    fn insert(&mut self, now: Instant, at: Instant, number: u32) -> Option<Key>;
    /// Removes an entry. Does nothing if the entry was already delivered.
    fn remove(&mut self, key: Key);
    fn pop(&mut self, now: Instant) -> Option<u32>;
    /// Returns the time at which the queue must next be checked.
    fn next_wake(&self) -> Option<Instant>;
    fn is_empty(&self) -> bool;
}

/// The ticks are 1024 ns, because with finer ticks a wheel would only move timers through more
/// levels.
const TICKS: Ticks = Ticks::of(1024);

impl<F: Family> Sleepers for SlabQueue<F, u32>
where
    Self: Send,
{
    fn insert(&mut self, now: Instant, at: Instant, number: u32) -> Option<Key> {
        self.insert_at(TICKS.deadline(at), number, TICKS.now(now)).ok()
    }

    fn remove(&mut self, key: Key) {
        let _ = TimerQueue::remove(self, key);
    }

    fn pop(&mut self, now: Instant) -> Option<u32> {
        self.pop_expired(TICKS.now(now)).map(|expired| expired.value)
    }

    fn next_wake(&self) -> Option<Instant> {
        TimerQueue::next_wake(self).map(|tick| TICKS.start(tick))
    }

    fn is_empty(&self) -> bool {
        TimerQueue::is_empty(self)
    }
}

/// A function that creates the timer queue of sleeping threads.
pub(super) type Structure = fn() -> Box<dyn Sleepers>;

macro_rules! structures {
    ([] $($id:literal => $family:ty;)+) => {
        &[$(($id, || Box::new(SlabQueue::<$family, u32>::new()))),+]
    };
}

const STRUCTURES: &[(&str, Structure)] = for_each_family!(structures []);

/// Returns the function for the family with the given id.
pub(super) fn structure(id: &str) -> Option<Structure> {
    STRUCTURES.iter().find(|(each, _)| *each == id).map(|(_, structure)| *structure)
}
