//! What every timer queue promises, and the results of its operations.

use core::fmt;

use tickwright_nodes::error_texts;
use tickwright_nodes::hook::Claimed;

/// A time on a queue's clock, in ticks since an origin that the caller chooses. All 2^64 values are
/// legal.
pub type Tick = u64;

/// A distance between two [`Tick`]s, in ticks.
pub type Span = u64;

/// What a queue promises about the order and the lateness of its deliveries (clauses 1 and 3).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Order {
    /// Timers are delivered by (expiry, arrival), and are due exactly at
    /// `max(deadline, now at insert)`.
    Exact,
    /// Timers are due at the end of a bucket, at most
    /// `lateness(deadline - now at the last (re)insert)` ticks after the deadline. `now` is the
    /// queue's clock, which [`TimerQueue::insert_at`] sets to the caller's time.
    Granular {
        /// Upper bound of expiry - deadline, as a function of the requested delay.
        lateness: fn(Span) -> Span,
    },
}

impl Order {
    /// Returns whether the queue is exact to the tick and first-in-first-out among equals.
    #[must_use]
    pub const fn is_exact(self) -> bool {
        matches!(self, Self::Exact)
    }
}

/// Marks the families whose [`Order`] is exact, and the queues of such families. Their timers are
/// due on time whatever `now` is at the insert, so these queues also have the operations without a
/// time argument. Implement this trait for a family of your own, unless the family is granular.
#[diagnostic::on_unimplemented(
    message = "a granular queue counts its lateness from the caller's time: call \
               `insert_at(deadline, value, now)` or `reschedule_at(key, deadline, now)`",
    label = "this call does not tell the queue the time",
    note = "without the caller's time, a timer of a granular queue may be late by hours"
)]
pub trait Exact {}

/// Whether an operation through [`Driven`](crate::Driven) altered [`TimerQueue::next_wake`], so
/// that the caller must set the alarm again (clause 10).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use = "if the head changed, set the alarm again, or it goes off too late"]
pub enum HeadChange {
    /// The next wake-up has not changed.
    Same,
    /// The next wake-up may have changed: read [`TimerQueue::next_wake`] again.
    Changed,
}

impl HeadChange {
    /// Returns `Changed` when `changed` is true.
    #[inline]
    pub const fn when(changed: bool) -> Self {
        if changed { Self::Changed } else { Self::Same }
    }

    /// Returns whether the alarm must be set again.
    #[must_use]
    #[inline]
    pub const fn is_changed(self) -> bool {
        matches!(self, Self::Changed)
    }
}

/// A timer that has left the queue because it was due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expired<K, V> {
    /// The timer's key. It is stale from now on, unless the call was
    /// [`pop_and_reinsert`](TimerQueue::pop_and_reinsert) or
    /// [`pop_and_keep`](crate::Queue::pop_and_keep).
    pub key: K,
    /// `max(requested deadline, now at the last (re)insert)`.
    pub deadline: Tick,
    /// The tick at which the timer was due in this structure, never before `deadline`.
    pub expiry: Tick,
    /// The value that the caller gave to the queue.
    pub value: V,
}

/// A timer that is still pending: the result of [`TimerQueue::peek`] and [`TimerQueue::second`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pending<K> {
    /// The timer's key.
    pub key: K,
    /// The tick at which the timer is due.
    pub expiry: Tick,
}

/// The result of one call of [`TimerQueue::advance_within`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[must_use = "an advance that ran out of budget has left due timers behind"]
pub struct Advance {
    /// The number of timers passed to the sink.
    pub delivered: usize,
    /// The number of timers moved inside the structure (cascades); they count against the budget
    /// too.
    pub moved: usize,
    /// Whether no due timer is left. If the budget ran out, it can be `false` although nothing is
    /// due, because the structure would have to move timers to find out.
    pub complete: bool,
}

/// Why a queue refused to take a timer. `?` converts a [`Rejected`] into it. A closure must name
/// this type at its end, as in `Ok::<_, Reject>(())`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reject {
    /// A bounded queue is full, or a growing queue got no memory.
    Full,
    /// The caller-owned node is already pending in this queue.
    AlreadyLinked,
    /// The caller-owned node is pending in another queue.
    WrongQueue,
    /// All 2^31 - 1 queue identities of this process are used up, so the nodes of this queue could
    /// not be distinguished from those of another queue. On a target that cannot draw identities,
    /// the queue does not compile: see [`HookQueue::new`](crate::HookQueue::new).
    NoIdentity,
}

error_texts! { Reject:
    Self::Full => "the queue is full: give it more capacity, or remove a timer first",
    Self::AlreadyLinked => "the node is already pending in this queue: reschedule it instead",
    Self::WrongQueue => "the node is pending in another queue: remove it there first",
    Self::NoIdentity => "no identity is left for a new queue: construct it with one of your own",
}

impl From<tickwright_nodes::arena::Full> for Reject {
    fn from(_: tickwright_nodes::arena::Full) -> Self {
        Self::Full
    }
}

impl From<Claimed> for Reject {
    fn from(claimed: Claimed) -> Self {
        match claimed {
            Claimed::Here => Self::AlreadyLinked,
            Claimed::Elsewhere => Self::WrongQueue,
        }
    }
}

/// A refused insert. The error returns the value unharmed (clause 13). It implements `Error` if the
/// value is `Debug`; for other values, use `map_err(|rejected| rejected.reason)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejected<V> {
    /// The reason for the refusal.
    pub reason: Reject,
    /// The value that the caller wanted to insert.
    pub value: V,
}

error_texts! { Rejected<V>, V: Self { reason, .. } => reason }

/// Lets `?` drop the value. A function needs this if the value borrows a node that the function's
/// error must not borrow.
impl<V> From<Rejected<V>> for Reject {
    fn from(rejected: Rejected<V>) -> Self {
        rejected.reason
    }
}

/// Why a key does not name a pending timer of this queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum KeyError {
    /// The timer was delivered or removed, or never existed.
    Stale,
    /// The timer is in the queue, but idle: [`arm`](crate::Queue::arm) makes it pending.
    Idle,
    /// The caller-owned node is pending, but in another queue.
    WrongQueue,
}

error_texts! { KeyError:
    Self::Stale => "the timer is not pending any more",
    Self::Idle => "the timer is idle: arm it",
    Self::WrongQueue => "the timer is pending in another queue",
}

/// The contract that every timer queue of this project keeps, and the methods for code that takes
/// any queue. Each method names the clauses that it serves; the method of [`Queue`](crate::Queue)
/// with the same name documents the rest. Each family's page states the costs.
///
/// A queue holds **pending** timers and delivers them when they expire. Ticks are `u64` on the
/// queue's own clock. The queue knows no wall clock and no unit. Every clause below has a number.
/// The conformance suite (`tickwright-testkit`) has one named test for each clause, and runs it on
/// every structure in every storage.
///
/// # Clauses
///
/// 1. `never_early`: a timer leaves only when `now >= deadline`. A granular queue can be late,
///    within the bound that it declares in [`ORDER`](Self::ORDER) for the delay from `now()` at the
///    last (re)insert. The delay that the caller means counts from the caller's time, which can be
///    hours ahead of `now()`. A granular queue therefore takes that time with the deadline
///    ([`insert_at`](Self::insert_at), [`reschedule_at`](Self::reschedule_at)), and the bound holds
///    for that delay, after any uptime and any sleep. The operations without a time compile only
///    for a queue that is [`Exact`].
/// 2. `none_lost_none_twice`: each inserted timer is delivered or removed exactly once.
/// 3. `order`: a timer's *expiry* is `max(deadline, now at (re)insert)`, in granular queues rounded
///    up to the end of its bucket. Exact queues deliver by (expiry, arrival), so equal deadlines
///    leave in the order of their arrival, and all exact structures produce the same event log.
///    Granular queues deliver by expiry. Each family documents the order that it keeps among
///    equals, which is the same in both storages.
/// 4. `reschedule_is_remove_and_insert`: a rescheduled timer keeps its key and leaves after its
///    equals, even when its deadline stays the same. In a granular queue, a timer whose bucket
///    stays the same can keep its place. The lateness bound still holds for the new deadline.
/// 5. `now_is_monotone`: `now()` is the greatest `now` that any call has passed so far. A smaller
///    `now` is clamped to it. `update_now` delivers nothing: a timer that is due by then stays
///    pending, keeps its place in the order, and leaves at the next pop.
/// 6. `past_deadlines_are_legal`: a deadline at or before `now()` leaves at the next pop.
/// 7. `every_deadline_is_ordinary`: every `u64` is a legal deadline. `u64::MAX` is delivered at
///    `now = u64::MAX`. Arithmetic saturates, nothing panics, and there is no horizon.
/// 8. `next_expiry_is_exact`: `next_expiry()` is the expiry of the head.
/// 9. `next_wake_is_a_lower_bound`: `next_wake()` is never later than `next_expiry()` (no missed
///    wake). It is `None` exactly when the queue is empty. After a complete advance it is in the
///    future (no busy spin).
/// 10. `head_change_is_reported`: an insert, remove or reschedule through
///     [`driven()`](crate::Queue::driven) that alters `next_wake()` reports the change. It is
///     allowed to report a change although `next_wake()` stays the same, but it never misses a
///     change.
/// 11. `stale_keys_stay_stale`: the key of a timer that has left the queue is [`KeyError::Stale`]
///     forever. Slab keys carry a generation. A slot that has used all its generations is retired.
///     An intrusive node is its own key, and that key is stale while the node is not linked. Zero
///     is never a valid key.
/// 12. `no_allocation_after_reserve`: after `with_capacity` or `reserve` nothing allocates.
/// 13. `full_hands_the_value_back`: a bounded queue that is full, and a growing queue that gets no
///     memory, refuse with [`Reject::Full`]. They return the value and are otherwise unchanged.
/// 14. `check_verifies_every_invariant`: `check()` walks the whole structure and names the broken
///     invariant. Tests break links on purpose to test `check()` itself.
/// 15. `idle_time_is_free`: an advance costs nothing for elapsed ticks in which nothing was
///     pending.
/// 16. `budget_bounds_an_advance`: an advance delivers and moves at most `budget` timers. The
///     remaining timers keep their order, and `next_wake()` is then not in the future. Repeated
///     advances with one `now` deliver everything that was due. The number of calls is linear in
///     the pending timers, whatever is inserted between them.
/// 17. `user_code_runs_on_a_whole_queue`: comparators, drops, sinks and closures run before the
///     first link write or after the last one. A panic in one of them leaves a queue that passes
///     `check()`.
/// 18. `second_is_the_next_after_the_head`: `second()` returns what `peek()` would return if the
///     head were removed. The result depends only on the order, not on the layout of the storage.
/// 19. `pop_and_reinsert_is_pop_then_insert`: re-arming the expired head in one step gives the same
///     event log as a pop and an insert. However, the key stays valid and nothing is freed.
/// 20. `len_counts_what_is_pending`: `len()` is correct after every operation.
/// 21. `clear_empties`: `clear()` removes every timer, keeps `now()` and the memory, and makes all
///     keys stale.
/// 22. `idle_timers_keep_their_keys`: a timer of a slab can be idle: it is in the queue, but not
///     pending. Its key names it until it is removed. `arm` makes it pending, `disarm` and
///     `pop_and_keep` make it idle. An idle timer is not due, is not counted, costs no time, and
///     keeps its memory, so that `arm` never fails for lack of memory. Operations on pending timers
///     refuse its key with [`KeyError::Idle`]. A caller-owned timer is idle while it is in no
///     queue, and its key is then [`KeyError::Stale`] in every queue.
///
/// # Order, by example
///
/// ```
/// use tickwright_core::{Reject, SlabQueue, Wheel};
///
/// fn main() -> Result<(), Reject> {
///     let mut queue: SlabQueue<Wheel, &str> = SlabQueue::new();
///     let first = queue.insert(50, "first")?;
///     queue.insert(50, "second")?;
///
///     // Clause 4: a reschedule goes behind its equals, even to the tick that it had.
///     assert!(queue.reschedule(first, 50).is_ok());
///     // Clause 5 and 6: the clock is at 60 now, so a deadline of 10 expires at 60.
///     assert!(queue.expired(60).map(|fired| fired.value).eq(["second", "first"]));
///     queue.insert(10, "late")?;
///     let fired = queue.pop_expired(0).expect("0 counts as 60");
///     assert_eq!((fired.deadline, fired.expiry), (60, 60));
///     // Clause 7: the last tick is a tick.
///     queue.insert(u64::MAX, "the end of time")?;
///     assert!(queue.pop_expired(u64::MAX - 1).is_none());
///     assert!(queue.pop_expired(u64::MAX).is_some());
///     Ok(())
/// }
/// ```
///
/// # Lateness, by example
///
/// A coarse wheel is late by at most 8/63 of the delay, or by one tick. The delay counts from the
/// time that the program passes with the deadline, because the queue cannot know how long the
/// program has slept. `insert` and `reschedule`, which take no time, do not compile for such a
/// queue:
///
/// ```
/// use tickwright_core::{CoarseWheel, Reject, SlabQueue};
///
/// fn main() -> Result<(), Reject> {
///     const HOUR: u64 = 3_600_000; // in ticks of 1 ms
///
///     let mut queue: SlabQueue<CoarseWheel, &str> = SlabQueue::new();
///     let due = queue.insert_at(HOUR - 1, "due during the sleep", 0)?;
///     // The program sleeps for an hour. Then a message comes, and a time-out of 1 s is armed.
///     let armed = queue.insert_at(HOUR + 1_000, "time-out", HOUR)?;
///     // A bucket of this delay is 64 ticks wide, and from tick 0 it would be 262,144 wide.
///     assert_eq!(queue.expiry(armed), Some(HOUR + 1_024));
///     // What is due leaves at the next pop, within the bound of its own delay.
///     assert_eq!((queue.len(), queue.expiry(due)), (2, Some(3_670_016)));
///     Ok(())
/// }
/// ```
///
/// Schedulers and shards with a clock read their clock themselves, and pass the time to their
/// structure.
///
/// # Next wake and next expiry
///
/// `next_expiry` is exact. `next_wake` is a lower bound that is cheap to compute. A driver sets its
/// alarm to `next_wake`. If it then finds nothing due, the bound moves to a later tick. After a
/// complete advance the bound is in the future, so a driver does not spin.
///
/// `next_wake` and `next_expiry` do not say which timer is first: `peek` does. In a wheel, `peek`,
/// `second` and sometimes `next_expiry` read each timer of the first bucket, at worst all n. In a
/// ladder they do so only after a removal or a move, until the next pop. A driver that runs often
/// therefore calls `next_wake`.
///
/// A head change without a report would be a missed wake-up, so a queue is allowed to report more
/// changes than happened, but never fewer.
///
/// # Hold your own queue to it
///
/// `cargo run -p tickwright-testkit --example your_queue` adapts a sorted vector to the suite, and
/// prints a verdict for each clause.
pub trait TimerQueue {
    /// Names one pending timer.
    type Key: Copy + Eq + fmt::Debug;
    /// The value that the caller stores: a payload in a slab, a reference to the caller's node
    /// under hooks.
    type Value;
    /// What the queue promises about order and lateness.
    const ORDER: Order;

    /// Returns the greatest `now` ever passed to this queue; 0 at first.
    fn now(&self) -> Tick;

    /// Advances `now` and does nothing else (clauses 1 and 5).
    fn update_now(&mut self, now: Tick) {
        let _ = self.advance_within(now, 0, |_| ());
    }

    /// Returns the number of pending timers.
    fn len(&self) -> usize;

    /// Returns whether no timer is pending.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Advances `now`, and makes `value` pending until `deadline` (clauses 1, 3, 6, 7).
    ///
    /// # Errors
    /// [`Rejected`] with the reason and the value; only `now` has changed then.
    fn insert_at(
        &mut self,
        deadline: Tick,
        value: Self::Value,
        now: Tick,
    ) -> Result<Self::Key, Rejected<Self::Value>>;

    /// Calls [`insert_at`](Self::insert_at) with the queue's own [`now()`](Self::now), for exact
    /// queues.
    ///
    /// # Errors
    /// [`Rejected`] with the reason and the value; the queue is then unchanged.
    #[inline]
    #[track_caller]
    fn insert(&mut self, deadline: Tick, value: Self::Value) -> Result<Self::Key, Rejected<Self::Value>>
    where
        Self: Exact,
    {
        const { assert!(Self::ORDER.is_exact(), "a queue that is not `Order::Exact` implements `Exact`") }
        let now = self.now();
        self.insert_at(deadline, value, now)
    }

    /// Removes a pending timer, or an idle one of a slab (clauses 2, 11, 22).
    ///
    /// # Errors
    /// [`KeyError`] when `key` does not name a timer of this queue.
    fn remove(&mut self, key: Self::Key) -> Result<Self::Value, KeyError>;

    /// Advances `now`, and changes the deadline of a pending timer; its key stays valid (clauses 1,
    /// 3, 4).
    ///
    /// # Errors
    /// [`KeyError`] when `key` does not name a pending timer of this queue; only `now` has changed
    /// then.
    fn reschedule_at(&mut self, key: Self::Key, deadline: Tick, now: Tick) -> Result<(), KeyError>;

    /// Calls [`reschedule_at`](Self::reschedule_at) with the queue's own [`now()`](Self::now), for
    /// exact queues.
    ///
    /// # Errors
    /// [`KeyError`] when `key` does not name a pending timer of this queue.
    #[inline]
    #[track_caller]
    fn reschedule(&mut self, key: Self::Key, deadline: Tick) -> Result<(), KeyError>
    where
        Self: Exact,
    {
        const { assert!(Self::ORDER.is_exact(), "a queue that is not `Order::Exact` implements `Exact`") }
        let now = self.now();
        self.reschedule_at(key, deadline, now)
    }

    /// Returns the head: the timer that leaves first.
    fn peek(&self) -> Option<Pending<Self::Key>>;

    /// Returns the timer that leaves after the head (clause 18).
    fn second(&self) -> Option<Pending<Self::Key>>;

    /// Returns the exact expiry of the head (clause 8).
    fn next_expiry(&self) -> Option<Tick>;

    /// Returns the tick for which to set an alarm: a lower bound of
    /// [`next_expiry`](Self::next_expiry) (clause 9).
    fn next_wake(&self) -> Option<Tick>;

    /// Advances `now` and removes one due timer, if there is one.
    fn pop_expired(&mut self, now: Tick) -> Option<Expired<Self::Key, Self::Value>>;

    /// Advances `now`. If the head is due, re-arms it in one step at the tick that `rearm` returns
    /// (clause 19).
    fn pop_and_reinsert(
        &mut self,
        now: Tick,
        rearm: impl FnOnce(Tick, &Self::Value) -> Tick,
    ) -> Option<Expired<Self::Key, ()>>;

    /// Advances `now` and passes every due timer to `sink` in order (clauses 15, 17). Returns the
    /// number of delivered timers.
    fn advance(&mut self, now: Tick, sink: impl FnMut(Expired<Self::Key, Self::Value>)) -> usize {
        self.advance_within(now, usize::MAX, sink).delivered
    }

    /// Like [`advance`](Self::advance), but stops once `budget` timers were delivered or moved
    /// (clause 16). A budget of 0 only advances `now`.
    fn advance_within(
        &mut self,
        now: Tick,
        budget: usize,
        sink: impl FnMut(Expired<Self::Key, Self::Value>),
    ) -> Advance;

    /// Iterates over the due timers in order. Each `next` removes one timer.
    fn expired(&mut self, now: Tick) -> impl Iterator<Item = Expired<Self::Key, Self::Value>> {
        core::iter::from_fn(move || self.pop_expired(now))
    }

    /// Removes every timer (clause 21).
    fn clear(&mut self);

    /// Verifies every invariant of the structure in O(n) (clause 14).
    ///
    /// # Errors
    /// The first [`Violation`] found. A violation means a bug in this library, or memory that other
    /// code has overwritten.
    fn check(&self) -> Result<(), Violation>;
}

pub use tickwright_nodes::Violation;
