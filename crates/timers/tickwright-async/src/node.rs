//! A timer and the types that it refers to: the shard whose queue holds the timer, and the core
//! that holds the shards.
//!
//! ```text
//!   Owner ──> Node { word, deadline, filed, waker } <── Shard { lock, queue }
//!   (one: a Sleep, a Slot)      │  counted                    ^
//!               └──────────> Core { shards, time, driver }  <── Timers, the driver
//! ```
//!
//! # The states of a timer
//!
//! ```text
//!              file (lock)                       due (lock)            the waker is out
//!   ┌──────┐ ─────────────> ┌───────┐ ────────────────────> ┌────────┐ ───────> ┌───────┐
//!   │ idle │                │ armed │ <─┐ 1: shorten         │ firing │          │ fired │
//!   └──────┘ <──┐           └───────┘ ──┘                    └────────┘          └───────┘
//!      ^        │ due (lock)   │  ^ 3: arm                                           │
//!      │        │    2: disarm v  │                                                  │
//!      │        └────────── ┌────────┐                                               │
//!      │                    │ vacant │                 the owner takes it back       │
//!      │                    └────────┘                                               │
//!      └─────────────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! If a shard cannot keep a timer, because there is no memory or no driver, it fires the timer
//! although no deadline has passed. The woken task sees that its deadline has not passed, and files
//! its timer again.
//!
//! *Armed* and *vacant* timers are in a queue. *Idle* and *fired* timers are in no queue. Each of
//! the transitions 1, 2 and 3 is one compare-exchange by the owner, without a lock. If the owner
//! stores a later deadline, the state does not change.

use core::any::Any;
use core::task::Waker;

use tickwright::time::{DelayCounts, Lateness};
use tickwright_core::SlabQueue;

use crate::counts::{Counts, Totals};
use crate::driver::Driver;
use crate::pace::Pace;
use crate::sync::{Arc, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Cell, Mutex, Ordering};
use crate::time::Time;

/// The state that all handles, all timers and the driver share.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) shards: Box<[Shard]>,
    pub(crate) time: Time,
    pub(crate) driver: Driver,
    pub(crate) pace: Pace,
    /// The number of handles. Timers do not count as handles.
    pub(crate) handles: AtomicUsize,
    #[cfg(feature = "record")]
    pub(crate) recorder: Option<tickwright::record::QueueRecorder>,
}

/// One shard, which has at least two cache lines of its own.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Shard {
    pub(crate) state: Mutex<Locked>,
}

/// The structure of a shard's queue.
#[cfg(not(loom))]
pub(crate) type Order = tickwright_core::Wheel;

/// The wheel is too large for the stack of a model's thread, so the models use a list.
#[cfg(loom)]
pub(crate) type Order = tickwright_core::SortedList;

/// The data that the lock of a shard protects.
pub(crate) struct Locked {
    /// The queue, which contains each armed or vacant timer of this shard at its tick `filed`.
    pub(crate) queue: SlabQueue<Order, Arc<Node>>,
    /// The driver checks the shard at this tick or earlier.
    pub(crate) alarm: u64,
    /// How many timers were filed, moved or removed under the lock.
    pub(crate) locked: u64,
    /// The greatest number of timers that were in the queue at one time.
    pub(crate) high_water: usize,
    pub(crate) totals: Totals,
    /// The delays of the timers when they were inserted into the queue.
    pub(crate) delays: DelayCounts,
    pub(crate) lateness: Lateness,
}

/// A timer. It has one owner, which arms it, and belongs to one shard.
#[derive(Debug)]
pub(crate) struct Node {
    /// The timer's [`State`].
    word: AtomicU32,
    pub(crate) shard: u16,
    /// The class of the delay for which the timer was last taken from the pool. Only the owner
    /// writes it.
    pub(crate) class: AtomicU16,
    /// When the timer is due, in nanoseconds. Only the owner writes it.
    pub(crate) deadline: AtomicU64,
    /// The tick at which the queue returns the timer. Written under the lock. After a fire it holds
    /// the deadline for which the timer fired.
    pub(crate) filed: AtomicU64,
    /// The timer's key in the queue. It is read and written under the lock.
    pub(crate) key: AtomicU64,
    pub(crate) core: Arc<Core>,
    /// Only the owner uses the waker while the word is idle, vacant or fired, and only the driver
    /// uses it while the word is firing. While the word is armed, no thread touches the waker.
    pub(crate) waker: Cell<Option<Waker>>,
    pub(crate) counts: Counts,
    /// The place where the last sleep or slot that uses the timer was created.
    #[cfg(feature = "sites")]
    pub(crate) site: Mutex<Option<&'static core::panic::Location<'static>>>,
}

#[cfg(all(target_pointer_width = "64", not(loom), not(feature = "sites")))]
const _: () = assert!(size_of::<Node>() == if cfg!(feature = "metrics") { 72 } else { 56 });

// SAFETY: 1. Of the fields only `waker` is not `Sync` by itself. 2. It is reached through
// `Node::replace_waker` alone, whose callers hold it exclusively by the word's protocol.
unsafe impl Sync for Node {}

impl Node {
    /// Creates a timer that is in no queue.
    pub(crate) fn new(core: &Arc<Core>, shard: u16) -> Self {
        Self {
            word: AtomicU32::new(State::Idle as u32),
            shard,
            class: AtomicU16::new(0),
            deadline: AtomicU64::new(0),
            filed: AtomicU64::new(0),
            key: AtomicU64::new(0),
            core: Arc::clone(core),
            waker: Cell::new(None),
            counts: Counts::default(),
            #[cfg(feature = "sites")]
            site: Mutex::new(None),
        }
    }

    #[inline]
    pub(crate) fn state(&self, order: Ordering) -> State {
        State::of(self.word.load(order))
    }

    /// Stores the state. No other thread is allowed to write the state at the same time.
    #[inline]
    pub(crate) fn set_state(&self, state: State, order: Ordering) {
        self.word.store(state as u32, order);
    }

    /// Changes the state to `next` if it is still `seen`. Otherwise returns the actual state as the
    /// error.
    #[inline]
    pub(crate) fn exchange(&self, seen: State, next: State, order: Ordering) -> Result<(), State> {
        let exchanged = self.word.compare_exchange(seen as u32, next as u32, order, Ordering::Acquire);
        exchanged.map(drop).map_err(State::of)
    }

    /// Returns the tick of the deadline that the owner stored last.
    #[inline]
    pub(crate) fn due(&self) -> u64 {
        self.core.time.deadline(self.deadline.load(Ordering::Relaxed))
    }

    /// Stores a waker or `None` in the timer, and returns the previous waker.
    ///
    /// # Safety
    /// Either the caller is the owner and the word is idle, vacant or fired, or the caller is the
    /// driver and has set the word to firing.
    pub(crate) unsafe fn replace_waker(&self, waker: Option<Waker>) -> Option<Waker> {
        self.waker.with_mut(|place| {
            // SAFETY: 1. the caller has the waker for itself; 2. the place lives as long as `self`.
            let place = unsafe { &mut *place };
            core::mem::replace(place, waker)
        })
    }
}

impl core::fmt::Debug for Locked {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Locked").field("filed", &self.queue.len()).field("alarm", &self.alarm).finish()
    }
}

/// The timers that a pass has taken out of their queues. With no lock held, their wakers are called
/// and the references to them are dropped.
#[derive(Default)]
pub(crate) struct Taken {
    pub(crate) timers: Vec<(Arc<Node>, Option<Waker>)>,
    /// The number of wakers that were called. The next field has the first panic of a waker.
    pub(crate) woken: usize,
    pub(crate) panic: Option<Box<dyn Any + Send>>,
}

impl core::fmt::Debug for Taken {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Taken").field("timers", &self.timers.len()).finish_non_exhaustive()
    }
}

/// The state of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum State {
    /// The timer is in no queue.
    Idle,
    /// The timer is in a queue, but no task waits for it.
    Vacant,
    /// The timer is in a queue, and has the waker of a task that waits for it.
    Armed,
    /// The driver has taken the timer out of the queue, and is taking its waker.
    Firing,
    /// The timer was taken out of the queue, and so was its waker. `filed` has the deadline for
    /// which the timer fired.
    Fired,
}

impl State {
    #[inline]
    pub(crate) const fn of(word: u32) -> Self {
        match word {
            0 => Self::Idle,
            1 => Self::Vacant,
            2 => Self::Armed,
            3 => Self::Firing,
            _ => Self::Fired,
        }
    }
}
