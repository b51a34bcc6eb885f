//! A ladder: entries lie in arrays by time, apart from their timers. It is exact to the tick, first
//! in first out among equals, for every `u64` deadline. For slabs.
//!
//! # Invariants
//! `clock` is the tick that buckets are named by. An entry is a tick and the number of a slot. A
//! slot's record has the tick at which its timer is due, and the tick for which the timer was
//! *placed*. An entry with the placed tick and the timer's slot is the timer's *witness*.
//! 1. Every pending timer has a witness ([`Violation::Count`]). The timer was placed for a tick
//!    that is not later than its expiry ([`Violation::Order`]).
//! 2. An entry in a bucket is in the bucket that `BucketNumber::of(clock, tick)` names
//!    ([`Violation::Bucket`]). No entry is earlier than `clock` ([`Violation::Order`]).
//! 3. `occupied` has a bit set for exactly the buckets that hold an entry. `levels` has a bit set
//!    for exactly the levels with such a bucket ([`Violation::Occupied`]).
//! 4. `min` of a bucket is not later than any tick in it. If its bit in `dirty` is clear, the
//!    bucket holds the witness of a timer that is due at `min` ([`Violation::Minimum`]).
//! 5. Witnesses in a bucket are in the order of their arrival numbers, unless the bucket's bit in
//!    `mixed` is set ([`Violation::Sequence`]).
//! 6. `run` is sorted by tick and arrival, the earliest last ([`Violation::Order`]).
//! 7. `entries` is the number of all entries. `moved` is the number of timers that are due later
//!    than the tick for which they were placed ([`Violation::Count`]).
//! 8. `horizon` is the least `min` of all occupied buckets, `Tick::MAX` without one. It is 0 during
//!    a cascade or a sort, and at most one tick after `clock` while there is a front
//!    ([`Violation::Minimum`]).
//! 9. While there is a front, the run's timers for `clock` arrived before those of the front
//!    ([`Violation::Sequence`]).
//!
//! # Layout
//! ```text
//!   record of a slot  { expiry, placed, arrival }      24 bytes a timer with a slot for a u32
//!
//!   level 2  [ | | | | |x|o| ..          o = bucket { min, list } -> [31 entries] -> [7 entries]
//!   level 1  [ | | .. |x| | |o| |o|..                                entry: tick | slot, 8 bytes
//!   level 0  [ | | .. |o|o| ..
//!   run      [ 97/4  97/2  60/9  42/7 ]   the earliest: tick, arrival, slot; sorted
//! ```
//! Buckets are named as in the [wheel](super::wheel), but a bucket is an array instead of a chain.
//! Entering a bucket reads memory in sequence, and prefetches the records of its timers together. A
//! bucket of at most 448 entries is sorted into `run`; a longer bucket moves to lower levels.
//!
//! *Why the head is cheap.* `horizon` is the earliest tick of all buckets, or earlier while entries
//! are in work. So an entry of the run before that tick is the earliest of all. If its record still
//! has its arrival number, its timer is the head: two comparisons find it.
//!
//! *Why no operation searches.* A removal leaves the timer's entry in its place: the entry is dead.
//! A timer that is moved to a later tick keeps its entry, too. When the entry's tick comes, the
//! timer is placed again. When a slot is used again, its new timer takes over the dead entry of the
//! old timer, unless that entry is too late. So moving or cancelling a time-out writes only one
//! record. Only a timer that is moved to an earlier tick, or by 2^32 ticks, gets a second entry.
//!
//! *Why order is exact.* Entries of equal ticks are always in one bucket, in the order of their
//! appends. If that may not be the order of arrival, the bucket is mixed. A bucket also becomes
//! mixed when a timer is placed in it while entries are dead. A dead entry for the same tick and
//! slot then counts again. The run is sorted by the arrival numbers in the records. A mixed bucket
//! of one tick is sorted by arrival numbers as well, digit by digit, from list to list.
//!
//! # Costs
//! | operation | worst | usual | cache lines |
//! |---|---|---|---|
//! | insert | O(1) | O(1) | the record, the bucket, its last entry |
//! | remove | O(1), looks at up to 128 entries while many are dead | O(1) | the record, the bucket |
//! | reschedule to later | O(1) | O(1) | the record, the bucket |
//! | reschedule to earlier | as insert and remove | O(1) | as insert |
//! | peek, second | O(n), usually O(k), k in the first bucket | O(k) | entries in sequence |
//! | next_expiry | as peek after the bucket's earliest left it | O(1) | 2 |
//! | next_wake | O(1) | O(1) | 2 |
//! | pop | O(k) for each bucket of k that it enters | amortized O(levels) | the record |
//! | pop_and_reinsert | as pop and insert | amortized O(levels) | as pop + insert |
//! | advance, m expired | as m pops | amortized O(levels) per timer | the record, in batches |
//!
//! `next_wake` may be early after a timer was cancelled or moved: then nothing is due, and the next
//! result is later. An entry moves at most `LEVELS` times, and at most six times more in a mixed
//! bucket of one tick. With a budget of n, an advance moves, drops and delivers at most n entries.
//! `peek` and `second` read a bucket up to the first or second timer for its `min`, but a mixed
//! bucket to its end. After 2^31 inserts and moves all arrivals are numbered again, in O(n).
//!
//! Bytes per timer: slab 24 + slot (8 for a `u32`), and 3 more for dead entries. From 256 timers
//! on, chunks that are not full add up to 215 KiB, and run and batch take 16 KiB. With dead entries
//! that is less than two fifths of the memory from 25,000 timers on. The queue itself takes 18 KiB.
//! On 32-bit targets all these figures are the same, because records and entries number slots in 32
//! bits everywhere.
//!
//! # Files
//! The files are listed in this order. First `chunks` (memory for entries), `rungs` (buckets and
//! their marks), `near` and `batch` (sorting a short bucket), `state` (the record and the whole
//! ladder), and `enter` (from buckets to the front). Then `purge` (dead entries), `scan` (queries),
//! `queue` (the operations), `check`.
//!
//! # Choose when
//! - there are ten thousand timers or more that mostly expire: each is looked up when it is armed
//!   and when it leaves, and nowhere between;
//! - timers are moved to later ticks, and an early `next_wake` does no harm.
//!
//! # Avoid when
//! - the caller owns the nodes: entries of removed timers name their slots, so it works in slabs
//!   alone;
//! - few timers are pending: a heap is smaller and faster;
//! - nearly all timers are moved or cancelled before they expire: the [wheel](super::wheel) is
//!   faster then;
//! - the program often reads the exact head while timers are moved and cancelled.
//!
//! # References
//! Tang, Goh & Thng, "Ladder queue", TOMACS 2005: rungs of unsorted buckets, a sorted bottom.
//! Ahuja, Mehlhorn, Orlin & Tarjan, "Faster algorithms for the shortest path problem", JACM 1990:
//! radix heap, where the highest differing digit gives the level. Groot Koerkamp, "SimdQuickHeap",
//! 2026: entries of 8 bytes in sequential memory. To place a moved timer again only when its old
//! tick comes is the lazy re-arm of many network stacks. The witness, and slots that take over dead
//! entries, are ours.

mod batch;
mod check;
mod chunks;
mod enter;
mod near;
mod purge;
mod queue;
mod rungs;
mod scan;
mod state;
#[cfg(test)]
mod tests;

pub(in crate::family) use state::{Ladder, LadderNode};

use crate::contract::Exact;
#[cfg(doc)]
use crate::contract::Violation;
use crate::storage::layout::Together;
use crate::storage::{Family, Handle, Shape};

/// The ladder, as the type argument of a [`SlabQueue`](crate::SlabQueue). The queue is a value of
/// 18 KiB: box it, or make it a static. It does not compile over hooks.
///
/// ```
/// use tickwright_core::{LadderQueue, SlabQueue};
///
/// let mut queue: SlabQueue<LadderQueue, &str> = SlabQueue::new();
/// queue.insert(u64::MAX, "the end of time")?;
/// let tea = queue.insert(70, "tea")?.key;
/// let _ = queue.reschedule(tea, 90)?;
/// assert_eq!(queue.next_expiry(), Some(90));
/// assert_eq!(queue.pop_expired(90).map(|t| t.value), Some("tea"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct LadderQueue;

impl Exact for LadderQueue {}

impl Family for LadderQueue {
    type Of<P: Handle> = Ladder<P>;
    type Layout = Together;
    const ID: &'static str = "ladder";
    const SHAPE: Shape = Shape::Wheel;
}
