//! The registries under test, and the client's loop over them.

use core::cell::Cell;
use core::cmp::Ordering;
use std::rc::Rc;

use clap::ValueEnum;
use tickwright_collections::{Avl, Balance, Dictionary, HookDict, KeyOrder, Link, Membership, RedBlack};

use super::channel::{Client, Loopback, token};
use crate::experiments::request::word;
use crate::result::{Labels, Series, Unit, labels};

/// The tree that holds the tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Tree {
    /// AVL
    Avl,
    /// The ordered dictionary: red-black
    Odict,
}

/// Returns the labels of a measurement with `population` tasks in `tree`.
pub(super) fn of_tree(tree: Tree, population: usize) -> Labels {
    labels([("structure", word(&tree).into()), ("n", population.into())])
}

/// A task in the registry.
struct Task<B: Balance> {
    id: u64,
    token: u64,
    link: Link<B>,
}

/// Orders tasks by id. The comparison is either inlined, or it counts its calls.
struct ById<C>(C);

impl<B: Balance, C: Fn(&u64, &u64) -> Ordering> KeyOrder<Task<B>> for ById<C> {
    type Key<'k>
        = u64
    where
        Self: 'k;

    #[inline]
    fn key<'k>(&'k self, task: &'k Task<B>) -> u64 {
        task.id
    }

    #[inline]
    fn compare(&self, a: &u64, b: &u64) -> Ordering {
        (self.0)(a, b)
    }
}

impl<B: Balance, C: Fn(&u64, &u64) -> Ordering> Membership<Task<B>, B> for ById<C> {
    #[inline]
    fn link<'t>(&self, task: &'t Task<B>) -> &'t Link<B> {
        &task.link
    }
}

/// Draws targets: ids with equal probability, by a linear congruential generator (Knuth's MMIX
/// constants). The generator does not use a table, because a table would compete with the tree for
/// the caches.
#[derive(Debug, Clone)]
pub(super) struct Draw {
    state: u64,
    population: u64,
}

impl Draw {
    pub(super) fn new(population: usize, seed: u64) -> Self {
        Self { state: seed, population: population as u64 }
    }

    /// Returns an id from 1 to the population.
    #[inline]
    pub(super) fn next(&mut self) -> u64 {
        self.state =
            self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // Scales the upper half of the state to the population, which is below 2^32.
        1 + (((self.state >> 32) * self.population) >> 32)
    }
}

/// A registry in which a client looks up its targets.
pub(super) trait Registry {
    /// Makes `count` round trips. Returns an error at the first wrong answer or if the channel
    /// fails.
    fn calls(&self, count: u64, draw: &mut Draw, client: &mut Client<'_>) -> Result<(), String>;

    /// Makes the look-ups of `count` round trips without the calls. Returns an error at the first
    /// wrong task.
    fn look_ups(&self, count: u64, draw: &mut Draw) -> Result<(), String>;
}

impl<O, B> Registry for HookDict<'_, O, Task<B>, B>
where
    B: Balance,
    O: Membership<Task<B>, B> + for<'k> KeyOrder<Task<B>, Key<'k> = u64> + 'static,
{
    fn calls(&self, count: u64, draw: &mut Draw, client: &mut Client<'_>) -> Result<(), String> {
        for _ in 0..count {
            let id = draw.next();
            let task = self.find(&id).ok_or_else(|| missing(id))?;
            client.call(id, task.token)?;
        }
        Ok(())
    }

    fn look_ups(&self, count: u64, draw: &mut Draw) -> Result<(), String> {
        for _ in 0..count {
            let id = draw.next();
            let task = self.find(&id).ok_or_else(|| missing(id))?;
            if task.token != token(id) {
                return Err(format!("the registry gave another task for {id}"));
            }
        }
        Ok(())
    }
}

fn missing(id: u64) -> String {
    format!("task {id} was not found in the registry")
}

fn tasks<B: Balance>(population: usize) -> Vec<Task<B>> {
    (1..=population as u64).map(|id| Task { id, token: token(id), link: Link::new() }).collect()
}

/// Builds a registry that holds all of `tasks`, in ascending order.
fn registry<'a, O, B>(order: O, tasks: &'a [Task<B>]) -> Result<HookDict<'a, O, Task<B>, B>, String>
where
    B: Balance,
    O: Membership<Task<B>, B>,
{
    let mut registry = HookDict::balanced(order);
    for task in tasks {
        registry
            .insert(task)
            .map_err(|refused| format!("the registry refused task {}: {}", task.id, refused.reason))?;
    }
    registry.check().map_err(|violation| format!("the registry is broken: {violation:?}"))?;
    Ok(registry)
}

/// Builds every tree with the same tasks, and passes the trees to `user`.
///
/// # Errors
/// If a tree cannot be built or `user` returns an error.
pub(super) fn with_all<R>(
    population: usize,
    user: impl FnOnce(&[(Tree, &dyn Registry)]) -> Result<R, String>,
) -> Result<R, String> {
    let (avl, odict) = (tasks::<Avl>(population), tasks::<RedBlack>(population));
    let avl = registry(ById(u64::cmp), &avl)?;
    let odict = registry(ById(u64::cmp), &odict)?;
    user(&[(Tree::Avl, &avl), (Tree::Odict, &odict)])
}

/// The work that round trips cause in a tree.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) tree: Tree,
    pub(super) population: usize,
    /// Look-ups per round trip.
    pub(super) look_ups: f64,
    /// Comparisons of keys per look-up. Each comparison reads a node.
    pub(super) comparisons: f64,
    /// Largest number of comparisons in one look-up.
    pub(super) most: u64,
    /// Time of a look-up without a call, in ns, one sample per round. The time includes the draw of
    /// the target.
    pub(super) samples: Vec<f64>,
}

impl Asked {
    /// Returns the counts and the samples.
    pub(super) fn series(&self) -> [Series; 3] {
        let of = || of_tree(self.tree, self.population);
        let count = |name: &str| Series::new(name, Unit::Count, of()).per("look-up");
        [
            count("comparisons").of([self.comparisons]),
            count("most comparisons").of([self.most as f64]),
            Series::new("look-up", Unit::Ns, of()).of(self.samples.iter().copied()),
        ]
    }
}

/// Counts look-ups and comparisons over `round_trips` in a separate pass, without timing.
pub(super) fn count(tree: Tree, population: usize, round_trips: u64, seed: u64) -> Result<Asked, String> {
    match tree {
        Tree::Avl => counted::<Avl>(tree, population, round_trips, seed),
        Tree::Odict => counted::<RedBlack>(tree, population, round_trips, seed),
    }
}

fn counted<B: Balance>(tree: Tree, population: usize, round_trips: u64, seed: u64) -> Result<Asked, String> {
    let comparisons = Rc::new(Cell::new(0));
    let counter = Rc::clone(&comparisons);
    let counting = move |a: &u64, b: &u64| {
        counter.set(counter.get() + 1);
        a.cmp(b)
    };
    let tasks = tasks::<B>(population);
    let registry = registry(ById(counting), &tasks)?;
    let mut loopback = Loopback;
    let (mut client, mut draw) = (Client::new(&mut loopback), Draw::new(population, seed));
    let (mut total, mut most, mut asked) = (0, 0, 0u64);
    for _ in 0..round_trips {
        comparisons.set(0);
        registry.calls(1, &mut draw, &mut client)?;
        total += comparisons.get();
        asked += u64::from(comparisons.get() > 0);
        most = most.max(comparisons.get());
    }
    let each = |count: u64, of: u64| count as f64 / of.max(1) as f64;
    let (look_ups, comparisons) = (each(asked, round_trips), each(total, asked));
    Ok(Asked { tree, population, look_ups, comparisons, most, samples: Vec::new() })
}
