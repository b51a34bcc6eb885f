//! The queue interface of a wrapper that sees each operation on its queue.

/// Implements `TimerQueue` for `$wrapper<Q>` with the operations of `Q`. The wrapper dereferences
/// to `Q`. Its method `parts` returns the queue and a log, whose methods the macro calls, with
/// delays and latenesses in ticks:
///
/// ```text
/// insert_at       arm(key, delay, pending)   pop_expired, advance_within   fire(key, lateness)
/// reschedule_at   rearm(key, delay)          pop_and_reinsert              fire, then arm
/// remove          cancel(key)                clear                         end_all(pending)
/// ```
///
/// For reads and for operations that fail, the macro calls only the queue and not the log.
macro_rules! observe_queue {
    ($wrapper:ident: $($bound:tt)+) => {
        const _: () = {
            use tickwright_core::{
                Advance, Exact, Expired, KeyError, Order, Pending, Rejected, Tick, TimerQueue, Violation,
            };

            impl<Q: $($bound)+ + Exact> Exact for $wrapper<Q> {}

            impl<Q: $($bound)+> TimerQueue for $wrapper<Q> {
                type Key = Q::Key;
                type Value = Q::Value;
                const ORDER: Order = Q::ORDER;

                fn now(&self) -> Tick {
                    (**self).now()
                }

                fn update_now(&mut self, now: Tick) {
                    self.parts().0.update_now(now);
                }

                fn len(&self) -> usize {
                    (**self).len()
                }

                #[track_caller]
                fn insert_at(
                    &mut self,
                    deadline: Tick,
                    value: Q::Value,
                    now: Tick,
                ) -> Result<Q::Key, Rejected<Q::Value>> {
                    let (queue, log) = self.parts();
                    let key = queue.insert_at(deadline, value, now)?;
                    log.arm(key, deadline.saturating_sub(queue.now()), queue.len());
                    Ok(key)
                }

                #[track_caller]
                fn remove(&mut self, key: Q::Key) -> Result<Q::Value, KeyError> {
                    let (queue, log) = self.parts();
                    let value = queue.remove(key)?;
                    log.cancel(key);
                    Ok(value)
                }

                #[track_caller]
                fn reschedule_at(
                    &mut self,
                    key: Q::Key,
                    deadline: Tick,
                    now: Tick,
                ) -> Result<(), KeyError> {
                    let (queue, log) = self.parts();
                    queue.reschedule_at(key, deadline, now)?;
                    log.rearm(key, deadline.saturating_sub(queue.now()));
                    Ok(())
                }

                fn peek(&self) -> Option<Pending<Q::Key>> {
                    (**self).peek()
                }

                fn second(&self) -> Option<Pending<Q::Key>> {
                    (**self).second()
                }

                fn next_expiry(&self) -> Option<Tick> {
                    (**self).next_expiry()
                }

                fn next_wake(&self) -> Option<Tick> {
                    (**self).next_wake()
                }

                fn pop_expired(&mut self, now: Tick) -> Option<Expired<Q::Key, Q::Value>> {
                    let (queue, log) = self.parts();
                    let expired = queue.pop_expired(now)?;
                    log.fire(expired.key, queue.now().saturating_sub(expired.deadline));
                    Some(expired)
                }

                #[track_caller]
                fn pop_and_reinsert(
                    &mut self,
                    now: Tick,
                    rearm: impl FnOnce(Tick, &Q::Value) -> Tick,
                ) -> Option<Expired<Q::Key, ()>> {
                    let (queue, log) = self.parts();
                    let mut next = 0;
                    let expired = queue.pop_and_reinsert(now, |expiry, value| {
                        next = rearm(expiry, value);
                        next
                    })?;
                    log.fire(expired.key, queue.now().saturating_sub(expired.deadline));
                    log.arm(expired.key, next.saturating_sub(queue.now()), queue.len());
                    Some(expired)
                }

                fn advance_within(
                    &mut self,
                    now: Tick,
                    budget: usize,
                    mut sink: impl FnMut(Expired<Q::Key, Q::Value>),
                ) -> Advance {
                    let (queue, log) = self.parts();
                    let reached = now.max(queue.now());
                    queue.advance_within(now, budget, |expired| {
                        log.fire(expired.key, reached.saturating_sub(expired.deadline));
                        sink(expired);
                    })
                }

                #[track_caller]
                fn clear(&mut self) {
                    let (queue, log) = self.parts();
                    let pending = queue.len();
                    queue.clear();
                    log.end_all(pending);
                }

                fn check(&self) -> Result<(), Violation> {
                    (**self).check()
                }
            }
        };
    };
}

pub(crate) use observe_queue;
