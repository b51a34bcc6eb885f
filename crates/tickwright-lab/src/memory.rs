//! `tickwright bench memory`: bytes per pending timer, as the allocator counts them.

use serde::Serialize;

use crate::allocator;
use crate::bench::sampler::{Runner, Sampler};
use crate::bench::work::Source;
use crate::candidate::{BenchQueue, Candidate};
use crate::clock::FakeMeter;
use crate::error::LabError;
use crate::hold::Hold;
use crate::host::Host;
use crate::interrupt;
use crate::output::table;
use crate::registry::{self, Kind, Structure, Visitor};
use crate::scenario::{Distribution, Increments, Measure, Within};
use crate::verify::Evidence;

/// The results.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Report {
    /// Where it ran.
    #[serde(skip)]
    pub(crate) host: Host,
    /// It was interrupted.
    #[serde(skip)]
    pub(crate) interrupted: bool,
    /// What each structure costs before it holds a timer.
    pub(crate) fixed: Vec<Fixed>,
    /// One per structure and population.
    pub(crate) rows: Vec<Row>,
}

/// What a queue costs before it holds a timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Fixed {
    /// Its id.
    pub(crate) structure: &'static str,
    /// Whose it is.
    pub(crate) kind: Kind,
    /// Bytes of the queue itself, wherever it stands.
    pub(crate) inline: usize,
    /// Bytes on the heap, with room for one timer; nodes of the caller are not among them.
    pub(crate) heap: usize,
}

impl Fixed {
    /// Both.
    pub(crate) fn bytes(&self) -> usize {
        self.inline + self.heap
    }
}

/// A structure at a population.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Row {
    /// Its id.
    pub(crate) structure: &'static str,
    /// Whose it is.
    pub(crate) kind: Kind,
    /// Timers pending.
    pub(crate) population: usize,
    /// Why it was not run.
    pub(crate) skipped: Option<String>,
    /// Bytes on the heap with all timers pending and one delivery and insert per timer behind them
    /// (at most 100,000), without what stands for the caller's own objects.
    pub(crate) bytes: Option<usize>,
}

impl Row {
    /// Bytes per pending timer.
    pub(crate) fn per_timer(&self) -> Option<f64> {
        self.bytes.map(|bytes| bytes as f64 / self.population as f64)
    }
}

/// Measures each structure at each population.
///
/// # Errors
/// Patterns that name nothing; memory that the system refuses.
pub(crate) fn run(structures: &[String], populations: &[usize]) -> Result<Report, LabError> {
    let chosen = registry::select(structures)?;
    let mut report = Report { host: Host::read(), interrupted: false, fixed: Vec::new(), rows: Vec::new() };
    report.fixed = chosen.iter().map(|structure| registry::visit(structure, WeighEmpty)).collect();
    for &population in populations {
        for structure in &chosen {
            if interrupt::requested() {
                report.interrupted = true;
                return Ok(report);
            }
            let what = format!("{} with {population} timers", structure.id);
            if structure.sensible.is_none_or(|sensible| population <= sensible.most) {
                // The delays, and the least that a structure takes. Asked first: a structure
                // without memory would look like one that is bounded.
                let bytes = registry::bytes_per_timer(structure) + 8;
                allocator::room(population.saturating_mul(bytes), &what)?;
            }
            let skipped = registry::why_not(structure, population)?;
            let bytes =
                skipped.is_none().then(|| registry::visit(structure, Weigh { population })).transpose()?;
            report.rows.push(Row {
                structure: structure.id,
                kind: structure.kind,
                population,
                skipped,
                bytes,
            });
        }
    }
    Ok(report)
}

/// Bytes on the heap since `before`.
fn grown(before: isize) -> usize {
    usize::try_from(allocator::live_bytes() - before).unwrap_or(0)
}

struct Weigh {
    population: usize,
}

/// Deliveries after filling, so that lazy structures show what they leave behind.
const MOST_DELIVERIES: usize = 100_000;

impl Visitor for Weigh {
    type Out = Result<usize, LabError>;

    fn visit<C: Candidate>(self, structure: &'static Structure) -> Self::Out {
        let mean = Within::try_from(1 << 20).map_err(LabError::usage)?;
        let increments = Increments { distribution: Distribution::Exponential, mean };
        let mut hold = Hold::new(increments, self.population, self.population.min(MOST_DELIVERIES), 1);
        let (fill, deliveries) = (hold.fill(), hold.next(Measure::Hold));
        // A fold allocates nothing.
        let (evidence, meter) = (Evidence::Fold, FakeMeter::steady(0));
        let before = allocator::live_bytes();
        let arena = C::arena(self.population);
        let mut runner = Runner::new(C::queue(&arena, self.population));
        runner.sample(&fill, evidence, &meter);
        runner.sample(&deliveries, evidence, &meter);
        let bytes = grown(before).saturating_sub(runner.callers_bytes());
        let held = count(runner.queue(), self.population);
        if held == self.population {
            Ok(bytes)
        } else {
            let what = format!("{} with {} timers", structure.id, self.population);
            Err(LabError::memory(format!("{what}: the queue holds {held} of them, the others were refused")))
        }
    }
}

/// Empties `queue` of at most `most` timers and one more, and counts them.
fn count(queue: &mut impl BenchQueue, most: usize) -> usize {
    let mut held = 0;
    let mut delivered = usize::MAX;
    while delivered > 0 && held <= most {
        // A granular head is a lower bound; what is due by then may be nothing yet.
        delivered = 0;
        let Some(head) = queue.head() else { break };
        queue.advance(head.saturating_add(GRANULE), most + 1 - held, &mut |_, _| delivered += 1);
        held += delivered;
    }
    held
}

/// More than a granular structure of the registry delays a timer of these delays.
const GRANULE: u64 = 1 << 32;

struct WeighEmpty;

impl Visitor for WeighEmpty {
    type Out = Fixed;

    fn visit<C: Candidate>(self, structure: &'static Structure) -> Fixed {
        let arena = C::arena(1);
        let before = allocator::live_bytes();
        let mut queue = C::queue(&arena, 1);
        // What is allocated for the first timer is there from now on.
        queue.insert(0, 1);
        queue.pop();
        let heap = grown(before).saturating_sub(queue.callers_bytes());
        Fixed { structure: structure.id, kind: structure.kind, inline: C::INLINE, heap }
    }
}

/// The table.
pub(crate) fn show(report: &Report) -> String {
    let mut populations: Vec<usize> = report.rows.iter().map(|row| row.population).collect();
    populations.dedup();
    let heading = populations.iter().map(|n| format!("n={}", table::count(*n)));
    let mut table = table::new(["".to_owned()].into_iter().chain(heading).chain(["empty queue".to_owned()]));
    let mut structures: Vec<&str> = Vec::new();
    for row in &report.rows {
        if !structures.contains(&row.structure) {
            structures.push(row.structure);
        }
    }
    for structure in structures {
        let columns = populations.iter().map(|n| {
            let row = report.rows.iter().find(|row| row.structure == structure && row.population == *n);
            row.and_then(Row::per_timer).map_or("-".into(), |bytes| format!("{bytes:.1}"))
        });
        let fixed = report.fixed.iter().find(|fixed| fixed.structure == structure);
        let fixed = fixed.map_or("-".into(), |fixed| fixed.bytes().to_string());
        table.add_row([structure.to_owned()].into_iter().chain(columns).chain([fixed]));
    }
    format!(
        "bytes per pending timer with a u32 payload, without the key that the caller keeps in its own object\n\
         (8 bytes for slabs); hooks: the whole node; and bytes of an empty queue, itself and on the heap, with room for one\n{}\n",
        table::show(&table)
    )
}

#[cfg(test)]
mod tests;
