//! Up to how many timers is the list as fast as the best structure? A sample adds and deletes a few
//! timers repeatedly in one context.

use super::column::{Column, Subject, Visitor};
use super::sample::Delays;
use super::shape::of_column;
use crate::clock::Meter;
use crate::error::LabError;
use crate::experiments::crossover::{Crossover, Point, Sampled, in_turns};
use crate::result::{Finding, Section, Series, Unit, labels};

const SIZES: [usize; 13] = [8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512];

/// The number of adds in a sample.
const ADDS: usize = 4096;

/// The list of a mode, and the structures that compete with it. Samples are ns per add and delete,
/// by N and column.
#[derive(Debug, Clone)]
pub(crate) struct Few {
    /// The columns; the list comes first.
    pub(crate) columns: Vec<Column>,
    pub(crate) sampled: Vec<Sampled<f64>>,
}

impl Few {
    /// Compares the list with the best of its rivals at each N.
    pub(crate) fn crossover(&self) -> Option<Crossover<Column>> {
        let (&list, rivals) = self.columns.split_first()?;
        let point = |sampled: &Sampled<f64>| {
            let (first, rest) = sampled.samples.split_first()?;
            let rivals: Vec<(Column, &[f64])> =
                rivals.iter().copied().zip(rest.iter().map(Vec::as_slice)).collect();
            Point::of(sampled.n, first, &rivals)
        };
        Some(Crossover { list, points: self.sampled.iter().filter_map(point).collect() })
    }

    /// All samples: ns per add and delete.
    pub(super) fn series(&self) -> Vec<Series> {
        let of = |sampled: &Sampled<f64>, at: usize| {
            let series = Series::new("add and delete", Unit::Ns, of_column(self.columns[at], sampled.n));
            series.per("pair").of(sampled.samples[at].iter().copied())
        };
        let lanes = 0..self.columns.len();
        self.sampled.iter().flat_map(|sampled| lanes.clone().map(move |at| of(sampled, at))).collect()
    }

    pub(super) fn finding(&self) -> Option<Finding> {
        let crossover = self.crossover()?;
        let mode = crossover.list.mode().name();
        let about = format!("up to how many timers the list is as good as the best, {mode}");
        let of = labels([("part", "crossover".into()), ("mode", mode.into())]);
        Some(Finding::stated(about, crossover.words("the best")).labelled(of))
    }

    pub(super) fn section(&self) -> Option<Section> {
        let crossover = self.crossover()?;
        let mode = crossover.list.mode().name();
        let title = format!("Few timers, {mode}: an add and its delete, with up to N pending");
        Some(crossover.section(title, |column| column.title().to_owned()))
    }
}

/// Samples the lists among `columns` and the other structures of their modes. After an
/// interruption, some sizes are missing.
///
/// # Errors
/// A lost timer, or no random source.
pub(crate) fn run(
    columns: &[Column],
    rounds: usize,
    seed: u64,
    meter: &dyn Meter,
) -> Result<Vec<Few>, LabError> {
    let mut found = Vec::new();
    for list in columns.iter().copied().filter(|column| column.is_list()) {
        let rivals = |column: &Column| column.mode() == list.mode() && !column.is_list() && !column.scans();
        let mut columns: Vec<Column> = columns.iter().copied().filter(rivals).collect();
        if columns.is_empty() {
            continue;
        }
        columns.insert(0, list);
        let mut delays = Delays::of(list.mode(), ADDS, seed)?;
        let what = format!("crossover, {}", list.name());
        let sampled = in_turns(&columns, &SIZES, rounds, seed, what, |column, n, _| {
            let ns = column.visit(Cycle { n, delays: &mut delays, meter });
            ns.ok_or_else(|| LabError::failed(format!("{}: a timer is lost", column.name())))
        })?;
        found.push(Few { columns, sampled });
    }
    Ok(found)
}

/// Alternates `n` adds and `n` deletes, [`ADDS`] adds in all. Returns the ns per add and delete.
struct Cycle<'a> {
    n: usize,
    delays: &'a mut Delays,
    meter: &'a dyn Meter,
}

impl Visitor for Cycle<'_> {
    type Out = Option<f64>;

    fn visit<S: Subject>(self, scheduler: S) -> Option<f64> {
        let Self { n, delays, meter } = self;
        let mut ids = Vec::with_capacity(n);
        let (cycles, mut deleted) = ((ADDS / n).max(1), 0);
        let start = meter.now();
        for _ in 0..cycles {
            for _ in 0..n {
                ids.push(scheduler.add(delays.next())?);
            }
            for id in ids.drain(..) {
                deleted += usize::from(scheduler.del(id));
            }
        }
        let ns = meter.now().saturating_sub(start);
        (deleted == cycles * n).then(|| ns as f64 / (cycles * n) as f64)
    }
}
