//! Every queue that the suite knows, in two lists: [`ours`] and [`foreign`].

use core::fmt;

use tickwright_core::{for_each_family, for_each_slab_only_family};

use crate::clauses::{self, Clause, Tools, Verdict};
use crate::foreign::{BTree, BinaryHeapLazy};
#[cfg(feature = "foreign")]
use crate::foreign::{BitWheel, DelayQueue};
use crate::machine::{self, Event, Mismatch, Watch};
use crate::ours::{Hook, Inline, Kept, Slab};
use crate::script::{Op, decode};
use crate::subject::{Make, Offers};

/// A function that runs scripts and counts them. The function stops at the first script that the
/// queue fails.
pub type RunAll = fn(&mut dyn Iterator<Item = Vec<Op>>) -> Result<usize, Box<Failure>>;

/// A kind of queue, described by values.
pub struct Kind {
    /// The name of the kind in tables.
    pub name: String,
    /// The operations that the kind offers.
    pub offers: Offers,
    /// Whether the kind claims to be exact.
    pub exact: bool,
    /// The greatest lateness that the kind claims, if it is granular.
    pub lateness: Option<fn(u64) -> u64>,
    /// The clauses for this kind.
    pub clauses: [Clause; 22],
    /// The verdicts of all clauses, computed together.
    pub verdicts: fn(&Tools) -> [Verdict; 22],
    /// Runs a script on a queue and on the oracle.
    pub run: fn(&[Op]) -> Result<Vec<Event>, Mismatch>,
    /// Runs a script on a queue that takes a bounded number of timers.
    pub run_bounded: fn(&[Op], usize) -> Result<Vec<Event>, Mismatch>,
    /// Runs every script, compares at the end of each script, and counts the scripts.
    pub run_all: RunAll,
}

/// A script that a queue fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The whole script.
    pub script: Vec<Op>,
    /// Where the queue differs from the oracle.
    pub mismatch: Mismatch,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}
script: {:?}",
            self.mismatch, self.script
        )
    }
}

impl core::error::Error for Failure {}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// The most inserts that a script for [`Kind::run_all`] is allowed to have.
pub const MOST_INSERTS: usize = 16;

fn run_all<M: Make>(scripts: &mut dyn Iterator<Item = Vec<Op>>) -> Result<usize, Box<Failure>> {
    let arena = M::arena(MOST_INSERTS);
    let mut count = 0;
    for script in scripts {
        if let Err(mismatch) = machine::run_in::<M>(&arena, &script, Watch::AtTheEnd) {
            return Err(Box::new(Failure { script, mismatch }));
        }
        count += 1;
    }
    Ok(count)
}

impl Kind {
    /// Returns the kind of queue that `M` makes.
    #[must_use]
    pub fn of<M: Make>() -> Self {
        Self {
            name: M::name(),
            offers: M::OFFERS,
            exact: M::EXACT,
            lateness: M::LATENESS,
            clauses: clauses::all::<M>(),
            verdicts: clauses::verdicts::<M>,
            run: machine::run::<M>,
            run_bounded: machine::run_bounded::<M>,
            run_all: run_all::<M>,
        }
    }
}

/// Returns every family of `tickwright-core`, in each storage that it supports.
#[must_use]
pub fn ours() -> Vec<Kind> {
    macro_rules! kinds {
        ([] $($id:literal => $family:ty;)+) => { vec![$(Kind::of::<Slab<$family>>(), Kind::of::<Hook<$family>>()),+] };
    }
    macro_rules! slab_kinds {
        ([] $($id:literal => $family:ty;)+) => { vec![$(Kind::of::<Slab<$family>>()),+] };
    }
    let mut kinds = for_each_family!(kinds []);
    kinds.extend(for_each_slab_only_family!(slab_kinds []));
    kinds
}

/// Returns every family in a slab, with timers that are idle between their deliveries.
#[must_use]
pub fn kept() -> Vec<Kind> {
    macro_rules! kinds {
        ([] $($id:literal => $family:ty;)+) => { vec![$(Kind::of::<Kept<$family>>()),+] };
    }
    let mut kinds = for_each_family!(kinds []);
    kinds.extend(for_each_slab_only_family!(kinds []));
    kinds
}

/// The number of slots of a queue of [`inline`], which is more than the timers of any script.
const ROOM: usize = 512;

/// Returns every family that supports hooks, in slots inside the queue.
#[must_use]
pub fn inline() -> Vec<Kind> {
    macro_rules! kinds {
        ([] $($id:literal => $family:ty;)+) => { vec![$(Kind::of::<Inline<$family, ROOM>>()),+] };
    }
    for_each_family!(kinds [])
}

/// Returns the foreign queues: two that use the standard library's collections and, with the
/// feature `foreign`, two of other crates.
#[must_use]
pub fn foreign() -> Vec<Kind> {
    vec![
        Kind::of::<BinaryHeapLazy>(),
        Kind::of::<BTree>(),
        #[cfg(feature = "foreign")]
        Kind::of::<DelayQueue>(),
        #[cfg(feature = "foreign")]
        Kind::of::<BitWheel>(),
    ]
}

/// Decodes `bytes` into a script and runs the script on each of our queues. The fuzz target calls
/// this function for each input, and the corpus test calls it for each input of the corpus.
///
/// # Errors
/// If a queue differs from the oracle. The error names the first such queue, and where it differs.
pub fn replay(bytes: &[u8]) -> Result<(), String> {
    let script = decode(bytes);
    for kind in ours() {
        (kind.run)(&script).map_err(|mismatch| format!("{}: {mismatch}\n{script:#?}", kind.name))?;
    }
    Ok(())
}
