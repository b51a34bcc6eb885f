//! `nexus-timer`: a wheel of 64 buckets and factor 8 whose timers are moved to finer levels as they
//! near. It delivers on the tick, equals in any order, and what one poll finds due in the order of
//! its levels: so it is polled at each tick at which something may be due. A handle is used up by
//! each operation and never goes stale; a value comes back without its deadline, which is kept with
//! the handle. Its next deadline is a lower bound.
//!
//! Times are `Instant`s, whose conversion is timed with the rest, and a tick is a nanosecond: with
//! the default of a millisecond version 1.5.0 rounds 100 ms down to 99 ticks, and delivers almost a
//! tick early.

use core::time::Duration;
use std::fmt;
use std::time::Instant;

use nexus_timer::{BoundedWheel, TimerHandle, WheelBuilder};

use crate::structures::candidate::{BenchQueue, Candidate};

/// The candidate.
#[derive(Debug)]
pub(crate) struct Nexus;

/// The wheel, with what the caller keeps for each id.
pub(crate) struct Queue {
    wheel: BoundedWheel<u32>,
    epoch: Instant,
    timers: Vec<Place>,
    /// What a poll delivered: of one tick.
    due: Vec<u32>,
}

/// What the caller keeps.
#[derive(Default)]
struct Place {
    handle: Option<TimerHandle<u32>>,
    deadline: u64,
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue").field("len", &self.wheel.len()).finish_non_exhaustive()
    }
}

impl Candidate for Nexus {
    type Arena = ();
    type Queue<'a> = Queue;

    const INLINE: usize = size_of::<BoundedWheel<u32>>();

    fn arena(_capacity: usize) {}

    fn queue((): &(), capacity: usize) -> Queue {
        let epoch = Instant::now();
        let wheel = WheelBuilder::new()
            .tick_duration(Duration::from_nanos(1))
            .bounded(capacity.max(1))
            .build(epoch)
            .expect("a tick of a nanosecond changes none of the defaults that are checked");
        let timers = (0..capacity).map(|_| Place::default()).collect();
        Queue { wheel, epoch, timers, due: Vec::new() }
    }
}

impl Queue {
    #[inline]
    fn instant(&self, tick: u64) -> Instant {
        self.epoch + Duration::from_nanos(tick)
    }

    /// The handle of a timer that has fired still holds its slot.
    #[inline]
    fn delivered(&mut self, id: u32) -> (u32, u64) {
        let place = &mut self.timers[id as usize];
        if let Some(handle) = place.handle.take() {
            self.wheel.free(handle);
        }
        (id, place.deadline)
    }

    /// Polls at each tick up to `now` at which something may be due, until something is, at most
    /// `limit` timers: equals.
    #[inline]
    fn poll(&mut self, now: Instant, limit: usize) -> bool {
        while let Some(wake) = self.wheel.next_deadline().filter(|wake| *wake <= now) {
            if self.wheel.poll_and_rebalance_with_limit(wake, limit, &mut self.due) > 0 {
                return true;
            }
        }
        // Nothing is due; this moves its clock.
        self.wheel.poll_and_rebalance_with_limit(now, 0, &mut self.due);
        false
    }
}

impl BenchQueue for Queue {
    #[inline]
    fn insert(&mut self, id: u32, deadline: u64) {
        let handle = self.wheel.schedule(self.instant(deadline), id);
        self.timers[id as usize] = Place { handle: Some(handle), deadline };
    }

    #[inline]
    fn remove(&mut self, id: u32) {
        if let Some(handle) = self.timers[id as usize].handle.take() {
            self.wheel.cancel(handle);
        }
    }

    #[inline]
    fn reschedule(&mut self, id: u32, deadline: u64) {
        let instant = self.instant(deadline);
        let place = &mut self.timers[id as usize];
        if let Some(handle) = place.handle.take() {
            *place = Place { handle: Some(self.wheel.reschedule(handle, instant)), deadline };
        }
    }

    /// A lower bound.
    #[inline]
    fn head(&mut self) -> Option<u64> {
        let wake = self.wheel.next_deadline()?;
        Some(u64::try_from(wake.duration_since(self.epoch).as_nanos()).unwrap_or(u64::MAX))
    }

    /// Not offered.
    fn second(&mut self) -> Option<u64> {
        None
    }

    #[inline]
    fn pop_expired(&mut self, now: u64) -> Option<(u32, u64)> {
        self.poll(self.instant(now), 1);
        let id = self.due.pop()?;
        Some(self.delivered(id))
    }

    /// The next that is due at all.
    #[inline]
    fn pop(&mut self) -> Option<(u32, u64)> {
        while let Some(wake) = self.wheel.next_deadline() {
            if self.wheel.poll_and_rebalance_with_limit(wake, 1, &mut self.due) > 0 {
                let id = self.due.pop()?;
                return Some(self.delivered(id));
            }
        }
        None
    }

    #[inline]
    fn advance(&mut self, now: u64, mut budget: usize, sink: &mut impl FnMut(u32, u64)) -> bool {
        let instant = self.instant(now);
        while budget > 0 {
            if !self.poll(instant, budget) {
                return true;
            }
            budget -= self.due.len();
            while let Some(id) = self.due.pop() {
                let (id, deadline) = self.delivered(id);
                sink(id, deadline);
            }
        }
        false
    }

    fn callers_bytes(&self) -> usize {
        self.timers.capacity() * size_of::<Place>()
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        // A handle that is dropped while it is live panics in debug builds.
        for place in &mut self.timers {
            if let Some(handle) = place.handle.take() {
                self.wheel.cancel(handle);
            }
        }
    }
}
