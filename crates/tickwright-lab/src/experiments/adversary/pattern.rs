//! The deadlines of an attack.

use std::fmt;

use clap::ValueEnum;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64;

use crate::experiments::request;

/// A kind of deadlines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Pattern {
    /// All timers are due at one tick
    SameTick,
    /// Deadlines at and around multiples of powers of 64, where wheels of 64 buckets and factor 64
    /// cascade
    Edges64,
    /// Deadlines at and around multiples of powers of 8, where wheels of factor 8 cascade
    Edges8,
    /// Each deadline is earlier than all deadlines before it
    Descending,
    /// Deadlines at the last ticks of the range
    FarFuture,
}

/// The tick of [`Pattern::SameTick`]: three cascades away in wheels of factor 64.
const THE_TICK: u64 = 1_000_000;
/// Edges lie below this tick, so that all structures accept their delays.
const EDGES_END: u64 = 1 << 35;
/// The number of multiples of each power.
const MULTIPLES: u64 = 7;

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&request::word(self))
    }
}

impl Pattern {
    /// Deadlines of timers `0..population`, in the order in which they are armed at tick 0.
    pub(crate) fn deadlines(self, population: usize, seed: u64) -> Vec<u64> {
        let n = population as u64;
        let mut deadlines: Vec<u64> = match self {
            Self::SameTick => vec![THE_TICK; population],
            Self::Edges64 => edges(64).into_iter().cycle().take(population).collect(),
            Self::Edges8 => edges(8).into_iter().cycle().take(population).collect(),
            Self::Descending => return (1..=n).rev().collect(),
            Self::FarFuture => (0..n).map(|at| u64::MAX - at).collect(),
        };
        deadlines.shuffle(&mut Pcg64::seed_from_u64(seed));
        deadlines
    }

    /// The longest delay, in ticks.
    pub(crate) fn furthest(self, population: usize) -> u64 {
        match self {
            Self::SameTick => THE_TICK,
            Self::Edges64 | Self::Edges8 => EDGES_END,
            Self::Descending => population as u64,
            Self::FarFuture => u64::MAX,
        }
    }
}

/// `m * factor^k` and the ticks before and after, for the first multiples of each power.
fn edges(factor: u64) -> Vec<u64> {
    let powers = core::iter::successors(Some(factor), |power| power.checked_mul(factor));
    let fits = |power: &u64| power.saturating_mul(MULTIPLES) < EDGES_END;
    let edges = powers.take_while(fits).flat_map(|power| (1..=MULTIPLES).map(move |m| m * power));
    edges.flat_map(|edge| [edge - 1, edge, edge + 1]).collect()
}
