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
    /// In nanoseconds of the clock.
    deadline: u64,
}

/// A queue of values, each of which comes out when its delay is over, in the order of the
/// deadlines. It is a stream, which ends while the queue is empty.
///
/// A wheel holds the values, and one timer wakes the task for all of them. Therefore an insert or a
/// removal takes a lock only if it changes which value is due first. Values whose deadlines are
/// within one [resolution](crate::Timers::resolution) come out in the order of their inserts.
///
/// A queue counts as one timer in a [`TimerReport`](crate::TimerReport) and in a trace, whatever
/// the number of its values.
///
/// It differs from the `DelayQueue` of tokio-util in two points. A stale key is an error, not a
/// panic. Values never move in memory, so only an empty queue can release its memory.
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
    /// The sleep was pending at its last poll, so it also holds the waker.
    armed: bool,
    /// The task of the last poll.
    waker: Option<Waker>,
    epoch: u32,
    /// How many polls in a row were held back.
    held: u32,
}

impl<T> DelayQueue<T> {
    #[cfg_attr(feature = "sites", track_caller)]
    pub(crate) fn of(core: &Arc<Core>) -> Self {
        let (core, sleep) = (Arc::clone(core), Sleep::at(core, u64::MAX).sited());
        Self { queue: SlabQueue::new(), core, sleep, armed: false, waker: None, epoch: 0, held: 0 }
    }

    /// Inserts a value that comes out after a delay. Any delay is allowed.
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
            // Panics if memory cannot be allocated, as each allocation of the standard library
            // does.
            Err(_) => std::alloc::handle_alloc_error(core::alloc::Layout::new::<Entry<T>>()),
        }
    }

    /// Takes a value out before its time.
    ///
    /// # Errors
    /// [`NotQueued`] if it has expired or was removed.
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

    /// Gives a value another delay, from now. Its key stays.
    ///
    /// # Errors
    /// [`NotQueued`] if it has expired or was removed.
    pub fn reset(&mut self, key: &Key, delay: Duration) -> Result<(), NotQueued> {
        let deadline = self.core.time.now().saturating_add(nanos(delay));
        self.reset_nanos(key, deadline)
    }

    /// Gives a value another deadline. Its key stays.
    ///
    /// # Errors
    /// [`NotQueued`] if it has expired or was removed.
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
    /// pending if no value is due; the task is woken when a value becomes due or the queue becomes
    /// empty. After a removal or a reset the task can be woken too early, and the poll is then
    /// pending again. A due value is sometimes [held back](crate#what-is-promised) so that other
    /// tasks run; the task is then woken at once and polls again.
    pub fn poll_expired(&mut self, cx: &mut Context<'_>) -> Poll<Option<Expired<T>>> {
        // If a value was due by the queue's last time, the clock is not read again.
        let mut now = self.queue.now();
        loop {
            let is_due = |at| at <= now;
            // The wheel can return a tick that is earlier than the tick of its first value.
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
            // The first value became due just now.
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }

    /// Moves the timer after a change of the first deadline, or wakes the task if the queue is
    /// empty or a value is due.
    #[inline]
    fn follow(&mut self, change: HeadChange) {
        if change.is_changed() && self.waker.is_some() {
            self.follow_head();
        }
    }

    fn follow_head(&mut self) {
        // On the machine's clock, the driver fires a due timer at once. With another clock, the
        // driver may not run before that clock is moved.
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

    /// Returns the key of the value that comes out next, if the queue has a value.
    #[must_use]
    pub fn peek(&self) -> Option<Key> {
        self.queue.peek().map(|first| self.key(first.key))
    }

    /// Returns when a value comes out, or `None` if it is not in the queue.
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

    /// Drops all values. A waiting task is woken, because the stream has ended.
    pub fn clear(&mut self) {
        self.queue.clear();
        self.wake();
    }

    /// Makes room for `additional` more values, so that the next `additional` inserts allocate
    /// nothing. If the memory cannot be allocated, it does nothing.
    pub fn reserve(&mut self, additional: usize) {
        let _ = self.queue.reserve(additional);
    }

    /// Releases the memory if the queue is empty. A queue with values keeps its memory, because a
    /// key holds the place of its value.
    pub fn shrink_to_fit(&mut self) {
        // The epoch makes keys into the released memory stale. After 2^32 releases the memory
        // stays, because an old key could otherwise become valid again.
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

/// Names a value in a [`DelayQueue`]. It is stale for ever once the value has
/// left, also when the memory is used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    key: tickwright_core::Key,
    /// How often the queue had released its memory before the insert.
    epoch: u32,
}

/// The value is not in this queue: it has expired, was removed, or belongs to another queue.
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
    /// In nanoseconds: few ask for the instant.
    deadline: u64,
    key: Key,
}

impl<T> Expired<T> {
    /// The value.
    pub fn get_ref(&self) -> &T {
        &self.value
    }

    /// The value, by a mutable reference.
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.value
    }

    /// Returns the value without its key and deadline.
    pub fn into_inner(self) -> T {
        self.value
    }

    /// When it was due.
    pub fn deadline(&self) -> Instant {
        instant(self.deadline)
    }

    /// The key that the value had in the queue. It is stale.
    pub fn key(&self) -> Key {
        self.key
    }
}
