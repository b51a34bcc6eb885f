//! What is to be run.

use core::time::Duration;

use serde::Serialize;

use super::clock::{Clock, Driver};
use super::load::kind::Load;
use super::order::PUBLISHED;
use super::rights::{Priority, Wish};
use super::slice::{Seen, Turn};
use super::span;
use crate::duration;
use crate::error::LabError;
use crate::structures::registry::{self, Structure};

/// What to run.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) structures: Vec<&'static Structure>,
    /// What was left out of the request, and why.
    pub(super) notes: Vec<String>,
    pub(super) period: Duration,
    /// For all structures together.
    pub(super) duration: Duration,
    /// Asked for.
    pub(super) slice: Option<Duration>,
    pub(super) priority: Priority,
    pub(super) mlock: bool,
    pub(super) cpu: Option<usize>,
    pub(super) clock: Clock,
    pub(super) driver: Driver,
    pub(super) host_hz: u64,
    pub(super) load: Vec<Load>,
    pub(super) cells: usize,
    pub(super) bucket: Duration,
    pub(super) seed: u64,
}

/// Slices of each structure that a run aims at: fewer show no difference.
const SLICES: u32 = 8;
const LONGEST_SLICE: Duration = Duration::from_millis(250);
/// Periods in a slice that nobody chose, at least.
const PERIODS: u32 = 20;

impl Plan {
    /// The four structures of the experiment with everything as usual.
    ///
    /// # Errors
    /// None, as long as the registry has them.
    pub(super) fn usual(duration: Duration, period: Duration) -> Result<Self, LabError> {
        Ok(Self {
            structures: PUBLISHED.into_iter().map(registry::find).collect::<Result<_, _>>()?,
            notes: Vec::new(),
            period,
            duration,
            slice: None,
            priority: Priority::USUAL,
            mlock: false,
            cpu: None,
            clock: Clock::Monotonic,
            driver: Driver::Nanosleep,
            host_hz: 100,
            load: Vec::new(),
            cells: 300,
            bucket: Duration::from_micros(1),
            seed: 0,
        })
    }

    fn structures_count(&self) -> u32 {
        u32::try_from(self.structures.len()).unwrap_or(u32::MAX).max(1)
    }

    /// How long a turn is.
    pub(super) fn slice(&self) -> Duration {
        self.slice.unwrap_or_else(|| {
            let share = self.duration / (SLICES + 1) / self.structures_count();
            share.min(LONGEST_SLICE).max(self.period.saturating_mul(PERIODS))
        })
    }

    /// Turns of each structure, the one that is thrown away included.
    pub(super) fn rounds(&self) -> u64 {
        let round = self.slice().saturating_mul(self.structures_count());
        u64::try_from(self.duration.as_nanos() / round.as_nanos().max(1)).unwrap_or(u64::MAX)
    }

    /// What a turn does.
    pub(super) fn turn(&self) -> Turn {
        let (slice, period) = (self.slice().as_nanos(), self.period.as_nanos().max(1));
        Turn {
            period: u64::try_from(period).unwrap_or(u64::MAX),
            points: u64::try_from(slice / period).unwrap_or(u64::MAX),
            host_period: 1_000_000_000u64.checked_div(self.host_hz).unwrap_or(0),
        }
    }

    /// Whether the times fit together.
    ///
    /// # Errors
    /// With what would fit.
    pub(super) fn check(&self) -> Result<(), LabError> {
        if self.slice() < self.period {
            return Err(LabError::usage(format!(
                "--slice {} is shorter than a period of {}: nothing was run",
                duration::show(self.slice()),
                span::show(self.period)
            )));
        }
        // Each is a sample that is kept for the turn.
        if self.turn().points > Seen::MOST {
            return Err(LabError::usage(format!(
                "--slice {} has more periods of {} than are kept: {} at most; nothing was run",
                duration::show(self.slice()),
                span::show(self.period),
                Seen::MOST
            )));
        }
        let least = self.slice().saturating_mul(self.structures_count()).saturating_mul(2);
        if self.rounds() < 2 {
            return Err(LabError::usage(format!(
                "--duration {} is too short for {} structures in turns of {}, of which the first is thrown away: at least {}",
                duration::show(self.duration),
                self.structures.len(),
                duration::show(self.slice()),
                duration::show(least)
            )));
        }
        Ok(())
    }

    /// What the measuring thread asks the system for.
    pub(super) fn wish(&self) -> Wish {
        Wish { priority: self.priority, mlock: self.mlock, cpu: self.cpu }
    }
}

/// The plan in the JSON report.
#[derive(Debug, Serialize)]
pub(super) struct PlanFacts {
    pub(super) period_us: f64,
    pub(super) slice_ms: f64,
    pub(super) clock: Clock,
    pub(super) driver: Driver,
    pub(super) priority_asked: Priority,
    pub(super) priority: u8,
    pub(super) mlock: bool,
    pub(super) cpu: Option<usize>,
    pub(super) host_hz: u64,
    pub(super) load: Vec<Load>,
    pub(super) seed: u64,
}

impl Plan {
    /// For the report.
    pub(super) fn facts(&self, granted: u8) -> PlanFacts {
        PlanFacts {
            period_us: self.period.as_secs_f64() * 1e6,
            slice_ms: self.slice().as_secs_f64() * 1e3,
            clock: self.clock,
            driver: self.driver,
            priority_asked: self.priority,
            priority: granted,
            mlock: self.mlock,
            cpu: self.cpu,
            host_hz: self.host_hz,
            load: self.load.clone(),
            seed: self.seed,
        }
    }
}
