//! `hierarchical_hash_wheel_timer`: four wheels of 256 slots, an overflow list, and a map from ids
//! to timers.
//!
//! - The wheel delivers each timer at the tick of its deadline, and delivers timers of equal
//!   deadline in any order.
//! - A cancelled timer leaves the map at once. The timer's entry stays in the wheel until the clock
//!   reaches the entry's slot.
//! - The wheel cannot move a timer: the adapter cancels it and inserts it again.
//! - The wheel refuses a deadline that is not in the future. The adapter itself stores a timer with
//!   such a deadline.
//! - The wheel cannot return the next deadline. The wheel returns the number of ticks in which
//!   nothing can expire, which is a lower bound.
//! - The adapter calls the wheel once for each tick, and the wheel delivers all timers of that
//!   tick. A budget limits how many timers the adapter passes on, but not how many the wheel
//!   delivers.
//! - The caller's id identifies a timer and never goes stale.
//!
//! A tick is the crate's millisecond. The adapter skips ticks wherever the crate allows it.

use core::time::Duration;
use std::fmt;
use std::rc::Rc;

use hierarchical_hash_wheel_timer::wheels::Skip;
use hierarchical_hash_wheel_timer::wheels::cancellable::{CancellableTimerEntry, QuadWheelWithOverflow};
use tickwright_nodes::hint::prefetch;

use crate::structures::candidate::{BenchQueue, Candidate, Dead, Timed};

/// A timer in the wheel.
#[derive(Debug)]
struct Entry {
    id: u32,
    deadline: u64,
}

impl CancellableTimerEntry for Entry {
    type Id = u32;

    fn id(&self) -> &u32 {
        &self.id
    }
}

/// Stands for the deadline of an id that is not pending.
const NONE: u64 = u64::MAX;

/// The wheel, its clock, and the deadline of each id.
pub(crate) struct HashWheel {
    wheel: QuadWheelWithOverflow<Entry>,
    now: u64,
    /// The timers that are due; the earliest timer is last. An element is dead if its id now has
    /// another deadline.
    due: Vec<(u64, u32)>,
    deadlines: Vec<u64>,
    pending: usize,
}

impl fmt::Debug for HashWheel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HashWheel").field("now", &self.now).finish_non_exhaustive()
    }
}

impl Candidate for HashWheel {
    type Arena = ();
    type Queue<'a> = Self;

    const INLINE: usize = size_of::<QuadWheelWithOverflow<Entry>>();
    /// Three parts: the counted entry, its reference in a slot, and its place in the map.
    const BYTES_PER_TIMER: usize = 64;
    /// Longer delays go to a list that the wheel reads only once every 2^32 ticks.
    const HORIZON: u64 = u32::MAX as u64 - 1;
    const KEEPS_DEAD: bool = true;

    fn arena(_capacity: usize) {}

    fn queue((): &(), capacity: usize) -> Self {
        let wheel = QuadWheelWithOverflow::new();
        Self { wheel, now: 0, due: Vec::new(), deadlines: vec![NONE; capacity], pending: 0 }
    }
}

impl HashWheel {
    /// Drops dead timers from the end of `due`.
    #[inline]
    fn tidy(&mut self) {
        while self.due.last().is_some_and(|(deadline, id)| self.deadlines[*id as usize] != *deadline) {
            self.due.pop();
        }
    }

    /// Advances until a timer is due or the clock shows `until`. Returns whether a timer is due.
    #[inline]
    fn tick_until(&mut self, until: u64) -> bool {
        self.tidy();
        while self.due.is_empty() && self.now < until {
            let left = until - self.now;
            let skip = match self.wheel.can_skip() {
                Skip::None => 0,
                Skip::Millis(most) => u64::from(most).min(left),
                Skip::Empty => left,
            };
            if skip > 0 {
                // In an empty wheel there can be more ticks to skip than one call can skip; the
                // following calls skip the remaining ticks.
                let part = u32::try_from(skip).unwrap_or(u32::MAX);
                self.wheel.skip(part);
                self.now += u64::from(part);
                continue;
            }
            self.now += 1;
            for entry in self.wheel.tick() {
                self.due.push((entry.deadline, entry.id));
            }
        }
        !self.due.is_empty()
    }

    #[inline]
    fn deliver(&mut self) -> Option<(u32, u64)> {
        let (deadline, id) = self.due.pop()?;
        self.deadlines[id as usize] = NONE;
        self.pending -= 1;
        Some((id, deadline))
    }
}

impl Timed for HashWheel {}

impl BenchQueue for HashWheel {
    /// The wheel does not report how many of its entries are dead.
    fn dead(&self) -> Dead {
        Dead::Stay
    }

    #[inline]
    fn insert(&mut self, id: u32, deadline: u64) {
        self.deadlines[id as usize] = deadline;
        self.pending += 1;
        if deadline <= self.now {
            let at = self.due.partition_point(|due| due.0 > deadline);
            self.due.insert(at, (deadline, id));
            return;
        }
        let delay = Duration::from_millis(deadline - self.now);
        // If the wheel refuses the timer, the timer is lost, and the comparison of answers reports
        // the loss.
        let _ = self.wheel.insert_ref_with_delay(Rc::new(Entry { id, deadline }), delay);
    }

    #[inline]
    fn remove(&mut self, id: u32) {
        if core::mem::replace(&mut self.deadlines[id as usize], NONE) != NONE {
            self.pending -= 1;
        }
        // A due timer has already left the map, so the result does not matter.
        let _ = self.wheel.cancel(&id);
    }

    /// Returns a lower bound.
    #[inline]
    fn hint(&self, _far: u32, near: u32) {
        prefetch(&raw const self.deadlines[near as usize]);
    }

    #[inline]
    fn head(&mut self) -> Option<u64> {
        if self.pending == 0 {
            return None;
        }
        self.tidy();
        if let Some((deadline, _)) = self.due.last() {
            return Some(*deadline);
        }
        match self.wheel.can_skip() {
            Skip::None => Some(self.now + 1),
            Skip::Millis(most) => Some(self.now + u64::from(most) + 1),
            Skip::Empty => None,
        }
    }

    #[inline]
    fn pop_expired(&mut self, now: u64) -> Option<(u32, u64)> {
        if !self.tick_until(now) {
            return None;
        }
        self.due.last().filter(|(deadline, _)| *deadline <= now)?;
        self.deliver()
    }

    /// Takes the next timer, even if it is not due.
    #[inline]
    fn pop(&mut self) -> Option<(u32, u64)> {
        loop {
            let head = self.head()?;
            if self.tick_until(head) {
                return self.deliver();
            }
        }
    }

    fn callers_bytes(&self) -> usize {
        self.deadlines.capacity() * size_of::<u64>()
    }
}
