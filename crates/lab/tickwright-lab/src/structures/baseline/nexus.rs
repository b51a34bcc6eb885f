//! `nexus-timer`: a wheel of 64 buckets and factor 8 that moves timers to finer levels as their
//! deadlines approach.
//!
//! - The wheel delivers each timer at the tick of its deadline, and delivers timers of equal
//!   deadline in any order. A poll delivers its timers in the order of the levels, so the adapter
//!   polls at each tick at which a timer can be due.
//! - Each operation consumes the handle, so a handle never goes stale.
//! - A delivery returns the value without its deadline; the adapter stores the deadline with the
//!   handle.
//! - The next deadline that the wheel returns is a lower bound.
//!
//! Times are `Instant`s, and the measured time includes their conversion. A tick is a nanosecond.
//! With the default tick of a millisecond, version 1.5.0 rounds 100 ms down to 99 ticks and
//! delivers almost a tick early.

use core::time::Duration;
use std::fmt;
use std::time::Instant;

use nexus_timer::{BoundedWheel, TimerHandle, WheelBuilder};
use tickwright_nodes::hint::prefetch;

use crate::structures::candidate::{BenchQueue, Candidate, Timed};

/// The wheel, with the caller's data of each id.
pub(crate) struct Nexus {
    wheel: BoundedWheel<u32>,
    epoch: Instant,
    timers: Vec<Place>,
    /// The timers that the last poll delivered, all at one tick.
    due: Vec<u32>,
}

/// The caller's data of a timer.
#[derive(Default)]
struct Place {
    handle: Option<TimerHandle<u32>>,
    deadline: u64,
}

impl fmt::Debug for Nexus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Nexus").field("len", &self.wheel.len()).finish_non_exhaustive()
    }
}

impl Candidate for Nexus {
    type Arena = ();
    type Queue<'a> = Self;

    const INLINE: usize = size_of::<BoundedWheel<u32>>();

    fn arena(_capacity: usize) {}

    fn queue((): &(), capacity: usize) -> Self {
        let epoch = Instant::now();
        let wheel = WheelBuilder::new()
            .tick_duration(Duration::from_nanos(1))
            .bounded(capacity.max(1))
            .build(epoch)
            .expect("a tick of a nanosecond changes none of the defaults that are checked");
        let timers = (0..capacity).map(|_| Place::default()).collect();
        Self { wheel, epoch, timers, due: Vec::new() }
    }
}

impl Nexus {
    #[inline]
    fn instant(&self, tick: u64) -> Instant {
        self.epoch + Duration::from_nanos(tick)
    }

    /// Clears the handle of a timer that fired, and returns the timer's id and deadline.
    #[inline]
    fn delivered(&mut self, id: u32) -> (u32, u64) {
        let place = &mut self.timers[id as usize];
        if let Some(handle) = place.handle.take() {
            self.wheel.free(handle);
        }
        (id, place.deadline)
    }

    /// Polls at each tick up to `now` at which a timer can be due, until a poll delivers timers. A
    /// poll delivers at most `limit` timers, all with equal deadlines.
    #[inline]
    fn poll(&mut self, now: Instant, limit: usize) -> bool {
        while let Some(wake) = self.wheel.next_deadline().filter(|wake| *wake <= now) {
            if self.wheel.poll_and_rebalance_with_limit(wake, limit, &mut self.due) > 0 {
                return true;
            }
        }
        // Nothing is due; this poll only advances the wheel's clock.
        self.wheel.poll_and_rebalance_with_limit(now, 0, &mut self.due);
        false
    }
}

impl Timed for Nexus {}

impl BenchQueue for Nexus {
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

    /// Returns a lower bound.
    #[inline]
    fn hint(&self, _far: u32, near: u32) {
        prefetch(&raw const self.timers[near as usize]);
    }

    #[inline]
    fn head(&mut self) -> Option<u64> {
        let wake = self.wheel.next_deadline()?;
        Some(u64::try_from(wake.duration_since(self.epoch).as_nanos()).unwrap_or(u64::MAX))
    }

    #[inline]
    fn pop_expired(&mut self, now: u64) -> Option<(u32, u64)> {
        self.poll(self.instant(now), 1);
        let id = self.due.pop()?;
        Some(self.delivered(id))
    }

    /// Takes the next timer, even if it is not due.
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

impl Drop for Nexus {
    fn drop(&mut self) {
        // In debug builds, dropping a live handle panics, so the wheel cancels its timer first.
        for place in &mut self.timers {
            if let Some(handle) = place.handle.take() {
                self.wheel.cancel(handle);
            }
        }
    }
}
