//! What the suite needs of a queue: the small adapter that a type implements to be held to the
//! contract.
//!
//! Times and values are plain numbers, so that an adapter for a foreign queue is some fifty lines.
//! What a queue does not have at all, it does not offer ([`Offers`]): the clause then reads "not
//! offered", which is neither kept nor broken.

/// A timer that left the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fired {
    /// What was inserted.
    pub value: u32,
    /// The tick at which the queue says it was due, where it says so; else the deadline that was
    /// asked for.
    pub expiry: u64,
    /// `max(deadline, now at the last (re)insert)`, where the queue says so of a timer that leaves.
    pub deadline: Option<u64>,
}

impl Fired {
    /// What a queue shows that says no deadline.
    #[must_use]
    pub fn new(value: u32, expiry: u64) -> Self {
        Self { value, expiry, deadline: None }
    }

    /// With the deadline that the queue says.
    #[must_use]
    pub fn asked(self, deadline: u64) -> Self {
        Self { deadline: Some(deadline), ..self }
    }
}

/// A queue that refuses an insert; the value comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full(pub u32);

/// A key that names no pending timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stale;

/// What one advance did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Advanced {
    /// Timers delivered.
    pub delivered: usize,
    /// Timers moved inside.
    pub moved: usize,
    /// Nothing due is left.
    pub complete: bool,
}

/// The parts of the contract that a queue has an operation for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offers {
    /// Keys that know that they are stale.
    pub stale_keys: bool,
    /// `pop_expired`: one timer at a time.
    pub pop: bool,
    /// `peek`.
    pub peek: bool,
    /// `reschedule`.
    pub reschedule: bool,
    /// `second`.
    pub second: bool,
    /// `next_expiry`, exact.
    pub next_expiry: bool,
    /// `next_wake`.
    pub next_wake: bool,
    /// Head-change reports.
    pub head_change: bool,
    /// `rearm_expired` in one step.
    pub rearm: bool,
    /// A budget for `advance`.
    pub budget: bool,
    /// `clear`.
    pub clear: bool,
    /// A structural self-check.
    pub check: bool,
    /// A capacity that can be reserved.
    pub reserve: bool,
    /// A bound that can be set.
    pub bound: bool,
    /// The sink of an advance runs inside the queue, so that its panics are the queue's business.
    pub sink: bool,
}

impl Offers {
    /// All of the contract.
    pub const ALL: Self = Self {
        stale_keys: true,
        pop: true,
        peek: true,
        reschedule: true,
        second: true,
        next_expiry: true,
        next_wake: true,
        head_change: true,
        rearm: true,
        budget: true,
        clear: true,
        check: true,
        reserve: true,
        bound: true,
        sink: true,
    };
    /// Insert, remove and advance alone.
    pub const NONE: Self = Self {
        stale_keys: false,
        pop: false,
        peek: false,
        reschedule: false,
        second: false,
        next_expiry: false,
        next_wake: false,
        head_change: false,
        rearm: false,
        budget: false,
        clear: false,
        check: false,
        reserve: false,
        bound: false,
        sink: false,
    };
}

/// A queue under test. Methods for what it does not offer are never called; their defaults say so.
pub trait Subject {
    /// Names a pending timer.
    type Key: Copy + core::fmt::Debug;

    /// The greatest `now` passed so far.
    fn now(&self) -> u64;

    /// How many timers are pending, as the queue itself counts them.
    fn len(&self) -> usize;

    /// Whether none is pending.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Makes `value` pending; says whether the head changed.
    ///
    /// # Errors
    /// [`Full`] with the value.
    fn insert(&mut self, deadline: u64, value: u32) -> Result<(Self::Key, bool), Full>;

    /// Takes a timer out; returns its value and whether the head changed.
    ///
    /// # Errors
    /// [`Stale`].
    fn remove(&mut self, key: Self::Key) -> Result<(u32, bool), Stale>;

    /// Moves `now` forward and takes one due timer.
    fn pop_expired(&mut self, now: u64) -> Option<Fired> {
        let _ = now;
        unreachable!("pop is not offered")
    }

    /// Moves `now` forward and delivers what is due, at most `budget` where that is offered. By
    /// default by [`tell`](Self::tell), [`pop_expired`](Self::pop_expired) and
    /// [`next_wake`](Self::next_wake).
    fn advance(&mut self, now: u64, budget: usize, sink: &mut dyn FnMut(Fired)) -> Advanced {
        self.tell(now);
        let mut delivered = 0;
        while delivered < budget {
            let Some(fired) = self.pop_expired(now) else {
                return Advanced { delivered, moved: 0, complete: true };
            };
            delivered += 1;
            sink(fired);
        }
        let complete = self.next_wake().is_none_or(|wake| wake > self.now());
        Advanced { delivered, moved: 0, complete }
    }

    /// Moves `now` forward and does nothing else: for the default of [`advance`](Self::advance)
    /// alone.
    fn tell(&mut self, now: u64) {
        let _ = now;
        unreachable!("advance is not by default")
    }

    /// Gives a timer another deadline; says whether the head changed.
    ///
    /// # Errors
    /// [`Stale`].
    fn reschedule(&mut self, key: Self::Key, deadline: u64) -> Result<bool, Stale> {
        let _ = (key, deadline);
        unreachable!("reschedule is not offered")
    }

    /// The timer that leaves first.
    fn peek(&mut self) -> Option<Fired> {
        unreachable!("peek is not offered")
    }

    /// The timer that leaves after the head.
    fn second(&mut self) -> Option<Fired> {
        unreachable!("second is not offered")
    }

    /// The exact expiry of the head.
    fn next_expiry(&mut self) -> Option<u64> {
        unreachable!("next_expiry is not offered")
    }

    /// When to wake up.
    fn next_wake(&mut self) -> Option<u64> {
        unreachable!("next_wake is not offered")
    }

    /// The tick at which a pending timer is due: of a granular queue ([`Make::LATENESS`]), which
    /// alone knows it.
    fn expiry(&self, key: Self::Key) -> Option<u64> {
        let _ = key;
        None
    }

    /// Re-arms the head if it is due, at the tick `rearm` returns for its expiry.
    fn rearm_expired(&mut self, now: u64, rearm: &mut dyn FnMut(u64) -> u64) -> Option<Fired> {
        let _ = (now, rearm);
        unreachable!("rearm is not offered")
    }

    /// Removes all.
    fn clear(&mut self) {
        unreachable!("clear is not offered")
    }

    /// Verifies the structure.
    ///
    /// # Errors
    /// What is broken, in words.
    fn check(&self) -> Result<(), String> {
        unreachable!("check is not offered")
    }

    /// The pending values in delivery order, where the structure has such a walk.
    fn in_order(&self) -> Option<Vec<u32>> {
        None
    }
}

/// Makes queues of one kind. An arena owns the nodes of those whose caller must.
pub trait Make: 'static {
    /// Memory that outlives the queue: nodes, a runtime, or nothing.
    type Arena;
    /// The queue.
    type Subject<'a>: Subject;

    /// Its name in tables, `family/storage` for ours.
    fn name() -> String;

    /// What it offers.
    const OFFERS: Offers;
    /// Whether it claims to be exact to the tick and first-in-first-out among equals.
    const EXACT: bool;
    /// The most by which a granular queue delays the expiry beyond the deadline, by the delay that
    /// was asked for. Such a queue is judged by the expiry that it says ([`Subject::expiry`]) right
    /// after a timer is (re)inserted. That expiry must be within the bound, and then be kept.
    const LATENESS: Option<fn(u64) -> u64> = None;
    /// Whether an advance may move timers inside and take that from its budget. What does not must
    /// never say that it did.
    const MOVES: bool = false;

    /// An arena for at most `inserts` inserts over the whole test.
    fn arena(inserts: usize) -> Self::Arena;

    /// A fresh queue with room for `capacity` timers. At most one queue uses an arena at a time,
    /// and it may be given one insert per node.
    fn make(arena: &Self::Arena, capacity: usize) -> Self::Subject<'_>;

    /// A fresh queue that refuses to hold more than `capacity` timers.
    fn make_bounded(arena: &Self::Arena, capacity: usize) -> Self::Subject<'_> {
        let _ = (arena, capacity);
        unreachable!("a bound is not offered")
    }
}
