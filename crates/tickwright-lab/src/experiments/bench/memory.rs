//! `tickwright bench --memory`: bytes per pending timer, counted by the allocator.

use crate::allocator;
use crate::clock::FakeMeter;
use crate::error::LabError;
use crate::experiment::{Lab, Parameters};
use crate::experiments::request::{self, left_out};
use crate::interrupt;
use crate::models::erased::Erased;
use crate::models::live::with_one;
use crate::models::scenario::{Measure, Scenario};
use crate::models::tape::{Step, Tape};
use crate::models::witness::Evidence;
use crate::output::table::count;
use crate::render::Format;
use crate::result::{Cell, Finding, Section, Series, Table, Unit, labels};
use crate::structures::registry::{self, Structure};

/// The numbers of pending timers, unless others are asked for.
pub(super) const POPULATIONS: [usize; 3] = [1_000, 100_000, 1_000_000];

/// What to measure.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(super) structures: Vec<&'static Structure>,
    pub(super) populations: Vec<usize>,
}

/// The measurements.
#[derive(Debug, Default)]
pub(crate) struct Data {
    /// The cost of each structure without timers.
    fixed: Vec<Fixed>,
    /// An entry for each structure and population.
    rows: Vec<Row>,
}

/// The cost of a queue without timers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Fixed {
    structure: &'static Structure,
    /// Bytes of the queue value itself.
    inline: usize,
    /// Bytes on the heap, with room for one timer, without nodes that the caller owns.
    heap: usize,
}

/// The bytes of a structure at a population.
#[derive(Debug, Clone)]
struct Row {
    structure: &'static Structure,
    population: usize,
    /// Bytes on the heap, without those that stand for the caller's own objects. All timers are
    /// pending, after one delivery and one insert per timer (at most 100,000). Otherwise the reason
    /// why the structure was not run.
    bytes: Result<usize, String>,
}

impl Row {
    /// Bytes per pending timer.
    fn per_timer(&self) -> Option<f64> {
        self.bytes.as_ref().ok().map(|bytes| *bytes as f64 / self.population as f64)
    }
}

impl Plan {
    pub(super) fn parameters(&self) -> Parameters {
        request::parameters([
            ("structures", request::ids(&self.structures).into()),
            ("n", request::list(&self.populations).into()),
        ])
    }
}

/// Weighs every structure, empty and at each population.
///
/// # Errors
/// The system refuses memory.
pub(super) fn run(plan: &Plan, lab: &mut Lab<'_>) -> Result<Data, LabError> {
    let fixed = plan.structures.iter().map(|structure| weigh_empty(structure)).collect();
    let mut data = Data { fixed, rows: Vec::new() };
    for &population in &plan.populations {
        for structure in &plan.structures {
            if interrupt::requested() {
                lab.interrupted = true;
                return Ok(data);
            }
            data.rows.push(weigh(structure, population)?);
        }
    }
    Ok(data)
}

impl Data {
    pub(super) fn series(&self) -> impl Iterator<Item = Series> {
        let pending = self.rows.iter().filter_map(|row| {
            let of = labels([("structure", row.structure.id.into()), ("n", row.population.into())]);
            Some(Series::new("pending", Unit::Bytes, of).per("timer").of([row.per_timer()?]))
        });
        let empty = self.fixed.iter().flat_map(|fixed| {
            [("empty, inline", fixed.inline), ("empty, heap", fixed.heap)].map(|(name, bytes)| {
                let of = labels([("structure", fixed.structure.id.into())]);
                Series::new(name, Unit::Bytes, of).of([bytes as f64])
            })
        });
        pending.chain(empty)
    }

    pub(super) fn findings(&self, plan: &Plan) -> Vec<Finding> {
        let least = plan.populations.iter().filter_map(|&n| {
            let rows = self.rows.iter().filter(|row| row.population == n);
            let sized = rows.filter_map(|row| Some((row.structure.id, row.per_timer()?)));
            let (id, bytes) = sized.min_by(|a, b| a.1.total_cmp(&b.1))?;
            let about = format!("fewest bytes per timer, n={}", count(n));
            Some(Finding::stated(about, format!("{id}, {bytes:.1}")))
        });
        least.collect()
    }

    pub(super) fn sections(&self, plan: &Plan) -> Vec<Section> {
        let headings = plan.populations.iter().map(|n| format!("n={}", count(*n)));
        let mut shown = Table::new().column("", Format::Text).columns(headings, Format::Fixed(1));
        shown = shown.column("empty queue", Format::Fixed(0));
        for fixed in &self.fixed {
            let of = |n: &usize| {
                let row = self.rows.iter().find(|r| r.structure == fixed.structure && r.population == *n);
                Cell::maybe(row.and_then(Row::per_timer))
            };
            let columns = plan.populations.iter().map(of);
            let empty = (fixed.inline + fixed.heap).into();
            shown.row([fixed.structure.id.into()].into_iter().chain(columns).chain([empty]));
        }
        let skipped = self.rows.iter().filter_map(|row| {
            Some((row.structure.id, count(row.population), row.bytes.as_ref().err()?.clone()))
        });
        vec![
            Section::new("Bytes per pending timer, and of an empty queue")
                .text(
                    "With a u32 payload, without the key that the caller keeps in its own object (8 bytes for \
                     slabs). Hooks: the whole node. An empty queue: itself and on the heap, with room for one.",
                )
                .table(shown)
                .text(left_out(skipped)),
        ]
    }
}

/// Measures a structure with `population` timers.
fn weigh(structure: &'static Structure, population: usize) -> Result<Row, LabError> {
    if structure.sensible.is_none_or(|sensible| population <= sensible.most) {
        // The delays and the least memory of the structure. The memory check comes first: without
        // memory, every structure would look bounded.
        let bytes = registry::facts(structure).bytes_per_timer + 8;
        allocator::room(population.saturating_mul(bytes), &named(structure, population))?;
    }
    let bytes = match registry::why_not(structure, population)? {
        Some(why) => Err(why),
        None => Ok(weigh_full(structure, population)?),
    };
    Ok(Row { structure, population, bytes })
}

fn named(structure: &Structure, population: usize) -> String {
    format!("{} with {population} timers", structure.id)
}

/// The scenario whose timers are weighed.
const WEIGHED: &str = "hold-exp-sparse";

/// The most deliveries after the filling. The deliveries show which entries lazy structures leave
/// behind.
const MOST_DELIVERIES: usize = 100_000;

fn weigh_full(structure: &'static Structure, population: usize) -> Result<usize, LabError> {
    let mut source = Scenario::find(WEIGHED)?.source(population, population.min(MOST_DELIVERIES), 1);
    let work = [Tape::over(Step::Fill, source.deadlines()), source.next(Measure::Hold)];
    with_one(structure, population, false, |live| {
        for tape in &work {
            // A fold does not allocate.
            live.sampler.sample(tape, Evidence::Fold, &FakeMeter::steady(0));
        }
        let bytes = live.sampler.bytes();
        let held = drained(&mut *live.sampler.queue(), population);
        if held == population {
            Ok(bytes)
        } else {
            let what = named(structure, population);
            Err(LabError::memory(format!("{what}: the queue holds {held} of them, the others were refused")))
        }
    })
}

/// Measures a structure without timers. It allocates memory for the first timer only when that
/// timer comes.
fn weigh_empty(structure: &'static Structure) -> Fixed {
    let first = Tape::of([Step::Insert { id: 0, deadline: 1 }, Step::Deliver { now: 1 }]);
    with_one(structure, 1, false, |live| {
        live.sampler.sample(&first, Evidence::Fold, &FakeMeter::steady(0));
        Fixed { structure, inline: live.inline, heap: live.heap_bytes() }
    })
}

/// Delivers up to `most + 1` timers and returns their number.
fn drained(queue: &mut dyn Erased, most: usize) -> usize {
    let mut held = 0;
    let mut delivered = usize::MAX;
    while delivered > 0 && held <= most {
        // The head of a granular structure is a lower bound: nothing may be due at that tick.
        delivered = 0;
        let Some(head) = queue.head() else { break };
        queue.deliver(head.saturating_add(GRANULE), most + 1 - held, &mut |_, _| delivered += 1);
        held += delivered;
    }
    held
}

/// An upper bound of these timers' lateness in any granular structure, in ticks.
const GRANULE: u64 = 1 << 32;

#[cfg(test)]
mod tests;
