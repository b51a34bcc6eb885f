//! What one structure did in all its turns.

use super::histogram::Cells;
use super::slice::{Gap, Seen};
use crate::result::Unit;
use crate::stats::{Distribution, Running};
use crate::structures::registry::Structure;

/// One turn; times in ns. A turn that gaps filled has no average: it keeps its place among the
/// rounds.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row {
    samples: usize,
    min: f64,
    pub(super) average: f64,
    median: f64,
    p99: f64,
    /// The latest wake-up, gaps included: so a limit on it holds for them too.
    worst: f64,
    overruns: u64,
    gaps: usize,
    host_ticks: u64,
    wakes: u64,
}

/// A figure of a row.
type Figure = (&'static str, Unit, fn(&Row) -> f64);

impl Row {
    /// What is reported of each turn.
    pub(super) const FIGURES: [Figure; 10] = [
        ("average lateness", Unit::Ns, |row| row.average),
        ("min lateness", Unit::Ns, |row| row.min),
        ("median lateness", Unit::Ns, |row| row.median),
        ("p99 lateness", Unit::Ns, |row| row.p99),
        ("worst lateness", Unit::Ns, |row| row.worst),
        ("samples", Unit::Count, |row| row.samples as f64),
        ("overruns", Unit::Count, |row| row.overruns as f64),
        ("gaps", Unit::Count, |row| row.gaps as f64),
        ("host ticks", Unit::Count, |row| row.host_ticks as f64),
        ("wake-ups", Unit::Count, |row| row.wakes as f64),
    ];

    pub(super) fn of(seen: &Seen) -> Self {
        let mut sorted = seen.lateness.clone();
        sorted.sort_unstable();
        // The least sample that so many percent do not exceed.
        let rank = |percent: usize| (sorted.len() * percent).div_ceil(100).max(1) - 1;
        let of = |percent| sorted.get(rank(percent)).map_or(f64::NAN, |ns| *ns as f64);
        let gap = seen.gaps.iter().map(|gap| gap.ns as f64).fold(f64::NAN, f64::max);
        let sum: f64 = sorted.iter().map(|ns| *ns as f64).sum();
        Self {
            samples: sorted.len(),
            min: of(0),
            average: sum / sorted.len() as f64,
            median: of(50),
            p99: of(99),
            worst: of(100).max(gap),
            overruns: seen.overruns,
            gaps: seen.gaps.len(),
            host_ticks: seen.host_ticks,
            wakes: seen.wakes,
        }
    }
}

/// All turns of a structure.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) structure: &'static Structure,
    pub(super) all: Distribution,
    pub(super) cells: Cells,
    pub(super) overruns: u64,
    pub(super) gaps: Vec<Gap>,
    /// Of whole rounds alone.
    pub(super) rows: Vec<Row>,
    /// Since the last line of it.
    pub(super) lately: Running,
    pub(super) lately_overruns: u64,
}

impl Lane {
    /// Before its first turn.
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

    /// One more turn.
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

    /// A figure of all samples, ns in us; none without samples, as after an early Ctrl-C.
    pub(super) fn us(&self, of: impl Fn(&Distribution) -> f64) -> Option<f64> {
        (self.all.running().count() > 0).then(|| us(of(&self.all)))
    }
}

/// ns as us.
pub(super) fn us(ns: f64) -> f64 {
    ns / 1e3
}
