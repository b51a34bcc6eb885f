//! Turns events into operations on a queue, on a virtual clock.
//!
//! The driver of the replay wakes at each deadline and at no other time. At each wake-up, the
//! driver delivers all timers that are due. Arms, re-arms and cancels happen at the times of the
//! trace, so every exact structure gets the same operations. Expiries of the trace serve only as a
//! check. If an event of the trace falls on another tick, the program was awake then, so its loop
//! tells the queue the time ([`Step::Clock`], not shown):
//!
//! ```text
//!   trace    arm a (due 30)      arm b (due 31)      fire a      cancel b
//!   time     10                  20                  30.2        30.9
//!   replay   Insert a 30         Insert b 31         Advance 30  Remove b
//! ```
//!
//! A deadline is rounded up to a tick, and a time of an event is rounded down. A timer that is
//! overdue when it is armed expires at the next tick.

use core::ops::ControlFlow;
use std::collections::{HashMap, VecDeque};

use tickwright_trace::event::Ns;
use tickwright_trace::{Event, What};

use crate::models::tape::Step;
use crate::models::verify::oracle::Oracle;
use crate::structures::candidate::BenchQueue;

/// Counts of the decoded operations.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Operations by kind, in the order of [`KINDS`](crate::models::tape::KINDS).
    pub(crate) kinds: [u64; 4],
    /// Timers that were delivered.
    pub(crate) deliveries: u64,
    /// Operations that changed the earliest deadline, so that a driver has to set its alarm again.
    pub(crate) head_changes: u64,
    /// The most timers pending at once.
    pub(crate) most: u32,
    /// Ids in use: those of pending timers, and some that rest before they are used again.
    pub(crate) ids: u32,
    /// Expiries before the timer's deadline, which count as removals.
    pub(crate) early: u64,
    /// Cancels after the timer's deadline. The replay had already delivered the timer.
    pub(crate) too_late: u64,
    /// The last tick.
    pub(crate) ticks: u64,
    /// The longest delay, in ticks.
    pub(crate) longest: u64,
}

impl Counts {
    /// Returns the number of all operations.
    pub(crate) fn operations(&self) -> u64 {
        self.kinds.iter().sum()
    }
}

/// A timer with an id.
#[derive(Debug, Clone, Copy, Default)]
struct Timer {
    /// The timer's name in the trace: copy and number.
    name: (u32, u64),
    /// The period in ticks; 0 for a timer that expires once.
    period: u64,
}

/// Decodes events one by one.
#[derive(Debug)]
pub(crate) struct Decoder {
    tick_ns: i64,
    /// The time of tick 0.
    origin: Option<Ns>,
    /// The last tick that the queue was told, by a delivery or a [`Step::Clock`].
    now: u64,
    oracle: Oracle,
    ids: HashMap<(u32, u64), u32>,
    timers: Vec<Timer>,
    /// Ids of timers that are not pending. The id that has rested longest is used next.
    free: VecDeque<u32>,
    counts: Counts,
    stopped: bool,
}

/// Receives operations. Returns `Break` when it wants no more.
pub(crate) type Sink<'s> = dyn FnMut(Step) -> ControlFlow<()> + 's;

/// At least this many ids rest, so that a granular structure delivers a timer before its id is used
/// again.
const RESTING: usize = 8;

/// A periodic timer that has missed more expiries than this skips them.
const MOST_MISSED: u64 = 1000;

/// After this many deliveries between two events of the trace, periodic timers skip all expiries
/// that they missed.
const MOST_DELIVERED: u64 = 1 << 16;

impl Decoder {
    /// Creates a decoder with ticks of `tick_ns`.
    pub(crate) fn new(tick_ns: u64) -> Self {
        Self {
            tick_ns: i64::try_from(tick_ns).unwrap_or(i64::MAX).max(1),
            origin: None,
            now: 0,
            oracle: Oracle::default(),
            ids: HashMap::new(),
            timers: Vec::new(),
            free: VecDeque::new(),
            counts: Counts::default(),
            stopped: false,
        }
    }

    /// Returns the counts so far.
    pub(crate) fn counts(&self) -> Counts {
        Counts { ids: u32::try_from(self.timers.len()).unwrap_or(u32::MAX), ..self.counts }
    }

    /// Passes to `out` the driver's operations before an event, and then the operations of the
    /// event. If `out` returns `Break`, the remaining operations are not passed.
    pub(crate) fn push(&mut self, copy: u32, event: &Event, out: &mut Sink<'_>) {
        let origin = *self.origin.get_or_insert(event.time.saturating_sub(self.tick_ns));
        let at = ticks(event.time.saturating_sub(origin), self.tick_ns, Round::Down);
        self.drive(at, out);
        if at > self.now {
            self.now = at;
            self.stopped |= out(Step::Clock { at }).is_break();
        }
        let name = (copy, event.timer);
        let id = self.ids.get(&name).copied();
        match event.what {
            What::Arm { deadline, period } | What::Rearm { deadline, period } => {
                let deadline = ticks(deadline.saturating_sub(origin), self.tick_ns, Round::Up);
                // Overdue timers expire at the next tick.
                let deadline = deadline.max(self.now + 1);
                self.counts.longest = self.counts.longest.max(deadline - at.min(deadline));
                let period = if period == 0 { 0 } else { period.div_ceil(self.tick_ns.unsigned_abs()) };
                if let Some(id) = id {
                    self.timers[id as usize].period = period;
                    self.step(Step::Reschedule { id, deadline }, out);
                } else {
                    let id = self.new_id(Timer { name, period });
                    self.step(Step::Insert { id, deadline }, out);
                }
            }
            What::Cancel => match id {
                Some(id) => self.take_out(id, out),
                None => self.counts.too_late += 1,
            },
            What::Fire => {
                let Some(id) = id else { return };
                let deadline = self.oracle.deadline(id).unwrap_or(at);
                if deadline <= at + 1 {
                    // The tick of the deadline has begun, so the event and the deadline differ only
                    // by rounding.
                    self.drive(deadline, out);
                } else if self.timers[id as usize].period == 0 {
                    self.counts.early += 1;
                    self.take_out(id, out);
                }
            }
        }
    }

    fn take_out(&mut self, id: u32, out: &mut Sink<'_>) {
        self.release(id);
        self.step(Step::Remove { id }, out);
    }

    /// Delivers all timers that are due up to the tick `until`, tick by tick.
    fn drive(&mut self, until: u64, out: &mut Sink<'_>) {
        let begun = self.counts.deliveries;
        while let Some((_, head)) = self.oracle.first().filter(|(_, head)| !self.stopped && *head <= until) {
            self.now = head;
            self.step(Step::Advance { now: head }, out);
            let mut again = Vec::new();
            while let Some((id, expiry)) = self.oracle.pop_expired(head) {
                self.counts.deliveries += 1;
                match self.timers[id as usize].period {
                    0 => self.release(id),
                    period => {
                        let is_flood = self.counts.deliveries - begun > MOST_DELIVERED;
                        let most = if is_flood { 0 } else { MOST_MISSED };
                        again.push((id, next_expiry(expiry, period, until, most)));
                    }
                }
            }
            for (id, deadline) in again {
                self.counts.longest = self.counts.longest.max(deadline - head);
                self.step(Step::Insert { id, deadline }, out);
            }
        }
    }

    /// Appends an operation and counts it.
    fn step(&mut self, step: Step, out: &mut Sink<'_>) {
        self.stopped |= out(step).is_break();
        self.counts.kinds[step.kind()] += 1;
        let before = self.oracle.first().map(|(_, head)| head);
        match step {
            Step::Insert { id, deadline } => self.oracle.insert(id, deadline),
            Step::Reschedule { id, deadline } => self.oracle.reschedule(id, deadline),
            Step::Remove { id } => self.oracle.remove(id),
            Step::Advance { now } => {
                self.counts.ticks = now;
                return;
            }
            _ => return,
        }
        let after = self.oracle.first().map(|(_, head)| head);
        self.counts.head_changes += u64::from(before != after);
        let pending = u32::try_from(self.oracle.len()).unwrap_or(u32::MAX);
        self.counts.most = self.counts.most.max(pending);
    }

    fn new_id(&mut self, timer: Timer) -> u32 {
        let rested = self.free.len() > RESTING.max(self.oracle.len() / 8);
        let id = match if rested { self.free.pop_front() } else { None } {
            Some(id) => {
                self.timers[id as usize] = timer;
                id
            }
            None => {
                self.timers.push(timer);
                u32::try_from(self.timers.len() - 1).unwrap_or(u32::MAX)
            }
        };
        self.ids.insert(timer.name, id);
        id
    }

    fn release(&mut self, id: u32) {
        self.ids.remove(&self.timers[id as usize].name);
        self.free.push_back(id);
    }
}

/// Returns the next expiry of a periodic timer. Up to `most` missed expiries are delivered on the
/// grid; if more were missed, they are skipped.
fn next_expiry(expiry: u64, period: u64, until: u64, most: u64) -> u64 {
    let missed = until.saturating_sub(expiry) / period;
    let skipped = if missed > most { missed } else { 0 };
    expiry.saturating_add(period.saturating_mul(skipped + 1))
}

enum Round {
    Up,
    Down,
}

/// Converts ns from the origin into ticks.
fn ticks(ns: Ns, tick_ns: i64, round: Round) -> u64 {
    let ns = ns.max(0);
    let down = ns / tick_ns;
    let up = i64::from(matches!(round, Round::Up) && ns % tick_ns != 0);
    u64::try_from(down + up).unwrap_or(0)
}
