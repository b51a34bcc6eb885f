//! Implements the contract for both shells, over what each shell says of its memory.
//!
//! A shell has the fields `order` and `now`, names its records and its count of pending timers, and
//! has these functions:
//!
//! | function | does |
//! |---|---|
//! | `find` | returns the node that a key names |
//! | `key` | returns the key of a linked node |
//! | `accept` | takes a value in and links its node |
//! | `release` | gives back what an unlinked node held |
//! | `rearm` | asks the caller's closure when a linked node is due again |
//! | `release_all` | unlinks and releases every node |
//! | `check_memory` | verifies the rest, after all links were found right |

/// Methods that call the methods of [`TimerQueue`](crate::TimerQueue) with the same names, so that
/// a caller need not import the trait.
macro_rules! forward {
    ($(#[$meta:meta])* fn $name:ident(&self) -> $result:ty; $($rest:tt)*) => {
        $(#[$meta])*
        #[inline]
        pub fn $name(&self) -> $result {
            TimerQueue::$name(self)
        }
        crate::storage::shell::forward! { $($rest)* }
    };
    (
        $(#[$meta:meta])*
        fn $name:ident(&mut self $(, $argument:ident: $type:ty)* $(,)?) $(-> $result:ty)?
        $(where $family:ident: $bound:ident)?;
        $($rest:tt)*
    ) => {
        $(#[$meta])*
        #[inline]
        pub fn $name(&mut self $(, $argument: $type)*) $(-> $result)?
        $(where $family: $bound)?
        {
            TimerQueue::$name(self $(, $argument)*)
        }
        crate::storage::shell::forward! { $($rest)* }
    };
    () => {};
}
pub(crate) use forward;

/// Implements the methods of a queue and its [`TimerQueue`](crate::TimerQueue).
/// [`contract`](crate::contract) lists the clauses.
macro_rules! timer_queue {
    (
        impl [$($generics:tt)*] $queue:ty;
        key $key:ty, value $value:ty, handle $handle:ty,
        nodes $($nodes:ident).+,
        named by $name:ident: $named:ty,
        count $($count:tt)+
    ) => {
        impl<$($generics)*> $queue {
            crate::storage::shell::forward! {
                /// The greatest `now` ever passed to this queue; 0 at first.
                #[must_use]
                fn now(&self) -> Tick;

                /// Advances `now` and does nothing else: no timer leaves, and no wake-up changes.
                /// O(1).
                ///
                /// Call it before several inserts at one time, for example after the wait of an
                /// event loop. [`insert_at`](Self::insert_at) tells the time of one insert.
                fn update_now(&mut self, now: Tick);

                /// The number of pending timers. O(1).
                #[must_use]
                fn len(&self) -> usize;

                /// Whether no timer is pending. O(1).
                #[must_use]
                fn is_empty(&self) -> bool;

                /// Makes `value` pending until `deadline`. A granular queue needs the time too: see
                /// [`insert_at`](Self::insert_at).
                ///
                /// # Errors
                /// [`Rejected`] with the reason and the value; the queue is then unchanged.
                fn insert(
                    &mut self,
                    deadline: Tick,
                    value: $value,
                ) -> Result<Inserted<$key>, Rejected<$value>>
                where F: Exact;

                /// Advances `now` as [`update_now`](Self::update_now) does, and makes `value`
                /// pending until `deadline`. The lateness of a granular queue counts from this
                /// `now`: see [`CoarseWheel`](crate::CoarseWheel).
                ///
                /// # Errors
                /// [`Rejected`] with the reason and the value; only `now` has changed then.
                fn insert_at(
                    &mut self,
                    deadline: Tick,
                    value: $value,
                    now: Tick,
                ) -> Result<Inserted<$key>, Rejected<$value>>;

                /// Removes a pending timer.
                ///
                /// # Errors
                /// [`KeyError`] when `key` does not name a pending timer of this queue.
                fn remove(&mut self, key: $key) -> Result<Removed<$value>, KeyError>;

                /// Changes the deadline of a pending timer; its key stays valid. A granular queue
                /// needs the time too: see [`reschedule_at`](Self::reschedule_at).
                ///
                /// # Errors
                /// [`KeyError`] when `key` does not name a pending timer of this queue.
                fn reschedule(&mut self, key: $key, deadline: Tick) -> Result<HeadChange, KeyError>
                where F: Exact;

                /// Advances `now` as [`update_now`](Self::update_now) does, and changes the
                /// deadline of a pending timer; its key stays valid. The lateness of a granular
                /// queue counts from this `now`.
                ///
                /// # Errors
                /// [`KeyError`] when `key` does not name a pending timer of this queue; only `now`
                /// has changed then.
                fn reschedule_at(
                    &mut self,
                    key: $key,
                    deadline: Tick,
                    now: Tick,
                ) -> Result<HeadChange, KeyError>;

                /// The head: the timer that leaves first.
                ///
                /// The worst cost depends on the structure:
                ///
                /// - O(1) in lists, sorted arrays, heaps and `RbTreeCached`, O(log n) in the other
                ///   trees;
                /// - O(levels) in a coarse wheel, and O(n) while only far timers are pending;
                /// - O(n) in a wheel. It reads the timers of the first bucket until it finds one
                ///   that is due at the bucket's earliest tick. A bucket may cover thousands of
                ///   ticks, so with a million timers in it `peek` may read a million records. If
                ///   all of them are due at one tick, it reads few, unless many of them were moved
                ///   to that tick;
                /// - O(1) in a ladder, which [`DefaultQueue`](crate::DefaultQueue) is, while timers
                ///   lie sorted at its front. A removal, a move or a budget that ran out may leave
                ///   none there. Until the next pop, `peek` then reads the first bucket: O(n).
                ///
                /// [`next_wake`](Self::next_wake) is cheap in every structure.
                #[must_use]
                fn peek(&self) -> Option<Pending<$key>>;

                /// The timer that leaves after the head. Costs at worst as much as
                /// [`peek`](Self::peek), in every structure.
                #[must_use]
                fn second(&self) -> Option<Pending<$key>>;

                /// The exact expiry of the head. O(1) or O(log n) where [`peek`](Self::peek) is. In
                /// a ladder it costs as `peek`. In a wheel it is O(1), but at worst as `peek` after
                /// a timer that was due at the first bucket's earliest tick was removed or moved.
                /// [`next_wake`](Self::next_wake) is always cheap.
                #[must_use]
                fn next_expiry(&self) -> Option<Tick>;

                /// The tick for which to set an alarm: never later than
                /// [`next_expiry`](Self::next_expiry), and cheap to compute. Over a wheel it may be
                /// earlier: then nothing is due at that tick, and the next result is later.
                #[must_use]
                fn next_wake(&self) -> Option<Tick>;

                /// Advances `now` and removes one due timer, if there is one.
                fn pop_expired(&mut self, now: Tick) -> Option<Expired<$key, $value>>;

                /// Iterates over the due timers in order. Each `next` removes one timer; the others
                /// stay pending. `now` advances at the first `next`, not at this call. To insert
                /// between deliveries, loop over [`pop_expired`](Self::pop_expired).
                fn expired(&mut self, now: Tick) -> impl Iterator<Item = Expired<$key, $value>>;

                /// Advances `now`. If the head is due, re-arms it in one step
                /// at the tick that `rearm` returns for its expiry and its value. The key stays
                /// valid.
                ///
                /// A periodic timer on a drift-free grid is
                /// `queue.pop_and_reinsert(now, |expiry, _| expiry.saturating_add(period))`.
                fn pop_and_reinsert(
                    &mut self,
                    now: Tick,
                    rearm: impl FnOnce(Tick, &$value) -> Tick,
                ) -> Option<Expired<$key, ()>>;

                /// Advances `now` and passes every due timer to `sink` in order. Returns the number
                /// of delivered timers.
                fn advance(&mut self, now: Tick, sink: impl FnMut(Expired<$key, $value>)) -> usize;

                /// Like [`advance`](Self::advance), but stops once `budget` timers were delivered
                /// or moved inside the structure. A budget of 0 only advances `now`.
                fn advance_within(
                    &mut self,
                    now: Tick,
                    budget: usize,
                    sink: impl FnMut(Expired<$key, $value>),
                ) -> Advance;

                /// Removes every timer. `now` and the memory stay unchanged.
                fn clear(&mut self);

                /// Verifies every invariant of the structure in O(n).
                ///
                /// # Errors
                /// The first [`Violation`] found. A violation is a bug in this library, or memory
                /// that something else overwrote.
                fn check(&self) -> Result<(), Violation>;
            }

            /// Whether a timer is pending in this queue. O(1).
            #[must_use]
            #[inline]
            pub fn contains(&self, $name: $named) -> bool {
                self.find(&$name).is_ok()
            }

            /// The tick at which a timer that is pending in this queue is due.
            #[must_use]
            pub fn expiry(&self, $name: $named) -> Option<Tick> {
                Some(self.order.expiry(self.$($nodes).+.nodes(), self.find(&$name).ok()?))
            }

            /// Where a timer that is pending in this queue stands in the structure, and when it
            /// moves next. The result implements `Display`. Changes nothing; O(1).
            ///
            /// # Errors
            /// [`KeyError::Stale`] when the timer is not pending. Over hooks,
            /// [`KeyError::WrongQueue`] when its node is pending in another queue.
            pub fn explain(&self, $name: $named) -> Result<Explanation, KeyError> {
                Ok(self.order.explain(self.$($nodes).+.nodes(), self.find(&$name)?))
            }

            /// For tests: sets the number of the next arrival in an empty queue, if the family
            /// numbers arrivals.
            #[doc(hidden)]
            pub fn start_sequence_at(&mut self, next: u32) {
                self.order.start_sequence_at(next);
            }

            /// Removes the timer that leaves first, due or not, and returns it with its deadline.
            /// The structure's clock passes all timers: the caller calls
            /// [`empty`](Self::empty) before it uses the queue otherwise.
            pub(crate) fn take_first(&mut self) -> Option<(Tick, $value)> {
                let mut unlimited = usize::MAX;
                let popped = self.order.pop(self.$($nodes).+.nodes_mut(), Tick::MAX, &mut unlimited)?;
                let (_, value) = self.release(popped.handle)?;
                Some((popped.deadline, value))
            }

            /// Removes every timer, and sets the structure's clock back.
            pub(crate) fn empty(&mut self) {
                self.release_all();
                self.order.clear();
            }

            /// Calls `visit` for each pending timer, in the order of delivery, with its node, its
            /// deadline and its key. `Full`: there is no memory to sort the timers.
            pub(crate) fn visit_in_order(
                &self,
                mut visit: impl FnMut(Tick, $key),
            ) -> Result<(), tickwright_nodes::arena::Full> {
                const {
                    assert!(
                        cfg!(feature = "alloc") || <F::Of<$handle> as Discipline<$handle>>::VISITS_IN_ORDER,
                        "without the feature `alloc`, this structure cannot be visited in order: \
                         call `drain_snapshot`"
                    );
                }
                let nodes = self.$($nodes).+.nodes();
                let visit = |p| {
                    if let Some(key) = self.key(p) {
                        visit(self.order.deadline(nodes, p), key);
                    }
                };
                if <F::Of<$handle> as Discipline<$handle>>::VISITS_IN_ORDER {
                    self.order.for_each(nodes, visit);
                    return Ok(());
                }
                #[cfg(feature = "alloc")]
                crate::storage::sorted(&self.order, nodes, self.len())
                    .map_err(|_| tickwright_nodes::arena::Full)?
                    .for_each(visit);
                Ok(())
            }

            #[inline]
            fn pending(&self, p: $handle) -> Option<Pending<$key>> {
                Some(Pending { key: self.key(p)?, expiry: self.order.expiry(self.$($nodes).+.nodes(), p) })
            }

            // The common result is "nothing is due", so that check is inlined.
            #[inline(always)]
            fn pop_within(&mut self, budget: &mut usize) -> Option<Expired<$key, $value>> {
                let popped = self.order.pop(self.$($nodes).+.nodes_mut(), self.now, budget)?;
                let (key, value) = self.release(popped.handle)?;
                Some(Expired { key, deadline: popped.deadline, expiry: popped.expiry, value })
            }

            /// Passes due timers to `sink` until `budget` is used up.
            fn deliver(&mut self, budget: usize, mut sink: impl FnMut(Expired<$key, $value>)) -> Advance {
                let (mut left, mut delivered) = (budget, 0);
                while let Some(expired) = self.pop_within(&mut left) {
                    left -= 1;
                    delivered += 1;
                    sink(expired);
                }
                // If budget is left, nothing is due, and `next_wake` is later than `now`.
                let lies_ahead = |queue: &Self| queue.next_wake().is_none_or(|wake| wake > queue.now);
                debug_assert!(left == 0 || lies_ahead(self));
                let complete = left > 0 || lies_ahead(self);
                Advance { delivered, moved: budget - left - delivered, complete }
            }
        }

        impl<$($generics)*> Exact for $queue where F: Exact {}

        impl<$($generics)*> TimerQueue for $queue {
            type Key = $key;
            type Value = $value;
            const ORDER: Order = <F::Of<$handle> as Discipline<$handle>>::ORDER;

            #[inline]
            fn now(&self) -> Tick {
                self.now
            }

            #[inline]
            fn update_now(&mut self, now: Tick) {
                self.now = self.now.max(now);
            }

            #[inline]
            fn len(&self) -> usize {
                self.$($count)+
            }

            #[inline]
            fn insert_at(
                &mut self,
                deadline: Tick,
                value: $value,
                now: Tick,
            ) -> Result<Inserted<$key>, Rejected<$value>> {
                self.now = self.now.max(now);
                self.accept(deadline, value)
            }

            #[inline]
            fn remove(&mut self, key: $key) -> Result<Removed<$value>, KeyError> {
                let p = self.find(&key)?;
                let head = self.order.remove(self.$($nodes).+.nodes_mut(), p);
                let (_, value) = self.release(p).ok_or(KeyError::Stale)?;
                Ok(Removed { value, head })
            }

            #[inline]
            fn reschedule_at(
                &mut self,
                key: $key,
                deadline: Tick,
                now: Tick,
            ) -> Result<HeadChange, KeyError> {
                self.now = self.now.max(now);
                let p = self.find(&key)?;
                Ok(self.order.reschedule(self.$($nodes).+.nodes_mut(), p, deadline, self.now))
            }

            #[inline]
            fn peek(&self) -> Option<Pending<$key>> {
                self.pending(self.order.head(self.$($nodes).+.nodes())?)
            }

            #[inline]
            fn second(&self) -> Option<Pending<$key>> {
                self.pending(self.order.second(self.$($nodes).+.nodes())?)
            }

            #[inline]
            fn next_expiry(&self) -> Option<Tick> {
                self.order.next_expiry(self.$($nodes).+.nodes())
            }

            #[inline]
            fn next_wake(&self) -> Option<Tick> {
                self.order.next_wake(self.$($nodes).+.nodes())
            }

            #[inline]
            fn pop_expired(&mut self, now: Tick) -> Option<Expired<$key, $value>> {
                self.now = self.now.max(now);
                let mut unlimited = usize::MAX;
                self.pop_within(&mut unlimited)
            }

            #[inline]
            fn pop_and_reinsert(
                &mut self,
                now: Tick,
                rearm: impl FnOnce(Tick, &$value) -> Tick,
            ) -> Option<Expired<$key, ()>> {
                self.now = self.now.max(now);
                let mut unlimited = usize::MAX;
                let nodes = self.$($nodes).+.nodes_mut();
                let Due { handle: p, deadline, expiry } = self.order.due(nodes, self.now, &mut unlimited)?;
                let (key, next) = self.rearm(p, |value| rearm(expiry, value))?;
                self.order.rearm_due(self.$($nodes).+.nodes_mut(), p, next, self.now);
                Some(Expired { key, deadline, expiry, value: () })
            }

            #[inline]
            fn advance_within(
                &mut self,
                now: Tick,
                budget: usize,
                sink: impl FnMut(Expired<$key, $value>),
            ) -> Advance {
                self.now = self.now.max(now);
                // Most calls find nothing due, so that check is inlined.
                if budget > 0 && self.order.is_quiet(self.$($nodes).+.nodes(), self.now) {
                    debug_assert!(self.next_wake().is_none_or(|wake| wake > self.now));
                    return Advance { delivered: 0, moved: 0, complete: true };
                }
                self.deliver(budget, sink)
            }

            fn clear(&mut self) {
                self.release_all();
            }

            fn check(&self) -> Result<(), Violation> {
                self.order.check(self.$($nodes).+.nodes(), self.$($count)+)?;
                let mut reachable = 0;
                let mut all_ours = true;
                self.order.for_each(self.$($nodes).+.nodes(), |p| {
                    reachable += 1;
                    all_ours &= self.key(p).is_some_and(|key| self.find(&key).is_ok());
                });
                if reachable != self.$($count)+ {
                    return Err(Violation::Count);
                }
                self.check_memory(all_ours)
            }
        }
    };
}
pub(crate) use timer_queue;
