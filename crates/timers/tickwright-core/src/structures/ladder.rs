//! `LadderQueue`: sorted arrays for the earliest timers, and buckets for all other timers.
//!
//! The modules: `queue` contains the operations, `scan` the queries, `state` the fields, `run` the
//! sorted arrays, `rungs` the layout of the buckets, `pool` the memory for entries, and `record`
//! the layout of an entry. `refill` fills the run, `purge` drops dead entries, and `check` verifies
//! the invariants.

mod check;
mod pool;
mod purge;
mod queue;
mod record;
mod refill;
mod run;
mod rungs;
mod scan;
mod state;
#[cfg(test)]
mod tests;

pub(in crate::structures) use state::Ladder;

use crate::contract::Exact;
#[cfg(doc)]
use crate::contract::Violation;
use crate::layout::Together;
use crate::structure::{Family, Handle, Shape};

/// The ladder, as the type argument of a [`SlabQueue`](crate::SlabQueue). The queue takes 3.3 KiB:
/// box it if moving that many bytes is too expensive. A `HookQueue` of this type does not compile.
///
/// ```
/// use tickwright_core::{LadderQueue, SlabQueue};
///
/// let mut queue: SlabQueue<LadderQueue, &str> = SlabQueue::new();
/// queue.insert(u64::MAX, "the end of time")?;
/// let tea = queue.insert(70, "tea")?;
/// queue.reschedule(tea, 90)?;
/// assert_eq!(queue.next_expiry(), Some(90));
/// assert_eq!(queue.pop_expired(90).map(|t| t.value), Some("tea"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A ladder: the earliest timers are sorted in two short arrays, and all other timers are in
/// buckets whose widths depend on the number of timers. The structure is exact to the tick for
/// every `u64` deadline, and timers of the same tick leave in the order of their arrival. The
/// ladder works only in slabs.
///
/// # Choose when
/// - you use a slab and do not know which structure suits: the ladder is suitable for two timers
///   and for a million, whether they expire, move or are cancelled.
///
/// # Avoid when
/// - the caller owns the nodes: entries of removed timers still name the timers' slots, so the
///   ladder works only in slabs;
/// - memory is scarce: a [heap](crate::DaryHeap) takes half as much memory as a ladder;
/// - each call must be short, and the program does not limit calls by a budget: a pop sometimes
///   divides a long bucket.
///
/// # Layout
/// ```text
///   record of a slot  { expiry, arrival, placed (low half), version | marks | count }  24 bytes
///
///   run      [ 3 5 5 8 .. ]   up to 64 timers: offsets and slots, in two arrays
///   rung 1   [ | |o|o| .. ]   one bucket of rung 0, divided
///   rung 0   [ | | | | |o| |o| .. ]     o = bucket { list, mixed } -> [16 entries] -> [7 entries]
///   top      [o]              all later ticks               entry: tick | version | slot, 8 bytes
/// ```
/// Timers that are due before `run_end` are in the run. After the run come the timers in the last
/// rung, then the timers in the rungs before it, and finally the timers in the top. When the run is
/// empty, it is filled from the first bucket. A bucket of up to 64 entries is sorted into the run,
/// together with the next buckets if it is short. A longer bucket is divided into a new rung of up
/// to 256 buckets. A long bucket of a single tick needs no sort: it enters the run 64 timers at a
/// time.
///
/// *Why the head is cheap.* The run holds no dead entry, and all timers outside the run are later
/// than the timers in it. The first timer of the run is therefore the head, and a pop need not
/// verify this.
///
/// *Why no branch is mispredicted.* An insert passes over the run in blocks of four or eight cells,
/// and conditional moves select one of three values for each cell. A bucket is sorted by ranks: the
/// rank of a timer is the number of smaller keys, and all pairs are compared.
///
/// *Why no operation searches.* A timer that is removed from a bucket leaves a dead entry there. A
/// timer that moves to a later tick retains its entry, and moves to another bucket only when the
/// entry's tick comes. A timer in a reused slot takes over the entry of the slot's previous timer,
/// unless that entry's tick is too late. Moving or cancelling a time-out therefore writes only one
/// record. A timer that moves to an earlier tick, or by 2^32 ticks or more, gets a second entry
/// with another version.
///
/// *Why order is exact.* Entries of equal ticks are always in the same bucket, in the order in
/// which they were appended. If that order might differ from the order of arrival, the bucket is
/// *mixed*, and its timers of equal ticks are sorted by the arrival numbers in the records. A long
/// mixed bucket of a single tick is divided by arrival numbers, in the same way as other buckets
/// are divided by ticks. There are 2^64 arrival numbers, but only 256 versions. When a slot has
/// used all versions and old entries of the slot still exist, a dead entry can look like the
/// current entry. From then on, each bucket that gets an entry of this slot is mixed, so the slot's
/// timer leaves in order whichever entry is read first.
///
/// # Costs
/// | operation | worst | usual | cache lines |
/// |---|---|---|---|
/// | insert | O(1) | O(1) | the record; the run, or a bucket |
/// | remove | O(1), reads up to 64 entries while many are dead | O(1) | the record |
/// | reschedule to later | O(1) | O(1) | the record |
/// | reschedule to earlier | as insert and remove | O(1) | as insert |
/// | peek, second, next_expiry | O(n) while the run is empty | O(1) | 2 |
/// | next_wake | O(1) | O(1) | 2 |
/// | pop | O(k) for each bucket of k that it divides | amortized O(1) | the record |
/// | pop_and_reinsert | as pop and insert | amortized O(1) | as pop + insert |
/// | advance, m expired | as m pops | amortized O(1) per timer | the record |
///
/// The most expensive insert moves 64 timers out of a full run, or 1,024 timers out of the top.
///
/// A removal, a move or an exhausted budget can leave the run empty. In that state `next_wake` can
/// be too early; the next pop fills the run. A pop of the run's last timer refills the run at once,
/// even with timers that are due much later. An entry moves once per rung, which is at most twice
/// if there are a million timers whose deadlines are spread out.
///
/// With a budget of n, an advance moves and delivers at most n timers. If the first bucket has more
/// than n timers, only its first n timers enter the run. To find these timers, the advance reads
/// the whole bucket, which has up to 64 entries (up to 256 if it is mixed and all its entries are
/// due at one tick). With N timers, at most N/4 entries are dead, or N/4 + N/16 while a purge is
/// running, and somewhat more if N is small.
///
/// A timer takes 24 bytes plus its slot (8 for a `u32`), and 11 bytes for entries. If there are
/// more than 36 timers, the queue also takes 37 bytes per timer plus 4 to 11 KiB for lists, rungs
/// and partly filled chunks. This additional memory is at most 250 KiB, because the number of
/// buckets is limited. With fewer than 6,400 timers, unusual deadlines can need more lists than
/// there are. A long bucket is then not divided: 48 timers at a time move from it into the run, and
/// each such step reads the whole bucket. The queue itself takes 3.3 KiB. A ladder has at most
/// 2^24 - 1 slots, and refuses a further timer with [`Full`](crate::Reject::Full).
///
/// Memory for entries is allocated for 1,024 timers at a time, in segments of 1 KiB that never
/// move. The slab's cells move when their array doubles: with a million timers, an insert that
/// doubles the array takes about 100 us. Storing the cells in segments as well would avoid this,
/// but a pop and an insert would take a fifth more instructions. A program that needs a bound for
/// each insert calls `reserve`.
///
/// # Invariants
/// An entry in a bucket consists of the low half of a tick, the number of a slot, and a version of
/// that slot. A slot has at most one *current* entry: the entry with the slot's version and placed
/// tick. All other entries of the slot are dead.
/// 1. The run holds timers that have no current entry, each at its expiry
///    ([`Violation::Position`]), sorted by expiry and arrival ([`Violation::Order`]). No tick in
///    the run is later than `run_end` ([`Violation::Head`]).
/// 2. The cells after the run are unused, and the cells just before the run are not greater than
///    the run's first cell ([`Violation::UnusedCell`]).
/// 3. The ticks of a rung lie within one bucket of an earlier rung, or before all earlier rungs
///    ([`Violation::Bucket`]). In the array of lists, the lists of a rung follow the lists of the
///    rung before it ([`Violation::Bucket`]). A bucket is marked if and only if its list has an
///    entry; no bucket before `next` has an entry ([`Violation::Occupied`]).
/// 4. While a purge reads a list, the list has an entry that the purge has not read
///    ([`Violation::Count`]).
/// 5. A timer outside the run has a current entry ([`Violation::Position`]). Its placed tick is not
///    later than its expiry ([`Violation::Order`]) and is among the ticks of the bucket
///    ([`Violation::Bucket`]). The placed tick is also not before `run_end`, unless the rung
///    divides the arrivals of one tick ([`Violation::Head`]).
/// 6. Timers of one tick in a bucket are in the order of their arrival, unless the bucket is mixed.
///    Arrival numbers are below the counter ([`Violation::Sequence`]).
/// 7. `entries` is the number of all entries, at most `limit`, and `live` is the number of all
///    pending timers. In an empty list, `taken` is 0. The record of a slot has the number of the
///    slot's entries ([`Violation::Count`]). Every entry names a slot ([`Violation::Storage`]).
///
/// # Files
/// Read the files in this order: `record` (the record and the entry), `pool` (memory for entries),
/// `run` (the two arrays), `rungs` (the ticks of a bucket), `state` (the whole ladder), `refill`
/// (moves timers from buckets to the run), `purge` (removes dead entries), `scan` (queries),
/// `queue` (the operations), `check`.
///
/// # References
/// Tang, Goh & Thng, "Ladder queue", TOMACS 2005: rungs of unsorted buckets whose widths depend on
/// the number of events, and a sorted bottom. Groot Koerkamp, "SimdQuickHeap", 2026: entries of 8
/// bytes in sequential memory, and sorts without mispredicted branches. Many network stacks re-arm
/// lazily: a re-armed timer moves in the structure only when its old tick comes. We know of no
/// earlier use of three parts: the versions, the slots that take over dead entries, and the rungs
/// that divide arrivals.
#[derive(Clone, Copy, Debug)]
pub struct LadderQueue;

impl Exact for LadderQueue {}

impl Family for LadderQueue {
    type Of<P: Handle> = Ladder<P>;
    type Layout = Together;
    const ID: &'static str = "ladder";
    const SHAPE: Shape = Shape::Wheel;
}
