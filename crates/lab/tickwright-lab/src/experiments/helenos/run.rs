//! Runs the trees alternately for each registry.

use core::time::Duration;

use clap::ValueEnum;

use super::channel::{Client, lost};
use super::cpu::{self, Pin, Processors};
use super::link::Link;
use super::registry::{self, Asked, Draw, Registry, Tree};
use super::timing::{self, Method};
use crate::clock::{Meter, OsClock};
use crate::error::LabError;
use crate::experiments::request::word;
use crate::interrupt;
use crate::output::table;
use crate::progress::Progress;
use crate::result::{Better, Series, Unit, labels};
use crate::rounds::Rounds;

/// A part of the experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Part {
    /// Comparisons that a round trip makes in the tree, and look-ups without calls
    LookUps,
    /// Round trips
    Calls,
}

/// What to run.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(super) pin: Pin,
    pub(super) processors: Processors,
    pub(super) methods: Vec<Method>,
    pub(super) trees: Vec<Tree>,
    pub(super) populations: Vec<usize>,
    /// Length of a sample. A sample of method v1 takes exactly this time, and a sample of method v2
    /// takes at least this time.
    pub(super) duration: Duration,
    pub(super) rounds: usize,
    pub(super) spins: u32,
    pub(super) parts: Vec<Part>,
    pub(super) seed: u64,
}

/// One tree at one population, with one timing method.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Cell {
    pub(super) population: usize,
    pub(super) method: Method,
    pub(super) tree: Tree,
    /// Round trips in each sample, if the number is fixed.
    pub(super) round_trips: Option<u64>,
    /// Round trips per second.
    pub(super) samples: Vec<f64>,
}

impl Cell {
    /// Returns the samples.
    pub(super) fn rates(&self) -> Series {
        let mut of = registry::of_tree(self.tree, self.population);
        of.extend(labels([("method", word(&self.method).into())]));
        let rates = Series::new("round trips", Unit::PerSecond, of).better(Better::Higher);
        rates.beside("structure", word(&Tree::Avl)).of(self.samples.iter().copied())
    }

    /// Returns the samples, and the number of round trips in each sample.
    pub(super) fn series(&self) -> impl Iterator<Item = Series> {
        let rates = self.rates();
        let counts = self.round_trips.map(|count| {
            let each = Series::new("round trips of a sample", Unit::Count, rates.labels.clone());
            each.better(Better::Neither).of([count as f64])
        });
        [rates].into_iter().chain(counts)
    }
}

/// The results of all parts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Data {
    pub(super) asked: Vec<Asked>,
    pub(super) cells: Vec<Cell>,
}

/// Samples of look-ups without calls.
const LOOK_UP_SAMPLES: usize = 9;
/// Round trips of the counting pass. This is also the number of look-ups in a sample of look-ups
/// without calls.
const COUNTED: u64 = 20_000;
/// Round trips between two checks of the Ctrl-C flag.
const UNINTERRUPTED: u64 = 4096;

/// Runs all parts in a separate thread, because the run pins its thread. After an interruption,
/// rounds are missing.
///
/// # Errors
/// If an answer is wrong or the server is lost.
pub(super) fn run(plan: &Plan) -> Result<Data, LabError> {
    let done = cpu::pinned(plan.processors.client, || client(plan));
    done.map_err(|source| LabError::io("running the client on its processor", source))?
}

fn client(plan: &Plan) -> Result<Data, LabError> {
    let mut data = Data::default();
    let progress = Progress::steps(plan.populations.len() as u64, "ping-pong");
    for &population in &plan.populations {
        let n = table::count(population);
        let mut at = format!("look-ups alone, N = {n}");
        let done = registry::with_all(population, |all| {
            let trees = all.iter().copied().filter(|(tree, _)| plan.trees.contains(tree)).collect();
            let bench = Bench { plan, population, clock: OsClock::start(), trees };
            if plan.parts.contains(&Part::LookUps) {
                bench.look_ups(&mut data)?;
            }
            if plan.parts.contains(&Part::Calls) {
                at = format!("calls, N = {n}");
                progress.doing(at.clone());
                bench.calls(&mut data)?;
            }
            progress.step();
            Ok(())
        });
        match done {
            _ if interrupt::requested() => break,
            Ok(()) => {}
            Err(wrong) => return Err(LabError::failed(format!("{at}: {wrong}; no time of this run counts"))),
        }
    }
    Ok(data)
}

/// The trees at one population, ready for the runs.
struct Bench<'b> {
    plan: &'b Plan,
    population: usize,
    clock: OsClock,
    trees: Vec<(Tree, &'b dyn Registry)>,
}

impl Bench<'_> {
    /// Counts the work of round trips in each tree, and then times look-ups without calls.
    fn look_ups(&self, data: &mut Data) -> Result<(), String> {
        let Self { plan, population, clock, trees } = self;
        let counted = trees.iter().map(|&(tree, _)| registry::count(tree, *population, COUNTED, plan.seed));
        let mut asked: Vec<Asked> = counted.collect::<Result<_, _>>()?;
        if let Some(asked) = asked.iter().find(|asked| asked.look_ups != 1.0) {
            return Err(format!("not one look-up in each round trip: {asked:?}"));
        }
        let taken = Rounds::new(LOOK_UP_SAMPLES, plan.seed).run(trees.len(), |turn| {
            // Each round draws different targets from the other rounds, but the same targets for
            // all trees.
            let mut draw = Draw::new(*population, plan.seed.wrapping_add(turn.round as u64));
            let start = clock.now();
            trees[turn.lane].1.look_ups(COUNTED, &mut draw)?;
            Ok::<_, String>(clock.now().saturating_sub(start) as f64 / COUNTED as f64)
        })?;
        for (asked, samples) in asked.iter_mut().zip(taken.lanes()) {
            asked.samples = samples;
        }
        data.asked.append(&mut asked);
        Ok(())
    }

    /// Times all methods with one server.
    fn calls(&self, data: &mut Data) -> Result<(), String> {
        let Self { plan, population, clock, trees } = self;
        let mut link = Link::start(plan.spins, plan.processors.server).map_err(|error| lost(&error))?;
        let channel = link.channel().ok_or("the server has ended")?;
        let mut client = Client::new(channel);
        let mut draw = Draw::new(*population, plan.seed);
        let mut counts = Vec::new();
        for method in &plan.methods {
            let mut most = None;
            for (_, registry) in trees.iter().filter(|_| *method == Method::V2) {
                let mut run = |count| calls(*registry, count, &mut draw, &mut client);
                most = most.max(Some(timing::size(clock, plan.duration, &mut run)?));
            }
            counts.push(most);
        }
        let mut rounds = Rounds::new(plan.rounds, plan.seed).without_warm_up().cells(plan.methods.len());
        let taken = rounds.run(trees.len(), |turn| {
            let mut run = |count| calls(trees[turn.lane].1, count, &mut draw, &mut client);
            match timing::sample(clock, counts[turn.cell], plan.duration, &mut run) {
                Ok(rate) => Ok(Some(rate)),
                // The run was interrupted, so its last sample is dropped.
                Err(_) if interrupt::requested() => Ok(None),
                Err(wrong) => Err(wrong),
            }
        })?;
        for ((&method, &round_trips), lanes) in plan.methods.iter().zip(&counts).zip(taken.cells) {
            let whole = lanes.iter().map(|lane| lane.iter().flatten().count()).min().unwrap_or(0);
            for (&(tree, _), lane) in trees.iter().zip(lanes) {
                let samples = lane.into_iter().flatten().take(whole).collect();
                let population = *population;
                data.cells.push(Cell { population, method, tree, round_trips, samples });
            }
        }
        Ok(())
    }
}

/// Makes `count` round trips, unless the user interrupts the run.
fn calls(
    registry: &dyn Registry,
    count: u64,
    draw: &mut Draw,
    client: &mut Client<'_>,
) -> Result<(), String> {
    let mut left = count;
    while left > 0 {
        if interrupt::requested() {
            return Err("interrupted".into());
        }
        let now = left.min(UNINTERRUPTED);
        registry.calls(now, draw, client)?;
        left -= now;
    }
    Ok(())
}
