//! `timer-queue`: a hierarchical wheel over `u64` time in a slab. The wheel delivers timers in the
//! order of their deadlines, and delivers timers of equal deadline in any order. The wheel returns
//! only the value, so the adapter stores the deadline with the value. The next time-out of the
//! wheel is a lower bound of the earliest deadline.

use tickwright_nodes::hint::prefetch;
use timer_queue::{Timer, TimerQueue};

use crate::structures::candidate::{BenchQueue, Candidate, Timed};

/// The wheel, with the handle of each id.
#[derive(Debug)]
pub(crate) struct Wheel {
    wheel: TimerQueue<(u32, u64)>,
    handles: Vec<Option<Timer>>,
}

impl Candidate for Wheel {
    type Arena = ();
    type Queue<'a> = Self;

    const INLINE: usize = size_of::<TimerQueue<(u32, u64)>>();

    fn arena(_capacity: usize) {}

    fn queue((): &(), capacity: usize) -> Self {
        Self { wheel: TimerQueue::with_capacity(capacity), handles: vec![None; capacity] }
    }
}

impl Timed for Wheel {}

impl BenchQueue for Wheel {
    #[inline]
    fn insert(&mut self, id: u32, deadline: u64) {
        self.handles[id as usize] = Some(self.wheel.insert(deadline, (id, deadline)));
    }

    #[inline]
    fn remove(&mut self, id: u32) {
        if let Some(handle) = self.handles[id as usize].take() {
            self.wheel.remove(handle);
        }
    }

    #[inline]
    fn reschedule(&mut self, id: u32, deadline: u64) {
        if let Some(handle) = self.handles[id as usize] {
            self.wheel.get_mut(handle).1 = deadline;
            self.wheel.reset(handle, deadline);
        }
    }

    /// Returns a lower bound.
    #[inline]
    fn hint(&self, _far: u32, near: u32) {
        prefetch(&raw const self.handles[near as usize]);
    }

    #[inline]
    fn head(&mut self) -> Option<u64> {
        self.wheel.next_timeout()
    }

    #[inline]
    fn pop_expired(&mut self, now: u64) -> Option<(u32, u64)> {
        let expired = self.wheel.poll(now)?;
        self.handles[expired.0 as usize] = None;
        Some(expired)
    }

    /// The wheel delivers one timer per poll, so a poll at the end of time pops the first timer.
    #[inline]
    fn pop(&mut self) -> Option<(u32, u64)> {
        self.pop_expired(u64::MAX)
    }

    fn callers_bytes(&self) -> usize {
        self.handles.capacity() * size_of::<Option<Timer>>()
    }
}
