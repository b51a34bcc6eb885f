//! `tickwright recommend`: which structure for the timers of this program?
//!
//! The workload is replayed on all structures that could serve it. The verdict rests on these rows
//! alone. Where timers take a negligible share of a CPU, the verdict says so.

mod ask;
mod data;
mod verdict;

use core::time::Duration;
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind};
use std::path::{Path, PathBuf};

use clap::Args;

use self::data::{Criteria, Data, Plan};
use super::input::Input;
use super::replay::{self, Data as Replayed, Plan as ReplayPlan, ReplaySettings};
use super::samples;
use crate::error::LabError;
use crate::experiment::{Experiment, Lab, Parameters};
use crate::interrupt;
use crate::output::OutputArgs;
use crate::output::text::plain;
use crate::result::{Finding, Section, Series};
use crate::structures::registry;

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
    #[arg(long, value_name = "STRUCTURE", default_value = "binary-heap")]
    pub(crate) current: String,
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

/// A program with more timers is simulated with this many copies of the trace.
const SCALES: [u32; 3] = [4, 16, 64];

/// Replays of copies have about this number of operations at most, of all copies together: of a
/// longer trace the beginning is copied.
const MOST_OPERATIONS: u64 = 1_000_000;

impl RecommendArgs {
    fn source(&self) -> Result<(Input, String), LabError> {
        let seed = self.settings.seed.get();
        let Some(path) = &self.source else {
            return Ok((Input::Made(ask::workload()?.events(seed)), "your answers".into()));
        };
        let input = Input::of(path, &self.base, seed)?;
        let name = path.display().to_string();
        let name = match &input {
            Input::Made(_) => name,
            Input::File { .. } => format!("{name} (CRC-32 {:08x})", checksum(path)?),
        };
        Ok((input, plain(&name)))
    }
}

/// Returns what is copied: the whole trace, or its beginning if `scale` copies of the whole trace
/// have too many operations. `None`: the beginning would consist mostly of the initial timers.
fn to_copy(input: &Input, own: &Replayed, scale: u32) -> Result<Option<Input>, LabError> {
    let most = MOST_OPERATIONS / u64::from(scale.max(1));
    let copies = u64::from(own.scale.max(1));
    match input {
        Input::File { path, bases } if own.counts.operations().div_ceil(copies) <= most => {
            Ok(Some(Input::File { path: path.clone(), bases: bases.clone() }))
        }
        _ if most < own.initial / copies * 5 / 4 => Ok(None),
        input => Ok(Some(Input::Made(input.first(most)?))),
    }
}

/// The CRC-32 of a file, or of a recording of this program.
fn checksum(path: &Path) -> Result<u32, LabError> {
    let mut sum = crc32fast::Hasher::new();
    if let Some(Ok(sample)) = samples::find(path) {
        sum.update(sample.bytes);
        return Ok(sum.finalize());
    }
    let failed = |error| LabError::io(format!("reading {}", path.display()), error);
    let mut file = BufReader::with_capacity(1 << 16, File::open(path).map_err(failed)?);
    loop {
        let read = match file.fill_buf() {
            Ok([]) => return Ok(sum.finalize()),
            Ok(bytes) => {
                sum.update(bytes);
                bytes.len()
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => 0,
            Err(error) => return Err(failed(error)),
        };
        file.consume(read);
    }
}

impl Experiment for RecommendArgs {
    type Plan = Plan;
    type Data = Data;

    fn name(&self) -> String {
        "recommend".into()
    }

    fn plan(&self) -> Result<Plan, LabError> {
        let current = registry::find(&self.current)?;
        let mut structures = registry::select(&self.structures)?;
        if !structures.contains(&current) {
            structures.push(current);
        }
        let (input, source) = self.source()?;
        let criteria = Criteria {
            no_alloc: self.no_alloc,
            bytes: self.bytes,
            late_ns: self.late.map(|late| late.as_nanos() as f64),
            horizon_ns: self.horizon.map_or(0, |away| away.as_nanos() as u64),
            negligible: self.negligible,
        };
        Ok(Plan { replay: self.settings.plan(input, structures), current, criteria, source })
    }

    fn parameters(&self, plan: &Plan) -> Parameters {
        let mut parameters = plan.replay.parameters();
        parameters.insert("source".into(), plan.source.clone().into());
        parameters.insert("current".into(), plan.current.id.into());
        parameters
    }

    fn seed(&self, plan: &Plan) -> Option<u64> {
        Some(plan.replay.seed)
    }

    fn run(&self, plan: &Plan, lab: &mut Lab<'_>) -> Result<Data, LabError> {
        let own = replay::run(&plan.replay, lab)?;
        let mut more = Vec::new();
        // The questions about more timers need fewer structures and rounds.
        let mut notes = core::mem::take(&mut lab.notes);
        let rivals = verdict::finalists(&own, &plan.criteria, plan.current);
        for scale in SCALES.map(|scale| scale.saturating_mul(self.settings.scale)) {
            if lab.interrupted || interrupt::requested() {
                break;
            }
            let Some(input) = to_copy(&plan.replay.input, &own, scale)? else {
                notes.push(format!("not replayed with {scale} copies: it would take too many operations"));
                break;
            };
            let scaled = ReplayPlan {
                scale,
                rounds: 6,
                within: Duration::from_secs(2),
                structures: rivals.clone(),
                tick_ns: Some(own.tick_ns),
                ..ReplayPlan { input, ..self.settings.plan(Input::Made(Vec::new()), Vec::new()) }
            };
            // What was measured before counts, whatever happens to the copies.
            match replay::run(&scaled, lab) {
                // The beginning of a long trace is copied. It must have as many timers.
                Ok(data) if data.profile.population.mean < 0.75 * own.profile.population.mean => {
                    notes
                        .push(format!("not replayed with {scale} copies: it would take too many operations"));
                    break;
                }
                Ok(data) => more.push(data),
                Err(LabError::Interrupted) => lab.interrupted = true,
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
        replay::series(&data.own)
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
