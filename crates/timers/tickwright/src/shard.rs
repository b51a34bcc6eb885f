//! Timers that threads share. Each shard has one lock, one clock and one pair of wheels. A re-arm
//! that leaves a timer in its bucket takes no lock.
//!
//! Most timers are time-outs. A program re-arms them again and again, each time a little later, and
//! they rarely fire. In a [`CoarseWheel`](tickwright_core::CoarseWheel) the new deadline usually
//! falls into the bucket that already holds the timer. Such a re-arm reads and writes only **one
//! word** of the timer, with one compare-exchange.
//!
//! ```text
//!   SharedTimer ─> node { word, shard, record, callback }    word: deadline 58 | level 4 | state 2
//!   (counted)        ^
//!                    │ a count while it is pending           under the lock: clock, two wheels,
//!   Shards ─> set ─> shard { published clock, lock, event }  the running callback, pass or none
//! ```
//!
//! **`proof.rs` has the argument**: ground rules, the word, states and transitions, and the proof.
//! It also lists wrong changes to the code, each with the test that then fails. Read the file
//! before you change anything here. The files are `word` (the word), `rearm` (the rule, the
//! unlocked path, the locked path), `arm` and `cancel` (the calls), and `expire` (a pass). The
//! other files are `node` (the types and the unsafe code), `node/locked` (what the lock protects),
//! and `ghost` (the loom models' shadow).
//!
//! # A time-out
//!
//! ```
//! use tickwright::shard::{Shards, Was};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let shards = Shards::new(1);
//!     let shard = shards.shard(0)?;
//!     let idle = shard.timer(|firing| println!("idle since {}", firing.deadline()));
//!
//!     idle.modify(60_000)?; // in ticks of the shard
//!     std::thread::scope(|scope| {
//!         scope.spawn(|| assert_eq!(idle.modify(60_005), Ok(Was::Pending)));
//!     });
//!     let counted = shards.statistics();
//!     assert_eq!((counted.matched, counted.locks), (1, 1), "the first arm took the one lock");
//!
//!     // The bucket of tick 60,005 ends at 61,440.
//!     assert_eq!(shard.next_wake(), Some(61_440));
//!     assert_eq!(shard.advance(61_439), Ok(0), "never early");
//!     assert_eq!(shard.advance(61_440), Ok(1));
//!     Ok(())
//! }
//! ```
//!
//! [`Was`] is the state of the timer before the call. If the call returns `Was::Pending`, no
//! callback runs for the old deadline.
//!
//! # How late
//!
//! A timer fires when its bucket ends. This is later than its deadline by at most 8/63 of its
//! delay, or by one tick for short delays.
//!
//! The delay counts from the time of the call, however long the driver has slept, because a shard
//! that has a clock reads the clock at each arm. A re-arm without the lock can read only a
//! `SystemClock`. With any other clock, `modify`, `modify_pending` and `reduce` take the lock. A
//! thread that knows the time can pass it to `modify_at`, `modify_pending_at` and `reduce_at`.
//! These calls do not read the clock, and take no lock if the timer can stay in its bucket. The
//! time of a shard without a clock is the time of its last advance.
//!
//! ```
//! use std::sync::Arc;
//! use core::time::Duration;
//! use tickwright::shard::Shards;
//! use tickwright::time::{Ticks, VirtualHost};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let host = VirtualHost::new();
//!     let shards = Shards::new(1);
//!     let shard = shards.shard(0)?;
//!     shard.set_clock(Arc::new(host.monotonic()), Ticks::MILLISECOND);
//!     let idle = shard.timer(|_| ());
//!
//!     idle.modify(3_600_000)?; // In an hour; its bucket is 262,144 ticks wide.
//!     host.advance(Duration::from_secs(3_590)); // Nobody advances the shard meanwhile.
//!     let now = 3_590_000;
//!     // Now the connection has 9 s left, and the bucket is 512 ticks wide or less.
//!     idle.modify_at(now + 9_000, now)?; // Or `modify`, which reads the clock.
//!     assert_eq!(shard.next_wake(), Some(3_599_360));
//!     Ok(())
//! }
//! ```
//!
//! # Who advances it
//!
//! [`ShardDriver`] is a thread that sleeps until a timer is due. The driver gives the shard a clock
//! and an alarm. A program with its own loop calls `set_clock` once, and `advance` in its loop. Any
//! thread can advance any shard. If a pass over the shard is already in progress, the call returns
//! at once.
//!
//! # Costs
//!
//! | operation | locks | exchanges of the word | in the wheel |
//! |---|---|---|---|
//! | re-arm in the same bucket | none | 1 | nothing |
//! | arm, other re-arm | 1; to another shard 2 | 1 | remove, insert: O(levels) |
//! | cancel, shutdown | 1 | 1 | remove: O(1) |
//! | advance, k fired | k + 1 | 2 k | O(levels + k); far timers move at times |
//!
//! A timer is one allocation of 88 bytes plus its callback (on 64-bit machines). A shard takes 41
//! KB for its two wheels, and a [`Shards`] takes 8 KB for its counters. If the shard has an alarm,
//! each advance, and each arm for a deadline before the alarm's time, also computes the next
//! wake-up in O(levels) and sets the alarm once. If the shard has a clock, each arm reads the clock
//! once, but calls whose names end in `_at` read it only under the lock.
//!
//! A re-arm in the same bucket takes 7.3 ns without the lock. If it took the lock, it would take 20
//! ns. If two threads re-arm on one shard, it takes 9.4 ns without the lock, and 170 ns with the
//! lock (`records/linux`). If the shard has a clock and the caller passes no time, reading the
//! clock adds about 20 ns.
//!
//! # Time
//!
//! All times of a shard are numbers of its ticks, of type [`Tick`]. A program that advances the
//! shard itself chooses the length of a tick. [`Shard::set_clock`] sets the shard's clock and the
//! length of its tick. [`Ticks`](crate::time::Ticks) converts between ticks and the clock's
//! instants.
//!
//! # What is not promised
//!
//! - The order in which the timers of one bucket fire is not specified. A re-arm in the same bucket
//!   changes neither the timer's position in the bucket nor its shard.
//! - A shard wakes no thread until it has a clock and an alarm. A [`ShardDriver`] sets both, or a
//!   program calls [`Shard::set_clock`] and [`Shard::set_alarm`].
//! - [`SharedTimer::cancel`] does not wait for a running callback. If two callbacks wait for each
//!   other's timers, both wait forever.
//! - A callback that owns a handle to its own timer keeps the timer alive forever: use
//!   [`SharedFiring::timer`] instead. A callback that owns an `Arc` of the shards keeps the shards
//!   alive while its timer is pending: use a `Weak`.
//! - If the last handle of a timer was dropped before it fired, the timer is dropped when the next
//!   timer is already marked as running. If the dropped callback's own drop calls `cancel_sync` for
//!   that next timer, the call returns `WouldDeadlock`.
//! - Re-arms with deadlines of 2^58 - 1 or later always take the lock, so let clocks start near 0.
//! - The target must have 64-bit atomics.
//! - In a forked child, the only pass that can still be in progress is a pass of the thread that
//!   forked. If a timer's callback was running on another thread, the timer is idle in the child,
//!   or pending if it was armed again.

mod arm;
mod cancel;
mod clock_word;
mod driver;
mod expire;
mod geometry;
mod ghost;
mod handle;
mod node;
mod proof;
mod rearm;
mod results;
mod statistics;
mod timer;
mod word;

use core::fmt;

use tickwright_core::{Tick, Violation};

pub use crate::would_deadlock::WouldDeadlock;
#[cfg(feature = "record")]
pub(crate) use cancel::Step;
pub use cancel::TryCancel;
pub use driver::ShardDriver;
pub use expire::Busy;
pub use geometry::{Linux, WheelGeometry};
pub use handle::{DrainError, NoSuchShard, Shard};
pub use node::{SharedFiring, SharedTimer};
pub use results::{ArmError, Was};
pub use statistics::ShardStatistics;

use crate::sync::{Arc, lock};
use node::{Base, Outside, Set};

/// Shards, each with its own lock, clock and wheels. Share the value by reference or in an `Arc`.
/// Any thread can advance any shard.
///
/// Dropping a `Shards` makes every pending timer idle, and releases the shards' references to the
/// timers. Timers to which other handles exist can no longer be armed.
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicU32, Ordering};
/// use tickwright::shard::{ArmError, Shards, Was};
///
/// let shards = Shards::new(2);
/// let shard = shards.shard(0)?;
/// let fired = Arc::new(AtomicU32::new(0));
/// let seen = Arc::clone(&fired);
/// let idle = shard.timer(move |firing| {
///     assert!(firing.now() >= firing.deadline());
///     seen.fetch_add(1, Ordering::Relaxed);
/// });
///
/// assert_eq!(idle.modify(1000), Ok(Was::Idle), "it is pending now");
/// assert_eq!(idle.modify(1001), Ok(Was::Pending), "the same bucket: no lock was taken");
/// assert_eq!((shards.statistics().matched, shards.statistics().locks), (1, 1));
///
/// assert_eq!((shard.advance(1100), fired.load(Ordering::Relaxed)), (Ok(1), 1));
/// idle.shutdown();
/// assert_eq!(idle.modify(2000), Err(ArmError::ShutDown));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The wheels have Linux's geometry by default. A geometry is a type. It can have at most 15
/// levels, because a timer's word has four bits for its level:
///
/// ```
/// use tickwright::structures::Geometry;
/// use tickwright::shard::Shards;
///
/// let shards = Shards::<Geometry<4, 1, 15>>::with_geometry(1, 0);
/// ```
///
/// ```compile_fail,E0080
/// use tickwright::structures::Geometry;
/// use tickwright::shard::Shards;
///
/// let shards = Shards::<Geometry<4, 1, 16>>::with_geometry(1, 0);
/// ```
pub struct Shards<G: WheelGeometry = Linux> {
    set: Arc<Set<G>>,
}

impl Shards {
    /// Creates `shards` shards with Linux's geometry, whose clocks start at 0.
    ///
    /// `shards = 0` is treated as 1, and a number above 2^32 - 1 is treated as 2^32 - 1. Each shard
    /// takes 41 KB. If there is no memory for the shards, the process ends, as for every allocation
    /// of the standard library.
    #[must_use]
    pub fn new(shards: usize) -> Self {
        Self::with_geometry(shards, 0)
    }

    /// Like [`new`](Self::new), but the clocks start at `now`. Re-arms with deadlines of 2^58 - 1
    /// or later always take the lock, so choose a `now` near 0.
    #[must_use]
    pub fn starting_at(shards: usize, now: Tick) -> Self {
        Self::with_geometry(shards, now)
    }
}

impl<G: WheelGeometry> Shards<G> {
    /// Like [`starting_at`](Shards::starting_at), but the wheels have another geometry.
    #[must_use]
    pub fn with_geometry(shards: usize, now: Tick) -> Self {
        let shards = u32::try_from(shards).unwrap_or(u32::MAX).max(1);
        Self { set: Arc::new(Set::new(shards, now)) }
    }

    /// Returns the number of shards.
    #[must_use]
    pub fn len(&self) -> usize {
        self.set.bases.len()
    }

    /// Always `false`: there is at least one shard.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Returns the shard with that number. Numbers go from 0 to [`len`](Self::len)` - 1`.
    ///
    /// # Errors
    /// [`NoSuchShard`] if there is no shard with this number.
    pub fn shard(&self, number: usize) -> Result<Shard<'_, G>, NoSuchShard> {
        Shard::of(&self.set, number)
    }

    /// Returns the counts so far, summed over all shards. Takes the lock of one shard at a time.
    #[must_use]
    pub fn statistics(&self) -> ShardStatistics {
        let mut sum = self.set.stripes.sum();
        for base in &self.set.bases {
            let state = lock(&base.state);
            let mut counts = state.statistics;
            counts.locks += counts.calls();
            counts.pending = state.len();
            sum += counts;
        }
        sum
    }

    /// Checks every invariant of every shard, one shard after the other, in O(timers). Other
    /// threads can use the shards during the check.
    ///
    /// # Errors
    /// The first violation that is found. It shows a bug in this library.
    pub fn check(&self) -> Result<(), Violation> {
        self.set.bases.iter().enumerate().try_for_each(|(shard, base)| lock(&base.state).check(shard))
    }
}

impl<G: WheelGeometry> SharedTimer<G> {
    /// Returns whether the timer belongs to these shards.
    #[must_use]
    pub fn belongs_to(&self, shards: &Shards<G>) -> bool {
        Arc::ptr_eq(&self.node.set, &shards.set)
    }
}

impl<G: WheelGeometry> Drop for Shards<G> {
    fn drop(&mut self) {
        /// Releases the shards' references to timers, one by one. If dropping a callback panics,
        /// the drop of this value releases the remaining references during the unwinding.
        struct Emptying<'a, G: WheelGeometry>(&'a Set<G>);
        impl<G: WheelGeometry> Emptying<'_, G> {
            fn run(&self) {
                for base in &self.0.bases {
                    // This is a closure, so that the lock is released before the returned timer is
                    // dropped, because that drop can run the caller's code.
                    let empty_one = || lock(&base.state).empty_one();
                    while empty_one().is_some() {}
                }
            }
        }
        impl<G: WheelGeometry> Drop for Emptying<'_, G> {
            fn drop(&mut self) {
                self.run();
            }
        }
        // First all shards are closed, because dropping a callback below can try to arm other
        // timers. Clocks and alarms are dropped last, with no lock held.
        let close = |base: &Base<G>| {
            let mut state = lock(&base.state);
            state.closed = true;
            core::mem::replace(&mut state.outside, Outside::NONE)
        };
        let _outside: Vec<_> = self.set.bases.iter().map(close).collect();
        Emptying(&self.set).run();
    }
}

impl<G: WheelGeometry> fmt::Debug for Shards<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shards").field("len", &self.len()).finish_non_exhaustive()
    }
}
