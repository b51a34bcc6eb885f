//! tokio-util's `DelayQueue`, on a paused clock, which advances only when the suite advances it.
//!
//! A tick is a millisecond, the queue's own granularity. The adapter polls outside a task, so that
//! tokio's cooperative budget does not apply.

use core::fmt;
use core::task::{Context, Poll, Waker};
use core::time::Duration;

use tokio::runtime::{Builder, EnterGuard, Runtime};
use tokio::time::Instant;
use tokio_util::time::delay_queue;

use crate::subject::{Fired, Full, Make, Offers, Stale, Subject};

/// Creates `PausedQueue` queues.
#[derive(Debug)]
pub struct DelayQueue;

/// The queue, inside its runtime. The queues of one thread must be dropped in the reverse order of
/// their creation.
pub struct PausedQueue<'a> {
    queue: delay_queue::DelayQueue<u32>,
    runtime: &'a Runtime,
    start: Instant,
    now: u64,
    _inside: EnterGuard<'a>,
}

impl fmt::Debug for PausedQueue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PausedQueue").field("now", &self.now).finish_non_exhaustive()
    }
}

impl Make for DelayQueue {
    type Arena = Runtime;
    type Subject<'a> = PausedQueue<'a>;

    fn name() -> String {
        "tokio-util DelayQueue".into()
    }

    const OFFERS: Offers = Offers {
        stale_keys: true,
        pop: true,
        reschedule: true,
        next_wake: true,
        budget: true,
        clear: true,
        reserve: true,
        sink: true,
        ..Offers::NONE
    };
    /// "There are no ordering guarantees for items configured to expire at the same instant."
    const EXACT: bool = false;

    fn arena(_: usize) -> Runtime {
        Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime without I/O needs nothing")
    }

    fn make(runtime: &Runtime, capacity: usize) -> PausedQueue<'_> {
        let inside = runtime.enter();
        let queue = delay_queue::DelayQueue::with_capacity(capacity);
        PausedQueue { queue, runtime, start: Instant::now(), now: 0, _inside: inside }
    }
}

impl PausedQueue<'_> {
    fn instant(&self, tick: u64) -> Instant {
        self.start + Duration::from_millis(tick)
    }

    fn tick(&self, instant: Instant) -> u64 {
        u64::try_from(instant.saturating_duration_since(self.start).as_millis()).unwrap_or(u64::MAX)
    }
}

impl Subject for PausedQueue<'_> {
    type Key = delay_queue::Key;

    fn now(&self) -> u64 {
        self.now
    }

    fn len(&self) -> usize {
        self.queue.len()
    }

    fn insert(&mut self, deadline: u64, value: u32) -> Result<(delay_queue::Key, bool), Full> {
        Ok((self.queue.insert_at(value, self.instant(deadline)), true))
    }

    fn remove(&mut self, key: delay_queue::Key) -> Result<(u32, bool), Stale> {
        Ok((self.queue.try_remove(&key).ok_or(Stale)?.into_inner(), true))
    }

    fn reschedule(&mut self, key: delay_queue::Key, deadline: u64) -> Result<bool, Stale> {
        let when = self.instant(deadline);
        self.queue.reset_at(&key, when);
        Ok(true)
    }

    fn tell(&mut self, now: u64) {
        if let Some(step) = now.checked_sub(self.now).filter(|&step| step > 0) {
            self.now = now;
            self.runtime.block_on(tokio::time::advance(Duration::from_millis(step)));
        }
    }

    fn pop_expired(&mut self, now: u64) -> Option<Fired> {
        self.tell(now);
        match self.queue.poll_expired(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Some(expired)) => {
                let expiry = self.tick(expired.deadline());
                Some(Fired::new(expired.into_inner(), expiry))
            }
            Poll::Ready(None) | Poll::Pending => None,
        }
    }

    fn next_wake(&mut self) -> Option<u64> {
        let head = self.queue.peek()?;
        Some(self.tick(self.queue.deadline(&head)))
    }

    fn clear(&mut self) {
        self.queue.clear();
    }
}
