//! The queue of a scheduler that records.

use core::num::NonZeroU32;

use tickwright_core::structure::Handle;
use tickwright_core::{Tick, Violation};
use tickwright_nodes::arena::{Full, Idx, SlotId};
use tickwright_trace::What;

use super::queue::Queue;
use super::timer::Entry;
use crate::record::QueueRecorder;
use crate::time::Ticks;

/// Wraps the queue of a timer set if there is a recorder.
pub(super) fn recorded(
    queue: Box<dyn Queue>,
    recorder: Option<QueueRecorder>,
    ticks: Ticks,
) -> Box<dyn Queue> {
    match recorder {
        Some(recorder) => Box::new(RecordedQueue { queue, recorder: recorder.of_new_queue(), ticks }),
        None => queue,
    }
}

struct RecordedQueue {
    queue: Box<dyn Queue>,
    recorder: QueueRecorder,
    ticks: Ticks,
}

impl RecordedQueue {
    /// The identity is the slot and its generation: each added timer has its own.
    fn identity(&self, slot: Idx) -> u64 {
        let generation = self.queue.get(slot).map_or(0, |(generation, _)| generation.get());
        u64::from(generation) << 32 | u64::from(slot.number())
    }

    /// Records a cancel for each pending timer.
    fn record_ends(&self) {
        self.queue.for_each(&mut |slot| self.recorder.cancel(self.identity(slot)));
    }
}

/// The timers that are pending when their set is dropped end with it.
impl Drop for RecordedQueue {
    fn drop(&mut self) {
        self.record_ends();
    }
}

impl Queue for RecordedQueue {
    fn occupy(&mut self, entry: Entry) -> Option<SlotId> {
        self.queue.occupy(entry)
    }

    fn vacate(&mut self, slot: Idx) -> bool {
        self.queue.vacate(slot)
    }

    fn reserve_slots(&mut self, additional: usize) -> Result<(), Full> {
        self.queue.reserve_slots(additional)
    }

    fn reserve(&mut self, additional: usize) -> Result<(), Full> {
        self.queue.reserve(additional)
    }

    fn heap_bytes(&self) -> usize {
        self.queue.heap_bytes() + size_of::<Self>()
    }

    fn slots(&self) -> usize {
        self.queue.slots()
    }

    fn slot_capacity(&self) -> usize {
        self.queue.slot_capacity()
    }

    fn live(&self) -> usize {
        self.queue.live()
    }

    fn get(&self, slot: Idx) -> Option<(NonZeroU32, &Entry)> {
        self.queue.get(slot)
    }

    fn get_mut(&mut self, slot: Idx) -> Option<(NonZeroU32, &mut Entry)> {
        self.queue.get_mut(slot)
    }

    #[cfg(test)]
    fn start_after(&mut self, last: u32) {
        self.queue.start_after(last);
    }

    fn len(&self) -> usize {
        self.queue.len()
    }

    fn insert(&mut self, slot: Idx, deadline: Tick) {
        self.queue.insert(slot, deadline);
        let at = self.ticks.start(deadline);
        self.recorder.at(self.identity(slot), at, |deadline| What::Arm { deadline, period: 0 });
    }

    fn remove(&mut self, slot: Idx) {
        self.queue.remove(slot);
        self.recorder.cancel(self.identity(slot));
    }

    fn reschedule(&mut self, slot: Idx, deadline: Tick) {
        self.queue.reschedule(slot, deadline);
        let at = self.ticks.start(deadline);
        self.recorder.at(self.identity(slot), at, |deadline| What::Rearm { deadline, period: 0 });
    }

    fn pop(&mut self, now: Tick, moves: &mut usize) -> Option<(Idx, Tick)> {
        let (slot, expiry) = self.queue.pop(now, moves)?;
        self.recorder.fire(self.identity(slot));
        Some((slot, expiry))
    }

    fn touch(&mut self, now: Tick) {
        self.queue.touch(now);
    }

    fn next_expiry(&self) -> Option<Tick> {
        self.queue.next_expiry()
    }

    fn next_wake(&self) -> Option<Tick> {
        self.queue.next_wake()
    }

    fn head(&self) -> Option<Idx> {
        self.queue.head()
    }

    fn fetch_head(&self, now: Tick) -> Option<Idx> {
        self.queue.fetch_head(now)
    }

    fn second(&self) -> Option<Idx> {
        self.queue.second()
    }

    fn expiry(&self, slot: Idx) -> Tick {
        self.queue.expiry(slot)
    }

    fn clear(&mut self) {
        self.record_ends();
        self.queue.clear();
    }

    fn for_each(&self, visit: &mut dyn FnMut(Idx)) {
        self.queue.for_each(visit);
    }

    fn check(&self) -> Result<(), Violation> {
        self.queue.check()
    }
}
