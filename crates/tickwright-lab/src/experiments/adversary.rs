//! Deadlines that an attacker chooses: how long is the worst single call, compared with the median
//! call?
//!
//! A client of a server may choose deadlines, and may look for a call that stalls all others. Each
//! call is timed alone. A stall of the machine delays a call in one round only; the structure's own
//! cost returns in every round. The result of a call is therefore its least time over all rounds.
//!
//! - [`pattern`]: the deadlines; [`attack`]: the timed calls; [`data`]: their histograms;
//!   [`scenario`]: the defaults, from a file; [`tables`]: the tables and plots of the report

pub(crate) mod attack;
mod data;
pub(crate) mod pattern;
mod scenario;
mod tables;

use std::path::PathBuf;

use clap::Args;

use crate::allocator;
use crate::clock::{FakeMeter, Meter};
use crate::error::LabError;
use crate::experiment::{Experiment, Lab, Parameters};
use crate::experiments::adversary::attack::{Attack, BYTES_PER_TIMER, Call, Calls, Part};
use crate::experiments::adversary::data::{Data, Plan, Row, Skipped, Times};
use crate::experiments::adversary::pattern::Pattern;
use crate::experiments::adversary::scenario::Scenario;
use crate::experiments::request;
use crate::models::live::with_one;
use crate::models::scenario::{Operations, Population, Rounds as Repeats, Seed};
use crate::models::verify::Judge;
use crate::models::witness::{Answer, Evidence};
use crate::output::OutputArgs;
use crate::output::table::count;
use crate::progress::Progress;
use crate::render::Format;
use crate::result::{Finding, Section, Series, Unit, labels};
use crate::rounds::Rounds;
use crate::structures::registry::{self, Kind, Structure};

/// Arguments of `bench adversary`.
#[derive(Debug, Clone, Args)]
pub(crate) struct AdversaryArgs {
    /// Read other defaults, from a file of the same form as scenarios/adversary.toml
    #[arg(long, value_name = "FILE")]
    pub(crate) scenario: Option<PathBuf>,
    /// Structures to attack, as patterns: * matches anything, ! excludes
    /// [default: the scenario's]
    #[arg(long, value_name = "PATTERNS", value_delimiter = ',')]
    pub(crate) structures: Option<Vec<String>>,
    /// Kinds of attacks; may be repeated [default: the scenario's]
    #[arg(long, value_enum, value_delimiter = ',')]
    pub(crate) pattern: Vec<Pattern>,
    /// Number of timers in an attack, up to millions [default: the scenario's]
    #[arg(long, value_name = "N", value_delimiter = ',', allow_hyphen_values = true, value_parser = Population::parse)]
    pub(crate) n: Option<Vec<Population>>,
    /// Budget of an advance: the most timers that one call may deliver or move
    /// [default: the scenario's]
    #[arg(long, allow_hyphen_values = true, value_parser = Operations::parse)]
    pub(crate) budget: Option<Operations>,
    /// Number of times that each call is timed; its least time is reported
    /// [default: the scenario's]
    #[arg(long, allow_hyphen_values = true, value_parser = Repeats::parse)]
    pub(crate) rounds: Option<Repeats>,
    /// Seed of the random order of removals and of structures [default: the scenario's]
    #[arg(long, allow_hyphen_values = true, value_parser = Seed::parse)]
    pub(crate) seed: Option<Seed>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

impl Experiment for AdversaryArgs {
    type Plan = Plan;
    type Data = Data;

    fn name(&self) -> String {
        "bench adversary".into()
    }

    fn plan(&self) -> Result<Plan, LabError> {
        let own = self.scenario.as_deref().map_or_else(Scenario::built_in, Scenario::read)?;
        let patterns = if self.pattern.is_empty() { &own.patterns } else { &self.pattern };
        let budget = self.budget.unwrap_or(own.budget).get();
        Ok(Plan {
            structures: registry::select(self.structures.as_ref().unwrap_or(&own.structures))?,
            patterns: request::once(patterns),
            populations: request::sizes(self.n.as_ref().unwrap_or(&own.populations)),
            budget: usize::try_from(budget).unwrap_or(usize::MAX),
            rounds: self.rounds.unwrap_or(own.rounds).get() as usize,
            seed: self.seed.unwrap_or(own.seed).get(),
        })
    }

    fn parameters(&self, plan: &Plan) -> Parameters {
        request::parameters([
            ("structures", request::ids(&plan.structures).into()),
            ("pattern", request::names(&plan.patterns).into()),
            ("n", request::list(&plan.populations).into()),
            ("budget", plan.budget.into()),
            ("rounds", plan.rounds.into()),
        ])
    }

    fn seed(&self, plan: &Plan) -> Option<u64> {
        Some(plan.seed)
    }

    fn run(&self, plan: &Plan, lab: &mut Lab<'_>) -> Result<Data, LabError> {
        let mut data = Data::default();
        let steps = plan.populations.len() * plan.patterns.len() * plan.rounds;
        let progress = Progress::steps(steps as u64, "adversary");
        for &population in &plan.populations {
            for &pattern in &plan.patterns {
                progress.doing(format!("{pattern} n={}", count(population)));
                let (able, skipped) = who(&plan.structures, pattern, population)?;
                data.skipped.extend(skipped);
                let most =
                    able.iter().map(|structure| registry::bytes_per_timer(structure)).max().unwrap_or(0);
                allocator::room(
                    most.saturating_add(BYTES_PER_TIMER).saturating_mul(population),
                    &format!("an attack of {population} timers"),
                )?;
                let attack = Attack::new(pattern, population, plan.budget, plan.seed);
                let Some(calls) = rounds(&able, &attack, plan, lab.meter, &progress)? else {
                    lab.interrupted = true;
                    return Ok(data);
                };
                for (structure, calls) in able.iter().zip(calls) {
                    data.rows.extend(rows(structure, pattern, population, &calls));
                }
            }
        }
        Ok(data)
    }

    /// The median, two percentiles and the worst time of each kind of call. A report of all times
    /// would hold millions of figures.
    fn series(&self, _: &Plan, data: &Data) -> Vec<Series> {
        let figures = data.rows.iter().flat_map(|row| {
            let times = &row.times;
            let all = [
                ("median", times.median_ns()),
                ("p99", times.longer_in(100.0)),
                ("p99.99", times.longer_in(1e4)),
                ("worst", times.worst_ns),
            ];
            all.map(|(figure, ns)| {
                let of = labels([
                    ("structure", row.structure.id.into()),
                    ("pattern", row.pattern.to_string().into()),
                    ("n", row.population.into()),
                    ("figure", figure.into()),
                    ("calls", times.calls.into()),
                ]);
                Series::new(row.call.to_string(), Unit::Ns, of).per("call").of([ns as f64])
            })
        });
        figures.collect()
    }

    /// For each kind of deadlines, the worst call of our structures and of the baselines.
    fn findings(&self, plan: &Plan, data: &Data) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (n, pattern) in tables::attacks(plan) {
            let rows = data.rows.iter().filter(|row| row.pattern == pattern && row.population == n);
            // An advance without a budget delivers all due timers: the caller asked for that long
            // call.
            let rows: Vec<&Row> = rows.filter(|row| row.call != Call::Advance).collect();
            for (kind, whose) in [(Kind::Ours, "ours"), (Kind::Baseline, "others")] {
                let of_kind = rows.iter().filter(|row| row.structure.kind == kind);
                let Some(worst) = of_kind.max_by_key(|row| row.times.worst_ns) else { continue };
                let about = format!("worst call, {pattern}, n={}, {whose}", count(n));
                let ns = Format::Span.write(worst.times.worst_ns as f64);
                findings
                    .push(Finding::stated(about, format!("{ns} ({}, {})", worst.structure.id, worst.call)));
            }
        }
        findings
    }

    fn sections(&self, plan: &Plan, data: &Data, _: &[Finding]) -> Vec<Section> {
        tables::sections(plan, data)
    }
}

/// Splits the chosen structures into those that run and those that do not, with the reason.
fn who(
    chosen: &[&'static Structure],
    pattern: Pattern,
    population: usize,
) -> Result<(Vec<&'static Structure>, Vec<Skipped>), LabError> {
    let mut able = Vec::new();
    let mut skipped = Vec::new();
    for &structure in chosen {
        let horizon = registry::horizon(structure);
        let why = registry::why_not(structure, population)?.or_else(|| {
            (pattern.furthest(population) > horizon)
                .then(|| format!("it takes delays of {horizon} ticks at most"))
        });
        match why {
            None => able.push(structure),
            Some(why) => skipped.push(Skipped { structure, pattern, population, why }),
        }
    }
    Ok((able, skipped))
}

/// Returns the least times of all calls of each structure; `None` after an interruption.
fn rounds(
    able: &[&'static Structure],
    attack: &Attack,
    plan: &Plan,
    meter: &dyn Meter,
    progress: &Progress,
) -> Result<Option<Vec<Calls>>, LabError> {
    let parts = expected(attack);
    let mut least: Vec<Option<Calls>> = vec![None; able.len()];
    let mut rounds = Rounds::new(plan.rounds, plan.seed).without_warm_up();
    let taken = rounds.run(able.len(), |turn| {
        let structure = able[turn.lane];
        let calls = suffer(structure, attack, &parts, meter).map_err(|wrong| {
            LabError::failed(format!("{} answered wrongly under {}: {wrong}", structure.id, attack.pattern))
        })?;
        match &mut least[turn.lane] {
            Some(known) => known.keep_least(&calls),
            none => *none = Some(calls),
        }
        if turn.is_last_of(able.len()) {
            progress.step();
        }
        Ok(())
    })?;
    Ok((!taken.interrupted).then(|| least.into_iter().map(Option::unwrap_or_default).collect()))
}

/// Each part of an attack, with the answers of an exact structure.
fn expected(attack: &Attack) -> [(Part, [Answer; 2]); 3] {
    Part::ALL.map(|part| {
        let mut judge = Judge::default();
        (part, attack.tapes(part).map(|tape| judge.expect(&tape, Evidence::Fold)))
    })
}

/// One round of one structure: every part of the attack, each on a fresh queue.
fn suffer(
    structure: &'static Structure,
    attack: &Attack,
    parts: &[(Part, [Answer; 2])],
    meter: &dyn Meter,
) -> Result<Calls, String> {
    let mut all = Calls::default();
    let evidence = Evidence::of(structure, None);
    for (part, expected) in parts {
        let tapes = attack.tapes(*part);
        let answers = with_one(structure, attack.population(), false, |live| {
            let untimed = live.sampler.sample(&tapes[0], evidence, &FakeMeter::steady(0));
            let timed = live.sampler.calls(&tapes[1], evidence, meter, &mut |step, ns| all.note(step, ns));
            [untimed.answer, timed]
        });
        let mut judge = Judge::default();
        for ((tape, answer), expected) in tapes.iter().zip(&answers).zip(expected) {
            judge.judge(structure, tape, answer, expected)?;
        }
    }
    Ok(all)
}

fn rows(
    structure: &'static Structure,
    pattern: Pattern,
    population: usize,
    calls: &Calls,
) -> impl Iterator<Item = Row> {
    let row = move |(call, times): (Call, &[u64])| {
        Times::read(times).map(|times| Row { structure, pattern, population, call, times })
    };
    calls.iter().filter_map(row)
}

#[cfg(test)]
mod tests;
