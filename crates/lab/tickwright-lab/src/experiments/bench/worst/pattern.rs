//! The deadlines of an attack.

use std::fmt;

use clap::ValueEnum;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64;
use serde::Deserialize;

use crate::experiments::request;

/// A kind of deadlines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Pattern {
    /// All timers are due at one tick
    SameTick,
    /// Deadlines at and around multiples of powers of 64, where wheels of 64 buckets and factor 64
    /// cascade
    Edges64,
    /// Deadlines at and around multiples of powers of 8, where wheels of factor 8 cascade
    Edges8,
    /// All timers are due at a few ticks, far apart
    Clusters,
    /// Each deadline is earlier than all deadlines before it
    Descending,
    /// Each timer is re-armed to a deadline earlier than all others
    Earlier,
    /// Each timer is re-armed to a deadline later than all others
    Later,
    /// All timers are removed, none expires
    CancelAll,
    /// Deadlines at the last ticks of the range
    FarFuture,
}

/// The tick of [`Pattern::SameTick`]: three cascades away in wheels of factor 64.
const THE_TICK: u64 = 1_000_000;
/// The number of ticks of [`Pattern::Clusters`], and the distance between them. The distance is a
/// prime, so that no cluster is at an edge of a wheel's buckets.
const CLUSTERS: u64 = 64;
const APART: u64 = 100_003;
/// All edges are below this tick, so that every structure accepts the delays.
const EDGES_END: u64 = 1 << 35;
/// The number of multiples of each power that are used.
const MULTIPLES: u64 = 7;

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&request::word(self))
    }
}

impl Pattern {
    /// Returns the deadlines of timers `0..population`, in the order in which they are armed at
    /// tick 0.
    pub(crate) fn deadlines(self, population: usize, seed: u64) -> Vec<u64> {
        let n = population as u64;
        let mut deadlines: Vec<u64> = match self {
            Self::SameTick => vec![THE_TICK; population],
            Self::Edges64 => edges(64).into_iter().cycle().take(population).collect(),
            Self::Edges8 => edges(8).into_iter().cycle().take(population).collect(),
            Self::Clusters => (0..n).map(|at| (1 + at % CLUSTERS) * APART).collect(),
            Self::Descending => return (1..=n).rev().collect(),
            Self::Earlier => return (0..n).map(|at| 2 * n + at).collect(),
            Self::Later => return (1..=n).collect(),
            Self::CancelAll => (1..=n).collect(),
            Self::FarFuture => (0..n).map(|at| u64::MAX - at).collect(),
        };
        deadlines.shuffle(&mut Pcg64::seed_from_u64(seed));
        deadlines
    }

    /// Returns the deadlines to which the timers are re-armed, in the order of the ids. The timers
    /// were first armed at `deadlines`.
    pub(crate) fn moved(self, deadlines: &[u64]) -> Vec<u64> {
        let n = deadlines.len() as u64;
        match self {
            Self::Earlier => (0..n).map(|at| 2 * n - 1 - at).collect(),
            Self::Later => (0..n).map(|at| n + 1 + at).collect(),
            // Each timer moves to the deadline of the next timer.
            _ => deadlines.iter().cycle().skip(1).take(deadlines.len()).copied().collect(),
        }
    }

    /// Returns whether the re-arms are the attack. If they are, the advances come after the
    /// re-arms.
    pub(crate) fn is_rearm(self) -> bool {
        matches!(self, Self::Earlier | Self::Later)
    }

    /// Returns the number of timers that are removed.
    pub(crate) fn removed(self, population: usize) -> usize {
        if self == Self::CancelAll { population } else { population / 2 }
    }

    /// Returns the longest delay, in ticks.
    pub(crate) fn furthest(self, population: usize) -> u64 {
        match self {
            Self::SameTick => THE_TICK,
            Self::Edges64 | Self::Edges8 => EDGES_END,
            Self::Clusters => CLUSTERS * APART,
            Self::Descending | Self::CancelAll => population as u64,
            Self::Earlier => 3 * population as u64,
            Self::Later => 2 * population as u64,
            Self::FarFuture => u64::MAX,
        }
    }
}

/// Returns `m * factor^k` for the first multiples m of each power, with the ticks before and after.
fn edges(factor: u64) -> Vec<u64> {
    let powers = core::iter::successors(Some(factor), |power| power.checked_mul(factor));
    let fits = |power: &u64| power.saturating_mul(MULTIPLES) < EDGES_END;
    let edges = powers.take_while(fits).flat_map(|power| (1..=MULTIPLES).map(move |m| m * power));
    edges.flat_map(|edge| [edge - 1, edge, edge + 1]).collect()
}
