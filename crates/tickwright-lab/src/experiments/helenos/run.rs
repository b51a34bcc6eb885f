//! The runs: for each registry and channel, the trees in turn.

use core::time::Duration;
use std::thread;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;
use serde::{Deserialize, Serialize};

use super::channel::{Client, Loopback, Transport, Wrong};
use super::cpu::{self, Processors};
use super::link::{Link, Tasks, Wanted};
use super::registry::{self, Draw, Registry, Touches, Tree};
use super::timing::{self, Method};
use crate::clock::{Meter, OsClock};
use crate::error::LabError;
use crate::interrupt;
use crate::output::table;
use crate::progress::Progress;

/// What to run.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Plan {
    pub(crate) transports: Vec<Transport>,
    pub(crate) tasks: Vec<Tasks>,
    #[serde(skip)]
    pub(crate) processors: Processors,
    pub(crate) methods: Vec<Method>,
    pub(crate) trees: Vec<Tree>,
    pub(crate) populations: Vec<usize>,
    /// Of a sample; exactly so in v1, at least in v2.
    pub(crate) duration: Duration,
    pub(crate) samples: u64,
    pub(crate) spins: u32,
    pub(crate) seed: u64,
    /// Round trips of the counting pass; look-ups in a sample of look-ups alone.
    pub(crate) counted: u64,
}

/// One tree over one channel, at one population, timed one way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Cell {
    pub(crate) transport: Transport,
    pub(crate) tasks: Tasks,
    pub(crate) population: usize,
    pub(crate) method: Method,
    pub(crate) tree: Tree,
    /// Of each sample, where it is fixed.
    pub(crate) round_trips: Option<u64>,
    /// Round trips per second.
    pub(crate) samples: Vec<f64>,
}

/// Look-ups without calls.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct LookUps {
    pub(crate) tree: Tree,
    pub(crate) population: usize,
    /// ns of one, with the draw of its target.
    pub(crate) samples: Vec<f64>,
}

/// What came of it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Results {
    pub(crate) touches: Vec<Touches>,
    pub(crate) look_ups: Vec<LookUps>,
    pub(crate) cells: Vec<Cell>,
    #[serde(skip)]
    pub(crate) interrupted: bool,
}

/// Samples of look-ups alone.
const LOOK_UP_SAMPLES: usize = 9;

/// Round trips between two looks at the Ctrl-C flag.
const UNINTERRUPTED: u64 = 4096;

/// Runs it in a thread of its own, since that is pinned.
///
/// # Errors
/// A wrong answer, a lost server. An interruption is no error here: the results say that they are
/// partial.
pub(crate) fn run(plan: &Plan) -> Result<Results, LabError> {
    let done = thread::scope(|scope| {
        let client = thread::Builder::new().name("client".into()).spawn_scoped(scope, || {
            cpu::pin(plan.processors.client)
                .map_err(|source| LabError::io("pinning the client to its processor", source))?;
            client(plan)
        });
        match client {
            Ok(client) => client.join().unwrap_or_else(|_| Err(LabError::failed("the client panicked"))),
            Err(source) => Err(LabError::io("starting the client", source)),
        }
    })?;
    Ok(done)
}

fn client(plan: &Plan) -> Result<Results, LabError> {
    let mut results = Results::default();
    let cells = plan.transports.len() * plan.tasks.len() * plan.methods.len() * plan.trees.len();
    let progress = Progress::steps((cells * plan.populations.len()) as u64 * plan.samples, "ping-pong");
    let clock = OsClock::start();
    let mut shuffle = Pcg64Mcg::seed_from_u64(plan.seed);
    for &population in &plan.populations {
        for &tree in &plan.trees {
            let counted =
                registry::count(tree, population, plan.counted, plan.seed, &mut Client::new(&mut Loopback));
            results
                .touches
                .push(counted.map_err(|wrong| failed(&wrong, &format!("counting, {population}")))?);
        }
        let mut at = format!("registering {population}");
        let done = registry::with_all(population, |all| {
            let chosen: Vec<_> = all.iter().copied().filter(|(tree, _)| plan.trees.contains(tree)).collect();
            let mut bench = Bench { plan, population, clock, trees: chosen, shuffle: &mut shuffle };
            at = format!("look-ups alone, N = {}", table::count(population));
            bench.look_ups(&mut results)?;
            for &transport in &plan.transports {
                for &tasks in &plan.tasks {
                    at = format!("{}, {}, N = {}", transport.name(), tasks.name(), table::count(population));
                    progress.doing(at.clone());
                    bench.channel(transport, tasks, &progress, &mut results)?;
                }
            }
            Ok(())
        });
        match done {
            Ok(()) => {}
            Err(_) if interrupt::requested() => {
                results.interrupted = true;
                break;
            }
            Err(wrong) => return Err(failed(&wrong, &at)),
        }
    }
    Ok(results)
}

fn failed(wrong: &Wrong, at: &str) -> LabError {
    LabError::failed(format!("{at}: {wrong}; no time of this run counts"))
}

/// The trees at one population.
struct Bench<'b> {
    plan: &'b Plan,
    population: usize,
    clock: OsClock,
    trees: Vec<(Tree, &'b dyn Registry)>,
    shuffle: &'b mut Pcg64Mcg,
}

impl Bench<'_> {
    fn look_ups(&mut self, results: &mut Results) -> Result<(), Wrong> {
        let Self { plan, population, clock, .. } = *self;
        let first = results.look_ups.len();
        results.look_ups.extend(self.trees.iter().map(|&(tree, _)| LookUps {
            tree,
            population,
            samples: Vec::new(),
        }));
        let mut order: Vec<usize> = (0..self.trees.len()).collect();
        // The first round warms up.
        for round in 0..=LOOK_UP_SAMPLES {
            order.shuffle(self.shuffle);
            for &at in &order {
                interruptible()?;
                // Others in each round, the same for all trees.
                let mut draw = Draw::new(population, plan.seed.wrapping_add(round as u64));
                let start = clock.now();
                self.trees[at].1.look_ups(plan.counted, &mut draw)?;
                let ns = clock.now().saturating_sub(start) as f64 / plan.counted.max(1) as f64;
                if round > 0 {
                    results.look_ups[first + at].samples.push(ns);
                }
            }
        }
        Ok(())
    }

    /// All methods over one server.
    fn channel(
        &mut self,
        transport: Transport,
        tasks: Tasks,
        progress: &Progress,
        results: &mut Results,
    ) -> Result<(), Wrong> {
        let Self { plan, population, clock, .. } = *self;
        let cpu = plan.processors.server;
        let mut link = Link::start(Wanted { transport, tasks, spins: plan.spins, cpu })?;
        let channel = link.channel().ok_or(std::io::ErrorKind::NotConnected).map_err(std::io::Error::from)?;
        let mut client = Client::new(channel);
        let mut draw = Draw::new(population, plan.seed);
        for &method in &plan.methods {
            let first = results.cells.len();
            for &(tree, registry) in &self.trees {
                let mut run = |count| calls(registry, count, &mut draw, &mut client);
                let round_trips = match method {
                    Method::V1 => None,
                    Method::V2 => Some(timing::size(&clock, plan.duration, &mut run)?),
                };
                let samples = Vec::new();
                results.cells.push(Cell { transport, tasks, population, method, tree, round_trips, samples });
            }
            even(&mut results.cells[first..]);
            let mut order: Vec<usize> = (0..self.trees.len()).collect();
            for _ in 0..plan.samples {
                order.shuffle(self.shuffle);
                for &at in &order {
                    let cell = &mut results.cells[first + at];
                    let mut run = |count| calls(self.trees[at].1, count, &mut draw, &mut client);
                    let timed = match cell.round_trips {
                        None => timing::by_the_clock(&clock, plan.duration, &mut run),
                        Some(count) => timing::by_count(&clock, count, &mut run),
                    }?;
                    cell.samples.push(timed.rate());
                    progress.step();
                }
            }
        }
        Ok(())
    }
}

/// Has all trees do as many round trips in a sample: the most that the warm-up of one found. It may
/// be cut short by a pause of the machine, and one tree's samples would be shorter than another's,
/// and so pay more for their beginning, or less for pauses.
pub(super) fn even(cells: &mut [Cell]) {
    let most = cells.iter().filter_map(|cell| cell.round_trips).max();
    for cell in cells {
        cell.round_trips = cell.round_trips.and(most);
    }
}

fn interruptible() -> Result<(), Wrong> {
    if interrupt::requested() { Err(Wrong::Interrupted) } else { Ok(()) }
}

/// `count` round trips, unless the user ends them.
fn calls(registry: &dyn Registry, count: u64, draw: &mut Draw, client: &mut Client<'_>) -> Result<(), Wrong> {
    let mut left = count;
    while left > 0 {
        interruptible()?;
        let now = left.min(UNINTERRUPTED);
        registry.calls(now, draw, client)?;
        left -= now;
    }
    Ok(())
}
