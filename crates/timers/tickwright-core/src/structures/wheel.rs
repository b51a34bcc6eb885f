//! `Wheel`, `SmallWheel` and `TinyWheel`: hierarchical timing wheels that are exact to the tick.

mod buckets;
mod cascade;
mod hierarchy;
#[cfg(all(test, feature = "alloc"))]
mod tests;

pub(in crate::structures) use hierarchy::Hierarchy;

use crate::contract::Exact;
#[cfg(doc)]
use crate::contract::Violation;
use crate::layout::Together;
use crate::structure::{Family, Handle, Shape};

/// The exact timing wheel, as the type argument of a queue: `LEVELS` levels of `BUCKETS` buckets.
/// On 64-bit targets the queue takes 11 KiB (slab) or 17 KiB (hooks), so box it, or make it a
/// static.
///
/// [`HookQueue::new`](crate::HookQueue::new) creates a queue over hooks that is all zeros, so a
/// static queue lies in `.bss`: on 32-bit targets it takes 11 KiB of RAM and no flash.
/// [`SmallWheel`] and [`TinyWheel`] are smaller.
///
/// `BUCKETS` is a power of two from 2 to 64. `LEVELS` is the number of digits that a `u64` has in
/// base `BUCKETS`: 11 digits for 64 buckets, 13 for 32, 16 for 16, and so on. Other combinations do
/// not compile.
///
/// ```
/// use tickwright_core::{SlabQueue, Wheel};
///
/// let mut queue: SlabQueue<Wheel, &str> = SlabQueue::new();
/// queue.insert(u64::MAX, "the end of time")?;
/// queue.insert(70, "tea")?;
/// assert_eq!(queue.next_wake(), Some(70));
/// assert_eq!(queue.pop_expired(70).map(|t| t.value), Some("tea"));
/// assert_eq!(queue.next_expiry(), Some(u64::MAX));
/// # Ok::<(), tickwright_core::Rejected<&str>>(())
/// ```
///
/// A hierarchical timing wheel. The structure is exact to the tick for every `u64` deadline, and
/// timers of the same tick leave in the order of their arrival.
///
/// # Choose when
/// - many timers are armed, re-armed and cancelled, and few expire, as with network time-outs;
/// - timers are dense (several per hundred ticks), or you want to compare with another wheel of the
///   same tick length;
/// - the cost of insert and remove must not depend on how many timers are pending: in the worst
///   case each of these operations moves `LEVELS` nodes.
///
/// # Avoid when
/// - timers are few and far apart: the buckets take 11 KiB and displace other data from the cache,
///   whereas a heap of few timers is small;
/// - the time of one pop must be bounded, and the program uses no budget: a pop that enters a
///   bucket moves all timers of the bucket;
/// - the program often reads the exact head (`peek`) while nothing is due: `peek` scans the first
///   bucket.
///
/// # Layout
/// ```text
///   expiry (octal pairs)   .. | level 2 | level 1 | level 0      64 buckets a level, 6 bits
///   clock                  ..      05        17        42
///   another                ..      05        23        08        highest difference: level 1, 23
///
///   level 2  [ | | | | |x|o| ..                 x: the digit of the clock (empty), o: later ones
///   level 1  [ | | .. |x| | | | | |o|..         o = bucket 23 { min, head, tail } -> a <-> b <-> c
///   level 0  [ | | .. |o|o| ..
/// ```
/// There is a level for each digit of a `u64`, so every deadline has a bucket, no level wraps
/// around, and there is no overflow list. Within a level above 0, occupied buckets have greater
/// digits than the clock. The first occupied bucket of the lowest occupied level is therefore the
/// earliest bucket.
///
/// A bucket above level 0 is *entered* when its `min` has come. At that time all lower levels are
/// empty. The clock advances to that `min`. The nodes move from the bucket to the ends of buckets
/// at lower levels, beginning with the head, so nodes of equal expiry stay in the order of their
/// arrival.
///
/// The budget can be used up in the middle of a cascade. A new node that belongs in the
/// half-emptied bucket is then inserted after the remaining nodes, and the insert moves up to
/// `LEVELS` of the remaining nodes. If a bucket has only one node, this node leaves directly from
/// the bucket, without moving to level 0.
///
/// # The life of one timer
/// Three timers are armed at tick 1000: they are due at 70000, 69700 and 69990. The table shows the
/// life of the timer for 70000. In base 64, 1000 has the digits 0 15 40, and 70000 has the digits
/// 17 5 48.
///
/// | clock | its digits | what happens to the timer for 70000 | its place |
/// |---|---|---|---|
/// | 1000 | 0 15 40 | It is armed. Digit 2 differs, and is 17. | level 2, bucket 17 |
/// | 69700 | 17 1 4 | The bucket is entered. Now digit 1 differs, and is 5. | level 1, bucket 5 |
/// | 69990 | 17 5 38 | That bucket is entered. Digit 0 differs, and is 48. | level 0, bucket 48 |
/// | 70000 | 17 5 48 | It is due and leaves. | no bucket |
///
/// Each bucket is entered when its earliest timer is due. For the two buckets in the table, these
/// are the timers for 69700 and 69990. If these two timers did not exist, the timer for 70000 would
/// be the only timer in bucket 17 and would leave directly from this bucket.
/// [`explain`](crate::SlabQueue::explain) shows where a timer is:
///
/// ```
/// use tickwright_core::{SlabQueue, Wheel};
///
/// let mut queue: SlabQueue<Wheel, ()> = SlabQueue::new();
/// assert!(queue.pop_expired(1000).is_none());
/// let key = queue.insert(70_000, ())?;
/// let says = |queue: &SlabQueue<Wheel, ()>, line: &str| {
///     assert_eq!(queue.explain(key).map(|at| at.to_string()).as_deref(), Ok(line));
/// };
/// let alone =
///     "due at 70000; level 2, bucket 17 [69632, 73728); alone there, so it leaves from there";
/// says(&queue, alone);
/// queue.insert(69_700, ())?;
/// queue.insert(69_990, ())?;
/// says(&queue, "due at 70000; level 2, bucket 17 [69632, 73728); moves down at 69700");
/// assert_eq!(queue.pop_expired(69_700).map(|t| t.expiry), Some(69_700));
/// says(&queue, "due at 70000; level 1, bucket 5 [69952, 70016); moves down at 69990");
/// assert_eq!(queue.pop_expired(69_990).map(|t| t.expiry), Some(69_990));
/// says(&queue, "due at 70000; level 0, bucket 48 [70000, 70001); leaves from there");
/// assert_eq!(queue.pop_expired(70_000).map(|t| t.expiry), Some(70_000));
/// assert!(queue.explain(key).is_err(), "a delivered key is stale");
/// # Ok::<(), tickwright_core::Rejected<()>>(())
/// ```
///
/// # Costs
/// | operation | worst | usual | cache lines |
/// |---|---|---|---|
/// | insert | O(levels) while a cascade is half done | O(1) | the bucket, its tail, the node |
/// | remove | O(1) | O(1) | the node, its neighbors, the bucket |
/// | reschedule | as insert | O(1) | as remove + insert |
/// | peek, second | O(k), k in the first bucket | O(1) for near or equal timers | 1 per node read |
/// | next_expiry | O(k) after its earliest timer left | O(1): the bucket's `min` | 2 |
/// | next_wake | O(1) | O(1) | 2 |
/// | pop | O(k) for each bucket of k that it enters | amortized O(levels) | 2 per level descended |
/// | pop_and_reinsert | as pop and insert | O(1) after the pop's moves | as pop + insert |
/// | advance, m expired | as m pops | amortized O(levels) per timer | 2 per timer and level |
///
/// `peek` reads the first bucket up to the first timer that is due at the bucket's `min`, and
/// `second` up to the second such timer. While a cascade is half done, both read the remaining
/// nodes of its bucket and all lower buckets. An advance over a long idle time costs no more than
/// an advance over a short idle time. Each move takes a node down at least one level, so the node
/// moves at most `LEVELS` - 1 times between insert and delivery. With a budget of n, an advance
/// moves and delivers at most n timers.
///
/// A timer takes 24 bytes plus its slot (8 for a `u32`) in a slab, and 40 bytes over hooks (32 on
/// 32-bit targets). In addition, each queue has 704 buckets, which take 11 KiB in a slab and 17 KiB
/// over hooks (11 KiB on 32-bit targets). The wheel never allocates.
///
/// # Invariants
/// `clock` is the tick from which the bucket of a node is computed. `clock` follows the queue's
/// `now`, but can be earlier than `now`.
/// 1. A node is in the bucket that `BucketNumber::of(clock, expiry)` names ([`Violation::Bucket`]).
///    The node's record has that bucket's number ([`Violation::Position`]). While a cascade is half
///    done, the cascade's own clock determines the buckets of the nodes that it has moved, and
///    these buckets are at lower levels.
/// 2. A bit of `occupied` is set if and only if the bucket of the bit holds a node. A bit of
///    `levels` is set if and only if a bucket of the bit's level holds a node
///    ([`Violation::Occupied`]).
/// 3. The buckets together hold every pending node exactly once ([`Violation::Count`]). The `prev`
///    links of each chain match its `next` links ([`Violation::BackLink`]), and each chain ends at
///    its bucket's `tail` ([`Violation::Head`]).
/// 4. The `min` of a bucket is the earliest expiry in the bucket, or possibly an earlier tick if
///    the bucket's bit in `dirty` is set ([`Violation::Minimum`]). A bucket of level 0 covers a
///    single tick and is never dirty.
/// 5. No expiry is earlier than `clock` ([`Violation::Order`]) or earlier than `quiet`
///    ([`Violation::Minimum`]).
///
/// # Files
/// Read the files in this order: `digits` (the bucket of a tick), `buckets` (marks and chains),
/// `cascade` (moves nodes from bucket to bucket), `hierarchy` (the operations).
///
/// # References
/// Varghese & Lauck, "Hashed and hierarchical timing wheels", SOSP 1987, scheme 7. Thomas Gleixner
/// and Juho Snellman had the idea of deriving the level of a timer from the highest bit in which
/// its expiry differs from the current time. Tokio and others use this idea with fewer levels, and
/// their last level wraps around (see `every_power_of_two_is_passed_in_order` in the tests). We
/// know of no earlier wheel that keeps a minimum and a dirty mark per bucket, and enters a bucket
/// at its minimum.
#[derive(Clone, Copy, Debug)]
pub struct Wheel<const BUCKETS: usize = 64, const LEVELS: usize = 11>;

/// The exact wheel with sixteen buckets per level: over hooks, a queue takes 4.3 KiB on 32-bit
/// targets and 6.4 KiB on 64-bit targets. A timer moves down at most fifteen times, compared with
/// ten times in [`Wheel`]. A static queue lies in `.bss`, as with [`Wheel`].
pub type SmallWheel = Wheel<16, 16>;

/// The exact wheel with four buckets per level: over hooks, a queue takes 2.6 KiB on 32-bit targets
/// and 3.6 KiB on 64-bit targets. A timer moves down at most 31 times. A static queue lies in
/// `.bss`, as with [`Wheel`].
pub type TinyWheel = Wheel<4, 32>;

impl<const BUCKETS: usize, const LEVELS: usize> Exact for Wheel<BUCKETS, LEVELS> {}

impl<const BUCKETS: usize, const LEVELS: usize> Family for Wheel<BUCKETS, LEVELS> {
    type Of<P: Handle> = Hierarchy<P, BUCKETS, LEVELS>;
    type Layout = Together;
    const ID: &'static str = "wheel";
    const SHAPE: Shape = Shape::Wheel;
    const DEFAULT_TICK_NS: u64 = 1_000_000;
}
