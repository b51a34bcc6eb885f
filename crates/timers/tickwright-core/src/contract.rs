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
    /// Timers are due exactly at `max(deadline, now at insert)`. Timers are delivered by expiry,
    /// and with equal expiry by arrival.
    Exact,
    /// Timers are due at the end of a bucket, at most
    /// `lateness(deadline - now at the last (re)insert)` ticks after the deadline. `now` is the
    /// queue's clock, which [`TimerQueue::insert_at`] sets to the caller's time.
    Granular {
        /// The upper bound of `expiry - deadline`, as a function of the requested delay.
        lateness: fn(Span) -> Span,
    },
}

impl Order {
    /// Returns whether the queue is exact to the tick, and delivers timers of the same tick in the
    /// order of their arrival.
    #[must_use]
    pub const fn is_exact(self) -> bool {
        matches!(self, Self::Exact)
    }
}

/// Marks the families whose [`Order`] is exact, and the queues of such families. Their timers are
/// due exactly at the deadline even if the queue's `now` is old at the insert, so these queues also
/// have the operations without a time argument. If you write a family and it is not granular,
/// implement this trait for it.
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
    /// The next wake-up might have changed: read [`TimerQueue::next_wake`] again.
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
    /// The timer's key. After the call the key is stale, unless the call was
    /// [`pop_and_reinsert`](TimerQueue::pop_and_reinsert) or
    /// [`pop_and_keep`](crate::Queue::pop_and_keep).
    pub key: K,
    /// `max(requested deadline, now at the last (re)insert)`.
    pub deadline: Tick,
    /// The tick at which the timer was due in this structure. The expiry is never before
    /// `deadline`.
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
    /// The number of timers moved inside the structure (cascades); each move also uses one unit of
    /// the budget.
    pub moved: usize,
    /// Whether no due timer is left. If the budget was used up, the value can be `false` although
    /// nothing is due, because the structure cannot know this without moving more timers.
    pub complete: bool,
}

/// Why a queue refused a timer. `?` converts a [`Rejected`] into a `Reject`. If the conversion is
/// in a closure, the closure's last expression must name this type, as in `Ok::<_, Reject>(())`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reject {
    /// A bounded queue is full, or there is no memory for a queue to grow.
    Full,
    /// The caller-owned node is already pending in this queue.
    AlreadyLinked,
    /// The caller-owned node is pending in another queue.
    WrongQueue,
    /// All 2^31 - 1 queue identities of this process are used up, so the nodes of this queue could
    /// not be distinguished from the nodes of another queue. On a target where queues cannot draw
    /// identities, a program that creates a queue does not compile: see
    /// [`HookQueue::new`](crate::HookQueue::new).
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

/// The error of a refused insert. The error contains the unchanged value (clause 13). `Rejected`
/// implements `Error` if the value is `Debug`; for other values, use
/// `map_err(|rejected| rejected.reason)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejected<V> {
    /// The reason for the refusal.
    pub reason: Reject,
    /// The value that the caller wanted to insert.
    pub value: V,
}

error_texts! { Rejected<V>, V: Self { reason, .. } => reason }

/// With this conversion, `?` drops the value. A function needs it if the value borrows a node that
/// the function's error must not borrow.
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

/// The contract of every timer queue of this project, and the methods for code that takes any
/// queue. The documentation of each method here names only the clauses for the method; for
/// everything else see the method of [`Queue`](crate::Queue) with the same name. The documentation
/// of each family states the costs.
///
/// A queue holds **pending** timers and delivers them when they expire. Ticks are `u64` on the
/// queue's own clock. The queue does not read a clock, and does not know how long a tick is. The
/// conformance suite (`tickwright-testkit`) has a test for each clause below, which has the
/// clause's name and runs on every structure in every storage.
///
/// # Clauses
///
/// 1. `never_early`: a timer leaves only when `now >= deadline`. A granular queue can be late,
///    within the bound that it declares in [`ORDER`](Self::ORDER) for the delay from `now()` at the
///    last (re)insert. The delay that the caller has in mind begins at the caller's time, which can
///    be hours after the queue's `now()`. A granular queue therefore takes that time together with
///    the deadline ([`insert_at`](Self::insert_at), [`reschedule_at`](Self::reschedule_at)), so
///    that the bound holds for the caller's delay, however long the program has run or slept. The
///    operations without a time argument compile only for a queue that is [`Exact`].
/// 2. `none_lost_none_twice`: each inserted timer is delivered or removed exactly once.
/// 3. `order`: a timer's *expiry* is `max(deadline, now at (re)insert)`; a granular queue rounds it
///    up to the end of the timer's bucket. Exact queues deliver by expiry, and with equal expiry by
///    arrival, so all exact structures produce the same event log. Granular queues deliver by
///    expiry. The documentation of each granular family states the order of timers with equal
///    expiry, which is the same in both storages.
/// 4. `reschedule_is_remove_and_insert`: a rescheduled timer has the same key as before and leaves
///    after all other timers of its expiry, even if its deadline did not change. In a granular
///    queue, a timer that stays in the same bucket is allowed to stay at its place in the order.
///    The lateness bound holds for the new deadline in any case.
/// 5. `now_is_monotone`: `now()` is the greatest `now` that any call has passed so far. A smaller
///    `now` is treated as if it were this value. `update_now` delivers nothing: a timer that is due
///    at the new `now` stays pending at its place in the order, and leaves at the next pop.
/// 6. `past_deadlines_are_legal`: a timer whose deadline is at or before `now()` leaves at the next
///    pop.
/// 7. `every_deadline_is_ordinary`: every `u64` is a legal deadline. A timer for `u64::MAX` is
///    delivered at `now = u64::MAX`. Arithmetic saturates, nothing panics, and no deadline is too
///    far.
/// 8. `next_expiry_is_exact`: `next_expiry()` is the expiry of the head.
/// 9. `next_wake_is_a_lower_bound`: `next_wake()` is never later than `next_expiry()`, so no
///    wake-up is missed. `next_wake()` is `None` if and only if no timer is pending. After a
///    complete advance `next_wake()` is later than `now()`, so a driver does not spin.
/// 10. `head_change_is_reported`: an insert, remove or reschedule through
///     [`driven()`](crate::Queue::driven) that alters `next_wake()` reports the change. The
///     operation is allowed to report a change although `next_wake()` stays the same, but must not
///     leave a change unreported.
/// 11. `stale_keys_stay_stale`: the key of a timer that has left the queue is [`KeyError::Stale`]
///     forever. Slab keys contain a generation. A slot that has used all its generations is
///     retired. A caller-owned node is its own key, and that key is stale while the node is not
///     linked. Zero is never a valid key.
/// 12. `no_allocation_after_reserve`: after `with_capacity` or `reserve`, no operation allocates
///     until there are more timers than were reserved for.
/// 13. `full_hands_the_value_back`: if a bounded queue is full, or if there is no memory for a
///     queue to grow, an insert fails with [`Reject::Full`]. The error contains the value, and the
///     queue does not change.
/// 14. `check_verifies_every_invariant`: `check()` walks the whole structure and names the broken
///     invariant. To test `check()` itself, tests deliberately break links.
/// 15. `idle_time_is_free`: the cost of an advance does not grow with the number of elapsed ticks
///     at which no timer was due.
/// 16. `budget_bounds_an_advance`: an advance delivers and moves at most `budget` timers. If due
///     timers remain, they stay in order, and `next_wake()` is not later than `now()`. Repeated
///     advances with the same `now` deliver everything that was due. The number of necessary calls
///     is linear in the number of pending timers, whatever is inserted between two calls.
/// 17. `user_code_runs_on_a_whole_queue`: comparators, drops, sinks and closures run before the
///     first link write or after the last one. After a panic in user code, the queue therefore
///     still passes `check()`.
/// 18. `second_is_the_next_after_the_head`: `second()` returns what `peek()` would return if the
///     head were removed. The result depends only on the order of the timers, not on the layout of
///     the storage.
/// 19. `pop_and_reinsert_is_pop_then_insert`: re-arming the expired head in one step gives the same
///     event log as a pop and an insert. In contrast to a pop and an insert, the key stays valid
///     and nothing is freed.
/// 20. `len_counts_what_is_pending`: `len()` is correct after every operation.
/// 21. `clear_empties`: `clear()` removes every timer and makes all keys stale. The call does not
///     change `now()`, and frees no memory.
/// 22. `idle_timers_keep_their_keys`: a timer of a slab can be idle, which means that it is in the
///     queue but not pending. The key of such a timer is valid until the timer is removed. `arm`
///     makes an idle timer pending; `disarm` and `pop_and_keep` make a pending timer idle. An idle
///     timer is never due, is not counted by `len()`, and takes no time in other operations. The
///     memory of an idle timer stays allocated, so that `arm` never fails for lack of memory.
///     Operations on pending timers refuse the key of an idle timer with [`KeyError::Idle`]. A
///     caller-owned timer is idle while it is not in a queue; its key is then [`KeyError::Stale`]
///     in every queue.
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
/// A timer in a coarse wheel is late by at most 8/63 of its delay, or by one tick if that is more.
/// The delay begins at the time that the program passes together with the deadline, because the
/// queue cannot know how long the program has slept. `insert` and `reschedule`, which take no time
/// argument, do not compile for such a queue:
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
/// Schedulers and shards that have a clock read it themselves, and pass the time to their
/// structure.
///
/// # Next wake and next expiry
///
/// `next_expiry` is exact. `next_wake` is a lower bound that is cheap to compute. A driver sets its
/// alarm to `next_wake`. If nothing is due when the alarm fires, an advance makes the bound later.
/// After a complete advance the bound is later than `now`, so a driver does not spin.
///
/// `next_wake` and `next_expiry` return only a tick, whereas `peek` also returns the key of the
/// first timer. In a wheel, `peek`, `second` and sometimes `next_expiry` read each timer of the
/// first bucket, which can hold all n timers. In a ladder these calls do this only after a removal
/// or a move, until the next pop. A driver that runs often should therefore call `next_wake`.
///
/// An unreported change of the head would cause a missed wake-up. A queue is therefore allowed to
/// report a change that did not happen, but must report every change that happened.
///
/// # Hold your own queue to it
///
/// `cargo run -p tickwright-testkit --example your_queue` adapts a sorted vector to the suite, and
/// prints a verdict for each clause.
pub trait TimerQueue {
    /// Names one pending timer.
    type Key: Copy + Eq + fmt::Debug;
    /// The value that the caller stores: a payload in a slab, or a reference to the caller's node
    /// over hooks.
    type Value;
    /// What the queue promises about the order and the lateness of deliveries.
    const ORDER: Order;

    /// Returns the greatest `now` that was ever passed to this queue, or 0 if none was.
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
    /// [`Rejected`] with the reason and the value. When this error is returned, only `now` has
    /// changed.
    fn insert_at(
        &mut self,
        deadline: Tick,
        value: Self::Value,
        now: Tick,
    ) -> Result<Self::Key, Rejected<Self::Value>>;

    /// Calls [`insert_at`](Self::insert_at) with the queue's own [`now()`](Self::now). Only exact
    /// queues have this method.
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

    /// Removes a pending timer, or an idle timer of a slab (clauses 2, 11, 22).
    ///
    /// # Errors
    /// [`KeyError`] when `key` does not name a timer of this queue.
    fn remove(&mut self, key: Self::Key) -> Result<Self::Value, KeyError>;

    /// Advances `now`, and changes the deadline of a pending timer; its key stays valid (clauses 1,
    /// 3, 4).
    ///
    /// # Errors
    /// [`KeyError`] when `key` does not name a pending timer of this queue. When this error is
    /// returned, only `now` has changed.
    fn reschedule_at(&mut self, key: Self::Key, deadline: Tick, now: Tick) -> Result<(), KeyError>;

    /// Calls [`reschedule_at`](Self::reschedule_at) with the queue's own [`now()`](Self::now). Only
    /// exact queues have this method.
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

    /// Returns the tick for which to set an alarm, which is a lower bound of
    /// [`next_expiry`](Self::next_expiry) (clause 9).
    fn next_wake(&self) -> Option<Tick>;

    /// Advances `now` and, if a timer is due, removes and returns the timer that leaves first.
    fn pop_expired(&mut self, now: Tick) -> Option<Expired<Self::Key, Self::Value>>;

    /// Advances `now`. If the head is due, re-arms it for the tick that `rearm` returns (clause
    /// 19).
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

    /// Like [`advance`](Self::advance), but stops when `budget` timers have been delivered or moved
    /// (clause 16). A budget of 0 only advances `now`.
    fn advance_within(
        &mut self,
        now: Tick,
        budget: usize,
        sink: impl FnMut(Expired<Self::Key, Self::Value>),
    ) -> Advance;

    /// Iterates over the due timers in order. Each call of the iterator's `next` removes one timer.
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
