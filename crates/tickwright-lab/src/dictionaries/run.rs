//! Rounds: each dictionary once in random order, its answer verified, its time kept.

use std::thread;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64;
use serde::Serialize;

use super::shelf::{Lane, with_all};
use super::subject::{How, Kind};
use super::work::{Keys, Measure, Model};
use crate::allocator;
use crate::clock::{Calibration, Meter, calibrate};
use crate::error::LabError;
use crate::host::Host;
use crate::interrupt;
use crate::output::table;
use crate::progress::Progress;

/// What to run.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    pub(crate) kinds: Vec<Kind>,
    pub(crate) keys: Vec<Keys>,
    pub(crate) populations: Vec<usize>,
    pub(crate) rounds: u64,
    /// Calls in a sample.
    pub(crate) operations: usize,
    /// Threads in a sample.
    pub(crate) threads: usize,
    pub(crate) seed: u64,
}

/// The results.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    #[serde(skip)]
    pub(crate) interrupted: bool,
    #[serde(skip)]
    pub(crate) host: Host,
    pub(crate) clock: Calibration,
    pub(crate) seed: u64,
    pub(crate) operations: usize,
    pub(crate) cells: Vec<Cell>,
    pub(crate) ascents: Vec<Ascent>,
    pub(crate) threads: Vec<Threads>,
    pub(crate) notes: Vec<String>,
}

/// One measure at one population with keys of one kind.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Cell {
    pub(crate) keys: Keys,
    pub(crate) measure: Measure,
    pub(crate) population: usize,
    pub(crate) rows: Vec<Row>,
}

/// A dictionary in a cell; a sample a round, in ns of one call.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Row {
    pub(crate) kind: Kind,
    pub(crate) samples: Vec<f64>,
}

/// Filling in ascending order; ns of one insert.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Ascent {
    pub(crate) population: usize,
    pub(crate) how: How,
    pub(crate) rows: Vec<Row>,
}

/// Threads of std, registered while they live; ns of one, from its registration to its removal.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Threads {
    pub(crate) population: usize,
    pub(crate) rows: Vec<Row>,
}

fn rows(kinds: &[Kind]) -> Vec<Row> {
    kinds.iter().map(|&kind| Row { kind, samples: Vec::new() }).collect()
}

/// Whether all was done, or the user interrupted; or what was wrong.
type Outcome = Result<bool, String>;

/// Measures every dictionary at every population with every kind of keys.
///
/// # Errors
/// The first wrong answer. An interruption is no error here: the report says that it is partial.
pub(crate) fn run(options: &Options, meter: &dyn Meter) -> Result<Report, LabError> {
    let host = Host::read();
    let mut report = Report {
        interrupted: false,
        notes: host.doubts(),
        host,
        clock: calibrate(meter),
        seed: options.seed,
        operations: options.operations,
        cells: Vec::new(),
        ascents: Vec::new(),
        threads: Vec::new(),
    };
    let parts = options.populations.len() * (options.keys.len() + 1);
    let progress = Progress::steps(parts as u64 * (options.rounds + 1), "registry");
    let mut bench = Bench { options, meter, progress, shuffle: Pcg64::seed_from_u64(options.seed ^ SHUFFLE) };
    'all: for &population in &options.populations {
        // A key and two links in each dictionary.
        let bytes = options.kinds.len().saturating_mul(24).saturating_mul(population);
        allocator::room(bytes, &format!("{} dictionaries of {population} entries", options.kinds.len()))?;
        for &keys in &options.keys {
            let title = format!("{} keys, N = {}", keys.name(), table::count(population));
            bench.progress.doing(title.clone());
            let whole = with_all(&options.kinds, population, |lanes| {
                bench.cells(lanes, keys, population, &mut report)
            });
            if !whole
                .map_err(|wrong| LabError::failed(format!("{title}: {wrong}; no time of this run counts")))?
            {
                break 'all;
            }
        }
        bench.progress.doing(format!("in ascending order, N = {}", table::count(population)));
        let whole =
            with_all(&options.kinds, population, |lanes| bench.ascents(lanes, population, &mut report));
        if !whole.map_err(LabError::failed)? {
            break;
        }
    }
    report.interrupted = interrupt::requested();
    Ok(report)
}

/// Keeps the order of dictionaries apart from the keys that they are given.
const SHUFFLE: u64 = 0x5f0f_1e5c_a11d_1ce5;

struct Bench<'b> {
    options: &'b Options,
    meter: &'b dyn Meter,
    progress: Progress,
    shuffle: Pcg64,
}

impl Bench<'_> {
    /// All measures with keys of one kind; threads with the first.
    fn cells(
        &mut self,
        mut lanes: Vec<Lane<'_>>,
        keys: Keys,
        population: usize,
        report: &mut Report,
    ) -> Outcome {
        let Options { kinds, rounds, operations, threads, seed, .. } = self.options;
        let mut model = Model::new(keys, population, *seed);
        for lane in &mut lanes {
            let registered = (0..).zip(model.live()).all(|(at, &key)| lane.sampler.insert(at, key));
            if !registered || !lane.sampler.holds(population) {
                return Err(format!("{} could not be filled", lane.kind.name()));
            }
        }
        let first = report.cells.len();
        let cell = |measure| Cell { keys, measure, population, rows: rows(kinds) };
        report.cells.extend(Measure::ALL.map(cell));
        let with_threads = Some(&keys) == self.options.keys.first() && *threads > 0;
        if with_threads {
            report.threads.push(Threads { population, rows: rows(kinds) });
        }
        let mut order: Vec<usize> = (0..lanes.len()).collect();
        // The first round is for verification alone.
        for round in 0..=*rounds {
            for (at, measure) in Measure::ALL.into_iter().enumerate() {
                let (work, expected) = model.draw(measure, *operations);
                order.shuffle(&mut self.shuffle);
                for &of in &order {
                    if interrupt::requested() {
                        return Ok(false);
                    }
                    let lane = &mut lanes[of];
                    let (ns, fold) = lane.sampler.sample(&work, self.meter);
                    if fold != expected {
                        let (name, what) = (lane.kind.name(), measure.words());
                        return Err(format!("{name} answered wrongly in round {round} ({what})"));
                    }
                    if round > 0 {
                        let ns = ns as f64 / (*operations).max(1) as f64;
                        report.cells[first + at].rows[of].samples.push(ns);
                    }
                }
            }
            if let Some(table) = report.threads.last_mut().filter(|_| with_threads) {
                order.shuffle(&mut self.shuffle);
                for &of in &order {
                    if interrupt::requested() {
                        return Ok(false);
                    }
                    let ns = self.threads(&mut lanes[of], model.live())?;
                    if round > 0 {
                        table.rows[of].samples.push(ns);
                    }
                }
            }
            self.progress.step();
        }
        match lanes.iter().find(|lane| !lane.sampler.holds(population)) {
            Some(lane) => Err(format!("{} is not whole at the end", lane.kind.name())),
            None => Ok(true),
        }
    }

    /// One object after the other lives as a thread: it comes with its key, runs, ends, and makes
    /// way for its next life.
    fn threads(&self, lane: &mut Lane<'_>, live: &[u64]) -> Result<f64, String> {
        let count = self.options.threads.max(1);
        let mut done = true;
        let begun = self.meter.now();
        for (at, &key) in (0u32..).zip(live.iter().cycle().take(count)) {
            let at = at % u32::try_from(live.len()).unwrap_or(u32::MAX).max(1);
            done &= lane.sampler.remove(at) && lane.sampler.insert(at, key);
            let thread = thread::Builder::new().spawn(|| ());
            let thread = thread.map_err(|error| format!("a thread could not be started: {error}"))?;
            done &= thread.join().is_ok();
        }
        let ns = self.meter.now().saturating_sub(begun);
        if done { Ok(ns as f64 / count as f64) } else { Err(format!("{} lost a thread", lane.kind.name())) }
    }

    /// Filling, each way.
    fn ascents(&mut self, mut lanes: Vec<Lane<'_>>, population: usize, report: &mut Report) -> Outcome {
        let count = u32::try_from(population).map_err(|_| "more objects than numbers".to_owned())?;
        let hows = [How::Search, How::Hint, How::Append];
        let first = report.ascents.len();
        report.ascents.extend(hows.map(|how| Ascent { population, how, rows: rows(&self.options.kinds) }));
        let mut order: Vec<usize> = (0..lanes.len()).collect();
        for round in 0..=self.options.rounds {
            for (at, how) in hows.into_iter().enumerate() {
                order.shuffle(&mut self.shuffle);
                for &of in &order {
                    if interrupt::requested() {
                        return Ok(false);
                    }
                    let (kind, ns) = (lanes[of].kind, lanes[of].sampler.ascend(count, how, self.meter));
                    match ns {
                        Some(ns) if round > 0 => {
                            report.ascents[first + at].rows[of].samples.push(ns as f64 / population as f64);
                        }
                        None if how == How::Search || kind.ours() => {
                            return Err(format!("{} lost an entry in ascending order", kind.name()));
                        }
                        _ => {}
                    }
                }
            }
            self.progress.step();
        }
        Ok(true)
    }
}
