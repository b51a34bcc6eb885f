//! The queue that chooses its structure: a sorted array, a heap, a wheel or a ladder.
//!
//! The queue counts its timers. A wheel of many timers also counts whether they are mostly moved or
//! mostly expire. When another structure serves better, timers move there, a few with each
//! operation. The order of delivery does not change meanwhile.
//!
//! # Invariants
//! 1. Without a move, one structure holds all timers. During a move, a timer is in the new
//!    structure if its record names that structure ([`Violation::Position`]), and both structures
//!    together hold all timers ([`Violation::Count`]).
//! 2. During a move, every timer in the new structure leaves before every timer in the old one. The
//!    order is by expiry ([`Violation::Order`]), and within one tick by arrival.
//! 3. Each structure that may later serve `reserved` timers has room for them, and for timers that
//!    arrive during a move. So no insert within a reservation allocates.
//! 4. A ladder is empty before it serves, and after it is left. What a record holds of an earlier
//!    ladder is forgotten before the next ladder inserts its slot's timer.
//! 5. `quiet` is not later than `next_wake`, and so not later than any expiry
//!    ([`Violation::Minimum`]): a poll before `quiet` calls no structure.
//!
//! # Layout
//! ```text
//!   slab      slots 1..=n: 24 bytes of record, which every structure uses, and the payload
//!   flat      sorted array         up to 24 timers
//!   heap4     16-byte cells        up to 512
//!   wheel     704 buckets          up to 16,384, and beyond until most expire
//!   ladder    8-byte entries       beyond
//!
//!   a move    old: . . . . | 70 70 81 95 ...    its heads go over, four with each operation
//!             new: 12 30 64 70|                 serves first; arrivals before the boundary, 70
//! ```
//! A structure gives way to a smaller one when less than half of the smaller one's most timers are
//! left.
//!
//! # Costs
//! The costs are the costs of the serving structure, plus a branch by its kind: 2 to 8 ns for a
//! timer's whole life. While a move is under way, each operation that changes something moves four
//! timers from the old structure to the new one. When the old structure is a wheel, the operation
//! also moves timers within the wheel, up to 64 in all. An advance counts these moves against its
//! budget: while it has none left, its expiries move no timers. A move of n timers ends within
//! n / 3 other operations, or 0.7 n out of a wheel whose buckets are long.
//!
//! So `peek`, `second` and at times `next_expiry` cost O(1) up to 512 timers. Beyond that they may
//! read each timer of the first bucket of the wheel or the ladder: at worst all n.
//!
//! Bytes per timer: slab 24 + slot (8 for a `u32`), and 12 for a ladder's entries from 16,384
//! reserved timers on. The queue allocates 13 KiB for a heap, 11 KiB for a wheel and 18 KiB for a
//! ladder when they may first serve, and keeps them. The queue itself takes 264 bytes (on 32-bit
//! targets 176). All other figures are the same on 32-bit targets, because records and cells number
//! slots in 32 bits everywhere.
//!
//! # Choose when
//! - nobody has measured, or the population changes by orders of magnitude;
//! - one type must serve programs with ten timers and with a million.
//!
//! # Avoid when
//! - the caller owns the nodes: it works in slabs alone;
//! - memory is tight: one structure alone needs fewer bytes a timer;
//! - a few ns matter, and the population is known: one structure alone has no branch by its kind.
//!
//! # References
//! The structures are described in [`flat`](super::flat), [`dary_heap`](super::dary_heap),
//! [`wheel`](super::wheel) and [`ladder`](super::ladder). A move in bounded steps is the idea of
//! incremental rehashing (as in Redis's dictionaries). The boundary, which replaces two searches,
//! is ours.

mod choice;
mod moving;
mod parts;
mod queue;
mod record;
#[cfg(test)]
mod tests;

use core::marker::PhantomData;

pub use choice::{Limits, Measured};

use crate::contract::Exact;
#[cfg(doc)]
use crate::contract::Violation;
use crate::storage::layout::Together;
use crate::storage::{Family, Handle, Shape};

/// The adaptive queue, as the type argument of a [`SlabQueue`](crate::SlabQueue). It does not
/// compile over hooks. `L` sets how many timers each structure serves.
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

impl<L: Limits> Exact for AdaptiveQueue<L> {}

impl<L: Limits> Family for AdaptiveQueue<L> {
    type Of<P: Handle> = queue::Adaptive<P, L>;
    type Layout = Together;
    const ID: &'static str = "adaptive";
    const SHAPE: Shape = Shape::Wheel;
}
