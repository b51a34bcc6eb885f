//! `tickwright reproduce asterisk-beat`: is there a beat in the load? Thousands of short calls a
//! second on the real clock, and what the scheduler ran in each interval.
//!
//! A reviewer of 2009 saw the load near saturation go in waves while very short calls were set up
//! and taken down, and asked whether a harmonic of the scheduler could be the cause. [`calls`] is
//! such a load. [`periodicity`] looks for a period in the entries run per interval and in their
//! lateness, beside the same series shuffled.

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
use crate::output::ReportArgs;
use crate::render::Format;
use crate::result::{Axis, Better, Cell, Finding, Plot, Section, Series, Table, Unit, labels};
use crate::stats;
use crate::structures::registry;

/// Looks for a beat: runs thousands of short calls a second on the real clock.
#[derive(Debug, Clone, Args)]
pub(crate) struct BeatArgs {
    /// How long calls arrive over each structure; the first fifth, at most 3s, warms up and is not
    /// looked at
    #[arg(long, allow_hyphen_values = true, value_parser = duration::parse, default_value = "10s")]
    duration: Duration,
    /// Calls a second, at random
    #[arg(long, value_name = "RATE", allow_hyphen_values = true, default_value = "2000", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    calls: u32,
    /// Entries are counted in intervals of this length
    #[arg(long, allow_hyphen_values = true, value_parser = duration::parse, default_value = "10ms")]
    interval: Duration,
    /// Structures of the scheduler, one after the other, separated by commas
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "heap4", value_parser = registry::family)]
    structures: Vec<Structure>,
    /// What calls are generated from
    #[arg(long, allow_hyphen_values = true, default_value = "0", value_parser = Seed::parse)]
    seed: Seed,
    #[command(flatten)]
    pub(crate) output: ReportArgs,
}

/// What was seen of one load.
#[derive(Debug, Clone)]
pub(crate) struct Beat {
    load: Load,
    counts: Counts,
    intervals: Vec<Interval>,
}

/// The entries that ran in one interval.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Interval {
    entries: u64,
    late_mean_ns: f64,
    late_most_ns: f64,
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

    /// The calls read the system's clock themselves.
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

/// Runs a load. An interruption ends it early.
///
/// # Errors
/// Calls that are not accounted for.
pub(crate) fn run(load: &Load) -> Result<Beat, LabError> {
    let (ran, counts) = calls::run(load)?;
    Ok(Beat { load: *load, counts, intervals: intervals(load, &ran) })
}

/// The whole intervals between the warm-up and the last run.
fn intervals(load: &Load, ran: &[Ran]) -> Vec<Interval> {
    let ns = |duration: Duration| u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
    let (length, from) = (ns(load.interval).max(1), ns(load.warm_up()));
    let last = ran.last().map_or(0, |ran| ran.at_ns);
    let mut found = vec![Interval::default(); (last.saturating_sub(from) / length) as usize];
    for ran in ran {
        let Some(since) = ran.at_ns.checked_sub(from) else { continue };
        let Some(interval) = found.get_mut((since / length) as usize) else { continue };
        let late = ran.late_ns as f64;
        interval.entries += 1;
        interval.late_mean_ns += (late - interval.late_mean_ns) / interval.entries as f64;
        interval.late_most_ns = interval.late_most_ns.max(late);
    }
    found
}

impl Beat {
    fn each(&self, of: fn(&Interval) -> f64) -> Vec<f64> {
        self.intervals.iter().map(of).collect()
    }

    fn entries(&self) -> Vec<f64> {
        self.each(|interval| interval.entries as f64)
    }

    fn lateness(&self) -> Vec<f64> {
        self.each(|interval| interval.late_mean_ns)
    }

    fn most_late(&self) -> Vec<f64> {
        self.each(|interval| interval.late_most_ns)
    }

    fn structure(&self) -> &'static str {
        self.load.structure.id()
    }

    /// What became of the calls.
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

/// Every interval.
pub(crate) fn series(beat: &Beat) -> Vec<Series> {
    let of = labels([("structure", beat.structure().into()), ("calls", beat.load.calls.into())]);
    let count = |name, samples: Vec<f64>| {
        Series::new(name, Unit::Count, of.clone()).better(Better::Neither).of(samples)
    };
    let late = |name, samples: Vec<f64>| Series::new(name, Unit::Ns, of.clone()).of(samples);
    let mut all = vec![
        count("entries", beat.entries()).per("interval"),
        late("lateness", beat.lateness()).per("entry"),
        late("greatest lateness", beat.most_late()),
    ];
    all.extend(beat.calls().map(|(name, calls)| count(name, vec![calls as f64])));
    all
}

/// Whether there is a beat, and the two searches.
pub(crate) fn findings(beat: &Beat) -> Vec<Finding> {
    let of = labels([("part", "beat".into()), ("structure", beat.structure().into())]);
    let searches = [("entries run in an interval", beat.entries()), ("mean lateness", beat.lateness())]
        .map(|(what, series)| (what, periodicity::search(&series, beat.load.seed)));
    let ms = |period: Period| Format::Span.write(period.lag as f64 * beat.load.interval.as_nanos() as f64);
    let words = |(what, search): &(&str, Search)| {
        let here = match search.period {
            Some(period) => format!(
                "a period of {}: the autocorrelation stands out by {:.2}, by chance by {:.2}; if other structures \
                 have it too, the machine causes it",
                ms(period),
                period.strength,
                search.threshold
            ),
            None => {
                format!(
                    "no period above chance, by which the autocorrelation stands out by {:.2}",
                    search.threshold
                )
            }
        };
        Finding::stated(*what, here).labelled(of.clone())
    };
    let seen: Vec<String> = searches
        .iter()
        .filter_map(|(what, search)| search.period.map(|period| format!("{what}: {}", ms(period))))
        .collect();
    let here = if seen.is_empty() { "no period above chance".to_owned() } else { seen.join("; ") };
    let about = format!("a beat under {} short calls a second, {}", beat.load.calls, beat.structure());
    let asked = Finding::stated(about, here).published("a reviewer saw the load near saturation go in waves");
    [asked].into_iter().chain(searches.iter().map(words)).collect()
}

/// Points of a curve, at most.
const POINTS: usize = 500;

/// The calls, the searches among `findings`, and what ran by time.
pub(crate) fn section(beat: &Beat, findings: &[Finding]) -> Section {
    let interval = beat.load.interval;
    let mut table = Table::new();
    for (name, _) in beat.calls() {
        table = table.column(name, Format::Thousands);
    }
    let mut table = table
        .column("intervals", Format::Thousands)
        .column("entries each", Format::Fixed(0))
        .column("mean lateness", Format::Span)
        .column("greatest", Format::Span);
    let (entries, lateness, most) = (beat.entries(), beat.lateness(), beat.most_late());
    let figures: [Cell; 4] = [
        beat.intervals.len().into(),
        stats::mean(&entries).into(),
        stats::mean(&lateness).into(),
        most.iter().copied().reduce(f64::max).into(),
    ];
    table.row(beat.calls().map(|(_, calls)| calls.into()).into_iter().chain(figures));
    let words: Vec<String> = findings
        .iter()
        .filter(|finding| finding.labels.get("part") == Some(&"beat".into()))
        .filter(|finding| finding.labels.get("structure") == Some(&beat.structure().into()))
        .map(|finding| format!("{}: {}.", finding.about, finding.here))
        .collect();

    let time = || Axis::linear("s", Format::Text);
    // Long runs have more intervals than a picture has room for.
    let share = beat.intervals.len().div_ceil(POINTS).max(1);
    let by_time = |series: &[f64], fold: fn(&[f64]) -> f64| -> Vec<(f64, f64)> {
        let at =
            |chunk: usize| beat.load.warm_up() + interval * u32::try_from(chunk * share).unwrap_or(u32::MAX);
        series
            .chunks(share)
            .enumerate()
            .map(|(at_chunk, chunk)| (at(at_chunk).as_secs_f64(), fold(chunk)))
            .collect()
    };
    let greatest: fn(&[f64]) -> f64 = |chunk| chunk.iter().copied().fold(0.0, f64::max);
    let by_lag = |series: &[f64]| {
        let lags = periodicity::autocorrelation(series).into_iter().enumerate().skip(1);
        lags.map(|(lag, value)| (lag as f64 * interval.as_secs_f64() * 1e3, value)).collect::<Vec<_>>()
    };
    let ran = Plot::new(
        "Entries run in an interval",
        time(),
        Axis::linear(format!("entries in {}", duration::show(interval)), Format::Text),
    )
    .curve("entries", by_time(&entries, stats::mean));
    let late = Plot::new("Lateness by interval", time(), Axis::log("ns", Format::Span))
        .curve("greatest", by_time(&most, greatest))
        .curve("mean", by_time(&lateness, stats::mean));
    let alike = Plot::new(
        "Autocorrelation: a period is a peak that comes again at twice its lag",
        Axis::linear("lag in ms", Format::Text),
        Axis::linear("autocorrelation", Format::Fixed(2)),
    )
    .curve("entries", by_lag(&entries))
    .curve("mean lateness", by_lag(&lateness));
    let title = format!(
        "Is there a beat? {} calls a second over {}, intervals of {}",
        beat.load.calls,
        beat.structure(),
        duration::show(interval)
    );
    Section::new(title).table(table).text(words.join("\n")).plot(ran).plot(late).plot(alike)
}

#[cfg(test)]
pub(crate) use tests::made_up;

#[cfg(test)]
mod tests;
