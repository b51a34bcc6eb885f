//! The one list of what the lab measures: every family in both storages, and the baselines.
//!
//! A model (hold, the Xenomai tick, ...) is a [`Visitor`]: generic over the candidate, so that its
//! timed loop is compiled once per structure and nothing in it is indirect.

use std::collections::BinaryHeap;

use dary_heap::QuaternaryHeap;
use serde::Serialize;
use strsim::damerau_levenshtein;
use tickwright::service;
use tickwright_core::storage;
use tickwright_core::{Family, SlabQueue, TimerQueue};
use tickwright_testkit::foreign::DelayQueue;
use wildmatch::WildMatch;

use crate::allocator;
use crate::error::LabError;
use crate::structures::baseline::lazy_heap::{Entry, Lazy};
use crate::structures::baseline::testkit::Foreign;
use crate::structures::baseline::{btree_map, intrusive, nexus, orx, timer_queue};
use crate::structures::candidate::Candidate;
use crate::structures::ours::{Hook, Slab};

/// Whose structure it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    /// This project's.
    Ours,
    /// Somebody else's, to compare with.
    Baseline,
}

/// How a structure keeps its order: rivals of one shape are the nearest to compare with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Shape {
    /// A chain in order.
    List,
    /// An array in which parents precede their children.
    Heap,
    /// A search tree.
    Tree,
    /// Buckets by time.
    Wheel,
}

impl Shape {
    /// Of one of our families.
    const fn of<F: Family>() -> Self {
        match F::SHAPE {
            storage::Shape::List => Self::List,
            storage::Shape::Heap => Self::Heap,
            storage::Shape::Tree => Self::Tree,
            storage::Shape::Wheel => Self::Wheel,
        }
    }

    /// For tables.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::Heap => "heap",
            Self::Tree => "tree",
            Self::Wheel => "wheel",
        }
    }
}

/// What a structure promises about the order of its deliveries, and so how its answer is judged
/// (`bench/verify.rs`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Ties {
    /// By expiry, equals in the order in which they came: ids and expiries are compared.
    Fifo,
    /// By expiry, equals in any order: expiries are compared.
    AnyOrder,
    /// By the ends of buckets: each timer once, never early and never later than the structure's
    /// bound.
    Granular,
}

impl Ties {
    /// Of one of our families.
    const fn ours(exact: bool) -> Self {
        if exact { Self::Fifo } else { Self::Granular }
    }

    /// Due on the tick, so that it can be compared with an oracle.
    pub(crate) fn exact(self) -> bool {
        self != Self::Granular
    }
}

/// Up to where a structure is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Sensible {
    /// The largest population.
    pub(crate) most: usize,
    /// What takes too long above it.
    pub(crate) why: &'static str,
}

/// A structure under measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Structure {
    /// `family/storage`, or the name of a baseline.
    pub(crate) id: &'static str,
    /// Whose it is.
    pub(crate) kind: Kind,
    /// How it keeps its order.
    pub(crate) shape: Shape,
    /// What it promises among equals.
    pub(crate) ties: Ties,
    /// Whether it can name the timer after the head.
    pub(crate) second: bool,
    /// Whether its head is exact, not a lower bound.
    pub(crate) exact_head: bool,
    /// The largest population for which runs are sensible, and why: above it one operation would
    /// take the whole run.
    pub(crate) sensible: Option<Sensible>,
    /// One line for `tickwright list`.
    pub(crate) about: &'static str,
}

/// Something to do with a structure whose type is known only to the registry.
pub(crate) trait Visitor {
    /// What comes of it.
    type Out;

    /// Does it with candidate `C`.
    fn visit<C: Candidate>(self, structure: &'static Structure) -> Self::Out;
}

/// A structure whose insertion walks: an insert at 10,000 costs microseconds.
const LINEAR: Sensible = Sensible { most: 1000, why: "insertion is O(n)" };
/// A wheel whose buckets fill up with the population: at a million, a few rounds take many minutes.
const BUCKETS: Sensible = Sensible { most: 10_000, why: "its peek looks through a whole bucket" };

macro_rules! table {
    ([$($name:literal, $candidate:ty, $shape:ident, $ties:ident, second $second:literal, exact_head $head:literal, up_to $sensible:expr, $about:literal;)+] $($id:literal => $family:ty;)+) => {
        /// Every structure: ours by family, then the baselines.
        pub(crate) static STRUCTURES: &[Structure] = &[
            $(
                Structure {
                    id: concat!($id, "/slab"),
                    kind: Kind::Ours,
                    shape: Shape::of::<$family>(),
                    ties: Ties::ours(SlabQueue::<$family, u32>::ORDER.is_exact()),
                    second: true,
                    exact_head: true,
                    sensible: linear::<$family>(),
                    about: "ours; the queue owns the timers, keys carry generations",
                },
                Structure {
                    id: concat!($id, "/hook"),
                    kind: Kind::Ours,
                    shape: Shape::of::<$family>(),
                    ties: Ties::ours(SlabQueue::<$family, u32>::ORDER.is_exact()),
                    second: true,
                    exact_head: true,
                    sensible: linear::<$family>(),
                    about: "ours; the caller owns the nodes, nothing allocates",
                },
            )+
            $(Structure {
                id: $name,
                kind: Kind::Baseline,
                shape: Shape::$shape,
                ties: Ties::$ties,
                second: $second,
                exact_head: $head,
                sensible: $sensible,
                about: $about,
            },)+
        ];

        /// Calls `visitor` with the type behind `structure`.
        pub(crate) fn visit<V: Visitor>(structure: &'static Structure, visitor: V) -> V::Out {
            match structure.id {
                $(
                    concat!($id, "/slab") => visitor.visit::<Slab<$family>>(structure),
                    concat!($id, "/hook") => visitor.visit::<Hook<$family>>(structure),
                )+
                $($name => visitor.visit::<$candidate>(structure),)+
                // `Structure`s come from the table alone, and each row of it has an arm.
                other => unreachable!("structure {other} has no row"),
            }
        }
    };
}

tickwright_core::for_each_family!(table [
    "binary-heap", Lazy<BinaryHeap<Entry>>, Heap, Fifo, second true, exact_head true, up_to None,
        "std BinaryHeap, lazy deletion";
    "btree-map", btree_map::StdBTreeMap, Tree, Fifo, second true, exact_head true, up_to None,
        "std BTreeMap by (deadline, arrival)";
    "dary-heap4", Lazy<QuaternaryHeap<Entry>>, Heap, Fifo, second true, exact_head true, up_to None,
        "dary_heap 0.3 with 4 children, lazy deletion";
    "delay-queue", Foreign<DelayQueue>, Wheel, AnyOrder, second false, exact_head true, up_to Some(BUCKETS),
        "tokio-util DelayQueue on a paused clock whose steps are timed too; a tick is a millisecond";
    "intrusive-rb", intrusive::IntrusiveRbTree, Tree, Fifo, second true, exact_head true, up_to None,
        "intrusive-collections 0.10 RBTree, nodes of the caller";
    "nexus-timer", nexus::Nexus, Wheel, AnyOrder, second false, exact_head false, up_to None,
        "nexus-timer 1.5, a wheel that moves timers ahead; neither FIFO nor stale keys, polled per tick, time as Instant";
    "orx-4ary", orx::Orx, Heap, AnyOrder, second true, exact_head true, up_to None,
        "orx-priority-queue 1.9 4-ary heap with positions; neither FIFO nor stale keys";
    "timer-queue", timer_queue::Wheel, Wheel, AnyOrder, second false, exact_head false, up_to None,
        "timer-queue 0.1, a hierarchical wheel";
]);

const fn linear<F: Family>() -> Option<Sensible> {
    match Shape::of::<F>() {
        Shape::List => Some(LINEAR),
        _ => None,
    }
}

/// How late a timer of a structure may be, by the delay it was armed with; 0 for the exact.
pub(crate) fn lateness(structure: &'static Structure) -> fn(u64) -> u64 {
    struct Lateness;
    impl Visitor for Lateness {
        type Out = fn(u64) -> u64;
        fn visit<C: Candidate>(self, _: &'static Structure) -> Self::Out {
            C::lateness
        }
    }
    visit(structure, Lateness)
}

/// Bytes that a timer takes at least in a structure.
pub(crate) fn bytes_per_timer(structure: &'static Structure) -> usize {
    struct Bytes;
    impl Visitor for Bytes {
        type Out = usize;
        fn visit<C: Candidate>(self, _: &'static Structure) -> usize {
            C::BYTES_PER_TIMER
        }
    }
    visit(structure, Bytes)
}

/// The structure of that id.
pub(crate) fn find(id: &str) -> Result<&'static Structure, LabError> {
    STRUCTURES.iter().find(|structure| structure.id == id).ok_or_else(|| {
        LabError::usage(format!(
            "there is no structure '{id}'; {}",
            nearest(id, STRUCTURES.iter().map(|s| s.id))
        ))
    })
}

/// Whether a structure can hold `population` timers.
///
/// # Errors
/// Memory that the system refuses.
pub(crate) fn holds(structure: &'static Structure, population: usize) -> Result<bool, LabError> {
    struct Holds(usize);
    impl Visitor for Holds {
        type Out = bool;
        fn visit<C: Candidate>(self, _: &'static Structure) -> bool {
            C::holds(self.0)
        }
    }
    let before = allocator::refusals();
    match visit(structure, Holds(population)) {
        // Without memory every structure looks bounded.
        false if allocator::refusals() > before => {
            let id = structure.id;
            Err(LabError::memory(format!("the system refuses the memory for {id} with {population} timers")))
        }
        holds => Ok(holds),
    }
}

/// Why a structure is not run with `population` timers; `None` when it is.
///
/// # Errors
/// Memory that the system refuses.
pub(crate) fn why_not(structure: &'static Structure, population: usize) -> Result<Option<String>, LabError> {
    if let Some(Sensible { why, .. }) = structure.sensible.filter(|sensible| population > sensible.most) {
        return Ok(Some(why.into()));
    }
    Ok((!holds(structure, population)?).then(|| "bounded below this population".into()))
}

/// The structures that a list of patterns names, in table order. `*` stands for anything, a family
/// alone for each of its storages, `!` in front takes away; a list that begins by taking away
/// begins with all.
///
/// # Errors
/// A pattern that matches nothing, with the nearest names.
pub(crate) fn select(patterns: &[String]) -> Result<Vec<&'static Structure>, LabError> {
    let first_takes_away = patterns.first().is_none_or(|pattern| pattern.starts_with('!'));
    let mut chosen = vec![first_takes_away; STRUCTURES.len()];
    for pattern in patterns {
        let (bare, wanted) = pattern.strip_prefix('!').map_or((pattern.as_str(), true), |bare| (bare, false));
        let glob = WildMatch::new(bare);
        // A family by itself is meant in each storage.
        let both = WildMatch::new(&format!("{bare}/*"));
        let mut matched = false;
        for (structure, chosen) in STRUCTURES.iter().zip(&mut chosen) {
            if glob.matches(structure.id) || both.matches(structure.id) {
                matched = true;
                *chosen = wanted;
            }
        }
        if !matched {
            let ids = STRUCTURES.iter().map(|s| s.id);
            return Err(LabError::usage(format!("no structure matches '{bare}'; {}", nearest(bare, ids))));
        }
    }
    let selected: Vec<_> =
        STRUCTURES.iter().zip(chosen).filter(|(_, chosen)| *chosen).map(|(structure, _)| structure).collect();
    if selected.is_empty() {
        return Err(LabError::usage(format!("'{}' takes away every structure", patterns.join(","))));
    }
    Ok(selected)
}

/// Reads a family of this project's, where a command has a storage of its own: `heap4`, or
/// `heap4/*` as other commands take it. A value parser for the command line.
///
/// # Errors
/// No such family, with the nearest ones.
pub(crate) fn family(text: &str) -> Result<service::Structure, String> {
    let name = text.strip_suffix("/*").unwrap_or(text);
    if let Some((family, _)) =
        name.split_once('/').filter(|(family, _)| family.parse::<service::Structure>().is_ok())
    {
        return Err(format!("this command has its own storage: name the structure alone, '{family}'"));
    }
    name.parse::<service::Structure>().map_err(|error| error.to_string())
}

/// "did you mean" for a name that is not among `valid`: the three nearest, and where the whole list
/// is.
pub(crate) fn nearest<'a>(name: &str, valid: impl Iterator<Item = &'a str>) -> String {
    // What begins with the name comes first: 'heap4' is nearer to 'heap4/slab' than to 'heap2'.
    let mut ranked: Vec<_> =
        valid.map(|id| (!id.starts_with(name), damerau_levenshtein(name, id), id)).collect();
    ranked.sort();
    let names: Vec<_> = ranked.iter().take(3).map(|(_, _, id)| format!("'{id}'")).collect();
    format!("the nearest names are {} (`tickwright list` shows all)", names.join(", "))
}

#[cfg(test)]
mod tests;
