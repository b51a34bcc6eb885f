//! tokio-util's `DelayQueue`, on a paused clock, which advances only when a queue is popped. A tick
//! is a millisecond, the queue's own granularity. The adapter polls outside a task, so that tokio's
//! cooperative budget does not apply.

use core::fmt;
use core::task::{Context, Poll, Waker};
use core::time::Duration;

use tickwright_nodes::hint::prefetch;
use tokio::runtime::{Builder, EnterGuard, Runtime};
use tokio::time::Instant;
use tokio_util::time::delay_queue::{self, Key};

use crate::structures::candidate::{BenchQueue, Candidate, Timed};

/// The candidate.
#[derive(Debug)]
pub(crate) struct DelayQueue;

/// The queue inside its runtime, with the key of each id. The queues of one thread must be dropped
/// in the reverse order of their creation.
pub(crate) struct Queue<'a> {
    queue: delay_queue::DelayQueue<u32>,
    keys: Vec<Option<Key>>,
    runtime: &'a Runtime,
    start: Instant,
    now: u64,
    _inside: EnterGuard<'a>,
}

impl fmt::Debug for Queue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue").field("len", &self.queue.len()).finish_non_exhaustive()
    }
}

impl Candidate for DelayQueue {
    type Arena = Runtime;
    type Queue<'a> = Queue<'a>;

    const INLINE: usize = size_of::<delay_queue::DelayQueue<u32>>();
    /// The queue panics at longer delays.
    const HORIZON: u64 = (1 << 36) - 1;

    fn arena(_: usize) -> Runtime {
        Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime without I/O needs nothing")
    }

    fn queue(runtime: &Runtime, capacity: usize) -> Queue<'_> {
        let inside = runtime.enter();
        Queue {
            queue: delay_queue::DelayQueue::with_capacity(capacity),
            keys: vec![None; capacity],
            runtime,
            start: Instant::now(),
            now: 0,
            _inside: inside,
        }
    }
}

impl Queue<'_> {
    #[inline]
    fn instant(&self, tick: u64) -> Instant {
        self.start + Duration::from_millis(tick)
    }

    #[inline]
    fn tick(&self, instant: Instant) -> u64 {
        u64::try_from(instant.saturating_duration_since(self.start).as_millis()).unwrap_or(u64::MAX)
    }
}

impl Timed for Queue<'_> {}

impl BenchQueue for Queue<'_> {
    #[inline]
    fn insert(&mut self, id: u32, deadline: u64) {
        self.keys[id as usize] = Some(self.queue.insert_at(id, self.instant(deadline)));
    }

    #[inline]
    fn remove(&mut self, id: u32) {
        if let Some(key) = self.keys[id as usize].take() {
            let _ = self.queue.try_remove(&key);
        }
    }

    #[inline]
    fn reschedule(&mut self, id: u32, deadline: u64) {
        if let Some(key) = self.keys[id as usize] {
            let when = self.instant(deadline);
            self.queue.reset_at(&key, when);
        }
    }

    #[inline]
    fn hint(&self, _far: u32, near: u32) {
        prefetch(&raw const self.keys[near as usize]);
    }

    #[inline]
    fn head(&mut self) -> Option<u64> {
        let head = self.queue.peek()?;
        Some(self.tick(self.queue.deadline(&head)))
    }

    #[inline]
    fn pop_expired(&mut self, now: u64) -> Option<(u32, u64)> {
        if let Some(step) = now.checked_sub(self.now).filter(|&step| step > 0) {
            self.now = now;
            self.runtime.block_on(tokio::time::advance(Duration::from_millis(step)));
        }
        match self.queue.poll_expired(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Some(expired)) => {
                let expiry = self.tick(expired.deadline());
                let id = expired.into_inner();
                self.keys[id as usize] = None;
                Some((id, expiry))
            }
            Poll::Ready(None) | Poll::Pending => None,
        }
    }

    fn callers_bytes(&self) -> usize {
        self.keys.capacity() * size_of::<Option<Key>>()
    }
}
