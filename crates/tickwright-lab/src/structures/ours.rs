//! This project's queues under measurement: one adapter per storage.

use core::marker::PhantomData;
use std::fmt;

use tickwright_core::{
    Family, HookQueue, Inserted, Key, Order, Removed, SlabQueue, Timer, TimerQueue, TimerRef,
};

use crate::structures::candidate::{BenchQueue, Candidate};

/// Family `F` over slab storage. The 8-byte key per id stands for the place in the caller's own
/// object.
#[derive(Debug)]
pub(crate) struct Slab<F>(PhantomData<F>);

/// Family `F` over hook storage: one arena of nodes, named by index.
#[derive(Debug)]
pub(crate) struct Hook<F>(PhantomData<F>);

fn lateness(order: Order, delay: u64) -> u64 {
    match order {
        Order::Granular { lateness } => lateness(delay),
        _ => 0,
    }
}

pub(crate) struct SlabBench<F: Family> {
    queue: SlabQueue<F, u32>,
    keys: Vec<Option<Key>>,
    seen: Option<Key>,
}

impl<F: Family> fmt::Debug for SlabBench<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.queue.fmt(f)
    }
}

impl<F: Family + 'static> Candidate for Slab<F> {
    type Arena = ();
    type Queue<'a> = SlabBench<F>;

    fn arena(_capacity: usize) {}

    fn queue((): &(), capacity: usize) -> SlabBench<F> {
        // A family bounded below `capacity` is told apart by `holds`; the queue is then as good as
        // it gets.
        let queue = SlabQueue::with_capacity(capacity).unwrap_or_default();
        SlabBench { queue, keys: vec![None; capacity], seen: None }
    }

    const INLINE: usize = size_of::<SlabQueue<F, u32>>();

    fn lateness(delay: u64) -> u64 {
        lateness(SlabQueue::<F, u32>::ORDER, delay)
    }

    fn holds(capacity: usize) -> bool {
        SlabQueue::<F, u32>::with_capacity(capacity).is_ok()
    }
}

impl<F: Family> BenchQueue for SlabBench<F> {
    #[inline]
    fn insert(&mut self, id: u32, deadline: u64) {
        // A refusal loses the timer, which the comparison of answers reports.
        self.keys[id as usize] = self.queue.insert(deadline, id).ok().map(|Inserted { key, .. }| key);
    }

    #[inline]
    fn remove(&mut self, id: u32) {
        if let Some(key) = self.keys[id as usize] {
            let _ = self.queue.remove(key);
        }
    }

    #[inline]
    fn reschedule(&mut self, id: u32, deadline: u64) {
        if let Some(key) = self.keys[id as usize] {
            let _ = self.queue.reschedule(key, deadline);
        }
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
        Some((expired.value, expired.expiry))
    }

    #[inline]
    fn advance(&mut self, now: u64, budget: usize, sink: &mut impl FnMut(u32, u64)) -> bool {
        self.queue.advance_within(now, budget, |expired| sink(expired.value, expired.expiry)).complete
    }

    #[inline]
    fn pop_and_reinsert(&mut self, delay: u64) -> Option<(u32, u64)> {
        let now = self.queue.next_expiry()?;
        let mut id = 0;
        let expired = self.queue.pop_and_reinsert(now, |expiry, value| {
            id = *value;
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
        let expiry = self.queue.expiry(key).filter(|expiry| *expiry <= now)?;
        let Removed { value: id, .. } = self.queue.remove(key).ok()?;
        Some((id, expiry))
    }

    fn callers_bytes(&self) -> usize {
        self.keys.capacity() * size_of::<Option<Key>>()
    }
}

pub(crate) struct HookBench<'a, F: Family> {
    queue: HookQueue<'a, F, u32>,
    timers: &'a [Timer<F, u32>],
    seen: Option<TimerRef<'a, F, u32>>,
}

impl<F: Family> fmt::Debug for HookBench<'_, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.queue.fmt(f)
    }
}

impl<F: Family + 'static> Candidate for Hook<F> {
    type Arena = Vec<Timer<F, u32>>;
    type Queue<'a> = HookBench<'a, F>;

    fn arena(capacity: usize) -> Vec<Timer<F, u32>> {
        (0u32..).take(capacity).map(Timer::new).collect()
    }

    fn queue(arena: &Vec<Timer<F, u32>>, capacity: usize) -> HookBench<'_, F> {
        let mut queue = HookQueue::new();
        let _ = queue.reserve(capacity);
        HookBench { queue, timers: arena, seen: None }
    }

    const INLINE: usize = size_of::<HookQueue<'static, F, u32>>();

    const BYTES_PER_TIMER: usize = size_of::<Timer<F, u32>>();

    fn lateness(delay: u64) -> u64 {
        lateness(HookQueue::<'static, F, u32>::ORDER, delay)
    }

    fn holds(capacity: usize) -> bool {
        HookQueue::<F, u32>::new().reserve(capacity).is_ok()
    }
}

impl<F: Family> BenchQueue for HookBench<'_, F> {
    #[inline]
    fn insert(&mut self, id: u32, deadline: u64) {
        let _ = self.queue.insert(deadline, &self.timers[id as usize]);
    }

    #[inline]
    fn remove(&mut self, id: u32) {
        let _ = self.queue.remove((&self.timers[id as usize]).into());
    }

    #[inline]
    fn reschedule(&mut self, id: u32, deadline: u64) {
        let _ = self.queue.reschedule((&self.timers[id as usize]).into(), deadline);
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
        Some((expired.value.payload, expired.expiry))
    }

    #[inline]
    fn advance(&mut self, now: u64, budget: usize, sink: &mut impl FnMut(u32, u64)) -> bool {
        self.queue.advance_within(now, budget, |expired| sink(expired.value.payload, expired.expiry)).complete
    }

    #[inline]
    fn pop_and_reinsert(&mut self, delay: u64) -> Option<(u32, u64)> {
        let now = self.queue.next_expiry()?;
        let expired = self.queue.pop_and_reinsert(now, |expiry, _| expiry.saturating_add(delay))?;
        Some((expired.key.payload, expired.expiry))
    }

    #[inline]
    fn look_at_head(&mut self) -> Option<u64> {
        let head = self.queue.peek()?;
        self.seen = Some(head.key);
        Some(head.expiry)
    }

    #[inline]
    fn take_head(&mut self, now: u64) -> Option<(u32, u64)> {
        let timer = self.seen.take()?;
        let expiry = self.queue.expiry(timer.get()).filter(|expiry| *expiry <= now)?;
        self.queue.remove(timer).ok()?;
        Some((timer.payload, expiry))
    }
}
