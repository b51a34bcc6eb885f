//! Adapters for every family of `tickwright-core`, in both storages.

use core::cell::Cell;
use core::fmt;
use core::marker::PhantomData;

use tickwright_core::storage::HookPtr;
use tickwright_core::storage::Idx;
use tickwright_core::structure::{Discipline, Ordered};
use tickwright_core::{
    Advance, Expired, Family, HookQueue, InlineQueue, Key, Order, Pending, SlabQueue, Timer, TimerQueue,
    TimerRef,
};
use tickwright_core::{Explanation, Whereabouts};

use crate::subject::{Advanced, Fired, Full, Make, Offers, Stale, Subject};

/// How to walk the pending timers of a family in order, if the family allows it, and how to set up
/// its queues.
pub trait Walk<F: Family>: 'static {
    /// Sets up a new slab queue.
    fn prepare_slab(queue: &mut SlabQueue<F, u32>) {
        let _ = queue;
    }
    /// Sets up a new hook queue.
    fn prepare_hook(queue: &mut HookQueue<'_, F, Cell<u32>>) {
        let _ = queue;
    }
    /// Returns the values in a slab queue, in delivery order.
    fn slab(queue: &SlabQueue<F, u32>) -> Option<Vec<u32>>;
    /// Returns the values in a hook queue, in delivery order.
    fn hook(queue: &HookQueue<'_, F, Cell<u32>>) -> Option<Vec<u32>>;
}

/// No walk, for heaps.
#[derive(Debug)]
pub struct NoWalk;

impl<F: Family> Walk<F> for NoWalk {
    fn slab(_: &SlabQueue<F, u32>) -> Option<Vec<u32>> {
        None
    }

    fn hook(_: &HookQueue<'_, F, Cell<u32>>) -> Option<Vec<u32>> {
        None
    }
}

/// A walk with `iter`, for lists and trees.
#[derive(Debug)]
pub struct InOrder;

impl<F: Family> Walk<F> for InOrder
where
    F::Of<Idx>: Ordered<Idx>,
    F::Of<HookPtr<F>>: Ordered<HookPtr<F>>,
{
    fn slab(queue: &SlabQueue<F, u32>) -> Option<Vec<u32>> {
        Some(queue.iter().map(|(_, &value)| value).collect())
    }

    fn hook(queue: &HookQueue<'_, F, Cell<u32>>) -> Option<Vec<u32>> {
        Some(queue.iter().map(|pending| pending.key.get().payload.get()).collect())
    }
}

/// Like [`NoWalk`], for queues whose arrival numbers begin at `FIRST`. If `FIRST` is close to the
/// last possible number, the queue soon renumbers its timers.
#[derive(Debug)]
pub struct Worn<const FIRST: u32>;

impl<F: Family, const FIRST: u32> Walk<F> for Worn<FIRST> {
    fn prepare_slab(queue: &mut SlabQueue<F, u32>) {
        queue.start_sequence_at(FIRST);
    }

    fn prepare_hook(queue: &mut HookQueue<'_, F, Cell<u32>>) {
        queue.start_sequence_at(FIRST);
    }

    fn slab(_: &SlabQueue<F, u32>) -> Option<Vec<u32>> {
        None
    }

    fn hook(_: &HookQueue<'_, F, Cell<u32>>) -> Option<Vec<u32>> {
        None
    }
}

/// Returns the bound that a granular family declares.
const fn lateness(order: Order) -> Option<fn(u64) -> u64> {
    match order {
        Order::Granular { lateness } => Some(lateness),
        _ => None,
    }
}

/// Returns whether a timer with this explanation must be moved before it leaves. A timer in a
/// bucket of a higher level of a wheel leaves directly from that bucket, but only while it is the
/// bucket's only timer.
fn waits(explanation: Option<Explanation>) -> bool {
    match explanation.map(|explanation| explanation.whereabouts) {
        Some(Whereabouts::Bucket { level, moves_at, .. }) => level > 0 || moves_at.is_some(),
        Some(Whereabouts::Deferred { .. }) => true,
        _ => false,
    }
}

fn advanced(advance: Advance) -> Advanced {
    Advanced { delivered: advance.delivered, moved: advance.moved, complete: advance.complete }
}

/// The methods of [`Subject`] that make the same call in both storages; `$at` reads the value of a
/// key.
macro_rules! shared_methods {
    ($at:expr) => {
        fn now(&self) -> u64 {
            self.queue.now()
        }

        fn len(&self) -> usize {
            self.queue.len()
        }

        fn tell(&mut self, now: u64) {
            self.queue.update_now(now);
        }

        fn reschedule(&mut self, key: Self::Key, deadline: u64) -> Result<bool, Stale> {
            let now = self.queue.now();
            Ok(self.queue.driven().reschedule_at(key, deadline, now).map_err(|_| Stale)?.is_changed())
        }

        fn peek(&mut self) -> Option<Fired> {
            let at = self.queue.peek()?;
            Some($at(&self.queue, at))
        }

        fn second(&mut self) -> Option<Fired> {
            let at = self.queue.second()?;
            Some($at(&self.queue, at))
        }

        fn next_expiry(&mut self) -> Option<u64> {
            self.queue.next_expiry()
        }

        fn next_wake(&mut self) -> Option<u64> {
            self.queue.next_wake()
        }

        fn clear(&mut self) {
            self.queue.clear();
        }

        fn check(&self) -> Result<(), String> {
            self.queue.check().map_err(|violation| violation.to_string())
        }
    };
}

/// The methods of [`Subject`] that make the same call on every kind of slab.
macro_rules! slab_methods {
    () => {
        fn rearm_expired(&mut self, now: u64, rearm: &mut dyn FnMut(u64) -> u64) -> Option<Fired> {
            let Expired { key, expiry, deadline, .. } =
                self.queue.pop_and_reinsert(now, |expiry, _| rearm(expiry))?;
            let value = self.queue.get(key).copied().unwrap_or(u32::MAX);
            Some(Fired::new(value, expiry).asked(deadline))
        }

        fn keep(&mut self, value: u32) -> Result<Key, Full> {
            self.queue.insert_idle(value).map_err(|rejected| Full(rejected.value))
        }

        fn arm(&mut self, key: Key, deadline: u64) -> Result<bool, Stale> {
            let now = self.queue.now();
            Ok(self.queue.driven().arm_at(key, deadline, now).map_err(|_| Stale)?.is_changed())
        }

        fn disarm(&mut self, key: Key) -> Result<bool, Stale> {
            Ok(self.queue.driven().disarm(key).map_err(|_| Stale)?.is_changed())
        }

        fn pop_and_keep(&mut self, now: u64) -> Option<Fired> {
            let Expired { key, expiry, deadline, .. } = self.queue.pop_and_keep(now)?;
            let value = self.queue.get(key).copied().unwrap_or(u32::MAX);
            Some(Fired::new(value, expiry).asked(deadline))
        }
    };
}

/// The methods of [`Subject`] for a slab whose timers leave it when they are delivered.
macro_rules! owned_methods {
    () => {
        fn insert(&mut self, deadline: u64, value: u32) -> Result<(Key, bool), Full> {
            let now = self.queue.now();
            let inserted = self.queue.driven().insert_at(deadline, value, now);
            let (key, change) = inserted.map_err(|rejected| Full(rejected.value))?;
            Ok((key, change.is_changed()))
        }

        fn remove(&mut self, key: Key) -> Result<(u32, bool), Stale> {
            let (value, change) = self.queue.driven().remove(key).map_err(|_| Stale)?;
            Ok((value, change.is_changed()))
        }

        fn pop_expired(&mut self, now: u64) -> Option<Fired> {
            let Expired { value, expiry, deadline, .. } = self.queue.pop_expired(now)?;
            Some(Fired::new(value, expiry).asked(deadline))
        }

        fn advance(&mut self, now: u64, budget: usize, sink: &mut dyn FnMut(Fired)) -> Advanced {
            advanced(self.queue.advance_within(now, budget, |Expired { value, expiry, deadline, .. }| {
                sink(Fired::new(value, expiry).asked(deadline));
            }))
        }

        fn expiry(&self, key: Key) -> Option<u64> {
            self.queue.expiry(key)
        }

        fn waits(&self, key: Key) -> bool {
            waits(self.queue.explain(key).ok())
        }

        slab_methods!();
    };
}

/// Creates slab queues of family `F`.
pub struct Slab<F, W = NoWalk>(PhantomData<(F, W)>);

impl<F, W> fmt::Debug for Slab<F, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Slab")
    }
}

/// A slab queue under test.
#[derive(Debug)]
pub struct SlabSubject<F: Family, W> {
    queue: SlabQueue<F, u32>,
    _walk: PhantomData<W>,
}

impl<F: Family + 'static, W: Walk<F>> Make for Slab<F, W> {
    type Arena = ();
    type Subject<'a> = SlabSubject<F, W>;

    fn name() -> String {
        format!("{}/slab", F::ID)
    }

    const OFFERS: Offers = Offers::ALL;
    const EXACT: bool = SlabQueue::<F, u32>::ORDER.is_exact();
    const LATENESS: Option<fn(u64) -> u64> = lateness(SlabQueue::<F, u32>::ORDER);
    const MOVES: bool = <F::Of<Idx> as Discipline<Idx>>::MOVES;

    fn arena(_: usize) {}

    fn make((): &(), capacity: usize) -> SlabSubject<F, W> {
        // A family whose own bound is below `capacity` refuses it, so the queue starts without
        // capacity. The suite stays within that bound.
        let mut queue = SlabQueue::with_capacity(capacity).unwrap_or_default();
        W::prepare_slab(&mut queue);
        SlabSubject { queue, _walk: PhantomData }
    }

    fn make_bounded((): &(), capacity: usize) -> SlabSubject<F, W> {
        let mut queue = SlabQueue::bounded(capacity).unwrap_or_default();
        W::prepare_slab(&mut queue);
        SlabSubject { queue, _walk: PhantomData }
    }
}

impl<F: Family, W: Walk<F>> Subject for SlabSubject<F, W> {
    type Key = Key;

    shared_methods!(|queue: &SlabQueue<F, u32>, at: Pending<Key>| {
        Fired::new(queue.get(at.key).copied().unwrap_or(u32::MAX), at.expiry)
    });

    owned_methods!();

    fn in_order(&self) -> Option<Vec<u32>> {
        W::slab(&self.queue)
    }
}

/// Creates queues of family `F` with `N` slots inside.
pub struct Inline<F, const N: usize>(PhantomData<F>);

impl<F, const N: usize> fmt::Debug for Inline<F, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Inline")
    }
}

/// A queue under test whose slots are inside the queue value.
#[derive(Debug)]
pub struct InlineSubject<F: Family, const N: usize> {
    queue: InlineQueue<F, u32, N>,
}

impl<F: Family + 'static, const N: usize> Make for Inline<F, N> {
    type Arena = ();
    type Subject<'a> = InlineSubject<F, N>;

    fn name() -> String {
        format!("{}/inline", F::ID)
    }

    /// The queue's type fixes its bound, so no bound can be set.
    const OFFERS: Offers = Offers { bound: false, ..Offers::ALL };
    const EXACT: bool = <Slab<F> as Make>::EXACT;
    const LATENESS: Option<fn(u64) -> u64> = <Slab<F> as Make>::LATENESS;
    const MOVES: bool = <Slab<F> as Make>::MOVES;

    fn arena(_: usize) {}

    fn make((): &(), capacity: usize) -> InlineSubject<F, N> {
        assert!(capacity <= N, "the suite asks for {capacity} slots");
        let mut queue = InlineQueue::new();
        // As with slabs, a family whose own bound is smaller refuses the capacity.
        let _ = queue.reserve(capacity);
        InlineSubject { queue }
    }
}

impl<F: Family, const N: usize> Subject for InlineSubject<F, N> {
    type Key = Key;

    shared_methods!(|queue: &InlineQueue<F, u32, N>, at: Pending<Key>| {
        Fired::new(queue.get(at.key).copied().unwrap_or(u32::MAX), at.expiry)
    });

    owned_methods!();
}

/// Creates hook queues of family `F`, over nodes that an arena owns. Every insert takes a fresh
/// node, so that no key is used twice.
pub struct Hook<F, W = NoWalk>(PhantomData<(F, W)>);

impl<F, W> fmt::Debug for Hook<F, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hook")
    }
}

/// A hook queue under test.
#[derive(Debug)]
pub struct HookSubject<'a, F: Family, W> {
    queue: HookQueue<'a, F, Cell<u32>>,
    fresh: core::slice::Iter<'a, Timer<F, Cell<u32>>>,
    _walk: PhantomData<W>,
}

impl<F: Family + 'static, W: Walk<F>> Make for Hook<F, W> {
    type Arena = Vec<Timer<F, Cell<u32>>>;
    type Subject<'a> = HookSubject<'a, F, W>;

    fn name() -> String {
        format!("{}/hook", F::ID)
    }

    /// The caller owns the nodes, so a hook queue has no bound that can be set.
    const OFFERS: Offers = Offers { bound: false, ..Offers::ALL };
    const EXACT: bool = HookQueue::<'static, F, Cell<u32>>::ORDER.is_exact();
    const LATENESS: Option<fn(u64) -> u64> = lateness(HookQueue::<'static, F, Cell<u32>>::ORDER);
    const MOVES: bool = <F::Of<HookPtr<F>> as Discipline<HookPtr<F>>>::MOVES;

    fn arena(inserts: usize) -> Self::Arena {
        (0..inserts).map(|_| Timer::new(Cell::new(u32::MAX))).collect()
    }

    fn make(arena: &Self::Arena, capacity: usize) -> HookSubject<'_, F, W> {
        let mut queue = HookQueue::new();
        // As with slabs, a family whose own bound is smaller refuses the capacity, and keeps its
        // bound.
        let _ = queue.reserve(capacity);
        W::prepare_hook(&mut queue);
        HookSubject { queue, fresh: arena.iter(), _walk: PhantomData }
    }
}

impl<'a, F: Family, W: Walk<F>> Subject for HookSubject<'a, F, W> {
    type Key = TimerRef<'a, F, Cell<u32>>;

    shared_methods!(|_: &HookQueue<'a, F, Cell<u32>>, at: Pending<Self::Key>| Fired::new(
        at.key.payload.get(),
        at.expiry
    ));

    fn insert(&mut self, deadline: u64, value: u32) -> Result<(Self::Key, bool), Full> {
        let node = self.fresh.next().ok_or(Full(value))?;
        node.payload.set(value);
        let now = self.queue.now();
        let (key, change) = self.queue.driven().insert_at(deadline, node, now).map_err(|_| Full(value))?;
        Ok((key, change.is_changed()))
    }

    fn remove(&mut self, key: Self::Key) -> Result<(u32, bool), Stale> {
        let (node, change) = self.queue.driven().remove(key).map_err(|_| Stale)?;
        Ok((node.payload.get(), change.is_changed()))
    }

    fn pop_expired(&mut self, now: u64) -> Option<Fired> {
        let Expired { value, expiry, deadline, .. } = self.queue.pop_expired(now)?;
        Some(Fired::new(value.payload.get(), expiry).asked(deadline))
    }

    fn advance(&mut self, now: u64, budget: usize, sink: &mut dyn FnMut(Fired)) -> Advanced {
        advanced(self.queue.advance_within(now, budget, |Expired { value, expiry, deadline, .. }| {
            sink(Fired::new(value.payload.get(), expiry).asked(deadline));
        }))
    }

    fn rearm_expired(&mut self, now: u64, rearm: &mut dyn FnMut(u64) -> u64) -> Option<Fired> {
        let Expired { key, expiry, deadline, .. } =
            self.queue.pop_and_reinsert(now, |expiry, _| rearm(expiry))?;
        Some(Fired::new(key.payload.get(), expiry).asked(deadline))
    }

    /// A timer that the caller owns is idle while it is not in a queue.
    fn keep(&mut self, value: u32) -> Result<Self::Key, Full> {
        let node = self.fresh.next().ok_or(Full(value))?;
        node.payload.set(value);
        Ok(TimerRef::from(node))
    }

    fn arm(&mut self, key: Self::Key, deadline: u64) -> Result<bool, Stale> {
        if self.queue.contains(&key) {
            return self.reschedule(key, deadline);
        }
        let now = self.queue.now();
        Ok(self.queue.driven().insert_at(deadline, key.get(), now).map_err(|_| Stale)?.1.is_changed())
    }

    fn disarm(&mut self, key: Self::Key) -> Result<bool, Stale> {
        Ok(self.queue.contains(&key) && self.remove(key)?.1)
    }

    fn pop_and_keep(&mut self, now: u64) -> Option<Fired> {
        self.pop_expired(now)
    }

    fn expiry(&self, key: Self::Key) -> Option<u64> {
        self.queue.expiry(key.get())
    }

    fn waits(&self, key: Self::Key) -> bool {
        waits(self.queue.explain(key.get()).ok())
    }

    fn in_order(&self) -> Option<Vec<u32>> {
        W::hook(&self.queue)
    }
}

/// Creates slab queues that keep their timers: a timer that leaves becomes idle, and the next
/// insert arms it again.
pub struct Kept<F>(PhantomData<F>);

impl<F> fmt::Debug for Kept<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Kept")
    }
}

/// A slab queue under test, and its idle timers.
#[derive(Debug)]
pub struct KeptSubject<F: Family> {
    queue: SlabQueue<F, u32>,
    idle: Vec<Key>,
}

impl<F: Family + 'static> Make for Kept<F> {
    type Arena = ();
    type Subject<'a> = KeptSubject<F>;

    fn name() -> String {
        format!("{}/kept", F::ID)
    }

    /// Keys are reused, so an old key can name a timer that the suite regards as new.
    const OFFERS: Offers = Offers { stale_keys: false, ..Offers::ALL };
    const EXACT: bool = <Slab<F> as Make>::EXACT;
    const LATENESS: Option<fn(u64) -> u64> = <Slab<F> as Make>::LATENESS;

    fn arena(_: usize) {}

    fn make((): &(), capacity: usize) -> KeptSubject<F> {
        let queue = SlabQueue::with_capacity(capacity).unwrap_or_default();
        KeptSubject { queue, idle: Vec::with_capacity(capacity) }
    }

    fn make_bounded((): &(), capacity: usize) -> KeptSubject<F> {
        let queue = SlabQueue::bounded(capacity).unwrap_or_default();
        KeptSubject { queue, idle: Vec::with_capacity(capacity) }
    }
}

impl<F: Family> Subject for KeptSubject<F> {
    type Key = Key;

    shared_methods!(|queue: &SlabQueue<F, u32>, at: Pending<Key>| {
        Fired::new(queue.get(at.key).copied().unwrap_or(u32::MAX), at.expiry)
    });

    fn insert(&mut self, deadline: u64, value: u32) -> Result<(Key, bool), Full> {
        // After a `clear`, the keys of idle timers are stale, so such keys are skipped.
        while let Some(key) = self.idle.pop() {
            if let Some(place) = self.queue.get_mut(key) {
                *place = value;
                return Ok((key, self.arm(key, deadline).map_err(|Stale| Full(value))?));
            }
        }
        let key = self.keep(value)?;
        Ok((key, self.arm(key, deadline).map_err(|Stale| Full(value))?))
    }

    fn remove(&mut self, key: Key) -> Result<(u32, bool), Stale> {
        let value = *self.queue.get(key).ok_or(Stale)?;
        let head = self.disarm(key)?;
        self.idle.push(key);
        Ok((value, head))
    }

    fn pop_expired(&mut self, now: u64) -> Option<Fired> {
        let Expired { key, expiry, deadline, .. } = self.queue.pop_and_keep(now)?;
        self.idle.push(key);
        let value = self.queue.get(key).copied().unwrap_or(u32::MAX);
        Some(Fired::new(value, expiry).asked(deadline))
    }

    slab_methods!();

    fn expiry(&self, key: Key) -> Option<u64> {
        self.queue.expiry(key)
    }
}
