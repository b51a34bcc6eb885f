//! Rounds: each structure once in random order, its answer judged, its time kept.

use core::time::Duration;
use std::collections::BTreeMap;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64;

use crate::allocator;
use crate::bench::cell::{Cell, Report, Row, conclude, price_questions};
use crate::bench::live::{Live, with_all};
use crate::bench::sampler::{Empty, Runner, Sampler};
use crate::bench::work::Work;
use crate::clock::{Meter, calibrate};
use crate::error::LabError;
use crate::host::Host;
use crate::interrupt;
use crate::output::table;
use crate::progress::Progress;
use crate::registry::{self, Structure};
use crate::scenario::{Measure, Scenario};
use crate::stats;
use crate::verify::{Answer, Evidence, Judge};

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

/// A wrong answer that [`run`] found, in words; or nothing.
type Outcome = Result<(), String>;

/// Runs scenarios one after the other.
///
/// # Errors
/// Options that name nothing, and the first wrong answer. An interruption is no error here: the
/// report says that it is partial.
pub(crate) fn run(scenarios: &[Scenario], options: &Options, meter: &dyn Meter) -> Result<Report, LabError> {
    let plan = plan(scenarios, options)?;
    let mut report =
        Report { interrupted: false, host: Host::read(), clock: calibrate(meter), cells: Vec::new() };
    let steps = plan.iter().map(|part| part.rounds + 1).sum();
    let progress = Progress::steps(steps, scenarios.first().map_or("bench", |s| s.model.name()));
    let within = options.within.map(|all| all / u32::try_from(plan.len().max(1)).unwrap_or(u32::MAX));
    for part in &plan {
        let title = format!("{} n={}", part.scenario.name, table::count(part.population));
        progress.doing(title.clone());
        let mut outcome = Ok(());
        let mut cells = part.empty_cells();
        let runs: Vec<_> =
            part.structures.iter().filter(|(_, skip)| skip.is_none()).map(|(s, _)| *s).collect();
        let bytes: usize = runs.iter().map(|structure| registry::bytes_per_timer(structure)).sum();
        allocator::room(bytes.saturating_mul(part.population), &title)?;
        with_all(&runs, part.population, &mut |live| {
            let mut rounds = Rounds { part, live, meter, judge: Judge::default() };
            outcome = rounds.run(within, &progress, &mut cells);
        });
        outcome.map_err(|wrong| LabError::failed(format!("{title}: {wrong}")))?;
        for cell in &mut cells {
            conclude(cell, options.baseline.as_deref());
        }
        price_questions(&mut cells);
        cells.retain(|cell| cell.rows.iter().any(|row| !row.samples.is_empty()));
        report.cells.append(&mut cells);
        if interrupt::requested() {
            report.interrupted = true;
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
        let mut chosen =
            registry::select(&options.structures.clone().unwrap_or_else(|| scenario.structures()))?;
        // What ratios refer to must run, asked for or not.
        if let Some(baseline) = baseline.filter(|baseline| !chosen.contains(baseline)) {
            chosen.push(baseline);
        }
        let populations = options.populations.clone().unwrap_or_else(|| {
            scenario.populations.iter().filter_map(|n| usize::try_from(n.get()).ok()).collect()
        });
        for population in populations {
            if let Some(baseline) = baseline {
                can_be_baseline(baseline, scenario, population)?;
            }
            plan.push(Part {
                scenario,
                population,
                rounds: options.rounds.unwrap_or_else(|| scenario.run.rounds.get()),
                operations: scenario.operations(options.operations, population),
                seed: options.seed.unwrap_or_else(|| scenario.run.seed.get()),
                structures: chosen
                    .iter()
                    .map(|s| Ok((*s, registry::why_not(s, population)?)))
                    .collect::<Result<_, LabError>>()?,
            });
        }
    }
    Ok(plan)
}

/// Refuses a baseline that would leave cells without one.
fn can_be_baseline(
    baseline: &'static Structure,
    scenario: &Scenario,
    population: usize,
) -> Result<(), LabError> {
    let id = baseline.id;
    if let Some(why) = registry::why_not(baseline, population)? {
        let n = table::count(population);
        return Err(LabError::usage(format!(
            "the baseline '{id}' cannot run at n={n}: {why}; choose another, or other populations"
        )));
    }
    let lost = scenario.measures.iter().find_map(|m| Some((m, not_measured(baseline, *m)?)));
    if let Some((measure, why)) = lost {
        return Err(LabError::usage(format!(
            "the baseline '{id}' cannot be measured in '{}' ({measure}): {why}; choose another, or other scenarios",
            scenario.name
        )));
    }
    Ok(())
}

/// Why a structure is left out of a measure; `None` when it is not.
fn not_measured(structure: &Structure, measure: Measure) -> Option<&'static str> {
    let lower_bound = measure.exact_head() && !structure.exact_head;
    lower_bound.then_some("its head is a lower bound, which cannot be compared")
}

impl Part<'_> {
    fn empty_cells(&self) -> Vec<Cell> {
        let row = |measure: Measure, structure: &'static Structure, skipped: &Option<String>| Row {
            structure: structure.id,
            kind: structure.kind,
            shape: structure.shape,
            skipped: skipped.clone().or_else(|| not_measured(structure, measure).map(str::to_owned)),
            samples: Vec::new(),
            summary: None,
            ratio: None,
            verdict: None,
            to_wheel: None,
            question: None,
        };
        let cell = |measure: &Measure| Cell {
            scenario: self.scenario.name.clone(),
            measure: *measure,
            population: self.population,
            operations: self.operations as u64,
            seed: self.seed,
            baseline: None,
            wheel: None,
            harness: None,
            harness_question: None,
            rows: self.structures.iter().map(|(s, skipped)| row(*measure, s, skipped)).collect(),
        };
        self.scenario.measures.iter().map(cell).collect()
    }
}

/// The queues of a part, the judge of their answers, and what else the rounds go through.
struct Rounds<'r> {
    part: &'r Part<'r>,
    live: &'r [Live<'r>],
    meter: &'r dyn Meter,
    judge: Judge,
}

impl Rounds<'_> {
    /// Has one structure do some work, and judges what it answers; the time it took.
    fn judged(
        &mut self,
        Live { structure, sampler }: Live<'_>,
        work: &Work,
        evidence: Evidence,
        expected: &Answer,
    ) -> Result<u64, String> {
        let sample = sampler.sample(work, evidence, self.meter);
        self.judge.judge(structure, work, &sample.answer, expected)?;
        Ok(sample.ns)
    }

    /// A structure's turn in a measure; its time, if it can be measured.
    fn turn(
        &mut self,
        live: Live<'_>,
        measure: Measure,
        work: &Work,
        expected: &Answer,
    ) -> Result<Option<u64>, String> {
        if not_measured(live.structure, measure).is_some() {
            // The same work without the question, so that it stays in step.
            live.sampler.sample(&work.unasked(), Evidence::Fold, self.meter);
            return Ok(None);
        }
        self.judged(live, work, Evidence::of(live.structure, Some(measure)), expected).map(Some)
    }

    /// Work that is not timed, on every queue. Whether it was finished before an interruption.
    fn untimed(&mut self, work: &Work, harness: &dyn Sampler) -> Result<bool, String> {
        let expected = self.judge.expect(work, Evidence::Fold);
        harness.sample(work, Evidence::Fold, self.meter);
        for &live in self.live {
            if interrupt::requested() {
                return Ok(false);
            }
            let id = live.structure.id;
            self.judged(live, work, Evidence::of(live.structure, None), &expected).map_err(|wrong| {
                format!("{id} answered wrongly at the begin or the end: {wrong}; no time of this run counts")
            })?;
        }
        Ok(true)
    }

    /// Fills every queue, then samples all of them round by round.
    fn run(&mut self, within: Option<Duration>, progress: &Progress, cells: &mut [Cell]) -> Outcome {
        let part = self.part;
        let mut source = part.scenario.source(part.population, part.operations, part.seed);
        let harness = Runner::new(Empty::new(part.population));
        if !self.untimed(&source.fill(), &harness)? {
            return Ok(());
        }
        // Another stream than that of the work, so that the order says nothing about it.
        let mut shuffle = Pcg64::seed_from_u64(part.seed ^ SHUFFLE);
        let mut order: Vec<Live<'_>> = self.live.to_vec();
        let mut empty_samples: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        let begun = self.meter.now();
        let mut whole = true;
        'rounds: for round in 0..=part.rounds {
            let over = within.is_some_and(|within| {
                let elapsed = self.meter.now().saturating_sub(begun);
                round > stats::FEWEST_ROUNDS && u128::from(elapsed) > within.as_nanos()
            });
            if over {
                break;
            }
            for (at, cell) in cells.iter_mut().enumerate() {
                let work = source.next(cell.measure);
                let expected = self.judge.expect(&work, Evidence::oracle(Some(cell.measure)));
                let per_operation = |ns: u64| ns as f64 / part.operations as f64;
                let idle = harness.sample(&work, Evidence::oracle(Some(cell.measure)), self.meter).ns;
                order.shuffle(&mut shuffle);
                for &live in &order {
                    if interrupt::requested() {
                        whole = false;
                        break 'rounds;
                    }
                    let ns = self.turn(live, cell.measure, &work, &expected).map_err(|wrong| {
                        format!(
                            "{} answered wrongly in round {round} ({}): {wrong}; no time of this run counts \
                             (`tickwright check` says more)",
                            live.structure.id, cell.measure
                        )
                    })?;
                    // The first round is for verification alone.
                    let row = cell.rows.iter_mut().find(|row| row.structure == live.structure.id);
                    if let (Some(ns), Some(row), 1..) = (ns, row, round) {
                        row.samples.push(per_operation(ns));
                    }
                }
                if round > 0 {
                    empty_samples.entry(at).or_default().push(per_operation(idle));
                }
            }
            progress.step();
        }
        for (at, samples) in empty_samples {
            cells[at].harness = stats::summarise(samples);
        }
        if let Some(last) = source.last().filter(|_| whole) {
            self.untimed(&last, &harness)?;
        }
        Ok(())
    }
}

/// Keeps the order of candidates apart from the delays that they are given.
const SHUFFLE: u64 = 0x5f0f_1e5c_a11d_1ce5;

#[cfg(test)]
mod tests;
