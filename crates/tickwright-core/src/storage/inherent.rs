//! The operations of the contract as inherent methods, so that a queue works without an import of
//! the trait. The clauses are in [`contract`](crate::contract).

/// The methods of a queue with these keys and values; each calls that of
/// [`TimerQueue`](crate::TimerQueue).
macro_rules! contract_methods {
    (key $key:ty, value $value:ty) => {
        /// The greatest `now` ever passed to this queue; 0 at first.
        #[must_use]
        #[inline]
        pub fn now(&self) -> Tick {
            TimerQueue::now(self)
        }

        /// How many timers are pending. O(1).
        #[must_use]
        #[inline]
        pub fn len(&self) -> usize {
            TimerQueue::len(self)
        }

        /// Whether none is pending. O(1).
        #[must_use]
        #[inline]
        pub fn is_empty(&self) -> bool {
            TimerQueue::is_empty(self)
        }

        /// Makes `value` pending until `deadline`.
        ///
        /// # Errors
        /// [`Rejected`] with the reason and the value; the queue is then unchanged.
        #[inline]
        pub fn insert(&mut self, deadline: Tick, value: $value) -> Result<Inserted<$key>, Rejected<$value>> {
            TimerQueue::insert(self, deadline, value)
        }

        /// Takes a pending timer out.
        ///
        /// # Errors
        /// [`KeyError`] when `key` does not name a pending timer of this queue.
        #[inline]
        pub fn remove(&mut self, key: $key) -> Result<Removed<$value>, KeyError> {
            TimerQueue::remove(self, key)
        }

        /// Gives a pending timer another deadline; its key stays valid.
        ///
        /// # Errors
        /// [`KeyError`] when `key` does not name a pending timer of this queue.
        #[inline]
        pub fn reschedule(&mut self, key: $key, deadline: Tick) -> Result<HeadChange, KeyError> {
            TimerQueue::reschedule(self, key, deadline)
        }

        /// The head: the timer that leaves first.
        #[must_use]
        #[inline]
        pub fn peek(&self) -> Option<Pending<$key>> {
            TimerQueue::peek(self)
        }

        /// The timer that leaves after the head.
        #[must_use]
        #[inline]
        pub fn second(&self) -> Option<Pending<$key>> {
            TimerQueue::second(self)
        }

        /// The exact expiry of the head.
        #[must_use]
        #[inline]
        pub fn next_expiry(&self) -> Option<Tick> {
            TimerQueue::next_expiry(self)
        }

        /// The tick for which to set an alarm: never later than
        /// [`next_expiry`](Self::next_expiry), and cheap. Over a wheel it may be earlier: then
        /// nothing is due when it comes, and the next answer is later.
        #[must_use]
        #[inline]
        pub fn next_wake(&self) -> Option<Tick> {
            TimerQueue::next_wake(self)
        }

        /// Moves `now` forward and takes one due timer out, if there is one.
        #[inline]
        pub fn pop_expired(&mut self, now: Tick) -> Option<Expired<$key, $value>> {
            TimerQueue::pop_expired(self, now)
        }

        /// Iterates over the due timers in order. Each `next` removes one timer; the others stay
        /// pending. `now` moves at the first `next`, not at this call. To insert between deliveries,
        /// loop over [`pop_expired`](Self::pop_expired).
        #[inline]
        pub fn expired(&mut self, now: Tick) -> impl Iterator<Item = Expired<$key, $value>> {
            TimerQueue::expired(self, now)
        }

        /// Moves `now` forward and, when the head is due, re-arms it in one step at the tick that
        /// `rearm` returns for its expiry and its value. The key stays valid.
        ///
        /// A periodic timer on a drift-free grid is
        /// `queue.pop_and_reinsert(now, |expiry, _| expiry.saturating_add(period))`.
        #[inline]
        pub fn pop_and_reinsert(
            &mut self,
            now: Tick,
            rearm: impl FnOnce(Tick, &$value) -> Tick,
        ) -> Option<Expired<$key, ()>> {
            TimerQueue::pop_and_reinsert(self, now, rearm)
        }

        /// Moves `now` forward and hands every due timer to `sink` in order. Returns the number of
        /// delivered timers.
        #[inline]
        pub fn advance(&mut self, now: Tick, sink: impl FnMut(Expired<$key, $value>)) -> usize {
            TimerQueue::advance(self, now, sink)
        }

        /// As [`advance`](Self::advance), until `budget` timers were delivered or moved inside the
        /// structure. A budget of 0 only moves `now`.
        #[inline]
        pub fn advance_within(
            &mut self,
            now: Tick,
            budget: usize,
            sink: impl FnMut(Expired<$key, $value>),
        ) -> Advance {
            TimerQueue::advance_within(self, now, budget, sink)
        }

        /// Removes every timer. `now` and the memory stay.
        #[inline]
        pub fn clear(&mut self) {
            TimerQueue::clear(self);
        }

        /// Verifies every invariant of the structure in O(n).
        ///
        /// # Errors
        /// The first [`Violation`] found. A violation is a bug in this library, or memory that
        /// something else overwrote.
        pub fn check(&self) -> Result<(), Violation> {
            TimerQueue::check(self)
        }
    };
}
pub(crate) use contract_methods;
