//! The table: all columns are sampled alternately at every N, as far as the time budget allows. A
//! power law gives the remaining figures.

use core::time::Duration;

use super::column::{Column, Mode};
use super::power::Power;
use super::sample::{Delays, Measure, Sample};
use crate::allocator;
use crate::clock::Meter;
use crate::error::LabError;
use crate::progress::Progress;
use crate::rounds::Rounds;
use crate::stats;

/// What to run.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) columns: Vec<Column>,
    /// The values of N, in ascending order.
    pub(crate) sizes: Vec<usize>,
    /// The most samples of each column at each N.
    pub(crate) rounds: usize,
    /// The most time for a column at one N.
    pub(crate) budget: Duration,
    pub(crate) seed: u64,
}

/// The three published kinds of times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    Add,
    Delete,
    Total,
}

impl What {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Delete => "delete",
            Self::Total => "total",
        }
    }

    fn of(self, sample: &Sample) -> f64 {
        match self {
            Self::Add => sample.add_ns as f64,
            Self::Delete => sample.delete_ns as f64,
            Self::Total => (sample.add_ns + sample.delete_ns) as f64,
        }
    }
}

/// A figure of a table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Figure {
    pub(crate) value: f64,
    pub(crate) extrapolated: bool,
}

/// The measurements of one column.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Lane {
    pub(crate) column: Column,
    /// One sample for each size. The samples show how the column's times grow.
    pub(crate) trials: Vec<(usize, Sample)>,
    /// For each N that fitted into the time budget, its samples.
    pub(crate) cells: Vec<(usize, Vec<Sample>)>,
}

impl Lane {
    /// Returns the samples at `n`, in ns.
    pub(crate) fn samples(&self, n: usize, what: What) -> Vec<f64> {
        let cells = self.cells.iter().filter(|cell| cell.0 == n);
        cells.flat_map(|cell| &cell.1).map(|sample| what.of(sample)).collect()
    }

    /// Returns the median at `n` in ns, or the value of the power law if nothing was measured at
    /// `n`.
    pub(crate) fn figure(&self, n: usize, what: What) -> Option<Figure> {
        if let Some(value) = stats::median(&self.samples(n, what)) {
            return Some(Figure { value, extrapolated: false });
        }
        let at = |what| Some(self.law(what)?.at(n));
        let value = if what == What::Total { at(What::Add)? + at(What::Delete)? } else { at(what)? };
        Some(Figure { value, extrapolated: true })
    }

    /// Returns the power law through the measured medians. If fewer than two sizes above `TRIAL`
    /// were measured, the law also uses the trials.
    pub(crate) fn law(&self, what: What) -> Option<Power> {
        let few = self.cells.iter().filter(|cell| cell.0 > TRIAL).count() < 2;
        Power::fit(&self.points(what, few))
    }

    /// Predicts the time of one sample at `n`, in ns; `None` if nothing was measured.
    fn predicted(&self, n: usize) -> Option<f64> {
        Some(Power::fit(&self.points(What::Total, true))?.at(n))
    }

    fn points(&self, what: What, with_trials: bool) -> Vec<(usize, f64)> {
        let medians =
            self.cells.iter().filter_map(|cell| Some((cell.0, stats::median(&self.samples(cell.0, what))?)));
        let trials = self.trials.iter().filter(|_| with_trials).map(|trial| (trial.0, what.of(&trial.1)));
        medians.chain(trials).collect()
    }

    /// Returns the number of samples at `n` that fit into the budget.
    fn rounds(&self, n: usize, plan: &Plan) -> usize {
        match self.predicted(n) {
            Some(ns) if n > 2 * TRIAL => plan.rounds.min((nanos(plan.budget) as f64 / ns) as usize),
            _ => plan.rounds,
        }
    }

    fn expects(&self, n: usize, plan: &Plan) -> Duration {
        Duration::from_nanos((self.predicted(n).unwrap_or(0.0) * self.rounds(n, plan) as f64) as u64)
    }
}

/// The measurements of all columns.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Table {
    pub(crate) sizes: Vec<usize>,
    pub(crate) lanes: Vec<Lane>,
}

impl Table {
    pub(crate) fn lanes_of(&self, mode: Mode) -> impl Iterator<Item = &Lane> + Clone {
        self.lanes.iter().filter(move |lane| lane.column.mode() == mode)
    }

    /// Returns the list of a mode.
    pub(crate) fn list_of(&self, mode: Mode) -> Option<&Lane> {
        self.lanes_of(mode).find(|lane| lane.column.is_list())
    }

    /// Returns the heap of a mode: the binary heap, as in the published table, or a heap of another
    /// arity if there is no binary heap.
    pub(crate) fn heap_of(&self, mode: Mode) -> Option<&Lane> {
        ["heap", "heap2", "heap4"]
            .iter()
            .find_map(|title| self.lanes_of(mode).find(|lane| lane.column.title() == *title))
    }
}

/// The number of timers in the smallest trial. Samples with up to twice as many timers are always
/// short.
const TRIAL: usize = 512;
/// The time limit of a sample with few timers, in ns: a minute. A few timers never take that long,
/// even on a busy machine.
const LONGEST: u64 = 60_000_000_000;
/// The trials end with a trial that takes at least this long, in ns.
const LONG_TRIAL: u64 = 20_000_000;

/// Takes the measurements of `plan`. After an interruption, the largest N are missing.
///
/// # Errors
/// If an answer is wrong, if there is no random source, or if the system refuses memory.
pub(crate) fn run(plan: &Plan, meter: &dyn Meter) -> Result<Table, LabError> {
    let Plan { columns, sizes, .. } = plan;
    let most = sizes.iter().copied().max().unwrap_or(1);
    // Each timer needs memory for an entry, a delay and an id.
    allocator::room(most.saturating_mul(48), &format!("a scheduler with {most} timers"))?;
    let mut takers = Vec::new();
    let mut lanes = Vec::new();
    let progress = Progress::steps(columns.len() as u64, "asterisk, trials");
    for &column in columns {
        progress.doing(column.name());
        let delays = Delays::of(column.mode(), most, plan.seed)?;
        let mut taker = Taker { column, delays, budget: nanos(plan.budget), meter };
        lanes.push(Lane { column, trials: taker.trials(most)?, cells: Vec::new() });
        takers.push(taker);
        progress.step();
    }
    drop(progress);
    let whole = sizes.iter().flat_map(|&n| lanes.iter().map(move |lane| lane.expects(n, plan))).sum();
    let progress = Progress::lasting(whole, "asterisk");
    let mut past = 0;
    let mut turns = Rounds::new(plan.rounds, plan.seed).without_warm_up();
    for &n in sizes {
        let mut wanted: Vec<usize> = lanes.iter().map(|lane| lane.rounds(n, plan)).collect();
        let taken = turns.run(lanes.len(), |turn| {
            if turn.round >= wanted[turn.lane] {
                return Ok::<_, LabError>(None);
            }
            progress.doing(format!("N = {n}, {}", columns[turn.lane].name()));
            let sample = takers[turn.lane].take(n)?;
            match &sample {
                Some(sample) => past += sample.add_ns + sample.delete_ns,
                // The prediction was wrong, and one sample takes more than twice the budget, so no
                // more samples are taken.
                None => wanted[turn.lane] = 0,
            }
            progress.at(Duration::from_nanos(past));
            Ok(sample)
        })?;
        let interrupted = taken.interrupted;
        for (lane, samples) in lanes.iter_mut().zip(taken.lanes()) {
            let samples: Vec<Sample> = samples.into_iter().flatten().collect();
            if !samples.is_empty() {
                lane.cells.push((n, samples));
            }
        }
        if interrupted {
            break;
        }
    }
    Ok(Table { sizes: sizes.clone(), lanes })
}

/// Takes the samples of a column.
struct Taker<'m> {
    column: Column,
    delays: Delays,
    /// The time budget in ns.
    budget: u64,
    meter: &'m dyn Meter,
}

impl Taker<'_> {
    /// Takes trials of growing size, up to `most` timers, to see how the column's times grow.
    fn trials(&mut self, most: usize) -> Result<Vec<(usize, Sample)>, LabError> {
        let mut trials = Vec::new();
        let mut n = TRIAL;
        while most > 2 * TRIAL && n < most {
            let Some(sample) = self.take(n)? else { break };
            trials.push((n, sample));
            if sample.add_ns + sample.delete_ns > LONG_TRIAL.min(self.budget / 20) {
                break;
            }
            n *= 2;
        }
        Ok(trials)
    }

    /// Returns `None` if the sample took more than twice the budget, although the prediction was
    /// lower. A sample with few timers has a limit of a minute instead.
    fn take(&mut self, n: usize) -> Result<Option<Sample>, LabError> {
        let Self { column, delays, budget, meter } = self;
        let most = if n <= 2 * TRIAL { LONGEST } else { budget.saturating_mul(2) };
        let until = meter.now().saturating_add(most);
        Measure { n, delays, meter: *meter, until }.take(*column)
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
