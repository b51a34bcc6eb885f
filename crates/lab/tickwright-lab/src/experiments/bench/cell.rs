//! The data of a run: cells of rows, with medians, ratios and verdicts.

use crate::models::sampler::Held;
use crate::models::scenario::Measure;
use crate::render::Format;
use crate::result::{Cell as Field, Labels, Series, Table, Unit, labels};
use crate::stats::{self, Summary};
use crate::structures::registry::{Kind, Shape, Structure};

/// The name of the row for the loop without a queue. Its time is shown, but not subtracted from the
/// structures' times.
pub(crate) const HARNESS: &str = "(harness alone)";
/// The name of the row for the scenario's [floor](crate::experiments::bench::floor), without order,
/// handles or safety. The floor is not a competing structure, so no ratio refers to it.
pub(crate) const FLOOR: &str = "(floor)";
/// The references that are measured together with the structures, if the scenario has them.
pub(crate) const REFERENCES: [&str; 2] = [FLOOR, HARNESS];

/// The maximum number of timers in a cell with `--quick`.
pub(crate) const QUICK_POPULATIONS: usize = 10_000;

/// One scenario at one population: a table column.
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    /// The scenario's name.
    pub(crate) scenario: String,
    /// The operation that was timed.
    pub(crate) measure: Measure,
    /// The number of pending timers.
    pub(crate) population: usize,
    /// The id of the structure to which ratios refer.
    pub(crate) baseline: Option<&'static str>,
    /// ns per operation of the [`REFERENCES`], one value per round.
    pub(crate) references: [Vec<f64>; 2],
    /// The structures of the cell, in the order of the registry.
    pub(crate) rows: Vec<Row>,
}

/// One structure in a cell.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    /// The structure.
    pub(crate) structure: &'static Structure,
    /// For a structure that was not run, the reason.
    pub(crate) skipped: Option<String>,
    /// ns per operation, round by round.
    pub(crate) samples: Vec<f64>,
    /// The median of the samples, with its interval.
    pub(crate) summary: Option<Summary>,
    /// What the queue held before the first sample, and what it held after the last sample.
    pub(crate) held: Option<[Held; 2]>,
}

impl Cell {
    fn labels(&self, structure: &'static str) -> Labels {
        labels([
            ("scenario", self.scenario.clone().into()),
            ("structure", structure.into()),
            ("n", self.population.into()),
        ])
    }

    /// Returns the name of a structure's line in tables. The name says whether the caller gave
    /// hints that the structure used.
    pub(crate) fn named(&self, id: &str) -> String {
        let takes = |row: &Row| row.structure.id == id && row.structure.hints;
        let hinted = self.measure == Measure::Hinted && self.rows.iter().any(takes);
        if hinted { format!("{id} + hints") } else { id.to_owned() }
    }

    /// Returns the samples of each structure that ran, and of the references.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (&'static str, &[f64])> {
        let rows = self.rows.iter().map(|row| (row.structure.id, row.samples.as_slice()));
        let references = REFERENCES.into_iter().zip(self.references.iter().map(Vec::as_slice));
        rows.chain(references).filter(|line| !line.1.is_empty())
    }

    /// Returns the samples of a structure or of a reference, or an empty slice if it did not run.
    pub(crate) fn samples(&self, id: &str) -> &[f64] {
        self.lines().find(|line| line.0 == id).map_or(&[], |line| line.1)
    }

    /// Returns a series for each structure that ran, and for each reference.
    pub(crate) fn series(&self) -> impl Iterator<Item = Series> {
        self.lines().map(|(structure, samples)| self.empty(structure).of(samples.iter().copied()))
    }

    /// Returns the series that the cell can have, without samples.
    pub(crate) fn expected(&self) -> impl Iterator<Item = Series> {
        let run = self.rows.iter().filter(|row| row.skipped.is_none()).map(|row| row.structure.id);
        run.chain(REFERENCES).map(|structure| self.empty(structure))
    }

    fn empty(&self, structure: &'static str) -> Series {
        Series::new(self.measure.to_string(), Unit::Ns, self.labels(structure)).per("operation")
    }

    /// Returns the bytes per timer and dead entries per timer of each structure that ran, before
    /// the first sample and after the last.
    pub(crate) fn memory(&self) -> Vec<Series> {
        let a_timer = |count: usize| count as f64 / self.population as f64;
        let of_row = |row: &Row| {
            let held = row.held?;
            let series = |name, unit| Series::new(name, unit, self.labels(row.structure.id)).per("timer");
            let dead = held.iter().filter_map(|held| held.dead).map(a_timer);
            let bytes = series("memory", Unit::Bytes).of(held.map(|held| a_timer(held.bytes)));
            Some([bytes, series("dead entries", Unit::Count).of(dead)])
        };
        let all = self.rows.iter().filter_map(of_row).flatten();
        all.filter(|series| !series.samples.is_empty()).collect()
    }

    /// Returns the row of a structure, if the structure ran.
    pub(crate) fn row(&self, id: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.structure.id == id && row.summary.is_some())
    }

    /// Returns the structure of this kind that has the least median.
    pub(crate) fn best(&self, kind: Kind) -> Option<&Row> {
        self.fastest(|row| row.structure.kind == kind)
    }

    /// Returns the wheel of this kind that has the least median.
    pub(crate) fn best_wheel(&self, kind: Kind) -> Option<&Row> {
        self.fastest(|row| row.structure.kind == kind && row.structure.shape == Shape::Wheel)
    }

    /// Returns the time of a row divided by the time of the baseline, round by round. A ratio below
    /// 1 means that the row is faster. Returns `None` for the baseline itself.
    pub(crate) fn ratio(&self, row: &Row) -> Option<Summary> {
        let baseline = self.baseline.filter(|id| *id != row.structure.id)?;
        stats::ratios(&row.samples, self.samples(baseline))
    }

    /// Returns the structure with the least median among the rows that `among` accepts.
    pub(crate) fn fastest(&self, among: impl Fn(&Row) -> bool) -> Option<&Row> {
        let ran = self.rows.iter().filter(|row| among(row) && row.summary.is_some());
        let median = |row: &Row| row.median().unwrap_or(f64::INFINITY);
        ran.min_by(|a, b| median(a).total_cmp(&median(b)))
    }
}

impl Row {
    /// Returns the median of the samples, in ns per operation.
    pub(crate) fn median(&self) -> Option<f64> {
        self.summary.map(|summary| summary.median)
    }
}

/// Returns the fields of a figure in a table: its median, and its interval if it has one.
pub(crate) fn with_interval(figure: Option<Summary>) -> [Field; 3] {
    let interval = figure.map(|figure| figure.interval).filter(|interval| interval.coverage > 0.0);
    [
        figure.map(|figure| figure.median).into(),
        interval.map(|interval| interval.low).into(),
        interval.map(|interval| interval.high).into(),
    ]
}

/// Adds columns that compare two structures: their figures and their ratio.
pub(crate) fn beside_columns(table: Table, [ours, other]: [&str; 2]) -> Table {
    let (text, ns) = (Format::Text, Format::Ns);
    let table = table.column(ours, text).column("ns", ns).column(other, text).column("ns", ns);
    table.columns(["x", "from", "to"], Format::Fixed(2))
}

/// Returns the fields of the columns that `beside_columns` adds.
pub(crate) fn beside(cell: &Cell, both: [&Row; 2], ratio: Option<Summary>) -> impl Iterator<Item = Field> {
    let both = both.map(|row| [cell.named(row.structure.id).into(), row.median().into()]);
    both.into_iter().flatten().chain(with_interval(ratio))
}

/// Computes the medians of a cell, and chooses the baseline.
pub(crate) fn conclude(cell: &mut Cell, baseline: Option<&str>) {
    for row in &mut cell.rows {
        row.summary = stats::summarise(row.samples.iter().copied());
    }
    let reference = match baseline {
        Some(id) => cell.row(id),
        None => cell.best(Kind::Baseline).or_else(|| cell.best(Kind::Ours)),
    };
    cell.baseline = reference.map(|row| row.structure.id);
}

/// Returns the price of a question: the ns that an exchange with the question takes in addition to
/// an exchange without it, computed round by round. Returns `None` if the cell's measure asks no
/// question. The price of [`HARNESS`], which is the time to ask and to store the answer, is
/// included in every other price.
pub(crate) fn price(cells: &[Cell], cell: &Cell, id: &str) -> Option<Summary> {
    let same = |one: &&Cell| (&one.scenario, one.population) == (&cell.scenario, cell.population);
    let alone = cells.iter().filter(same).find(|one| one.measure == Measure::Exchange)?;
    let rounds = cell.samples(id).iter().zip(alone.samples(id));
    cell.measure.asks().then(|| stats::summarise(rounds.map(|(both, one)| both - one)))?
}
