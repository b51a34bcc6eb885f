//! Threads of one worker that wait for a time, in one of the queues of the core.

use tickwright::clock::Instant;
use tickwright_core::{Family, Inserted, Key, SlabQueue, TimerQueue, for_each_family};

/// A timer queue of any family, whose payloads are the numbers of records.
pub(super) trait Sleepers: Send {
    /// `None`: no memory.
    fn insert(&mut self, now: Instant, at: Instant, number: u32) -> Option<Key>;
    /// A key that was delivered is passed over.
    fn remove(&mut self, key: Key);
    fn pop(&mut self, now: Instant) -> Option<u32>;
    /// When to look again at the latest.
    fn next_wake(&self) -> Option<Instant>;
    fn is_empty(&self) -> bool;
}

/// One tick is 1024 ns. With finer ticks a wheel would have lower levels that timers only cascade
/// through.
const TICK_BITS: u32 = 10;

impl<F: Family> Sleepers for SlabQueue<F, u32>
where
    Self: Send,
{
    fn insert(&mut self, now: Instant, at: Instant, number: u32) -> Option<Key> {
        // A granular structure is late by a part of the way from its clock to the deadline.
        let _ = self.advance_within(now.as_nanos() >> TICK_BITS, 0, |_| {});
        // Up, so that no thread wakes early.
        let at = at.as_nanos();
        let tick = (at >> TICK_BITS) + u64::from(at & ((1 << TICK_BITS) - 1) != 0);
        TimerQueue::insert(self, tick, number).ok().map(|Inserted { key, .. }| key)
    }

    fn remove(&mut self, key: Key) {
        let _ = TimerQueue::remove(self, key);
    }

    fn pop(&mut self, now: Instant) -> Option<u32> {
        self.pop_expired(now.as_nanos() >> TICK_BITS).map(|expired| expired.value)
    }

    fn next_wake(&self) -> Option<Instant> {
        TimerQueue::next_wake(self)
            .map(|tick| if tick > u64::MAX >> TICK_BITS { u64::MAX } else { tick << TICK_BITS })
            .map(Instant::from_nanos)
    }

    fn is_empty(&self) -> bool {
        TimerQueue::is_empty(self)
    }
}

/// Makes the structure that sleeping threads wait in.
pub(super) type Structure = fn() -> Box<dyn Sleepers>;

macro_rules! structures {
    ([] $($id:literal => $family:ty;)+) => {
        &[$(($id, || Box::new(SlabQueue::<$family, u32>::new()))),+]
    };
}

const STRUCTURES: &[(&str, Structure)] = for_each_family!(structures []);

/// The structure of the family with that id.
pub(super) fn structure(id: &str) -> Option<Structure> {
    STRUCTURES.iter().find(|(each, _)| *each == id).map(|(_, structure)| *structure)
}
