//! The interface of queues under measurement. The interface names timers by small numbers, so that
//! all queues run the same stream of operations.
//!
//! A model (hold, the Xenomai tick, ...) is a function that is generic over [`Candidate`]. The
//! registry holds one instance of the function for each structure. The timed loop is therefore
//! monomorphic, with only one indirect call per sample.

use tickwright_core::Order;

/// What happens to the entry of a timer that is removed or moved. A structure that keeps such
/// entries is [aged](crate::models::sampler::Sampler::fill_aged) before it is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dead {
    /// The entry leaves at once.
    Leave,
    /// The entry can stay. The structure sweeps dead entries, so that their number is bounded by
    /// the number of pending timers.
    AreSwept,
    /// The entry stays until its tick, regardless of the number of entries.
    #[cfg_attr(not(any(test, feature = "rivals")), expect(dead_code, reason = "rivals are such"))]
    Stay,
}

/// A queue under measurement. Ids `0..capacity` name the timers; the adapter stores the queue's own
/// keys.
pub(crate) trait BenchQueue {
    /// Returns what happens to the entries of timers that are removed or moved.
    fn dead(&self) -> Dead {
        Dead::Leave
    }

    /// Arms the idle timer `id`.
    fn insert(&mut self, id: u32, deadline: u64);

    /// Disarms the armed timer `id`.
    fn remove(&mut self, id: u32);

    /// Moves the armed timer `id` to another deadline. The default removes the timer and inserts it
    /// again.
    #[inline]
    fn reschedule(&mut self, id: u32, deadline: u64) {
        self.remove(id);
        self.insert(id, deadline);
    }

    /// Returns the deadline of the head. Some structures return a lower bound.
    fn head(&mut self) -> Option<u64>;

    /// Returns the deadline of the timer after the head; the default returns `None`, for a
    /// structure that cannot name that timer.
    fn second(&mut self) -> Option<u64> {
        None
    }

    /// Takes one timer that is due at `now`. Returns its id and deadline.
    fn pop_expired(&mut self, now: u64) -> Option<(u32, u64)>;

    /// As [`head`](Self::head), but for a caller that takes this timer next. The queue is allowed
    /// to remember which timer is the head.
    fn look_at_head(&mut self) -> Option<u64> {
        self.head()
    }

    /// Takes the timer that the last [`look_at_head`](Self::look_at_head) found. This is a removal
    /// by handle, without another search. No operation is allowed between the two calls. The
    /// default calls [`pop_expired`](Self::pop_expired).
    fn take_head(&mut self, now: u64) -> Option<(u32, u64)> {
        self.pop_expired(now)
    }

    /// Takes the head, even if it is not due. The default makes two searches: it reads the head,
    /// then pops a timer that is due at that tick. A structure that finds and takes the head in one
    /// search overrides this method.
    fn pop(&mut self) -> Option<(u32, u64)> {
        let head = self.head()?;
        self.pop_expired(head)
    }

    /// Re-arms the head for its deadline plus `delay`, even if the head is not due yet. Returns the
    /// timer's id and old deadline. The default pops and inserts. A structure that can change its
    /// head in place overrides this method.
    fn pop_and_reinsert(&mut self, delay: u64) -> Option<(u32, u64)> {
        let (id, expiry) = self.pop()?;
        self.insert(id, expiry.saturating_add(delay));
        Some((id, expiry))
    }

    /// Returns the tick for which a driver sets its alarm. The tick is the lower bound of
    /// [`head`](Self::head) that the queue can give at the least cost.
    fn wake(&mut self) -> Option<u64> {
        self.head()
    }

    /// Delivers at most `budget` timers that are due at `now`. Passes the id and the deadline of
    /// each to `sink`. Returns whether no due timer is left. The default delivers one timer at a
    /// time, and its budget counts only deliveries.
    fn advance(&mut self, now: u64, budget: usize, sink: &mut impl FnMut(u32, u64)) -> bool
    where
        Self: Sized,
    {
        for _ in 0..budget {
            let Some((id, expiry)) = self.pop_expired(now) else { return true };
            sink(id, expiry);
        }
        false
    }

    /// Returns the number of entries in the structure whose timers were removed or moved. Returns
    /// `None` if the structure does not report this number. Cost: up to O(n).
    fn dead_entries(&self) -> Option<usize> {
        (self.dead() == Dead::Leave).then_some(0)
    }

    /// Tells the queue which timers the caller moves or removes soon: `near` after about 8
    /// operations, and `far` after about 16 operations. The queue's content does not change. A
    /// queue that takes hints prefetches the caller's object of `far`, which contains the timer's
    /// key, and the queue's own data of `near`. A queue whose table has no address outside its
    /// library does nothing.
    #[inline]
    fn hint(&self, _far: u32, _near: u32) {}

    /// Tells the queue the time without delivering anything. A structure that places a timer by its
    /// delay from the structure's own time overrides this method.
    fn tell(&mut self, _now: u64) {}

    /// Bytes of the adapter that stand for data in the caller's own objects (a key per timer).
    /// These bytes are not the queue's memory.
    fn callers_bytes(&self) -> usize {
        0
    }
}

/// A queue whose type determines which loops are compiled for it. A timed loop folds the answers of
/// an exact queue into a checksum, and logs the answers of a granular queue.
pub(crate) trait Timed: BenchQueue + Sized {
    /// Whether timers are delivered on the tick.
    const EXACT: bool = true;
}

/// Creates a queue under measurement. Nodes that a caller must own are in an arena.
pub(crate) trait Candidate: 'static {
    /// Memory that outlives the queue.
    type Arena;
    /// The queue.
    type Queue<'a>: Timed;

    /// Creates an arena for timers `0..capacity`.
    fn arena(capacity: usize) -> Self::Arena;

    /// Creates an empty queue with room for timers `0..capacity`.
    fn queue(arena: &Self::Arena, capacity: usize) -> Self::Queue<'_>;

    /// Bytes of the queue value itself, without the adapter's additions. An empty queue costs this
    /// much before it allocates.
    const INLINE: usize = size_of::<Self::Queue<'static>>();

    /// The least number of bytes per timer, including bytes that the caller keeps.
    const BYTES_PER_TIMER: usize = 24;

    /// The longest delay that the queue accepts, in ticks.
    const HORIZON: u64 = u64::MAX;

    /// Whether the queue keeps every entry of a removed timer until the entry's tick:
    /// [`Dead::Stay`].
    const KEEPS_DEAD: bool = false;

    /// Whether the queue takes [hints](BenchQueue::hint).
    const HINTS: bool = true;

    /// The promised order of deliveries, and the greatest lateness. Code that only granular
    /// structures need is not compiled for an exact structure.
    const ORDER: Order = Order::Exact;

    /// Returns the greatest lateness, in ticks, of a timer armed `delay` ticks ahead.
    fn lateness(delay: u64) -> u64 {
        match Self::ORDER {
            Order::Granular { lateness } => lateness(delay),
            _ => 0,
        }
    }

    /// Returns whether the queue can hold `capacity` timers at once. A bounded structure might be
    /// unable to hold them.
    fn holds(capacity: usize) -> bool {
        let _ = capacity;
        true
    }
}
