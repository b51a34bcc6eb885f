//! The suite's view of a queue: the trait of a small adapter through which the suite tests the
//! queue.
//!
//! Times and values are plain numbers, so an adapter for a foreign queue has only some fifty lines.
//! A queue does not offer the operations that it lacks ([`Offers`]). The verdict on a clause that
//! needs a missing operation is "not offered", which is neither kept nor broken.

/// A timer that left the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fired {
    /// The value that was inserted.
    pub value: u32,
    /// The tick at which the timer was due, if the queue states it; otherwise the requested
    /// deadline.
    pub expiry: u64,
    /// `max(deadline, now at the last (re)insert)`, if the queue states it for a timer that leaves.
    pub deadline: Option<u64>,
}

impl Fired {
    /// Creates the result of a queue that states no deadline.
    #[must_use]
    pub fn new(value: u32, expiry: u64) -> Self {
        Self { value, expiry, deadline: None }
    }

    /// Adds the deadline that the queue states.
    #[must_use]
    pub fn asked(self, deadline: u64) -> Self {
        Self { deadline: Some(deadline), ..self }
    }
}

/// The error of an insert that the queue refuses, with the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full(pub u32);

/// The error for a key that names no pending timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stale;

/// The result of one advance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Advanced {
    /// Timers delivered.
    pub delivered: usize,
    /// Timers moved inside the queue.
    pub moved: usize,
    /// Whether no due timer is left.
    pub complete: bool,
}

/// The parts of the contract for which a queue has an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offers {
    /// Stale keys: the queue recognizes them.
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
    /// `tell`: `now` advances, and nothing leaves.
    pub tell: bool,
    /// `keep`, `arm`, `disarm`, `pop_and_keep`: a timer that is not pending keeps its key.
    pub idle: bool,
    /// `clear`.
    pub clear: bool,
    /// A structural self-check.
    pub check: bool,
    /// A capacity that can be reserved.
    pub reserve: bool,
    /// A bound that can be set.
    pub bound: bool,
    /// The sink of an advance runs inside the queue, so the queue has to survive its panics.
    pub sink: bool,
}

impl Offers {
    /// A queue that offers all of the contract.
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
        tell: true,
        idle: true,
        clear: true,
        check: true,
        reserve: true,
        bound: true,
        sink: true,
    };
    /// A queue that offers only insert, remove and advance.
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
        tell: false,
        idle: false,
        clear: false,
        check: false,
        reserve: false,
        bound: false,
        sink: false,
    };
}

/// A queue under test. The suite never calls a method for an operation that the queue does not
/// offer. If it did, the default method would panic.
pub trait Subject {
    /// The key of a pending timer.
    type Key: Copy + core::fmt::Debug;

    /// Returns the greatest `now` that was passed so far.
    fn now(&self) -> u64;

    /// Returns the number of pending timers, as the queue itself counts them.
    fn len(&self) -> usize;

    /// Returns whether no timer is pending.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Makes `value` pending; returns whether the head changed.
    ///
    /// # Errors
    /// [`Full`] with the value.
    fn insert(&mut self, deadline: u64, value: u32) -> Result<(Self::Key, bool), Full>;

    /// Removes a timer; returns its value and whether the head changed.
    ///
    /// # Errors
    /// [`Stale`] if the key names no pending timer.
    fn remove(&mut self, key: Self::Key) -> Result<(u32, bool), Stale>;

    /// Advances `now` and removes one due timer.
    fn pop_expired(&mut self, now: u64) -> Option<Fired> {
        let _ = now;
        unreachable!("pop is not offered")
    }

    /// Advances `now` and delivers the due timers, at most `budget` of them if the queue offers
    /// budgets. The default uses [`tell`](Self::tell), [`pop_expired`](Self::pop_expired) and
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

    /// Advances `now` and does nothing else. The default of [`advance`](Self::advance) calls this
    /// method.
    fn tell(&mut self, now: u64) {
        let _ = now;
        unreachable!("tell is not offered")
    }

    /// Gives a timer another deadline; returns whether the head changed.
    ///
    /// # Errors
    /// [`Stale`] if the key names no pending timer.
    fn reschedule(&mut self, key: Self::Key, deadline: u64) -> Result<bool, Stale> {
        let _ = (key, deadline);
        unreachable!("reschedule is not offered")
    }

    /// Returns the timer that leaves first.
    fn peek(&mut self) -> Option<Fired> {
        unreachable!("peek is not offered")
    }

    /// Returns the timer that leaves after the head.
    fn second(&mut self) -> Option<Fired> {
        unreachable!("second is not offered")
    }

    /// Returns the exact expiry of the head.
    fn next_expiry(&mut self) -> Option<u64> {
        unreachable!("next_expiry is not offered")
    }

    /// Returns the tick at which a driver has to wake.
    fn next_wake(&mut self) -> Option<u64> {
        unreachable!("next_wake is not offered")
    }

    /// Returns the tick at which a pending timer is due. The suite asks only granular queues
    /// ([`Make::LATENESS`]), because only they choose this tick.
    fn expiry(&self, key: Self::Key) -> Option<u64> {
        let _ = key;
        None
    }

    /// Returns whether the queue must move a pending timer inside before the timer can leave. The
    /// suite asks only queues that move timers ([`Make::MOVES`]). The queue is allowed to return
    /// `false` for a timer that it could still move.
    fn waits(&self, key: Self::Key) -> bool {
        let _ = key;
        false
    }

    /// Re-arms the head if it is due. `rearm` gets the head's expiry and returns the next deadline.
    fn rearm_expired(&mut self, now: u64, rearm: &mut dyn FnMut(u64) -> u64) -> Option<Fired> {
        let _ = (now, rearm);
        unreachable!("rearm is not offered")
    }

    /// Adds an idle timer to the queue.
    ///
    /// # Errors
    /// [`Full`] with the value.
    fn keep(&mut self, value: u32) -> Result<Self::Key, Full> {
        let _ = value;
        unreachable!("idle is not offered")
    }

    /// Makes an idle or pending timer pending; returns whether the head changed.
    ///
    /// # Errors
    /// [`Stale`] if the key names no timer in the queue.
    fn arm(&mut self, key: Self::Key, deadline: u64) -> Result<bool, Stale> {
        let _ = (key, deadline);
        unreachable!("idle is not offered")
    }

    /// Makes a pending timer idle; returns whether the head changed.
    ///
    /// # Errors
    /// [`Stale`] if the key names no pending timer.
    fn disarm(&mut self, key: Self::Key) -> Result<bool, Stale> {
        let _ = key;
        unreachable!("idle is not offered")
    }

    /// Advances `now` and makes one due timer idle.
    fn pop_and_keep(&mut self, now: u64) -> Option<Fired> {
        let _ = now;
        unreachable!("idle is not offered")
    }

    /// Removes all timers.
    fn clear(&mut self) {
        unreachable!("clear is not offered")
    }

    /// Verifies the structure.
    ///
    /// # Errors
    /// A description of the first invariant that does not hold.
    fn check(&self) -> Result<(), String> {
        unreachable!("check is not offered")
    }

    /// Returns the pending values in delivery order, if the structure can walk them in that order.
    fn in_order(&self) -> Option<Vec<u32>> {
        None
    }
}

/// Creates queues of one kind. If the nodes of a queue belong to its caller, an arena owns them.
pub trait Make: 'static {
    /// Memory that outlives the queue: nodes, a runtime, or nothing.
    type Arena;
    /// The queue.
    type Subject<'a>: Subject;

    /// Returns the queue's name in tables: `family/storage` for a queue of this project.
    fn name() -> String;

    /// The operations that the queue offers.
    const OFFERS: Offers;
    /// Whether the queue claims to be exact to the tick, and first-in-first-out among timers of
    /// equal deadline.
    const EXACT: bool;
    /// The bound of a granular queue: for a requested delay, the most ticks from the deadline to
    /// the expiry. Directly after each (re)insert, the suite asks such a queue for the expiry
    /// ([`Subject::expiry`]). The expiry must be within the bound, and the queue must then deliver
    /// the timer at that expiry.
    const LATENESS: Option<fn(u64) -> u64> = None;
    /// Whether an advance is allowed to move timers inside the queue at the cost of its budget. If
    /// not, an advance must never report moves.
    const MOVES: bool = false;

    /// Creates an arena for at most `inserts` inserts over the whole test.
    fn arena(inserts: usize) -> Self::Arena;

    /// Creates a queue with room for `capacity` timers. At most one queue uses an arena at a time,
    /// with at most one insert per node.
    fn make(arena: &Self::Arena, capacity: usize) -> Self::Subject<'_>;

    /// Creates a queue that refuses to hold more than `capacity` timers.
    fn make_bounded(arena: &Self::Arena, capacity: usize) -> Self::Subject<'_> {
        let _ = (arena, capacity);
        unreachable!("a bound is not offered")
    }
}
