//! `tickwright bench matrix`: the best of ours beside the best of others, for each work and
//! population, in one table and one plot.

use clap::Args;
use serde::Deserialize;

use crate::error::LabError;
use crate::experiment::{Experiment, Lab, Parameters};
use crate::experiments::bench::cell::{Cell, Row};
use crate::experiments::bench::run::{self, Plan};
use crate::experiments::bench::{Comparison, CountedArgs, TimedArgs};
use crate::models::scenario::{self, Measure, Population, Rounds, Scenario};
use crate::output::OutputArgs;
use crate::output::table::count;
use crate::render::Format;
use crate::result::{Axis, Cell as Field, Finding, Plot, Section, Series, Table, labels};
use crate::stats::{self, Bound};
use crate::structures::registry::Kind;

/// Arguments of `bench matrix`.
#[derive(Debug, Clone, Args)]
pub(crate) struct MatrixArgs {
    /// Structures to measure, as patterns: * matches anything, ! excludes
    #[arg(
        long,
        value_name = "PATTERNS",
        value_delimiter = ',',
        default_value = "!*/hook,!coarse/*,!delay-queue,!list/slab"
    )]
    structures: Vec<String>,
    /// Number of samples of each structure; fewer than 6 cannot show a difference
    /// [default: the scenario's]
    #[arg(long, allow_hyphen_values = true, value_parser = Rounds::parse)]
    rounds: Option<Rounds>,
    /// Run for seconds instead of minutes: populations up to 10,000
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// The file `scenarios/matrix.toml`.
#[derive(Debug, Deserialize)]
struct Matrix {
    works: Vec<Work>,
}

/// One work: a measure of a scenario, at some populations.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Work {
    scenario: String,
    measure: Measure,
    n: Vec<Population>,
    /// For each population, the greatest ratio that is wanted.
    at_most: Vec<f64>,
}

/// Populations up to which `--quick` measures.
const QUICK: u64 = 10_000;

impl Work {
    /// The populations with their bounds.
    fn columns(&self, quick: bool) -> impl Iterator<Item = (Population, f64)> + '_ {
        let pairs = self.n.iter().copied().zip(self.at_most.iter().copied());
        pairs.filter(move |(n, _)| !quick || n.get() <= QUICK)
    }
}

fn works() -> Result<Vec<Work>, LabError> {
    let text = include_str!("../../../../scenarios/matrix.toml");
    Ok(scenario::parse::<Matrix>("scenarios/matrix.toml", text)?.works)
}

/// A cell that was wanted: our best structure, the best of others, and their ratio.
struct Pair<'c> {
    work: &'c Work,
    cell: &'c Cell,
    ours: &'c Row,
    other: &'c Row,
    at_most: f64,
}

impl MatrixArgs {
    /// The cells of all works that have a structure of ours and another.
    fn pairs<'c>(&self, works: &'c [Work], cells: &'c [Cell]) -> Vec<Pair<'c>> {
        let of_work = |work: &'c Work| {
            work.columns(self.quick).filter_map(move |(n, at_most)| {
                let cell = cells.iter().find(|cell| {
                    cell.scenario == work.scenario
                        && cell.measure == work.measure
                        && cell.population as u64 == n.get()
                })?;
                let (ours, other) = (cell.best(Kind::Ours)?, cell.best(Kind::Baseline)?);
                Some(Pair { work, cell, ours, other, at_most })
            })
        };
        works.iter().flat_map(of_work).collect()
    }

    fn comparison(&self, work: &Work) -> Result<Comparison, LabError> {
        let scenario = Scenario::find(&work.scenario)?;
        let timed = TimedArgs {
            scenario: vec![work.scenario.clone()],
            structures: Some(self.structures.clone()),
            baseline: None,
            n: Some(work.columns(self.quick).map(|(n, _)| n).collect()),
            rounds: self.rounds,
            seed: None,
            quick: self.quick,
            output: self.output.clone(),
        };
        Ok(Comparison::new(scenario.model, CountedArgs { operations: None, timed }))
    }
}

/// What is planned: the works, and the parts that measure them.
#[derive(Debug)]
pub(crate) struct Matrices {
    works: Vec<Work>,
    plan: Plan,
}

impl Experiment for MatrixArgs {
    type Plan = Matrices;
    type Data = Vec<Cell>;

    fn name(&self) -> String {
        "bench matrix".into()
    }

    fn plan(&self) -> Result<Matrices, LabError> {
        let works = works()?;
        let mut parts = Vec::new();
        for work in &works {
            parts.append(&mut self.comparison(work)?.plan()?.parts);
        }
        Ok(Matrices { works, plan: Plan { parts, baseline: None, within: None } })
    }

    fn parameters(&self, Matrices { plan, .. }: &Matrices) -> Parameters {
        let of_part = |part: &run::Part| {
            let what = format!("{} n={}", part.scenario.name, part.population);
            (what, format!("{} rounds of {} operations", part.rounds, part.operations).into())
        };
        plan.parts.iter().map(of_part).collect()
    }

    fn seed(&self, Matrices { plan, .. }: &Matrices) -> Option<u64> {
        plan.parts.first().map(|part| part.seed)
    }

    fn run(&self, Matrices { plan, .. }: &Matrices, lab: &mut Lab<'_>) -> Result<Vec<Cell>, LabError> {
        run::run(plan, lab)
    }

    fn series(&self, _: &Matrices, cells: &Vec<Cell>) -> Vec<Series> {
        cells.iter().flat_map(Cell::series).collect()
    }

    fn findings(&self, Matrices { works, .. }: &Matrices, cells: &Vec<Cell>) -> Vec<Finding> {
        let of_pair = |Pair { work, cell, ours, other, at_most }: Pair<'_>| {
            let (ours_id, other_id) = (ours.structure.id, other.structure.id);
            let n = count(cell.population);
            let about = format!("{}, {}, n={n}: {ours_id} to {other_id}", work.scenario, work.measure);
            let finding = Finding::bounded(about, ours.ratio?, Bound::AtMost(at_most));
            Some(finding.labelled(labels([
                ("scenario", work.scenario.clone().into()),
                ("measure", work.measure.to_string().into()),
                ("n", cell.population.into()),
            ])))
        };
        self.pairs(works, cells).into_iter().filter_map(of_pair).collect()
    }

    fn sections(&self, plan: &Matrices, cells: &Vec<Cell>, _: &[Finding]) -> Vec<Section> {
        let pairs = self.pairs(&plan.works, cells);
        let above = "x: the best of ours to the best of others, round by round, the median of these. Ours \
                     are exact, in a slab, with keys that go stale and order among equals. Loop: the same \
                     without a queue, the floor.";
        let title = "The best of ours beside the best of others";
        vec![Section::new(title).text(above).table(table(&pairs)).plot(plot(&plan.works, &pairs))]
    }
}

fn table(pairs: &[Pair<'_>]) -> Table {
    let mut table = Table::new().column("work", Format::Text).column("n", Format::Count);
    table = table.column("ours", Format::Text).column("ns", Format::Ns);
    table = table.column("other", Format::Text).column("ns", Format::Ns);
    table = table.columns(["x", "from", "to", "at most"], Format::Fixed(2));
    let mut table = table.column("verdict", Format::Text).column("loop, ns", Format::Ns);
    for Pair { work, cell, ours, other, at_most } in pairs {
        let ns = |row: &Row| Field::maybe(row.summary.map(|summary| summary.median));
        let interval = ours.ratio.map(|ratio| ratio.interval).filter(|interval| interval.coverage > 0.0);
        let verdict = ours.ratio.map_or("", |ratio| Bound::AtMost(*at_most).judge(&ratio).words());
        table.row([
            work.scenario.as_str().into(),
            cell.population.into(),
            ours.structure.id.into(),
            ns(ours),
            other.structure.id.into(),
            ns(other),
            Field::maybe(ours.ratio.map(|ratio| ratio.median)),
            Field::maybe(interval.map(|interval| interval.low)),
            Field::maybe(interval.map(|interval| interval.high)),
            (*at_most).into(),
            verdict.into(),
            Field::maybe(stats::median(&cell.harness)),
        ]);
    }
    table
}

fn plot(works: &[Work], pairs: &[Pair<'_>]) -> Plot {
    let y = Axis::linear("time to the best of others", Format::Fixed(2));
    let mut plot = Plot::new("Ratio by population", Axis::log("timers", Format::Count), y);
    for work in works {
        let of_work = pairs.iter().filter(|pair| pair.work.scenario == work.scenario);
        let points: Vec<(f64, f64)> =
            of_work.filter_map(|pair| Some((pair.cell.population as f64, pair.ours.ratio?.median))).collect();
        plot = plot.curve(work.scenario.as_str(), points);
    }
    plot
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_work_is_a_measure_of_its_scenario_with_a_bound_for_each_population() {
        for work in works().unwrap() {
            let scenario = Scenario::find(&work.scenario).unwrap();
            assert!(scenario.measures.contains(&work.measure), "{}", work.scenario);
            assert_eq!(work.n.len(), work.at_most.len(), "{}", work.scenario);
            assert!(work.n.iter().map(|n| n.get()).is_sorted());
        }
    }
}
