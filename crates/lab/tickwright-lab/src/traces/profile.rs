//! A workload as a short description, for programs that were not recorded: how many timers are
//! pending, how long they wait, and how they end. Events are generated from the description.
//!
//! ```toml
//! title = "an HTTP server"
//! timers = 10_000           # pending at once
//! expire = 2                # of 100 waits, so many end by expiry
//! cancel = 48               # so many by a cancel
//! rearm = 50                # so many by a re-arm
//! touched_after_ms = 50     # mean time from an arm to its cancel or re-arm
//! delays = [{ ms = 30_000, share = 90 }, { ms = 500, to_ms = 5_000, share = 10 }]
//! periodic = [{ ms = 1_000, timers = 8 }]
//! ```

use core::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::Path;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use serde::Deserialize;
use tickwright_trace::event::Ns;
use tickwright_trace::{Event, What};

use crate::error::LabError;
use crate::models::scenario::Kind;
use crate::output::text::{self, plain};

/// A workload, as a file describes it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Workload {
    /// The name of the workload in reports.
    #[serde(default)]
    pub(crate) title: String,
    /// Timers pending at once, without periodic timers.
    #[serde(default)]
    pub(crate) timers: u32,
    /// The weight of waits that end by expiry.
    #[serde(default)]
    pub(crate) expire: f64,
    /// The weight of waits that end by a cancel.
    #[serde(default)]
    pub(crate) cancel: f64,
    /// The weight of waits that end by a re-arm.
    #[serde(default)]
    pub(crate) rearm: f64,
    /// The mean time from an arm to its cancel or re-arm. If the mean is missing, cancels and
    /// re-arms are distributed uniformly before the deadline.
    pub(crate) touched_after_ms: Option<f64>,
    /// How long timers wait.
    #[serde(default)]
    pub(crate) delays: Vec<Delay>,
    /// Periodic timers.
    #[serde(default)]
    pub(crate) periodic: Vec<Periodic>,
}

/// One kind of delay.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Delay {
    /// The delay, or the shortest delay of a range.
    pub(crate) ms: f64,
    /// The longest delay of a range. If this field is missing, every delay is `ms`.
    pub(crate) to_ms: Option<f64>,
    /// The weight of this delay among all delays.
    #[serde(default = "one")]
    pub(crate) share: f64,
}

fn one() -> f64 {
    1.0
}

/// Periodic timers that have the same period.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Periodic {
    /// The period.
    pub(crate) ms: f64,
    /// The number of these timers.
    pub(crate) timers: u32,
}

/// The least and the greatest number of events that are generated.
const EVENTS: (u64, u64) = (200_000, 8_000_000);

/// This many waits are drawn, and the waits that are already running at the start are chosen from
/// them.
const DRAWN: usize = 1 << 12;

/// The most timers of a workload.
const MOST_TIMERS: u64 = 2_000_000;

/// A year in ms: no delay is longer.
const YEAR_MS: f64 = 365.0 * 86_400_000.0;

impl Workload {
    /// Reads a profile.
    ///
    /// # Errors
    /// A usage error that names the file and the mistake.
    pub(crate) fn read(path: &Path) -> Result<Self, LabError> {
        let name = plain(&path.display().to_string());
        let text = text::read(path, text::SHORT)
            .map_err(|error| LabError::usage(format!("'{name}' cannot be read: {error}")))?;
        let workload: Self = toml::from_str(&text).map_err(|error| {
            Kind::Profile.mistaken(&name, &text, LabError::usage(format!("'{name}': {error}")))
        })?;
        workload.checked().map_err(|wrong| LabError::usage(format!("'{name}': {wrong}")))
    }

    /// Returns the workload if events can be made from it.
    ///
    /// # Errors
    /// The mistake, in words.
    pub(crate) fn checked(self) -> Result<Self, String> {
        let all = u64::from(self.timers) + self.periodic.iter().map(|p| u64::from(p.timers)).sum::<u64>();
        if all == 0 {
            return Err("there are no timers: say `timers = N`".into());
        }
        if all > MOST_TIMERS {
            return Err(format!("there are more than {MOST_TIMERS} timers"));
        }
        let ways = [("expire", self.expire), ("cancel", self.cancel), ("rearm", self.rearm)];
        if let Some((name, _)) = ways.iter().find(|(_, weight)| !(0.0..=1e9).contains(weight)) {
            return Err(format!("{name} is not a number from 0 to 1e9"));
        }
        if self.timers > 0 && ways.iter().map(|(_, weight)| weight).sum::<f64>() <= 0.0 {
            return Err("no wait ends: say how many of 100 end by `expire`, `cancel` and `rearm`".into());
        }
        if self.timers > 0 && self.delays.is_empty() {
            return Err("there are no delays: say `delays = [{ ms = 1000 }]`".into());
        }
        let range = |ms: f64| (0.000_001..=YEAR_MS).contains(&ms);
        for delay in &self.delays {
            let to = delay.to_ms.unwrap_or(delay.ms);
            if !range(delay.ms) || !range(to) || to < delay.ms {
                return Err("a delay is not from a nanosecond to a year, or ends before it begins".into());
            }
            if !(0.0..=1e9).contains(&delay.share) {
                return Err("the share of a delay is not a number from 0 to 1e9".into());
            }
        }
        if self.timers > 0 && self.delays.iter().map(|delay| delay.share).sum::<f64>() <= 0.0 {
            return Err("all shares of delays are 0".into());
        }
        if !self.periodic.iter().all(|periodic| range(periodic.ms)) {
            return Err("a period is not from a nanosecond to a year".into());
        }
        if !self.touched_after_ms.is_none_or(range) {
            return Err("touched_after_ms is not from a nanosecond to a year".into());
        }
        Ok(self)
    }

    /// Generates events in time order. The workload begins with its full number of pending timers,
    /// which are armed with the remaining parts of their delays. Equal seeds give equal events. At
    /// most `most` events are generated, not counting the arms at the start.
    pub(crate) fn events(&self, seed: u64, most: u64) -> Vec<Event> {
        let mut make = Make {
            of: self,
            random: Pcg64::seed_from_u64(seed),
            next_timer: 0,
            due: BinaryHeap::new(),
            out: Vec::new(),
        };
        // In a program that has run for a long time, a running wait is more likely to be long than
        // short.
        let drawn: Vec<(Ns, Ns, Next)> = (0..DRAWN).map(|_| make.wait()).collect();
        let mut all = 0.0;
        let sums: Vec<f64> = drawn
            .iter()
            .map(|(wait, ..)| {
                all += *wait as f64 + 1.0;
                all
            })
            .collect();
        for _ in 0..self.timers {
            let chosen = make.random.random::<f64>() * all;
            let at = sums.partition_point(|sum| *sum < chosen).min(DRAWN - 1);
            let (wait, delay, then) = drawn[at];
            let gone = make.random.random_range(0..=wait);
            let timer = make.new_timer();
            let armed = What::Arm { deadline: delay - gone, period: 0 };
            make.out.push(Event::new(0, timer, armed));
            make.due.push(Reverse((wait - gone, timer, then)));
        }
        for periodic in &self.periodic {
            for _ in 0..periodic.timers {
                let period = ns(periodic.ms);
                let at = make.random.random_range(0..=period);
                let timer = make.new_timer();
                make.due.push(Reverse((at, timer, Next::Start(period))));
            }
        }
        let wanted = (u64::from(self.timers) * 8).clamp(EVENTS.0, EVENTS.1);
        let wanted = wanted.min(most.saturating_add(u64::from(self.timers)));
        while (make.out.len() as u64) < wanted {
            let Some(Reverse(next)) = make.due.pop() else { break };
            make.happen(next);
        }
        make.out
    }
}

/// What happens next to a timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Next {
    Arm,
    Rearm,
    Cancel,
    Fire,
    /// A periodic timer with this period begins.
    Start(Ns),
    /// The periodic timer with this period expires.
    Again(Ns),
}

struct Make<'w> {
    of: &'w Workload,
    random: Pcg64,
    next_timer: u64,
    due: BinaryHeap<Reverse<(Ns, u64, Next)>>,
    out: Vec<Event>,
}

impl Make<'_> {
    fn new_timer(&mut self) -> u64 {
        self.next_timer += 1;
        self.next_timer
    }

    /// Chooses one of several weights at random, and returns its index.
    fn choose(&mut self, weights: impl Iterator<Item = f64> + Clone) -> usize {
        let mut left = self.random.random::<f64>() * weights.clone().sum::<f64>();
        let chosen = weights.clone().position(|weight| {
            left -= weight;
            left < 0.0
        });
        chosen.unwrap_or_else(|| weights.count().saturating_sub(1))
    }

    fn delay(&mut self) -> Ns {
        let of = self.of;
        let chosen = self.choose(of.delays.iter().map(|delay| delay.share));
        let Some(delay) = of.delays.get(chosen) else { return 1 };
        self.random.random_range(ns(delay.ms)..=ns(delay.to_ms.unwrap_or(delay.ms)))
    }

    /// Draws how long a timer waits, its delay, and how the wait ends.
    fn wait(&mut self) -> (Ns, Ns, Next) {
        if self.of.delays.is_empty() {
            return (1, 1, Next::Fire);
        }
        let (of, delay) = (self.of, self.delay());
        match self.choose([of.expire, of.cancel, of.rearm].into_iter()) {
            0 => (delay, delay, Next::Fire),
            way => {
                let touched = match of.touched_after_ms {
                    None => self.random.random_range(0..=delay),
                    Some(mean) => (-(1.0 - self.random.random::<f64>()).ln() * mean * 1e6) as Ns,
                };
                (touched.min(delay - 1).max(0), delay, if way == 1 { Next::Cancel } else { Next::Rearm })
            }
        }
    }

    fn happen(&mut self, (now, timer, next): (Ns, u64, Next)) {
        let event = |what| Event::new(now, timer, what);
        match next {
            Next::Arm | Next::Rearm => {
                let (wait, delay, then) = self.wait();
                let deadline = now.saturating_add(delay);
                let armed = match next {
                    Next::Arm => What::Arm { deadline, period: 0 },
                    _ => What::Rearm { deadline, period: 0 },
                };
                self.out.push(event(armed));
                self.due.push(Reverse((now.saturating_add(wait), timer, then)));
            }
            Next::Cancel | Next::Fire => {
                self.out.push(event(if next == Next::Cancel { What::Cancel } else { What::Fire }));
                let timer = self.new_timer();
                self.happen((now, timer, Next::Arm));
            }
            Next::Start(period) => {
                let deadline = now.saturating_add(period);
                self.out.push(event(What::Arm { deadline, period: period.unsigned_abs() }));
                self.due.push(Reverse((deadline, timer, Next::Again(period))));
            }
            Next::Again(period) => {
                self.out.push(event(What::Fire));
                self.due.push(Reverse((now.saturating_add(period), timer, next)));
            }
        }
    }
}

fn ns(ms: f64) -> Ns {
    ((ms * 1e6) as Ns).max(1)
}

#[cfg(test)]
mod tests;
