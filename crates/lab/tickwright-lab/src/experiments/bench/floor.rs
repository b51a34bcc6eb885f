//! Floors: what the same work costs without order, handles or safety. A floor is not a timer queue
//! and does not count as a competing structure.
//!
//! - [`Slots`]: an array of deadlines; an insert writes into the array, and a delivery reads the
//!   array's next slot
//! - [`FlatWheel`]: an array of ids for each tick, up to the longest delay
//! - [`Pass`]: an array that is read from its beginning to its end

use core::cell::RefCell;

use crate::models::erased::Shared;
use crate::models::scenario::{Floor, Increments, Scenario};
use crate::structures::candidate::{BenchQueue, Dead, Timed};

/// Creates the floor of a scenario at a population, if the scenario has one.
pub(crate) fn queue(scenario: &Scenario, population: usize) -> Option<Box<dyn Shared>> {
    Some(match scenario.run.floor? {
        // With so few timers, a wheel would mostly walk over empty ticks.
        Floor::FlatWheel if scenario.increments.is_some_and(|all| population < ticks_a_timer(all)) => {
            Box::new(RefCell::new(Slots::new(population)))
        }
        Floor::FlatWheel => Box::new(RefCell::new(FlatWheel::new(population, scenario.longest_delay()?))),
        Floor::Slots => Box::new(RefCell::new(Slots::new(population))),
        Floor::Pass => Box::new(RefCell::new(Pass::default())),
    })
}

/// Returns the number of pending timers at which one timer per tick is due on average. This number
/// equals the mean delay in ticks.
fn ticks_a_timer(increments: Increments) -> usize {
    usize::try_from(increments.mean.get()).unwrap_or(usize::MAX)
}

/// An array of deadlines. The timers leave in the order of their ids, not of their deadlines.
#[derive(Debug)]
pub(crate) struct Slots {
    deadlines: Vec<u64>,
    next: u32,
}

impl Slots {
    fn new(population: usize) -> Self {
        Self { deadlines: vec![0; population.max(1)], next: 0 }
    }
}

impl Timed for Slots {}

impl BenchQueue for Slots {
    #[inline]
    fn insert(&mut self, id: u32, deadline: u64) {
        self.deadlines[id as usize] = deadline;
    }

    #[inline]
    fn remove(&mut self, id: u32) {
        self.deadlines[id as usize] = 0;
    }

    #[inline]
    fn reschedule(&mut self, id: u32, deadline: u64) {
        self.insert(id, deadline);
    }

    #[inline]
    fn head(&mut self) -> Option<u64> {
        Some(self.deadlines[self.next as usize])
    }

    #[inline]
    fn pop_expired(&mut self, _now: u64) -> Option<(u32, u64)> {
        let id = self.next;
        self.next = if id as usize + 1 < self.deadlines.len() { id + 1 } else { 0 };
        Some((id, self.deadlines[id as usize]))
    }

    /// An array of slots has no order by deadline, so an advance delivers nothing.
    fn advance(&mut self, _now: u64, _budget: usize, _sink: &mut impl FnMut(u32, u64)) -> bool {
        true
    }
}

/// Stands for the deadline of an id that is not pending, and for the tick of an id without an
/// entry.
const NONE: u64 = u64::MAX;

/// An array of ids for each tick. The timers of a tick leave in any order.
///
/// A timer that is moved to a later tick, or cancelled and inserted again, keeps its entry. The
/// move only costs a write into an array. When the tick of the entry arrives, the entry moves on to
/// the tick of its timer's deadline.
#[derive(Debug)]
pub(crate) struct FlatWheel {
    ticks: Vec<Vec<u32>>,
    /// The tick whose array is delivered next.
    now: u64,
    timers: Vec<Timer>,
}

/// A timer of a flat wheel.
#[derive(Debug, Clone, Copy)]
struct Timer {
    deadline: u64,
    /// The tick of the timer's entry, which is at most the timer's deadline. An entry of this timer
    /// at any other tick is dead.
    entry: u64,
}

impl FlatWheel {
    /// Creates a wheel for delays up to `longest`, in ticks.
    fn new(population: usize, longest: u64) -> Self {
        // There is at least one array more than there are delays, so that no two pending ticks
        // share an array.
        let ticks = usize::try_from(longest + 1).unwrap_or(usize::MAX).next_power_of_two();
        let none = Timer { deadline: NONE, entry: NONE };
        Self { ticks: vec![Vec::new(); ticks], now: 0, timers: vec![none; population] }
    }

    #[inline]
    fn at(&self, tick: u64) -> usize {
        // The conversion can cut off high bits, which do not matter because the length is a power
        // of two.
        tick as usize & (self.ticks.len() - 1)
    }

    /// Appends an entry of `id` at `tick`.
    #[inline]
    fn enter(&mut self, id: u32, tick: u64) {
        self.timers[id as usize].entry = tick;
        let at = self.at(tick);
        self.ticks[at].push(id);
    }
}

impl Timed for FlatWheel {}

impl BenchQueue for FlatWheel {
    /// An entry becomes dead only if its timer moves to an earlier tick. A dead entry leaves when
    /// its own tick arrives.
    fn dead(&self) -> Dead {
        Dead::AreSwept
    }

    #[inline]
    fn insert(&mut self, id: u32, deadline: u64) {
        // An exponential delay is beyond the wheel's range about once in e^64 draws.
        let deadline = deadline.min(self.now + self.ticks.len() as u64 - 1);
        let timer = &mut self.timers[id as usize];
        timer.deadline = deadline;
        if deadline < timer.entry {
            self.enter(id, deadline);
        }
    }

    #[inline]
    fn remove(&mut self, id: u32) {
        self.timers[id as usize].deadline = NONE;
    }

    #[inline]
    fn reschedule(&mut self, id: u32, deadline: u64) {
        self.insert(id, deadline);
    }

    fn head(&mut self) -> Option<u64> {
        None
    }

    #[inline]
    fn pop_expired(&mut self, now: u64) -> Option<(u32, u64)> {
        loop {
            let (tick, at) = (self.now, self.at(self.now));
            while let Some(id) = self.ticks[at].pop() {
                let timer = &mut self.timers[id as usize];
                if timer.entry != tick {
                    continue;
                }
                timer.entry = NONE;
                match timer.deadline {
                    NONE => {}
                    due if due == tick => {
                        timer.deadline = NONE;
                        return Some((id, tick));
                    }
                    later => self.enter(id, later),
                }
            }
            if tick >= now {
                return None;
            }
            self.now += 1;
        }
    }

    #[inline]
    fn pop(&mut self) -> Option<(u32, u64)> {
        self.pop_expired(u64::MAX)
    }
}

/// Timers in the order of their insertion. From the first deadline on, each tick delivers one
/// timer, regardless of the timer's own deadline.
#[derive(Debug, Default)]
pub(crate) struct Pass {
    timers: Vec<(u64, u32)>,
    first: u64,
    delivered: usize,
}

impl Timed for Pass {}

impl BenchQueue for Pass {
    #[inline]
    fn insert(&mut self, id: u32, deadline: u64) {
        if self.delivered == self.timers.len() {
            self.timers.clear();
            self.delivered = 0;
        }
        self.first = if self.timers.is_empty() { deadline } else { self.first.min(deadline) };
        self.timers.push((deadline, id));
    }

    fn remove(&mut self, _id: u32) {}

    fn reschedule(&mut self, _id: u32, _deadline: u64) {}

    #[inline]
    fn head(&mut self) -> Option<u64> {
        (self.delivered < self.timers.len()).then_some(self.first)
    }

    #[inline]
    fn pop_expired(&mut self, now: u64) -> Option<(u32, u64)> {
        if self.first + self.delivered as u64 > now {
            return None;
        }
        let (deadline, id) = *self.timers.get(self.delivered)?;
        self.delivered += 1;
        Some((id, deadline))
    }
}

#[cfg(test)]
mod tests;
