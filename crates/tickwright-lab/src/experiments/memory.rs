//! `tickwright bench memory`: bytes per pending timer, counted by the allocator.

use clap::Args;

use crate::allocator;
use crate::clock::FakeMeter;
use crate::error::LabError;
use crate::experiment::{Experiment, Lab, Parameters};
use crate::experiments::request::{self, left_out};
use crate::interrupt;
use crate::models::hold::Hold;
use crate::models::live::with_one;
use crate::models::scenario::{Distribution, Increments, Measure, Population, Within};
use crate::models::tape::{Source, Step, Tape};
use crate::models::witness::Evidence;
use crate::output::{OutputArgs, table};
use crate::render::Format;
use crate::result::{Cell, Finding, Section, Series, Table, Unit, labels};
use crate::structures::candidate::BenchQueue;
use crate::structures::registry::{self, Structure};

/// Arguments of `bench memory`.
#[derive(Debug, Clone, Args)]
pub(crate) struct MemoryArgs {
    /// Structures to measure, as patterns: * matches anything, ! excludes
    #[arg(long, value_name = "PATTERNS", value_delimiter = ',', default_value = "*")]
    pub(crate) structures: Vec<String>,
    /// Numbers of pending timers
    #[arg(long, value_name = "N", value_delimiter = ',', allow_hyphen_values = true, default_value = "1k,100k,1M", value_parser = Population::parse)]
    pub(crate) n: Vec<Population>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// What to measure.
#[derive(Debug)]
pub(crate) struct Plan {
    structures: Vec<&'static Structure>,
    populations: Vec<usize>,
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
pub(crate) struct Fixed {
    /// The structure.
    structure: &'static Structure,
    /// Bytes of the queue value itself.
    pub(crate) inline: usize,
    /// Bytes on the heap, with room for one timer, without nodes that the caller owns.
    pub(crate) heap: usize,
}

impl Fixed {
    /// Inline and heap bytes together.
    pub(crate) fn bytes(&self) -> usize {
        self.inline + self.heap
    }
}

/// The bytes of a structure at a population.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    /// The structure.
    structure: &'static Structure,
    /// Timers pending.
    pub(crate) population: usize,
    /// Why it was not run.
    pub(crate) skipped: Option<String>,
    /// Bytes on the heap, without those that stand for the caller's own objects. All timers are
    /// pending, after one delivery and one insert per timer (at most 100,000).
    pub(crate) bytes: Option<usize>,
}

impl Row {
    /// Bytes per pending timer.
    pub(crate) fn per_timer(&self) -> Option<f64> {
        self.bytes.map(|bytes| bytes as f64 / self.population as f64)
    }
}

impl Experiment for MemoryArgs {
    type Plan = Plan;
    type Data = Data;

    fn name(&self) -> String {
        "bench memory".into()
    }

    fn plan(&self) -> Result<Plan, LabError> {
        let structures = registry::select(&self.structures)?;
        Ok(Plan { structures, populations: request::sizes(&self.n) })
    }

    fn parameters(&self, plan: &Plan) -> Parameters {
        request::parameters([
            ("structures", request::ids(&plan.structures).into()),
            ("n", request::list(&plan.populations).into()),
        ])
    }

    fn is_timed(&self) -> bool {
        false
    }

    fn run(&self, plan: &Plan, lab: &mut Lab<'_>) -> Result<Data, LabError> {
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

    fn series(&self, _: &Plan, data: &Data) -> Vec<Series> {
        let pending = data.rows.iter().filter_map(|row| {
            let of = labels([("structure", row.structure.id.into()), ("n", row.population.into())]);
            Some(Series::new("pending", Unit::Bytes, of).per("timer").of([row.per_timer()?]))
        });
        let empty = data.fixed.iter().flat_map(|fixed| {
            [("empty, inline", fixed.inline), ("empty, heap", fixed.heap)].map(|(name, bytes)| {
                let of = labels([("structure", fixed.structure.id.into())]);
                Series::new(name, Unit::Bytes, of).of([bytes as f64])
            })
        });
        pending.chain(empty).collect()
    }

    fn findings(&self, plan: &Plan, data: &Data) -> Vec<Finding> {
        let least = plan.populations.iter().filter_map(|&n| {
            let rows = data.rows.iter().filter(|row| row.population == n);
            let sized = rows.filter_map(|row| Some((row.structure.id, row.per_timer()?)));
            let (id, bytes) = sized.min_by(|a, b| a.1.total_cmp(&b.1))?;
            let about = format!("fewest bytes per timer, n={}", table::count(n));
            Some(Finding::stated(about, format!("{id}, {bytes:.1}")))
        });
        least.collect()
    }

    fn sections(&self, plan: &Plan, data: &Data, _: &[Finding]) -> Vec<Section> {
        let mut shown = Table::new().column("", Format::Text);
        for n in &plan.populations {
            shown = shown.column(format!("n={}", Format::Count.write(*n as f64)), Format::Fixed(1));
        }
        let mut shown = shown.column("empty queue", Format::Fixed(0));
        for structure in &plan.structures {
            let at =
                |n: &usize| data.rows.iter().find(|row| row.structure == *structure && row.population == *n);
            let fixed = data.fixed.iter().find(|fixed| fixed.structure == *structure);
            let columns = plan.populations.iter().map(|n| Cell::maybe(at(n).and_then(Row::per_timer)));
            shown.row(
                [structure.id.into()].into_iter().chain(columns).chain([fixed.map(Fixed::bytes).into()]),
            );
        }
        let skipped = data
            .rows
            .iter()
            .filter_map(|row| Some((row.structure.id, table::count(row.population), row.skipped.clone()?)));
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
    let what = format!("{} with {population} timers", structure.id);
    if structure.sensible.is_none_or(|sensible| population <= sensible.most) {
        // The delays and the least memory of the structure. The memory check comes first: without
        // memory, every structure would look bounded.
        let bytes = registry::bytes_per_timer(structure) + 8;
        allocator::room(population.saturating_mul(bytes), &what)?;
    }
    let skipped = registry::why_not(structure, population)?;
    let bytes = skipped.is_none().then(|| weigh_full(structure, population)).transpose()?;
    Ok(Row { structure, population, skipped, bytes })
}

/// The most deliveries after the filling. The deliveries show which entries lazy structures leave
/// behind.
const MOST_DELIVERIES: usize = 100_000;

fn weigh_full(structure: &'static Structure, population: usize) -> Result<usize, LabError> {
    let mean = Within::try_from(1 << 20).map_err(LabError::usage)?;
    let increments = Increments { distribution: Distribution::Exponential, mean };
    let mut hold = Hold::new(increments, population, population.min(MOST_DELIVERIES), 1);
    let work = [Tape::over(Step::Fill, hold.deadlines()), hold.next(Measure::Hold)];
    with_one(structure, population, false, |live| {
        for tape in &work {
            // A fold does not allocate.
            live.sampler.sample(tape, Evidence::Fold, &FakeMeter::steady(0));
        }
        let bytes = live.sampler.bytes();
        let held = count(&mut live.sampler.queue(), population);
        if held == population {
            Ok(bytes)
        } else {
            let what = format!("{} with {population} timers", structure.id);
            Err(LabError::memory(format!("{what}: the queue holds {held} of them, the others were refused")))
        }
    })
}

/// Measures a structure without timers. It allocates memory for the first timer only when that timer
/// comes.
fn weigh_empty(structure: &'static Structure) -> Fixed {
    let first = Tape::of([Step::Insert { id: 0, deadline: 1 }, Step::Deliver { now: 1 }]);
    with_one(structure, 1, false, |live| {
        live.sampler.sample(&first, Evidence::Fold, &FakeMeter::steady(0));
        Fixed { structure, inline: live.inline, heap: live.heap_bytes() }
    })
}

/// Delivers up to `most + 1` timers and returns their number.
fn count(queue: &mut impl BenchQueue, most: usize) -> usize {
    let mut held = 0;
    let mut delivered = usize::MAX;
    while delivered > 0 && held <= most {
        // The head of a granular structure is a lower bound: nothing may be due at that tick.
        delivered = 0;
        let Some(head) = queue.head() else { break };
        queue.advance(head.saturating_add(GRANULE), most + 1 - held, &mut |_, _| delivered += 1);
        held += delivered;
    }
    held
}

/// An upper bound of these timers' lateness in any granular structure, in ticks.
const GRANULE: u64 = 1 << 32;

#[cfg(test)]
mod tests;
