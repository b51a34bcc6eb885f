//! The registries under test, and the client's loop over them.

use core::cell::Cell;
use core::cmp::Ordering;
use core::hint::black_box;
use std::rc::Rc;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use tickwright_collections::{Avl, Balance, Dictionary, HookDict, KeyOrder, Link, Membership, RedBlack};

use super::channel::{Client, Wrong, token};

/// What the tasks are kept in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Tree {
    /// AVL
    Avl,
    /// The ordered dictionary: red-black
    Odict,
    /// The ordered dictionary with key getter and comparator behind function pointers, as its C
    /// original has them
    OdictCalls,
}

impl Tree {
    pub(crate) const ALL: [Self; 3] = [Self::Avl, Self::Odict, Self::OdictCalls];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Avl => "avl",
            Self::Odict => "odict",
            Self::OdictCalls => "odict-calls",
        }
    }
}

/// A task, as the registry holds it.
struct Task<B: Balance> {
    id: u64,
    token: u64,
    link: Link<B>,
}

/// By id, compared in place.
struct ById;

impl<B: Balance> KeyOrder<Task<B>> for ById {
    type Key<'k> = u64;

    #[inline]
    fn key<'k>(&'k self, task: &'k Task<B>) -> u64 {
        task.id
    }

    #[inline]
    fn compare(&self, a: &u64, b: &u64) -> Ordering {
        a.cmp(b)
    }
}

/// By id, through pointers that the compiler cannot see through.
struct ByCalls<B: Balance> {
    key: fn(&Task<B>) -> u64,
    compare: fn(&u64, &u64) -> Ordering,
}

impl<B: Balance> ByCalls<B> {
    fn new() -> Self {
        Self { key: black_box(|task| task.id), compare: black_box(|a, b| a.cmp(b)) }
    }
}

impl<B: Balance> KeyOrder<Task<B>> for ByCalls<B> {
    type Key<'k> = u64;

    #[inline]
    fn key<'k>(&'k self, task: &'k Task<B>) -> u64 {
        (self.key)(task)
    }

    #[inline]
    fn compare(&self, a: &u64, b: &u64) -> Ordering {
        (self.compare)(a, b)
    }
}

/// By id, counted.
struct Counted(Rc<Cell<u64>>);

impl<B: Balance> KeyOrder<Task<B>> for Counted {
    type Key<'k> = u64;

    fn key<'k>(&'k self, task: &'k Task<B>) -> u64 {
        task.id
    }

    fn compare(&self, a: &u64, b: &u64) -> Ordering {
        self.0.set(self.0.get() + 1);
        a.cmp(b)
    }
}

macro_rules! linked {
    ($order:ty) => {
        impl<B: Balance> Membership<Task<B>, B> for $order {
            #[inline]
            fn link<'t>(&self, task: &'t Task<B>) -> &'t Link<B> {
                &task.link
            }
        }
    };
}
linked!(ById);
linked!(ByCalls<B>);
linked!(Counted);

/// Targets: uniform over the ids, by a linear congruential generator (Knuth's MMIX constants). No
/// table of targets is read, which would share the caches with the tree.
#[derive(Debug, Clone)]
pub(crate) struct Draw {
    state: u64,
    population: u64,
}

impl Draw {
    pub(crate) fn new(population: usize, seed: u64) -> Self {
        Self { state: seed, population: population as u64 }
    }

    /// An id from 1 to the population.
    #[inline]
    pub(crate) fn next(&mut self) -> u64 {
        self.state =
            self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // The upper half of the state as a fraction of the population: populations are below 2^32.
        1 + (((self.state >> 32) * self.population) >> 32)
    }
}

/// A registry that a client calls through.
pub(crate) trait Registry {
    /// `count` round trips.
    ///
    /// # Errors
    /// The first wrong answer, or what the channel says.
    fn calls(&self, count: u64, draw: &mut Draw, client: &mut Client<'_>) -> Result<(), Wrong>;

    /// The look-ups of `count` round trips without the calls.
    ///
    /// # Errors
    /// A task that is not found, or is another.
    fn look_ups(&self, count: u64, draw: &mut Draw) -> Result<(), Wrong>;
}

impl<O, B> Registry for HookDict<'_, O, Task<B>, B>
where
    B: Balance,
    O: Membership<Task<B>, B> + for<'k> KeyOrder<Task<B>, Key<'k> = u64> + 'static,
{
    fn calls(&self, count: u64, draw: &mut Draw, client: &mut Client<'_>) -> Result<(), Wrong> {
        for _ in 0..count {
            let id = draw.next();
            let task = self.find(&id).ok_or(Wrong::NotFound(id))?;
            client.call(id, task.token)?;
        }
        Ok(())
    }

    fn look_ups(&self, count: u64, draw: &mut Draw) -> Result<(), Wrong> {
        for _ in 0..count {
            let id = draw.next();
            let task = self.find(&id).ok_or(Wrong::NotFound(id))?;
            if task.token != token(id) {
                return Err(Wrong::OtherTask(id));
            }
        }
        Ok(())
    }
}

fn tasks<B: Balance>(population: usize) -> Vec<Task<B>> {
    (1..=population as u64).map(|id| Task { id, token: token(id), link: Link::new() }).collect()
}

/// A whole registry of `tasks`, in ascending order.
fn registry<'a, O, B>(order: O, tasks: &'a [Task<B>]) -> Result<HookDict<'a, O, Task<B>, B>, Wrong>
where
    B: Balance,
    O: Membership<Task<B>, B>,
{
    let mut registry = HookDict::balanced(order);
    for task in tasks {
        registry.insert(task).map_err(|refused| Wrong::Refused(task.id, refused.reason))?;
    }
    registry.check().map_err(|violation| Wrong::Broken(format!("{violation:?}")))?;
    Ok(registry)
}

/// Builds every tree with the same tasks, and lends them.
///
/// # Errors
/// A tree that could not be built, and what `user` says.
pub(crate) fn with_all<R>(
    population: usize,
    user: impl FnOnce(&[(Tree, &dyn Registry)]) -> Result<R, Wrong>,
) -> Result<R, Wrong> {
    let (avl, odict, calls) = (tasks::<Avl>(population), tasks::<RedBlack>(population), tasks(population));
    let avl = registry(ById, &avl)?;
    let odict = registry(ById, &odict)?;
    let calls = registry(ByCalls::<RedBlack>::new(), &calls)?;
    user(&[(Tree::Avl, &avl), (Tree::Odict, &odict), (Tree::OdictCalls, &calls)])
}

/// How often a tree is asked in a round trip.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Touches {
    pub(crate) tree: Tree,
    pub(crate) population: usize,
    pub(crate) round_trips: u64,
    /// Look-ups per round trip.
    pub(crate) look_ups: f64,
    /// Comparisons of keys per look-up: each reads a node.
    pub(crate) comparisons: f64,
    /// The most of one look-up.
    pub(crate) most: u64,
}

/// Counts over `round_trips` of a client, in a pass of its own.
///
/// # Errors
/// As [`Registry::calls`].
pub(crate) fn count(
    tree: Tree,
    population: usize,
    round_trips: u64,
    seed: u64,
    client: &mut Client<'_>,
) -> Result<Touches, Wrong> {
    match tree {
        Tree::Avl => counted::<Avl>(tree, population, round_trips, seed, client),
        Tree::Odict | Tree::OdictCalls => counted::<RedBlack>(tree, population, round_trips, seed, client),
    }
}

fn counted<B: Balance>(
    tree: Tree,
    population: usize,
    round_trips: u64,
    seed: u64,
    client: &mut Client<'_>,
) -> Result<Touches, Wrong> {
    let comparisons = Rc::new(Cell::new(0));
    let tasks = tasks::<B>(population);
    let registry = registry(Counted(Rc::clone(&comparisons)), &tasks)?;
    let mut draw = Draw::new(population, seed);
    let (mut total, mut most, mut asked) = (0, 0, 0u64);
    for _ in 0..round_trips {
        comparisons.set(0);
        registry.calls(1, &mut draw, client)?;
        total += comparisons.get();
        asked += u64::from(comparisons.get() > 0);
        most = most.max(comparisons.get());
    }
    let each = |count: u64, of: u64| count as f64 / of.max(1) as f64;
    Ok(Touches {
        tree,
        population,
        round_trips,
        look_ups: each(asked, round_trips),
        comparisons: each(total, asked),
        most,
    })
}
