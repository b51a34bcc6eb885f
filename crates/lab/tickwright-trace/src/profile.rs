//! The figures of a program's timers, from a trace: the page of `tickwright describe`.
//!
//! ```text
//!   Event ─ push ─▶ Describer ─ finish ─▶ Profile
//!                   ├─ live        timers that are pending, and who armed them
//!                   ├─ population  how many were pending, over time
//!                   └─ delays      how long timers run, and how many durations there are
//! ```
//!
//! Memory is bounded by the number of pending timers, and by a fixed number of durations, threads
//! and sites. The memory does not grow with the length of a trace.

mod delays;
mod live;
mod numbers;
mod population;

use std::collections::HashMap;

pub use self::delays::{Bar, Delays, Share};
use self::live::{Ended, Live};
use self::numbers::Numbers;
pub use self::numbers::Spread;
pub use self::population::{Moment, Population};
use crate::event::{Event, Ns, UNKNOWN, What};
use crate::header::Names;

/// The figures of a trace. Times and durations are in ns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// All events.
    pub events: u64,
    /// The time from the first event to the last.
    pub span_ns: u64,
    /// Timers that were not pending and were armed.
    pub arms: u64,
    /// Timers that were pending and were armed again.
    pub rearms: u64,
    /// Timers that were cancelled while they were pending.
    pub cancels: u64,
    /// Expiries.
    pub fires: u64,
    /// Cancels and expiries of timers that were not pending. Such a timer was armed before the
    /// trace began or in an event that was lost, or it had already ended.
    pub unseen_arms: u64,
    /// Timers that were pending at the end.
    pub pending_at_end: u64,
    /// How many timers were pending.
    pub population: Population,
    /// The time from the arm of a timer to its deadline.
    pub delays: Delays,
    /// Arms and re-arms with an [unknown deadline](crate::event::UNKNOWN): they have no delay.
    pub unknown_delays: u64,
    /// For cancelled timers: the time since the last arm.
    pub cancel_age: Spread,
    /// For cancelled timers: the part of the delay that was left, in percent.
    pub cancel_left: Spread,
    /// For re-armed timers: the part of the delay that was left, in percent.
    pub rearm_left: Spread,
    /// The time from the deadline to the expiry.
    pub late_ns: Spread,
    /// Expiries more than a tick before the deadline.
    pub early: u64,
    /// The number of timers that expired in one tick, over the ticks with an expiry.
    pub cluster: Spread,
    /// The tick of [`cluster`](Self::cluster).
    pub tick_ns: u64,
    /// Expiries of periodic timers. Timers that are repeatedly armed with the same delay count as
    /// periodic, as do timers with a period.
    pub periodic_fires: u64,
    /// The most common periods.
    pub periods: Vec<Share>,
    /// Which threads arm and cancel, the busiest first.
    pub threads: Vec<Actor>,
    /// Cancels and re-arms by a thread that did not arm the timer.
    pub remote: u64,
    /// The sites that arm the most timers.
    pub sites: Vec<Actor>,
}

/// What a thread did, or what happened at one place in the program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Actor {
    /// The name of the thread or place; empty if unknown.
    pub name: String,
    /// Arms and re-arms.
    pub arms: u64,
    /// Cancels.
    pub cancels: u64,
    /// Expiries.
    pub fires: u64,
}

/// The most threads, and the most sites, whose names a profile holds.
const MOST_NAMED: usize = 12;

/// Collects the figures of a trace, event by event.
#[derive(Debug, Default)]
pub struct Describer {
    tick_ns: u64,
    profile: Profile,
    first: Option<Ns>,
    now: Ns,
    live: Live,
    population: population::OverTime,
    delays: delays::Counter,
    periods: delays::Counter,
    cancel_age: Numbers,
    cancel_left: Numbers,
    rearm_left: Numbers,
    late: Numbers,
    cluster: Numbers,
    /// The tick of the last expiry, and the number of its expiries.
    expiring: (i64, u64),
    threads: HashMap<u32, Actor>,
    sites: HashMap<u32, Actor>,
}

impl Describer {
    /// Creates a describer that groups expiries by ticks of `tick_ns` ns (0 is treated as 1 ms).
    #[must_use]
    pub fn new(tick_ns: u64) -> Self {
        let tick_ns = if tick_ns == 0 { 1_000_000 } else { tick_ns };
        Self { tick_ns, now: Ns::MIN, expiring: (i64::MIN, 0), ..Self::default() }
    }

    /// Adds the next event to the figures. Cost: O(1) amortized.
    pub fn push(&mut self, event: &Event) {
        let start = *self.first.get_or_insert(event.time);
        // Times from several processors can go backwards a little.
        self.now = self.now.max(event.time);
        self.profile.events += 1;
        let thread = self.threads.entry(event.thread).or_default();
        match event.what {
            What::Arm { deadline, period } | What::Rearm { deadline, period } => {
                thread.arms += 1;
                self.sites.entry(event.site).or_default().arms += 1;
                self.arm(event, deadline, period);
            }
            What::Cancel => {
                thread.cancels += 1;
                self.cancel(event);
            }
            What::Fire => {
                thread.fires += 1;
                self.fire(event);
            }
        }
        self.population.set(self.now.abs_diff(start), self.live.pending() as u64);
    }

    fn arm(&mut self, event: &Event, deadline: Ns, period: u64) {
        let delay = u64::try_from(deadline.saturating_sub(event.time)).unwrap_or(0);
        match deadline {
            UNKNOWN => self.profile.unknown_delays += 1,
            _ => self.delays.push(delay),
        }
        match self.live.arm(event, deadline, delay, period) {
            Some(before) => {
                self.profile.rearms += 1;
                before.left_percent(event.time).into_iter().for_each(|left| self.rearm_left.push(left));
                self.profile.remote += u64::from(before.is_foreign(event.thread));
            }
            None => self.profile.arms += 1,
        }
    }

    fn cancel(&mut self, event: &Event) {
        self.profile.cancels += 1;
        match self.live.cancel(event.timer) {
            Some(before) => {
                self.cancel_age.push(before.age(event.time));
                before.left_percent(event.time).into_iter().for_each(|left| self.cancel_left.push(left));
                self.profile.remote += u64::from(before.is_foreign(event.thread));
            }
            None => self.profile.unseen_arms += 1,
        }
    }

    fn fire(&mut self, event: &Event) {
        self.profile.fires += 1;
        let tick = event.time.div_euclid(i64::try_from(self.tick_ns).unwrap_or(i64::MAX));
        if tick != self.expiring.0 {
            self.end_cluster();
            self.expiring = (tick, 0);
        }
        self.expiring.1 += 1;
        match self.live.fire(event.timer, event.time) {
            Some(Ended { deadline, period, .. }) => {
                if deadline != UNKNOWN {
                    let late = event.time.saturating_sub(deadline);
                    self.late.push(u64::try_from(late).unwrap_or(0));
                    self.profile.early += u64::from(late < 0 && late.unsigned_abs() > self.tick_ns);
                }
                if period > 0 {
                    self.profile.periodic_fires += 1;
                    self.periods.push(period);
                }
            }
            None => self.profile.unseen_arms += 1,
        }
    }

    fn end_cluster(&mut self) {
        if self.expiring.1 > 0 {
            self.cluster.push(self.expiring.1);
        }
    }

    /// Returns the figures. `threads` and `sites` are the names from the trace.
    #[must_use]
    pub fn finish(mut self, threads: &Names, sites: &Names) -> Profile {
        self.end_cluster();
        let span_ns = self.first.map_or(0, |first| self.now.abs_diff(first));
        let busiest = |actors: HashMap<u32, Actor>, names: &Names| {
            let named = |(at, actor)| Actor { name: names.get(at).unwrap_or_default().to_owned(), ..actor };
            let mut all: Vec<Actor> = actors.into_iter().map(named).collect();
            all.sort_by(|a, b| (b.arms, b.cancels, &a.name).cmp(&(a.arms, a.cancels, &b.name)));
            all.truncate(MOST_NAMED);
            all
        };
        Profile {
            span_ns,
            pending_at_end: self.live.pending() as u64,
            population: self.population.finish(span_ns),
            delays: self.delays.finish(),
            cancel_age: self.cancel_age.spread(),
            cancel_left: self.cancel_left.spread(),
            rearm_left: self.rearm_left.spread(),
            late_ns: self.late.spread(),
            cluster: self.cluster.spread(),
            tick_ns: self.tick_ns,
            periods: self.periods.finish().top,
            threads: busiest(self.threads, threads),
            sites: busiest(self.sites, sites),
            ..self.profile
        }
    }
}
