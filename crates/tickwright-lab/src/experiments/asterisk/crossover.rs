//! Up to how many timers is the list as good as the best? Few timers, added and deleted again and
//! again in one context.

use super::column::{Column, Subject, Visitor};
use super::sample::Delays;
use crate::clock::{Meter, OsClock};
use crate::error::LabError;
use crate::experiments::crossover::{Crossover, Point, Sampled, in_turns};

pub(crate) const SIZES: [usize; 13] = [8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512];

/// Adds in a sample.
const ADDS: usize = 4096;

/// Compares the lists among `columns` with the rest of their modes. An interruption leaves points
/// out.
///
/// # Errors
/// A wrong answer, or no random source.
pub(crate) fn run(
    columns: &[Column],
    rounds: usize,
    seed: u64,
    clock: OsClock,
) -> Result<Vec<Crossover<Column>>, LabError> {
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
) -> Result<Vec<Point<Column>>, LabError> {
    let columns = [&[list], others].concat();
    let mut delays = Delays::of(list.mode(), ADDS, seed)?;
    let what = format!("crossover, {}", list.name());
    let sampled = in_turns(&columns, &SIZES, rounds, seed, what, |column, n, _| {
        let ns = column.visit(clock, Cycle { n, delays: &mut delays, clock });
        ns.ok_or_else(|| LabError::failed(format!("{}: a timer is lost", column.name())))
    })?;
    let point = |sampled: &Sampled<f64>| {
        let (first, rest) = sampled.samples.split_first()?;
        let rivals: Vec<(Column, &[f64])> =
            others.iter().copied().zip(rest.iter().map(Vec::as_slice)).collect();
        Point::of(sampled.n, first, &rivals)
    };
    Ok(sampled.iter().filter_map(point).collect())
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
