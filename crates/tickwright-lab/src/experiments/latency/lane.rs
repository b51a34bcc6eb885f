//! What one structure did in all its turns.

use serde::Serialize;

use super::histogram::Cells;
use super::slice::{Gap, Seen};
use crate::stats::{Distribution, Running, summarise};
use crate::structures::registry::Structure;

/// One turn.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Row {
    pub(super) structure: &'static str,
    /// From 1.
    pub(super) slice: usize,
    pub(super) samples: u64,
    pub(super) min_us: f64,
    pub(super) avg_us: f64,
    pub(super) median_us: f64,
    pub(super) p99_us: f64,
    pub(super) max_us: f64,
    pub(super) overruns: u64,
    pub(super) gaps: usize,
    pub(super) host_ticks: u64,
}

/// All turns of a structure.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) structure: &'static Structure,
    pub(super) all: Distribution,
    pub(super) cells: Cells,
    pub(super) rows: Vec<Row>,
    pub(super) overruns: u64,
    pub(super) gaps: Vec<Gap>,
    pub(super) host_ticks: u64,
    pub(super) wakes: u64,
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
            rows: Vec::new(),
            overruns: 0,
            gaps: Vec::new(),
            host_ticks: 0,
            wakes: 0,
            lately: Running::default(),
            lately_overruns: 0,
        }
    }

    /// One more turn.
    pub(super) fn add(&mut self, seen: &Seen) {
        let mut turn = Running::default();
        for &ns in &seen.lateness {
            turn.push(ns);
            self.lately.push(ns);
            self.all.push(ns);
            self.cells.push(ns);
        }
        self.overruns += seen.overruns;
        self.lately_overruns += seen.overruns;
        self.gaps.extend_from_slice(&seen.gaps);
        self.host_ticks += seen.host_ticks;
        self.wakes += seen.wakes;
        let mut sorted = seen.lateness.clone();
        sorted.sort_unstable();
        let median = summarise(sorted.iter().map(|ns| *ns as f64)).map_or(f64::NAN, |summary| summary.median);
        self.rows.push(Row {
            structure: self.structure.id,
            slice: self.rows.len() + 1,
            samples: turn.count(),
            min_us: us(turn.min() as f64),
            // A turn without samples takes its place among the rounds and is left out of what they
            // say.
            avg_us: if turn.count() > 0 { us(turn.avg()) } else { f64::NAN },
            median_us: us(median),
            p99_us: us(nearest_rank(&sorted, 99) as f64),
            max_us: us(turn.max() as f64),
            overruns: seen.overruns,
            gaps: seen.gaps.len(),
            host_ticks: seen.host_ticks,
        });
    }

    /// Of all its samples, us; NaN of none.
    pub(super) fn average(&self) -> f64 {
        let running = self.all.running();
        if running.count() > 0 { us(running.avg()) } else { f64::NAN }
    }

    /// Averages of its turns, us.
    pub(super) fn averages(&self) -> Vec<f64> {
        self.rows.iter().map(|row| row.avg_us).collect()
    }
}

/// The least value that `percent` of `sorted` do not exceed; 0 of nothing.
fn nearest_rank(sorted: &[u64], percent: usize) -> u64 {
    let rank = (sorted.len() * percent).div_ceil(100);
    rank.checked_sub(1).and_then(|at| sorted.get(at)).copied().unwrap_or(0)
}

/// ns as us.
pub(super) fn us(ns: f64) -> f64 {
    ns / 1e3
}
