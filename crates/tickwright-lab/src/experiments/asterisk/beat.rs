//! Is there a beat in the load? Thousands of short calls a second on the real clock, and what the
//! scheduler ran in each interval.
//!
//! A reviewer of 2009 saw the load near saturation go in waves while very short calls were set up
//! and taken down, and asked whether a harmonic of the scheduler could be the cause. [`calls`] is
//! such a load; [`periodicity`] looks for a period in the entries run per interval and in their
//! lateness, against the same series shuffled.

mod calls;
mod periodicity;
mod plot;

use core::time::Duration;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use tickwright::service::Structure;

pub(crate) use self::calls::Load;
use self::calls::{Counts, Ran};
use self::periodicity::Search;
use crate::duration;
use crate::error::LabError;
use crate::host::Host;
use crate::interrupt;
use crate::models::scenario::Seed;
use crate::output::{OutputArgs, RowsFile, Run};
use crate::render::spark;
use crate::structures::registry;

/// Looks for a beat: runs thousands of short calls a second on the real clock.
#[derive(Debug, Clone, Args)]
pub(crate) struct BeatArgs {
    /// How long calls arrive; the first fifth, at most 3s, fills the exchange and is not looked at
    #[arg(long, allow_hyphen_values = true, value_parser = duration::parse, default_value = "10s")]
    duration: Duration,

    /// Calls a second, at random
    #[arg(long, value_name = "RATE", allow_hyphen_values = true, default_value = "2000", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    calls: u32,

    /// Entries are counted in intervals of this length
    #[arg(long, allow_hyphen_values = true, value_parser = duration::parse, default_value = "10ms")]
    interval: Duration,

    /// The structure of the scheduler
    #[arg(long, default_value = "heap4", value_parser = registry::family)]
    structure: Structure,

    /// Write a plot of entries, lateness and autocorrelation
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,

    /// What calls follow from
    #[arg(long, allow_hyphen_values = true, value_parser = Seed::parse)]
    seed: Option<Seed>,

    #[command(flatten)]
    output: OutputArgs,
}

/// One interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Interval {
    /// When it began, in ms from the first call.
    pub(crate) at_ms: f64,
    /// Entries run.
    pub(crate) entries: u64,
    /// How late they ran, in us.
    pub(crate) late_mean_us: f64,
    pub(crate) late_max_us: f64,
}

/// What was seen.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Beat {
    pub(crate) structure: &'static str,
    pub(crate) calls_per_second: u32,
    pub(crate) interval_ms: f64,
    pub(crate) counts: Counts,
    pub(crate) intervals: Vec<Interval>,
    pub(crate) entries: Search,
    pub(crate) lateness: Search,
}

/// Runs it. An interruption ends it early.
///
/// # Errors
/// Calls that are not accounted for.
pub(crate) fn run(load: &Load) -> Result<Beat, LabError> {
    let (ran, counts) = calls::run(load)?;
    let intervals = intervals(load, &ran);
    let series = |of: fn(&Interval) -> f64| intervals.iter().map(of).collect::<Vec<_>>();
    Ok(Beat {
        structure: load.structure.id(),
        calls_per_second: load.calls,
        interval_ms: load.interval.as_secs_f64() * 1e3,
        counts,
        entries: periodicity::search(&series(|interval| interval.entries as f64), load.seed),
        lateness: periodicity::search(&series(|interval| interval.late_mean_us), load.seed),
        intervals,
    })
}

/// The whole intervals between the warm-up and the last run.
fn intervals(load: &Load, ran: &[Ran]) -> Vec<Interval> {
    let length = u64::try_from(load.interval.as_nanos()).unwrap_or(u64::MAX).max(1);
    let from = u64::try_from(load.warm_up().as_nanos()).unwrap_or(u64::MAX);
    let last = ran.last().map_or(0, |ran| ran.at_ns);
    let count = last.saturating_sub(from) / length;
    let mut found: Vec<Interval> = (0..count)
        .map(|at| Interval {
            at_ms: (from + at * length) as f64 / 1e6,
            entries: 0,
            late_mean_us: 0.0,
            late_max_us: 0.0,
        })
        .collect();
    for ran in ran {
        let Some(since) = ran.at_ns.checked_sub(from) else { continue };
        let Some(interval) = found.get_mut((since / length) as usize) else { continue };
        let late = ran.late_ns as f64 / 1e3;
        interval.entries += 1;
        interval.late_mean_us += (late - interval.late_mean_us) / interval.entries as f64;
        interval.late_max_us = interval.late_max_us.max(late);
    }
    found
}

/// Columns of a plot on the terminal.
const WIDTH: usize = 80;

impl Beat {
    pub(crate) fn text(&self) -> String {
        let Counts { begun, completed, given_up, retransmitted, live } = self.counts;
        let series = |of: fn(&Interval) -> f64| self.intervals.iter().map(of).collect::<Vec<_>>();
        let (entries, late) = (series(|i| i.entries as f64), series(|i| i.late_mean_us));
        let most = self.intervals.iter().map(|i| i.late_max_us).fold(0.0, f64::max);
        format!(
            "Is there a beat? {} calls a second over {}: {begun} begun, {completed} completed, {given_up} given up, {retransmitted} \
             retransmissions, {live} under way at the end\n\
             {} intervals of {} ms\n\
             entries run    {}  {:.0} on average\n\
             mean lateness  {}  {:.0} us on average, {most:.0} us at most\n\
             entries run: {}.\nlateness: {}.",
            self.calls_per_second,
            self.structure,
            self.intervals.len(),
            self.interval_ms,
            spark(&entries, WIDTH),
            mean(&entries),
            spark(&late, WIDTH),
            mean(&late),
            self.entries.words(self.interval_ms),
            self.lateness.words(self.interval_ms),
        )
    }

    /// A plot of all of it.
    fn svg(&self) -> String {
        let series = |of: fn(&Interval) -> f64| self.intervals.iter().map(of).collect::<Vec<_>>();
        plot::svg(&[
            (format!("entries run in {} ms", self.interval_ms), series(|i| i.entries as f64)),
            ("mean lateness, us".into(), series(|i| i.late_mean_us)),
            ("greatest lateness, us".into(), series(|i| i.late_max_us)),
            (
                format!("autocorrelation of entries, by lags of {} ms", self.interval_ms),
                self.entries.autocorrelation.clone(),
            ),
            (
                format!("autocorrelation of lateness, by lags of {} ms", self.interval_ms),
                self.lateness.autocorrelation.clone(),
            ),
        ])
    }
}

fn mean(series: &[f64]) -> f64 {
    series.iter().sum::<f64>() / series.len().max(1) as f64
}

/// The report of `sched beat`.
#[derive(Debug, Serialize)]
struct Report {
    beat: Beat,
    notes: Vec<String>,
}

impl BeatArgs {
    /// Runs it and prints the report.
    ///
    /// # Errors
    /// A request that cannot be served, calls that are not accounted for, or Ctrl-C.
    pub(crate) fn execute(&self) -> Result<(), LabError> {
        let load = Load {
            lasts: self.duration,
            calls: self.calls,
            interval: self.interval,
            structure: self.structure,
            seed: self.seed.map_or(0, Seed::get),
        };
        if load.interval > (load.lasts - load.warm_up()) / 16 {
            return Err(LabError::usage(
                "--interval is too long: at least 16 of them in four fifths of --duration",
            ));
        }
        let files = self.output.open()?;
        let svg = self.svg.as_deref().map(|path| RowsFile::open("--svg", path, &self.output)).transpose()?;
        let host = Host::read();
        let notes = host.doubts();
        let beat = run(&load)?;
        let interrupted = interrupt::requested();
        let report = Report { beat, notes };
        let text = || {
            let notes: String = report.notes.iter().map(|note| format!("note   {note}\n")).collect();
            format!("{host}\n{notes}\n{}\n", report.beat.text())
        };
        let finished = files.finish(Run { interrupted, host: &host }, text, &report, &report.beat.intervals);
        if let Some(svg) = svg {
            svg.text(&report.beat.svg())?;
        }
        finished
    }
}

#[cfg(test)]
mod tests;
