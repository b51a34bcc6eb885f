//! `tickwright bench --worst`: deadlines that an attacker chooses. How long is the worst single
//! call, compared with the median call?
//!
//! A client of a server can choose deadlines, and can search for a call that stalls all other
//! clients. Each call is timed separately. A stall of the machine delays a call in only one round,
//! whereas the structure's own cost occurs in every round. The result of a call is therefore its
//! least time over all rounds.
//!
//! - [`pattern`]: the deadlines; [`attack`]: the timed calls; [`times`]: their histograms;
//!   [`tables`]: the tables and plots of the report

mod attack;
mod pattern;
pub(super) mod tables;
mod times;

use std::path::Path;

use serde::Deserialize;

pub(super) use self::attack::Call;
use self::attack::{Attack, BYTES_PER_TIMER, Calls, Part};
pub(super) use self::pattern::Pattern;
use self::times::Times;
use crate::allocator;
use crate::clock::{FakeMeter, Meter};
use crate::error::LabError;
use crate::experiment::{Lab, Parameters};
use crate::experiments::request::{self, left_out};
use crate::models::live::with_one;
use crate::models::scenario::{self, Kind as FileKind, Operations, Population, Rounds as Repeats, Seed};
use crate::models::verify::Judge;
use crate::models::witness::{Answer, Evidence};
use crate::output::table::count;
use crate::output::text;
use crate::progress::Progress;
use crate::render::Format;
use crate::result::{Finding, Series, Unit, labels};
use crate::rounds::Rounds;
use crate::structures::registry::{self, Kind, Structure};

/// The attacks and their sizes as data: `scenarios/adversary.toml` or a file of the same form. The
/// arguments of the command override the file.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Attacks {
    #[serde(rename = "name", deserialize_with = "text::deserialize")]
    _name: String,
    #[serde(rename = "title", deserialize_with = "text::deserialize")]
    _title: String,
    /// Explanation of the attacks, in prose.
    #[serde(default, rename = "analysis", deserialize_with = "text::deserialize")]
    _analysis: String,
    pub(super) patterns: Vec<Pattern>,
    /// The numbers of timers.
    pub(super) populations: Vec<Population>,
    /// The most timers that an advance with a budget is allowed to deliver or move.
    pub(super) budget: Operations,
    /// The number of times that each call is timed.
    pub(super) rounds: Repeats,
    pub(super) seed: Seed,
    /// Patterns of structures, as `--structures` accepts them.
    pub(super) structures: Vec<String>,
}

impl Attacks {
    /// Returns the attacks of the file that `words` name, or of the built-in file if there are no
    /// words.
    ///
    /// # Errors
    /// If there are several words, if a word names a scenario that is timed, or if the file cannot
    /// be read or has a mistake.
    pub(super) fn choose(words: &[String]) -> Result<Self, LabError> {
        match words {
            [] => Self::built_in(),
            [own] if own == "adversary" => Self::built_in(),
            [file] if file.contains(['.', '/']) => Self::parse(file, &scenario::read(Path::new(file))?),
            _ => Err(LabError::usage(format!(
                "--worst has deadlines of its own: leave '{}' out, or name one file of the form that \
                 `tickwright list --scenario adversary` prints",
                words.join(" ")
            ))),
        }
    }

    pub(super) fn built_in() -> Result<Self, LabError> {
        let text = include_str!("../../../../../../scenarios/adversary.toml");
        Self::parse("scenarios/adversary.toml", text)
    }

    /// Parses the text of a file; `file` is the file's name in messages.
    fn parse(file: &str, text: &str) -> Result<Self, LabError> {
        let own: Self =
            scenario::parse(file, text).map_err(|error| FileKind::Attacks.mistaken(file, text, error))?;
        let empty = [("patterns", own.patterns.is_empty()), ("populations", own.populations.is_empty())];
        match empty.iter().find(|(_, empty)| *empty) {
            Some((key, _)) => {
                Err(LabError::usage(format!("{file}: '{key}' is empty; it needs at least one entry")))
            }
            None => Ok(own),
        }
    }
}

/// What to run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Plan {
    pub(super) structures: Vec<&'static Structure>,
    pub(super) patterns: Vec<Pattern>,
    pub(super) populations: Vec<usize>,
    pub(super) budget: usize,
    pub(super) rounds: usize,
    pub(super) seed: u64,
}

impl Plan {
    /// Plans the attacks of a file.
    pub(super) fn new(own: &Attacks) -> Result<Self, LabError> {
        Ok(Self {
            structures: registry::select(&own.structures)?,
            patterns: request::once(&own.patterns),
            populations: request::sizes(&own.populations),
            budget: usize::try_from(own.budget.get()).unwrap_or(usize::MAX),
            rounds: own.rounds.get() as usize,
            seed: own.seed.get(),
        })
    }

    pub(super) fn parameters(&self) -> Parameters {
        request::parameters([
            ("structures", request::ids(&self.structures).into()),
            ("pattern", request::names(&self.patterns).into()),
            ("n", request::list(&self.populations).into()),
            ("budget", self.budget.into()),
            ("rounds", self.rounds.into()),
        ])
    }

    /// Returns all attacks, in order.
    fn attacks(&self) -> impl Iterator<Item = (usize, Pattern)> {
        self.populations.iter().flat_map(|n| self.patterns.iter().map(move |pattern| (*n, *pattern)))
    }
}

/// The measurements.
#[derive(Debug, Clone, Default)]
pub(crate) struct Data {
    /// A row for each population, pattern, structure and kind of call.
    pub(super) rows: Vec<Row>,
    /// An entry for each population, pattern and structure that was not run.
    skipped: Vec<(Pattern, usize, &'static str, String)>,
}

/// One kind of call on one structure under one attack.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row {
    pub(super) structure: &'static Structure,
    pub(super) pattern: Pattern,
    population: usize,
    pub(super) call: Call,
    times: Times,
}

impl Row {
    pub(super) fn worst_ns(&self) -> u64 {
        self.times.worst_ns
    }

    /// Returns the [`FIGURES`], in ns.
    fn figures(&self) -> [u64; FIGURES.len()] {
        let times = &self.times;
        [times.median_ns(), times.longer_in(100.0), times.longer_in(1e4), times.worst_ns]
    }
}

/// The figures of each kind of call.
pub(super) const FIGURES: [&str; 4] = ["median", "p99", "p99.99", "worst"];

impl Data {
    /// Returns the chosen [`FIGURES`] of each kind of call. A report of all times would have
    /// millions of figures.
    pub(super) fn series(&self, figures: &[&str]) -> impl Iterator<Item = Series> {
        self.rows.iter().flat_map(move |row| {
            let chosen =
                FIGURES.into_iter().zip(row.figures()).filter(|(figure, _)| figures.contains(figure));
            chosen.map(|(figure, ns)| {
                let of = labels([
                    ("structure", row.structure.id.into()),
                    ("pattern", row.pattern.to_string().into()),
                    ("n", row.population.into()),
                    ("figure", figure.into()),
                    ("calls", row.times.calls.into()),
                ]);
                Series::new(row.call.name(), Unit::Ns, of).per("call").of([ns as f64])
            })
        })
    }

    /// Returns the structures that were not run in the attacks that `of` accepts, with the reasons.
    pub(super) fn left_out(&self, of: impl Fn(usize, Pattern) -> bool) -> String {
        let skipped = self.skipped.iter().filter(|(pattern, n, ..)| of(*n, *pattern));
        left_out(skipped.map(|(_, n, id, why)| (*id, count(*n), why.clone())))
    }

    /// For each kind of deadlines, returns the worst call of our structures and of the baselines.
    /// An advance without a budget is left out, because the caller asks for all due timers at once.
    pub(super) fn findings(&self, plan: &Plan) -> Vec<Finding> {
        let worst = |n: usize, pattern: Pattern, kind: Kind, whose: &str| {
            let rows = self.rows.iter().filter(|row| row.pattern == pattern && row.population == n);
            let counted = rows.filter(|row| row.call != Call::Advance && row.structure.kind == kind);
            let worst = counted.max_by_key(|row| row.worst_ns())?;
            let about = format!("worst call, {pattern}, n={}, {whose}", count(n));
            let ns = Format::Span.write(worst.worst_ns() as f64);
            Some(Finding::stated(about, format!("{ns} ({}, {})", worst.structure.id, worst.call.name())))
        };
        let both = |(n, pattern)| {
            [(Kind::Ours, "ours"), (Kind::Baseline, "others")]
                .into_iter()
                .filter_map(move |(kind, whose)| worst(n, pattern, kind, whose))
        };
        plan.attacks().flat_map(both).collect()
    }
}

/// Runs every attack on every structure.
///
/// # Errors
/// If an answer is wrong (the error describes the first wrong answer) or the system refuses memory.
/// An interruption is noted in `lab`.
pub(super) fn run(plan: &Plan, lab: &mut Lab<'_>) -> Result<Data, LabError> {
    let mut data = Data::default();
    if plan.structures.is_empty() {
        return Ok(data);
    }
    let steps = plan.attacks().count() * plan.rounds;
    let progress = Progress::steps(steps as u64, "adversary");
    for (population, pattern) in plan.attacks() {
        progress.doing(format!("{pattern} n={}", count(population)));
        let mut able = Vec::new();
        for &structure in &plan.structures {
            match why_not(structure, pattern, population)? {
                None => able.push(structure),
                Some(why) => data.skipped.push((pattern, population, structure.id, why)),
            }
        }
        let most = able.iter().map(|structure| registry::facts(structure).bytes_per_timer).max().unwrap_or(0);
        let bytes = most.saturating_add(BYTES_PER_TIMER).saturating_mul(population);
        allocator::room(bytes, &format!("an attack of {population} timers"))?;
        let attack = Attack::new(pattern, population, plan.budget, plan.seed);
        let parts = expected(&attack);
        let mut least = vec![Calls::default(); able.len()];
        let mut rounds = Rounds::new(plan.rounds, plan.seed).without_warm_up();
        let taken = rounds.run(able.len(), |turn| {
            let structure = able[turn.lane];
            let calls = suffer(structure, &attack, &parts, lab.meter).map_err(|wrong| {
                LabError::failed(format!("{} answered wrongly under {pattern}: {wrong}", structure.id))
            })?;
            least[turn.lane].keep_least(calls);
            if turn.is_last_of(able.len()) {
                progress.step();
            }
            Ok::<_, LabError>(())
        })?;
        if taken.interrupted {
            lab.interrupted = true;
            break;
        }
        for (&structure, calls) in able.iter().zip(&least) {
            data.rows.extend(rows(structure, pattern, population, calls));
        }
    }
    Ok(data)
}

/// Returns why a structure is not attacked, or `None` if the structure is attacked.
fn why_not(
    structure: &'static Structure,
    pattern: Pattern,
    population: usize,
) -> Result<Option<String>, LabError> {
    let horizon = registry::facts(structure).horizon;
    let far = || format!("it takes delays of {horizon} ticks at most");
    let why = registry::why_not(structure, population)?;
    Ok(why.or_else(|| (pattern.furthest(population) > horizon).then(far)))
}

/// Returns each part of an attack, with the answers of an exact structure.
fn expected(attack: &Attack) -> [(Part, [Answer; 2]); 3] {
    Part::ALL.map(|part| {
        let mut judge = Judge::default();
        (part, attack.tapes(part).map(|tape| judge.expect(&tape, Evidence::Fold)))
    })
}

/// Runs one round of one structure: every part of the attack, each on a fresh queue.
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
