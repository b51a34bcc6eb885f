//! Deadlines that an attacker chooses: what does the worst single call cost, beside the median one?
//!
//! Who may choose deadlines, as the clients of a server may, looks for the call that stalls
//! everybody. Each call is timed alone. A stall of the machine hits a call once, and the
//! structure's own cost comes back in every round: so the least of a call's rounds counts.
//!
//! - [`pattern`]: the deadlines; [`attack`]: the calls, one by one; [`report`]: what comes of them

pub(crate) mod attack;
pub(crate) mod pattern;
pub(crate) mod report;

use serde::Serialize;

use crate::adversary::attack::{Attack, Call, Calls, Part};
use crate::adversary::pattern::Pattern;
use crate::allocator;
use crate::candidate::Candidate;
use crate::clock::{Calibration, Meter, calibrate};
use crate::error::LabError;
use crate::host::Host;
use crate::output::{SCHEMA, table};
use crate::progress::Progress;
use crate::registry::{self, Kind, Structure, Visitor};
use crate::rounds::Rounds;
use crate::verify::{Answer, Evidence, Fold, Judge, Log};

/// What to run.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    /// Patterns of structures.
    pub(crate) structures: Vec<String>,
    /// Kinds of deadlines.
    pub(crate) patterns: Vec<Pattern>,
    /// Timers of an attack.
    pub(crate) populations: Vec<usize>,
    /// How many timers an advance may deliver or move, where it has a budget.
    pub(crate) budget: usize,
    /// Times that each call is timed.
    pub(crate) rounds: u64,
    /// What orders and victims follow from.
    pub(crate) seed: u64,
}

/// The results.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Report {
    /// It was interrupted.
    #[serde(skip)]
    pub(crate) interrupted: bool,
    /// Where it ran.
    #[serde(skip)]
    pub(crate) host: Host,
    /// What its clock costs: each call carries one reading.
    pub(crate) clock: Calibration,
    /// Of an advance that has one.
    pub(crate) budget: usize,
    /// Times that each call was timed.
    pub(crate) rounds: u64,
    /// What orders and victims followed from.
    pub(crate) seed: u64,
    /// One per population, pattern, structure and kind of call.
    pub(crate) rows: Vec<Row>,
    /// What was not run, once per population, pattern and structure.
    pub(crate) skipped: Vec<Skipped>,
}

/// What was not run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Skipped {
    /// The structure.
    pub(crate) structure: &'static str,
    /// The kind of deadlines.
    pub(crate) pattern: Pattern,
    /// Timers.
    pub(crate) population: usize,
    /// Why.
    pub(crate) why: String,
}

/// One kind of call on one structure under one attack.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Row {
    /// See [`SCHEMA`].
    pub(crate) schema: u32,
    /// The structure.
    pub(crate) structure: &'static str,
    /// Whose it is.
    pub(crate) kind: Kind,
    /// The kind of deadlines.
    pub(crate) pattern: Pattern,
    /// Timers.
    pub(crate) population: usize,
    /// What was called.
    pub(crate) call: Call,
    /// Calls.
    pub(crate) calls: usize,
    /// Their median, ns, the clock's reading in it.
    pub(crate) median_ns: u64,
    /// The worst of them, ns.
    pub(crate) worst_ns: u64,
    /// The worst in medians; none where the clock did not see the median.
    pub(crate) ratio: Option<f64>,
}

/// Attacks every structure.
///
/// # Errors
/// Patterns that name nothing, and the first wrong answer. An interruption is no error here: the
/// report says that it is partial.
pub(crate) fn run(options: &Options, meter: &dyn Meter) -> Result<Report, LabError> {
    let chosen = registry::select(&options.structures)?;
    let mut report = Report {
        interrupted: false,
        host: Host::read(),
        clock: calibrate(meter),
        budget: options.budget,
        rounds: options.rounds,
        seed: options.seed,
        rows: Vec::new(),
        skipped: Vec::new(),
    };
    let steps = options.populations.len() * options.patterns.len();
    let progress = Progress::steps(steps as u64 * options.rounds, "adversary");
    for &population in &options.populations {
        for &pattern in &options.patterns {
            progress.doing(format!("{pattern} n={}", table::count(population)));
            let (able, skipped) = who(&chosen, pattern, population)?;
            report.skipped.extend(skipped);
            let most = able.iter().map(|structure| registry::bytes_per_timer(structure)).max().unwrap_or(0);
            allocator::room(most.saturating_mul(population), &format!("an attack of {population} timers"))?;
            let attack = Attack::new(pattern, population, options.budget, options.seed);
            let Some(calls) = rounds(&able, &attack, options, meter, &progress)? else {
                report.interrupted = true;
                return Ok(report);
            };
            for (structure, calls) in able.iter().zip(calls) {
                report.rows.extend(rows(structure, pattern, population, &calls));
            }
        }
    }
    Ok(report)
}

/// Who takes part, and who does not and why.
fn who(
    chosen: &[&'static Structure],
    pattern: Pattern,
    population: usize,
) -> Result<(Vec<&'static Structure>, Vec<Skipped>), LabError> {
    struct Horizon;
    impl Visitor for Horizon {
        type Out = u64;
        fn visit<C: Candidate>(self, _: &'static Structure) -> u64 {
            C::HORIZON
        }
    }
    let mut able = Vec::new();
    let mut skipped = Vec::new();
    for &structure in chosen {
        let horizon = registry::visit(structure, Horizon);
        let why = registry::why_not(structure, population)?.or_else(|| {
            (pattern.furthest(population) > horizon)
                .then(|| format!("it takes delays of {horizon} ticks at most"))
        });
        match why {
            None => able.push(structure),
            Some(why) => skipped.push(Skipped { structure: structure.id, pattern, population, why }),
        }
    }
    Ok((able, skipped))
}

/// The least time of each call of each structure; none when it was interrupted.
fn rounds(
    able: &[&'static Structure],
    attack: &Attack,
    options: &Options,
    meter: &dyn Meter,
    progress: &Progress,
) -> Result<Option<Vec<Calls>>, LabError> {
    let parts = Part::ALL.map(|part| (part, Judge::default().expect(&attack.script(part), Evidence::Fold)));
    let mut least: Vec<Option<Calls>> = vec![None; able.len()];
    let mut rounds = Rounds::new(options.rounds as usize, options.seed).without_warm_up();
    let taken = rounds.run(able.len(), |turn| {
        let structure = able[turn.lane];
        let calls = registry::visit(structure, Suffer { attack, parts: &parts, meter }).map_err(|wrong| {
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

/// One round of one structure: every part of the attack, each on a fresh queue.
struct Suffer<'a> {
    attack: &'a Attack,
    /// With what an exact structure answers.
    parts: &'a [(Part, Answer)],
    meter: &'a dyn Meter,
}

impl Visitor for Suffer<'_> {
    type Out = Result<Calls, String>;

    fn visit<C: Candidate>(self, structure: &'static Structure) -> Self::Out {
        let mut all = Calls::default();
        for (part, expected) in self.parts {
            let arena = C::arena(self.attack.population());
            let mut queue = C::queue(&arena, self.attack.population());
            let script = self.attack.script(*part);
            let (calls, answer) = match Evidence::of(structure, None) {
                Evidence::Fold => {
                    let mut fold = Fold::default();
                    let calls = self.attack.timed(*part, &mut queue, &mut fold, self.meter);
                    (calls, Answer::Folded(fold))
                }
                Evidence::Log => {
                    let mut log = Log::of(&script);
                    let calls = self.attack.timed(*part, &mut queue, &mut log, self.meter);
                    (calls, Answer::Logged(log))
                }
            };
            Judge::default().judge(structure, &script, &answer, expected)?;
            all.append(calls);
        }
        Ok(all)
    }
}

fn rows(
    structure: &'static Structure,
    pattern: Pattern,
    population: usize,
    calls: &Calls,
) -> impl Iterator<Item = Row> {
    let row = move |(call, times): (Call, &[u64])| {
        let mut times = times.to_vec();
        times.sort_unstable();
        let (median_ns, worst_ns) = (*times.get(times.len() / 2)?, *times.last()?);
        Some(Row {
            schema: SCHEMA,
            structure: structure.id,
            kind: structure.kind,
            pattern,
            population,
            call,
            calls: times.len(),
            median_ns,
            worst_ns,
            ratio: (median_ns > 0).then(|| worst_ns as f64 / median_ns as f64),
        })
    };
    calls.iter().filter_map(row)
}

#[cfg(test)]
mod tests;
