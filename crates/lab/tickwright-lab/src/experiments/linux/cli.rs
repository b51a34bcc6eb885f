//! `tickwright reproduce linux` as an experiment.

use core::time::Duration;

use clap::{Args, ValueEnum};

use super::counts::Counts;
use super::network::{ENDS, Kind, Network, Traffic};
use super::oracle::BEYOND;
use super::published::FILE;
use super::run::{self, Data, Part, Plan};
use super::simple::{STEP_MS, Virtual, Workload};
use super::subject::Column;
use super::{findings, tables};
use crate::duration;
use crate::error::LabError;
use crate::experiment::{Experiment, Lab, Parameters};
use crate::experiments::{request, row};
use crate::models::scenario::{Rounds, Seed, Within};
use crate::result::{Better, Finding, Label, Labels, Section, Series, Unit, labels};

/// Timers of the simple test.
type Timers = Within<1, 1_000_000>;
/// Connections of the server.
type Connections = Within<1, 10_000>;
type Response = Within<8, 100_000_000>;
/// Milliseconds of a pause.
type Pause = Within<0, 3_600_000>;
/// Megabits per second.
type Line = Within<1, 1_000_000>;

/// Linux's mod_timer experiment of 2016: how many re-arms can stay in their bucket, and without the
/// lock?
#[derive(Debug, Clone, Args)]
pub(crate) struct LinuxArgs {
    /// What to run [default: all]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "PARTS")]
    only: Vec<Part>,

    /// Clock rate of the simulated kernel, in ticks per second
    #[arg(long, value_parser = ["100", "250", "300", "1000"], default_value = "1000")]
    hz: String,

    /// Time for each way of re-arming, in each of the two tests
    #[arg(long, allow_hyphen_values = true, value_parser = duration::parse, default_value = "3s")]
    duration: Duration,

    /// Simple: number of pending timers
    #[arg(long, allow_hyphen_values = true, default_value = "1k", value_parser = Timers::parse)]
    n: Timers,

    /// Simple: delay of each re-arm; must be below the last level of the wheel
    #[arg(long, allow_hyphen_values = true, default_value = "1s", value_parser = duration::parse)]
    delay: Duration,

    /// Simple: mean time between two re-arms of a timer, in ms
    #[arg(long, allow_hyphen_values = true, default_value_t = STEP_MS, value_parser = step)]
    step: f64,

    /// Networking: number of connections
    #[arg(long, allow_hyphen_values = true, default_value = "200", value_parser = Connections::parse)]
    connections: Connections,

    /// Networking: size of a response, in bytes
    #[arg(long, allow_hyphen_values = true, default_value = "524288", value_parser = Response::parse)]
    response: Response,

    /// Networking: a client's mean pause before its next request, in ms
    #[arg(long, allow_hyphen_values = true, default_value = "2000", value_parser = Pause::parse)]
    pause: Pause,

    /// Networking: rate of the server's line, in Mbit/s
    #[arg(long, allow_hyphen_values = true, default_value = "1000", value_parser = Line::parse)]
    line: Line,

    /// Cost: samples per column and number of threads; with fewer than 6, no difference can be
    /// shown
    #[arg(long, allow_hyphen_values = true, default_value = "25", value_parser = Rounds::parse)]
    rounds: Rounds,

    /// Seed of all random choices
    #[arg(long, allow_hyphen_values = true, default_value = "0", value_parser = Seed::parse)]
    seed: Seed,
}

fn step(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(step) if (0.001..=3_600_000.0).contains(&step) => Ok(step),
        _ => Err(format!("'{text}' is not a number of ms from 0.001 to 3600000")),
    }
}

impl Experiment for LinuxArgs {
    type Plan = Plan;
    type Data = Data;

    fn name(&self) -> String {
        "reproduce linux".into()
    }

    fn plan(&self) -> Result<Plan, LabError> {
        // The parser accepts only numbers.
        let hz = self.hz.parse().unwrap_or(1000);
        let seed = self.seed.get();
        let work = Workload {
            timers: self.n.get() as usize,
            hz,
            delay_ms: u64::try_from(self.delay.as_millis()).unwrap_or(u64::MAX),
            step_ms: self.step,
            seed,
        };
        if work.delay() >= BEYOND {
            return Err(LabError::usage(format!(
                "--delay is beyond the last level of the wheel: less than {} s at {hz} ticks a second",
                BEYOND / hz
            )));
        }
        let parts = Part::value_variants().iter().copied();
        let parts: Vec<Part> =
            parts.filter(|part| self.only.is_empty() || self.only.contains(part)).collect();
        let traffic = Traffic {
            connections: self.connections.get() as usize,
            response: self.response.get() as usize,
            pause_ms: self.pause.get(),
            line_mbits: self.line.get(),
            hz,
            seed,
        };
        let rounds = self.rounds.get() as usize;
        Ok(Plan { parts, work, traffic, lasts: self.duration, rounds, published: row::published(FILE)? })
    }

    fn parameters(&self, plan: &Plan) -> Parameters {
        let names: Vec<String> = plan.parts.iter().map(request::word).collect();
        let Plan { work, traffic, .. } = plan;
        request::parameters([
            ("only", names.join(",").into()),
            ("hz", work.hz.into()),
            ("duration", duration::show(plan.lasts).into()),
            ("n", work.timers.into()),
            ("delay_ms", work.delay_ms.into()),
            ("step_ms", work.step_ms.into()),
            ("connections", traffic.connections.into()),
            ("response", traffic.response.into()),
            ("pause_ms", traffic.pause_ms.into()),
            ("line_mbits", traffic.line_mbits.into()),
            ("rounds", plan.rounds.into()),
        ])
    }

    fn seed(&self, plan: &Plan) -> Option<u64> {
        Some(plan.work.seed)
    }

    fn run(&self, plan: &Plan, lab: &mut Lab<'_>) -> Result<Data, LabError> {
        verify()?;
        run::run(plan, lab)
    }

    fn series(&self, _: &Plan, data: &Data) -> Vec<Series> {
        let mut all = Vec::new();
        let of = |column: Column, more: &[(&str, Label)]| -> Labels {
            let mut all = labels([("way", column.title().into())]);
            all.extend(more.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
            all
        };
        let one = |name: &str, unit, of: &Labels, value: f64| {
            Series::new(name, unit, of.clone()).better(Better::Neither).of([value])
        };
        let counted = |of: &Labels, counts: &Counts| {
            counts.named().map(|(name, count)| one(name, Unit::Count, of, count as f64))
        };
        for outcome in &data.simple {
            let of = of(outcome.column, &[("test", "simple".into())]);
            all.extend(counted(&of, &outcome.counts));
            all.push(one("late", Unit::Count, &of, outcome.late as f64));
            all.push(one("fired", Unit::Count, &of, outcome.fired as f64));
        }
        for run in &data.network {
            for (end, kinds) in ENDS.into_iter().zip(&run.kinds).rev() {
                for (kind, counts) in Kind::ALL.into_iter().zip(kinds) {
                    let timers = format!("{end}, {}", kind.name()).into();
                    let of = of(run.server.column, &[("test", "network".into()), ("timers", timers)]);
                    all.extend(counted(&of, counts));
                    let matched = counts.match_percent();
                    all.extend(matched.map(|matched| one("matched", Unit::Percent, &of, matched)));
                }
            }
            let of = of(run.server.column, &[("test", "network".into())]);
            all.push(one("exchanges", Unit::Count, &of, run.carried.exchanges as f64));
        }
        for cost in &data.costs {
            let of = of(cost.column, &[("threads", cost.threads.into())]);
            let cost = Series::new("re-arm", Unit::Ns, of).of(cost.samples.iter().copied());
            all.push(cost.per("re-arm").beside("way", Column::Locked.title()));
        }
        all
    }

    fn findings(&self, plan: &Plan, data: &Data) -> Vec<Finding> {
        findings::of(plan, data)
    }

    fn sections(&self, plan: &Plan, data: &Data, findings: &[Finding]) -> Vec<Section> {
        tables::sections(plan, data, &self.series(plan, data), findings)
    }
}

/// Checks every way of re-arming against the oracle in virtual time. Nothing is timed.
///
/// # Errors
/// If a check fails. The error describes what is wrong.
fn verify() -> Result<(), LabError> {
    for hz in [100, 250, 300, 1000] {
        for delay_ms in [1, 40, 200, 1000, 60_000, 7_200_000] {
            let work = Workload { timers: 50, hz, delay_ms, step_ms: STEP_MS, seed: 1 };
            for column in Column::ALL {
                Virtual { work: &work, column, rearms: 2000 }.run()?;
            }
        }
    }
    let traffic =
        Traffic { connections: 8, response: 65_536, pause_ms: 0, line_mbits: 100_000, hz: 1000, seed: 1 };
    for column in Column::ALL {
        let lasts = Duration::from_secs(60);
        Network { traffic: &traffic, column, lasts, most: 100 }.run()?;
    }
    Ok(())
}
