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
use crate::result::{Finding, Section, Series, Unit, default, labels};
use crate::structures::registry::{self, Structure};

/// The numbers of pending timers, unless the user gives others.
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
    /// The bytes per pending timer, and the bytes of an empty queue, for each structure.
    pub(super) series: Vec<Series>,
    /// The structures that were not run, with the population and the reason.
    skipped: Vec<(&'static str, String, String)>,
}

/// Bytes on the heap, without the bytes that stand for the caller's own objects. All timers are
/// pending, after one delivery and one insert per timer (at most 100,000).
const PENDING: &str = "pending";

impl Plan {
    pub(super) fn parameters(&self) -> Parameters {
        request::parameters([
            ("structures", request::ids(&self.structures).into()),
            ("n", request::list(&self.populations).into()),
        ])
    }

    /// Returns the series of a run. The bytes of the pending timers are made up.
    pub(super) fn expected(&self) -> Vec<Series> {
        let mut data = Data::default();
        for structure in &self.structures {
            self.populations.iter().for_each(|&n| data.note(structure, n, Ok(n)));
            data.series.extend(weigh_empty(structure));
        }
        data.series
    }
}

/// Measures the bytes of every structure, empty and at each population.
///
/// # Errors
/// If the system refuses memory.
pub(super) fn run(plan: &Plan, lab: &mut Lab<'_>) -> Result<Data, LabError> {
    let mut data = Data::default();
    let cells = plan.populations.iter().flat_map(|n| plan.structures.iter().map(move |one| (*n, *one)));
    for (population, structure) in cells {
        if interrupt::requested() {
            lab.interrupted = true;
            break;
        }
        data.note(structure, population, weigh(structure, population)?);
    }
    data.series.extend(plan.structures.iter().flat_map(|structure| weigh_empty(structure)));
    Ok(data)
}

impl Data {
    /// Adds the bytes of a structure with its timers, or the reason why the structure was not run.
    fn note(&mut self, structure: &Structure, population: usize, bytes: Result<usize, String>) {
        match bytes {
            Ok(bytes) => {
                let of = labels([("structure", structure.id.into()), ("n", population.into())]);
                let series = Series::new(PENDING, Unit::Bytes, of).per("timer");
                self.series.push(series.of([bytes as f64 / population as f64]));
            }
            Err(why) => self.skipped.push((structure.id, count(population), why)),
        }
    }

    pub(super) fn findings(&self, plan: &Plan) -> Vec<Finding> {
        let least = plan.populations.iter().filter_map(|&n| {
            let sized = self.series.iter().filter(|one| one.labels.get("n") == Some(&n.into()));
            let least = sized.min_by(|a, b| a.samples[0].total_cmp(&b.samples[0]))?;
            let about = format!("fewest bytes per timer, n={}", count(n));
            Some(Finding::stated(about, format!("{}, {:.1}", least.labels["structure"], least.samples[0])))
        });
        least.collect()
    }

    pub(super) fn sections(&self) -> Vec<Section> {
        let (pending, empty): (Vec<&Series>, _) = self.series.iter().partition(|one| one.name == PENDING);
        let above = "With a u32 payload, without the key that the caller keeps in its own object (8 bytes for \
                     slabs). Hooks: the whole node.";
        vec![
            Section::new("Bytes per pending timer")
                .text(above)
                .table(default::table_across("n", &pending))
                .text(left_out(self.skipped.iter().cloned())),
            Section::new("An empty queue: itself, and on the heap with room for one timer")
                .table(default::table(&empty)),
        ]
    }
}

/// Measures a structure with `population` timers. The inner error is the reason why the structure
/// was not run.
fn weigh(structure: &'static Structure, population: usize) -> Result<Result<usize, String>, LabError> {
    if structure.sensible.is_none_or(|sensible| population <= sensible.most) {
        // Each timer needs at least the structure's own memory and 8 bytes for a delay. This memory
        // is checked first, because otherwise a structure for which the system refuses memory would
        // look like a structure with a bounded population.
        let bytes = registry::facts(structure).bytes_per_timer + 8;
        allocator::room(population.saturating_mul(bytes), &named(structure, population))?;
    }
    Ok(match registry::why_not(structure, population)? {
        Some(why) => Err(why),
        None => Ok(weigh_full(structure, population)?),
    })
}

fn named(structure: &Structure, population: usize) -> String {
    format!("{} with {population} timers", structure.id)
}

/// The scenario whose timers' bytes are measured.
const WEIGHED: &str = "hold-exp-sparse";

/// The maximum number of deliveries after the filling. After the deliveries, lazy structures
/// contain dead entries, which are then measured too.
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

/// Returns the bytes of the queue value itself, and the bytes on the heap of a queue with room for
/// one timer. Nodes that the caller owns are not included. A queue allocates memory for its first
/// timer only when that timer is inserted.
fn weigh_empty(structure: &'static Structure) -> [Series; 2] {
    let first = Tape::of([Step::Insert { id: 0, deadline: 1 }, Step::Deliver { now: 1 }]);
    let bytes = with_one(structure, 1, false, |live| {
        live.sampler.sample(&first, Evidence::Fold, &FakeMeter::steady(0));
        [("empty, inline", live.inline), ("empty, heap", live.heap_bytes())]
    });
    bytes.map(|(name, bytes)| {
        Series::new(name, Unit::Bytes, labels([("structure", structure.id.into())])).of([bytes as f64])
    })
}

/// Delivers up to `most + 1` timers and returns their number.
fn drained(queue: &mut dyn Erased, most: usize) -> usize {
    let mut held = 0;
    let mut delivered = usize::MAX;
    while delivered > 0 && held <= most {
        // The head of a granular structure is a lower bound, so it is possible that no timer is due
        // at that tick.
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
