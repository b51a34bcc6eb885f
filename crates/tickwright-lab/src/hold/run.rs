//! Rounds: each structure once in random order, its answer compared with the oracle's, its time kept.

use core::time::Duration;
use std::collections::BTreeMap;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64;
use serde::Serialize;

use crate::clock::{Calibration, Meter, calibrate};
use crate::error::LabError;
use crate::hold::live::{Live, with_all};
use crate::hold::model::{Empty, Runner, Sampler};
use crate::hold::oracle::Oracle;
use crate::hold::stream::Stream;
use crate::host::Host;
use crate::interrupt;
use crate::output::{SCHEMA, table};
use crate::progress::Progress;
use crate::registry::{self, Kind, Structure};
use crate::scenario::{Measure, Scenario};
use crate::stats::{self, Summary, Verdict};

/// What the command line changes about scenarios.
#[derive(Debug, Clone, Default)]
pub(crate) struct Options {
    /// Instead of the scenario's.
    pub(crate) structures: Option<Vec<String>>,
    /// Instead of the scenario's.
    pub(crate) populations: Option<Vec<usize>>,
    /// Instead of the scenario's.
    pub(crate) rounds: Option<u64>,
    /// Instead of the scenario's.
    pub(crate) operations: Option<u64>,
    /// Instead of the scenario's.
    pub(crate) seed: Option<u64>,
    /// What ratios refer to; by default the fastest baseline of each cell.
    pub(crate) baseline: Option<String>,
    /// No new round begins after this, shared out over the cells.
    pub(crate) within: Option<Duration>,
}

/// The results of a run.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Report {
    /// See [`SCHEMA`].
    pub(crate) schema: u32,
    /// What was run.
    pub(crate) command: &'static str,
    /// It was interrupted.
    pub(crate) partial: bool,
    /// Where it ran.
    pub(crate) host: Host,
    /// What its clock costs.
    pub(crate) clock: Calibration,
    /// In the order of the scenarios.
    pub(crate) cells: Vec<Cell>,
}

/// One scenario at one population: a table column.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Cell {
    /// The scenario's name.
    pub(crate) scenario: String,
    /// What was timed.
    pub(crate) measure: Measure,
    /// Timers pending.
    pub(crate) population: usize,
    /// Operations in a sample.
    pub(crate) operations: u64,
    /// What the op streams were generated from.
    pub(crate) seed: u64,
    /// What ratios refer to.
    pub(crate) baseline: Option<&'static str>,
    /// The same loop without a queue, ns per operation: shown, not subtracted.
    pub(crate) harness: Option<Summary>,
    /// In the order of the registry.
    pub(crate) rows: Vec<Row>,
}

/// One structure in a cell.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Row {
    /// Its id.
    pub(crate) structure: &'static str,
    /// Whose it is.
    pub(crate) kind: Kind,
    /// Why it was not run.
    pub(crate) skipped: Option<String>,
    /// ns per operation, round by round.
    pub(crate) samples: Vec<f64>,
    /// Of the samples.
    pub(crate) summary: Option<Summary>,
    /// To the baseline, round by round; below 1 is faster.
    pub(crate) ratio: Option<Summary>,
    /// On the ratio.
    pub(crate) verdict: Option<Verdict>,
}

impl Cell {
    /// The row of a structure, if it ran.
    pub(crate) fn row(&self, id: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.structure == id && row.summary.is_some())
    }

    /// The fastest of a kind, by medians.
    pub(crate) fn best(&self, kind: Kind) -> Option<&Row> {
        let ran = self.rows.iter().filter(|row| row.kind == kind && row.summary.is_some());
        ran.min_by(|a, b| median(a).total_cmp(&median(b)))
    }
}

fn median(row: &Row) -> f64 {
    row.summary.map_or(f64::INFINITY, |summary| summary.median)
}

/// A wrong answer that [`run`] found, in words; or nothing.
type Outcome = Result<(), String>;

/// Runs scenarios one after the other.
///
/// # Errors
/// Options that name nothing, and the first wrong answer. An interruption is no error here: the report says that it is partial.
pub(crate) fn run(scenarios: &[Scenario], options: &Options, meter: &dyn Meter) -> Result<Report, LabError> {
    let plan = plan(scenarios, options)?;
    let mut report = Report {
        schema: SCHEMA,
        command: "bench hold",
        partial: false,
        host: Host::read(),
        clock: calibrate(meter),
        cells: Vec::new(),
    };
    let steps = plan.iter().map(|part| part.rounds + 1).sum();
    let progress = Progress::steps(steps, "hold");
    let within = options.within.map(|all| all / u32::try_from(plan.len().max(1)).unwrap_or(u32::MAX));
    for part in &plan {
        let title = format!("{} n={}", part.scenario.name, table::count(part.population));
        progress.doing(title.clone());
        let mut outcome = Ok(());
        let mut cells = part.empty_cells();
        let runs: Vec<_> =
            part.structures.iter().filter(|(_, skip)| skip.is_none()).map(|(s, _)| *s).collect();
        with_all(&runs, part.population, &mut |live| {
            outcome = rounds(part, live, meter, within, &progress, &mut cells);
        });
        outcome.map_err(|wrong| LabError::failed(format!("{title}: {wrong}")))?;
        for cell in &mut cells {
            conclude(cell, options.baseline.as_deref());
        }
        cells.retain(|cell| cell.rows.iter().any(|row| !row.samples.is_empty()));
        report.cells.append(&mut cells);
        if interrupt::requested() {
            report.partial = true;
            break;
        }
    }
    Ok(report)
}

/// One scenario at one population, with what is needed to run it.
#[derive(Debug)]
struct Part<'s> {
    scenario: &'s Scenario,
    population: usize,
    rounds: u64,
    operations: usize,
    seed: u64,
    /// With the reason why one is not run.
    structures: Vec<(&'static Structure, Option<String>)>,
}

fn plan<'s>(scenarios: &'s [Scenario], options: &Options) -> Result<Vec<Part<'s>>, LabError> {
    let mut plan = Vec::new();
    let baseline = options.baseline.as_deref().map(registry::find).transpose()?;
    for scenario in scenarios {
        let mut chosen = registry::select(options.structures.as_ref().unwrap_or(&scenario.run.structures))?;
        // What ratios refer to must run, asked for or not.
        if let Some(baseline) = baseline.filter(|baseline| !chosen.contains(baseline)) {
            chosen.push(baseline);
        }
        let populations = options.populations.clone().unwrap_or_else(|| {
            scenario.populations.iter().filter_map(|n| usize::try_from(n.get()).ok()).collect()
        });
        for population in populations {
            if let Some((baseline, why)) = baseline.and_then(|b| Some((b, registry::why_not(b, population)?)))
            {
                let n = table::count(population);
                return Err(LabError::usage(format!(
                    "the baseline '{}' cannot run at n={n}: {why}; choose another, or other populations",
                    baseline.id
                )));
            }
            plan.push(Part {
                scenario,
                population,
                rounds: options.rounds.unwrap_or_else(|| scenario.run.rounds.get()),
                operations: usize::try_from(
                    options.operations.unwrap_or_else(|| scenario.run.operations.get()),
                )
                .unwrap_or(usize::MAX),
                seed: options.seed.unwrap_or_else(|| scenario.run.seed.get()),
                structures: chosen.iter().map(|s| (*s, registry::why_not(s, population))).collect(),
            });
        }
    }
    Ok(plan)
}

/// Why a structure is left out of a measure; `None` when it is not.
fn not_measured(structure: &Structure, measure: Measure) -> Option<&'static str> {
    let lower_bound = measure == Measure::Head && !structure.exact_head;
    lower_bound.then_some("its head is a lower bound, which cannot be compared")
}

impl Part<'_> {
    fn empty_cells(&self) -> Vec<Cell> {
        let row = |measure: Measure, structure: &'static Structure, skipped: &Option<String>| Row {
            structure: structure.id,
            kind: structure.kind,
            skipped: skipped.clone().or_else(|| not_measured(structure, measure).map(str::to_owned)),
            samples: Vec::new(),
            summary: None,
            ratio: None,
            verdict: None,
        };
        let cell = |measure: &Measure| Cell {
            scenario: self.scenario.name.clone(),
            measure: *measure,
            population: self.population,
            operations: self.operations as u64,
            seed: self.seed,
            baseline: None,
            harness: None,
            rows: self.structures.iter().map(|(s, skipped)| row(*measure, s, skipped)).collect(),
        };
        self.scenario.measures.iter().map(cell).collect()
    }
}

/// Fills every queue, then samples all of them round by round. The first round is for verification alone.
fn rounds(
    part: &Part<'_>,
    live: &[Live<'_>],
    meter: &dyn Meter,
    within: Option<Duration>,
    progress: &Progress,
    cells: &mut [Cell],
) -> Outcome {
    let mut stream = Stream::new(part.scenario.increments, part.seed);
    let delays = stream.take(part.population);
    let (oracle, harness) = (Runner::new(Oracle::default()), Runner::new(Empty::new(part.population)));
    for sampler in live.iter().map(|live| live.sampler).chain([&oracle as &dyn Sampler]) {
        if interrupt::requested() {
            return Ok(());
        }
        sampler.fill(&delays);
    }
    // Another stream than that of the delays, so that the order says nothing about them.
    let mut shuffle = Pcg64::seed_from_u64(part.seed ^ SHUFFLE);
    let mut order: Vec<usize> = (0..live.len()).collect();
    let mut empty_samples: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    let begun = meter.now();
    'rounds: for round in 0..=part.rounds {
        let over = within.is_some_and(|within| {
            round > stats::FEWEST_ROUNDS && u128::from(meter.now().saturating_sub(begun)) > within.as_nanos()
        });
        if over {
            break;
        }
        for (at, cell) in cells.iter_mut().enumerate() {
            let delays = stream.take(part.operations);
            let expected = oracle.sample(cell.measure, &delays, meter).answer;
            let idle = harness.sample(cell.measure, &delays, meter).ns;
            order.shuffle(&mut shuffle);
            for &at in &order {
                if interrupt::requested() {
                    break 'rounds;
                }
                let Live { structure, sampler } = live[at];
                if not_measured(structure, cell.measure).is_some() {
                    continue;
                }
                let sample = sampler.sample(cell.measure, &delays, meter);
                if !sample.answer.agrees(&expected, structure.ties) {
                    let found = sample.answer.found;
                    return Err(format!(
                        "{} answered wrongly in round {round} ({}): {found} of {} deliveries, not in the \
                         oracle's order; no time of this run counts (`tickwright check` says more)",
                        structure.id, cell.measure, expected.found
                    ));
                }
                if round > 0
                    && let Some(row) = cell.rows.iter_mut().find(|row| row.structure == structure.id)
                {
                    row.samples.push(sample.ns as f64 / part.operations as f64);
                }
            }
            if round > 0 {
                empty_samples.entry(at).or_default().push(idle as f64 / part.operations as f64);
            }
        }
        progress.step();
    }
    for (at, samples) in empty_samples {
        cells[at].harness = stats::summarise(samples);
    }
    Ok(())
}

/// Keeps the order of candidates apart from the delays that they are given.
const SHUFFLE: u64 = 0x5f0f_1e5c_a11d_1ce5;

/// Medians, the baseline, ratios and verdicts of a cell.
fn conclude(cell: &mut Cell, baseline: Option<&str>) {
    for row in &mut cell.rows {
        row.summary = stats::summarise(row.samples.iter().copied());
    }
    let reference = match baseline {
        Some(id) => cell.row(id),
        None => cell.best(Kind::Baseline).or_else(|| cell.best(Kind::Ours)),
    };
    let Some((id, samples)) = reference.map(|row| (row.structure, row.samples.clone())) else { return };
    cell.baseline = Some(id);
    for row in cell.rows.iter_mut().filter(|row| row.structure != id) {
        row.ratio = stats::ratios(&row.samples, &samples);
        row.verdict = row.ratio.as_ref().map(Verdict::on);
    }
}

#[cfg(test)]
mod tests;
