//! A queue of values, each of which comes out when its delay is over.

use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use core::time::Duration;

use futures_core::Stream;
use tickwright_core::{HeadChange, SlabQueue, Wheel};

use crate::coop::{self, Candidate};
use crate::node::Core;
use crate::sleep::Sleep;
use crate::sync::Arc;
use crate::time::{Instant, instant, nanos, nanos_at};

struct Entry<T> {
    value: T,
    /// The deadline in nanoseconds of the clock.
    deadline: u64,
}

/// A queue of values, each of which comes out when its delay is over, in the order of the
/// deadlines. The queue is a stream. While the queue is empty, the stream returns `None`.
///
/// A wheel holds the values, and a single timer wakes the task for all of them. Therefore an insert
/// or a removal takes a lock only if it changes which value is due first. If the deadlines of two
/// values are in the same tick, whose length is the [resolution](crate::Timers::resolution), the
/// values come out in the order in which they were inserted.
///
/// A queue counts as one timer in a [`TimerReport`](crate::TimerReport) and in a trace, whatever
/// the number of its values.
///
/// It differs from the `DelayQueue` of tokio-util in two points. A stale key causes an error
/// instead of a panic. Values never move in memory, so only an empty queue can release its memory.
///
/// ```
/// use core::future::poll_fn;
/// use core::time::Duration;
/// use tickwright_async::{DelayQueue, TestClock};
///
/// let clock = TestClock::new();
/// let timers = clock.timers();
/// let taken = clock.block_on(async {
///     let mut queue = timers.delay_queue();
///     let egg = queue.insert("egg", Duration::from_secs(240));
///     queue.insert("tea", Duration::from_secs(180));
///     queue.reset(&egg, Duration::from_secs(60)).unwrap();
///     let first = poll_fn(|cx| queue.poll_expired(cx)).await;
///     first.map(|expired| expired.into_inner())
/// });
/// assert_eq!(taken, Some("egg"));
/// ```
pub struct DelayQueue<T> {
    queue: SlabQueue<Wheel, Entry<T>>,
    core: Arc<Core>,
    sleep: Sleep,
    /// Whether the sleep was pending at its last poll, so that it holds the waker.
    armed: bool,
    /// The waker of the task that polled last.
    waker: Option<Waker>,
    epoch: u32,
    /// How many successive polls were held back.
    held: u32,
}

impl<T> DelayQueue<T> {
    #[cfg_attr(feature = "sites", track_caller)]
    pub(crate) fn of(core: &Arc<Core>) -> Self {
        let (core, sleep) = (Arc::clone(core), Sleep::at(core, u64::MAX).sited());
        Self { queue: SlabQueue::new(), core, sleep, armed: false, waker: None, epoch: 0, held: 0 }
    }

    /// Inserts a value that comes out after a delay. The delay can have any length.
    pub fn insert(&mut self, value: T, delay: Duration) -> Key {
        let deadline = self.core.time.now().saturating_add(nanos(delay));
        self.insert_nanos(value, deadline)
    }

    /// Inserts a value that comes out at an instant, or at once if the instant has passed.
    pub fn insert_at(&mut self, value: T, deadline: Instant) -> Key {
        let deadline = nanos_at(deadline);
        self.insert_nanos(value, deadline)
    }

    fn insert_nanos(&mut self, value: T, deadline: u64) -> Key {
        let tick = self.core.time.deadline(deadline);
        match self.queue.driven().insert(tick, Entry { value, deadline }) {
            Ok((key, change)) => {
                self.follow(change);
                self.key(key)
            }
            // If there is no memory, the process ends, as after every failed allocation of the
            // standard library.
            Err(_) => std::alloc::handle_alloc_error(core::alloc::Layout::new::<Entry<T>>()),
        }
    }

    /// Takes a value out before its time.
    ///
    /// # Errors
    /// [`NotQueued`] if the value has expired or was removed.
    pub fn remove(&mut self, key: &Key) -> Result<Expired<T>, NotQueued> {
        self.check(key)?;
        let (entry, change) = self.queue.driven().remove(key.key).map_err(|_| NotQueued)?;
        self.follow(change);
        Ok(self.expired(*key, entry))
    }

    /// Like [`remove`](Self::remove), but returns `None` for a value that is not in the queue.
    pub fn try_remove(&mut self, key: &Key) -> Option<Expired<T>> {
        self.remove(key).ok()
    }

    /// Changes the delay of a value, counted from now. The value keeps its key.
    ///
    /// # Errors
    /// [`NotQueued`] if the value has expired or was removed.
    pub fn reset(&mut self, key: &Key, delay: Duration) -> Result<(), NotQueued> {
        let deadline = self.core.time.now().saturating_add(nanos(delay));
        self.reset_nanos(key, deadline)
    }

    /// Changes the deadline of a value. The value keeps its key.
    ///
    /// # Errors
    /// [`NotQueued`] if the value has expired or was removed.
    pub fn reset_at(&mut self, key: &Key, deadline: Instant) -> Result<(), NotQueued> {
        let deadline = nanos_at(deadline);
        self.reset_nanos(key, deadline)
    }

    fn reset_nanos(&mut self, key: &Key, deadline: u64) -> Result<(), NotQueued> {
        self.check(key)?;
        let tick = self.core.time.deadline(deadline);
        let change = self.queue.driven().reschedule(key.key, tick).map_err(|_| NotQueued)?;
        if let Some(entry) = self.queue.get_mut(key.key) {
            entry.deadline = deadline;
        }
        self.follow(change);
        Ok(())
    }

    /// Takes the next value whose delay is over. Returns `None` if the queue is empty. Returns
    /// pending if no value is due. In this case the task is woken when a value becomes due or the
    /// queue becomes empty. After a removal or a reset the task can be woken too early, and its
    /// next poll is pending again. A due value is sometimes [held back](crate#what-is-promised) so
    /// that other tasks run. In this case the task is woken at once and polls again.
    pub fn poll_expired(&mut self, cx: &mut Context<'_>) -> Poll<Option<Expired<T>>> {
        // If a value is due at the queue's last `now`, the clock need not be read again.
        let mut now = self.queue.now();
        loop {
            let is_due = |at| at <= now;
            // The result of `next_wake` can be earlier than the tick of the first value.
            if self.queue.next_wake().is_some_and(is_due) {
                let candidate = Candidate { timer: core::ptr::from_ref(self).addr(), held: self.held };
                if !coop::take(coop::VALUE, candidate, cx.waker()) {
                    self.held = self.held.saturating_add(1);
                    return Poll::Pending;
                }
                self.held = 0;
            }
            if let Some(expired) = self.queue.pop_expired(now) {
                let key = self.key(expired.key);
                return Poll::Ready(Some(self.expired(key, expired.value)));
            }
            let later = self.core.time.tick(self.core.time.now());
            if later > now && self.queue.next_wake().is_some_and(|at| at <= later) {
                now = later;
                continue;
            }
            break;
        }
        if !self.waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
            self.waker = Some(cx.waker().clone());
        }
        let Some(next) = self.queue.next_wake() else {
            self.armed = false;
            return Poll::Ready(None);
        };
        self.sleep.reset_to(self.core.time.start(next));
        self.armed = Pin::new(&mut self.sleep).poll(cx).is_pending();
        if !self.armed {
            // The first value became due after the clock was read.
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }

    /// Called after a change of the first deadline. Moves the timer, or wakes the task if the queue
    /// is empty or a value is due.
    #[inline]
    fn follow(&mut self, change: HeadChange) {
        if change.is_changed() && self.waker.is_some() {
            self.follow_head();
        }
    }

    fn follow_head(&mut self) {
        // With the machine's clock, the driver fires a due timer at once. With another clock, the
        // driver possibly does not run before that clock is moved.
        let is_due = |tick| !self.core.time.is_machine() && tick <= self.core.time.tick(self.core.time.now());
        match self.queue.next_wake() {
            Some(next) if self.armed && !is_due(next) => {
                self.sleep.reset_to(self.core.time.start(next));
            }
            _ => self.wake(),
        }
    }

    fn wake(&mut self) {
        self.armed = false;
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    /// Returns the key of the value that comes out next, or `None` if the queue is empty.
    #[must_use]
    pub fn peek(&self) -> Option<Key> {
        self.queue.peek().map(|first| self.key(first.key))
    }

    /// Returns the deadline of a value, or `None` if the value is not in the queue.
    #[must_use]
    pub fn deadline(&self, key: &Key) -> Option<Instant> {
        self.check(key).ok()?;
        self.queue.get(key.key).map(|entry| instant(entry.deadline))
    }

    /// Returns whether the value is in the queue.
    #[must_use]
    pub fn contains(&self, key: &Key) -> bool {
        self.deadline(key).is_some()
    }

    /// Returns the number of values in the queue, including values whose delay is over.
    #[must_use]
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// Returns whether the queue has no value.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Drops all values. A task that waits for the queue is woken, because the queue is empty.
    pub fn clear(&mut self) {
        self.queue.clear();
        self.wake();
    }

    /// Makes room for `additional` more values, so that the next `additional` inserts allocate
    /// nothing. If there is no memory, it does nothing.
    pub fn reserve(&mut self, additional: usize) {
        let _ = self.queue.reserve(additional);
    }

    /// Releases the memory if the queue is empty. A queue with values keeps its memory, because
    /// each key contains the place of its value.
    pub fn shrink_to_fit(&mut self) {
        // The new epoch makes all old keys stale. After 2^32 releases, the memory is no longer
        // released, because an old key could become valid again.
        if self.queue.is_empty()
            && let Some(epoch) = self.epoch.checked_add(1)
        {
            self.queue = SlabQueue::new();
            self.epoch = epoch;
        }
    }

    /// Does the same as [`shrink_to_fit`](Self::shrink_to_fit).
    pub fn compact(&mut self) {
        self.shrink_to_fit();
    }

    fn key(&self, key: tickwright_core::Key) -> Key {
        Key { key, epoch: self.epoch }
    }

    fn check(&self, key: &Key) -> Result<(), NotQueued> {
        if key.epoch == self.epoch { Ok(()) } else { Err(NotQueued) }
    }

    fn expired(&self, key: Key, entry: Entry<T>) -> Expired<T> {
        Expired { value: entry.value, deadline: entry.deadline, key }
    }
}

impl<T> Unpin for DelayQueue<T> {}

impl<T> Stream for DelayQueue<T> {
    type Item = Expired<T>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_expired(cx)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.len(), None)
    }
}

impl<T> fmt::Debug for DelayQueue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DelayQueue").field("len", &self.len()).finish_non_exhaustive()
    }
}

/// The key of a value in a [`DelayQueue`]. When the value has left the queue, the key is stale
/// forever, even if another value uses the same memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    key: tickwright_core::Key,
    /// How often the queue had released its memory before the insert.
    epoch: u32,
}

/// The error that the value is not in this queue, because it has expired, was removed, or belongs
/// to another queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NotQueued;

impl fmt::Display for NotQueued {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the value is not in the queue any more: insert it again, and keep the new key")
    }
}

impl core::error::Error for NotQueued {}

/// A value that has left a [`DelayQueue`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expired<T> {
    value: T,
    /// The deadline in nanoseconds, which is converted only if the program asks for the instant.
    deadline: u64,
    key: Key,
}

impl<T> Expired<T> {
    /// Returns a reference to the value.
    pub fn get_ref(&self) -> &T {
        &self.value
    }

    /// Returns a mutable reference to the value.
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.value
    }

    /// Returns the value without its key and deadline.
    pub fn into_inner(self) -> T {
        self.value
    }

    /// Returns the value's deadline.
    pub fn deadline(&self) -> Instant {
        instant(self.deadline)
    }

    /// Returns the key that the value had in the queue. This key is stale.
    pub fn key(&self) -> Key {
        self.key
    }
}
