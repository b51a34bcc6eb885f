//! The table: every column in every cell, by turns in random order, so that what disturbs the host
//! hits all alike.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;
use serde::Serialize;

use super::column::{Cell, Column};
use super::model::Knobs;
use super::rules::at_once;
use crate::clock::OsClock;
use crate::error::LabError;
use crate::interrupt;
use crate::progress::Progress;
use crate::stats::{self, Summary};

/// What to run.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) columns: Vec<Column>,
    pub(crate) toplevel: Vec<usize>,
    pub(crate) children: Vec<usize>,
    pub(crate) starts: u64,
    pub(crate) rounds: usize,
    pub(crate) knobs: Knobs,
    pub(crate) seed: u64,
}

/// One run of one column in one cell.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Sample {
    pub(crate) round: usize,
    pub(crate) column: Column,
    pub(crate) toplevel: usize,
    pub(crate) children: usize,
    pub(crate) ns: u64,
}

/// What was measured.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Table {
    pub(crate) columns: Vec<Column>,
    pub(crate) toplevel: Vec<usize>,
    pub(crate) children: Vec<usize>,
    pub(crate) starts: u64,
    pub(crate) rounds: usize,
    pub(crate) samples: Vec<Sample>,
}

/// One of the two published summaries: what its figures are ordered by. The other dimension is
/// flattened by its least time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum By {
    Toplevel,
    Children,
}

impl By {
    pub(crate) const BOTH: [Self; 2] = [Self::Toplevel, Self::Children];
}

/// Runs the plan. Ctrl-C leaves out what is missing.
///
/// # Errors
/// A thread that was not created, not joined, or returned something else than it should.
pub(crate) fn run(plan: &Plan, clock: OsClock) -> Result<Table, LabError> {
    let mut random = Pcg64Mcg::seed_from_u64(plan.seed);
    let mut cells: Vec<(usize, usize)> =
        plan.toplevel.iter().flat_map(|&p| plan.children.iter().map(move |&c| (p, c))).collect();
    let mut columns = plan.columns.clone();
    let steps = (plan.rounds * cells.len() * columns.len()) as u64;
    let progress = Progress::steps(steps, "threads");
    let mut samples = Vec::new();
    'all: for round in 1..=plan.rounds {
        cells.shuffle(&mut random);
        for &(toplevel, children) in &cells {
            columns.shuffle(&mut random);
            for &column in &columns {
                if interrupt::requested() {
                    break 'all;
                }
                progress.doing(format!("{}, P = {toplevel}, C = {children}", column.name()));
                let cell = Cell { toplevel, children, starts: plan.starts };
                let ns = create(column, &plan.knobs, cell, clock)?;
                samples.push(Sample { round, column, toplevel, children, ns });
                progress.step();
            }
        }
    }
    Ok(Table {
        columns: plan.columns.clone(),
        toplevel: plan.toplevel.clone(),
        children: plan.children.clone(),
        starts: plan.starts,
        rounds: plan.rounds,
        samples,
    })
}

/// Times one cell; all its threads must have run.
///
/// # Errors
/// As [`run`].
pub(crate) fn create(column: Column, knobs: &Knobs, cell: Cell, clock: OsClock) -> Result<u64, LabError> {
    let wrong = |why: String| {
        let Cell { toplevel, children, .. } = cell;
        LabError::failed(format!("{}, P = {toplevel}, C = {children}: {why}", column.name()))
    };
    let (sum, ns) = column.run(knobs, cell, &at_once, clock).map_err(wrong)?;
    if sum as u64 != cell.starts {
        return Err(wrong(format!("{} threads were asked for and {sum} have run", cell.starts)));
    }
    Ok(ns)
}

impl Table {
    /// ns of one creation with its join in a cell: the median of the rounds.
    pub(crate) fn cell(&self, column: Column, toplevel: usize, children: usize) -> Option<f64> {
        let samples = self.samples.iter().filter(|sample| {
            sample.column == column && sample.toplevel == toplevel && sample.children == children
        });
        let ns = samples.map(|sample| sample.ns as f64 / self.starts as f64);
        stats::summarise(ns).map(|summary| summary.median)
    }

    pub(crate) fn keys(&self, by: By) -> &[usize] {
        match by {
            By::Toplevel => &self.toplevel,
            By::Children => &self.children,
        }
    }

    /// A published summary: the least time over the other dimension, for each key. None for what
    /// was not measured.
    pub(crate) fn summary(&self, column: Column, by: By) -> Vec<Option<f64>> {
        let least = |times: &mut dyn Iterator<Item = f64>| times.min_by(f64::total_cmp);
        let over = |key: usize| match by {
            By::Toplevel => least(&mut self.children.iter().filter_map(|&c| self.cell(column, key, c))),
            By::Children => least(&mut self.toplevel.iter().filter_map(|&p| self.cell(column, p, key))),
        };
        self.keys(by).iter().map(|&key| over(key)).collect()
    }

    /// How many times as long `slow` takes as `fast`, one figure for each complete round: the sums
    /// over P of the least times over C.
    pub(crate) fn ratio(&self, slow: Column, fast: Column) -> Option<Summary> {
        let sums = |column| (1..=self.rounds).map(|round| self.sum(column, round)).collect::<Vec<_>>();
        let pairs: (Vec<f64>, Vec<f64>) =
            sums(slow).into_iter().zip(sums(fast)).filter_map(|(slow, fast)| slow.zip(fast)).unzip();
        stats::ratios(&pairs.0, &pairs.1)
    }

    /// The same in one cell.
    pub(crate) fn cell_ratio(
        &self,
        slow: Column,
        fast: Column,
        toplevel: usize,
        children: usize,
    ) -> Option<Summary> {
        let of = |column: Column, round: usize| {
            let is = |sample: &&Sample| {
                (sample.column, sample.round, sample.toplevel, sample.children)
                    == (column, round, toplevel, children)
            };
            self.samples.iter().find(is).map(|sample| sample.ns as f64)
        };
        let pairs: (Vec<f64>, Vec<f64>) =
            (1..=self.rounds).filter_map(|round| of(slow, round).zip(of(fast, round))).unzip();
        stats::ratios(&pairs.0, &pairs.1)
    }

    /// Of one round; none if a cell is missing.
    fn sum(&self, column: Column, round: usize) -> Option<f64> {
        let ours: Vec<&Sample> =
            self.samples.iter().filter(|sample| sample.column == column && sample.round == round).collect();
        if ours.len() < self.toplevel.len() * self.children.len() {
            return None;
        }
        let least = |p: usize| ours.iter().filter(|s| s.toplevel == p).map(|s| s.ns).min();
        self.toplevel.iter().map(|&p| least(p).map(|ns| ns as f64)).sum()
    }
}
