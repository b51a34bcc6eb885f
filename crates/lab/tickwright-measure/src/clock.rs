//! Clocks. Code that measures takes a [`Meter`] as an argument, so that tests of statistics and
//! tables need no real clock.

use core::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// A monotonic clock, in nanoseconds since an origin that the clock chooses.
pub trait Meter {
    /// Returns the time, in ns.
    fn now(&self) -> u64;

    /// Returns the date and the time of day in UTC, such as `2026-11-27T17:31:43Z`. Returns `None`
    /// if the clock does not know the date.
    fn date(&self) -> Option<String> {
        None
    }

    /// Returns the processor time of the calling thread, in ns since an origin of its own. The time
    /// during which other programs use the processor does not count. A reading can cost a system
    /// call.
    ///
    /// A clock that does not know the processor time returns [`now`](Self::now).
    fn cpu(&self) -> u64 {
        self.now()
    }
}

/// The operating system's monotonic clock.
#[derive(Debug, Clone, Copy)]
pub struct OsClock {
    origin: Instant,
}

impl OsClock {
    /// Creates a clock whose time is 0 now.
    pub fn start() -> Self {
        Self { origin: Instant::now() }
    }
}

impl Meter for OsClock {
    #[inline]
    fn now(&self) -> u64 {
        // Saturates after 584 years.
        u64::try_from(self.origin.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn date(&self) -> Option<String> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
        Some(utc(since.as_secs()))
    }

    #[cfg(unix)]
    fn cpu(&self) -> u64 {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
    }
}

/// Formats seconds since 1970-01-01T00:00:00Z as RFC 3339 does.
fn utc(seconds: u64) -> String {
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    // The calendar repeats every 400 years, or 146,097 days.
    let (mut day, mut year) = (seconds / 86_400 % 146_097, 1970 + seconds / 86_400 / 146_097 * 400);
    while day >= 365 + u64::from(leap(year)) {
        day -= 365 + u64::from(leap(year));
        year += 1;
    }
    let months = [31, 28 + u64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 1;
    for days in months {
        if day < days {
            break;
        }
        day -= days;
        month += 1;
    }
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{:02}T{hour:02}:{minute:02}:{second:02}Z", day + 1)
}

/// A deterministic clock, for tests and for runs whose times are not used (`check`, and the runs
/// that count memory). Each reading advances the clock: first by the scripted steps, then by
/// `step`.
#[derive(Debug)]
pub struct FakeMeter {
    now: Cell<u64>,
    step: u64,
    script: RefCell<VecDeque<u64>>,
}

impl FakeMeter {
    /// Creates a clock that advances by `step` ns at each read.
    pub fn steady(step: u64) -> Self {
        Self { now: Cell::new(0), step, script: RefCell::default() }
    }

    /// Creates a clock that advances by each of `steps` in turn, then stands still.
    pub fn scripted(steps: impl IntoIterator<Item = u64>) -> Self {
        Self { now: Cell::new(0), step: 0, script: RefCell::new(steps.into_iter().collect()) }
    }
}

impl Meter for FakeMeter {
    fn now(&self) -> u64 {
        let step = self.script.borrow_mut().pop_front().unwrap_or(self.step);
        self.now.set(self.now.get().saturating_add(step));
        self.now.get()
    }
}

/// The cost of a clock reading, and the resolution of the clock.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// ns between two consecutive readings: the median of the means of batches. Each timed
    /// operation includes this cost.
    pub cost_ns: f64,
    /// The 99th percentile of the time between two readings, in ns.
    pub cost_p99_ns: u64,
    /// The smallest step above 0 that was seen, in ns; 0 if the clock never advanced.
    pub resolution_ns: u64,
}

/// The number of batches of readings. All batches together take about a millisecond.
const BATCHES: u32 = 64;
const READINGS: u32 = 512;

/// Measures the cost and the resolution of the clock, from the clock's own readings.
pub fn calibrate(meter: &(impl Meter + ?Sized)) -> Calibration {
    let mut costs = Vec::new();
    let mut steps = Vec::new();
    for _ in 0..BATCHES {
        let first = meter.now();
        let mut last = first;
        for _ in 0..READINGS {
            let now = meter.now();
            steps.push(now.saturating_sub(last));
            last = now;
        }
        costs.push(last.saturating_sub(first) as f64 / f64::from(READINGS));
    }
    costs.sort_by(f64::total_cmp);
    steps.sort_unstable();
    Calibration {
        cost_ns: costs[costs.len() / 2],
        cost_p99_ns: steps[steps.len() * 99 / 100],
        resolution_ns: steps.iter().copied().find(|step| *step > 0).unwrap_or(0),
    }
}

impl fmt::Display for Calibration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "one reading costs {:.1} ns (99 % of them at most {} ns), resolution {} ns",
            self.cost_ns, self.cost_p99_ns, self.resolution_ns
        )
    }
}

#[cfg(test)]
mod tests;
