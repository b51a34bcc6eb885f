//! What a scheduler shows of itself.

use core::fmt;

use crate::service::{Info, Lateness, SiteCounts, State, Statistics};

/// Everything that a scheduler holds, at one moment: [`Scheduler::dump`](super::Scheduler::dump). Printed, it is a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dump {
    /// The clock, in ns.
    pub now: u64,
    /// The timers, running ones first, then by when they are due, idle ones last.
    pub timers: Vec<Info>,
}

/// What a scheduler has counted: [`Scheduler::report`](super::Scheduler::report). Printed, it is a few lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The counts.
    pub statistics: Statistics,
    /// By origin.
    pub sites: Vec<SiteCounts>,
}

/// Nanoseconds as a person reads them.
struct Ns(u64);

impl fmt::Display for Ns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self.0 {
            0..1_000 => format!("{} ns", self.0),
            1_000..1_000_000 => format!("{:.1} us", self.0 as f64 / 1e3),
            1_000_000..1_000_000_000 => format!("{:.3} ms", self.0 as f64 / 1e6),
            _ => format!("{:.3} s", self.0 as f64 / 1e9),
        };
        f.pad(&text)
    }
}

impl Dump {
    pub(super) fn new(now: u64, mut timers: Vec<Info>) -> Self {
        let rank = |state| match state {
            State::Running => 0,
            State::Pending => 1,
            State::Idle => 2,
        };
        timers.sort_by_key(|timer| (rank(timer.state), timer.due));
        Self { now, timers }
    }
}

impl fmt::Display for Dump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:<20} {:<8} {:>12} {:>12} {:>10}  callback",
            "id", "state", "due in", "interval", "token"
        )?;
        for timer in &self.timers {
            let id = timer.int_id.map_or_else(|| timer.id.to_string(), |int| int.to_string());
            let state = match timer.state {
                State::Idle => "idle",
                State::Pending => "pending",
                State::Running => "running",
            };
            let due = match (timer.state, timer.due.checked_sub(self.now)) {
                (State::Idle, _) => String::new(),
                (_, Some(left)) => Ns(left).to_string(),
                (_, None) => format!("-{}", Ns(self.now - timer.due)),
            };
            let site = timer.site;
            let interval = Ns(timer.period).to_string();
            writeln!(
                f,
                "{id:<20} {state:<8} {due:>12} {interval:>12} {:>10}  {} ({}:{})",
                timer.token, site.name, site.file, site.line
            )?;
        }
        writeln!(f, "{} timers", self.timers.len())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = &self.statistics;
        writeln!(
            f,
            "{} timers, {} pending, at most {} at a time; armed {}, fired {}, cancelled {}, overruns {}",
            counts.timers,
            counts.pending,
            counts.high_water,
            counts.armed,
            counts.fired,
            counts.cancelled,
            counts.overruns
        )?;
        write_lateness(f, &counts.lateness)?;
        for SiteCounts { site, added, fired, panicked } in &self.sites {
            write!(f, "  {:<24} added {added:>9}  fired {fired:>9}", site.name)?;
            if *panicked > 0 {
                write!(f, "  panicked {panicked}")?;
            }
            writeln!(f, "  ({}:{})", site.file, site.line)?;
        }
        Ok(())
    }
}

fn write_lateness(f: &mut fmt::Formatter<'_>, lateness: &Lateness) -> fmt::Result {
    if lateness.count() == 0 {
        return Ok(());
    }
    let quantile = |share| Ns(lateness.quantile(share));
    writeln!(
        f,
        "lateness: mean {}, half within {}, 99 % within {}, at most {}",
        Ns(lateness.mean() as u64),
        quantile(0.5),
        quantile(0.99),
        Ns(lateness.max())
    )?;
    for (last, count) in lateness.buckets() {
        writeln!(f, "  up to {:>12}  {count}", Ns(last))?;
    }
    Ok(())
}
