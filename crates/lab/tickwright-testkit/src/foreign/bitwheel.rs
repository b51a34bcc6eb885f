//! The `PreciseWheel` of `bitwheel` 0.6: three gears of 64 slots, with ticks of one millisecond.
//! The adapter passes the time to the wheel's poll, as the wheel's documentation shows.
//!
//! The adapter does two things for the wheel. First, it forgets a handle when the handle's timer
//! fires, because the wheel treats every handle whose deadline has not come as pending. If a timer
//! fired early, a later cancel would access a slot that is free or belongs to another timer, a case
//! that the wheel's code declares unreachable. Second, the adapter calls sinks after the poll,
//! because `fire` cannot borrow a sink.

use core::fmt;
use core::time::Duration;
use std::collections::VecDeque;
use std::time::Instant;

use bitwheel::timer::{PreciseWheel, Timer, TimerHandle};

use crate::subject::{Advanced, Fired, Full, Make, Offers, Stale, Subject};

/// Creates `Wheel` queues.
#[derive(Debug)]
pub struct BitWheel;

/// The value that the wheel stores: the index of the slot in which the adapter keeps the timer.
struct Ticket(u32);

impl Timer for Ticket {
    type Context = VecDeque<u32>;

    fn fire(&mut self, fired: &mut VecDeque<u32>) {
        fired.push_back(self.0);
    }
}

/// What the adapter keeps about a timer.
struct Slot {
    handle: Option<TimerHandle>,
    fired: Fired,
}

/// The queue.
pub struct Wheel {
    wheel: Box<PreciseWheel<Ticket>>,
    slots: Vec<Slot>,
    free: Vec<u32>,
    fired: VecDeque<u32>,
    epoch: Instant,
    now: u64,
}

impl fmt::Debug for Wheel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wheel").field("now", &self.now).finish_non_exhaustive()
    }
}

impl Make for BitWheel {
    type Arena = ();
    type Subject<'a> = Wheel;

    fn name() -> String {
        "bitwheel PreciseWheel".into()
    }

    const OFFERS: Offers = Offers { next_wake: true, reserve: true, ..Offers::NONE };
    const EXACT: bool = false;

    fn arena(_: usize) {}

    fn make((): &(), capacity: usize) -> Wheel {
        let epoch = Instant::now();
        Wheel {
            wheel: PreciseWheel::boxed_with_epoch(epoch),
            slots: Vec::with_capacity(capacity),
            free: Vec::with_capacity(capacity),
            fired: VecDeque::with_capacity(capacity),
            epoch,
            now: 0,
        }
    }
}

impl Wheel {
    fn instant(&self, tick: u64) -> Instant {
        self.epoch + Duration::from_millis(tick)
    }
}

impl Subject for Wheel {
    type Key = u32;

    fn now(&self) -> u64 {
        self.now
    }

    fn len(&self) -> usize {
        self.wheel.len()
    }

    fn insert(&mut self, deadline: u64, value: u32) -> Result<(u32, bool), Full> {
        let key = self.free.last().map_or_else(|| u32::try_from(self.slots.len()), |&key| Ok(key));
        let key = key.map_err(|_| Full(value))?;
        let handle = self.wheel.insert(self.instant(deadline), Ticket(key)).map_err(|_| Full(value))?;
        let slot = Slot { handle: Some(handle), fired: Fired::new(value, deadline.max(self.now)) };
        if self.free.pop().is_some() {
            self.slots[key as usize] = slot;
        } else {
            self.slots.push(slot);
        }
        Ok((key, true))
    }

    fn remove(&mut self, key: u32) -> Result<(u32, bool), Stale> {
        let slot = &mut self.slots[key as usize];
        let handle = slot.handle.take().ok_or(Stale)?;
        // If the wheel refuses the cancel, the wheel regards the timer as fired, and the handle is
        // lost.
        let Ticket(at) = self.wheel.cancel(handle).ok_or(Stale)?;
        self.free.push(at);
        Ok((self.slots[at as usize].fired.value, true))
    }

    fn advance(&mut self, now: u64, _: usize, sink: &mut dyn FnMut(Fired)) -> Advanced {
        self.now = self.now.max(now);
        self.wheel.poll(self.instant(now), &mut self.fired);
        let mut delivered = 0;
        while let Some(at) = self.fired.pop_front() {
            let slot = &mut self.slots[at as usize];
            slot.handle = None;
            self.free.push(at);
            delivered += 1;
            sink(slot.fired);
        }
        Advanced { delivered, moved: 0, complete: true }
    }

    fn next_wake(&mut self) -> Option<u64> {
        let next = self.wheel.peek_next_fire()?;
        u64::try_from(next.saturating_duration_since(self.epoch).as_millis()).ok()
    }
}
