//! `tickwright bench matrix`: our best structure beside the best of others, for each work and
//! population, in one table and one plot; and the goals that other benches measure.
//!
//! - [`work`]: the works with their bounds; [`tables`]: the tables and the plot of the queues;
//!   [`others`]: the other benches

mod others;
mod tables;
mod work;

use clap::Args;

use crate::error::LabError;
use crate::experiment::{Experiment, Lab, Parameters};
use crate::experiments::bench::cell::Cell;
use crate::experiments::bench::run::{self, Plan};
use crate::experiments::bench::{Comparison, CountedArgs, TimedArgs};
use crate::experiments::matrix::others::{Measured, Part};
use crate::experiments::matrix::work::{ADAPTIVE_AT_MOST, Pair, Work};
use crate::experiments::request;
use crate::models::scenario::{Rounds, Scenario};
use crate::output::OutputArgs;
use crate::output::table::count;
use crate::result::{Finding, Section, Series, labels};
use crate::stats::Bound;
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
    /// Parts to run
    #[arg(long, value_enum, value_delimiter = ',', default_value = "queues,calls")]
    only: Vec<Part>,
    /// Run for seconds instead of minutes: populations up to 10,000
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
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
            within: None,
            seed: None,
            quick: self.quick,
            output: self.output.clone(),
        };
        Ok(Comparison::new(scenario.model, CountedArgs { operations: None, timed }))
    }
}

/// The plan: the works, what measures them, and the parts that other benches measure.
#[derive(Debug)]
pub(crate) struct Matrices {
    works: Vec<Work>,
    plan: Plan,
    parts: Vec<Part>,
}

/// The measurements.
#[derive(Debug)]
pub(crate) struct Data {
    cells: Vec<Cell>,
    others: Vec<Measured>,
}

impl Experiment for MatrixArgs {
    type Plan = Matrices;
    type Data = Data;

    fn name(&self) -> String {
        "bench matrix".into()
    }

    fn plan(&self) -> Result<Matrices, LabError> {
        let parts = request::once(&self.only);
        let works = if parts.contains(&Part::Queues) { work::works()? } else { Vec::new() };
        let mut measured = Vec::new();
        for work in &works {
            measured.append(&mut self.comparison(work)?.plan()?.parts);
        }
        Ok(Matrices { works, plan: Plan { parts: measured, baseline: None, within: None }, parts })
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

    fn run(&self, Matrices { plan, parts, .. }: &Matrices, lab: &mut Lab<'_>) -> Result<Data, LabError> {
        let mut data = Data { cells: run::run(plan, lab)?, others: Vec::new() };
        for part in parts {
            if !lab.interrupted {
                data.others.extend(others::measure(*part, self.quick, lab)?);
            }
        }
        Ok(data)
    }

    fn series(&self, _: &Matrices, Data { cells, others }: &Data) -> Vec<Series> {
        let of_cells = cells.iter().flat_map(|cell| cell.series().into_iter().chain(cell.memory()));
        of_cells.chain(others.iter().flat_map(|other| other.series.clone())).collect()
    }

    fn findings(&self, Matrices { works, .. }: &Matrices, Data { cells, others }: &Data) -> Vec<Finding> {
        let of_cell = |pair: &Pair<'_>, goal: &'static str| {
            labels([
                ("goal", goal.into()),
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
            Some(finding.labelled(of_cell(pair, "ours to the best of others")))
        };
        let adaptive = |pair: &Pair<'_>| {
            let (_, single, ratio) = pair.adaptive()?;
            let n = count(pair.cell.population);
            let Work { scenario, measure, .. } = pair.work;
            let about = format!("{scenario}, {measure}, n={n}: adaptive to {}", single.structure.id);
            let finding = Finding::bounded(about, ratio, Bound::AtMost(ADAPTIVE_AT_MOST));
            Some(finding.labelled(of_cell(pair, "AdaptiveQueue to the best single structure")))
        };
        let pairs = self.pairs(works, cells);
        let of_others = others.iter().flat_map(|other| {
            let goal = |finding: &Finding| finding.clone().labelled(labels([("goal", other.title.into())]));
            other.findings.iter().map(goal)
        });
        let of_queues = pairs.iter().filter_map(of_pair).chain(pairs.iter().filter_map(adaptive));
        of_queues.chain(tables::bytes(&pairs)).chain(of_others).collect()
    }

    fn sections(&self, plan: &Matrices, data: &Data, findings: &[Finding]) -> Vec<Section> {
        let pairs = self.pairs(&plan.works, &data.cells);
        let queues = if pairs.is_empty() { Vec::new() } else { tables::sections(&plan.works, &pairs) };
        let others = data.others.iter().map(Measured::section);
        queues.into_iter().chain(others).chain([tables::goals(findings)]).collect()
    }
}

#[cfg(all(test, feature = "rivals"))]
mod tests {
    use super::*;
    use crate::clock::FakeMeter;
    use crate::experiment::conduct_plan;
    use crate::experiments::request;

    /// Each reading moves the clock by the same time: all ratios are 1.
    #[test]
    fn a_report_shows_the_ratios_the_floors_and_what_is_dead() {
        let words = [
            "--quick",
            "--rounds",
            "6",
            "--structures",
            "heap4/slab,adaptive/slab,dary-heap4",
            "--only",
            "queues,calls",
        ];
        let args: MatrixArgs = request::words(&words).unwrap();
        let report = conduct_plan(&args, &args.plan().unwrap(), &FakeMeter::steady(100)).unwrap();
        insta::assert_snapshot!(crate::render::sections(&report.sections));
        let floors = report.series.iter().filter(|series| series.labels["structure"] == "(floor)".into());
        let of_cells = report.findings.iter().filter(|finding| finding.labels.contains_key("measure"));
        assert!(floors.count() * 2 >= of_cells.count(), "a floor and two findings a cell");
        assert!(report.findings.iter().all(|finding| finding.labels.contains_key("goal")));
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
}
