//! `tickwright bench heap`: the test of Asterisk's heap from 2009, applied to our heap. The first
//! part pushes and pops random numbers. The second part also removes numbers from random positions
//! and pushes them again before the pops.

use core::cell::Cell;
use core::cmp::Ordering;

use clap::Args;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use tickwright_collections::{Heap, HeapOrder};

use crate::allocator;
use crate::error::LabError;
use crate::experiment::{Experiment, Lab, Parameters};
use crate::experiments::request;
use crate::interrupt;
use crate::models::scenario::{Population, Seed};
use crate::output::OutputArgs;
use crate::progress::Progress;
use crate::render::Format;
use crate::result::{Better, Finding, Section, Series, Table, Unit, labels};

/// Arguments of `bench heap`.
#[derive(Debug, Clone, Args)]
pub(crate) struct HeapArgs {
    /// How many numbers to push; a tenth of them is removed and pushed again
    #[arg(long, value_name = "N", allow_hyphen_values = true, default_value = "100k", value_parser = Population::parse)]
    n: Population,
    /// Seed of the numbers
    #[arg(long, allow_hyphen_values = true, default_value = "1", value_parser = Seed::parse)]
    seed: Seed,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// A part of the test that passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    part: &'static str,
    pushed: usize,
    removed: usize,
    popped: usize,
    comparisons: u64,
}

impl Row {
    fn counts(&self) -> [(&'static str, u64); 4] {
        let Self { pushed, removed, popped, comparisons, .. } = *self;
        [
            ("pushed", pushed as u64),
            ("removed", removed as u64),
            ("popped", popped as u64),
            ("comparisons", comparisons),
        ]
    }
}

impl Experiment for HeapArgs {
    type Plan = usize;
    type Data = Vec<Row>;

    fn name(&self) -> String {
        "bench heap".into()
    }

    fn plan(&self) -> Result<usize, LabError> {
        Ok(usize::try_from(self.n.get()).unwrap_or(usize::MAX))
    }

    fn parameters(&self, n: &usize) -> Parameters {
        request::parameters([("n", (*n).into())])
    }

    fn seed(&self, _: &usize) -> Option<u64> {
        Some(self.seed.get())
    }

    fn is_timed(&self) -> bool {
        false
    }

    fn run(&self, n: &usize, lab: &mut Lab<'_>) -> Result<Vec<Row>, LabError> {
        let rows = run(*n, self.seed.get())?;
        lab.interrupted = rows.len() < PARTS;
        Ok(rows)
    }

    fn series(&self, _: &usize, rows: &Vec<Row>) -> Vec<Series> {
        let of_row = |row: &Row| {
            let of = labels([("part", row.part.into())]);
            row.counts().map(|(name, count)| {
                Series::new(name, Unit::Count, of.clone()).better(Better::Neither).of([count as f64])
            })
        };
        rows.iter().flat_map(of_row).collect()
    }

    fn findings(&self, _: &usize, rows: &Vec<Row>) -> Vec<Finding> {
        let right = "order, count and positions are right";
        rows.iter().map(|row| Finding::stated(row.part, right)).collect()
    }

    fn sections(&self, _: &usize, rows: &Vec<Row>, _: &[Finding]) -> Vec<Section> {
        let mut table = Table::new().column("part", Format::Text);
        for name in ["pushed", "removed", "popped", "comparisons"] {
            table = table.column(name, Format::Thousands);
        }
        for row in rows {
            table.row([row.part.into()].into_iter().chain(row.counts().map(|(_, count)| count.into())));
        }
        let right = if rows.is_empty() { "" } else { "Order, count and positions are right." };
        vec![Section::new("").table(table).text(right)]
    }
}

/// The number of parts of the test.
const PARTS: usize = 2;

/// Bytes per number, in the heap and in the arrays that verify it.
const BYTES: usize = 4 + 8 + 4 + 4 + 1;

/// Runs both parts; returns fewer rows after an interruption.
///
/// # Errors
/// [`LabError::Failed`] with the first wrong answer, [`LabError::Memory`].
fn run(n: usize, seed: u64) -> Result<Vec<Row>, LabError> {
    allocator::room(n.saturating_mul(BYTES), &format!("a heap of {n} numbers"))?;
    let mut random = Pcg64::seed_from_u64(seed);
    let parts: [_; PARTS] = [("push, pop", 0), ("push, remove and push again, pop", n / 10)];
    let mut rows = Vec::new();
    for (part, removals) in parts {
        match one(part, n, removals, &mut random) {
            Ok(row) => rows.push(row),
            Err(LabError::Interrupted) => break,
            Err(wrong) => return Err(wrong),
        }
    }
    Ok(rows)
}

/// The numbers, which the heap refers to by index, and the position that the heap reports for each.
struct Numbers {
    values: Vec<u32>,
    positions: Vec<Cell<usize>>,
    comparisons: Cell<u64>,
}

impl HeapOrder<u32> for &Numbers {
    fn compare(&self, a: &u32, b: &u32) -> Ordering {
        self.comparisons.set(self.comparisons.get() + 1);
        self.values[*a as usize].cmp(&self.values[*b as usize])
    }

    fn placed(&self, number: &mut u32, position: usize) {
        self.positions[*number as usize].set(position);
    }

    fn position(&self, number: &u32) -> Option<usize> {
        Some(self.positions[*number as usize].get())
    }

    fn same(&self, a: &u32, b: &u32) -> bool {
        a == b
    }
}

/// Operations per step of the progress bar; an interruption is checked at each step.
const CHUNK: usize = 10_000;

fn one(part: &'static str, n: usize, removals: usize, random: &mut Pcg64) -> Result<Row, LabError> {
    let numbers = Numbers {
        values: (0..n).map(|_| random.random()).collect(),
        positions: vec![Cell::new(0); n],
        comparisons: Cell::new(0),
    };
    let wrong = |what: &str| LabError::failed(format!("bench heap, {part}: {what}"));
    let progress = Progress::steps(((2 * n + removals) / CHUNK) as u64, part);
    let mut done = 0;
    let mut step = || {
        done += 1;
        if done % CHUNK == 0 {
            progress.step();
        }
        if done % CHUNK == 0 && interrupt::requested() { Err(LabError::Interrupted) } else { Ok(()) }
    };

    let mut heap = Heap::new(&numbers);
    for number in (0..n).filter_map(|number| u32::try_from(number).ok()) {
        heap.push(number).map_err(|refused| wrong(&refused.to_string()))?;
        step()?;
    }
    let whole = |heap: &Heap<u32, &Numbers>, when: &str| match heap.verify() {
        _ if heap.len() != n => Err(wrong(&format!("{} of {n} elements {when}", heap.len()))),
        Err(violation) => Err(wrong(&format!("{violation}, {when}"))),
        Ok(()) => Ok(()),
    };
    whole(&heap, "after all pushes")?;
    for _ in 0..removals {
        let number = *heap.at(random.random_range(1..=n)).ok_or_else(|| wrong("no element at a position"))?;
        if heap.remove(&number) != Ok(number) {
            return Err(wrong("a removal did not answer the element that was asked for"));
        }
        if heap.remove(&number).is_ok() {
            return Err(wrong("an element could be removed twice"));
        }
        heap.push(number).map_err(|refused| wrong(&refused.to_string()))?;
        step()?;
    }
    whole(&heap, "after all removals")?;

    let mut expected = numbers.values.clone();
    expected.sort_unstable_by(|a, b| b.cmp(a));
    let mut popped = vec![false; n];
    for (at, value) in expected.iter().enumerate() {
        let number = heap.pop().ok_or_else(|| wrong(&format!("{at} of {n} elements were popped")))? as usize;
        if numbers.values[number] != *value {
            return Err(wrong(&format!("element {at} popped is {}, not {value}", numbers.values[number])));
        }
        if core::mem::replace(&mut popped[number], true) {
            return Err(wrong("an element was popped twice"));
        }
        step()?;
    }
    if heap.pop().is_some() {
        return Err(wrong("more elements were popped than pushed"));
    }
    let comparisons = numbers.comparisons.get();
    Ok(Row { part, pushed: n + removals, removed: removals, popped: n, comparisons })
}

#[cfg(test)]
mod tests;
