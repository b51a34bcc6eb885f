//! `tickwright recommend`: which structure suits the timers of this program?
//!
//! The workload is replayed on all structures that could serve it. The verdict uses only the
//! resulting rows. If timers use a negligible share of a CPU, the verdict says so.

mod ask;
mod data;
mod verdict;

use core::time::Duration;
use std::path::{Path, PathBuf};

use clap::Args;

use self::data::{Criteria, Data, Plan};
use super::input::Input;
use super::replay::{self, Data as Replayed, Limits, Plan as ReplayPlan, ReplaySettings};
use crate::error::LabError;
use crate::experiment::{Experiment, Lab, Parameters};
use crate::interrupt;
use crate::output::OutputArgs;
use crate::output::text::plain;
use crate::result::{Finding, Section, Series};
use crate::structures::registry::{self, Structure};

/// Arguments of `recommend`.
#[derive(Debug, Clone, Args)]
pub(crate) struct RecommendArgs {
    /// Trace (.twt, sample:NAME), or a profile (.toml). Without it you are asked four questions
    #[arg(value_name = "TRACE|PROFILE")]
    pub(crate) source: Option<PathBuf>,
    /// Take the timers of these queues alone, as the trace names them; `!NAME` leaves one out
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) base: Vec<String>,
    /// Structure that the program has now, as `tickwright list` names the nearest one
    /// [default: that of the library in the trace, else binary-heap]
    #[arg(long, value_name = "STRUCTURE")]
    pub(crate) current: Option<String>,
    /// Structures that may be recommended, as patterns: * matches anything, ! excludes
    #[arg(long, value_name = "PATTERNS", value_delimiter = ',', default_value = "*/slab,*/hook")]
    pub(crate) structures: Vec<String>,
    /// Recommend no structure that allocates
    #[arg(long)]
    pub(crate) no_alloc: bool,
    /// Recommend no structure that needs more bytes for a timer
    #[arg(long, value_name = "BYTES")]
    pub(crate) bytes: Option<u32>,
    /// Timers may be delivered late by this time
    #[arg(long, value_name = "DURATION", value_parser = super::tick)]
    pub(crate) late: Option<Duration>,
    /// Recommend no structure that cannot hold a timer this far away
    #[arg(long, value_name = "DURATION", value_parser = horizon)]
    pub(crate) horizon: Option<Duration>,
    /// Below this share of a CPU, in percent, the choice does not matter
    #[arg(long, value_name = "PERCENT", default_value = "1", value_parser = percent)]
    pub(crate) negligible: f64,
    #[command(flatten)]
    pub(crate) settings: ReplaySettings,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// Parses a horizon: from a nanosecond to 100 years.
fn horizon(text: &str) -> Result<Duration, String> {
    crate::duration::within::<1, 3_153_600_000_000_000_000>(text)
}

fn percent(text: &str) -> Result<f64, String> {
    let value = text.trim_end_matches('%').trim().parse::<f64>();
    value.ok().filter(|value| (0.0..=100.0).contains(value)).ok_or_else(|| "a number from 0 to 100".into())
}

/// The numbers of copies of the trace that simulate a program with more timers.
const SCALES: [u32; 3] = [4, 16, 64];

/// A recommendation takes at most this time, in addition to the time of `--within`.
const BESIDE: Duration = Duration::from_secs(35);

/// Parts of [`BESIDE`] after which phases end: the comparison of answers, then the rounds, then the
/// single calls. Rounds and calls also get the time of `--within`, and the replays of copies get
/// the remaining time.
const PARTS: [f64; 3] = [0.35, 0.45, 0.55];

/// At most this many events of a trace are described.
const MOST_EVENTS: u64 = 4_000_000;

/// At most this many events are made from a profile, not counting the timers that are pending at
/// its start.
const MADE: u64 = 250_000;

/// At most this many operations are replayed, not counting those that fill the queue.
const REPLAYED: u64 = 200_000;

/// At most this many operations of copies are replayed.
const COPIED: u64 = 100_000;

/// Families that are usually the fastest for at least one population.
const LIKELY: [&str; 5] = ["wheel", "heap4", "flat", "ladder", "fixed-delay"];

/// The number of rounds in a replay of copies.
const MORE_ROUNDS: usize = 9;

/// A replay of copies has at most about this number of operations, over all copies. Of a longer
/// trace, only the beginning is copied.
const MOST_OPERATIONS: u64 = 1_000_000;

impl RecommendArgs {
    fn source(&self) -> Result<(Input, String), LabError> {
        let seed = self.settings.seed.get();
        let Some(path) = &self.source else {
            let events = ask::workload()?.events(seed, MADE);
            return Ok((Input::Made(events), "your answers".into()));
        };
        let is_made = path.extension().is_some_and(|end| end == "toml");
        let most = if is_made { MADE } else { MOST_EVENTS };
        let input = Input::up_to(path, &self.base, seed, most)?;
        let name = path.display().to_string();
        let name = match &input {
            Input::Made(_) => name,
            Input::File { .. } => format!("{name} (CRC-32 {:08x})", input.checksum()?),
        };
        Ok((input, plain(&name)))
    }
}

/// Returns the structures in the order in which they are compared, because the time might not
/// suffice for all. One structure of each family comes first, then the other storage of each
/// family. The families that are usually the fastest come first. Without an allocator, structures
/// with the caller's nodes come first.
fn in_turn(structures: Vec<&'static Structure>, no_alloc: bool) -> Vec<&'static Structure> {
    let place = |structure: &&'static Structure| {
        let is_first = structure.id.ends_with("/hook") != no_alloc;
        let family = structure.id.split('/').next();
        let likely = LIKELY.iter().position(|likely| Some(*likely) == family);
        (is_first, likely.unwrap_or(LIKELY.len()))
    };
    let mut all = structures;
    all.sort_by_key(place);
    all
}

/// When the parts of a recommendation end.
#[derive(Debug, Clone, Copy)]
struct Schedule {
    /// A reading of the clock.
    begun: u64,
    within: Duration,
}

impl Schedule {
    /// Returns the reading of the clock at a part of [`BESIDE`], and at a part of `--within`.
    fn at(self, part: f64, of_within: f64) -> u64 {
        let time = BESIDE.mul_f64(part) + self.within.mul_f64(of_within);
        self.begun.saturating_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
    }

    /// Returns the limits for the workload itself, without copies.
    fn own(self) -> Limits {
        let [compared, timed, called] = PARTS;
        Limits {
            operations: REPLAYED,
            always: 2,
            compare_until: self.at(compared, 0.0),
            rounds_until: self.at(timed, 1.0),
            end: self.at(called, 1.0),
            whole: self.at(1.0, 1.0),
            needs_enough: true,
        }
    }

    /// Returns the limits of the next replay of copies, when `left` replays remain. Returns `None`
    /// if there is no time.
    fn copies(self, now: u64, left: usize) -> Option<Limits> {
        let whole = self.at(1.0, 1.0);
        let time = whole.checked_sub(now)? / left.max(1) as u64;
        let at = |percent: u64| now + time / 100 * percent;
        Some(Limits {
            operations: COPIED,
            always: 0,
            compare_until: at(50),
            rounds_until: at(90),
            end: at(100),
            whole,
            needs_enough: false,
        })
    }
}

/// Returns what is copied: the whole trace, or its beginning if `scale` copies of the whole trace
/// have too many operations. Returns `None` if the beginning would consist mostly of the initial
/// timers.
fn to_copy(input: &Input, own: &Replayed, scale: u32) -> Result<Option<Input>, LabError> {
    let most = MOST_OPERATIONS / u64::from(scale.max(1));
    let copies = u64::from(own.scale.max(1));
    match input {
        // The trace is too long, but its beginning might be short enough.
        Input::File { path, bases, most: read }
            if own.counts.operations().div_ceil(copies) <= most && own.is_whole() =>
        {
            Ok(Some(Input::File { path: path.clone(), bases: bases.clone(), most: *read }))
        }
        _ if most < own.initial / copies * 5 / 4 => Ok(None),
        input => Ok(Some(Input::Made(input.first(most)?))),
    }
}

impl Experiment for RecommendArgs {
    type Plan = Plan;
    type Data = Data;

    fn name(&self) -> String {
        "recommend".into()
    }

    fn plan(&self) -> Result<Plan, LabError> {
        let mut structures = registry::select(&self.structures)?;
        if let Some(id) = &self.current {
            registry::find(id)?;
        }
        let (input, source) = self.source()?;
        let (current, known_by) = data::current(self.current.as_deref(), &input.keepers()?);
        let current = registry::find(&current)?;
        structures.retain(|structure| *structure != current);
        let mut structures = in_turn(structures, self.no_alloc);
        structures.insert(0, current);
        let criteria = Criteria {
            no_alloc: self.no_alloc,
            bytes: self.bytes,
            late_ns: self.late.map(|late| late.as_nanos() as f64),
            horizon_ns: self.horizon.map_or(0, |away| away.as_nanos() as u64),
            negligible: self.negligible,
        };
        Ok(Plan { replay: self.settings.plan(input, structures), current, known_by, criteria, source })
    }

    fn parameters(&self, plan: &Plan) -> Parameters {
        let mut parameters = plan.replay.parameters();
        parameters.insert("source".into(), plan.source.clone().into());
        parameters.insert("current".into(), plan.current.id.into());
        parameters.insert("current_from".into(), plan.known_by.word().into());
        parameters
    }

    fn seed(&self, plan: &Plan) -> Option<u64> {
        Some(plan.replay.seed)
    }

    fn workload(&self, plan: &Plan) -> String {
        plan.replay.input.workload(self.seed(plan), &self.parameters(plan))
    }

    fn expected(&self, plan: &Plan) -> Vec<Series> {
        let made_up = |scale| replay::made_up(&plan.replay.structures, scale);
        let copies = SCALES.map(|scale| scale.saturating_mul(self.settings.scale));
        let copies = copies.into_iter().flat_map(|scale| verdict::series(&made_up(scale)));
        replay::series(&made_up(self.settings.scale)).into_iter().chain(copies).collect()
    }

    fn inputs(&self) -> Vec<&Path> {
        self.source.as_deref().into_iter().collect()
    }

    fn run(&self, plan: &Plan, lab: &mut Lab<'_>) -> Result<Data, LabError> {
        let schedule = Schedule { begun: lab.meter.now(), within: plan.replay.within };
        let own = replay::run(&plan.replay, Some(schedule.own()), lab)?;
        let mut more = Vec::new();
        // The replays with more timers need fewer structures and rounds.
        let mut notes = core::mem::take(&mut lab.notes);
        let rivals = verdict::finalists(&own, &plan.criteria, plan.current);
        let scales = SCALES.map(|scale| scale.saturating_mul(self.settings.scale));
        for (at, scale) in scales.into_iter().enumerate().filter(|_| !own.ranked().is_empty()) {
            if lab.interrupted || interrupt::requested() {
                break;
            }
            let late = format!("not replayed with {scale} copies, for lack of time");
            let Some(limits) = schedule.copies(lab.meter.now(), scales.len() - at) else {
                notes.push(late);
                break;
            };
            let Some(input) = to_copy(&plan.replay.input, &own, scale)? else {
                notes.push(format!("not replayed with {scale} copies: it would take too many operations"));
                break;
            };
            let scaled = ReplayPlan {
                scale,
                rounds: plan.replay.rounds.min(MORE_ROUNDS),
                within: Duration::from_secs(2),
                structures: rivals.clone(),
                tick_ns: Some(own.tick_ns),
                input,
                cold: plan.replay.cold,
                seed: plan.replay.seed,
            };
            // The figures that were already measured count, even if the replay of copies fails.
            match replay::run(&scaled, Some(limits), lab) {
                // Only the beginning of a long trace is copied. The copies count only if the
                // beginning has about as many pending timers as the trace.
                Ok(data) if data.profile.population.mean < 0.75 * own.profile.population.mean => {
                    notes
                        .push(format!("not replayed with {scale} copies: it would take too many operations"));
                    break;
                }
                Ok(data) if !data.ranked().is_empty() => more.push(data),
                Ok(_) => notes.push(late),
                Err(LabError::Interrupted) if interrupt::requested() => lab.interrupted = true,
                Err(LabError::Interrupted) => notes.push(late),
                Err(error) => {
                    notes.push(format!("not replayed with {scale} copies: {error}"));
                    break;
                }
            }
        }
        lab.notes.clear();
        lab.notes.append(&mut notes);
        Ok(Data { own, more })
    }

    fn series(&self, _: &Plan, data: &Data) -> Vec<Series> {
        let mut all = replay::series(&data.own);
        all.extend(data.more.iter().flat_map(verdict::series));
        all
    }

    fn findings(&self, plan: &Plan, data: &Data) -> Vec<Finding> {
        verdict::findings(plan, data)
    }

    fn sections(&self, plan: &Plan, data: &Data, findings: &[Finding]) -> Vec<Section> {
        verdict::sections(plan, data, findings)
    }
}

#[cfg(test)]
mod tests;
