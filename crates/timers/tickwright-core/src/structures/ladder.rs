//! `LadderQueue`.

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

/// The ladder, as the type argument of a [`SlabQueue`](crate::SlabQueue). The queue is a value of
/// 3.3 KiB: box it where that is too much to move. It does not compile over hooks.
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
/// A ladder: the earliest timers lie sorted in two short arrays, and all others in buckets, whose
/// widths follow the population. It is exact to the tick, first in first out among equals, for
/// every `u64` deadline. For slabs.
///
/// # Choose when
/// - in doubt, in a slab: it suits two timers as well as a million, whether they expire, move or
///   are cancelled.
///
/// # Avoid when
/// - the caller owns the nodes: entries of removed timers name their slots, so it works in slabs
///   alone;
/// - memory is scarce: a [heap](crate::DaryHeap) takes half of it;
/// - the worst call must be short even without a budget: a pop may divide a long bucket.
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
/// Ticks before `run_end` are in the run, then come the last rung, the rungs before it, and the
/// top. When the run is empty, the first bucket fills it. A bucket of up to 64 entries is sorted
/// into the run, together with the next ones if it is short. A longer bucket is divided into a new
/// rung of up to 256 buckets. A long bucket of one tick needs no sort: the run takes it 64 timers
/// at a time.
///
/// *Why the head is cheap.* The run holds no dead entry, and nothing earlier is elsewhere: its
/// first timer is the head, and a pop verifies nothing.
///
/// *Why no branch is mispredicted.* An insert passes over the run in blocks of four or eight
/// cells, and each cell chooses among three values. A bucket is sorted by ranks: the rank of a
/// timer is the number of smaller keys, and all pairs are compared.
///
/// *Why no operation searches.* A removal from a bucket leaves the entry in its place, dead. A
/// timer that moves to a later tick keeps its entry, and is placed again when the entry's tick
/// comes. A slot that is used again takes over the entry of its last timer, unless that is too
/// late, so moving or cancelling a time-out writes only one record. A timer that moves to an
/// earlier tick, or by 2^32 ticks, gets a second entry, with another version.
///
/// *Why order is exact.* Entries of equal ticks are always in one bucket, in the order of their
/// appends. If that may not be the order of arrival, the bucket is mixed, and its equals are sorted
/// by the arrival numbers in the records. A long mixed bucket of one tick is divided by arrival
/// numbers, as others are by ticks. There are 2^64 arrival numbers, but only 256 versions. When a
/// slot with old entries has used all of them, a dead entry may look like the current one. Then
/// buckets that the slot enters are mixed, so its timer leaves in order whichever entry is read
/// first.
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
/// The worst insert makes 64 timers leave a full run, or 1,024 the top.
///
/// A removal or a move may empty the run, and so may a budget that is used up. `next_wake` may then
/// be early, and the next pop fills the run. A pop of the run's last timer fills the run at once,
/// with timers that may be due much later. An entry moves once for each rung, which is at most
/// twice with a million timers whose deadlines are spread.
///
/// With a budget of n, an advance moves and delivers at most n timers. If the first bucket has
/// more, the run takes only its first n, for which the advance reads the whole bucket, up to 64
/// entries, or 256 that are due at one tick and mixed. At most a quarter as many entries as timers
/// are dead, n/16 more while a purge reads, and some more if there are few timers.
///
/// Bytes per timer: slab 24 + slot (8 for a `u32`), and 11 for entries. From 37 timers on, lists,
/// rungs and chunks that are not full add 37 bytes a timer and 4 to 11 KiB, at most 250 KiB: they
/// serve so many buckets at once. With fewer than 6,400 timers, unusual deadlines may need more.
/// The run then takes 48 timers at a time out of a long bucket, and reads all of it. The queue
/// itself takes 3.3 KiB. A ladder has at most 2^24 - 1 slots; another timer is refused as
/// [`Full`](crate::Reject::Full).
///
/// Memory for entries grows in pieces of 1 KiB that never move, for 1,024 timers at a time. The
/// slab's cells move when their array doubles: that insert takes some 100 us among a million
/// timers. Cells in pieces would add a fifth to the instructions of a pop and an insert. A program
/// that needs a bound reserves.
///
/// # Invariants
/// An entry in a bucket is the low half of a tick, the version of a slot and the slot's number. A
/// slot has at most one *current* entry: the one with the slot's version and placed tick. All other
/// entries of the slot are dead.
/// 1. The run holds timers that have no current entry, each at its expiry
///    ([`Violation::Position`]), sorted by expiry and arrival ([`Violation::Order`]). No tick in
///    the run is later than `run_end` ([`Violation::Head`]).
/// 2. The cells behind the run are unused, and those just before it are not greater than its first
///    ([`Violation::UnusedCell`]).
/// 3. A rung lies within one bucket of an earlier rung, or before all of them
///    ([`Violation::Bucket`]). The lists of a rung follow those of the rung before it
///    ([`Violation::Bucket`]). A bucket is marked if and only if its list has an entry; no bucket
///    before `next` has one ([`Violation::Occupied`]).
/// 4. While a purge reads a list, the list has an entry that the purge has not read
///    ([`Violation::Count`]).
/// 5. A timer outside of the run has a current entry ([`Violation::Position`]). Its placed tick is
///    not later than its expiry ([`Violation::Order`]), lies in the ticks of the bucket
///    ([`Violation::Bucket`]), and is not before `run_end`, unless the rung divides the arrivals of
///    one tick ([`Violation::Head`]).
/// 6. Timers of one tick in a bucket are in the order of their arrival, unless the bucket is mixed.
///    Arrival numbers are below the counter ([`Violation::Sequence`]).
/// 7. `entries` is the number of all entries, at most `limit`, and `live` that of all pending
///    timers. Nothing has been taken off an empty list. A slot counts its entries
///    ([`Violation::Count`]). Every entry names a slot ([`Violation::Storage`]).
///
/// # Files
/// The files are listed in this order. First `record` (the record and the entry), `pool` (memory
/// for entries), `run` (the two arrays), `rungs` (what a bucket stands for) and `state` (the whole
/// ladder). Then `refill` (from buckets to the run), `purge` (dead entries), `scan` (queries),
/// `queue` (the operations), `check`.
///
/// # References
/// Tang, Goh & Thng, "Ladder queue", TOMACS 2005: rungs of unsorted buckets whose widths follow the
/// population, a sorted bottom. Groot Koerkamp, "SimdQuickHeap", 2026: entries of 8 bytes in
/// sequential memory, sorts without mispredictions. To place a moved timer again only when its old
/// tick comes is the lazy re-arm of many network stacks. The versions, slots that take over dead
/// entries, and rungs that divide arrivals are ours.
#[derive(Clone, Copy, Debug)]
pub struct LadderQueue;

impl Exact for LadderQueue {}

impl Family for LadderQueue {
    type Of<P: Handle> = Ladder<P>;
    type Layout = Together;
    const ID: &'static str = "ladder";
    const SHAPE: Shape = Shape::Wheel;
}
