//! The data of a run: cells of rows, with medians, ratios and verdicts.

use crate::models::sampler::Held;
use crate::models::scenario::Measure;
use crate::result::{Series, Unit, labels};
use crate::stats::{self, Summary};
use crate::structures::registry::{Kind, Shape, Structure};

/// The name of the row for the loop without a queue.
pub(crate) const HARNESS: &str = "(harness alone)";
/// The name of the row for a reference without order, handles or safety.
pub(crate) const FLOOR: &str = "(floor)";

/// One scenario at one population: a table column.
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    /// The scenario's name.
    pub(crate) scenario: String,
    /// The operation that was timed.
    pub(crate) measure: Measure,
    /// Timers pending.
    pub(crate) population: usize,
    /// The id of the structure to which ratios refer.
    pub(crate) baseline: Option<&'static str>,
    /// The id of the fastest baseline that is a wheel.
    pub(crate) wheel: Option<&'static str>,
    /// ns per operation of the same loop without a queue, one value per round. Shown, not
    /// subtracted.
    pub(crate) harness: Vec<f64>,
    /// ns per operation of the scenario's [floor](crate::experiments::bench::floor), one value per
    /// round. The floor is no rival: no ratio refers to it.
    pub(crate) floor: Vec<f64>,
    /// The time, in ns, to ask a question and to keep the answer, without a queue. Every price of a
    /// question includes this time.
    pub(crate) harness_question: Option<f64>,
    /// The structures of the cell, in the order of the registry.
    pub(crate) rows: Vec<Row>,
}

/// One structure in a cell.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    /// The structure.
    pub(crate) structure: &'static Structure,
    /// Why it was not run.
    pub(crate) skipped: Option<String>,
    /// ns per operation, round by round.
    pub(crate) samples: Vec<f64>,
    /// The median of the samples, with its interval.
    pub(crate) summary: Option<Summary>,
    /// Ratio of this row to the baseline, computed round by round; below 1 this row is faster.
    pub(crate) ratio: Option<Summary>,
    /// Ratio to the fastest baseline that is a wheel, computed round by round.
    pub(crate) to_wheel: Option<Summary>,
    /// What the queue held before the first sample, and what it held after the last.
    pub(crate) held: Option<[Held; 2]>,
    /// The price of a question: the additional ns over an exchange, computed round by round. Only
    /// cells of a question have one.
    pub(crate) question: Option<Summary>,
}

impl Cell {
    /// A series for each structure that ran, and a series for the loop alone.
    pub(crate) fn series(&self) -> Vec<Series> {
        let series = |structure: &'static str, samples: &[f64]| {
            let of = labels([
                ("scenario", self.scenario.clone().into()),
                ("structure", structure.into()),
                ("n", self.population.into()),
            ]);
            let name = self.measure.to_string();
            Series::new(name, Unit::Ns, of).per("operation").of(samples.iter().copied())
        };
        let ran = self.rows.iter().filter(|row| !row.samples.is_empty());
        let mut all: Vec<Series> = ran.map(|row| series(row.structure.id, &row.samples)).collect();
        all.push(series(HARNESS, &self.harness));
        if !self.floor.is_empty() {
            all.push(series(FLOOR, &self.floor));
        }
        all
    }

    /// Bytes per timer and dead entries per timer of each structure that ran, before the first
    /// sample and after the last.
    pub(crate) fn memory(&self) -> Vec<Series> {
        let of_row = |row: &Row| {
            let held = row.held?;
            let of = || {
                labels([
                    ("scenario", self.scenario.clone().into()),
                    ("structure", row.structure.id.into()),
                    ("n", self.population.into()),
                ])
            };
            let a_timer = |count: usize| count as f64 / self.population as f64;
            let bytes = Series::new("memory", Unit::Bytes, of()).per("timer");
            let dead = Series::new("dead entries", Unit::Count, of()).per("timer");
            let dead = dead.of(held.iter().filter_map(|held| held.dead).map(a_timer));
            Some([bytes.of(held.map(|held| a_timer(held.bytes))), dead])
        };
        let all = self.rows.iter().filter_map(of_row).flatten();
        all.filter(|series| !series.samples.is_empty()).collect()
    }

    /// The row of a structure, if it ran.
    pub(crate) fn row(&self, id: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.structure.id == id && row.summary.is_some())
    }

    /// The structure of a kind with the least median.
    pub(crate) fn best(&self, kind: Kind) -> Option<&Row> {
        self.fastest(|row| row.structure.kind == kind)
    }

    /// The wheel of a kind with the least median.
    pub(crate) fn best_wheel(&self, kind: Kind) -> Option<&Row> {
        self.fastest(|row| row.structure.kind == kind && row.structure.shape == Shape::Wheel)
    }

    /// The structure with the least median among the rows that `among` accepts.
    pub(crate) fn fastest(&self, among: impl Fn(&Row) -> bool) -> Option<&Row> {
        let ran = self.rows.iter().filter(|row| among(row) && row.summary.is_some());
        ran.min_by(|a, b| median(a).total_cmp(&median(b)))
    }
}

fn median(row: &Row) -> f64 {
    row.summary.map_or(f64::INFINITY, |summary| summary.median)
}

/// Computes medians, the baseline, ratios and verdicts of a cell.
pub(crate) fn conclude(cell: &mut Cell, baseline: Option<&str>) {
    for row in &mut cell.rows {
        row.summary = stats::summarise(row.samples.iter().copied());
    }
    if let Some((id, samples)) =
        cell.best_wheel(Kind::Baseline).map(|row| (row.structure.id, row.samples.clone()))
    {
        cell.wheel = Some(id);
        for row in cell.rows.iter_mut().filter(|row| row.structure.id != id) {
            row.to_wheel = stats::ratios(&row.samples, &samples);
        }
    }
    let reference = match baseline {
        Some(id) => cell.row(id),
        None => cell.best(Kind::Baseline).or_else(|| cell.best(Kind::Ours)),
    };
    let Some((id, samples)) = reference.map(|row| (row.structure.id, row.samples.clone())) else { return };
    cell.baseline = Some(id);
    for row in cell.rows.iter_mut().filter(|row| row.structure.id != id) {
        row.ratio = stats::ratios(&row.samples, &samples);
    }
}

/// Computes the price of each question over the exchange alone, in the cells of one part.
pub(crate) fn price_questions(cells: &mut [Cell]) {
    let Some(alone) = cells.iter().find(|cell| cell.measure == Measure::Exchange).cloned() else { return };
    for cell in cells.iter_mut().filter(|cell| cell.measure != Measure::Exchange) {
        cell.harness_question =
            stats::median(&cell.harness).zip(stats::median(&alone.harness)).map(|(both, one)| both - one);
        for row in &mut cell.rows {
            let Some(exchange) = alone.row(row.structure.id) else { continue };
            let more = row.samples.iter().zip(&exchange.samples).map(|(both, one)| both - one);
            row.question = stats::summarise(more);
        }
    }
}
