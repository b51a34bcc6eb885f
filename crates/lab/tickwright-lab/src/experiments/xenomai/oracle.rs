//! The oracle: a second model of the experiment, which uses only the ordered set of the standard
//! library. The oracle replays an event log and returns the first wrong event.

use core::fmt;
use std::collections::BTreeSet;

use super::log::Event;
use super::workload::{Timer, Workload};
use crate::structures::registry::Ties;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Difference {
    /// Index of the event in the log.
    pub(crate) event: usize,
    /// Clock reading of the event's wake-up, in ns.
    pub(crate) now: u64,
    /// The event that should have happened.
    pub(crate) expected: String,
    /// What happened.
    pub(crate) found: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { event, now, expected, found } = self;
        write!(f, "event {event}, at tick {now}: expected {expected}, found {found}")
    }
}

/// Counts of a correct log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Verified {
    /// Ticks, all in the correct order.
    pub(crate) ticks: u64,
    /// Missed periods, all counted correctly.
    pub(crate) overruns: u64,
    pub(crate) wakes: u64,
}

/// The timers as a correct queue holds them.
#[derive(Debug)]
pub(crate) struct Oracle {
    periods: Vec<u64>,
    /// (expiry, arrival, id): the order in which exact queues deliver.
    pending: BTreeSet<(u64, u64, u32)>,
    /// The entry of each timer in `pending`.
    place: Vec<Option<(u64, u64, u32)>>,
    arrivals: u64,
    ties: Ties,
    now: u64,
}

impl Oracle {
    /// Creates the state of a queue whose promise for equal deadlines is `ties`. The armed timers
    /// of `work` were inserted in the order of their numbers.
    pub(crate) fn filled(work: &Workload, ties: Ties) -> Self {
        let timers = work.timers();
        let mut oracle = Self {
            periods: timers.iter().map(|timer| timer.period).collect(),
            pending: BTreeSet::new(),
            place: vec![None; timers.len()],
            arrivals: 0,
            ties,
            now: work.now,
        };
        for (id, Timer { expected, .. }) in (0..).zip(timers).filter(|(_, timer)| timer.armed) {
            oracle.arm(id, *expected);
        }
        oracle
    }

    fn arm(&mut self, id: u32, expiry: u64) -> bool {
        let entry = (expiry, self.arrivals, id);
        self.arrivals += 1;
        match self.place.get_mut(id as usize) {
            Some(place @ None) => *place = Some(entry),
            _ => return false,
        }
        self.pending.insert(entry)
    }

    fn disarm(&mut self, id: u32) -> bool {
        let entry = self.place.get_mut(id as usize).and_then(Option::take);
        entry.is_some_and(|entry| self.pending.remove(&entry))
    }

    fn expiry(&self, nth: usize) -> Option<u64> {
        self.pending.iter().nth(nth).map(|(expiry, ..)| *expiry)
    }

    /// Returns the first pending timer, if it is due.
    fn due(&self) -> Option<(u64, u32)> {
        self.pending.first().filter(|(expiry, ..)| *expiry <= self.now).map(|(expiry, _, id)| (*expiry, *id))
    }

    /// Returns whether timer `id` is allowed to be delivered first: it is pending, its deadline is
    /// also `first`, and the queue is allowed to deliver equal deadlines in any order.
    fn may_precede(&self, id: u32, first: u64) -> bool {
        self.ties == Ties::AnyOrder
            && self.place.get(id as usize).copied().flatten().is_some_and(|(expiry, ..)| expiry == first)
    }

    /// Returns the number of missed periods between `expected` and now, and the next point of the
    /// grid. Walks along the grid point by point.
    fn overruns(&self, id: u32, expected: u64) -> (u64, u64) {
        let period = self.periods[id as usize];
        let mut missed = 0;
        let mut next = expected.saturating_add(period);
        while next <= self.now && next < u64::MAX {
            missed += 1;
            next = next.saturating_add(period);
        }
        (missed, next)
    }

    pub(crate) fn verify(mut self, events: &[Event]) -> Result<Verified, Difference> {
        let mut verified = Verified::default();
        for (at, event) in events.iter().enumerate() {
            self.step(*event, &mut verified).map_err(|(expected, found)| Difference {
                event: at,
                now: self.now,
                expected,
                found,
            })?;
        }
        Ok(verified)
    }

    /// Replays one event. If the event is wrong, returns the expected event and the event that was
    /// found.
    fn step(&mut self, event: Event, verified: &mut Verified) -> Result<(), (String, String)> {
        match event {
            Event::Woke { now } => {
                verified.wakes += 1;
                if now < self.now {
                    return Err((format!("a clock at {} or later", self.now), format!("{now}")));
                }
                self.now = now;
            }
            Event::Ticked { id, expiry, overruns } => {
                let found = || format!("timer {id} due at {expiry}");
                match self.due() {
                    Some(right) if right == (expiry, id) => {}
                    Some((first, _)) if first == expiry && self.may_precede(id, first) => {}
                    Some((expiry, id)) => return Err((format!("timer {id} due at {expiry}"), found())),
                    None => return Err((format!("nothing due by {}", self.now), found())),
                }
                let (missed, next) = self.overruns(id, expiry);
                if missed != overruns {
                    return Err((format!("{missed} overruns of timer {id}"), format!("{overruns}")));
                }
                verified.ticks += 1;
                verified.overruns += missed;
                self.disarm(id);
                self.arm(id, next);
            }
            Event::Started { id, expiry } => {
                if !self.arm(id, expiry) {
                    return Err((format!("timer {id} idle"), "it was started while armed".into()));
                }
            }
            Event::Stopped { id } => {
                if !self.disarm(id) {
                    return Err((format!("timer {id} armed"), "it was stopped while idle".into()));
                }
            }
            Event::Deferred { second } => same("the second", self.expiry(1), second)?,
            Event::Programmed { head } => {
                if let Some((expiry, id)) = self.due() {
                    return Err((format!("timer {id} due at {expiry}"), "it did not come out".into()));
                }
                same("the head", self.expiry(0), head)?;
            }
        }
        Ok(())
    }
}

fn same(what: &str, expected: Option<u64>, found: Option<u64>) -> Result<(), (String, String)> {
    let show = |answer: Option<u64>| answer.map_or_else(|| "none".into(), |expiry| format!("{expiry}"));
    if expected == found { Ok(()) } else { Err((format!("{what} due at {}", show(expected)), show(found))) }
}
