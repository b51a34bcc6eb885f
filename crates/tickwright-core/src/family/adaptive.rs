//! The queue that chooses its structure: a sorted array, a heap, a wheel or a ladder.
//!
//! It counts its timers and whether they are mostly moved or mostly expire. When another structure
//! serves better, timers move there, a few with each operation, and no order changes meanwhile.
//!
//! # Invariants
//! 1. Without a move, one structure has all timers. During one, a timer is in the new structure if
//!    it is marked ([`Violation::Position`]), and both together have all ([`Violation::Count`]).
//! 2. During a move, every timer in the new structure leaves before every one in the old: by
//!    expiry ([`Violation::Order`]), and of one tick by arrival.
//! 3. Each structure that may come to serve `reserved` timers has room for them, and for what
//!    arrives during a move. So no insert within a reservation allocates.
//! 4. A ladder is left by [`clear`](crate::SlabQueue::clear) alone: entries of timers that were
//!    removed stay in it, and its clock may be later than what arrives.
//! 5. `quiet` is not later than any expiry ([`Violation::Minimum`]): a poll before it asks no
//!    structure.
//!
//! # Layout
//! ```text
//!   slab      slots 1..=n: payload, and 16 bytes of record (the ladder's)
//!   flat      sorted array     + 8 bytes a slot      up to 6 timers
//!   heap4     16-byte cells    + 4 bytes a slot      up to 512
//!   wheel     704 buckets      + 24 bytes a slot     up to 65,536, and beyond until most expire
//!   ladder    8-byte entries                         beyond
//!
//!   a move    old: . . . . | 70 70 81 95 ...    its heads go over, four with each operation
//!             new: 12 30 64 70|                 serves first; arrivals before the boundary, 70
//! ```
//! Up to some 87,000 reserved timers flat and heap4 have such arrays: slots of timers that are gone
//! would leave them mostly unused. A queue that reserves or has had more is a wheel or a ladder,
//! however few timers it has now, also after `clear`.
//!
//! # Costs
//! Those of the structure that serves, and a jump by its kind: 3 to 8 ns for a timer's whole life.
//! While a move is under way, each operation that changes something moves four timers from the old
//! structure to the new one. From a wheel, it also moves up to 64 timers within the wheel. An
//! advance does not count these against its budget. A move of n timers ends within n / 3
//! operations, or 0.7 n out of a wheel whose buckets are long. It begins by clearing a bit for each
//! slot.
//!
//! Bytes per timer: slab 16 + slot (8 for a `u32`), and half as much again as the layout says. A
//! move needs room for what arrives meanwhile. The queue allocates 11 KiB for a wheel from some 450
//! timers on, and 18 KiB for a ladder. Memory of structures that were left is kept.
//!
//! # Choose when
//! - nobody has measured, or the population changes by orders of magnitude;
//! - one type must serve programs with ten timers and with a million.
//!
//! # Avoid when
//! - the caller owns the nodes: it works in slabs alone;
//! - memory is tight: one structure alone needs fewer bytes a timer;
//! - a program with many timers shrinks to few and stays so: it keeps the wheel or the ladder.
//!
//! # References
//! The structures are described in [`flat`](super::flat), [`dary_heap`](super::dary_heap),
//! [`wheel`](super::wheel) and [`ladder`](super::ladder). A move in bounded steps is the idea of
//! incremental rehashing (as in Redis's dictionaries); a boundary instead of two searches is ours.

mod choice;
mod moving;
mod parts;
mod queue;
#[cfg(test)]
mod tests;

use core::marker::PhantomData;

pub use choice::{Limits, Measured};

#[cfg(doc)]
use crate::contract::Violation;
use crate::storage::layout::Apart;
use crate::storage::{Family, Handle, Shape};

/// The adaptive queue, as the type argument of a [`SlabQueue`](crate::SlabQueue). It does not
/// compile over hooks. `L` says which structure serves how many timers.
///
/// ```
/// use tickwright_core::{AdaptiveQueue, SlabQueue};
///
/// let mut queue: SlabQueue<AdaptiveQueue, u32> = SlabQueue::new();
/// for number in 0..1000 {
///     queue.insert(u64::from(number % 10), number)?;
/// }
/// assert_eq!(queue.pop_expired(10).map(|t| t.value), Some(0));
/// assert_eq!(queue.pop_expired(10).map(|t| t.value), Some(10));
/// # Ok::<(), tickwright_core::Rejected<u32>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct AdaptiveQueue<L = Measured>(PhantomData<L>);

impl<L: Limits> Family for AdaptiveQueue<L> {
    type Of<P: Handle> = queue::Adaptive<P, L>;
    type Layout = Apart;
    const ID: &'static str = "adaptive";
    const SHAPE: Shape = Shape::Wheel;
}
