//! `tickwright reproduce linux`.

use core::time::Duration;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::cost;
use super::network::{Failure, Live, Logged, Replay, Share, Traffic};
use super::outcome::Column;
use super::published;
use super::report::{LogLine, Network, Replayed, Report, Simple};
use super::simple::{Real, STEP_MS, Virtual, Workload};
use super::sweep;
use crate::clock::{OsClock, calibrate};
use crate::duration;
use crate::error::LabError;
use crate::host::Host;
use crate::interrupt;
use crate::models::scenario::Seed;
use crate::output::{OutputArgs, RowsFile, Run};
use crate::progress::Progress;

/// A part of the experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Timers of one delay, re-armed at random
    Simple,
    /// Connections over loopback
    Network,
    /// Time per re-arm, with one thread and with two
    Cost,
    /// The simple test for every delay, step and HZ
    Sweep,
}

/// Linux's mod_timer experiment of 2016: how many re-arms can stay in their bucket, and without the
/// lock?
#[derive(Debug, Clone, Args)]
pub(crate) struct LinuxArgs {
    /// What to run [default: all]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "PARTS")]
    only: Vec<Part>,

    /// Ticks a second of the kernel that is played
    #[arg(long, value_parser = ["100", "250", "300", "1000"], default_value = "1000")]
    hz: String,

    /// Time for each way of re-arming, in each of the two tests
    #[arg(long, allow_hyphen_values = true, value_parser = duration::parse, default_value = "3s")]
    duration: Duration,

    /// Simple: how many timers
    #[arg(long, allow_hyphen_values = true, default_value = "1000", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    timers: u32,

    /// Simple: how far ahead a timer is re-armed; short of the last level of the wheel
    #[arg(long, allow_hyphen_values = true, default_value = "1s", value_parser = duration::parse)]
    delay: Duration,

    /// Simple: mean time between two re-arms of a timer, in ms
    #[arg(long, allow_hyphen_values = true, default_value_t = STEP_MS, value_parser = step)]
    step: f64,

    /// Networking: how many connections; each takes two open files
    #[arg(long, allow_hyphen_values = true, default_value = "200", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    connections: u32,

    /// Networking: bytes of a response
    #[arg(long, allow_hyphen_values = true, default_value_t = RESPONSE, value_parser = clap::value_parser!(u32).range(8..=100_000_000))]
    response: u32,

    /// Networking: a client's mean pause before its next request, in ms
    #[arg(long, allow_hyphen_values = true, default_value_t = PAUSE_MS, value_parser = clap::value_parser!(u32).range(0..=3_600_000))]
    pause: u32,

    /// Networking: rate of the server's line, in Mbit/s
    #[arg(long, allow_hyphen_values = true, default_value_t = LINE_MBITS, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    line: u32,

    /// Cost: rounds; below 6 no difference can be shown
    #[arg(long, allow_hyphen_values = true, default_value = "25", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    rounds: u32,

    /// Networking: write every re-arm as CSV: time, end, connection, timer, tick, deadline
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,

    /// What all random choices follow from
    #[arg(long, allow_hyphen_values = true, value_parser = Seed::parse)]
    seed: Option<Seed>,

    #[command(flatten)]
    output: OutputArgs,
}

/// What the clients of the networking test fetch, how often, and through what: the reasons stand in
/// its module.
const RESPONSE: u32 = 512 << 10;
const PAUSE_MS: u32 = 2000;
const LINE_MBITS: u32 = 1000;

/// Re-arms that each side notes for the replay: some seconds of traffic, 32 MB.
const NOTES: usize = 1_000_000;

/// Passes of a thread over its 64 timers in a sample of the cost.
const PASSES: u64 = 1500;

fn step(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(step) if (0.001..=3_600_000.0).contains(&step) => Ok(step),
        _ => Err(format!("'{text}' is not a number of ms from 0.001 to 3600000")),
    }
}

impl LinuxArgs {
    fn runs(&self, part: Part) -> bool {
        self.only.is_empty() || self.only.contains(&part)
    }

    fn hz(&self) -> u64 {
        // The parser admits numbers alone.
        self.hz.parse().unwrap_or(1000)
    }

    fn seed(&self) -> u64 {
        self.seed.map_or(0, Seed::get)
    }

    fn workload(&self) -> Result<Workload, LabError> {
        let delay_ms = u64::try_from(self.delay.as_millis()).unwrap_or(u64::MAX);
        let work = Workload {
            timers: self.timers as usize,
            hz: self.hz(),
            delay_ms,
            step_ms: self.step,
            seed: self.seed(),
        };
        if work.delay() >= super::oracle::BEYOND {
            let most = super::oracle::BEYOND * 1000 / work.hz / 1000;
            return Err(LabError::usage(format!(
                "--delay is beyond the last level of the wheel: less than {most} s at {} ticks a second",
                work.hz
            )));
        }
        Ok(work)
    }

    fn traffic(&self) -> Traffic {
        Traffic {
            connections: self.connections as usize,
            response: self.response as usize,
            pause_ms: self.pause.into(),
            line_mbits: self.line.into(),
            hz: self.hz(),
            seed: self.seed(),
        }
    }

    /// Runs it and prints the report.
    ///
    /// # Errors
    /// A request that cannot be served, a count that is not the oracle's, or Ctrl-C.
    pub(crate) fn execute(&self) -> Result<(), LabError> {
        let work = self.workload()?;
        let files = self.output.open()?;
        if self.log.is_some() && !self.runs(Part::Network) {
            return Err(LabError::usage(
                "--log is for networking: name it under --only too, or leave --log away",
            ));
        }
        let log = self.log.as_deref().map(|path| RowsFile::open("--log", path, &self.output)).transpose()?;
        let meter = OsClock::start();
        let host = Host::read();
        let mut report = Report::new(host, calibrate(&meter));
        let columns = Column::ALL.len() as u32;
        let tests = [Part::Simple, Part::Network].into_iter().filter(|part| self.runs(*part)).count() as u32;
        let progress = Progress::lasting(self.duration.saturating_mul(columns * tests), "linux");
        let mut past = Duration::ZERO;
        let mut next = |what: String| {
            progress.doing(what);
            progress.at(past);
            past += self.duration;
        };
        if self.runs(Part::Simple) {
            let mut outcomes = Vec::new();
            for column in Column::ALL {
                if interrupt::requested() {
                    break;
                }
                next(format!("simple, {}", column.title()));
                outcomes.push(column.run(Real { work: &work, column, lasts: self.duration })?);
            }
            report.simple = Some(Simple { published: published::SIMPLE, workload: work, outcomes });
        }
        if self.runs(Part::Network) {
            self.network(&mut report, log.as_ref(), &mut next)?;
        }
        drop(progress);
        if self.runs(Part::Cost) && !interrupt::requested() {
            report.costs = cost::run(&meter, self.rounds.into(), PASSES, self.seed())?;
        }
        if self.runs(Part::Sweep) && !interrupt::requested() {
            report.sweep = sweep::run(self.seed())?;
        }
        report.interrupted = interrupt::requested();
        let run = Run { interrupted: report.interrupted, host: &report.host };
        files.finish(run, || format!("{}\n{}", report.host, report.text()), &report, report.lines())?;
        // What was asked for alone was not run.
        if self.only == [Part::Network] && report.network.is_none() {
            return Err(LabError::usage(report.notes.join("; ")));
        }
        Ok(())
    }

    /// The networking test: each way of re-arming over sockets of its own, and then all on the
    /// traffic of the last one.
    fn network(
        &self,
        report: &mut Report,
        log: Option<&RowsFile>,
        next: &mut impl FnMut(String),
    ) -> Result<(), LabError> {
        let traffic = self.traffic();
        let notes = if log.is_some() { usize::MAX } else { NOTES };
        let (mut runs, mut lines, mut failed) = (Vec::new(), Vec::new(), None);
        for column in Column::ALL {
            if interrupt::requested() {
                break;
            }
            next(format!("networking, {}", column.title()));
            let live = Live { traffic: &traffic, column, lasts: self.duration, most: u64::MAX, notes };
            match column.run(live) {
                Ok(run) => {
                    if log.is_some() {
                        lines.extend(run.log.iter().map(|&entry| LogLine::new(column, entry)));
                    }
                    runs.push(run);
                }
                Err(failure) => {
                    failed = Some(failure);
                    break;
                }
            }
        }
        // Also when it failed: what was noted is not thrown away.
        if let Some(log) = log {
            log.write(interrupt::requested(), lines)?;
        }
        match failed {
            Some(Failure::NoSockets(error)) => {
                report.notes.push(format!("networking is left out: sockets: {error}"));
                return Ok(());
            }
            Some(wrong @ Failure::Wrong(_)) => return Err(LabError::failed(wrong.to_string())),
            None => {}
        }
        let traced = runs.last().map_or(&[][..], |run| &run.log);
        let replays = replay(traced).map_err(|failure| LabError::failed(failure.to_string()))?;
        report.network = Some(Network { published: published::NETWORK, traffic, runs, replays });
        Ok(())
    }
}

/// Every way of re-arming on the same traffic.
fn replay(log: &[Logged]) -> Result<Vec<Replayed>, Failure> {
    let all = |column: Column| {
        let on = |share| column.run(Replay { log, column, share });
        let [server, server_calls, both] = Share::ALL.map(on);
        Ok(Replayed { column, server: server?, server_calls: server_calls?, both: both? })
    };
    Column::ALL.into_iter().map(all).collect()
}

/// The experiment as a part of the tour, without the sweep.
///
/// # Errors
/// As [`LinuxArgs::execute`].
pub(crate) fn tour(within: Duration) -> Result<(), LabError> {
    let columns = Column::ALL.len() as u32;
    let args = LinuxArgs {
        only: vec![Part::Simple, Part::Network, Part::Cost],
        hz: "1000".into(),
        // A second of it is for the cost, and for opening sockets.
        duration: within.saturating_sub(Duration::from_secs(1)) / (2 * columns),
        timers: 1000,
        delay: Duration::from_secs(1),
        step: STEP_MS,
        connections: 200,
        response: RESPONSE,
        pause: PAUSE_MS,
        line: LINE_MBITS,
        rounds: 9,
        log: None,
        seed: None,
        output: OutputArgs::default(),
    };
    args.execute()
}

/// Every way of re-arming against the oracle in virtual time, and a few exchanges over real
/// sockets; nothing is timed.
///
/// # Errors
/// What is wrong.
pub(crate) fn check() -> Result<String, String> {
    let mut rearms = 0;
    for hz in sweep::HZ {
        for delay_ms in [1, 40, 200, 1000, 60_000, 7_200_000] {
            let work = Workload { timers: 50, hz, delay_ms, step_ms: STEP_MS, seed: 1 };
            for column in Column::ALL {
                let counts = column
                    .run(Virtual { work: &work, column, rearms: 2000 })
                    .map_err(|error| error.to_string())?;
                rearms += counts.rearms() + counts.started;
            }
        }
    }
    let traffic =
        Traffic { connections: 8, response: 65_536, pause_ms: 0, line_mbits: 100_000, hz: 1000, seed: 1 };
    let mut exchanges = 0;
    for column in Column::ALL {
        let live =
            Live { traffic: &traffic, column, lasts: Duration::from_secs(60), most: 100, notes: 10_000 };
        match column.run(live) {
            Ok(run) => {
                exchanges += run.exchanges;
                replay(&run.log).map_err(|failure| failure.to_string())?;
            }
            Err(Failure::NoSockets(error)) => {
                return Ok(format!("{rearms} re-arms as the oracle says; no sockets: {error}"));
            }
            Err(wrong @ Failure::Wrong(_)) => return Err(wrong.to_string()),
        }
    }
    Ok(format!("{rearms} re-arms as the oracle says, {exchanges} exchanges over sockets accounted for"))
}
