//! Rounds of `registry`: each dictionary runs once, in random order, and its results are
//! checked.

use std::thread;

use super::shelf::{Lane, with_all};
use super::subject::{How, Kind};
use super::work::{Keys, Measure, Model, Work};
use crate::allocator;
use crate::clock::Meter;
use crate::error::LabError;
use crate::experiment::Lab;
use crate::output::table::count;
use crate::progress::Progress;
use crate::rounds::{Rounds, Taken};

/// The plan of a run.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) kinds: Vec<Kind>,
    pub(crate) keys: Vec<Keys>,
    pub(crate) populations: Vec<usize>,
    pub(crate) rounds: usize,
    /// The number of calls in a sample.
    pub(crate) operations: usize,
    /// The number of threads in a sample.
    pub(crate) threads: usize,
    pub(crate) seed: u64,
}

/// What a cell measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    /// Calls on keys of one kind, in ns per call.
    Calls(Measure, Keys),
    /// Filling in ascending order, in ns per insert.
    Ascent(How),
    /// Threads of the standard library that are registered while they live: ns per thread, from
    /// registration to removal.
    Thread,
}

impl What {
    /// Returns the measure's name, without the kind of keys. Tables name the kind of keys
    /// separately.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Calls(measure, _) => measure.words(),
            Self::Ascent(How::Search) => "insert, ascending, by search",
            Self::Ascent(How::Hint) => "insert, ascending, by hint",
            Self::Ascent(How::Append) => "insert, ascending, appended",
            Self::Thread => "thread",
        }
    }
}

/// One measure at one population.
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    pub(crate) what: What,
    pub(crate) population: usize,
    pub(crate) rows: Vec<Row>,
}

/// A dictionary in a cell: one sample per round, in ns per call.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) kind: Kind,
    pub(crate) samples: Vec<f64>,
}

/// Measures every dictionary at every population with every kind of keys.
///
/// # Errors
/// If a result is wrong. The error describes the first wrong result. An interruption is not an
/// error; it is noted in `lab`.
pub(crate) fn run(plan: &Plan, lab: &mut Lab<'_>) -> Result<Vec<Cell>, LabError> {
    let parts = plan.populations.len() * (plan.keys.len() + 1);
    let rounds = Rounds::new(plan.rounds, plan.seed);
    let progress = Progress::steps((parts * rounds.len()) as u64, "registry");
    let mut bench = Bench { plan, meter: lab.meter, progress, rounds, cells: Vec::new(), interrupted: false };
    for &population in &plan.populations {
        // Each entry of each dictionary needs room for a key and two links.
        let bytes = plan.kinds.len().saturating_mul(24).saturating_mul(population);
        allocator::room(bytes, &format!("{} dictionaries of {population} entries", plan.kinds.len()))?;
        let n = count(population);
        for &keys in &plan.keys {
            let title = format!("{} keys, N = {n}", keys.name());
            bench.progress.doing(title.clone());
            with_all(&plan.kinds, population, |lanes| bench.calls(lanes, keys, population))
                .map_err(|wrong| LabError::failed(format!("{title}: {wrong}; no time of this run counts")))?;
        }
        bench.progress.doing(format!("in ascending order, N = {n}"));
        with_all(&plan.kinds, population, |lanes| bench.ascents(lanes, population))
            .map_err(LabError::failed)?;
        if bench.interrupted {
            lab.interrupted = true;
            break;
        }
    }
    Ok(bench.cells)
}

struct Bench<'b> {
    plan: &'b Plan,
    meter: &'b dyn Meter,
    progress: Progress,
    rounds: Rounds,
    cells: Vec<Cell>,
    interrupted: bool,
}

impl Bench<'_> {
    /// Runs all measures with keys of one kind. Threads are measured with the first kind only.
    fn calls(&mut self, mut lanes: Vec<Lane<'_>>, keys: Keys, population: usize) -> Result<(), String> {
        if self.interrupted {
            return Ok(());
        }
        let Plan { operations, threads, seed, .. } = *self.plan;
        let mut model = Model::new(keys, population, seed);
        for lane in &mut lanes {
            let registered = (0..).zip(model.live()).all(|(at, &key)| lane.sampler.insert(at, key));
            if !registered || !lane.sampler.holds(population) {
                return Err(format!("{} could not be filled", lane.kind.name()));
            }
        }
        let mut whats: Vec<What> = Measure::ALL.map(|measure| What::Calls(measure, keys)).to_vec();
        if Some(&keys) == self.plan.keys.first() && threads > 0 {
            whats.push(What::Thread);
        }
        let meter = self.meter;
        // The work that all lanes do in a cell, and the expected result.
        let mut now: Option<(Work, u64)> = None;
        let taken = self.rounds.clone().cells(whats.len()).run(lanes.len(), |turn| {
            let count = lanes.len();
            let lane = &mut lanes[turn.lane];
            if turn.cell + 1 == whats.len() && turn.is_last_of(count) {
                self.progress.step();
            }
            let What::Calls(measure, _) = whats[turn.cell] else {
                return live_as_threads(lane, model.live(), threads, meter).map(Some);
            };
            if turn.place == 0 {
                now = Some(model.draw(measure, operations));
            }
            let Some((work, expected)) = &now else { return Ok(None) };
            let (ns, fold) = lane.sampler.sample(work, meter);
            if fold == *expected {
                Ok(Some(ns as f64 / operations.max(1) as f64))
            } else {
                let (name, what) = (lane.kind.name(), measure.words());
                Err(format!("{name} answered wrongly in round {} ({what})", turn.round))
            }
        })?;
        if let Some(lane) = lanes.iter().find(|lane| !lane.sampler.holds(population) && !taken.interrupted) {
            return Err(format!("{} is not whole at the end", lane.kind.name()));
        }
        self.keep(&whats, population, taken);
        Ok(())
    }

    /// Measures filling in ascending order, once for each way to insert.
    fn ascents(&mut self, mut lanes: Vec<Lane<'_>>, population: usize) -> Result<(), String> {
        if self.interrupted {
            return Ok(());
        }
        let count = u32::try_from(population).map_err(|_| "more objects than numbers".to_owned())?;
        let hows = [How::Search, How::Hint, How::Append];
        let taken = self.rounds.clone().cells(hows.len()).run(lanes.len(), |turn| {
            let how = hows[turn.cell];
            let last = turn.cell + 1 == hows.len() && turn.is_last_of(lanes.len());
            let lane = &mut lanes[turn.lane];
            let ns = lane.sampler.ascend(count, how, self.meter);
            if last {
                self.progress.step();
            }
            if ns.is_none() && (how == How::Search || lane.kind.ours()) {
                return Err(format!("{} lost an entry in ascending order", lane.kind.name()));
            }
            Ok(ns.map(|ns| ns as f64 / population as f64))
        })?;
        self.keep(&hows.map(What::Ascent), population, taken);
        Ok(())
    }

    fn keep(&mut self, whats: &[What], population: usize, taken: Taken<Option<f64>>) {
        self.interrupted |= taken.interrupted;
        for (&what, lanes) in whats.iter().zip(taken.cells) {
            let samples = lanes.into_iter().map(|samples| samples.into_iter().flatten().collect());
            let rows = self.plan.kinds.iter().zip(samples).map(|(&kind, samples)| Row { kind, samples });
            self.cells.push(Cell { what, population, rows: rows.collect() });
        }
    }
}

/// Measures one thread after the other. An object represents each thread: the object is removed and
/// inserted again with its key, and then the thread is started and joined. Returns the ns per
/// thread.
fn live_as_threads(
    lane: &mut Lane<'_>,
    live: &[u64],
    count: usize,
    meter: &dyn Meter,
) -> Result<f64, String> {
    let mut done = true;
    let begun = meter.now();
    for (at, &key) in (0u32..).zip(live.iter().cycle().take(count)) {
        let at = at % u32::try_from(live.len()).unwrap_or(u32::MAX).max(1);
        done &= lane.sampler.remove(at) && lane.sampler.insert(at, key);
        let thread = thread::Builder::new().spawn(|| ());
        let thread = thread.map_err(|error| format!("a thread could not be started: {error}"))?;
        done &= thread.join().is_ok();
    }
    let ns = meter.now().saturating_sub(begun);
    if done {
        Ok(ns as f64 / count.max(1) as f64)
    } else {
        Err(format!("{} lost a thread", lane.kind.name()))
    }
}
