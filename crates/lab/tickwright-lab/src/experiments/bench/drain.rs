//! The phases of a drain. In a drain, as many timers as there are ticks expire, tick by tick. A
//! phase is a hundredth of the ticks, and is timed separately. If a structure works ahead in steps
//! of growing size, some phases take longer than others.

use crate::allocator;
use crate::clock::{FakeMeter, Meter};
use crate::error::LabError;
use crate::experiment::{Lab, Parameters};
use crate::experiments::request;
use crate::interrupt;
use crate::models::live::{Live, with_one};
use crate::models::scenario::{Measure, Scenario};
use crate::models::source::Source;
use crate::models::tape::{Step, Tape};
use crate::models::verify::Judge;
use crate::models::witness::Evidence;
use crate::result::{Series, Unit, labels};
use crate::stats;
use crate::structures::registry::{self, Structure};

/// The scenario that is drained.
const SCENARIO: &str = "expire";
/// The number of phases.
const PHASES: u32 = 100;

/// What to drain.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(super) structures: Vec<&'static Structure>,
    pub(super) population: usize,
    pub(super) rounds: u64,
}

/// The measurements.
#[derive(Debug, Default)]
pub(crate) struct Data {
    pub(super) population: usize,
    pub(super) rows: Vec<Row>,
}

/// The phases of a structure.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) structure: &'static Structure,
    /// The least time of each phase, in ns per tick.
    phases: Vec<f64>,
}

impl Row {
    pub(super) fn longest(&self) -> f64 {
        self.phases.iter().copied().fold(0.0, f64::max)
    }

    pub(super) fn median(&self) -> f64 {
        stats::median(&self.phases).unwrap_or(f64::NAN)
    }
}

impl Plan {
    pub(super) fn parameters(&self) -> Parameters {
        request::parameters([
            ("drained", request::ids(&self.structures).into()),
            ("drained timers", self.population.into()),
            ("drains", self.rounds.into()),
        ])
    }
}

impl Data {
    pub(super) fn series(&self) -> impl Iterator<Item = Series> {
        self.rows.iter().map(|row| {
            let of = labels([("structure", row.structure.id.into()), ("n", self.population.into())]);
            Series::new("phase of a drain", Unit::Ns, of).per("tick").of(row.phases.iter().copied())
        })
    }
}

/// Drains every structure.
///
/// # Errors
/// If an answer is wrong (the error describes the first wrong answer) or the system refuses memory.
/// An interruption is noted in `lab`.
pub(super) fn run(plan: &Plan, lab: &mut Lab<'_>) -> Result<Data, LabError> {
    let mut data = Data { population: plan.population, rows: Vec::new() };
    let scenario = Scenario::find(SCENARIO)?;
    for &structure in &plan.structures {
        if registry::why_not(structure, plan.population)?.is_some() {
            continue;
        }
        let bytes = registry::facts(structure).bytes_per_timer.saturating_mul(plan.population);
        allocator::room(bytes, &format!("a drain of {}", structure.id))?;
        let mut source = scenario.source(plan.population, plan.population, scenario.run.seed.get());
        let drained = with_one(structure, plan.population, false, |live| {
            drain(live, &mut source, plan.rounds, lab.meter)
        });
        let phases = drained.map_err(|wrong| {
            LabError::failed(format!("{} answered wrongly in a drain: {wrong}", structure.id))
        })?;
        if interrupt::requested() {
            lab.interrupted = true;
            break;
        }
        data.rows.push(Row { structure, phases });
    }
    Ok(data)
}

/// Returns the least time of each phase. The first round is only a warm-up. All rounds run on one
/// queue, so that its memory is already allocated.
fn drain(live: Live<'_>, source: &mut Source, rounds: u64, meter: &dyn Meter) -> Result<Vec<f64>, String> {
    let mut judge = Judge::default();
    let mut least: Vec<f64> = Vec::new();
    for round in 0..=rounds {
        let tapes = [source.next(Measure::Insert), in_phases(source.next(Measure::Expire))];
        let mut phases = Vec::with_capacity(PHASES as usize);
        for (tape, meter) in tapes.iter().zip([&FakeMeter::steady(0) as &dyn Meter, meter]) {
            let evidence = Evidence::of(live.structure, None);
            let expected = judge.expect(tape, Evidence::Fold);
            let answer = live.sampler.calls(tape, evidence, meter, &mut |step, ns| {
                if let Step::Poll { count, .. } = step {
                    phases.push(ns as f64 / f64::from(count));
                }
            });
            judge.judge(live.structure, tape, &answer, &expected)?;
        }
        match round {
            0 => {}
            1 => least = phases,
            _ => least.iter_mut().zip(phases).for_each(|(least, ns)| *least = least.min(ns)),
        }
        if interrupt::requested() {
            break;
        }
    }
    Ok(least)
}

/// Divides the polls of a tape into phases.
fn in_phases(tape: Tape) -> Tape {
    let divide = |step: &Step| match *step {
        Step::Poll { after, count } => {
            let each = count.div_ceil(PHASES).max(1);
            let begins = (0..count).step_by(each as usize);
            let phase = |at: u32| Step::Poll { after: after + u64::from(at), count: each.min(count - at) };
            begins.map(phase).collect()
        }
        other => vec![other],
    };
    Tape { steps: tape.steps.iter().flat_map(divide).collect(), ..tape }
}

#[cfg(test)]
mod tests;
