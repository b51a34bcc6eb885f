//! `benches sleeps`: many sleeps of tasks, with our timers and with tokio's. Both kinds of timers
//! run on a runtime of tokio, so that tasks cost the same. The bench measures the processor time of
//! the whole process, and how late each sleep was. No sleep is allowed to be early or missing.
//!
//! tokio's alternative timer is included in a build with `RUSTFLAGS="--cfg tokio_unstable"`.

use core::time::Duration;
use std::time::Instant;

use clap::Args;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use rustix::time::{ClockId, clock_gettime};
use tickwright_async::{TimerSettings, Timers};
use tokio::runtime::{Builder, Runtime};

use crate::error::LabError;
use crate::experiment::{Experiment, Lab, Parameters};
use crate::interrupt;
use crate::number::{Rounds, Seed, Within};
use crate::output::OutputArgs;
use crate::request;
use crate::result::{Finding, Series, Unit, labels};
use crate::stats::{self, Bound};
use crate::turns::Turns;

/// The number of sleeps in a sample.
type Sleeps = Within<100, 1_000_000>;

/// Arguments of `sleeps`.
#[derive(Debug, Clone, Args)]
pub(crate) struct SleepsArgs {
    /// Samples of each library; below 6 no difference can be shown
    #[arg(long, allow_hyphen_values = true, default_value = "6", value_parser = Rounds::parse)]
    rounds: Rounds,
    /// Sleeps that end within a second
    #[arg(long, allow_hyphen_values = true, default_value = "100k", value_parser = Sleeps::parse)]
    n: Sleeps,
    /// How long our timers gather due timers, in us; 0: not at all. Their default without it
    #[arg(long, value_name = "US")]
    gather: Option<u64>,
    /// Only lanes whose name contains this, such as "1 worker, tickwright": to count their calls
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    only: String,
    /// Seed of the delays, and of the order of runs
    #[arg(long, allow_hyphen_values = true, default_value = "1", value_parser = Seed::parse)]
    seed: Seed,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Library {
    Ours,
    Tokio,
    #[cfg(tokio_unstable)]
    Alternative,
}

impl Library {
    const ALL: &[Self] = &[
        Self::Ours,
        Self::Tokio,
        #[cfg(tokio_unstable)]
        Self::Alternative,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Ours => "tickwright",
            Self::Tokio => "tokio",
            #[cfg(tokio_unstable)]
            Self::Alternative => "tokio, alternative timer",
        }
    }

    fn runtime(self, workers: usize) -> std::io::Result<Runtime> {
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(workers).enable_time();
        #[cfg(tokio_unstable)]
        if self == Self::Alternative {
            builder.enable_alt_timer();
        }
        builder.build()
    }

    async fn sleep(self, timers: &Timers, span: Duration) {
        match self {
            Self::Ours => timers.sleep(span).await,
            _ => tokio::time::sleep(span).await,
        }
    }
}

/// Tasks that first sleep for a random time of up to a second, and then sleep `more` times for a
/// second each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lane {
    library: Library,
    workers: usize,
    tasks: u64,
    more: u64,
}

/// What a sample has measured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    processor_ms: f64,
    half_us: f64,
    most_us: f64,
}

fn processor_time() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
}

impl Lane {
    /// Returns the lanes of all libraries: `n` sleeps within a second, 10,000 sleeps per second,
    /// and 1,000 sleeps per second.
    fn all(n: u64) -> Vec<Self> {
        let mut all = Vec::new();
        for (tasks, more) in [(n, 0), (n.min(10_000), 4), (n.min(1_000), 4)] {
            for workers in [1, 2] {
                all.extend(Library::ALL.iter().map(|&library| Self { library, workers, tasks, more }));
            }
        }
        all
    }

    fn work(self) -> String {
        let tasks = crate::output::table::count(self.tasks as usize);
        let work = if self.more == 0 { "sleeps over a second" } else { "fires in each second" };
        let plural = if self.workers == 1 { "" } else { "s" };
        format!("{tasks} {work}, {} worker{plural}", self.workers)
    }

    fn name(self) -> String {
        format!("{}, {}", self.work(), self.library.name())
    }

    /// # Errors
    /// If a runtime does not start, if a sleep was early, or if a task did not end.
    fn sample(self, timers: &'static Timers, seed: u64) -> Result<Sample, String> {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let spans: Vec<u64> = (0..self.tasks).map(|_| random.random_range(1..1_000_000_000)).collect();
        let before = processor_time();
        let runtime = self.library.runtime(self.workers).map_err(|error| error.to_string())?;
        let late: Result<Vec<u64>, String> = runtime.block_on(async {
            let task = |ns: u64| {
                tokio::spawn(async move {
                    let mut late = Vec::with_capacity(1 + self.more as usize);
                    for at in 0..=self.more {
                        let span = Duration::from_nanos(if at == 0 { ns } else { 1_000_000_000 });
                        let begun = Instant::now();
                        self.library.sleep(timers, span).await;
                        late.push(begun.elapsed().checked_sub(span));
                    }
                    late
                })
            };
            let tasks: Vec<_> = spans.iter().map(|&ns| task(ns)).collect();
            let mut all = Vec::new();
            for task in tasks {
                for late in task.await.map_err(|error| error.to_string())? {
                    all.push(late.ok_or("a sleep was early")?.as_nanos() as u64);
                }
            }
            Ok(all)
        });
        drop(runtime);
        let processor_ms = processor_time() - before;
        let late: Vec<f64> = late?.into_iter().map(|ns| ns as f64 / 1e3).collect();
        if late.len() as u64 != self.tasks * (1 + self.more) {
            return Err(format!("{} sleeps ended", late.len()));
        }
        let share = |share| stats::quantile(&late, share).unwrap_or(f64::NAN);
        Ok(Sample { processor_ms, half_us: share(0.5), most_us: share(0.99) })
    }
}

/// A figure of a sample.
type Figure = fn(&Sample) -> f64;

/// What was measured.
pub(crate) type Data = Vec<(Lane, Vec<Sample>)>;

fn figures(data: &Data, lane: Lane, figure: impl Fn(&Sample) -> f64) -> Vec<f64> {
    let samples = data.iter().find(|(of, _)| *of == lane).map_or(&[][..], |(_, samples)| samples);
    samples.iter().map(figure).collect()
}

impl SleepsArgs {
    fn lanes(&self) -> Vec<Lane> {
        let mut lanes = Lane::all(self.n.get());
        lanes.retain(|lane| lane.name().contains(&self.only));
        lanes
    }
}

impl Experiment for SleepsArgs {
    type Plan = Turns;
    type Data = Data;

    fn name(&self) -> String {
        "bench sleeps".into()
    }

    fn plan(&self) -> Result<Turns, LabError> {
        if self.lanes().is_empty() {
            let names: Vec<String> = Lane::all(self.n.get()).into_iter().map(Lane::name).collect();
            let why = format!("no lane has '{}' in its name: they are\n  {}", self.only, names.join("\n  "));
            return Err(LabError::usage(why));
        }
        Ok(Turns { what: "sleeps", rounds: self.rounds.get() as usize, seed: self.seed.get() })
    }

    fn parameters(&self, turns: &Turns) -> Parameters {
        request::parameters([
            ("rounds", turns.rounds.into()),
            ("n", self.n.get().into()),
            ("only", self.only.clone().into()),
        ])
    }

    fn seed(&self, turns: &Turns) -> Option<u64> {
        Some(turns.seed)
    }

    /// Always `false`: a sample takes seconds, so the cost of a clock reading does not matter.
    fn is_timed(&self) -> bool {
        false
    }

    fn run(&self, turns: &Turns, lab: &mut Lab<'_>) -> Result<Data, LabError> {
        let lanes = self.lanes();
        let names: Vec<String> = lanes.iter().map(|lane| lane.name()).collect();
        let timers = match self.gather {
            None => Timers::global(),
            // The timers are leaked, because the tasks of all lanes refer to them.
            Some(us) => Box::leak(Box::new(
                TimerSettings::new()
                    .gather(Duration::from_micros(us))
                    .start()
                    .map_err(|source| LabError::io("starting the timers", source))?,
            )),
        };
        let samples = turns.run(&names, |at| {
            let wrong = |why| LabError::failed(format!("{}: {why}", names[at]));
            lanes[at].sample(timers, turns.seed).map_err(wrong)
        })?;
        lab.interrupted = interrupt::requested();
        if cfg!(not(tokio_unstable)) {
            lab.notes
                .push("tokio's alternative timer is left out: RUSTFLAGS=\"--cfg tokio_unstable\"".into());
        }
        Ok(lanes.into_iter().zip(samples).collect())
    }

    fn series(&self, _: &Turns, data: &Data) -> Vec<Series> {
        let figures: [(&str, Figure); 3] = [
            ("processor time", |sample| sample.processor_ms * 1e6),
            ("late, p50", |sample| sample.half_us * 1e3),
            ("late, p99", |sample| sample.most_us * 1e3),
        ];
        let mut all = Vec::new();
        for (name, figure) in figures {
            for (lane, samples) in data {
                let of = labels([("work", lane.work().into()), ("library", lane.library.name().into())]);
                all.push(Series::new(name, Unit::Ns, of).of(samples.iter().map(figure)));
            }
        }
        all
    }

    fn findings(&self, _: &Turns, data: &Data) -> Vec<Finding> {
        let mut all = Vec::new();
        for &(lane, _) in data.iter().filter(|(lane, _)| lane.library == Library::Ours) {
            let tokio = Lane { library: Library::Tokio, ..lane };
            let mut judge = |what: &str, bound, figure: Option<_>| {
                let about = format!("{}: {what}", lane.work());
                all.extend(figure.map(|figure| Finding::bounded(about, figure, bound)));
            };
            if lane.tasks > 1_000 {
                let [ours, theirs] = [lane, tokio].map(|lane| figures(data, lane, |one| one.processor_ms));
                judge("processor time to tokio's, ratio", Bound::AtMost(0.9), stats::ratios(&ours, &theirs));
                let half = stats::summarise(figures(data, lane, |one| one.half_us));
                judge("late, p50, us", Bound::AtMost(300.0), half);
            } else {
                let most = stats::summarise(figures(data, lane, |one| one.most_us));
                judge("late, p99, us", Bound::AtMost(150.0), most);
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Verdict;

    /// In these data, our timers take half of tokio's time. With two workers, they are later than
    /// the target allows.
    #[test]
    fn targets_compare_round_by_round() {
        let sample = |lane: Lane, round: u32| Sample {
            processor_ms: if lane.library == Library::Ours { 50.0 } else { 100.0 } + f64::from(round),
            half_us: if lane.workers == 2 { 400.0 } else { 200.0 },
            most_us: 149.0,
        };
        let data: Data = Lane::all(100_000)
            .into_iter()
            .map(|lane| (lane, (0..6).map(|round| sample(lane, round)).collect()))
            .collect();
        let args: SleepsArgs = request::words(&[]).unwrap();
        let findings = args.findings(&args.plan().unwrap(), &data);
        let missed = findings.iter().filter(|finding| finding.verdict == Verdict::Missed).count();
        assert_eq!((findings.len(), missed), (10, 2), "{findings:#?}");
        assert_eq!(args.series(&args.plan().unwrap(), &data).len(), 3 * data.len());
    }

    #[test]
    fn each_lane_runs() {
        for lane in Lane::all(100) {
            let sample = Lane { more: 0, ..lane }.sample(Timers::global(), 1).unwrap();
            assert!(sample.processor_ms > 0.0 && sample.half_us > 0.0, "{lane:?}: {sample:?}");
        }
    }
}
