//! What `latency run` is to do, and what it saw.

use core::cell::RefCell;
use core::time::Duration;

use super::lane::Lane;
use super::order::{Entry, Order};
use super::overhead::Overhead;
use super::rights::Priority;
use super::settings::WakeArgs;
use super::slice::{Seen, Turn};
use super::structures::PUBLISHED;
use crate::duration;
use crate::error::LabError;
use crate::output::TextFile;
use crate::structures::registry::Structure;

/// What to run.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(super) wake: WakeArgs,
    pub(super) structures: Vec<&'static Structure>,
    /// What was left out.
    pub(super) notes: Vec<String>,
    pub(super) slice: Duration,
    pub(super) host_hz: u64,
    pub(super) cells: usize,
    pub(super) bucket: Duration,
    pub(super) histogram: bool,
    /// Files in formats of others. They are written after the report, which a full disk does not
    /// take along.
    pub(super) files: RefCell<Vec<(TextFile, String)>>,
}

/// What a run saw.
#[derive(Debug)]
pub(crate) struct Data {
    /// One a structure.
    pub(super) lanes: Vec<Lane>,
    pub(super) granted: Priority,
    pub(super) overhead: Overhead,
    /// Share of one processor that the measuring thread used, warm-up included.
    pub(super) cpu_percent: f64,
}

/// Turns of each structure that a run aims at: fewer show no difference.
const TURNS: u32 = 8;
const LONGEST_SLICE: Duration = Duration::from_millis(250);
/// Periods in a slice that nobody chose, at least.
const PERIODS: u32 = 20;

impl Plan {
    /// A turn that nobody chose: short enough for many turns, long enough for some periods.
    pub(super) fn usual_slice(wake: &WakeArgs, structures: usize) -> Duration {
        let share = wake.duration / (TURNS + 1) / u32::try_from(structures).unwrap_or(u32::MAX);
        share.min(LONGEST_SLICE).max(wake.interval.saturating_mul(PERIODS))
    }

    /// Turns of each structure that count, after one that warms up.
    pub(super) fn turns(&self) -> usize {
        let round = self.slice.as_nanos().saturating_mul(self.structures.len() as u128).max(1);
        let turns = self.wake.duration.as_nanos() / round;
        usize::try_from(turns).unwrap_or(usize::MAX).saturating_sub(1)
    }

    /// What a turn does.
    pub(super) fn turn(&self) -> Turn {
        let period = self.wake.interval_ns().max(1);
        Turn {
            period,
            points: u64::try_from(self.slice.as_nanos() / u128::from(period)).unwrap_or(u64::MAX),
            host_period: 1_000_000_000u64.checked_div(self.host_hz).unwrap_or(0),
        }
    }

    /// Whether the times fit together.
    pub(super) fn check(&self) -> Result<(), LabError> {
        let (slice, interval) = (duration::show(self.slice), duration::show(self.wake.interval));
        if self.slice < self.wake.interval {
            let why = format!("--slice {slice} is shorter than an interval of {interval}: nothing was run");
            return Err(LabError::usage(why));
        }
        // Each is a sample that is kept for the turn.
        if self.turn().points > Seen::MOST {
            return Err(LabError::usage(format!(
                "--slice {slice} has more intervals of {interval} than are kept: {} at most; nothing was run",
                Seen::MOST
            )));
        }
        if self.turns() == 0 {
            let structures = self.structures.len();
            let least = self.slice.saturating_mul(2 * u32::try_from(structures).unwrap_or(u32::MAX / 2));
            return Err(LabError::usage(format!(
                "--duration {} is too short for {structures} structures in turns of {slice}, of which the first \
                 does not count: at least {}",
                duration::show(self.wake.duration),
                duration::show(least)
            )));
        }
        Ok(())
    }
}

/// The cells, if a histogram for each structure takes at most a quarter of the machine's memory.
pub(super) fn fitting(cells: u64, structures: usize, memory: Option<u64>) -> Result<usize, LabError> {
    // Where the memory is unknown, 16 MiB a structure.
    let share = memory.map_or(1 << 24, |bytes| bytes / 4 / structures.max(1) as u64);
    let most = share / size_of::<u64>() as u64;
    usize::try_from(cells).ok().filter(|_| cells <= most).ok_or_else(|| {
        LabError::usage(format!(
            "--cells {cells} is larger than a quarter of the memory: from 1 to {most} for {structures} structures"
        ))
    })
}

impl Data {
    /// The order of the structures that have samples.
    pub(super) fn order(&self) -> Order {
        let entry = |lane: &Lane| {
            let average = lane.us(|all| all.running().avg())?;
            Some(Entry {
                id: lane.structure.id,
                average,
                rounds: lane.rows.iter().map(|row| row[0]).collect(),
            })
        };
        let entries: Vec<Entry> = self.lanes.iter().filter_map(entry).collect();
        Order::of(&entries, &PUBLISHED.stored("hook"))
    }
}
