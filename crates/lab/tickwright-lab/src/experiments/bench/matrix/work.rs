//! The works of the matrix with their bounds, and the cells that each work needs.

use clap::ValueEnum;
use serde::Deserialize;

use crate::error::LabError;
use crate::experiments::bench::cell::{self, Cell, Row, beside_columns};
use crate::models::scenario::{self, Measure, Population, Scenario};
use crate::output::table::count;
use crate::render::Format;
use crate::result::{Axis, Cell as Field, Finding, Plot, Table, labels};
use crate::stats::{self, Bound, Summary};
use crate::structures::registry::{Kind, Shape};

/// A part of `bench --matrix`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Part {
    /// Each work at each population: our best structure, the best of others, the floor, bytes
    Queues,
    /// The default queue beside others, others at our contract, and our others, where it has a goal
    Default,
    /// The worst single call under deadlines that an attacker chooses
    Calls,
}

impl Part {
    /// Returns whether the part runs if the user names `parts`. If no part is named, every part
    /// runs.
    pub(crate) fn is_asked(self, parts: &[Self]) -> bool {
        parts.is_empty() || parts.contains(&self)
    }
}

/// The file `scenarios/matrix.toml`.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Matrix {
    pub(crate) default: Goals,
    pub(crate) works: Vec<Work>,
}

/// One work: a measure of a scenario, at some populations.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Work {
    pub(crate) scenario: String,
    pub(crate) measure: Measure,
    pub(crate) n: Vec<Population>,
    /// For each population, the greatest ratio that meets the goal.
    pub(crate) at_most: Vec<f64>,
    /// Whether the bounds are times of our best structure, in ns per operation. Otherwise the
    /// bounds are ratios.
    #[serde(default)]
    pub(crate) in_ns: bool,
    /// Structures that would take too long in this work, by id.
    #[serde(default)]
    pub(crate) without: Vec<String>,
    /// The bounds of `DefaultQueue`.
    #[serde(default)]
    pub(crate) default: Bounds,
}

impl Work {
    /// Returns the populations with their bounds. With `quick`, only small populations are kept.
    pub(crate) fn columns(&self, quick: bool) -> impl Iterator<Item = (usize, f64)> + '_ {
        let pairs = self.n.iter().map(|n| n.get() as usize).zip(self.at_most.iter().copied());
        pairs.filter(move |(n, _)| !quick || *n <= cell::QUICK_POPULATIONS)
    }

    /// Returns the scenario of the work. If the scenario's model allows a single measure, the
    /// result has only this work's measure.
    ///
    /// # Errors
    /// If no scenario has this name. The tests show that every scenario exists.
    pub(crate) fn scenario(&self) -> Result<Scenario, LabError> {
        let mut scenario = Scenario::find(&self.scenario)?;
        if !scenario.model.whole() {
            scenario.measures = vec![self.measure];
        }
        Ok(scenario)
    }

    /// Returns whether `DefaultQueue` has a goal relative to other crates' queues.
    fn has_goal(&self) -> bool {
        !self.default.published.is_empty()
    }

    /// Returns the name in tables: the scenario's name, and the measure if the work does not use
    /// the usual measure.
    pub(crate) fn name(&self) -> String {
        match self.measure {
            Measure::Rearm | Measure::Hinted => format!("{}, {}", self.scenario, self.measure),
            _ => self.scenario.clone(),
        }
    }
}

impl Matrix {
    /// Returns the built-in file.
    ///
    /// # Errors
    /// If the file has a mistake. The tests show that the built-in file has none.
    pub(crate) fn built_in() -> Result<Self, LabError> {
        let text = include_str!("../../../../../../../scenarios/matrix.toml");
        scenario::parse("scenarios/matrix.toml", text)
    }

    /// Returns the works of the named parts, or of all parts if none is named.
    pub(crate) fn asked(&self, parts: &[Part]) -> impl Iterator<Item = &Work> {
        let all = Part::Queues.is_asked(parts);
        let default = Part::Default.is_asked(parts);
        self.works.iter().filter(move |work| all || (default && work.has_goal()))
    }
}

/// The bounds of all works.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Goals {
    /// The greatest allowed ratio of the default queue's time to the time of our best other
    /// structure. The bound applies to every work that has no separate bound for this ratio.
    pub(crate) ours: f64,
    /// The most bytes per timer, with a million timers that only expire.
    pub(crate) fresh_bytes: f64,
    /// The most bytes per timer, with a million timers that are also moved and cancelled.
    pub(crate) mixed_bytes: f64,
    /// The greatest ratio of a drain's longest phase to the drain's median phase.
    pub(crate) phase: f64,
}

/// The bounds of a work: the greatest ratio at each of its populations. A population after the last
/// bound has no bound.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Bounds {
    /// If present, only other crates' structures of this shape count, as they are published;
    /// otherwise all other crates' structures count.
    pub(crate) beside: Option<Shape>,
    pub(crate) published: Vec<f64>,
    pub(crate) contract: Vec<f64>,
    pub(crate) ours: Vec<f64>,
}

/// A cell that a work needs: our best structure and the best other structure.
pub(crate) struct Pair<'c> {
    pub(crate) work: &'c Work,
    pub(crate) cell: &'c Cell,
    pub(crate) ours: &'c Row,
    pub(crate) other: &'c Row,
    /// The index of the cell's population in the work.
    pub(crate) at: usize,
    pub(crate) at_most: f64,
}

impl<'c> Pair<'c> {
    /// Returns the figure to which the bound applies.
    pub(crate) fn bounded(&self) -> Option<Summary> {
        if self.work.in_ns { self.ours.summary } else { self.ratio() }
    }

    /// Returns the time of our best structure divided by the time of the best other structure.
    pub(crate) fn ratio(&self) -> Option<Summary> {
        stats::ratios(&self.ours.samples, &self.other.samples)
    }

    /// Returns the first fields of each row: the work and the population.
    pub(crate) fn head(&self) -> [Field; 2] {
        [self.work.name().into(), self.cell.population.into()]
    }

    /// Returns a finding about this cell, for a goal.
    pub(crate) fn finding(&self, goal: &'static str, about: &str, figure: Summary, at_most: f64) -> Finding {
        let Work { scenario, measure, .. } = self.work;
        let about = format!("{scenario}, {measure}, n={}: {about}", count(self.cell.population));
        Finding::bounded(about, figure, Bound::AtMost(at_most)).labelled(labels([
            ("goal", goal.into()),
            ("scenario", scenario.clone().into()),
            ("measure", measure.to_string().into()),
            ("n", self.cell.population.into()),
        ]))
    }
}

/// Returns the cells of all works in which at least one of our structures and one other structure
/// ran.
pub(crate) fn pairs<'c>(works: &'c [Work], cells: &'c [Cell]) -> Vec<Pair<'c>> {
    let of_work = |work: &'c Work| {
        work.columns(false).enumerate().filter_map(move |(at, (n, at_most))| {
            let of_work = |cell: &&Cell| (&cell.scenario, cell.measure) == (&work.scenario, work.measure);
            let cell = cells.iter().filter(of_work).find(|cell| cell.population == n)?;
            let (ours, other) = (cell.best(Kind::Ours)?, cell.best(Kind::Baseline)?);
            Some(Pair { work, cell, ours, other, at, at_most })
        })
    };
    works.iter().flat_map(of_work).collect()
}

/// Draws a ratio over the population, with a curve for each work. A work whose bounds are in ns has
/// no curve.
pub(crate) fn plot<'w>(title: &str, ratios: impl Iterator<Item = (&'w Pair<'w>, f64)>) -> Plot {
    let y = Axis::log("time to the best of others", Format::Fixed(2));
    let mut curves: Vec<(String, Vec<(f64, f64)>)> = Vec::new();
    for (pair, ratio) in ratios.filter(|(pair, _)| !pair.work.in_ns) {
        let (name, point) = (pair.work.name(), (pair.cell.population as f64, ratio));
        match curves.iter_mut().find(|curve| curve.0 == name) {
            Some(curve) => curve.1.push(point),
            None => curves.push((name, vec![point])),
        }
    }
    let plot = Plot::new(title, Axis::log("timers", Format::Count), y);
    curves.into_iter().fold(plot, |plot, (name, points)| plot.curve(name, points))
}

/// Returns a table whose columns are the work, `more`, two structures to compare, and a bound.
pub(crate) fn goal_columns(names: [&str; 2], more: Option<&str>) -> Table {
    let table = Table::of([("work", Format::Text), ("n", Format::Count)]);
    let table = more.into_iter().fold(table, |table, name| table.column(name, Format::Text));
    beside_columns(table, names).column("at most", Format::Fixed(2)).column("verdict", Format::Text)
}

/// The population at which bytes are judged.
pub(crate) const MANY: usize = 1_000_000;
