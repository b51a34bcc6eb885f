//! The reports of a scheduler: the list of its timers, and its counts.

use core::fmt;
use core::time::Duration;

use super::results::{Info, Statistics};
use super::site::{Site, SiteCounts};
use super::timer::State;
use crate::time::{Instant, Lateness, nanos};

/// All timers of a scheduler at one moment, as returned by
/// [`Scheduler::dump`](super::Scheduler::dump). It prints as a table.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Dump {
    /// The clock's time.
    pub now: Instant,
    /// The timers: first the running timer, then pending timers in the order of their due times,
    /// and then idle timers.
    pub timers: Vec<Listed>,
}

/// One timer of a [`Dump`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listed {
    /// The scheduler's information about the timer.
    pub info: Info,
    /// The [token](super::Callback::token) of the timer's callback.
    pub token: usize,
}

/// The counts of a scheduler, as returned by [`Scheduler::report`](super::Scheduler::report). It
/// prints as a few lines.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// The counts.
    pub statistics: Statistics,
    /// The counts by origin.
    pub sites: Vec<SiteCounts>,
}

/// A short text on the stack, which a format can pad. It is not on the heap, because a program can
/// print a report when there is no memory.
#[derive(Default)]
struct Short {
    text: [u8; 32],
    len: usize,
}

impl Short {
    fn of(what: fmt::Arguments<'_>) -> Self {
        let mut short = Self::default();
        // A text that is too long is truncated.
        let _ = fmt::Write::write_fmt(&mut short, what);
        short
    }
}

impl fmt::Write for Short {
    fn write_str(&mut self, piece: &str) -> fmt::Result {
        for (to, from) in self.text.iter_mut().skip(self.len).zip(piece.bytes()) {
            *to = from;
            self.len += 1;
        }
        Ok(())
    }
}

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.text.get(..self.len).and_then(|text| str::from_utf8(text).ok()).unwrap_or(""))
    }
}

/// A duration that prints in a suitable unit, from ns to s.
struct Readable(Duration);

impl fmt::Display for Readable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = nanos(self.0);
        let text = match ns {
            0..1_000 => Short::of(format_args!("{ns} ns")),
            1_000..1_000_000 => Short::of(format_args!("{:.1} us", ns as f64 / 1e3)),
            1_000_000..1_000_000_000 => Short::of(format_args!("{:.3} ms", ns as f64 / 1e6)),
            _ => Short::of(format_args!("{:.3} s", ns as f64 / 1e9)),
        };
        text.fmt(f)
    }
}

impl fmt::Display for Dump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "id                   state          due in     interval      token  callback")?;
        for Listed { info, token } in &self.timers {
            let Info { state, due, site, .. } = info;
            let id = match info.int_id {
                Some(int) => Short::of(format_args!("{int}")),
                None => Short::of(format_args!("{}", info.id)),
            };
            let (left, late) = (due.duration_since(self.now), self.now.duration_since(*due));
            let due = match state {
                State::Idle => Short::default(),
                _ if late.is_zero() => Short::of(format_args!("{}", Readable(left))),
                _ => Short::of(format_args!("-{}", Readable(late))),
            };
            let state = match state {
                State::Idle => "idle",
                State::Pending => "pending",
                State::Running => "running",
            };
            let (interval, Site { name, file, line }) = (Readable(info.period), site);
            writeln!(f, "{id:<20} {state:<8} {due:>12} {interval:>12} {token:>10}  {name} ({file}:{line})")?;
        }
        let plural = if self.timers.len() == 1 { "" } else { "s" };
        writeln!(f, "{} timer{plural}", self.timers.len())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Statistics { timers, pending, high_water, armed, fired, cancelled, overruns, .. } =
            self.statistics;
        write!(f, "{timers} timers, {pending} pending, at most {high_water} at a time; armed {armed}, ")?;
        writeln!(f, "fired {fired}, cancelled {cancelled}, overruns {overruns}")?;
        write_lateness(f, &self.statistics.lateness)?;
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
    let (mean, max) = (Readable(lateness.mean()), Readable(lateness.max()));
    let [half, most] = [0.5, 0.99].map(|share| Readable(lateness.quantile(share)));
    writeln!(f, "lateness: mean {mean}, half within {half}, 99 % within {most}, at most {max}")?;
    for (last, count) in lateness.buckets() {
        writeln!(f, "  up to {:>12}  {count}", Readable(last))?;
    }
    Ok(())
}
