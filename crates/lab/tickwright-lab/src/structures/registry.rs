//! The list of all structures that the lab measures: every family in both storages, and the
//! baselines.
//!
//! A model (hold, the Xenomai tick, ...) is a [`Visitor`] that is generic over the candidate. Its
//! timed loop is compiled once per structure and contains no indirect call.

use std::collections::BinaryHeap;
use std::sync::LazyLock;

#[cfg(feature = "rivals")]
use dary_heap::QuaternaryHeap;
use serde::{Deserialize, Serialize};
use strsim::damerau_levenshtein;
use tickwright::scheduler;
use tickwright_core::structure;
use tickwright_core::{Family, SlabQueue, TimerQueue};
use wildmatch::WildMatch;

use crate::allocator;
use crate::error::LabError;
use crate::structures::baseline::lazy_heap::{Entry, Lazy};
use crate::structures::baseline::{btree_map, orx};
#[cfg(feature = "rivals")]
use crate::structures::baseline::{
    by_deadline::ByDeadline, delay_queue, equal_contract, equal_contract::EqualContract, hash_wheel,
    intrusive, nexus, radix_heap::RadixHeap, timer_queue,
};
use crate::structures::candidate::Candidate;
use crate::structures::ours::{Hook, Slab};

/// The author of a structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    /// A structure of this project.
    Ours,
    /// A structure of another project, for comparison.
    Baseline,
    /// A structure of another project under our contract.
    EqualContract,
}

/// The id of the structure that [`DefaultQueue`](tickwright_core::DefaultQueue) uses.
pub(crate) const DEFAULT: &str = "ladder/slab";

/// The data structure that keeps the order. Other crates' structures of the same shape are the
/// closest comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Shape {
    /// A sorted chain.
    List,
    /// An array in which parents precede their children.
    Heap,
    /// A search tree.
    Tree,
    /// Buckets of ticks.
    Wheel,
}

impl Shape {
    /// The shape of one of our families.
    const fn of<F: Family>() -> Self {
        match F::SHAPE {
            structure::Shape::List => Self::List,
            structure::Shape::Heap => Self::Heap,
            structure::Shape::Tree => Self::Tree,
            structure::Shape::Wheel => Self::Wheel,
        }
    }

    /// The word in tables.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::Heap => "heap",
            Self::Tree => "tree",
            Self::Wheel => "wheel",
        }
    }
}

/// A structure's promise about the order of its deliveries. The promise decides how answers are
/// judged (see [`crate::models::verify`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Ties {
    /// Timers leave by deadline, and timers of equal deadline leave in the order of insertion. The
    /// judge compares ids and deadlines.
    Fifo,
    /// Timers leave by deadline, and timers of equal deadline leave in any order. The judge
    /// compares only deadlines.
    AnyOrder,
    /// Timers leave by the end of the bucket that holds them. The judge checks that each timer is
    /// delivered once, never early, and at most as late as the structure's bound.
    Granular,
}

impl Ties {
    /// Returns whether timers are delivered on the tick, as the oracle delivers them.
    pub(crate) fn exact(self) -> bool {
        self != Self::Granular
    }
}

/// The largest population at which a structure is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Sensible {
    /// The largest population.
    pub(crate) most: usize,
    /// The reason why larger runs take too long.
    pub(crate) why: &'static str,
}

/// A structure under measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Structure {
    /// `family/storage`, or the name of a baseline.
    pub(crate) id: &'static str,
    /// The author: ours or a baseline.
    pub(crate) kind: Kind,
    /// The data structure that keeps the order.
    pub(crate) shape: Shape,
    /// The promised order of deliveries.
    pub(crate) ties: Ties,
    /// Whether the structure can return the timer after the head.
    pub(crate) second: bool,
    /// Whether the head is exact, rather than a lower bound.
    pub(crate) exact_head: bool,
    /// Whether the structure takes [hints](crate::structures::candidate::BenchQueue::hint).
    pub(crate) hints: bool,
    /// The largest population that is measured, because a run with more timers would take too long.
    pub(crate) sensible: Option<Sensible>,
    /// One line for `tickwright list`.
    pub(crate) about: &'static str,
}

/// An operation that is generic over the type of a structure. Only the registry knows that type.
pub(crate) trait Visitor {
    /// The result of the operation.
    type Out;

    /// Runs the operation with candidate `C`.
    fn visit<C: Candidate>(self, structure: &'static Structure) -> Self::Out;
}

/// A structure whose insert walks a list: with 10,000 timers one insert takes microseconds.
const LINEAR: Sensible = Sensible { most: 1000, why: "insertion is O(n)" };
/// A wheel whose buckets grow with the population, so that a few rounds with 1M timers take many
/// minutes.
#[cfg(feature = "rivals")]
const BUCKETS: Sensible = Sensible { most: 10_000, why: "its peek looks through a whole bucket" };

macro_rules! and_slab_only {
    ([$($baselines:tt)*] $($rows:tt)+) => {
        tickwright_core::for_each_slab_only_family!(table [[$($baselines)*] [$($rows)+]]);
    };
}

macro_rules! table {
    ([[$($(#[$cfg:meta])* $name:literal, $candidate:ty, $shape:ident, $ties:ident, second $second:literal, exact_head $head:literal, up_to $sensible:expr, $about:literal;)+] [$($id:literal => $family:ty;)+]] $($slab_id:literal => $slab_family:ty;)+) => {
        /// Every structure: ours by family, then the baselines.
        pub(crate) static STRUCTURES: &[Structure] = &[
            $(
                ours::<$family>(concat!($id, "/slab"), "ours; the queue owns the timers, keys carry generations"),
                ours::<$family>(concat!($id, "/hook"), "ours; the caller owns the nodes, nothing allocates"),
            )+
            $(ours::<$slab_family>(concat!($slab_id, "/slab"), "ours; the queue owns the timers, keys carry generations"),)+
            $($(#[$cfg])* Structure {
                id: $name,
                kind: theirs($name),
                shape: Shape::$shape,
                ties: Ties::$ties,
                second: $second,
                exact_head: $head,
                hints: <$candidate as Candidate>::HINTS,
                sensible: $sensible,
                about: $about,
            },)+
        ];

        /// The baselines of all builds.
        const BASELINES: &[&str] = &[$($name),+];

        /// Calls `visitor` with the type of `structure`.
        pub(crate) fn visit<V: Visitor>(structure: &'static Structure, visitor: V) -> V::Out {
            match structure.id {
                $(
                    concat!($id, "/slab") => visitor.visit::<Slab<$family>>(structure),
                    concat!($id, "/hook") => visitor.visit::<Hook<$family>>(structure),
                )+
                $(concat!($slab_id, "/slab") => visitor.visit::<Slab<$slab_family>>(structure),)+
                $($(#[$cfg])* $name => visitor.visit::<$candidate>(structure),)+
                // Each `Structure` comes from a row of the table, and each row has an arm of this
                // `match`.
                other => unreachable!("structure {other} has no row"),
            }
        }
    };
}

tickwright_core::for_each_family!(and_slab_only [
    "binary-heap", Lazy<BinaryHeap<Entry>>, Heap, Fifo, second true, exact_head true, up_to None,
        "std BinaryHeap, lazy deletion";
    "btree-map", btree_map::StdBTreeMap, Tree, Fifo, second true, exact_head true, up_to None,
        "std BTreeMap by (deadline, arrival)";
    #[cfg(feature = "rivals")]
    "dary-heap4", Lazy<QuaternaryHeap<Entry>>, Heap, Fifo, second true, exact_head true, up_to None,
        "dary_heap 0.3 with 4 children, lazy deletion";
    #[cfg(feature = "rivals")]
    "dary-heap4-contract", EqualContract<equal_contract::Dary4>, Heap, Fifo, second true, exact_head true, up_to None,
        "dary_heap 0.3 with 4 children under our contract: FIFO, keys with generations, bounded dead entries";
    #[cfg(feature = "rivals")]
    "delay-queue", delay_queue::DelayQueue, Wheel, AnyOrder, second false, exact_head true, up_to Some(BUCKETS),
        "tokio-util DelayQueue on a paused clock whose steps are timed too; a tick is a millisecond";
    #[cfg(feature = "rivals")]
    "hash-wheel", hash_wheel::HashWheel, Wheel, AnyOrder, second false, exact_head false, up_to None,
        "hierarchical_hash_wheel_timer 1.4, cancellable; a call per tick, entries of cancelled timers stay until their tick";
    #[cfg(feature = "rivals")]
    "intrusive-rb", intrusive::IntrusiveRbTree, Tree, Fifo, second true, exact_head true, up_to None,
        "intrusive-collections 0.10 RBTree, nodes of the caller";
    #[cfg(feature = "rivals")]
    "nexus-timer", nexus::Nexus, Wheel, AnyOrder, second false, exact_head false, up_to None,
        "nexus-timer 1.5, a wheel that moves timers ahead; neither FIFO nor stale keys, polled per tick, time as Instant";
    "orx-4ary", orx::Orx, Heap, AnyOrder, second true, exact_head true, up_to None,
        "orx-priority-queue 1.9 4-ary heap with positions; neither FIFO nor stale keys";
    #[cfg(all(feature = "rivals", target_feature = "avx2"))]
    "quickheap", ByDeadline<quickheap::SimdQuickHeap<u64>>, Heap, AnyOrder, second true, exact_head true, up_to None,
        "quickheap 0.2, SimdQuickHeap with lazy deletion; neither FIFO nor stale keys, at most 1M timers";
    #[cfg(all(feature = "rivals", target_feature = "avx2"))]
    "quickheap-contract", EqualContract<equal_contract::Quick>, Heap, Fifo, second true, exact_head true, up_to None,
        "quickheap 0.2 under our contract: FIFO, keys with generations, 64-bit ticks, bounded dead entries";
    #[cfg(feature = "rivals")]
    "radix-heap", ByDeadline<RadixHeap>, Heap, AnyOrder, second true, exact_head true, up_to None,
        "radix-heap 0.4 with lazy deletion; neither FIFO nor stale keys";
    #[cfg(feature = "rivals")]
    "timer-queue", timer_queue::Wheel, Wheel, AnyOrder, second false, exact_head false, up_to None,
        "timer-queue 0.1, a hierarchical wheel";
]);

/// The structures that this build leaves out: other crates' structures that need the feature
/// `rivals`.
pub(crate) static LEFT_OUT: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let is_there = |name: &&str| STRUCTURES.iter().any(|structure| structure.id == *name);
    let absent = BASELINES.iter().copied().filter(|name| !is_there(name));
    if cfg!(feature = "rivals") { Vec::new() } else { absent.collect() }
});

/// The message about what a build without the feature `rivals` lacks, and the remedy.
pub(crate) const WITHOUT_RIVALS: &str =
    "this build is without most queues and threads of other libraries; `--features rivals` adds them";

/// Returns a function that matches the names of structures with a pattern: `*` matches anything,
/// and a family name matches each of its storages.
fn matcher(pattern: &str) -> impl Fn(&str) -> bool {
    let (glob, both) = (WildMatch::new(pattern), WildMatch::new(&format!("{pattern}/*")));
    move |id| glob.matches(id) || both.matches(id)
}

/// Returns whether a pattern names only structures that this build leaves out.
pub(crate) fn is_left_out(pattern: &str) -> bool {
    let matches = matcher(pattern);
    LEFT_OUT.iter().any(|id| matches(id)) && !STRUCTURES.iter().any(|structure| matches(structure.id))
}

const fn linear<F: Family>() -> Option<Sensible> {
    match Shape::of::<F>() {
        Shape::List => Some(LINEAR),
        _ => None,
    }
}

/// Returns the kind of a structure of another project.
const fn theirs(id: &str) -> Kind {
    match id.as_bytes() {
        [.., b'-', b'c', b'o', b'n', b't', b'r', b'a', b'c', b't'] => Kind::EqualContract,
        _ => Kind::Baseline,
    }
}

/// Describes one of our families in one storage.
const fn ours<F: Family>(id: &'static str, about: &'static str) -> Structure {
    Structure {
        id,
        kind: Kind::Ours,
        shape: Shape::of::<F>(),
        ties: if SlabQueue::<F, u32>::ORDER.is_exact() { Ties::Fifo } else { Ties::Granular },
        second: true,
        exact_head: true,
        hints: true,
        sensible: linear::<F>(),
        about,
    }
}

/// Properties of the type of a structure: see [`Candidate`].
pub(crate) struct Facts {
    /// The greatest lateness by delay, in ticks; 0 for exact structures.
    pub(crate) lateness: fn(u64) -> u64,
    /// The least number of bytes per timer.
    pub(crate) bytes_per_timer: usize,
    /// The longest delay that the structure takes, in ticks.
    pub(crate) horizon: u64,
    /// Whether the structure keeps every entry of a removed timer until the timer's tick.
    pub(crate) keeps_dead: bool,
    holds: fn(usize) -> bool,
}

/// Returns the properties of a structure.
pub(crate) fn facts(structure: &'static Structure) -> Facts {
    struct Ask;
    impl Visitor for Ask {
        type Out = Facts;
        fn visit<C: Candidate>(self, _: &'static Structure) -> Facts {
            Facts {
                lateness: C::lateness,
                bytes_per_timer: C::BYTES_PER_TIMER,
                horizon: C::HORIZON,
                keeps_dead: C::KEEPS_DEAD,
                holds: C::holds,
            }
        }
    }
    visit(structure, Ask)
}

/// Finds the structure with this id.
pub(crate) fn find(id: &str) -> Result<&'static Structure, LabError> {
    STRUCTURES.iter().find(|structure| structure.id == id).ok_or_else(|| match LEFT_OUT.contains(&id) {
        true => left_out(id),
        false => LabError::usage(format!(
            "there is no structure '{id}'; {}",
            nearest(id, STRUCTURES.iter().map(|s| s.id))
        )),
    })
}

fn left_out(name: &str) -> LabError {
    LabError::usage(format!("'{name}' is left out: {WITHOUT_RIVALS}"))
}

/// Returns whether a structure can hold `population` timers.
///
/// # Errors
/// If the system refuses memory.
pub(crate) fn holds(structure: &'static Structure, population: usize) -> Result<bool, LabError> {
    let before = allocator::refusals();
    match (facts(structure).holds)(population) {
        // If the system refuses memory, every structure would seem bounded.
        false if allocator::refusals() > before => {
            let id = structure.id;
            Err(LabError::memory(format!("the system refuses the memory for {id} with {population} timers")))
        }
        holds => Ok(holds),
    }
}

/// Returns why a structure is not run with `population` timers, or `None` if it is run.
///
/// # Errors
/// If the system refuses memory.
pub(crate) fn why_not(structure: &'static Structure, population: usize) -> Result<Option<String>, LabError> {
    if let Some(Sensible { why, .. }) = structure.sensible.filter(|sensible| population > sensible.most) {
        return Ok(Some(why.into()));
    }
    Ok((!holds(structure, population)?).then(|| "bounded below this population".into()))
}

/// Returns the structures that a list of patterns names, in table order. `*` matches anything. A
/// family name matches both storages. A pattern with a leading `!` excludes structures. If the
/// first pattern excludes, the list begins with all structures.
///
/// # Errors
/// If a pattern matches nothing. The message gives the nearest names.
pub(crate) fn select(patterns: &[String]) -> Result<Vec<&'static Structure>, LabError> {
    let first_takes_away = patterns.first().is_none_or(|pattern| pattern.starts_with('!'));
    let mut chosen = vec![first_takes_away; STRUCTURES.len()];
    for pattern in patterns {
        let (bare, wanted) = pattern.strip_prefix('!').map_or((pattern.as_str(), true), |bare| (bare, false));
        let matches = matcher(bare);
        let mut matched = false;
        for (structure, chosen) in STRUCTURES.iter().zip(&mut chosen) {
            if matches(structure.id) {
                matched = true;
                *chosen = wanted;
            }
        }
        // A pattern that excludes structures which this build lacks is not an error.
        if !matched && is_left_out(bare) {
            if wanted {
                return Err(left_out(bare));
            }
            continue;
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

/// Parses the name of one of our families, as a value parser for commands whose storage is fixed.
/// The name is `heap4`, or `heap4/*` as in other commands.
///
/// # Errors
/// If no family has this name. The message gives the nearest names.
pub(crate) fn family(text: &str) -> Result<scheduler::Structure, String> {
    let name = text.strip_suffix("/*").unwrap_or(text);
    if let Some((family, _)) =
        name.split_once('/').filter(|(family, _)| family.parse::<scheduler::Structure>().is_ok())
    {
        return Err(format!("this command has its own storage: name the structure alone, '{family}'"));
    }
    name.parse::<scheduler::Structure>().map_err(|error| error.to_string())
}

/// Returns a hint for a name that is not in `valid`: the three nearest names, and where to find the
/// whole list.
pub(crate) fn nearest<'a>(name: &str, valid: impl Iterator<Item = &'a str>) -> String {
    // Names that begin with `name` come first: 'heap4' is nearer to 'heap4/slab' than to 'heap2'.
    let mut ranked: Vec<_> =
        valid.map(|id| (!id.starts_with(name), damerau_levenshtein(name, id), id)).collect();
    ranked.sort();
    let names: Vec<_> = ranked.iter().take(3).map(|(_, _, id)| format!("'{id}'")).collect();
    format!("the nearest names are {} (`tickwright list` shows all)", names.join(", "))
}

#[cfg(test)]
mod tests;
