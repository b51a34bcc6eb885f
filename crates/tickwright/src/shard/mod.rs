//! Timers that threads share: one lock, one clock and one pair of wheels per shard, and a re-arm that takes no lock.
//!
//! Most timers are time-outs. They are re-armed again and again, a little later each time, and hardly ever fire. In a
//! [coarse wheel](tickwright_core::family::coarse_wheel) the new deadline mostly falls into the bucket where the timer stands already. Linux tried in 2016 to find
//! that out without the lock, by the bucket's index and an unlocked write of the deadline, and took it back after three months: the
//! timer could fire in between. Here all that such a re-arm reads and writes of a timer is **one word**, so that one compare-exchange
//! decides.
//!
//! ```text
//!   SharedTimer ──> node { word, shard, record, callback }     word: deadline 58 | level 4 | state 2
//!   (counted)         ^
//!                     │ a count while it is pending            under the lock: clock, two wheels (standard, deferrable),
//!   Shards ──> set ──> shard { published clock, lock, event }                  whose callback runs, whether a pass is under way
//! ```
//!
//! The wheels are core's, over handles that point at nodes; a wheel's record in a node is touched under the shard's lock alone.
//!
//! # States
//!
//! ```text
//!                      arm                       due: taken
//!        ┌──────────┐ ─────────> ┌─────────────┐ ──────────> ┌────────┐
//!        │   idle   │ <───────── │   pending   │ <────────── │ firing │      shutdown, from anywhere: ──> dead
//!        └──────────┘   cancel   └─────────────┘     arm     └────────┘
//!              ^                   │   ^    1: re-arm in its bucket,│
//!              │                   └───┘       without the lock     │
//!              └────────────────────────────────────────────────────┘ the callback ends
//! ```
//!
//! *Running* is no state of the word: a timer that its callback re-arms is pending and runs. The shard says whose callback runs.
//!
//! B is the end of the bucket that a timer stands in, X(E, n) the end of the granule of deadline E at level n. Whenever a shard's lock is free:
//!
//! 1. the word says pending if and only if the node is in exactly one wheel of exactly one shard, the one that `shard` names;
//! 2. pending at level n: B > E and B = X(E, n); or E had passed when it was armed, or it was due and not yet taken when it was reduced:
//!    then n is 0, and B is at most the clock of then, or one more;
//! 3. *parked* (in place of a level): the true deadline is in the wheel's record, since it is beyond the last level or does not
//!    fit 58 bits. A parked timer that the wheel files anew stays parked in its word until somebody re-arms it: the wheel need not know words,
//!    and all it costs is the lock for the first re-arm;
//! 4. firing: its callback runs; while it runs `shard` does not change; dead is for ever;
//! 5. there is one pass per shard at a time.
//!
//! # Transitions
//!
//! | | transition | under the lock | on the word | takes effect |
//! |---|---|---|---|---|
//! | 1 | re-arm in place: pending at n, E' in the granule of E, and level(E' - clock) >= n; or E' = E | no | compare-exchange of all of it, also if E' = E: success Release | the exchange |
//! | 2 | (re-)arm otherwise | yes | swap | the swap; refused: the load under the lock |
//! | 3 | reduce to earlier | yes | compare-exchange from the deadline that was compared, to parked; then swap | the first; not earlier: the load |
//! | 4 | take a due timer | yes, through the swap | swap to firing, Acquire: the old value is the last deadline | the swap |
//! | 5 | the callback ends, or panics | yes | firing to idle, and nothing else | the exchange |
//! | 6 | cancel, shutdown | yes | swap, Acquire | the swap; not pending: the load under the lock |
//! | 7 | arm on another shard | both, in order of their numbers | swap | the swap |
//! | 8 | drain | both | park (`fetch_or`): the old value is the last deadline; then swap | nothing happens to the timer |
//!
//! Every write is an exchange, and all but the first are made under the lock: those are Relaxed, since threads that meet at a lock need no
//! more. The unlocked path waits for nobody and reads nothing but the word, and a stale clock: after two lost exchanges it
//! takes the lock. The lock of a timer's shard is found by reading `shard`, locking, and reading it again: it changes only under
//! the lock of the shard that is left.
//!
//! # Why it holds
//!
//! *Never early.* When it is filed, B > E, or E has passed. A reduce leaves it where it is only if it is due. (1) leaves the granule as it is, so X(E', n) = B, and E' < B. The take comes
//! after the clock has reached B and reads the last deadline, because it is an exchange. So clock >= B > E'.
//!
//! *Never a rotation early or late.* Whole granules are compared, never the index of a bucket modulo 64: that of a timer which is due
//! and waits to be taken already means the bucket one rotation on. (Linux compares indices to this day, under the lock; `specimen`
//! shows what follows.)
//!
//! *At most 8/63 late.* B - E' is at most the granule of level n, and a re-arm stays at n only if one filed anew would not get a finer level,
//! judged by the published clock, or by the time that the caller says. A stale clock costs precision, not safety. The deadline that the timer has already changes
//! nothing, so lateness then counts from the re-arm before.
//!
//! *Never lost.* A successful exchange of (1) saw pending. Either the lock was free: then the node is filed (invariant 1), and a later take reads
//! our value. Or somebody under the lock has not written the word yet: then ours is before that in the word's order, and the
//! swap's old value, or a failing exchange, shows it: (4) fires ours, (6) cancels ours, (2) replaces ours, (3) and (8) go on from ours.
//!
//! *Due, and not yet taken.* A pass takes one timer at a time, so the others stay pending while a callback runs, and whoever cancels or
//! re-arms one finds it so. (1) is right there too: B <= clock, E' < B, it fires in this pass. What is re-armed for the past leaves at the next
//! tick: a callback that always does so does not keep a pass from ending.
//!
//! *ABA.* (1) is right by the word's value alone. Whatever happened between its load and its exchange: if the word is (E, n, pending)
//! again, then B = X(E, n) again, on whatever shard, in whatever rotation; where it is not (see 2), n is 0 and only
//! E' = E is admitted.
//!
//! *Memory.* What ABA does not excuse is a node that is another timer by now. So handles are counted: who re-arms holds one, and
//! a shard holds one for each node in its wheels, and one while the callback runs.
//!
//! *What is seen.* All writes of the word before a take are exchanges, so they are one release sequence: the take's Acquire sees what
//! was written before every re-arm that counted, also through the relaxed swaps in between. Hence: a re-arm that says "was pending" publishes the
//! caller's earlier writes to the callback, or to who cancels it. That is why an equal deadline is exchanged too: a load that
//! finds it equal orders nothing.
//!
//! *No deadlock.* One lock at a time, or two in the order of their numbers, and inside of them those of an alarm and a clock, which know nothing of
//! shards; who waits for a callback holds none. Users can still build one: see below.
//!
//! *Never slept through.* An alarm is set under the lock that the arming holds, so of two settings the one of the later state is the later. It is at
//! or before the first expiry: an arm for a deadline before it sets it anew, other deadlines end no bucket before it, a re-arm in place leaves the end of
//! its bucket as it is, and during a pass nobody needs it. Every pass sets it at its end, also if that seems to change nothing: it may have gone off
//! meanwhile, and its driver have found the shard busy.
//!
//! # Costs
//!
//! | operation | locks | exchanges of the word | in the wheel |
//! |---|---|---|---|
//! | re-arm in place | none | 1 | nothing |
//! | arm, re-arm elsewhere | 1, with another shard 2 | 1 | remove, insert: O(levels) |
//! | cancel, shutdown | 1 | 1 | remove: O(1) |
//! | advance, k fired | k + 1 | 2 k | O(levels + k); what is far is moved at times |
//!
//! With an alarm, arming for a deadline before it adds one look for the next wake-up, O(levels), and one setting; an advance adds the same. With a clock
//! each arm under the lock reads it once. Without them each costs a branch, and the unlocked path has nothing to do with either.
//!
//! A timer is one allocation of 88 bytes and its callback (64-bit). A shard takes 41 KB for its two wheels, a [`Shards`] 8 KB for its
//! counters. The memory of the wheels goes with the last of `Shards` and its timers.
//!
//! # What is not promised
//!
//! - Order among timers of one bucket, and between standard and deferrable ones, is the wheel's; a re-arm in place keeps its place.
//! - A match leaves the timer on the shard where it is.
//! - A shard goes by what the last advance said, and wakes nobody: that takes a clock and an alarm ([`Shards::set_clock`],
//!   [`Shards::set_alarm`]; [`ShardDriver`](crate::driver::ShardDriver) sets both). A re-arm in place asks neither.
//! - [`SharedTimer::cancel`] says nothing of a callback that runs. Two callbacks that wait for each other's timers wait for ever.
//! - A callback that owns a handle to its own timer keeps it alive for ever: use [`Firing::timer`]. One that owns the shards (an `Arc` of
//!   them) keeps those alive while it is pending: a `Weak` does not.
//! - While the payload of a timer that fired for the last time is dropped, the shard still calls it running: from that drop, `cancel_sync` of the
//!   timer that fires next answers `WouldDeadlock`, and other threads' wait.
//! - Clocks should start near 0: from 2^58 - 1 on (nine years of nanoseconds) everything is right, and takes the lock.
//! - A target needs 64-bit atomics.
//!
//! # Forks
//!
//! A forked child has a copy that is whole, whatever other threads did at the moment of the fork. No pass is under way there, but for one of the
//! thread that forked. A timer whose callback ran on another thread is idle in the child, or pending if it was armed again.
//!
//! # How it is checked
//!
//! `ci/loom.sh` compiles this very module with loom's atomics, locks and cells and drives it through all schedules of two threads, and those of three with at
//! most three preemptions (`tests/loom_alarm.rs` with a driver that sleeps); each linearization point moves a shadow of the timer on and compares. `tests/shard_table.rs` holds every operation in
//! every state, `tests/shard.rs` every level boundary, `tests/shard_alarm.rs` what an alarm is told, `tests/shard_stress.rs` the books of real threads. That the models can fail was tried: each
//! of these changes, made by hand, fails at least one. (Some break memory, and the run ends by a signal.)
//!
//! | change | a test that fails |
//! |---|---|
//! | the exchange of (1) Relaxed; the take Relaxed | `an_equal_deadline_against_expiry` |
//! | the exchange of (1) as load and store | `drain_against_fast`, and 21 more |
//! | an equal deadline answered by a load | `an_equal_deadline_against_expiry` |
//! | indices modulo 64 compared | `a_deadline_64_buckets_later_against_expiry` |
//! | the state of the word not looked at in (1) | `deadline_0_of_an_idle_timer_is_not_taken_for_its_own` |
//! | parked words admitted in (1) | `a_parked_timer_against_the_owner` |
//! | (2) as a store | `a_slow_re_arm_passes_on_what_a_fast_one_published` |
//! | (3) as a swap | `reduce_under_the_lock_does_not_undo_an_earlier_deadline` |
//! | (4) as load and store | `a_fast_re_arm_against_cancel_and_expiry` |
//! | (5) always to idle | `a_deadline_64_buckets_later_against_expiry` |
//! | (6) Relaxed | `a_cancel_takes_over_what_was_published` |
//! | (6) as a store | `a_fast_re_arm_against_cancel` |
//! | (8) by a load | `drain_against_fast` |
//! | `shard` not read again under the lock; or written before it | `migrate_against_cancel` |
//! | two locks in any order | `two_timers_cross` |
//! | a running timer may change its shard | `a_running_timer_stays_where_it_runs` |
//! | two passes of a shard at once | `two_would_be_owners_of_one_shard` |
//! | a dead timer may be armed | `a_fast_re_arm_against_shutdown_and_expiry` |
//! | cancel answers "not pending" without the lock | `a_fast_re_arm_against_cancel_and_expiry` |
//! | `cancel_sync` waits while the word says firing; or does not look again | `cancel_sync_against_a_callback_that_re_arms_itself` |
//! | `shutdown_sync` does not wait; or nobody is told that a callback has ended | `shutdown_sync_against_a_callback_that_re_arms_itself` |
//! | dropped shards are not closed | `the_end_of_the_shards_against_re_arm_and_cancel` |
//! | a re-arm stays though a finer level is due | `a_timer_that_would_get_a_finer_level_is_requeued` |
//! | an arm, or a reduce, or a drain, does not set the alarm; or after the lock is released | `arm_against_the_driver`, `reduce_against_the_driver_and_its_pass`, `drain_against_the_driver`; `two_arms_against_the_driver` |
//! | the end of a pass leaves an alarm alone that seems set | `a_pass_of_another_thread_against_the_driver` |
//! | arming moves the clock of a pass under way | `the_clock_against_the_driver` |
//! | deadlines of 2^58 admitted in (1) | `deadlines_that_the_word_does_not_hold` |
//! | armed for the past, it leaves in the same pass | `what_is_armed_for_the_past_leaves_at_the_next_advance_and_never_in_the_same_pass` |

mod base;
mod cancel;
mod expire;
mod ghost;
mod rearm;
pub mod specimen;
mod statistics;
mod timer;
mod variant;
mod word;

use core::fmt;

use tickwright_core::{Advance, Tick, Violation};

pub use cancel::{Cancelled, WouldDeadlock};
pub use expire::AdvanceError;
pub use rearm::ArmError;
pub use statistics::Statistics;
pub use timer::{Callback, Firing, SharedTimer};
pub use variant::{AlwaysRequeue, LockFree, UnderLock, Variant};

use crate::clock::Clock;
use crate::driver::Alarm;
use crate::sync::{Arc, Ordering, lock};
use base::{Base, Set, lock_both};

/// Shards, each with its own lock, clock and wheels. Share it by reference or in an `Arc`; any thread may advance any shard.
///
/// Dropping it makes every pending timer idle and lets go of it. Timers that others still hold then refuse to be armed.
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicU32, Ordering};
/// use tickwright::shard::{ArmError, Firing, Shards};
///
/// let shards: Shards = Shards::new(2);
/// let fired = Arc::new(AtomicU32::new(0));
/// let seen = Arc::clone(&fired);
/// let idle = shards.timer(0, move |firing: &Firing<'_>| {
///     assert!(firing.now() >= firing.deadline());
///     seen.fetch_add(1, Ordering::Relaxed);
/// })?;
///
/// assert_eq!(idle.modify(1000), Ok(false), "it was not pending, and now is");
/// assert_eq!(idle.modify(1001), Ok(true), "the same bucket: no lock was taken");
/// assert_eq!((shards.statistics().matched, shards.statistics().locks), (1, 1));
///
/// let pass = shards.advance(0, 1100, usize::MAX)?;
/// assert_eq!((pass.delivered, fired.load(Ordering::Relaxed)), (1, 1));
/// idle.shutdown();
/// assert_eq!(idle.modify(2000), Err(ArmError::ShutDown));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A wheel has at most 15 levels here, since a timer's word has four bits for its level:
///
/// ```
/// use tickwright::shard::{LockFree, Shards};
///
/// let shards: Shards<LockFree<4, 1, 15>> = Shards::new(1);
/// ```
///
/// ```compile_fail,E0080
/// use tickwright::shard::{LockFree, Shards};
///
/// let shards: Shards<LockFree<4, 1, 16>> = Shards::new(1);
/// ```
pub struct Shards<V: Variant = LockFree> {
    set: Arc<Set<V>>,
}

impl<V: Variant> Shards<V> {
    /// So many shards, their clocks at 0. None makes one; there are at most 2^32 - 1. Each takes 41 KB, so that too many for the memory
    /// end the process, as every allocation does.
    #[must_use]
    pub fn new(shards: usize) -> Self {
        Self::starting_at(shards, 0)
    }

    /// The same with their clocks at `now`. Deadlines from 2^58 - 1 on are always re-armed under the lock: start near 0.
    #[must_use]
    pub fn starting_at(shards: usize, now: Tick) -> Self {
        let shards = u32::try_from(shards).unwrap_or(u32::MAX).max(1);
        Self { set: Arc::new(Set::new(shards, now)) }
    }

    /// How many shards there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.set.bases.len()
    }

    /// Never.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        false
    }

    /// A timer that belongs to a shard and is not pending. One allocation, which holds the callback too.
    ///
    /// # Errors
    /// [`ArmError::NoSuchShard`].
    pub fn timer(&self, shard: usize, callback: impl Callback<V>) -> Result<SharedTimer<V>, ArmError> {
        self.make(shard, false, callback)
    }

    /// A timer that can wait: [`next_wake`](Self::next_wake) and [`next_expiry`](Self::next_expiry) leave it out, so that
    /// nobody wakes for it. It fires when the shard is advanced for another reason.
    ///
    /// # Errors
    /// [`ArmError::NoSuchShard`].
    pub fn deferrable_timer(
        &self,
        shard: usize,
        callback: impl Callback<V>,
    ) -> Result<SharedTimer<V>, ArmError> {
        self.make(shard, true, callback)
    }

    fn make(
        &self,
        shard: usize,
        deferrable: bool,
        callback: impl Callback<V>,
    ) -> Result<SharedTimer<V>, ArmError> {
        match u32::try_from(shard) {
            Ok(number) if shard < self.len() => Ok(SharedTimer::new(&self.set, number, deferrable, callback)),
            _ => Err(ArmError::NoSuchShard),
        }
    }

    /// Moves the clock of a shard to `now` (never back) and runs the callbacks of what is due, on this thread, with no lock held; at
    /// most `budget` timers are fired, or moved inside the wheels. What a callback arms for the past leaves at the next tick.
    ///
    /// A panic of a callback passes through; the shard stays whole, and the next advance fires the rest.
    ///
    /// # Errors
    /// [`AdvanceError::Busy`] while another pass over this shard is under way; its clock has then not moved.
    /// [`AdvanceError::NoSuchShard`].
    pub fn advance(&self, shard: usize, now: Tick, budget: usize) -> Result<Advance, AdvanceError> {
        let base = self.set.bases.get(shard).ok_or(AdvanceError::NoSuchShard)?;
        expire::advance(base, shard, now, budget)
    }

    /// The clock of a shard, as it was a moment ago; none if there is no such shard.
    #[must_use]
    pub fn now(&self, shard: usize) -> Option<Tick> {
        Some(self.set.bases.get(shard)?.clock.load(Ordering::Relaxed))
    }

    /// The tick to advance a shard at: a lower bound of [`next_expiry`](Self::next_expiry), O(levels). It comes from the ends of buckets and
    /// never from deadlines, so that a re-arm in place does not change it. `None` if nothing that may wake is pending.
    ///
    /// # Errors
    /// [`ArmError::NoSuchShard`].
    pub fn next_wake(&self, shard: usize) -> Result<Option<Tick>, ArmError> {
        Ok(lock(&self.base(shard)?.state).next_wake())
    }

    /// The end of the bucket of the first timer of a shard; deferrable ones do not count. `None` if there is none.
    ///
    /// # Errors
    /// [`ArmError::NoSuchShard`].
    pub fn next_expiry(&self, shard: usize) -> Result<Option<Tick>, ArmError> {
        Ok(lock(&self.base(shard)?.state).next_expiry())
    }

    fn base(&self, shard: usize) -> Result<&Base<V>, ArmError> {
        self.set.bases.get(shard).ok_or(ArmError::NoSuchShard)
    }

    /// From now on `alarm` is told when a shard is to be advanced, in its ticks ([`InTicks`](crate::driver::InTicks) makes nanoseconds of them); `None`: nobody is.
    /// It is set now, whenever arming, reducing or moving a timer makes the next wake-up earlier than what it is set to, and after every advance: so it
    /// is never later than the first expiry, and who waits at it need not look. Deferrable timers never set it.
    ///
    /// It is set under the shard's lock: it must not wait, panic, or call the shards. A re-arm in place never needs it, and pays nothing: next wake-ups
    /// come from the ends of buckets, and the timer stays in its own. Without an alarm the locked paths pay one branch. The alarm before
    /// is let go of as it stands.
    ///
    /// # Errors
    /// [`ArmError::NoSuchShard`].
    pub fn set_alarm(&self, shard: usize, alarm: Option<Arc<dyn Alarm>>) -> Result<(), ArmError> {
        let base = self.base(shard)?;
        let mut state = lock(&base.state);
        let before = core::mem::replace(&mut state.outside.alarm, alarm);
        state.ring_anew();
        drop(state);
        // With no lock held: its drop may be the caller's code.
        drop(before);
        Ok(())
    }

    /// From now on a shard looks at `clock`, in its ticks, whenever a timer is armed under the lock; `None`: its time is what the last advance said.
    ///
    /// A shard whose driver sleeps until something is due needs it. Buckets are chosen by the delay from the shard's time; if that
    /// stood still for an hour, a timer for the next millisecond would get the bucket of one for the next hour, minutes wide. Never early either way.
    ///
    /// It is read under the shard's lock: it must not call the shards.
    ///
    /// # Errors
    /// [`ArmError::NoSuchShard`].
    pub fn set_clock(&self, shard: usize, clock: Option<Arc<dyn Clock>>) -> Result<(), ArmError> {
        let base = self.base(shard)?;
        let mut state = lock(&base.state);
        let before = core::mem::replace(&mut state.outside.clock, clock);
        state.look(base);
        drop(state);
        drop(before);
        Ok(())
    }

    /// Takes an alarm and a clock away from a shard, if they are the ones that are set.
    pub(crate) fn take_away(&self, shard: usize, alarm: &Arc<dyn Alarm>, clock: &Arc<dyn Clock>) {
        let Some(base) = self.set.bases.get(shard) else { return };
        let mut state = lock(&base.state);
        let outside = &mut state.outside;
        let alarm = outside.alarm.take_if(|set| Arc::ptr_eq(set, alarm));
        let clock = outside.clock.take_if(|set| Arc::ptr_eq(set, clock));
        drop(state);
        // With no lock held: their drops may be the caller's code.
        drop((alarm, clock));
    }

    /// How many timers are pending on a shard, deferrable ones too.
    #[must_use]
    pub fn pending(&self, shard: usize) -> Option<usize> {
        Some(lock(&self.set.bases.get(shard)?.state).len())
    }

    /// Moves every pending timer of one shard to another, deadlines kept; says how many. For a shard that shall not be advanced
    /// any more. Idle timers stay, and so do those that are armed there from now on. O(timers), with both locks held.
    ///
    /// # Errors
    /// [`AdvanceError::Busy`] while a pass over `from` is under way; [`AdvanceError::NoSuchShard`].
    pub fn drain(&self, from: usize, to: usize) -> Result<usize, AdvanceError> {
        let (Some(source), Some(target)) = (self.set.bases.get(from), self.set.bases.get(to)) else {
            return Err(AdvanceError::NoSuchShard);
        };
        let number = u32::try_from(to).map_err(|_| AdvanceError::NoSuchShard)?;
        if from == to {
            return Ok(0);
        }
        let base = target;
        let (mut source, mut target) = lock_both(&source.state, &target.state, from < to);
        if source.expiring {
            return Err(AdvanceError::Busy);
        }
        target.look(base);
        let mut moved = 0;
        while source.hand_one_over(&mut target, number) {
            moved += 1;
        }
        target.ring_earlier(0);
        Ok(moved)
    }

    /// What the arming calls have done so far, on all shards.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        let mut sum = self.set.stripes.sum();
        for base in &self.set.bases {
            sum += lock(&base.state).statistics;
        }
        sum
    }

    /// Verifies every invariant of every shard, one shard after the other, in O(timers). May be called while others use them.
    ///
    /// # Errors
    /// The first violation found: a bug in this library.
    pub fn check(&self) -> Result<(), Violation> {
        self.set.bases.iter().enumerate().try_for_each(|(shard, base)| lock(&base.state).check(shard))
    }
}

impl<V: Variant> Drop for Shards<V> {
    fn drop(&mut self) {
        /// Lets go of timer after timer; when a callback's own drop panics, its drop goes on with the rest while unwinding.
        struct Emptying<'a, V: Variant>(&'a Set<V>);
        impl<V: Variant> Emptying<'_, V> {
            fn run(&self) {
                for base in &self.0.bases {
                    loop {
                        // Named, so that the lock is released before the timer: its drop may run the caller's code.
                        let timer = lock(&base.state).empty_one();
                        if timer.is_none() {
                            break;
                        }
                    }
                }
            }
        }
        impl<V: Variant> Drop for Emptying<'_, V> {
            fn drop(&mut self) {
                self.run();
            }
        }
        // All of them first: what is let go of below may arm others. And what is outside last, with no lock held.
        let close = |base: &Base<V>| {
            let mut state = lock(&base.state);
            state.closed = true;
            core::mem::take(&mut state.outside)
        };
        let _outside: Vec<_> = self.set.bases.iter().map(close).collect();
        Emptying(&self.set).run();
    }
}

impl<V: Variant> fmt::Debug for Shards<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shards").field("variant", &V::NAME).field("len", &self.len()).finish_non_exhaustive()
    }
}
