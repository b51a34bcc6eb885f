//! The types of timers, shards and their core. They refer to one another: a queue holds timers, and
//! a timer knows its core.
//!
//! ```text
//!   Owner ──> Node { word, filed, waker } <── Shard { lock, queue }     an owner: a Sleep, a Slot
//!   (one)       │         counted                 ^
//!               └──────────> Core { shards, time, wake }  <── Timers, the driver
//! ```

use std::time::Instant;

use tickwright_core::SlabQueue;

use crate::report::Lateness;
use crate::sync::{Arc, AtomicU32, AtomicU64, AtomicUsize, Cell, Mutex};
use crate::time::{Scale, Time};
use crate::wake::Wake;
use crate::word::Word;
use core::task::Waker;

/// What all handles, timers and the driver share.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) shards: Box<[Shard]>,
    pub(crate) time: Time,
    pub(crate) scale: Scale,
    /// How the driver learns of an earlier deadline.
    pub(crate) wake: Wake,
    /// How many handles exist. Timers are none.
    pub(crate) handles: AtomicUsize,
    /// One moment by the clock of the standard library, and by ours. The first is read first.
    pub(crate) anchor: (Instant, u64),
}

/// One shard: at least two cache lines of its own.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Shard {
    pub(crate) state: Mutex<Locked>,
}

/// The structure of a shard's queue.
#[cfg(not(loom))]
pub(crate) type Order = tickwright_core::Wheel;

/// A wheel has no room on the stack of a model's thread.
#[cfg(loom)]
pub(crate) type Order = tickwright_core::SortedList;

/// What the lock of a shard protects.
pub(crate) struct Locked {
    /// Each armed or vacant timer of this shard, at the tick `filed`.
    pub(crate) queue: SlabQueue<Order, Arc<Node>>,
    /// The driver looks at this tick or earlier.
    pub(crate) alarm: u64,
    /// How many timers were filed, moved or removed under the lock.
    pub(crate) locked: u64,
    pub(crate) lateness: Lateness,
}

/// A timer. It has one owner, which arms it, and it belongs to one shard.
#[derive(Debug)]
pub(crate) struct Node {
    /// See [`Word`](crate::word::Word).
    pub(crate) word: AtomicU64,
    /// The tick at which the queue returns it. Written under the lock, or before it is shared.
    pub(crate) filed: AtomicU64,
    /// Its key in the queue, under the lock.
    pub(crate) key: AtomicU64,
    pub(crate) shard: u32,
    /// The class of delays that it was last taken for. Only its owner writes it.
    pub(crate) class: AtomicU32,
    pub(crate) core: Arc<Core>,
    /// The owner's while the word is idle, vacant or fired; the driver's while it is firing or
    /// lapsing. While it is armed nobody touches it.
    pub(crate) waker: Cell<Option<Waker>>,
    /// Where the last user of the timer was made.
    #[cfg(feature = "sites")]
    pub(crate) site: Mutex<Option<&'static core::panic::Location<'static>>>,
}

#[cfg(all(target_pointer_width = "64", not(loom), not(feature = "sites")))]
const _: () = assert!(size_of::<Node>() == 56);

// SAFETY: 1. of the fields only `waker` is not `Sync` by itself; 2. it is reached through
// `Node::replace_waker` alone, whose callers hold it exclusively by the word's protocol.
unsafe impl Sync for Node {}

impl Node {
    /// A timer that is in no queue.
    pub(crate) fn new(core: &Arc<Core>, shard: u32) -> Self {
        Self {
            word: AtomicU64::new(Word::IDLE.0),
            filed: AtomicU64::new(0),
            key: AtomicU64::new(0),
            shard,
            class: AtomicU32::new(0),
            core: Arc::clone(core),
            waker: Cell::new(None),
            #[cfg(feature = "sites")]
            site: Mutex::new(None),
        }
    }

    /// Puts a waker, or none, into the timer, and returns the one before.
    ///
    /// # Safety
    /// The caller is the owner and the word is idle, vacant or fired; or it is the driver that has
    /// made the word firing or lapsing.
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
