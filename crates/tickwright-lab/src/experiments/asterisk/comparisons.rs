//! Can a heap become as slow as a list? Counts comparisons for deadlines chosen to be costly.

use core::cell::Cell;
use core::cmp::Ordering;
use core::ops::Sub;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::then::{Context, Heap, List, Order, Tree};
use crate::error::LabError;
use crate::output::table::count as shown;
use crate::render::Format;
use crate::result::{Finding, Section, Series, Table, Unit, labels};
use crate::stats::Verdict;

thread_local! {
    static COMPARISONS: Cell<u64> = const { Cell::new(0) };
}

/// A point in time that counts its comparisons.
#[derive(Debug, Clone, Copy, Default)]
struct Counted(u64);

impl Ord for Counted {
    fn cmp(&self, other: &Self) -> Ordering {
        COMPARISONS.set(COMPARISONS.get() + 1);
        self.0.cmp(&other.0)
    }
}

impl PartialOrd for Counted {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Counted {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Counted {}

impl Sub for Counted {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

/// Returns the delay of an add in ms, from its index among `n` adds.
type Delay = fn(u32, u32, &mut Pcg64Mcg) -> u32;

/// Counts the comparisons of `n` adds and `n` deletes.
type Counter = fn(u32, Delay) -> [Calls; 2];

/// The orders of deadlines. *Inward* alternates late and early deadlines towards the middle. Walks
/// from either end are then longest.
const ORDERS: [(&str, Delay); 5] = [
    ("ascending", |at, _, _| at),
    ("descending", |at, n, _| n - at),
    ("inward", |at, n, _| if at.is_multiple_of(2) { at / 2 } else { n - at / 2 }),
    ("random", |_, n, random| random.random_range(0..n)),
    ("equal", |_, n, _| n),
];

/// One structure under one order of deadlines.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Row {
    pub(crate) structure: &'static str,
    pub(crate) order: &'static str,
    pub(crate) n: u32,
    pub(crate) add: Calls,
    pub(crate) delete: Calls,
}

/// The number of comparisons per call.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Calls {
    pub(crate) most: u64,
    pub(crate) mean: f64,
}

/// Runs the structures of the 2009 schedulers under each order: `n` adds, then `n` deletes in the
/// order of the adds.
///
/// # Errors
/// A heap that compares more often than its shape allows.
pub(crate) fn run(n: u32) -> Result<Vec<Row>, LabError> {
    let structures: [(&str, Counter); 3] =
        [("list", count::<List<Counted>>), ("heap", count::<Heap<Counted>>), ("rb", count::<Tree<Counted>>)];
    let mut rows = Vec::new();
    for (structure, count) in structures {
        for (order, delay) in ORDERS {
            let [add, delete] = count(n, delay);
            rows.push(Row { structure, order, n, add, delete });
        }
    }
    let (add, delete) = heap_bounds(n);
    let beyond = |row: &&Row| row.structure == "heap" && (row.add.most > add || row.delete.most > delete);
    match rows.iter().find(beyond) {
        Some(row) => Err(LabError::failed(format!("the heap compares too often: {row:?}"))),
        None => Ok(rows),
    }
}

/// The most comparisons of the heap, for an add and for a removal. The entry of an add rises
/// through the levels above it, with one comparison for each level. A removal moves the last
/// element into the hole. One comparison shows that the element does not rise. Then the element
/// sinks, with two comparisons for each level.
pub(crate) fn heap_bounds(n: u32) -> (u64, u64) {
    let levels = u64::from(n.max(1).ilog2());
    (levels, 2 * levels + 1)
}

/// Counts the comparisons of the adds and of the deletes.
fn count<O: Order<Counted>>(n: u32, delay: Delay) -> [Calls; 2] {
    let mut random = Pcg64Mcg::seed_from_u64(1);
    let context = Context::<O, Counted, _>::new(Counted);
    let calls = |call: &mut dyn FnMut(usize)| {
        let (mut most, mut sum) = (0, 0);
        for at in 0..n as usize {
            COMPARISONS.set(0);
            call(at);
            most = most.max(COMPARISONS.get());
            sum += COMPARISONS.get();
        }
        Calls { most, mean: sum as f64 / f64::from(n.max(1)) }
    };
    let delays: Vec<u32> = (0..n).map(|at| delay(at, n, &mut random)).collect();
    let mut ids = Vec::with_capacity(delays.len());
    let add = calls(&mut |at| ids.push(context.add(delays[at], |_| 0, at)));
    let delete = calls(&mut |at| {
        context.del(ids[at]);
    });
    [add, delete]
}

/// A figure of a call: its name, its format, and a function that returns it.
type Figure = (&'static str, Format, fn(&Calls) -> f64);

const FIGURES: [Figure; 2] = [
    ("most comparisons", Format::Thousands, |calls| calls.most as f64),
    ("mean comparisons", Format::Fixed(1), |calls| calls.mean),
];

impl Row {
    fn calls(&self) -> [(&'static str, &Calls); 2] {
        [("add", &self.add), ("delete", &self.delete)]
    }
}

/// The comparisons of adds and of deletes, as series.
pub(super) fn series(rows: &[Row]) -> Vec<Series> {
    let of = |row: &Row, call: &'static str, (name, _, figure): Figure, calls: &Calls| {
        let of = [("structure", row.structure.into()), ("order", row.order.into()), ("call", call.into())];
        let mut labels = labels(of);
        labels.insert("n".into(), row.n.into());
        Series::new(name, Unit::Count, labels).of([figure(calls)])
    };
    let calls = rows.iter().flat_map(|row| row.calls().map(|(call, calls)| (row, call, calls)));
    calls.flat_map(|(row, call, calls)| FIGURES.map(|figure| of(row, call, figure, calls))).collect()
}

/// Whether the heap kept its bounds. The figures are counts, so they need no interval.
pub(super) fn finding(rows: &[Row]) -> Option<Finding> {
    let n = rows.first()?.n;
    let heap = || rows.iter().filter(|row| row.structure == "heap");
    let (add, delete) = heap_bounds(n);
    let most = (heap().map(|row| row.add.most).max()?, heap().map(|row| row.delete.most).max()?);
    let about = format!("can a heap degrade to a list? comparisons at N = {}", shown(n as usize));
    let here = format!("at most {} an add and {} a delete", most.0, most.1);
    let verdict = if most.0 <= add && most.1 <= delete { Verdict::Held } else { Verdict::Missed };
    let bounds = format!("by its shape at most {add} and {delete}");
    Some(Finding::stated(about, here).published(bounds).judged(verdict))
}

pub(super) fn sections(rows: &[Row]) -> Vec<Section> {
    let Some(Finding { here, published, .. }) = finding(rows) else { return Vec::new() };
    let bounds = published.unwrap_or_default();
    let table = |(name, format, figure): Figure| {
        let orders = ORDERS.map(|(order, _)| (order, format));
        let mut table = Table::of([&[(name, Format::Text)][..], &orders].concat());
        for of_structure in rows.chunks(ORDERS.len()) {
            for (at, call) in ["add", "delete"].into_iter().enumerate() {
                let name = format!("{}, {call}", of_structure[0].structure).into();
                let figures = of_structure.iter().map(|row| figure(row.calls()[at].1).into());
                table.row([name].into_iter().chain(figures));
            }
        }
        table
    };
    let [most, mean] = FIGURES.map(table);
    vec![
        Section::new("Can a heap degrade to a list? Deadlines in five orders").table(most),
        Section::new("").table(mean),
        Section::new("").text(format!(
            "No: the shape of a heap depends on N alone. The heap compared {here}; {bounds}.\n\
             The list can be hurt: deadlines chosen for it make each add walk half of it, and equal deadlines all \
             of it. The red-black tree is bounded like the heap. The hash and ring of the reviewers is the wheel. \
             (Inward: late and early by turns, towards the middle.)"
        )),
    ]
}
