//! The plan of `latency run`, and its data.

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
use crate::structures::registry::Structure;

/// The plan of a run.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(super) wake: WakeArgs,
    pub(super) structures: Vec<&'static Structure>,
    /// Notes on structures that were left out.
    pub(super) notes: Vec<String>,
    pub(super) slice: Duration,
    pub(super) host_hz: u64,
    pub(super) cells: usize,
    pub(super) bucket: Duration,
    pub(super) histogram: bool,
}

/// The data of a run.
#[derive(Debug)]
pub(crate) struct Data {
    /// One lane for each structure.
    pub(super) lanes: Vec<Lane>,
    pub(super) granted: Priority,
    pub(super) overhead: Overhead,
    /// The share of one processor that the thread used, in percent, including the warm-up.
    pub(super) cpu_percent: f64,
}

/// With the default slice, each structure gets about this many turns. Fewer turns cannot show a
/// difference.
const TURNS: u32 = 8;
const LONGEST_SLICE: Duration = Duration::from_millis(250);
/// The fewest periods in a default slice.
const PERIODS: u32 = 20;

impl Plan {
    /// Returns the default length of a turn, which is short enough for many turns and long enough
    /// for some periods.
    pub(super) fn usual_slice(wake: &WakeArgs, structures: usize) -> Duration {
        let share = wake.duration / (TURNS + 1) / u32::try_from(structures).unwrap_or(u32::MAX);
        share.min(LONGEST_SLICE).max(wake.interval.saturating_mul(PERIODS))
    }

    /// Returns the number of turns of each structure that count. One warm-up turn precedes these
    /// turns.
    pub(super) fn turns(&self) -> usize {
        let round = self.slice.as_nanos().saturating_mul(self.structures.len() as u128).max(1);
        let turns = self.wake.duration.as_nanos() / round;
        usize::try_from(turns).unwrap_or(usize::MAX).saturating_sub(1)
    }

    /// Returns empty lanes, one for each structure.
    pub(super) fn lanes(&self) -> Vec<Lane> {
        let bucket_ns = u64::try_from(self.bucket.as_nanos()).unwrap_or(u64::MAX);
        self.structures.iter().map(|structure| Lane::new(structure, self.cells, bucket_ns)).collect()
    }

    /// Returns the parameters of a turn.
    pub(super) fn turn(&self) -> Turn {
        let period = self.wake.interval_ns().max(1);
        Turn {
            period,
            points: u64::try_from(self.slice.as_nanos() / u128::from(period)).unwrap_or(u64::MAX),
            host_period: 1_000_000_000u64.checked_div(self.host_hz).unwrap_or(0),
        }
    }

    /// Refuses times that do not fit together.
    pub(super) fn check(&self) -> Result<(), LabError> {
        let (slice, interval) = (duration::show(self.slice), duration::show(self.wake.interval));
        if self.slice < self.wake.interval {
            let why = format!("--slice {slice} is shorter than an interval of {interval}: nothing was run");
            return Err(LabError::usage(why));
        }
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

impl Data {
    /// Returns the order of the structures that have samples.
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
