//! Up to how many timers is the list as good as the best? Few timers, added and deleted again and again in one context.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;
use serde::Serialize;

use super::column::{Column, Subject, Visitor};
use super::sample::Delays;
use crate::clock::{Meter, OsClock};
use crate::error::LabError;
use crate::interrupt;
use crate::progress::Progress;
use crate::stats::{self, CONFIDENCE, Summary, Verdict};

pub(crate) const SIZES: [usize; 13] = [8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512];

/// Adds in a sample.
const ADDS: usize = 4096;

/// The list beside the best of the others at one N.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Point {
    pub(crate) n: usize,
    /// ns of an add and its delete, by median.
    pub(crate) list_ns: f64,
    pub(crate) best: Column,
    pub(crate) best_ns: f64,
    /// The list to the best, round by round: above 1 the list is slower.
    pub(crate) ratio: Summary,
    pub(crate) verdict: Verdict,
}

/// All of one mode.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Crossover {
    pub(crate) list: Column,
    pub(crate) points: Vec<Point>,
}

impl Crossover {
    /// The largest N up to which no interval lies above 1, and the smallest from which on all do: the list is as good up to somewhere in
    /// between.
    pub(crate) fn between(&self) -> (Option<usize>, Option<usize>) {
        let above =
            |point: &Point| point.ratio.interval.low > 1.0 && point.ratio.interval.coverage >= CONFIDENCE;
        let never = self.points.iter().take_while(|point| !above(point)).last();
        (never.map(|point| point.n), self.from(above))
    }

    /// From where on the list is slower by what counts as a difference.
    pub(crate) fn slower(&self) -> Option<usize> {
        self.from(|point| point.verdict == Verdict::Slower)
    }

    fn from(&self, is: impl Fn(&Point) -> bool) -> Option<usize> {
        self.points.iter().rev().take_while(|point| is(point)).last().map(|point| point.n)
    }

    /// Up to where the list is faster, if it is anywhere.
    pub(crate) fn faster(&self) -> Option<usize> {
        self.points.iter().filter(|point| point.verdict == Verdict::Faster).map(|point| point.n).max()
    }

    /// Where the medians are equal, on a line through the logarithms of the neighbours.
    pub(crate) fn at(&self) -> Option<f64> {
        let above = self.points.iter().rposition(|point| point.ratio.median < 1.0)?;
        let (low, high) = (self.points.get(above)?, self.points.get(above + 1)?);
        let [from, to] = [low, high].map(|point| (point.n as f64).ln());
        let share = low.ratio.median.ln() / (low.ratio.median.ln() - high.ratio.median.ln());
        Some((from + share * (to - from)).exp())
    }
}

/// Compares the lists among `columns` with the rest of their modes. An interruption leaves points out.
///
/// # Errors
/// A wrong answer, or no random source.
pub(crate) fn run(
    columns: &[Column],
    rounds: usize,
    seed: u64,
    clock: OsClock,
) -> Result<Vec<Crossover>, LabError> {
    let mut found = Vec::new();
    for list in columns.iter().copied().filter(|column| column.is_list()) {
        let rivals = |column: &Column| column.mode() == list.mode() && !column.is_list() && !column.scans();
        let others: Vec<Column> = columns.iter().copied().filter(rivals).collect();
        if !others.is_empty() {
            found.push(Crossover { list, points: points(list, &others, rounds, seed, clock)? });
        }
    }
    Ok(found)
}

fn points(
    list: Column,
    others: &[Column],
    rounds: usize,
    seed: u64,
    clock: OsClock,
) -> Result<Vec<Point>, LabError> {
    let columns = [&[list], others].concat();
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut delays = Delays::of(list.mode(), ADDS, seed)?;
    let progress = Progress::steps(SIZES.len() as u64, format!("crossover, {}", list.name()));
    let mut points = Vec::new();
    for n in SIZES {
        let mut samples = vec![Vec::new(); columns.len()];
        let mut order: Vec<usize> = (0..columns.len()).collect();
        // The first round warms up.
        for round in 0..=rounds {
            order.shuffle(&mut random);
            for &at in &order {
                if interrupt::requested() {
                    return Ok(points);
                }
                let ns = columns[at].visit(clock, Cycle { n, delays: &mut delays, clock });
                let ns =
                    ns.ok_or_else(|| LabError::failed(format!("{}: a timer is lost", columns[at].name())))?;
                if round > 0 {
                    samples[at].push(ns);
                }
            }
        }
        points.extend(point(n, &columns, &samples));
        progress.step();
    }
    Ok(points)
}

/// The list is the first.
fn point(n: usize, columns: &[Column], samples: &[Vec<f64>]) -> Option<Point> {
    let medians: Vec<f64> = samples
        .iter()
        .map(|samples| stats::summarise(samples.iter().copied()).map(|summary| summary.median))
        .collect::<Option<_>>()?;
    let best = (1..columns.len()).min_by(|&a, &b| medians[a].total_cmp(&medians[b]))?;
    let ratio = stats::ratios(&samples[0], &samples[best])?;
    let (best, best_ns) = (columns[best], medians[best]);
    Some(Point { n, list_ns: medians[0], best, best_ns, ratio, verdict: Verdict::on(&ratio) })
}

/// `n` adds and `n` deletes in turns, [`ADDS`] in all; ns of a pair.
struct Cycle<'a> {
    n: usize,
    delays: &'a mut Delays,
    clock: OsClock,
}

impl Visitor for Cycle<'_> {
    type Out = Option<f64>;

    fn visit<S: Subject>(self, scheduler: S) -> Option<f64> {
        let Self { n, delays, clock } = self;
        let mut ids = Vec::with_capacity(n);
        let (cycles, mut deleted) = ((ADDS / n).max(1), 0);
        let start = clock.now();
        for _ in 0..cycles {
            for _ in 0..n {
                ids.push(scheduler.add(delays.next())?);
            }
            for id in ids.drain(..) {
                deleted += usize::from(scheduler.del(id));
            }
        }
        let ns = clock.now().saturating_sub(start);
        (deleted == cycles * n).then(|| ns as f64 / (cycles * n) as f64)
    }
}
