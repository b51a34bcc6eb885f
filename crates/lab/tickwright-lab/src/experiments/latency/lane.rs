//! The measurements of one structure in all its turns.

use super::histogram::Cells;
use super::slice::{Gap, Seen};
use crate::result::{Better, Series, Unit, labels};
use crate::stats::{Distribution, Running};
use crate::structures::registry::Structure;

/// The figures of a turn, with their units. The worst lateness includes gaps, so a limit on the
/// worst lateness also applies to gaps.
pub(super) const FIGURES: [(&str, Unit); 10] = [
    ("average lateness", Unit::Ns),
    ("min lateness", Unit::Ns),
    ("median lateness", Unit::Ns),
    ("p99 lateness", Unit::Ns),
    ("worst lateness", Unit::Ns),
    ("samples", Unit::Count),
    ("overruns", Unit::Count),
    ("gaps", Unit::Count),
    ("host ticks", Unit::Count),
    ("wake-ups", Unit::Count),
];

/// The figures of one turn, in the order of [`FIGURES`]. A turn that consists only of gaps has no
/// average, but its row still stands for its round.
pub(super) type Row = [f64; FIGURES.len()];

pub(super) fn row(seen: &Seen) -> Row {
    let mut sorted = seen.lateness.clone();
    sorted.sort_unstable();
    // The smallest sample that `percent` % of the samples do not exceed.
    let rank = |percent: usize| (sorted.len() * percent).div_ceil(100).max(1) - 1;
    let of = |percent| sorted.get(rank(percent)).map_or(f64::NAN, |ns| *ns as f64);
    let gap = seen.gaps.iter().map(|gap| gap.ns as f64).fold(f64::NAN, f64::max);
    let average = sorted.iter().map(|ns| *ns as f64).sum::<f64>() / sorted.len() as f64;
    let counts = [sorted.len() as u64, seen.overruns, seen.gaps.len() as u64, seen.host_ticks, seen.wakes];
    let [samples, overruns, gaps, host_ticks, wakes] = counts.map(|count| count as f64);
    let worst = of(100).max(gap);
    [average, of(0), of(50), of(99), worst, samples, overruns, gaps, host_ticks, wakes]
}

/// Returns the series of a structure.
pub(super) fn series(lane: &Lane) -> impl Iterator<Item = Series> {
    FIGURES.into_iter().enumerate().map(move |(at, (name, unit))| {
        let describes = ["samples", "host ticks", "wake-ups"].contains(&name);
        let better = if describes { Better::Neither } else { Better::Lower };
        let of = labels([("structure", lane.structure.id.into())]);
        Series::new(name, unit, of).better(better).of(lane.rows.iter().map(|row| row[at]))
    })
}

/// All turns of a structure.
#[derive(Debug, Clone)]
pub(super) struct Lane {
    pub(super) structure: &'static Structure,
    pub(super) all: Distribution,
    pub(super) cells: Cells,
    pub(super) overruns: u64,
    pub(super) gaps: Vec<Gap>,
    /// The figures of each turn, from complete rounds only.
    pub(super) rows: Vec<Row>,
    /// The samples since the structure's last printed line.
    pub(super) lately: Running,
    pub(super) lately_overruns: u64,
}

impl Lane {
    /// Creates a lane that has no turns yet. Its histogram has `cells` cells of `bucket_ns` each.
    pub(super) fn new(structure: &'static Structure, cells: usize, bucket_ns: u64) -> Self {
        Self {
            structure,
            all: Distribution::new(),
            cells: Cells::new(cells, bucket_ns),
            overruns: 0,
            gaps: Vec::new(),
            rows: Vec::new(),
            lately: Running::default(),
            lately_overruns: 0,
        }
    }

    /// Adds the samples of a turn.
    pub(super) fn add(&mut self, seen: &Seen) {
        for &ns in &seen.lateness {
            self.lately.push(ns);
            self.all.push(ns);
            self.cells.push(ns);
        }
        self.overruns += seen.overruns;
        self.lately_overruns += seen.overruns;
        self.gaps.extend_from_slice(&seen.gaps);
    }

    /// Returns a figure of all samples, converted from ns to us. Returns `None` if there are no
    /// samples, for example after an early Ctrl-C.
    pub(super) fn us(&self, of: impl Fn(&Distribution) -> f64) -> Option<f64> {
        (self.all.running().count() > 0).then(|| us(of(&self.all)))
    }
}

/// Converts ns to us.
pub(super) fn us(ns: f64) -> f64 {
    ns / 1e3
}
