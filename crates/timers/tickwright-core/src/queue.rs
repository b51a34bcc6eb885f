//! `Queue` implements each operation once, for all storages and structures.

pub(crate) mod hook;
pub(crate) mod slab;
pub(crate) mod store;

use core::{fmt, iter};

use crate::contract::{
    Advance, Exact, Expired, HeadChange, KeyError, Order, Pending, Rejected, Tick, TimerQueue, Violation,
};
use crate::explain::Explanation;
use crate::queue::store::{OrderOf, Store};
use crate::structure::{Discipline, Due};

/// A timer queue over the timers that the store `S` holds. The crate has names for three kinds of
/// queues: [`SlabQueue`](crate::SlabQueue) and [`InlineQueue`](crate::InlineQueue) own their
/// payloads, and [`HookQueue`](crate::HookQueue) links timers that the caller owns.
///
/// The documentation of [`TimerQueue`] lists what each operation promises.
pub struct Queue<S: Store> {
    pub(crate) store: S,
}

impl<S: Store> Queue<S> {
    /// Returns the greatest `now` that was ever passed to this queue, or 0 if none was.
    #[must_use]
    #[inline]
    pub fn now(&self) -> Tick {
        self.store.now()
    }

    /// Advances `now` and does nothing else: no timer leaves, and the next wake-up does not change.
    /// O(1).
    ///
    /// Call it once before several inserts that use the same time, for example after the wait of an
    /// event loop. For a single insert, pass the time to [`insert_at`](Self::insert_at) instead.
    ///
    /// A granular queue selects the bucket of a timer by the delay from the queue's own `now`.
    /// Example: a [`CoarseWheel`](crate::CoarseWheel) with ticks of 1 ms was last popped an hour
    /// ago. If `now` is not advanced, the delay of a 1 s time-out is computed as an hour and 1 s,
    /// and its bucket is 262 s wide. After this call, the bucket of the same time-out is 64 ms
    /// wide. An old `now` never makes an exact queue late. However, `FixedDelay` computes a
    /// timer's delay from `now`, so with an old `now` it does not find the list of that delay.
    #[inline]
    pub fn update_now(&mut self, now: Tick) {
        self.store.update_now(now);
    }

    /// Returns the number of pending timers. O(1).
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        self.store.count()
    }

    /// Returns whether no timer is pending. O(1).
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Makes `value` pending until `deadline`. A granular queue also needs the current time: see
    /// [`insert_at`](Self::insert_at).
    ///
    /// # Errors
    /// [`Rejected`] with the reason and the value; the queue is then unchanged.
    #[inline]
    pub fn insert(&mut self, deadline: Tick, value: S::Value) -> Result<S::Key, Rejected<S::Value>>
    where
        S::Family: Exact,
    {
        Ok(self.driven().insert(deadline, value)?.0)
    }

    /// Advances `now` as [`update_now`](Self::update_now) does, and makes `value` pending until
    /// `deadline`. In a granular queue, the bound of the timer's lateness depends on the delay from
    /// this `now`: see [`CoarseWheel`](crate::CoarseWheel).
    ///
    /// # Errors
    /// [`Rejected`] with the reason and the value. When this error is returned, only `now` has
    /// changed.
    #[inline]
    pub fn insert_at(
        &mut self,
        deadline: Tick,
        value: S::Value,
        now: Tick,
    ) -> Result<S::Key, Rejected<S::Value>> {
        Ok(self.driven().insert_at(deadline, value, now)?.0)
    }

    /// Removes a pending timer, or an idle timer of a slab.
    ///
    /// # Errors
    /// [`KeyError`] when `key` does not name a timer of this queue.
    #[inline]
    pub fn remove(&mut self, key: S::Key) -> Result<S::Value, KeyError> {
        Ok(self.driven().remove(key)?.0)
    }

    /// Changes the deadline of a pending timer; its key stays valid. A granular queue also needs
    /// the current time: see [`reschedule_at`](Self::reschedule_at).
    ///
    /// # Errors
    /// [`KeyError`] when `key` does not name a pending timer of this queue.
    #[inline]
    pub fn reschedule(&mut self, key: S::Key, deadline: Tick) -> Result<(), KeyError>
    where
        S::Family: Exact,
    {
        self.driven().reschedule(key, deadline).map(drop)
    }

    /// Advances `now` as [`update_now`](Self::update_now) does, and changes the deadline of a
    /// pending timer; its key stays valid. In a granular queue, the bound of the timer's lateness
    /// depends on the delay from this `now`.
    ///
    /// # Errors
    /// [`KeyError`] when `key` does not name a pending timer of this queue. When this error is
    /// returned, only `now` has changed.
    #[inline]
    pub fn reschedule_at(&mut self, key: S::Key, deadline: Tick, now: Tick) -> Result<(), KeyError> {
        self.driven().reschedule_at(key, deadline, now).map(drop)
    }

    /// Returns this queue for a caller that drives an alarm: each operation of the returned
    /// [`Driven`] also returns whether [`next_wake`](Self::next_wake) might have changed.
    #[inline]
    pub fn driven(&mut self) -> Driven<'_, S> {
        Driven(self)
    }

    /// Returns whether a timer is pending in this queue. O(1).
    #[must_use]
    #[inline]
    pub fn contains(&self, name: S::Name<'_>) -> bool {
        self.store.find(name).is_ok()
    }

    /// Returns the tick at which a pending timer of this queue is due.
    #[must_use]
    pub fn expiry(&self, name: S::Name<'_>) -> Option<Tick> {
        let (order, nodes) = self.store.parts();
        Some(order.expiry(nodes, self.store.find(name).ok()?))
    }

    /// Returns where a pending timer of this queue is in the structure, and when the structure
    /// moves it next. The result implements `Display`. Changes nothing; O(1).
    ///
    /// # Errors
    /// [`KeyError`] when the timer is not pending in this queue.
    pub fn explain(&self, name: S::Name<'_>) -> Result<Explanation, KeyError> {
        let (order, nodes) = self.store.parts();
        Ok(order.explain(nodes, self.store.find(name)?))
    }

    /// Returns the head: the timer that leaves first.
    ///
    /// The worst-case cost depends on the structure:
    ///
    /// - O(1) in lists, sorted arrays, heaps and `RbTreeCached`, and O(log n) in `RbTree`;
    /// - O(levels) in a coarse wheel, and O(n) while only far timers are pending;
    /// - O(n) in a wheel. `peek` reads the timers of the first bucket until it finds a timer that
    ///   is due at the bucket's earliest tick. A bucket can cover thousands of ticks, so `peek` can
    ///   read a million records if the bucket holds a million timers. If all timers of the bucket
    ///   are due at one tick, `peek` reads only a few of them, unless many of them were moved to
    ///   that tick;
    /// - O(1) in a ladder, the structure of [`DefaultQueue`](crate::DefaultQueue), while its run of
    ///   sorted timers is not empty. A removal, a move or a used-up budget can leave the run empty.
    ///   In that state `peek` reads the first bucket, which takes O(n), until the next pop fills
    ///   the run.
    ///
    /// [`next_wake`](Self::next_wake) is cheap in every structure.
    #[must_use]
    #[inline]
    pub fn peek(&self) -> Option<Pending<S::Key>> {
        let (order, nodes) = self.store.parts();
        self.pending(order.head(nodes)?)
    }

    /// Returns the timer that leaves after the head. A tickless driver that defers a low-priority
    /// head sets its alarm for this timer. In the worst case the call costs as much as
    /// [`peek`](Self::peek).
    #[must_use]
    #[inline]
    pub fn second(&self) -> Option<Pending<S::Key>> {
        let (order, nodes) = self.store.parts();
        self.pending(order.second(nodes)?)
    }

    /// Returns the exact expiry of the head. The call costs as much as [`peek`](Self::peek), except
    /// in a wheel. In a wheel the call takes O(1), unless a timer that was due at the first
    /// bucket's earliest tick has been removed or moved. In that case the call can cost as much as
    /// `peek`. [`next_wake`](Self::next_wake) is always cheap.
    #[must_use]
    #[inline]
    pub fn next_expiry(&self) -> Option<Tick> {
        let (order, nodes) = self.store.parts();
        order.next_expiry(nodes)
    }

    /// Returns the tick for which to set an alarm. The tick is never later than
    /// [`next_expiry`](Self::next_expiry), and is cheap to compute. In a wheel the tick can be
    /// earlier than `next_expiry`. In that case nothing is due at the tick, and an advance to the
    /// tick makes `next_wake` later.
    #[must_use]
    #[inline]
    pub fn next_wake(&self) -> Option<Tick> {
        let (order, nodes) = self.store.parts();
        order.next_wake(nodes)
    }

    /// Advances `now` and, if a timer is due, removes and returns the timer that leaves first.
    #[inline]
    pub fn pop_expired(&mut self, now: Tick) -> Option<Expired<S::Key, S::Value>> {
        self.update_now(now);
        self.pop_within(&mut { usize::MAX })
    }

    /// Iterates over the due timers in order. Each call of the iterator's `next` removes one timer;
    /// the others stay pending. The first `next` advances `now`; `expired` itself does not. To
    /// insert between deliveries, loop over [`pop_expired`](Self::pop_expired).
    pub fn expired(&mut self, now: Tick) -> impl Iterator<Item = Expired<S::Key, S::Value>> {
        iter::from_fn(move || self.pop_expired(now))
    }

    /// Advances `now`. If the head is due, re-arms it for the tick that `rearm` returns for the
    /// head's expiry and value. The key stays valid. When `rearm` runs, the head is still linked
    /// and the queue is consistent.
    ///
    /// `queue.pop_and_reinsert(now, |expiry, _| expiry.saturating_add(period))` keeps a periodic
    /// timer on a drift-free grid if the timer is popped at least once per period. If the timer can
    /// be popped less often, `rearm` must return the first tick of the grid that is later than
    /// `now`. Otherwise a returned tick before `now` counts as `now` (clause 3), and `now` becomes
    /// the origin of the grid.
    #[inline]
    pub fn pop_and_reinsert(
        &mut self,
        now: Tick,
        rearm: impl FnOnce(Tick, &S::Value) -> Tick,
    ) -> Option<Expired<S::Key, ()>> {
        self.update_now(now);
        let (order, nodes, now) = self.store.parts_mut();
        let Due { handle: p, deadline, expiry } = order.due(nodes, now, &mut { usize::MAX })?;
        let (key, next) = self.store.ask(p, |value| rearm(expiry, value))?;
        let (order, nodes, now) = self.store.parts_mut();
        order.rearm_due(nodes, p, next, now);
        Some(Expired { key, deadline, expiry, value: () })
    }

    /// Advances `now`. If the head is due, re-arms it for the tick that `rearm` returns for the
    /// head's expiry and value, as [`pop_and_reinsert`](Self::pop_and_reinsert) does. If `rearm`
    /// returns `None`, removes the timer and returns its value.
    #[inline]
    pub fn pop_or_reinsert(
        &mut self,
        now: Tick,
        rearm: impl FnOnce(Tick, &S::Value) -> Option<Tick>,
    ) -> Option<Expired<S::Key, Option<S::Value>>> {
        self.update_now(now);
        let (order, nodes, now) = self.store.parts_mut();
        let Due { handle: p, deadline, expiry } = order.due(nodes, now, &mut { usize::MAX })?;
        let (key, next) = self.store.ask(p, |value| rearm(expiry, value))?;
        let (order, nodes, now) = self.store.parts_mut();
        if let Some(next) = next {
            order.rearm_due(nodes, p, next, now);
            return Some(Expired { key, deadline, expiry, value: None });
        }
        let _ = order.remove(nodes, p);
        let (key, value) = self.store.give_back(p)?;
        Some(Expired { key, deadline, expiry, value: Some(value) })
    }

    /// Advances `now` and passes every due timer to `sink` in order. Returns the number of
    /// delivered timers.
    #[inline]
    pub fn advance(&mut self, now: Tick, sink: impl FnMut(Expired<S::Key, S::Value>)) -> usize {
        self.advance_within(now, usize::MAX, sink).delivered
    }

    /// Like [`advance`](Self::advance), but stops when `budget` timers have been delivered or moved
    /// inside the structure. A budget of 0 only advances `now`.
    #[inline]
    pub fn advance_within(
        &mut self,
        now: Tick,
        budget: usize,
        sink: impl FnMut(Expired<S::Key, S::Value>),
    ) -> Advance {
        self.update_now(now);
        // In most calls nothing is due, so the check for this case is inlined.
        let (order, nodes) = self.store.parts();
        if budget > 0 && order.is_quiet(nodes, self.now()) {
            debug_assert!(self.next_wake().is_none_or(|wake| wake > self.now()));
            return Advance { delivered: 0, moved: 0, complete: true };
        }
        self.deliver(budget, sink)
    }

    /// Removes every timer. `now` does not change, and no memory is freed.
    pub fn clear(&mut self) {
        self.store.give_back_all();
    }

    /// Verifies every invariant of the structure in O(n).
    ///
    /// # Errors
    /// The first [`Violation`] found. A violation means a bug in this library, or memory that other
    /// code has overwritten.
    pub fn check(&self) -> Result<(), Violation> {
        let (order, nodes) = self.store.parts();
        order.check(nodes, self.len())?;
        let mut reachable = 0;
        let mut all_ours = true;
        order.for_each(nodes, |p| {
            reachable += 1;
            all_ours &= self.store.key(p).is_some_and(|key| self.store.find(S::name(&key)).is_ok());
        });
        if reachable != self.len() {
            return Err(Violation::Count);
        }
        self.store.check(all_ours)
    }

    /// For tests: sets the arrival number of the next timer. The queue must be empty. Has no effect
    /// if the family does not number arrivals.
    #[cfg(any(test, feature = "testing"))]
    #[doc(hidden)]
    pub fn start_sequence_at(&mut self, next: u32) {
        self.store.parts_mut().0.start_sequence_at(next);
    }

    /// Removes the timer that leaves first, whether it is due or not, and returns its deadline and
    /// its value. The structure's clock advances to the last tick, so the caller must call
    /// [`empty`](Self::empty) before any other operation.
    pub(crate) fn take_first(&mut self) -> Option<(Tick, S::Value)> {
        let (order, nodes, _) = self.store.parts_mut();
        let popped = order.pop(nodes, Tick::MAX, &mut { usize::MAX })?;
        let (_, value) = self.store.give_back(popped.handle)?;
        Some((popped.deadline, value))
    }

    /// Removes every pending timer, and resets the structure's clock.
    pub(crate) fn empty(&mut self) {
        self.store.give_back_pending();
        self.store.parts_mut().0.clear();
    }

    /// Calls `visit` with the deadline and the key of each pending timer, in the order of delivery.
    /// Returns `Full` if there is no memory for sorting the timers.
    pub(crate) fn visit_in_order(
        &self,
        mut visit: impl FnMut(Tick, S::Key),
    ) -> Result<(), tickwright_nodes::arena::Full> {
        const {
            assert!(
                cfg!(feature = "alloc") || OrderOf::<S>::VISITS_IN_ORDER,
                "without the feature `alloc`, this structure cannot be visited in order: \
                 call `drain_snapshot`"
            );
        }
        let (order, nodes) = self.store.parts();
        let visit = |p| {
            if let Some(key) = self.store.key(p) {
                visit(order.deadline(nodes, p), key);
            }
        };
        if OrderOf::<S>::VISITS_IN_ORDER {
            order.for_each(nodes, visit);
            return Ok(());
        }
        #[cfg(feature = "alloc")]
        crate::structure::sorted(order, nodes, self.len())
            .map_err(|_| tickwright_nodes::arena::Full)?
            .for_each(visit);
        Ok(())
    }

    #[inline]
    pub(crate) fn pending(&self, p: S::Handle) -> Option<Pending<S::Key>> {
        let (order, nodes) = self.store.parts();
        Some(Pending { key: self.store.key(p)?, expiry: order.expiry(nodes, p) })
    }

    // In most calls nothing is due, so the check for this case is inlined.
    #[inline(always)]
    pub(crate) fn pop_within(&mut self, budget: &mut usize) -> Option<Expired<S::Key, S::Value>> {
        let (order, nodes, now) = self.store.parts_mut();
        let popped = order.pop(nodes, now, budget)?;
        let (key, value) = self.store.give_back(popped.handle)?;
        Some(Expired { key, deadline: popped.deadline, expiry: popped.expiry, value })
    }

    /// Passes due timers to `sink` until `budget` is used up.
    fn deliver(&mut self, budget: usize, mut sink: impl FnMut(Expired<S::Key, S::Value>)) -> Advance {
        let (mut left, mut delivered) = (budget, 0);
        while let Some(expired) = self.pop_within(&mut left) {
            left -= 1;
            delivered += 1;
            sink(expired);
        }
        // If the budget is not used up, nothing is due, and `next_wake` is later than `now`.
        let lies_ahead = |queue: &Self| queue.next_wake().is_none_or(|wake| wake > queue.now());
        debug_assert!(left == 0 || lies_ahead(self));
        let complete = left > 0 || lies_ahead(self);
        Advance { delivered, moved: budget - left - delivered, complete }
    }
}

/// A queue for a caller that drives an alarm. [`Queue::driven`] returns it.
///
/// Each operation does what the operation of [`Queue`] with the same name does. Each operation also
/// returns whether [`next_wake`](Queue::next_wake) might have changed (clause 10 of the
/// [contract](TimerQueue)), so that the caller sets the alarm again only when necessary:
///
/// ```
/// use tickwright_core::DefaultQueue;
///
/// let mut queue = DefaultQueue::new();
/// let (tea, change) = queue.driven().insert(300, "tea")?;
/// assert!(change.is_changed(), "set the alarm for 300");
/// let (_, change) = queue.driven().insert(400, "bread")?;
/// assert!(!change.is_changed(), "it is set");
/// let (_, change) = queue.driven().remove(tea)?;
/// assert!(change.is_changed(), "set it for 400");
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
pub struct Driven<'q, S: Store>(pub(super) &'q mut Queue<S>);

/// What a successful insert returns to the driver of an alarm.
type Entered<S> = (<S as Store>::Key, HeadChange);

// The functions are always inlined, because the functions of `Queue` ignore the `HeadChange`. The
// compiler then omits its computation.
impl<S: Store> Driven<'_, S> {
    /// This constant does not compile if a family is granular and implements [`Exact`].
    pub(super) const IS_EXACT: () = assert!(
        matches!(OrderOf::<S>::ORDER, Order::Exact),
        "a family that is not `Order::Exact` implements `Exact`"
    );

    /// As [`Queue::insert`].
    ///
    /// # Errors
    /// As [`Queue::insert`].
    #[inline(always)]
    pub fn insert(&mut self, deadline: Tick, value: S::Value) -> Result<Entered<S>, Rejected<S::Value>>
    where
        S::Family: Exact,
    {
        let () = Self::IS_EXACT;
        self.insert_at(deadline, value, self.0.now())
    }

    /// As [`Queue::insert_at`].
    ///
    /// # Errors
    /// As [`Queue::insert_at`].
    #[inline(always)]
    pub fn insert_at(
        &mut self,
        deadline: Tick,
        value: S::Value,
        now: Tick,
    ) -> Result<Entered<S>, Rejected<S::Value>> {
        self.0.update_now(now);
        let (p, key) = self.0.store.take_in(value)?;
        let (order, nodes, now) = self.0.store.parts_mut();
        Ok((key, order.insert(nodes, p, deadline, now)))
    }

    /// As [`Queue::remove`].
    ///
    /// # Errors
    /// As [`Queue::remove`].
    #[inline(always)]
    pub fn remove(&mut self, key: S::Key) -> Result<(S::Value, HeadChange), KeyError> {
        let store = &mut self.0.store;
        let p = match store.find(S::name(&key)) {
            Ok(p) => p,
            Err(error) => return Ok((store.give_back_idle(key).ok_or(error)?, HeadChange::Same)),
        };
        let (order, nodes, _) = store.parts_mut();
        let change = order.remove(nodes, p);
        let (_, value) = store.give_back(p).ok_or(KeyError::Stale)?;
        Ok((value, change))
    }

    /// As [`Queue::reschedule`].
    ///
    /// # Errors
    /// As [`Queue::reschedule`].
    #[inline(always)]
    pub fn reschedule(&mut self, key: S::Key, deadline: Tick) -> Result<HeadChange, KeyError>
    where
        S::Family: Exact,
    {
        let () = Self::IS_EXACT;
        self.reschedule_at(key, deadline, self.0.now())
    }

    /// As [`Queue::reschedule_at`].
    ///
    /// # Errors
    /// As [`Queue::reschedule_at`].
    #[inline(always)]
    pub fn reschedule_at(&mut self, key: S::Key, deadline: Tick, now: Tick) -> Result<HeadChange, KeyError> {
        self.0.update_now(now);
        let p = self.0.store.find(S::name(&key))?;
        let (order, nodes, now) = self.0.store.parts_mut();
        Ok(order.reschedule(nodes, p, deadline, now))
    }
}

impl<S: Store> fmt::Debug for Driven<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Driven").field(self.0).finish()
    }
}

impl<S: Store> Exact for Queue<S> where S::Family: Exact {}

/// For code that takes any queue. Each method calls the method of the same name above.
impl<S: Store> TimerQueue for Queue<S> {
    type Key = S::Key;
    type Value = S::Value;
    const ORDER: Order = OrderOf::<S>::ORDER;

    #[inline]
    fn now(&self) -> Tick {
        self.now()
    }

    #[inline]
    fn update_now(&mut self, now: Tick) {
        self.update_now(now);
    }

    #[inline]
    fn len(&self) -> usize {
        self.len()
    }

    #[inline]
    fn insert_at(
        &mut self,
        deadline: Tick,
        value: S::Value,
        now: Tick,
    ) -> Result<S::Key, Rejected<S::Value>> {
        self.insert_at(deadline, value, now)
    }

    #[inline]
    fn remove(&mut self, key: S::Key) -> Result<S::Value, KeyError> {
        self.remove(key)
    }

    #[inline]
    fn reschedule_at(&mut self, key: S::Key, deadline: Tick, now: Tick) -> Result<(), KeyError> {
        self.reschedule_at(key, deadline, now)
    }

    #[inline]
    fn peek(&self) -> Option<Pending<S::Key>> {
        self.peek()
    }

    #[inline]
    fn second(&self) -> Option<Pending<S::Key>> {
        self.second()
    }

    #[inline]
    fn next_expiry(&self) -> Option<Tick> {
        self.next_expiry()
    }

    #[inline]
    fn next_wake(&self) -> Option<Tick> {
        self.next_wake()
    }

    #[inline]
    fn pop_expired(&mut self, now: Tick) -> Option<Expired<S::Key, S::Value>> {
        self.pop_expired(now)
    }

    #[inline]
    fn pop_and_reinsert(
        &mut self,
        now: Tick,
        rearm: impl FnOnce(Tick, &S::Value) -> Tick,
    ) -> Option<Expired<S::Key, ()>> {
        self.pop_and_reinsert(now, rearm)
    }

    #[inline]
    fn advance_within(
        &mut self,
        now: Tick,
        budget: usize,
        sink: impl FnMut(Expired<S::Key, S::Value>),
    ) -> Advance {
        self.advance_within(now, budget, sink)
    }

    fn clear(&mut self) {
        self.clear();
    }

    fn check(&self) -> Result<(), Violation> {
        self.check()
    }
}

impl<S: Store> fmt::Debug for Queue<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(S::QUEUE)
            .field("family", &<S::Family as crate::Family>::ID)
            .field("now", &self.now())
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}
