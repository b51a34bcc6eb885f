//! The table: every column at every N, in turns, as far as the budget goes; the rest by a power
//! law.

use core::time::Duration;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;
use serde::Serialize;

use super::column::{Column, Mode};
use super::power::Power;
use super::sample::{Delays, Measure, Sample};
use crate::allocator;
use crate::clock::{Meter, OsClock};
use crate::error::LabError;
use crate::interrupt;
use crate::progress::Progress;
use crate::stats::{self, Summary, Verdict};

/// What to run.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) columns: Vec<Column>,
    /// N, from the smallest.
    pub(crate) sizes: Vec<usize>,
    /// Samples of each column at each N, at most.
    pub(crate) rounds: usize,
    /// What a column may take at one N.
    pub(crate) budget: Duration,
    pub(crate) seed: u64,
}

/// A column at one N.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Cell {
    pub(crate) column: Column,
    pub(crate) n: usize,
    /// None: it did not fit.
    pub(crate) samples: Vec<Sample>,
}

/// How the times of a column grow.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Growth {
    pub(crate) column: Column,
    pub(crate) add: Power,
    pub(crate) del: Power,
}

/// What was measured, and how it goes on.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Table {
    pub(crate) sizes: Vec<usize>,
    pub(crate) columns: Vec<Column>,
    pub(crate) cells: Vec<Cell>,
    pub(crate) growths: Vec<Growth>,
}

/// One of the three things that were published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    Add,
    Del,
    Total,
}

impl What {
    pub(crate) const ALL: [Self; 3] = [Self::Add, Self::Del, Self::Total];

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Del => "del",
            Self::Total => "total",
        }
    }

    fn of(self, sample: Sample) -> f64 {
        match self {
            Self::Add => sample.add_ns as f64,
            Self::Del => sample.del_ns as f64,
            Self::Total => sample.total() as f64,
        }
    }
}

/// A time in a table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Figure {
    pub(crate) ns: f64,
    pub(crate) extrapolated: bool,
}

impl Table {
    fn cell(&self, column: Column, n: usize) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.column == column && cell.n == n && !cell.samples.is_empty())
    }

    fn samples(&self, column: Column, n: usize, what: What) -> Vec<f64> {
        let samples = self.cell(column, n).map_or(&[][..], |cell| &cell.samples);
        samples.iter().map(|&sample| what.of(sample)).collect()
    }

    /// The median at `n`, or what the power law says.
    pub(crate) fn figure(&self, column: Column, n: usize, what: What) -> Option<Figure> {
        if let Some(summary) = stats::summarise(self.samples(column, n, what)) {
            return Some(Figure { ns: summary.median, extrapolated: false });
        }
        let growth = self.growths.iter().find(|growth| growth.column == column)?;
        let ns = match what {
            What::Add => growth.add.at(n),
            What::Del => growth.del.at(n),
            What::Total => growth.add.at(n) + growth.del.at(n),
        };
        Some(Figure { ns, extrapolated: true })
    }

    /// `column` to `reference` at `n`, round by round. None where one of them was not measured.
    pub(crate) fn ratio(&self, column: Column, reference: Column, n: usize) -> Option<(Summary, Verdict)> {
        let [measured, reference] = [column, reference].map(|column| self.samples(column, n, What::Total));
        let ratio = stats::ratios(&measured, &reference)?;
        Some((ratio, Verdict::on(&ratio)))
    }

    pub(crate) fn columns_of(&self, mode: Mode) -> Vec<Column> {
        self.columns.iter().copied().filter(|column| column.mode() == mode).collect()
    }
}

/// The smallest trial; up to twice as many timers nothing takes long.
const TRIAL: usize = 512;
/// What few timers cannot take, however busy the machine is: a minute.
const LONGEST: u64 = 60_000_000_000;
/// A trial that takes this long tells enough.
const LONG_TRIAL: u64 = 20_000_000;

/// Measures what `plan` says. An interruption leaves cells out.
///
/// # Errors
/// A wrong answer, or no random source.
pub(crate) fn run(plan: &Plan, clock: OsClock) -> Result<Table, LabError> {
    let Plan { columns, sizes, .. } = plan;
    let most = sizes.iter().copied().max().unwrap_or(0);
    // An entry, a delay and an id for each timer.
    allocator::room(most.saturating_mul(48), &format!("a scheduler with {most} timers"))?;
    let mut random = Pcg64Mcg::seed_from_u64(plan.seed);
    let mut lanes = Vec::new();
    let progress = Progress::steps(columns.len() as u64, "asterisk, trials");
    for &column in columns {
        progress.doing(column.name());
        lanes.push(Lane::new(column, plan, clock)?);
        progress.step();
    }
    drop(progress);
    let mut cells = Vec::new();
    let whole: Duration =
        sizes.iter().flat_map(|&n| lanes.iter().map(move |lane| lane.expects(n, plan))).sum();
    let progress = Progress::lasting(whole, "asterisk");
    let mut past = Duration::ZERO;
    for &n in sizes {
        let mut wanted: Vec<usize> = lanes.iter().map(|lane| lane.rounds(n, plan)).collect();
        let mut at_n: Vec<Cell> =
            columns.iter().map(|&column| Cell { column, n, samples: Vec::new() }).collect();
        for round in 0..plan.rounds {
            let mut order: Vec<usize> = (0..lanes.len()).filter(|&at| round < wanted[at]).collect();
            order.shuffle(&mut random);
            for at in order {
                if interrupt::requested() {
                    break;
                }
                progress.doing(format!("N = {n}, {}", columns[at].name()));
                match lanes[at].sample(n, plan, clock)? {
                    Some(sample) => {
                        past += Duration::from_nanos(sample.total());
                        at_n[at].samples.push(sample);
                    }
                    // The prediction was wrong: it takes far too long.
                    None => wanted[at] = 0,
                }
                progress.at(past);
            }
        }
        for (lane, cell) in lanes.iter_mut().zip(&at_n) {
            lane.learn(cell);
        }
        cells.extend(at_n);
    }
    let growths = lanes.iter().filter_map(Lane::growth).collect();
    Ok(Table { sizes: sizes.clone(), columns: columns.clone(), cells, growths })
}

/// A column under way.
struct Lane {
    column: Column,
    delays: Delays,
    /// N, with the time of N adds and of N deletes, in ns: of the trials, and then of medians.
    trials: Vec<(usize, f64, f64)>,
    measured: Vec<(usize, f64, f64)>,
}

impl Lane {
    /// With as many trials as it takes to see how it grows.
    fn new(column: Column, plan: &Plan, clock: OsClock) -> Result<Self, LabError> {
        let most = plan.sizes.iter().copied().max().unwrap_or(1);
        let delays = Delays::of(column.mode(), most, plan.seed)?;
        let mut lane = Self { column, delays, trials: Vec::new(), measured: Vec::new() };
        let mut n = TRIAL;
        while most > 2 * TRIAL && n < most {
            let Some(sample) = lane.sample(n, plan, clock)? else { break };
            lane.trials.push((n, sample.add_ns as f64, sample.del_ns as f64));
            if sample.total() > LONG_TRIAL.min(nanos(plan.budget) / 20) {
                break;
            }
            n *= 2;
        }
        Ok(lane)
    }

    fn sample(&mut self, n: usize, plan: &Plan, clock: OsClock) -> Result<Option<Sample>, LabError> {
        // Twice what it may take, since it was foretold to fit; few timers are waited for in any
        // case.
        let most = if n <= 2 * TRIAL { LONGEST } else { nanos(plan.budget).saturating_mul(2) };
        let until = clock.now().saturating_add(most);
        Measure { n, delays: &mut self.delays, clock, until }.take(self.column)
    }

    /// Fits on what was measured, with the trials if that is little.
    fn growth(&self) -> Option<Growth> {
        let mut points = self.measured.clone();
        if points.iter().filter(|point| point.0 > TRIAL).count() < 2 {
            points.extend(&self.trials);
        }
        let of = |time: fn(&(usize, f64, f64)) -> f64| {
            Power::fit(&points.iter().map(|point| (point.0, time(point))).collect::<Vec<_>>())
        };
        Some(Growth { column: self.column, add: of(|point| point.1)?, del: of(|point| point.2)? })
    }

    /// What one sample at `n` will take, by the trials and what was measured; none if nothing is
    /// known.
    fn predicted(&self, n: usize) -> Option<f64> {
        let mut points = self.trials.clone();
        points.extend(&self.measured);
        let totals: Vec<(usize, f64)> = points.iter().map(|point| (point.0, point.1 + point.2)).collect();
        Some(Power::fit(&totals)?.at(n))
    }

    /// How many samples at `n` fit.
    fn rounds(&self, n: usize, plan: &Plan) -> usize {
        match self.predicted(n) {
            Some(ns) if n > 2 * TRIAL => plan.rounds.min((nanos(plan.budget) as f64 / ns) as usize),
            _ => plan.rounds,
        }
    }

    fn expects(&self, n: usize, plan: &Plan) -> Duration {
        Duration::from_nanos((self.predicted(n).unwrap_or(0.0) * self.rounds(n, plan) as f64) as u64)
    }

    fn learn(&mut self, cell: &Cell) {
        let median = |what: What| stats::summarise(cell.samples.iter().map(|&sample| what.of(sample)));
        if let (Some(add), Some(del)) = (median(What::Add), median(What::Del)) {
            self.measured.push((cell.n, add.median, del.median));
        }
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
