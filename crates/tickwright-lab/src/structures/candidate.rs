//! What the lab measures: queues that name their timers by small numbers, so that all of them run
//! the same op stream.
//!
//! A model (hold, the Xenomai tick, ...) is a function that is generic over [`Candidate`]; the
//! registry holds one instance per structure, so the timed loop is monomorphic and the only
//! indirect call is per sample.

/// A queue under measurement. Timers are named by ids `0..capacity`; the adapter keeps the queue's
/// own keys.
pub(crate) trait BenchQueue {
    /// Arms the idle timer `id`.
    fn insert(&mut self, id: u32, deadline: u64);

    /// Disarms the armed timer `id`.
    fn remove(&mut self, id: u32);

    /// Gives the armed timer `id` another deadline.
    fn reschedule(&mut self, id: u32, deadline: u64);

    /// The expiry of the head.
    fn head(&mut self) -> Option<u64>;

    /// The expiry of the one after the head.
    fn second(&mut self) -> Option<u64>;

    /// Takes one timer that is due at `now`: its id and expiry.
    fn pop_expired(&mut self, now: u64) -> Option<(u32, u64)>;

    /// [`head`](Self::head) for a caller that goes on to take what it saw: the queue may remember
    /// who it is.
    fn look_at_head(&mut self) -> Option<u64> {
        self.head()
    }

    /// Takes the timer that the last [`look_at_head`](Self::look_at_head) saw, with no operation in
    /// between and none of its search: a removal by handle. By default the queue is asked once more
    /// for what is due at `now`.
    fn take_head(&mut self, now: u64) -> Option<(u32, u64)> {
        self.pop_expired(now)
    }

    /// Takes the head, whenever it is due. By default in two looks, as a queue must be driven that
    /// is asked for what is due by now; a structure whose caller has the head in one look takes it
    /// so.
    fn pop(&mut self) -> Option<(u32, u64)> {
        let head = self.head()?;
        self.pop_expired(head)
    }

    /// Re-arms the head, whenever it is due, at its expiry plus `delay`; its id and old expiry. By
    /// default by pop and insert; a structure that can change its head in place does.
    fn pop_and_reinsert(&mut self, delay: u64) -> Option<(u32, u64)> {
        let (id, expiry) = self.pop()?;
        self.insert(id, expiry.saturating_add(delay));
        Some((id, expiry))
    }

    /// The tick for which a driver sets its alarm: a lower bound of [`head`](Self::head), at the
    /// least cost that the queue offers.
    fn wake(&mut self) -> Option<u64> {
        self.head()
    }

    /// Hands what is due at `now` to `sink`, by id and expiry, at most `budget` timers; whether
    /// nothing that is due is left. By default one at a time; the budget then counts deliveries
    /// alone.
    fn advance(&mut self, now: u64, budget: usize, sink: &mut impl FnMut(u32, u64)) -> bool {
        for _ in 0..budget {
            let Some((id, expiry)) = self.pop_expired(now) else { return true };
            sink(id, expiry);
        }
        false
    }

    /// Bytes of the adapter that stand for what the caller keeps in its own objects (a key per
    /// timer): not the queue's memory.
    fn callers_bytes(&self) -> usize {
        0
    }
}

/// How a queue under measurement is made. An arena owns the nodes of those whose caller must.
pub(crate) trait Candidate: 'static {
    /// Memory that outlives the queue.
    type Arena;
    /// The queue.
    type Queue<'a>: BenchQueue;

    /// An arena for timers `0..capacity`.
    fn arena(capacity: usize) -> Self::Arena;

    /// An empty queue with room for timers `0..capacity`.
    fn queue(arena: &Self::Arena, capacity: usize) -> Self::Queue<'_>;

    /// Bytes of the queue itself, wherever it stands, without what its adapter adds: what an empty
    /// one costs before it allocates.
    const INLINE: usize = size_of::<Self::Queue<'static>>();

    /// Bytes that a timer takes at least, those that its caller keeps among them.
    const BYTES_PER_TIMER: usize = 24;

    /// The longest delay that it takes, in ticks.
    const HORIZON: u64 = u64::MAX;

    /// How late a timer may be that was armed `delay` ticks ahead; 0 for all but the granular.
    fn lateness(delay: u64) -> u64 {
        let _ = delay;
        0
    }

    /// Whether it can hold `capacity` timers at once; bounded structures say no beyond their bound.
    fn holds(capacity: usize) -> bool {
        let _ = capacity;
        true
    }
}
