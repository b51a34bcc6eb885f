//! `tickwright bench matrix`: our best structure beside the best of others, for each work and
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
use crate::stats::{self, Bound, Summary};
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
    /// For each population, the greatest ratio that meets the goal.
    at_most: Vec<f64>,
    /// The bounds are instead ns per operation of our best structure.
    #[serde(default)]
    in_ns: bool,
    /// Structures that would take too long in this work, by id.
    #[serde(default)]
    without: Vec<String>,
}

/// The populations up to which `--quick` measures.
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

/// A requested cell: our best structure, the best of others, and their ratio.
struct Pair<'c> {
    work: &'c Work,
    cell: &'c Cell,
    ours: &'c Row,
    other: &'c Row,
    at_most: f64,
}

/// The greatest time of [`AdaptiveQueue`](tickwright_core::AdaptiveQueue), as a multiple of our
/// best other structure's time.
const ADAPTIVE_AT_MOST: f64 = 1.1;

impl<'c> Pair<'c> {
    /// The figure to which the bound applies.
    fn bounded(&self) -> Option<Summary> {
        if self.work.in_ns { self.ours.summary } else { self.ours.ratio }
    }

    /// `AdaptiveQueue`, the best of our other structures, and their ratio.
    fn adaptive(&self) -> Option<(&'c Row, &'c Row, Summary)> {
        let is_adaptive = |row: &Row| row.structure.id.starts_with("adaptive/");
        let adaptive = self.cell.rows.iter().find(|row| is_adaptive(row) && row.summary.is_some())?;
        let single = self.cell.fastest(|row| row.structure.kind == Kind::Ours && !is_adaptive(row))?;
        Some((adaptive, single, stats::ratios(&adaptive.samples, &single.samples)?))
    }
}

impl MatrixArgs {
    /// The cells of all works in which a structure of ours and another one ran.
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
        let without = work.without.iter().map(|id| format!("!{id}"));
        let structures = self.structures.iter().cloned().chain(without).collect();
        let timed = TimedArgs {
            scenario: vec![work.scenario.clone()],
            structures: Some(structures),
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

/// The plan: the works, and the parts that measure them.
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
        cells.iter().flat_map(|cell| cell.series().into_iter().chain(cell.memory())).collect()
    }

    fn findings(&self, Matrices { works, .. }: &Matrices, cells: &Vec<Cell>) -> Vec<Finding> {
        let of_cell = |pair: &Pair<'_>| {
            labels([
                ("scenario", pair.work.scenario.clone().into()),
                ("measure", pair.work.measure.to_string().into()),
                ("n", pair.cell.population.into()),
            ])
        };
        let of_pair = |pair: &Pair<'_>| {
            let &Pair { work, cell, ours, other, at_most } = pair;
            let (ours_id, other_id) = (ours.structure.id, other.structure.id);
            let n = count(cell.population);
            let about = match work.in_ns {
                true => format!("{}, {}, n={n}: {ours_id}, ns", work.scenario, work.measure),
                false => format!("{}, {}, n={n}: {ours_id} to {other_id}", work.scenario, work.measure),
            };
            let finding = Finding::bounded(about, pair.bounded()?, Bound::AtMost(at_most));
            Some(finding.labelled(of_cell(pair)))
        };
        let adaptive = |pair: &Pair<'_>| {
            let (_, single, ratio) = pair.adaptive()?;
            let n = count(pair.cell.population);
            let Work { scenario, measure, .. } = pair.work;
            let about = format!("{scenario}, {measure}, n={n}: adaptive to {}", single.structure.id);
            let finding = Finding::bounded(about, ratio, Bound::AtMost(ADAPTIVE_AT_MOST));
            Some(finding.labelled(of_cell(pair)))
        };
        let pairs = self.pairs(works, cells);
        pairs.iter().filter_map(of_pair).chain(pairs.iter().filter_map(adaptive)).collect()
    }

    fn sections(&self, plan: &Matrices, cells: &Vec<Cell>, _: &[Finding]) -> Vec<Section> {
        let pairs = self.pairs(&plan.works, cells);
        let above = "x: the best of ours to the best of others, round by round, the median of these. Ours \
                     are exact, in a slab, with keys that go stale and order among equals. Floor: the same \
                     work without order, handles or safety; x floor: ours to it. At most: the greatest x \
                     that is wanted; of idle, the greatest number of ns.";
        let title = "The best of ours beside the best of others";
        let first = Section::new(title).text(above).table(table(&pairs)).plot(plot(&plan.works, &pairs));
        let above = "Bytes on the heap per pending timer, without the keys that a caller keeps, before the first \
                     sample and after the last. Dead: entries of timers that were moved or cancelled, per \
                     pending timer. A structure that keeps such entries is measured when as many leave as \
                     come.";
        let memory = Section::new("What a pending timer takes").text(above).table(memory(&pairs));
        let above = "x: AdaptiveQueue to the fastest of our other structures, round by round.";
        let title = "AdaptiveQueue beside the best single structure";
        let adaptive = pairs.iter().any(|pair| pair.adaptive().is_some()).then(|| adaptive(&pairs));
        let second = adaptive.map(|table| Section::new(title).text(above).table(table));
        core::iter::once(first).chain(second).chain([memory]).collect()
    }
}

fn table(pairs: &[Pair<'_>]) -> Table {
    let mut table = Table::new().column("work", Format::Text).column("n", Format::Count);
    table = table.column("ours", Format::Text).column("ns", Format::Ns);
    table = table.column("other", Format::Text).column("ns", Format::Ns);
    table = table.columns(["x", "from", "to", "at most"], Format::Fixed(2));
    let table = table.column("verdict", Format::Text).column("floor", Format::Ns);
    let mut table = table.column("x floor", Format::Fixed(1));
    for pair @ Pair { work, cell, ours, other, at_most } in pairs {
        let ns = |row: &Row| Field::maybe(row.summary.map(|summary| summary.median));
        let interval = ours.ratio.map(|ratio| ratio.interval).filter(|interval| interval.coverage > 0.0);
        let floor = stats::median(&cell.floor).filter(|floor| *floor > 0.0);
        let verdict = pair.bounded().map_or("", |summary| Bound::AtMost(*at_most).judge(&summary).words());
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
            Field::maybe(floor),
            Field::maybe(ours.summary.zip(floor).map(|(ours, floor)| ours.median / floor)),
        ]);
    }
    table
}

fn adaptive(pairs: &[Pair<'_>]) -> Table {
    let mut table = Table::new().column("work", Format::Text).column("n", Format::Count);
    table = table.column("adaptive ns", Format::Ns).column("single", Format::Text).column("ns", Format::Ns);
    let mut table =
        table.columns(["x", "from", "to", "at most"], Format::Fixed(2)).column("verdict", Format::Text);
    for pair in pairs {
        let Some((adaptive, single, ratio)) = pair.adaptive() else { continue };
        let interval = Some(ratio.interval).filter(|interval| interval.coverage > 0.0);
        table.row([
            pair.work.scenario.as_str().into(),
            pair.cell.population.into(),
            Field::maybe(adaptive.summary.map(|summary| summary.median)),
            single.structure.id.into(),
            Field::maybe(single.summary.map(|summary| summary.median)),
            ratio.median.into(),
            Field::maybe(interval.map(|interval| interval.low)),
            Field::maybe(interval.map(|interval| interval.high)),
            ADAPTIVE_AT_MOST.into(),
            Bound::AtMost(ADAPTIVE_AT_MOST).judge(&ratio).words().into(),
        ]);
    }
    table
}

/// A row for the best of ours, the best of others and each structure with dead entries.
fn memory(pairs: &[Pair<'_>]) -> Table {
    let mut table = Table::new().column("work", Format::Text).column("n", Format::Count);
    table = table.column("structure", Format::Text).column("ns", Format::Ns);
    table = table.columns(["bytes", "then"], Format::Fixed(1));
    table = table.columns(["dead", "then"], Format::Fixed(2));
    for Pair { work, cell, ours, other, .. } in pairs {
        let dead = |row: &&Row| row.held.is_some_and(|held| held.iter().any(|held| held.dead != Some(0)));
        let best = |row: &&Row| [ours.structure, other.structure].contains(&row.structure);
        for row in cell.rows.iter().filter(|row| best(row) || dead(row)) {
            let Some(held) = row.held else { continue };
            let a_timer = |count: usize| count as f64 / cell.population as f64;
            let bytes = held.map(|held| a_timer(held.bytes).into());
            let dead = held.map(|held| Field::maybe(held.dead.map(a_timer)));
            let who = [work.scenario.as_str().into(), cell.population.into(), row.structure.id.into()];
            let ns = Field::maybe(row.summary.map(|summary| summary.median));
            table.row(who.into_iter().chain([ns]).chain(bytes).chain(dead));
        }
    }
    table
}

fn plot(works: &[Work], pairs: &[Pair<'_>]) -> Plot {
    let y = Axis::log("time to the best of others", Format::Fixed(2));
    let mut plot = Plot::new("Ratio by population", Axis::log("timers", Format::Count), y);
    for work in works.iter().filter(|work| !work.in_ns) {
        let of_work = pairs.iter().filter(|pair| pair.work.scenario == work.scenario);
        let points: Vec<(f64, f64)> =
            of_work.filter_map(|pair| Some((pair.cell.population as f64, pair.ours.ratio?.median))).collect();
        if !points.is_empty() {
            plot = plot.curve(work.scenario.as_str(), points);
        }
    }
    plot
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::FakeMeter;
    use crate::experiment::conduct_plan;
    use crate::experiments::request;

    /// Each reading moves the clock by the same time: all ratios are 1.
    #[test]
    fn a_report_shows_the_ratios_the_floors_and_what_is_dead() {
        let words = ["--quick", "--rounds", "6", "--structures", "heap4/slab,adaptive/slab,dary-heap4"];
        let args: MatrixArgs = request::words(&words).unwrap();
        let report = conduct_plan(&args, &args.plan().unwrap(), &FakeMeter::steady(100)).unwrap();
        insta::assert_snapshot!(crate::render::sections(&report.sections));
        let floors = report.series.iter().filter(|series| series.labels["structure"] == "(floor)".into());
        assert!(floors.count() * 2 >= report.findings.len(), "a floor and two findings a cell");
        assert!(report.find("memory", &labels([("structure", "dary-heap4".into())])).is_some());
    }

    #[test]
    fn a_structure_that_takes_too_long_is_left_out_of_that_work_alone() {
        let args: MatrixArgs = request::words(&["--structures", "heap4/slab,btree-map,hash-wheel"]).unwrap();
        let with =
            |part: &run::Part| part.structures.iter().any(|(structure, _)| structure.id == "hash-wheel");
        for part in &args.plan().unwrap().plan.parts {
            let ticks = ["hold-exp-sparse", "periodic"].contains(&part.scenario.name.as_str());
            assert_eq!(with(part), !ticks, "{}", part.scenario.name);
        }
    }

    #[test]
    fn every_work_is_a_measure_of_its_scenario_with_a_bound_for_each_population() {
        for work in works().unwrap() {
            let scenario = Scenario::find(&work.scenario).unwrap();
            assert!(scenario.measures.contains(&work.measure), "{}", work.scenario);
            assert_eq!(work.n.len(), work.at_most.len(), "{}", work.scenario);
            assert!(work.n.iter().map(|n| n.get()).is_sorted());
            assert!(scenario.run.floor.is_some(), "{}", work.scenario);
        }
    }
}
