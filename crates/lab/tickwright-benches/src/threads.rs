//! `benches threads`: the cost of creating, switching, waking and parking threads, compared with
//! other libraries.

mod create;
mod micro;
mod parked;

use clap::Args;

use crate::clock::OsClock;
use crate::error::LabError;
use crate::experiment::{Experiment, Lab, Parameters};
use crate::interrupt;
use crate::number::{Rounds, Seed, Within};
use crate::output::OutputArgs;
use crate::request;
use crate::result::{Finding, Series, Unit, labels};
use crate::stats::{self, Bound, Summary, Verdict};
use crate::turns::Turns;
use micro::Lane;
use parked::Parked;

/// The number of operations in a sample: switches or wakes.
type Operations = Within<100, 10_000_000>;

/// The number of threads that are parked at once.
type Threads = Within<0, 10_000_000>;

/// Arguments of `threads`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ThreadsArgs {
    /// Samples of each operation; below 6 no difference can be shown
    #[arg(long, allow_hyphen_values = true, default_value = "15", value_parser = Rounds::parse)]
    rounds: Rounds,
    /// Switches or wakes in a sample; a sample of creations has a tenth as many
    #[arg(long, allow_hyphen_values = true, default_value = "50k", value_parser = Operations::parse)]
    operations: Operations,
    /// Threads that are parked at once, ours and goroutines; 0: none
    #[arg(long, allow_hyphen_values = true, default_value = "200k", value_parser = Threads::parse)]
    parked: Threads,
    /// Takes one sample of parked threads with this number of workers, and prints its figures
    #[arg(long, value_name = "WORKERS", hide = true)]
    pub(crate) sample: Option<usize>,
    /// Seed of the order of runs
    #[arg(long, allow_hyphen_values = true, default_value = "1", value_parser = Seed::parse)]
    seed: Seed,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// A lane and its samples: one sample per round, in ns per operation.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    lane: Lane,
    ns: Vec<f64>,
}

impl ThreadsArgs {
    /// Takes the sample of parked threads that `--sample` asks for, and prints its figures.
    ///
    /// # Errors
    /// A description of a wrong answer.
    pub(crate) fn print_sample(&self, workers: usize) -> Result<(), LabError> {
        let [created, woken, bytes] = parked::sample(workers, self.parked.get()).map_err(LabError::failed)?;
        println!("{created} {woken} {bytes}");
        Ok(())
    }
}

impl Experiment for ThreadsArgs {
    type Plan = Turns;
    type Data = (Vec<Row>, Parked);

    fn name(&self) -> String {
        "bench threads".into()
    }

    fn plan(&self) -> Result<Turns, LabError> {
        Ok(Turns { what: "threads", rounds: self.rounds.get() as usize, seed: self.seed.get() })
    }

    fn parameters(&self, turns: &Turns) -> Parameters {
        request::parameters([
            ("rounds", turns.rounds.into()),
            ("operations", self.operations.get().into()),
            ("parked", self.parked.get().into()),
        ])
    }

    fn seed(&self, turns: &Turns) -> Option<u64> {
        Some(turns.seed)
    }

    /// Samples all lanes alternately, after each lane has passed its check. The lanes read the
    /// system's clock in their own threads.
    fn run(&self, turns: &Turns, lab: &mut Lab<'_>) -> Result<Self::Data, LabError> {
        let clock = OsClock::start();
        let wrong = |lane: Lane| move |why: String| LabError::failed(format!("{}: {why}", lane.what()));
        for lane in Lane::ALL {
            lane.verify(clock).map_err(wrong(lane))?;
        }
        let names = Lane::ALL.map(|lane| lane.what().to_owned());
        let operations = self.operations.get();
        let samples =
            turns.run(&names, |at| Lane::ALL[at].sample(operations, clock).map_err(wrong(Lane::ALL[at])))?;
        let rows = Lane::ALL.into_iter().zip(samples).map(|(lane, ns)| Row { lane, ns }).collect();
        let parked = match self.parked.get() {
            n if n > 0 && !interrupt::requested() => parked::measure(turns, n)?,
            _ => Parked::default(),
        };
        lab.interrupted = interrupt::requested();
        Ok((rows, parked))
    }

    fn series(&self, _: &Turns, (rows, parked): &Self::Data) -> Vec<Series> {
        let of_row = |row: &Row| {
            let of = labels([("what", row.lane.what().into())]);
            Series::new("threads", Unit::Ns, of).per("operation").of(row.ns.iter().copied())
        };
        rows.iter().map(of_row).chain(parked.series()).collect()
    }

    fn findings(&self, _: &Turns, (rows, parked): &Self::Data) -> Vec<Finding> {
        [targets(rows), parked.targets()].concat()
    }
}

/// Returns the targets, and whether this run reaches them.
fn targets(rows: &[Row]) -> Vec<Finding> {
    let ns = |lane: Lane| rows.iter().find(|row| row.lane == lane).map_or(&[][..], |row| &row.ns);
    let ratio = |a: Lane, b: Lane| stats::ratios(ns(a), ns(b));
    let median = |lane: Lane| -> Option<Summary> { stats::summarise(ns(lane).iter().copied()) };
    let targets = [
        (
            "create and join: m:n, times as fast as one-to-one",
            Bound::AtLeast(80.0),
            ratio(Lane::OneToOne, Lane::Many),
        ),
        ("create and join: m:n to may, ratio", Bound::AtMost(0.25), ratio(Lane::Many, Lane::May)),
        (
            "create and join: m:n to tokio's spawn and await, ratio",
            Bound::AtMost(0.6),
            ratio(Lane::Many, Lane::Tokio),
        ),
        (
            "create and join: m:n with guards to without, ratio",
            Bound::AtMost(1.2),
            ratio(Lane::Many, Lane::Unguarded),
        ),
        ("create and join: one-to-one to std, ratio", Bound::AtMost(1.1), ratio(Lane::OneToOne, Lane::Std)),
        ("switch of two that yield, one worker, ns", Bound::AtMost(20.0), median(Lane::Switch)),
        ("park and unpark, there and back, one worker, ns", Bound::AtMost(60.0), median(Lane::Wake)),
        (
            "the same across two workers to a futex, ratio",
            Bound::AtMost(1.0),
            ratio(Lane::WakeAcross, Lane::Futex),
        ),
        (
            "creation with two workers to one, ratio",
            Bound::AtMost(1.0),
            ratio(Lane::TwoWorkers, Lane::OneWorker),
        ),
    ];
    let finding = |(about, bound, figure): (&str, Bound, Option<Summary>)| match figure {
        Some(figure) => Finding::bounded(about, figure, bound),
        None => Finding::stated(about, "not measured").judged(Verdict::NotShown),
    };
    targets.into_iter().map(finding).collect()
}

#[cfg(test)]
mod tests;
