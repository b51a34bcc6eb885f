//! `tickwright reproduce asterisk-beat`: is there a beat in the load? The experiment runs thousands
//! of short calls a second on the real clock. It counts the entries that the scheduler ran in each
//! interval.
//!
//! A reviewer of 2009 set up and ended very short calls. Near saturation, the load went in waves.
//! The reviewer asked whether a harmonic of the scheduler could be the cause. [`calls`] is such a
//! load. [`periodicity`] looks for a period in the entries run per interval and in their lateness.
//! It compares each series with the same series shuffled.

mod calls;
mod periodicity;

use core::time::Duration;

use clap::Args;
use tickwright::service::Structure;

pub(crate) use self::calls::Load;
use self::calls::{Counts, Ran};
use self::periodicity::{Period, Search};
use crate::duration;
use crate::error::LabError;
use crate::experiment::{Experiment, Lab, Parameters};
use crate::experiments::request;
use crate::interrupt;
use crate::models::scenario::Seed;
use crate::output::OutputArgs;
use crate::render::Format;
use crate::result::{Axis, Better, Cell, Finding, Plot, Section, Series, Table, Unit, labels};
use crate::stats;
use crate::structures::registry;

/// Looks for a beat: runs thousands of short calls a second on the real clock.
#[derive(Debug, Clone, Args)]
pub(crate) struct BeatArgs {
    /// How long calls arrive over each structure; the first fifth, at most 3s, is a warm-up and is
    /// left out
    #[arg(long, allow_hyphen_values = true, value_parser = duration::parse, default_value = "10s")]
    duration: Duration,
    /// Mean number of calls that arrive per second, at random times
    #[arg(long, value_name = "RATE", allow_hyphen_values = true, default_value = "2000", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    calls: u32,
    /// Length of the intervals in which entries are counted
    #[arg(long, allow_hyphen_values = true, value_parser = duration::parse, default_value = "10ms")]
    interval: Duration,
    /// Structures of the scheduler, separated by commas; they run one after the other
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "heap4", value_parser = registry::family)]
    structures: Vec<Structure>,
    /// The seed of the calls
    #[arg(long, allow_hyphen_values = true, default_value = "0", value_parser = Seed::parse)]
    seed: Seed,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// The measurements of one load. Each vector has one value for each interval.
#[derive(Debug, Clone)]
pub(crate) struct Beat {
    load: Load,
    counts: Counts,
    entries: Vec<f64>,
    /// Mean lateness of the entries in an interval, in ns.
    mean_late: Vec<f64>,
    most_late: Vec<f64>,
}

impl Experiment for BeatArgs {
    type Plan = Vec<Load>;
    type Data = Vec<Beat>;

    fn name(&self) -> String {
        "reproduce asterisk-beat".into()
    }

    fn plan(&self) -> Result<Vec<Load>, LabError> {
        let load = |&structure: &Structure| Load {
            lasts: self.duration,
            calls: self.calls,
            interval: self.interval,
            structure,
            seed: self.seed.get(),
        };
        let loads: Vec<Load> = self.structures.iter().map(load).collect();
        if loads.iter().any(|load| load.interval > (load.lasts - load.warm_up()) / 16) {
            return Err(LabError::usage(
                "--interval is too long: at least 16 intervals fit into four fifths of --duration \
                 (nothing was run)",
            ));
        }
        Ok(loads)
    }

    fn parameters(&self, _: &Vec<Load>) -> Parameters {
        request::parameters([
            ("duration", duration::show(self.duration).into()),
            ("calls", self.calls.into()),
            ("interval", duration::show(self.interval).into()),
            ("structures", request::list(&self.structures).into()),
        ])
    }

    fn seed(&self, _: &Vec<Load>) -> Option<u64> {
        Some(self.seed.get())
    }

    /// Always `false`: the lab times nothing here, because the calls read the system's clock
    /// themselves.
    fn is_timed(&self) -> bool {
        false
    }

    fn run(&self, loads: &Vec<Load>, _: &mut Lab<'_>) -> Result<Vec<Beat>, LabError> {
        loads.iter().filter(|_| !interrupt::requested()).map(run).collect()
    }

    fn series(&self, _: &Vec<Load>, beats: &Vec<Beat>) -> Vec<Series> {
        beats.iter().flat_map(series).collect()
    }

    fn findings(&self, _: &Vec<Load>, beats: &Vec<Beat>) -> Vec<Finding> {
        beats.iter().flat_map(findings).collect()
    }

    fn sections(&self, _: &Vec<Load>, beats: &Vec<Beat>, findings: &[Finding]) -> Vec<Section> {
        beats.iter().map(|beat| section(beat, findings)).collect()
    }
}

/// Runs a load. An interruption ends the run early.
///
/// # Errors
/// Calls that are missing from the counts.
pub(crate) fn run(load: &Load) -> Result<Beat, LabError> {
    let (ran, counts) = calls::run(load)?;
    Ok(Beat::of(load, counts, &ran))
}

impl Beat {
    /// Groups the runs into whole intervals, from the end of the warm-up to the last run.
    fn of(load: &Load, counts: Counts, ran: &[Ran]) -> Self {
        let ns = |duration: Duration| u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        let (length, from) = (ns(load.interval).max(1), ns(load.warm_up()));
        let last = ran.last().map_or(0, |ran| ran.at_ns);
        let zeros = vec![0.0; (last.saturating_sub(from) / length) as usize];
        let (entries, mean_late, most_late) = (zeros.clone(), zeros.clone(), zeros);
        let mut beat = Self { load: *load, counts, entries, mean_late, most_late };
        for ran in ran {
            let Some(since) = ran.at_ns.checked_sub(from) else { continue };
            let (at, late) = ((since / length) as usize, ran.late_ns as f64);
            if at < beat.entries.len() {
                beat.entries[at] += 1.0;
                beat.mean_late[at] += (late - beat.mean_late[at]) / beat.entries[at];
                beat.most_late[at] = beat.most_late[at].max(late);
            }
        }
        beat
    }

    fn structure(&self) -> &'static str {
        self.load.structure.id()
    }

    /// The counts of the calls, with their names.
    fn calls(&self) -> [(&'static str, u64); 5] {
        let Counts { begun, completed, given_up, retransmitted, live } = self.counts;
        [
            ("begun", begun),
            ("completed", completed),
            ("given up", given_up),
            ("under way", live),
            ("retransmitted", retransmitted),
        ]
    }
}

/// All intervals and all counts, as series.
pub(crate) fn series(beat: &Beat) -> Vec<Series> {
    let of = labels([("structure", beat.structure().into()), ("calls", beat.load.calls.into())]);
    let by_interval = |name, unit, samples: &[f64]| {
        Series::new(name, unit, of.clone()).per("interval").of(samples.iter().copied())
    };
    let mut all = vec![
        by_interval("entries", Unit::Count, &beat.entries).better(Better::Neither),
        by_interval("mean lateness", Unit::Ns, &beat.mean_late),
        by_interval("greatest lateness", Unit::Ns, &beat.most_late),
    ];
    let total = |(name, calls): (&'static str, u64)| {
        Series::new(name, Unit::Count, of.clone()).better(Better::Neither).of([calls as f64])
    };
    all.extend(beat.calls().map(total));
    all
}

/// Whether there is a beat, then the result of each of the two searches for a period.
pub(crate) fn findings(beat: &Beat) -> Vec<Finding> {
    let span = |period: Period| Format::Span.write(period.lag as f64 * beat.load.interval.as_nanos() as f64);
    let mut seen = Vec::new();
    let mut search = |what: &str, series: &[f64]| {
        let Search { threshold, period } = periodicity::search(series, beat.load.seed);
        seen.extend(period.map(|period| format!("{what}: {}", span(period))));
        let here = period.map_or(
            format!("no period above chance, by which the autocorrelation stands out by {threshold:.2}"),
            |period| {
                format!(
                    "a period of {}: the autocorrelation stands out by {:.2}, by chance by {threshold:.2}; if \
                     other structures have it too, the machine causes it",
                    span(period),
                    period.strength
                )
            },
        );
        Finding::stated(what, here)
            .labelled(labels([("part", "beat".into()), ("structure", beat.structure().into())]))
    };
    let searches = [search("entries by interval", &beat.entries), search("mean lateness", &beat.mean_late)];
    let here = if seen.is_empty() { "no period above chance".to_owned() } else { seen.join("; ") };
    let about = format!("a beat under {} short calls a second, {}", beat.load.calls, beat.structure());
    let asked = Finding::stated(about, here).published("a reviewer saw the load near saturation go in waves");
    [asked].into_iter().chain(searches).collect()
}

/// The most points of a curve.
const POINTS: usize = 500;

/// The counts of calls, the searches among `findings`, and plots over time.
pub(crate) fn section(beat: &Beat, findings: &[Finding]) -> Section {
    let Beat { load, entries, mean_late, most_late, .. } = beat;
    let interval = duration::show(load.interval);
    let mut table = Table::of(beat.calls().map(|(name, _)| (name, Format::Thousands)))
        .column("intervals", Format::Thousands)
        .column("entries each", Format::Fixed(0))
        .column("mean lateness", Format::Span)
        .column("greatest", Format::Span);
    let figures: [Cell; 4] = [
        entries.len().into(),
        stats::mean(entries).into(),
        stats::mean(mean_late).into(),
        most_late.iter().copied().reduce(f64::max).into(),
    ];
    table.row(beat.calls().map(|(_, calls)| calls.into()).into_iter().chain(figures));
    let of = labels([("part", "beat".into()), ("structure", beat.structure().into())]);
    let searches = findings.iter().filter(|finding| finding.labels == of);
    let words: Vec<String> = searches.map(|search| format!("{}: {}.", search.about, search.here)).collect();

    // Long runs have more intervals than a plot has room for.
    let share = entries.len().div_ceil(POINTS).max(1);
    let by_time = |series: &[f64], fold: fn(&[f64]) -> f64| -> Vec<(f64, f64)> {
        let at = |chunk: usize| {
            load.warm_up().as_secs_f64() + (chunk * share) as f64 * load.interval.as_secs_f64()
        };
        series.chunks(share).enumerate().map(|(chunk, values)| (at(chunk), fold(values))).collect()
    };
    let by_lag = |series: &[f64]| {
        let lags = periodicity::autocorrelation(series).into_iter().enumerate().skip(1);
        lags.map(|(lag, value)| (lag as f64 * load.interval.as_secs_f64() * 1e3, value)).collect::<Vec<_>>()
    };
    let plot = |title: &str, x: &str, y: Axis| Plot::new(title, Axis::linear(x, Format::Text), y);
    let ran = plot("Entries by interval", "s", Axis::linear(format!("entries in {interval}"), Format::Text))
        .curve("entries", by_time(entries, stats::mean));
    let late = plot("Lateness by interval", "s", Axis::log("lateness", Format::Span))
        .curve("greatest", by_time(most_late, |values| values.iter().copied().fold(0.0, f64::max)))
        .curve("mean", by_time(mean_late, stats::mean));
    let again = "Autocorrelation: a period is a peak that comes again at twice its lag";
    let alike = plot(again, "lag in ms", Axis::linear("autocorrelation", Format::Fixed(2)))
        .curve("entries", by_lag(entries))
        .curve("mean lateness", by_lag(mean_late));
    let calls = format!("{} calls a second over {}", load.calls, beat.structure());
    Section::new(format!("Is there a beat? {calls}, intervals of {interval}"))
        .table(table)
        .text(words.join("\n"))
        .plot(ran)
        .plot(late)
        .plot(alike)
}

#[cfg(test)]
pub(crate) use tests::made_up;

#[cfg(test)]
mod tests;
