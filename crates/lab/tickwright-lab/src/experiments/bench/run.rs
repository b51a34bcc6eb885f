//! Rounds: in each round, every structure runs once, in random order. Its answers are judged, and
//! its time is recorded.

use core::cell::RefCell;
use core::time::Duration;

use crate::allocator;
use crate::clock::Meter;
use crate::error::LabError;
use crate::experiment::{Lab, Parameters};
use crate::experiments::bench::cell::{Cell, Row, conclude};
use crate::experiments::bench::floor;
use crate::interrupt;
use crate::models::erased::Shared;
use crate::models::live::{Live, with_all};
use crate::models::sampler::{Empty, Sampler};
use crate::models::scenario::{Measure, Model, Scenario};
use crate::models::source::Source;
use crate::models::tape::{Step, Tape};
use crate::models::verify::Judge;
use crate::models::witness::{Answer, Evidence};
use crate::output::table::count;
use crate::progress::Progress;
use crate::rounds::Rounds;
use crate::structures::registry::{self, Structure};

/// The error describes a wrong answer.
type Outcome = Result<(), String>;

/// Measures every part of a plan, one after the other.
///
/// # Errors
/// If an answer is wrong (the error describes the first wrong answer) or the system refuses memory.
/// An interruption is not an error; it is noted in `lab`.
pub(crate) fn run(plan: &Plan, lab: &mut Lab<'_>) -> Result<Vec<Cell>, LabError> {
    if plan.parts.is_empty() {
        return Ok(Vec::new());
    }
    let steps = plan.parts.iter().map(|part| part.rounds + 1).sum();
    let progress =
        Progress::steps(steps, plan.parts.first().map_or("bench", |part| part.scenario.model.name()));
    let within = plan.within.map(|all| all / u32::try_from(plan.parts.len().max(1)).unwrap_or(u32::MAX));
    let mut measured = Vec::new();
    for part in &plan.parts {
        let title = format!("{} n={}", part.scenario.name, count(part.population));
        progress.doing(title.clone());
        let mut outcome = Ok(());
        let mut cells = part.empty_cells();
        let runs: Vec<_> =
            part.structures.iter().filter(|(_, skip)| skip.is_none()).map(|(s, _)| *s).collect();
        allocator::room(part.bytes(&runs), &title)?;
        with_all(&runs, part.population, &mut |live| {
            let mut trial = Trial { part, live, meter: lab.meter, judge: Judge::default() };
            outcome = trial.run(within, &progress, &mut cells);
        });
        outcome.map_err(|wrong| LabError::failed(format!("{title}: {wrong}")))?;
        for cell in &mut cells {
            conclude(cell, plan.baseline.map(|structure| structure.id));
        }
        cells.retain(|cell| cell.rows.iter().any(|row| !row.samples.is_empty()));
        measured.append(&mut cells);
        if interrupt::requested() {
            lab.interrupted = true;
            break;
        }
    }
    Ok(measured)
}

/// What to measure.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// Each scenario at each population.
    pub(crate) parts: Vec<Part>,
    /// The structure to which ratios refer; by default the fastest baseline of each cell.
    pub(crate) baseline: Option<&'static Structure>,
    /// A time limit, divided among the parts; no new round begins after it.
    pub(crate) within: Option<Duration>,
}

impl Plan {
    pub(super) fn parameters(&self) -> Parameters {
        let of_part = |part: &Part| {
            let what = format!("{} n={}", part.scenario.name, part.population);
            let each = if part.scenario.run.operations.is_none() { ", one for each timer" } else { "" };
            (what, format!("{} rounds of {} operations{each}", part.rounds, part.operations).into())
        };
        let baseline = self.baseline.map(|baseline| ("baseline".into(), baseline.id.into()));
        self.parts.iter().map(of_part).chain(baseline).collect()
    }
}

/// One scenario at one population, with everything that a run needs.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) scenario: Scenario,
    pub(crate) population: usize,
    pub(crate) rounds: u64,
    pub(crate) operations: usize,
    pub(crate) seed: u64,
    /// The structures. For a structure that is not run, the second item is the reason.
    pub(crate) structures: Vec<(&'static Structure, Option<String>)>,
}

impl Part {
    /// Returns the words that define the work, in the form of a scenario file.
    pub(crate) fn workload(&self) -> String {
        let Scenario { model, measures, increments, timeouts, one_shots, .. } = &self.scenario;
        let Self { population, operations, seed, .. } = self;
        let scenario = serde_json::to_string(&(model, measures, increments, timeouts, one_shots));
        format!("{} n={population} operations={operations} seed={seed}\n", scenario.unwrap_or_default())
    }
}

/// Returns an error if the baseline cannot run in one of the cells.
pub(crate) fn can_be_baseline(
    baseline: &'static Structure,
    scenario: &Scenario,
    population: usize,
) -> Result<(), LabError> {
    let id = baseline.id;
    if let Some(why) = registry::why_not(baseline, population)? {
        let n = count(population);
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

/// Returns why a measure leaves a structure out, or `None` if the structure is measured.
fn not_measured(structure: &Structure, measure: Measure) -> Option<&'static str> {
    let lower_bound = measure.exact_head() && !structure.exact_head;
    lower_bound.then_some("its head is a lower bound, which cannot be compared")
}

impl Part {
    /// Returns the least number of bytes that the queues of some structures need, including dead
    /// entries.
    fn bytes(&self, structures: &[&'static Structure]) -> usize {
        let bytes = |some: &dyn Fn(&'static Structure) -> bool| -> usize {
            let some = structures.iter().filter(|structure| some(structure));
            some.map(|structure| registry::facts(structure).bytes_per_timer).sum()
        };
        let mut dead: usize = 0;
        let entry = bytes(&|structure| registry::facts(structure).keeps_dead);
        if entry > 0 {
            let source = self.scenario.source(self.population, self.operations, self.seed);
            source.past(usize::MAX, &mut |_, _| dead += 1);
        }
        let live = bytes(&|_| true).saturating_mul(self.population);
        live.saturating_add(entry.saturating_mul(dead))
    }

    /// Returns the number of untimed samples before the first round, which is untimed too.
    /// Together, these samples run at least one operation per pending timer. Afterwards, the timers
    /// of the fill have left, and a queue that moves timers to another structure has moved them. In
    /// a lazy queue, entries then leave at the rate at which they arrive.
    fn warm_up(&self) -> usize {
        let refills = matches!(self.scenario.model, Model::Hold | Model::Network | Model::OneShot);
        if refills { self.population / self.operations.max(1) } else { 0 }
    }

    pub(crate) fn empty_cells(&self) -> Vec<Cell> {
        let row = |measure: Measure, structure: &'static Structure, skipped: &Option<String>| Row {
            structure,
            skipped: skipped.clone().or_else(|| not_measured(structure, measure).map(str::to_owned)),
            samples: Vec::new(),
            summary: None,
            held: None,
        };
        let cell = |measure: &Measure| Cell {
            scenario: self.scenario.name.clone(),
            measure: *measure,
            population: self.population,
            baseline: None,
            references: [Vec::new(), Vec::new()],
            rows: self.structures.iter().map(|(s, skipped)| row(*measure, s, skipped)).collect(),
        };
        self.scenario.measures.iter().map(cell).collect()
    }
}

/// The queues of a part, the judge of their answers, and the clock.
pub(super) struct Trial<'r> {
    pub(super) part: &'r Part,
    pub(super) live: &'r [Live<'r>],
    pub(super) meter: &'r dyn Meter,
    pub(super) judge: Judge,
}

impl Trial<'_> {
    /// Runs some work on one structure and judges its answers. Returns the time in ns.
    fn judged(
        &mut self,
        Live { structure, sampler, .. }: Live<'_>,
        work: &Tape,
        evidence: Evidence,
        expected: &Answer,
    ) -> Result<u64, String> {
        let sample = sampler.sample(work, evidence, self.meter);
        self.judge.judge(structure, work, &sample.answer, expected)?;
        Ok(sample.ns)
    }

    /// Runs a structure once in a measure. Returns the structure's time in ns, if the measure
    /// applies to the structure.
    fn turn(
        &mut self,
        live: Live<'_>,
        measure: Measure,
        work: &Tape,
        expected: &Answer,
    ) -> Result<Option<u64>, String> {
        if not_measured(live.structure, measure).is_some() {
            // Runs the work without the question, so that all queues stay in the same state.
            live.sampler.sample(&work.unasked(), Evidence::Fold, self.meter);
            return Ok(None);
        }
        self.judged(live, work, Evidence::of(live.structure, Some(measure)), expected).map(Some)
    }

    /// Runs untimed work on some queues. Returns `false` if an interruption stopped it.
    fn untimed(&mut self, work: &Tape, queues: &[Live<'_>]) -> Result<bool, String> {
        let expected = self.judge.expect(work, Evidence::Fold);
        for &live in queues {
            if interrupt::requested() {
                return Ok(false);
            }
            let id = live.structure.id;
            self.judged(live, work, Evidence::of(live.structure, None), &expected).map_err(|wrong| {
                format!("{id} answered wrongly before the first sample or after the last: {wrong}; no time of this run counts")
            })?;
        }
        Ok(true)
    }

    /// Fills every queue. A lazy queue also receives the dead entries that earlier work would have
    /// left in it, so that entries leave at the rate at which they arrive, from the first sample
    /// on. Returns `false` if an interruption stopped it.
    fn fill(&mut self, fill: &Tape, source: &Source) -> Result<bool, String> {
        let (lazy, others): (Vec<Live<'_>>, Vec<Live<'_>>) =
            self.live.iter().copied().partition(|one| one.sampler.is_lazy());
        for one in lazy {
            if interrupt::requested() {
                return Ok(false);
            }
            one.sampler.fill_aged(&fill.ticks, &|most, each| source.past(most, each));
        }
        self.untimed(fill, &others)
    }

    /// Fills every queue, then samples all of them round by round.
    pub(super) fn run(
        &mut self,
        within: Option<Duration>,
        progress: &Progress,
        cells: &mut [Cell],
    ) -> Outcome {
        let part = self.part;
        let mut source = part.scenario.source(part.population, part.operations, part.seed);
        let nothing = RefCell::new(Empty::new(part.population));
        let floor = floor::queue(&part.scenario, part.population);
        let references: [Option<&dyn Shared>; 2] = [floor.as_deref(), Some(&nothing)];
        let references = references.map(|queue| Some(Sampler::new(allocator::live_bytes(), queue?)));
        let (meter, live) = (self.meter, self.live);
        let fill = Tape::over(Step::Fill, source.deadlines());
        if !self.fill(&fill, &source)? {
            return Ok(());
        }
        for one in references.iter().flatten() {
            one.fill_aged(&fill.ticks, &|most, each| source.past(most, each));
        }
        for _ in 0..part.warm_up() {
            let work = source.next(part.scenario.measures[0]);
            for one in references.iter().flatten() {
                one.sample(&work, Evidence::Fold, meter);
            }
            if !self.untimed(&work, live)? {
                return Ok(());
            }
        }
        let begin: Vec<_> = live.iter().map(|one| one.sampler.held()).collect();
        // The first round only verifies.
        let mut rounds = Rounds::new(part.rounds as usize, part.seed).cells(cells.len());
        let per_operation = |ns: u64| ns as f64 / part.operations as f64;
        let begun = meter.now();
        let more = || {
            let elapsed = meter.now().saturating_sub(begun);
            within.is_none_or(|within| u128::from(elapsed) <= within.as_nanos())
        };
        // The work of the current cell, which is the same for all structures, and its right answer.
        let mut now: Option<(Tape, Answer)> = None;
        let taken = rounds.run_while(live.len(), more, |turn| {
            let cell = &mut cells[turn.cell];
            if turn.place == 0 {
                let work = source.next(cell.measure);
                let evidence = Evidence::oracle(Some(cell.measure));
                let expected = self.judge.expect(&work, evidence);
                for (one, samples) in references.iter().zip(&mut cell.references) {
                    let ns = one.as_ref().map(|one| one.sample(&work, evidence, meter).ns);
                    samples.extend(ns.filter(|_| turn.round > 0).map(per_operation));
                }
                now = Some((work, expected));
            }
            let Some((work, expected)) = &now else { return Ok(None) };
            let (one, measure) = (live[turn.lane], cell.measure);
            let ns = self.turn(one, measure, work, expected).map_err(|wrong| {
                format!(
                    "{} answered wrongly in round {} ({measure}): {wrong}; no time of this run counts \
                     (`tickwright check` says more)",
                    one.structure.id, turn.round
                )
            })?;
            if turn.is_last_of(live.len()) && turn.cell + 1 == part.scenario.measures.len() {
                progress.step();
            }
            Ok::<_, String>(ns.map(per_operation))
        })?;
        for (cell, lanes) in cells.iter_mut().zip(taken.cells) {
            let whole = lanes.first().map_or(0, Vec::len);
            cell.references.iter_mut().for_each(|samples| samples.truncate(whole));
            for ((one, samples), begin) in live.iter().zip(lanes).zip(&begin) {
                let row = cell.rows.iter_mut().find(|row| row.structure == one.structure);
                if let Some(row) = row {
                    row.samples = samples.into_iter().flatten().collect();
                    row.held = (!row.samples.is_empty()).then(|| [*begin, one.sampler.held()]);
                }
            }
        }
        if let Some(now) = source.end().filter(|_| !taken.interrupted) {
            self.untimed(&Tape::of([Step::Deliver { now }]), live)?;
        }
        Ok(())
    }
}
