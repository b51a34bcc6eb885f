//! The queue whose timers are in the tasks. This queue is a sorted list that is linked through the
//! storage that Embassy's executor has in each task.
//!
//! ```text
//!   task A                      task B                      task C
//!   [ .. | item: record, owner, waker ]   [ .. | item ]     [ .. | item ]
//!              10  <------------------------->  12  <------------> 40
//! ```
//! An item is a [`Timer`] of a [`SortedList`] and takes 32 bytes on 32-bit targets. Storage that is
//! all zeros represents a timer that is not pending (see the test `zeros_are_an_idle_timer`).

use core::fmt;
use core::task::Waker;

use embassy_executor_timer_queue::TimerQueueItem;
use tickwright_core::{HeadChange, HookQueue, SortedList, Timer, TimerRef};

use super::sleeper::Sleeper;

/// The type of an item.
type Item = Timer<SortedList, Sleeper>;

/// The timer queue whose timers are in the tasks. The queue needs no allocation and has no bound,
/// because each task provides storage for its timer.
///
/// The storage has an owner word, so a task can use several queues one after the other. A queue
/// refuses a task whose timer is pending in another queue.
pub struct Queue {
    timers: HookQueue<'static, SortedList, Sleeper>,
}

impl Queue {
    /// Creates an empty queue.
    #[must_use]
    pub const fn new() -> Self {
        Self { timers: HookQueue::new() }
    }

    /// Arms the timer of the task that `waker` wakes, unless this timer is pending for an earlier
    /// tick. Returns whether the next alarm might have changed.
    ///
    /// `waker` must be a waker of Embassy's executor. For any other waker, the executor panics. The
    /// call takes O(n), because it searches the list from its latest timer.
    pub fn schedule_wake(&mut self, at: u64, waker: &Waker) -> bool {
        // SAFETY: 1. The executor gives the item to the timer queue alone, and this is the timer
        // queue. 2. The reference ends in `schedule_wake_queue_item`, before another one to this
        // item is made.
        let item = unsafe { TimerQueueItem::from_embassy_waker(waker) };
        self.schedule_wake_queue_item(at, item, waker)
    }

    /// Does what [`schedule_wake`](Self::schedule_wake) does, but the caller passes the storage
    /// that belongs to `waker`. This function is for other executors, such as your own `block_on`.
    /// Nothing except timer queues must access the storage, and it must be used for only one waker
    /// at a time.
    pub fn schedule_wake_queue_item(
        &mut self,
        at: u64,
        item: &'static mut TimerQueueItem,
        waker: &Waker,
    ) -> bool {
        const {
            assert!(size_of::<Item>() <= size_of::<TimerQueueItem>());
            assert!(align_of::<Item>() <= align_of::<TimerQueueItem>());
        }
        // The pointer is derived from the mutable reference, so that the queue is allowed to write
        // through it.
        let place = core::ptr::from_mut(item).cast::<Item>();
        // SAFETY: 1. Zeros are a timer that is not pending. 2. Every queue of this crate interprets
        // the storage as this one type, and by the interface nothing else interprets it. 3. It is
        // never moved and lives as long as its task, which is a static. 4. It fits, as asserted.
        // 5. The interface gives the storage out again while the queue has a pointer to it: what
        // the two point to is the same, and Embassy's own queue does that too.
        let timer: &'static Item = unsafe { &*place };
        if at == u64::MAX {
            // A deadline of `u64::MAX` is never reached.
            return false;
        }
        if let Some(pending) = self.timers.expiry(timer) {
            if pending <= at {
                return false;
            }
            return self
                .timers
                .driven()
                .reschedule(TimerRef::from(timer), at)
                .is_ok_and(HeadChange::is_changed);
        }
        match self.timers.driven().insert(at, timer) {
            Ok((_, change)) => {
                timer.payload.put(waker);
                change.is_changed()
            }
            Err(_) => {
                // The timer is pending in another queue, which does not happen with a time driver.
                // The task is woken so that it arms the timer again.
                waker.wake_by_ref();
                false
            }
        }
    }

    /// Wakes the tasks of all timers that are due at `now`, in the order of the deadlines. Returns
    /// the tick of the next alarm, or `u64::MAX` if no timer is pending. Takes O(1) for each due
    /// timer.
    pub fn next_expiration(&mut self, now: u64) -> u64 {
        loop {
            // Usually no further timer is due. The head of the list shows this without a pop.
            let next = self.timers.next_wake().unwrap_or(u64::MAX);
            if next > now {
                return next;
            }
            let Some(fired) = self.timers.pop_expired(now) else { return next };
            if let Some(waker) = fired.value.payload.take() {
                waker.wake();
            }
        }
    }
}

impl Default for Queue {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        // When the list is dropped, it unlinks its timers but does not drop their wakers, so this
        // loop drops them.
        while let Some(head) = self.timers.peek() {
            drop(head.key.get().payload.take());
            if self.timers.remove(head.key).is_err() {
                return;
            }
        }
    }
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue").field("pending", &self.timers.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
