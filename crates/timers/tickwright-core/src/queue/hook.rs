//! Hook storage: nodes are part of the caller's own structs, and the queue allocates nothing for
//! them.
//!
//! # Layout
//! ```text
//!   caller's memory:  .. | Timer<F, T> { hook: Hook { record, owner }, payload: T } | ..
//!                          ^ HookPtr: a pointer to the T-free prefix, made from the whole Timer
//! ```
//! A node's `owner` word names the queue that owns the node. The word is the queue's identity, or 0
//! while no queue owns the node. The word's top bit is set if the node was inserted by
//! `insert_pinned`. A queue writes a node's record only while the owner word names the queue and
//! the queue is borrowed mutably. One compare-exchange claims a node and one store releases it, so
//! threads can share timers.
//!
//! This file and the hooks of `tickwright-nodes` contain all pointer code of queues. `UNSAFE.md`
//! lists each unsafe block with the test that guards it.

#[cfg(feature = "alloc")]
use alloc::collections::TryReserveError;
use core::fmt;
use core::marker::PhantomData;
use core::num::NonZeroU32;
use core::pin::Pin;
use core::ptr::NonNull;

use tickwright_nodes::hook::{self, Hook, HookNodes, Hooked, PINNED, Shareable, draw};
use tickwright_nodes::{ByRef, const_unless_loom};

use crate::contract::{Exact, Expired, HeadChange, KeyError, Pending, Reject, Rejected, Tick, Violation};
use crate::queue::store::{Store, sealed};
use crate::queue::{Driven, Queue};
#[cfg(feature = "alloc")]
use crate::structure::sorted;
use crate::structure::{Discipline, Family, Handle, Ordered};

/// The kind of hook in a timer for queues of family `F`.
#[derive(Debug)]
pub struct InQueue<F>(PhantomData<fn() -> F>);

// SAFETY: apart from handles, records are `Send` and `Sync` (promise 4 of `Discipline`).
unsafe impl<F: Family> Hooked for InQueue<F> {
    type Record<P: Handle> = <F::Of<P> as Discipline<P>>::Record;
    const ID: &'static str = <F as Family>::ID;
    const DROPPED: &'static str =
        "a pinned timer was dropped while it was pending: remove it from its queue first";
}

/// A pointer to the hook of a linked timer. Only queues create it.
pub type HookPtr<F> = hook::HookPtr<InQueue<F>>;

/// A node with a payload: embed it in your own struct, or use it by itself.
///
/// A queue delivers `&Timer`. To get from a delivered timer to your struct, make the struct the
/// payload, or store a reference to the struct in the payload. While the timer is pending, the
/// payload is shared, so only its atomics and cells can change.
///
/// A timer is `!Unpin`, because a queue holds a pointer to the timer while the timer is pending.
/// `insert` borrows the timer for as long as the queue exists. If a timer was inserted by
/// `insert_pinned`, dropping it while it is pending aborts the process.
///
/// A queue has one payload type. That type can be an enum whose variants refer to the struct that
/// contains the timer. In this way a struct can have two timers, and two kinds of structs can share
/// a queue. (A struct that is not a static cannot refer to itself while it is created. In that case
/// use an index or an id as the payload.)
///
/// ```
/// use std::sync::Mutex;
/// use tickwright_core::{HookQueue, SortedList, Timer, TimerRef};
///
/// /// What has expired, and in which struct.
/// enum Event {
///     Idle(&'static Session),
///     Limit(&'static Session),
///     Sample(&'static Sensor),
/// }
///
/// struct Session {
///     id: u32,
///     idle: Timer<SortedList, Event>,
///     limit: Timer<SortedList, Event>,
/// }
///
/// struct Sensor {
///     pin: u8,
///     sample: Timer<SortedList, Event>,
/// }
///
/// static SESSION: Session = Session {
///     id: 7,
///     idle: Timer::new(Event::Idle(&SESSION)),
///     limit: Timer::new(Event::Limit(&SESSION)),
/// };
/// static SENSOR: Sensor = Sensor { pin: 13, sample: Timer::new(Event::Sample(&SENSOR)) };
/// static QUEUE: Mutex<HookQueue<'static, SortedList, Event>> = Mutex::new(HookQueue::new());
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let mut queue = QUEUE.lock()?;
///     let armed = [(300, &SESSION.limit), (50, &SESSION.idle), (60, &SENSOR.sample)];
///     for (deadline, timer) in armed {
///         queue.insert(deadline, timer).map_err(|rejected| rejected.reason)?;
///     }
///     let mut log = Vec::new();
///     while let Some(now) = queue.next_wake() {
///         while let Some(fired) = queue.pop_expired(now) {
///             match &fired.value.payload {
///                 // One timer of a struct cancels the other.
///                 Event::Idle(session) => {
///                     let _ = queue.remove(TimerRef::from(&session.limit));
///                     log.push(format!("{now}: session {} is idle", session.id));
///                 }
///                 Event::Limit(session) => log.push(format!("{now}: end of {}", session.id)),
///                 Event::Sample(sensor) => log.push(format!("{now}: read pin {}", sensor.pin)),
///             }
///         }
///     }
///     assert_eq!(log, ["50: session 7 is idle", "60: read pin 13"]);
///     Ok(())
/// }
/// ```
#[repr(C)]
pub struct Timer<F: Family, T> {
    hook: Hook<InQueue<F>>,
    /// The payload.
    pub payload: T,
}

impl<F: Family, T> Timer<F, T> {
    const_unless_loom! {
        /// Creates a node that is not in a queue.
        #[must_use]
        pub const fn new(payload: T) -> Self {
            Self { hook: Hook::new(), payload }
        }
    }

    /// Returns whether the timer is pending in a queue. If that queue was forgotten
    /// (`core::mem::forget`), the result is true forever.
    #[must_use]
    pub fn is_linked(&self) -> bool {
        self.hook.is_linked()
    }

    /// Returns the payload. A pending timer cannot be passed to this function, because its queue
    /// borrows it.
    #[must_use]
    pub fn into_payload(self) -> T {
        let Self { hook: _, payload } = self;
        payload
    }

    #[inline]
    fn pointer(&self) -> HookPtr<F> {
        // The pointer is derived from a reference to the whole timer, so that the payload can be
        // reached through the pointer.
        HookPtr::new(NonNull::from(self).cast::<Hook<InQueue<F>>>())
    }
}

impl<F: Family, T: fmt::Debug> fmt::Debug for Timer<F, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timer")
            .field("family", &F::ID)
            .field("linked", &self.is_linked())
            .field("payload", &self.payload)
            .finish_non_exhaustive()
    }
}

/// A reference to a caller-owned node, used as the key in a [`HookQueue`]. Two references are equal
/// when they refer to the same node. `TimerRef::from(&timer)` creates a key, so the caller need not
/// store keys.
pub type TimerRef<'a, F, T> = ByRef<'a, Timer<F, T>>;

/// A timer queue over nodes that the caller owns: family `F` over hook storage. A constant
/// expression can create the queue, so it can be a static.
///
/// ```
/// use tickwright_core::{HookQueue, RbTreeCached, Reject, Timer};
///
/// let (tea, egg) = (Timer::new("tea"), Timer::new("egg"));
/// let mut queue: HookQueue<'_, RbTreeCached, &str> = HookQueue::new();
/// queue.insert(300, &tea)?;
/// queue.insert(100, &egg)?;
/// assert!(queue.insert(5, &egg).is_err(), "already linked");
/// assert_eq!(queue.pop_expired(100).map(|t| t.value.payload), Some("egg"));
/// # Ok::<(), Reject>(())
/// ```
///
/// A queue and its nodes can be statics. In this example a lock protects the queue. In firmware,
/// code that masks the timer interrupt takes the place of the lock:
///
/// ```
/// use std::sync::Mutex;
/// use tickwright_core::{HookQueue, SortedList, Timer, TimerRef};
///
/// static LED: Timer<SortedList, u8> = Timer::new(13);
/// static QUEUE: Mutex<HookQueue<'static, SortedList, u8>> = Mutex::new(HookQueue::new());
///
/// let mut queue = QUEUE.lock()?;
/// queue.insert(100, &LED)?;
/// let change = queue.driven().reschedule(TimerRef::from(&LED), 40)?;
/// assert!(change.is_changed());
/// assert_eq!(queue.pop_expired(40).map(|timer| timer.value.payload), Some(13));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
///
/// # What happens when ...
/// | | scoped (`insert(&'a Timer)`) | pinned (`unsafe insert_pinned`) |
/// |---|---|---|
/// | a linked node is dropped | does not compile | aborts the process |
/// | a node is inserted twice | `AlreadyLinked` | `AlreadyLinked` |
/// | a node is offered to another queue | `WrongQueue` | `WrongQueue` |
/// | the queue is dropped | its nodes are unlinked | its nodes are unlinked |
/// | the queue is forgotten | its nodes stay marked as linked | the same; dropping a node aborts |
///
/// The nodes of a queue that was forgotten (`mem::forget`) cannot be inserted into any queue again.
///
/// `insert_pinned` is for objects that are freed before the queue is dropped: the caller promises
/// that all references to a timer end before the timer is dropped. `remove` and `reschedule` take
/// the timer itself as the key, and return [`KeyError::Stale`] for a timer that has fired or was
/// cancelled.
///
/// Threads can share timers, although only one thread at a time uses a queue: a queue claims a
/// timer by one compare-exchange and releases it by one store.
///
/// The compiler rejects a program that drops a linked node before its queue:
///
/// ```compile_fail,E0505
/// use tickwright_core::{HookQueue, SortedList, Timer};
///
/// let timer = Timer::new(());
/// let mut queue: HookQueue<'_, SortedList, ()> = HookQueue::new();
/// let _ = queue.insert(1, &timer);
/// drop(timer);
/// queue.pop_expired(1);
/// ```
///
/// The compiler also rejects a program that moves a linked node:
///
/// ```compile_fail,E0505
/// use tickwright_core::{HookQueue, SortedList, Timer};
///
/// let timer = Timer::new(());
/// let mut queue: HookQueue<'_, SortedList, ()> = HookQueue::new();
/// let _ = queue.insert(1, &timer);
/// let elsewhere = Box::new(timer);
/// queue.pop_expired(1);
/// ```
///
/// The compiler also rejects a program that declares a linked node after its queue, because the
/// node would be dropped before the queue:
///
/// ```compile_fail,E0597
/// use tickwright_core::{HookQueue, SortedList, Timer};
///
/// let mut queue: HookQueue<'_, SortedList, ()> = HookQueue::new();
/// let timer = Timer::new(());
/// let _ = queue.insert(1, &timer);
/// ```
///
/// A queue returns shared references to its timers, so it can be sent to another thread only if
/// threads can share its timers:
///
/// ```compile_fail,E0277
/// use core::cell::Cell;
/// use tickwright_core::{HookQueue, SortedList};
///
/// fn send<Q: Send>(_: Q) {}
/// send(HookQueue::<'static, SortedList, Cell<u32>>::new());
/// ```
///
/// A timer is `!Unpin`: pin it with `Box::pin`, `pin!` or a static.
///
/// ```compile_fail,E0277
/// use core::pin::Pin;
/// use tickwright_core::{SortedList, Timer};
///
/// let timer: Timer<SortedList, ()> = Timer::new(());
/// let _ = Pin::new(&timer);
/// ```
pub type HookQueue<'a, F, T> = Queue<Hooks<'a, F, T>>;

/// The store of a [`HookQueue`]: timers that the caller owns.
pub struct Hooks<'a, F: Family, T> {
    pub(crate) order: F::Of<HookPtr<F>>,
    nodes: HookNodes<InQueue<F>>,
    /// The queue's identity, or 0 until the first insert.
    id: u32,
    now: Tick,
    len: usize,
    _timers: PhantomData<&'a Timer<F, T>>,
}

// SAFETY: 1. Moving the queue moves the right to reach its nodes' records (see `Sync for Hook`). 2.
// The queue hands out `&'a Timer`, which may be sent because a `Timer` with `T: Sync` is `Sync`. 3.
// Apart from handles, the discipline and its records are `Send` (promise 4 of `Discipline`).
unsafe impl<F: Family, T: Sync> Send for Hooks<'_, F, T> where InQueue<F>: Shareable {}

// SAFETY: 1. Through `&HookQueue` records are only read. 2. Payloads are only handed out as
// `&Timer`, and `T` is `Sync`.
// 3. Apart from handles, the discipline and its records are `Sync` (promise 4 of `Discipline`).
unsafe impl<F: Family, T: Sync> Sync for Hooks<'_, F, T> where InQueue<F>: Shareable {}

impl<'a, F: Family, T> Queue<Hooks<'a, F, T>> {
    /// This constant does not compile in a program that creates a queue on a target where queues
    /// cannot draw an identity.
    const DRAWS_AN_IDENTITY: () = assert!(
        hook::IDENTITIES_ARE_DRAWN,
        "this target has no compare-exchange: enable the feature `critical-section` of `tickwright-core`, \
         or make the queue by `HookQueue::with_identity`"
    );

    /// Creates an empty queue. The queue draws its identity at its first insert. On targets without
    /// compare-exchange, a call of `new` compiles only with the feature `critical-section`. On
    /// those targets, [`with_identity`](Self::with_identity) works without the feature.
    ///
    /// The queue is all zeros, so a static queue lies in `.bss` and takes no flash.
    #[must_use]
    pub const fn new() -> Self {
        let () = Self::DRAWS_AN_IDENTITY;
        Self::without_identity()
    }

    const fn without_identity() -> Self {
        let store = Hooks {
            order: <F::Of<HookPtr<F>> as Discipline<HookPtr<F>>>::NEW,
            // SAFETY: the queue keeps its nodes to itself. The queue lends the nodes to its
            // discipline alone, which passes on only handles that it was given (promise 1 of
            // `Discipline`). 1. `Timer::pointer` made each handle from a reference to a whole
            // timer. 2. `claim` claimed the timer's hook, and `give_back` follows the timer's
            // removal from the discipline.
            nodes: unsafe { HookNodes::new() },
            id: 0,
            now: 0,
            len: 0,
            _timers: PhantomData,
        };
        Self { store }
    }

    /// Creates an empty queue with an identity that the caller chooses. Only the lower 31 bits of
    /// `id` are used.
    ///
    /// The identity is not zero, so a static queue lies in `.data` and takes its size both in RAM
    /// and in flash. A [`Wheel`](crate::Wheel) on 32-bit targets, for example, takes 11 KiB of
    /// each. A static queue created by [`new`](Self::new) takes no flash.
    ///
    /// # Safety
    /// 1. No other queue over family `F` ever has an identity with the same lower 31 bits, whether
    ///    that queue drew the identity or a caller chose it. (Queues draw identities from 1
    ///    upwards, so choose yours from 2^31 - 1 downwards.)
    /// 2. The lower 31 bits are not all 0.
    #[must_use]
    pub const unsafe fn with_identity(id: NonZeroU32) -> Self {
        let mut queue = Self::without_identity();
        queue.store.id = id.get() & !PINNED;
        queue
    }

    /// Performs one step of an advance, for a caller that uses the queue between two deliveries.
    /// The step removes one due timer, if there is one. Each node that moves inside the structure
    /// uses one unit of `budget`, and so does the delivered node. If `budget` is 0, only `now`
    /// advances. Clauses 15 and 16 hold for all steps of an advance together.
    pub fn pop_expired_within(
        &mut self,
        now: Tick,
        budget: &mut usize,
    ) -> Option<Expired<TimerRef<'a, F, T>, ()>> {
        self.update_now(now);
        let Expired { key, deadline, expiry, .. } = self.pop_within(budget)?;
        *budget = budget.saturating_sub(1);
        Some(Expired { key, deadline, expiry, value: () })
    }

    /// Makes room for `additional` more timers in families that have a growing buffer, such as
    /// heaps.
    ///
    /// # Errors
    /// [`Reject::Full`] when there is no memory for these timers, or when the queue's bound does
    /// not allow this many.
    pub fn reserve(&mut self, additional: usize) -> Result<(), Reject> {
        self.store.order.reserve(self.store.len, additional)
    }

    /// Inserts a timer whose lifetime the compiler cannot see. A granular queue also needs the
    /// current time: see [`insert_pinned_at`](Self::insert_pinned_at).
    ///
    /// # Errors
    /// As [`insert`](Self::insert).
    ///
    /// # Safety
    /// As [`insert_pinned_at`](Self::insert_pinned_at).
    pub unsafe fn insert_pinned(
        &mut self,
        deadline: Tick,
        timer: Pin<&Timer<F, T>>,
    ) -> Result<TimerRef<'a, F, T>, Reject>
    where
        F: Exact,
    {
        // SAFETY: the caller promises the same.
        Ok(unsafe { self.driven().insert_pinned(deadline, timer) }?.0)
    }

    /// Advances `now` as [`update_now`](Self::update_now) does, and inserts a timer whose lifetime
    /// the compiler cannot see.
    ///
    /// # Errors
    /// As [`insert_at`](Self::insert_at).
    ///
    /// # Safety
    /// Every reference to the timer that this queue returns has the lifetime `'a`. The queue
    /// returns such references as keys, and as results of delivery, removal, `peek`, `second` and
    /// iteration. The caller must ensure that no such reference is used after the timer is dropped
    /// or freed. In particular:
    /// 1. A sink or closure that receives the timer must not free it, because an argument counts as
    ///    in use until the call returns. Free the timer in a loop over
    ///    [`pop_expired`](Self::pop_expired);
    /// 2. Another thread that sees [`Timer::is_linked`] become false must not free the timer until
    ///    the call that unlinks the timer has returned.
    ///
    /// The caller need not remove the timer before it is dropped, because the drop of a pending
    /// timer aborts the process.
    pub unsafe fn insert_pinned_at(
        &mut self,
        deadline: Tick,
        timer: Pin<&Timer<F, T>>,
        now: Tick,
    ) -> Result<TimerRef<'a, F, T>, Reject> {
        // SAFETY: the caller promises the same.
        Ok(unsafe { self.driven().insert_pinned_at(deadline, timer, now) }?.0)
    }

    /// Iterates over all pending timers in the order of delivery.
    pub fn iter(&self) -> impl Iterator<Item = Pending<TimerRef<'a, F, T>>> + '_
    where
        F::Of<HookPtr<F>>: Ordered<HookPtr<F>>,
    {
        self.store.order.in_order(&self.store.nodes).filter_map(|p| self.pending(p))
    }

    /// Iterates over all pending timers in the order of delivery, in any structure: by expiry, and
    /// with equal expiry by arrival. The queue does not change. The call takes O(n log n), and
    /// allocates 24 bytes per timer until the iterator is dropped.
    ///
    /// # Errors
    /// [`TryReserveError`]: there is no memory for the sorted order.
    #[cfg(feature = "alloc")]
    pub fn iter_sorted(
        &self,
    ) -> Result<impl Iterator<Item = Pending<TimerRef<'a, F, T>>> + '_, TryReserveError> {
        let nodes = sorted(&self.store.order, &self.store.nodes, self.len())?;
        Ok(nodes.filter_map(|p| self.pending(p)))
    }

    /// Calls `visit` with each pending timer, in any order. The call takes O(n), and in wheels
    /// O(n + buckets).
    pub fn for_each(&self, mut visit: impl FnMut(Pending<TimerRef<'a, F, T>>)) {
        self.store.order.for_each(&self.store.nodes, |p| {
            if let Some(pending) = self.pending(p) {
                visit(pending);
            }
        });
    }
}

impl<'a, F: Family, T> Driven<'_, Hooks<'a, F, T>> {
    /// As [`Queue::insert_pinned`].
    ///
    /// # Errors
    /// As [`Queue::insert_pinned`].
    ///
    /// # Safety
    /// As [`Queue::insert_pinned_at`].
    pub unsafe fn insert_pinned(
        &mut self,
        deadline: Tick,
        timer: Pin<&Timer<F, T>>,
    ) -> Result<(TimerRef<'a, F, T>, HeadChange), Reject>
    where
        F: Exact,
    {
        let () = Self::IS_EXACT;
        // SAFETY: the caller promises the same.
        unsafe { self.insert_pinned_at(deadline, timer, self.0.now()) }
    }

    /// As [`Queue::insert_pinned_at`].
    ///
    /// # Errors
    /// As [`Queue::insert_pinned_at`].
    ///
    /// # Safety
    /// As [`Queue::insert_pinned_at`].
    pub unsafe fn insert_pinned_at(
        &mut self,
        deadline: Tick,
        timer: Pin<&Timer<F, T>>,
        now: Tick,
    ) -> Result<(TimerRef<'a, F, T>, HeadChange), Reject> {
        self.0.update_now(now);
        // SAFETY: 1. pinned memory stays valid until its drop, which aborts while the node is
        // linked;
        // 2. use of the longer lifetime after that is excluded by this function's own condition.
        let timer: &'a Timer<F, T> = unsafe { NonNull::from(timer.get_ref()).as_ref() };
        let (p, key) = self.0.store.claim(timer, PINNED)?;
        let (order, nodes, now) = self.0.store.parts_mut();
        Ok((key, order.insert(nodes, p, deadline, now)))
    }
}

impl<'a, F: Family, T> Hooks<'a, F, T> {
    fn identity(&mut self) -> Result<u32, Reject> {
        if self.id == 0 {
            self.id = draw().ok_or(Reject::NoIdentity)?.get();
        }
        Ok(self.id)
    }

    /// Makes room in the structure, and then marks the hook of `timer` as linked in this queue. The
    /// caller must link the hook.
    #[inline]
    fn claim(
        &mut self,
        timer: &'a Timer<F, T>,
        pinned: u32,
    ) -> Result<(HookPtr<F>, TimerRef<'a, F, T>), Reject> {
        let id = self.identity()?;
        // Room is made first, because a reserve that panicked after the claim would leave a node
        // that is marked but not linked.
        let room = self.order.reserve(self.len, 1);
        // SAFETY: 1. `id` is this queue's, which links the node or releases it below.
        unsafe { timer.hook.claim(id, pinned) }?;
        if let Err(full) = room {
            // SAFETY: 1. this queue has just claimed the hook; 2. no discipline was told of it.
            unsafe { timer.hook.release() };
            return Err(full);
        }
        self.len += 1;
        Ok((timer.pointer(), ByRef::from(timer)))
    }

    /// Returns the timer of a handle that this queue made.
    #[inline]
    fn timer(p: HookPtr<F>) -> TimerRef<'a, F, T> {
        // SAFETY: 1. `p` was made by `Timer::pointer` of a `Timer<F, T>` with this `T` (the queue's
        // type), from a reference to the whole object. `claim` did so, or `find` did so with a
        // timer that this queue owns and links. `Timer` is `repr(C)` with the hook first; 2.
        // that reference was valid for 'a (scoped by type, pinned by the condition of
        // `insert_pinned_at`). 3. Only the queue calls the store, whose field is private to this
        // crate, so no handle of another store comes here.
        ByRef::from(unsafe { p.as_ptr().cast::<Timer<F, T>>().as_ref() })
    }
}

impl<F: Family, T> sealed::Sealed for Hooks<'_, F, T> {}

impl<'a, F: Family, T> Store for Hooks<'a, F, T> {
    type Family = F;
    type Handle = HookPtr<F>;
    type Nodes = HookNodes<InQueue<F>>;
    type Key = TimerRef<'a, F, T>;
    type Value = &'a Timer<F, T>;
    type Name<'n>
        = &'n Timer<F, T>
    where
        Self: 'n;
    const QUEUE: &'static str = "HookQueue";

    #[inline]
    fn now(&self) -> Tick {
        self.now
    }

    #[inline]
    fn update_now(&mut self, now: Tick) {
        self.now = self.now.max(now);
    }

    #[inline]
    fn parts(&self) -> (&F::Of<HookPtr<F>>, &Self::Nodes) {
        (&self.order, &self.nodes)
    }

    #[inline]
    fn parts_mut(&mut self) -> (&mut F::Of<HookPtr<F>>, &mut Self::Nodes, Tick) {
        (&mut self.order, &mut self.nodes, self.now)
    }

    #[inline]
    fn count(&self) -> usize {
        self.len
    }

    #[inline]
    fn name<'n>(key: &'n TimerRef<'a, F, T>) -> &'n Timer<F, T> {
        key
    }

    #[inline]
    fn find(&self, timer: &Timer<F, T>) -> Result<HookPtr<F>, KeyError> {
        match timer.hook.owner() {
            0 => Err(KeyError::Stale),
            id if id == self.id => Ok(timer.pointer()),
            _ => Err(KeyError::WrongQueue),
        }
    }

    #[inline]
    fn key(&self, p: HookPtr<F>) -> Option<TimerRef<'a, F, T>> {
        Some(Self::timer(p))
    }

    #[inline]
    fn take_in(
        &mut self,
        value: &'a Timer<F, T>,
    ) -> Result<(HookPtr<F>, TimerRef<'a, F, T>), Rejected<&'a Timer<F, T>>> {
        self.claim(value, 0).map_err(|reason| Rejected { reason, value })
    }

    #[inline]
    fn give_back(&mut self, p: HookPtr<F>) -> Option<(TimerRef<'a, F, T>, &'a Timer<F, T>)> {
        let timer = Self::timer(p);
        self.len -= 1;
        // SAFETY: 1. this queue has claimed the node; 2. the discipline has unlinked it.
        unsafe { timer.get().hook.release() };
        Some((timer, timer.get()))
    }

    /// Always `None`, because an idle timer of a hook queue is not in any queue.
    fn give_back_idle(&mut self, _: TimerRef<'a, F, T>) -> Option<&'a Timer<F, T>> {
        None
    }

    #[inline]
    fn ask<R>(
        &self,
        p: HookPtr<F>,
        when: impl FnOnce(&&'a Timer<F, T>) -> R,
    ) -> Option<(TimerRef<'a, F, T>, R)> {
        let timer = Self::timer(p);
        Some((timer, when(&timer.get())))
    }

    fn give_back_all(&mut self) {
        // The structure unlinks one node at a time, because another queue, on another thread, can
        // claim a node as soon as the node is released. That queue then writes the node's links, so
        // this queue must not need these links after the release.
        while let Some(p) = self.order.take_any(&mut self.nodes) {
            self.give_back(p);
        }
    }

    fn check(&self, all_ours: bool) -> Result<(), Violation> {
        if all_ours { Ok(()) } else { Err(Violation::Owner) }
    }
}

impl<F: Family, T> Drop for Hooks<'_, F, T> {
    fn drop(&mut self) {
        self.give_back_all();
    }
}

impl<F: Family, T> Default for Queue<Hooks<'_, F, T>> {
    fn default() -> Self {
        Self::new()
    }
}

impl<F: Family, T> fmt::Debug for Hooks<'_, F, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hooks").field("family", &F::ID).field("len", &self.len).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
