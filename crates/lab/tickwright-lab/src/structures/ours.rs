//! The adapter of this project's queues, for both storages.

use core::marker::PhantomData;

use tickwright_core::storage::Idx;
use tickwright_core::structure::{Discipline, Record};
use tickwright_core::{Family, HookQueue, Key, Order, SlabQueue, Timer, TimerQueue, TimerRef};
use tickwright_nodes::hint::prefetch;

use crate::structures::candidate::{BenchQueue, Candidate, Dead, Timed};

/// Family `F` with slab storage. The 8-byte key per id stands for a field in the caller's own
/// object.
#[derive(Debug)]
pub(crate) struct Slab<F>(PhantomData<F>);

/// Family `F` with hook storage: one arena of nodes that are named by index.
#[derive(Debug)]
pub(crate) struct Hook<F>(PhantomData<F>);

/// The caller's mapping between ids and timers.
pub(crate) trait Ids<Q: TimerQueue> {
    /// See [`BenchQueue::dead`].
    const DEAD: Dead = Dead::Leave;

    /// Returns the value with which timer `id` is inserted.
    fn value(&self, id: u32) -> Q::Value;

    /// Returns the id of a value that the queue returns.
    fn id(value: &Q::Value) -> u32;

    /// Returns the key of the armed timer `id`.
    fn key(&self, id: u32) -> Option<Q::Key>;

    /// Stores the key of a timer that was armed. The key is `None` if the queue refused the timer.
    #[inline]
    fn note(&mut self, _id: u32, _key: Option<Q::Key>) {}

    /// Returns the deadline of a pending timer.
    fn expiry(queue: &Q, key: Q::Key) -> Option<u64>;

    /// See [`BenchQueue::hint`].
    fn hint(&self, queue: &Q, far: u32, near: u32);

    /// See [`BenchQueue::callers_bytes`].
    fn bytes(&self) -> usize {
        0
    }
}

impl<F: Family> Ids<SlabQueue<F, u32>> for Vec<Option<Key>> {
    const DEAD: Dead =
        if <F::Of<Idx> as Discipline<Idx>>::Record::REMEMBERS { Dead::AreSwept } else { Dead::Leave };

    #[inline]
    fn value(&self, id: u32) -> u32 {
        id
    }

    #[inline]
    fn id(value: &u32) -> u32 {
        *value
    }

    #[inline]
    fn key(&self, id: u32) -> Option<Key> {
        self[id as usize]
    }

    #[inline]
    fn note(&mut self, id: u32, key: Option<Key>) {
        self[id as usize] = key;
    }

    #[inline]
    fn expiry(queue: &SlabQueue<F, u32>, key: Key) -> Option<u64> {
        queue.expiry(key)
    }

    #[inline]
    fn hint(&self, queue: &SlabQueue<F, u32>, far: u32, near: u32) {
        prefetch(&raw const self[far as usize]);
        if let Some(key) = self[near as usize] {
            queue.hint(key);
        }
    }

    fn bytes(&self) -> usize {
        self.capacity() * size_of::<Option<Key>>()
    }
}

impl<'a, F: Family> Ids<HookQueue<'a, F, u32>> for &'a [Timer<F, u32>] {
    #[inline]
    fn value(&self, id: u32) -> &'a Timer<F, u32> {
        &self[id as usize]
    }

    #[inline]
    fn id(timer: &&'a Timer<F, u32>) -> u32 {
        timer.payload
    }

    #[inline]
    fn key(&self, id: u32) -> Option<TimerRef<'a, F, u32>> {
        Some((&self[id as usize]).into())
    }

    #[inline]
    fn expiry(queue: &HookQueue<'a, F, u32>, timer: TimerRef<'a, F, u32>) -> Option<u64> {
        queue.expiry(timer.get())
    }

    #[inline]
    fn hint(&self, _queue: &HookQueue<'a, F, u32>, _far: u32, near: u32) {
        prefetch(&raw const self[near as usize]);
    }
}

/// A queue with its caller's mapping of ids.
pub(crate) struct Bench<Q: TimerQueue, I> {
    queue: Q,
    ids: I,
    seen: Option<Q::Key>,
}

impl<F: Family + 'static> Candidate for Slab<F> {
    type Arena = ();
    type Queue<'a> = Bench<SlabQueue<F, u32>, Vec<Option<Key>>>;

    fn arena(_capacity: usize) {}

    fn queue((): &(), capacity: usize) -> Self::Queue<'_> {
        // If the bound of a family is below `capacity`, which `holds` detects, the queue begins
        // without reserved capacity.
        let queue = SlabQueue::with_capacity(capacity).unwrap_or_default();
        Bench { queue, ids: vec![None; capacity], seen: None }
    }

    const INLINE: usize = size_of::<SlabQueue<F, u32>>();

    const ORDER: Order = SlabQueue::<F, u32>::ORDER;

    fn holds(capacity: usize) -> bool {
        SlabQueue::<F, u32>::with_capacity(capacity).is_ok()
    }
}

impl<F: Family + 'static> Candidate for Hook<F> {
    type Arena = Vec<Timer<F, u32>>;
    type Queue<'a> = Bench<HookQueue<'a, F, u32>, &'a [Timer<F, u32>]>;

    fn arena(capacity: usize) -> Vec<Timer<F, u32>> {
        (0u32..).take(capacity).map(Timer::new).collect()
    }

    fn queue(arena: &Vec<Timer<F, u32>>, capacity: usize) -> Self::Queue<'_> {
        let mut queue = HookQueue::new();
        let _ = queue.reserve(capacity);
        Bench { queue, ids: arena, seen: None }
    }

    const INLINE: usize = size_of::<HookQueue<'static, F, u32>>();

    const BYTES_PER_TIMER: usize = size_of::<Timer<F, u32>>();

    const ORDER: Order = HookQueue::<'static, F, u32>::ORDER;

    fn holds(capacity: usize) -> bool {
        HookQueue::<F, u32>::new().reserve(capacity).is_ok()
    }
}

impl<Q: TimerQueue, I: Ids<Q>> Timed for Bench<Q, I> {
    const EXACT: bool = Q::ORDER.is_exact();
}

impl<Q: TimerQueue, I: Ids<Q>> BenchQueue for Bench<Q, I> {
    fn dead(&self) -> Dead {
        I::DEAD
    }

    #[inline]
    fn insert(&mut self, id: u32, deadline: u64) {
        // If the queue refuses the timer, the timer is lost, and the comparison of answers reports
        // the loss.
        let inserted = self.queue.insert_at(deadline, self.ids.value(id), self.queue.now());
        self.ids.note(id, inserted.ok());
    }

    #[inline]
    fn remove(&mut self, id: u32) {
        if let Some(key) = self.ids.key(id) {
            let _ = self.queue.remove(key);
        }
    }

    #[inline]
    fn reschedule(&mut self, id: u32, deadline: u64) {
        if let Some(key) = self.ids.key(id) {
            let _ = self.queue.reschedule_at(key, deadline, self.queue.now());
        }
    }

    #[inline]
    fn hint(&self, far: u32, near: u32) {
        self.ids.hint(&self.queue, far, near);
    }

    #[inline]
    fn head(&mut self) -> Option<u64> {
        self.queue.next_expiry()
    }

    #[inline]
    fn wake(&mut self) -> Option<u64> {
        self.queue.next_wake()
    }

    #[inline]
    fn second(&mut self) -> Option<u64> {
        Some(self.queue.second()?.expiry)
    }

    #[inline]
    fn pop_expired(&mut self, now: u64) -> Option<(u32, u64)> {
        let expired = self.queue.pop_expired(now)?;
        Some((I::id(&expired.value), expired.expiry))
    }

    #[inline]
    fn advance(&mut self, now: u64, budget: usize, sink: &mut impl FnMut(u32, u64)) -> bool {
        self.queue.advance_within(now, budget, |expired| sink(I::id(&expired.value), expired.expiry)).complete
    }

    #[inline]
    fn tell(&mut self, now: u64) {
        self.queue.update_now(now);
    }

    #[inline]
    fn pop_and_reinsert(&mut self, delay: u64) -> Option<(u32, u64)> {
        let now = self.queue.next_expiry()?;
        let mut id = 0;
        let expired = self.queue.pop_and_reinsert(now, |expiry, value| {
            id = I::id(value);
            expiry.saturating_add(delay)
        })?;
        Some((id, expired.expiry))
    }

    #[inline]
    fn look_at_head(&mut self) -> Option<u64> {
        let head = self.queue.peek()?;
        self.seen = Some(head.key);
        Some(head.expiry)
    }

    #[inline]
    fn take_head(&mut self, now: u64) -> Option<(u32, u64)> {
        let key = self.seen.take()?;
        let expiry = I::expiry(&self.queue, key).filter(|expiry| *expiry <= now)?;
        let value = self.queue.remove(key).ok()?;
        Some((I::id(&value), expiry))
    }

    fn callers_bytes(&self) -> usize {
        self.ids.bytes()
    }
}
