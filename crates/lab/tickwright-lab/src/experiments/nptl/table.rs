//! The table: every column is sampled in every cell, alternately and in random order, so that
//! disturbances of the host affect all columns alike.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;

use super::column::{Cell, Column};
use super::plan::{Part, Plan};
use super::turns::create;
use super::verify;
use crate::clock::OsClock;
use crate::error::LabError;
use crate::interrupt;
use crate::progress::Progress;
use crate::rounds::Rounds;
use crate::stats::{self, Summary};

/// One cell. All columns have the same number of samples, in ns per creation.
#[derive(Debug, Clone)]
pub(crate) struct Measured {
    pub(crate) toplevel: usize,
    pub(crate) children: usize,
    /// The samples of each column, one sample per round.
    pub(crate) ns: Vec<Vec<f64>>,
}

/// The measured table.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    pub(crate) columns: Vec<Column>,
    pub(crate) toplevel: Vec<usize>,
    pub(crate) children: Vec<usize>,
    pub(crate) starts: u64,
    /// Number of threads that checked themselves before anything was timed.
    pub(crate) verified: u64,
    /// Cells in the order of P, then of C.
    pub(crate) cells: Vec<Measured>,
}

/// The two published summaries, each with the dimension of its rows. For each row, the summary has
/// the least time over the other dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    Toplevel,
    Children,
}

/// The number of threads that check themselves in each corner of the table.
const VERIFIED: u64 = 100;

/// Runs the table. After a signal, incomplete cells are left out, so that a cell is measured on
/// every column or on none.
///
/// # Errors
/// If a thread was not created, was not joined, or returned a wrong value.
pub(crate) fn run(plan: &Plan, clock: OsClock) -> Result<Table, LabError> {
    let cell = plan.cell(Part::Table);
    let of = |(toplevel, children)| Measured { toplevel, children, ns: vec![Vec::new(); plan.columns.len()] };
    let cells = plan.toplevel.iter().flat_map(|&p| plan.children.iter().map(move |&c| (p, c)));
    let mut table = Table {
        columns: plan.columns.clone(),
        toplevel: plan.toplevel.clone(),
        children: plan.children.clone(),
        starts: cell.starts,
        verified: corners(plan, clock)?,
        cells: cells.map(of).collect(),
    };
    let rounds = plan.turns(Part::Table, "table").rounds;
    warm_up(plan, cell.starts, clock)?;
    let progress = Progress::steps((rounds * table.cells.len() * plan.columns.len()) as u64, "table");
    let mut random = Pcg64Mcg::seed_from_u64(plan.seed);
    let mut turns = Rounds::new(1, plan.seed).without_warm_up();
    let mut order: Vec<usize> = (0..table.cells.len()).collect();
    'all: for _ in 0..rounds {
        order.shuffle(&mut random);
        for &at in &order {
            let Measured { toplevel, children, ns } = &mut table.cells[at];
            let cell = Cell { toplevel: *toplevel, children: *children, ..cell };
            let taken = turns.run(plan.columns.len(), |turn| {
                let column = plan.columns[turn.lane];
                progress.doing(format!("{}, P = {toplevel}, C = {children}", column.name()));
                let ns = create(column, &plan.knobs, cell, clock)?;
                progress.step();
                Ok::<_, LabError>(ns as f64 / cell.starts as f64)
            })?;
            if taken.interrupted {
                break 'all;
            }
            for (ns, taken) in ns.iter_mut().zip(taken.lanes()) {
                ns.extend(taken);
            }
        }
    }
    Ok(table)
}

/// Returns the corners of the table.
fn ends(plan: &Plan) -> Vec<(usize, usize)> {
    let ends = |keys: &[usize]| {
        let mut ends: Vec<usize> = keys.first().into_iter().chain(keys.last()).copied().collect();
        ends.dedup();
        ends
    };
    let (toplevel, children) = (ends(&plan.toplevel), ends(&plan.children));
    toplevel.iter().flat_map(|&p| children.iter().map(move |&c| (p, c))).collect()
}

/// In the corners of the table, runs threads of each model that check themselves. Returns the
/// number of these threads.
fn corners(plan: &Plan, clock: OsClock) -> Result<u64, LabError> {
    let mut threads = 0;
    let starts = VERIFIED.min(plan.cell(Part::Table).starts);
    for model in plan.columns.iter().filter_map(|column| column.model()) {
        for (toplevel, children) in ends(plan) {
            let cell = Cell { toplevel, children, starts };
            threads += verify::run(model, &plan.knobs, cell, clock).map_err(LabError::failed)?;
        }
    }
    Ok(threads)
}

/// Creates a few threads on each column in the corners of the table. The times of these threads do
/// not count.
fn warm_up(plan: &Plan, starts: u64, clock: OsClock) -> Result<(), LabError> {
    let starts = starts.div_ceil(100).clamp(10, 1000);
    for &column in &plan.columns {
        for (toplevel, children) in ends(plan) {
            if !interrupt::requested() {
                create(column, &plan.knobs, Cell { toplevel, children, starts }, clock)?;
            }
        }
    }
    Ok(())
}

impl Table {
    fn at(&self, column: Column) -> Option<usize> {
        self.columns.iter().position(|other| *other == column)
    }

    /// Returns the samples of one column in a cell.
    pub(crate) fn cell(&self, column: Column, toplevel: usize, children: usize) -> &[f64] {
        let is = |cell: &&Measured| (cell.toplevel, cell.children) == (toplevel, children);
        let samples = || self.cells.iter().find(is)?.ns.get(self.at(column)?);
        samples().map_or(&[], Vec::as_slice)
    }

    pub(crate) fn keys(&self, by: By) -> &[usize] {
        match by {
            By::Toplevel => &self.toplevel,
            By::Children => &self.children,
        }
    }

    /// Returns a figure of a published summary: the least median over the other dimension. Returns
    /// `None` if nothing was measured.
    pub(crate) fn least(&self, column: Column, by: By, key: usize) -> Option<f64> {
        let samples: Vec<&[f64]> = match by {
            By::Toplevel => self.children.iter().map(|&c| self.cell(column, key, c)).collect(),
            By::Children => self.toplevel.iter().map(|&p| self.cell(column, p, key)).collect(),
        };
        samples.into_iter().filter_map(stats::median).min_by(f64::total_cmp)
    }

    /// Returns the times of `slow` divided by the times of `fast`, from one figure per complete
    /// round. A round's time is the sum over P of the least times over C.
    pub(crate) fn ratio(&self, slow: Column, fast: Column) -> Option<Summary> {
        stats::ratios(&self.sums(slow)?, &self.sums(fast)?)
    }

    /// Returns the times of `slow` divided by the times of `fast`, in one cell.
    pub(crate) fn cell_ratio(&self, slow: Column, fast: Column, cell: (usize, usize)) -> Option<Summary> {
        stats::ratios(self.cell(slow, cell.0, cell.1), self.cell(fast, cell.0, cell.1))
    }

    /// Returns the sums over P of the least times over C, for each round in which every cell was
    /// measured.
    fn sums(&self, column: Column) -> Option<Vec<f64>> {
        let at = self.at(column)?;
        let rounds = self.cells.iter().map(|cell| cell.ns[at].len()).min()?;
        let least = |round: usize, p: usize| {
            let cells = self.cells.iter().filter(|cell| cell.toplevel == p);
            cells.map(|cell| cell.ns[at][round]).min_by(f64::total_cmp).unwrap_or(0.0)
        };
        Some((0..rounds).map(|round| self.toplevel.iter().map(|&p| least(round, p)).sum()).collect())
    }
}
