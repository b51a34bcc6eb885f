//! Can a heap degrade to a list? Comparisons counted, for deadlines that somebody chose to hurt.

use core::cell::Cell;
use core::cmp::Ordering;
use core::ops::Sub;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde::Serialize;

use super::then::{Context, Heap, List, Order, Tree};

thread_local! {
    static COMPARISONS: Cell<u64> = const { Cell::new(0) };
}

/// A point in time that counts how often it is compared.
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

/// An order of deadlines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Sequence {
    /// Each later than all before it.
    Ascending,
    /// Each earlier than all before it.
    Descending,
    /// Late and early by turns, towards the middle: what walks from the nearer end meet last.
    Inward,
    Random,
    Equal,
}

impl Sequence {
    pub(crate) const ALL: [Self; 5] =
        [Self::Ascending, Self::Descending, Self::Inward, Self::Random, Self::Equal];

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Ascending => "ascending",
            Self::Descending => "descending",
            Self::Inward => "inward",
            Self::Random => "random",
            Self::Equal => "equal",
        }
    }

    /// `n` delays in ms.
    fn delays(self, n: u32) -> Vec<u32> {
        let mut random = Pcg64Mcg::seed_from_u64(1);
        (0..n)
            .map(|at| match self {
                Self::Ascending => at,
                Self::Descending => n - at,
                Self::Inward if at.is_multiple_of(2) => at / 2,
                Self::Inward => n - at / 2,
                Self::Random => random.random_range(0..n),
                Self::Equal => n,
            })
            .collect()
    }
}

/// Comparisons per call.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Calls {
    pub(crate) most: u64,
    pub(crate) mean: f64,
}

/// One structure under one sequence.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Row {
    pub(crate) structure: &'static str,
    pub(crate) sequence: Sequence,
    pub(crate) n: u32,
    pub(crate) add: Calls,
    pub(crate) del: Calls,
}

/// The structures of the 2009 schedulers under each sequence: `n` adds, then `n` deletes in the
/// order of the adds.
pub(crate) fn run(n: u32) -> Vec<Row> {
    let rows = Sequence::ALL.into_iter().flat_map(|sequence| {
        [
            count::<List<Counted>>("list", sequence, n),
            count::<Heap<Counted>>("heap", sequence, n),
            count::<Tree<Counted>>("rb", sequence, n),
        ]
    });
    let mut rows: Vec<Row> = rows.collect();
    rows.sort_by_key(|row| ["list", "heap", "rb"].iter().position(|id| *id == row.structure));
    rows
}

/// What the heap cannot exceed. An add rises through the levels above it, with a comparison each. A
/// removal puts the last element into the hole: one comparison tells that it does not rise, and
/// then it sinks with two comparisons a level.
pub(crate) fn heap_bounds(n: u32) -> (u64, u64) {
    let levels = u64::from(n.max(1).ilog2());
    (levels, 2 * levels + 1)
}

fn count<O: Order<Counted>>(structure: &'static str, sequence: Sequence, n: u32) -> Row {
    let context = Context::<O, Counted, _>::new(Counted);
    let calls = |mut call: Box<dyn FnMut(usize) + '_>| {
        let (mut most, mut sum) = (0, 0);
        for at in 0..n as usize {
            COMPARISONS.set(0);
            call(at);
            most = most.max(COMPARISONS.get());
            sum += COMPARISONS.get();
        }
        Calls { most, mean: sum as f64 / f64::from(n.max(1)) }
    };
    let delays = sequence.delays(n);
    let mut ids = Vec::with_capacity(delays.len());
    let add = calls(Box::new(|at| ids.push(context.add(delays[at], |_| 0, at))));
    let del = calls(Box::new(|at| {
        context.del(ids[at]);
    }));
    Row { structure, sequence, n, add, del }
}
