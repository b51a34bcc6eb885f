//! The operations: one structure does the work, or two of them during a move.

use core::fmt;
use core::marker::PhantomData;

use super::choice::{Habit, Kind, Limits};
use super::parts::{BUDGET, Move, Parts, spend_after_pop, with_part};
use super::record::{AdaptiveRecord, Holder};
use crate::contract::{HeadChange, Order, Reject, Tick, Violation};
use crate::explain::Explanation;
use crate::storage::{Discipline, Due, Handle, Nodes};

/// A ladder is left with at most this many dead entries. Each step of the move may drop 60 of them,
/// so the move takes a few steps more.
const MOST_DEAD: usize = 256;

/// The adaptive queue over handles `P`.
pub struct Adaptive<P: Handle, L> {
    pub(super) parts: Parts<P>,
    /// The structure that serves, or the one that is being left.
    pub(super) kind: Kind,
    /// The structure whose head leaves first.
    pub(super) first: Kind,
    pub(super) len: usize,
    /// With more than `most` or fewer than `least` timers, the next insert or removal chooses
    /// again. During a move `most` is 0 and `least` is `usize::MAX`. So each operation takes the
    /// slow path.
    most: usize,
    least: usize,
    /// Each structure that may later serve this many timers has room for them.
    reserved: usize,
    pub(super) going: Option<Move>,
    /// The number of ladders that were left.
    pub(super) left: u8,
    /// What records say of timers in `kind`.
    serving: Holder,
    pub(super) habit: Habit,
    /// Whether the structure is a wheel that gives way to a ladder once most timers expire.
    is_undecided: bool,
    /// A tick at or before the greatest `now` of all calls.
    pub(super) now: Tick,
    /// No timer is due before this tick, and `next_wake` is not earlier.
    pub(super) quiet: Tick,
    _limits: PhantomData<L>,
}

impl<P: Handle, L> fmt::Debug for Adaptive<P, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Adaptive")
            .field("kind", &self.kind)
            .field("len", &self.len)
            .field("going", &self.going)
            .finish_non_exhaustive()
    }
}

impl<P: Handle, L: Limits> Adaptive<P, L> {
    /// Returns `timers` plus a reserve for timers that are inserted during a move.
    const fn with_slack(timers: usize) -> usize {
        timers.saturating_add(timers / 2).saturating_add(16)
    }

    /// Makes room for `timers` in each structure that may later serve them.
    #[cold]
    fn grow(&mut self, timers: usize) -> Result<(), Reject> {
        // A ladder cannot number 2^31 timers or more.
        if timers >= 1 << 31 {
            return Err(Reject::Full);
        }
        for kind in [Kind::Flat, Kind::Heap, Kind::Wheel] {
            if kind <= Kind::of::<L>(timers) {
                // During a move, a structure may hold more timers than it serves.
                let holds = kind == self.kind || self.going.is_some_and(|going| going.to == kind);
                let most = timers.min(kind.most::<L>().max(if holds { self.len } else { 0 }));
                self.parts.reserve(kind, Self::with_slack(most))?;
            }
        }
        if timers > L::WHEEL {
            self.parts.reserve(Kind::Ladder, timers)?;
        }
        self.reserved = timers;
        Ok(())
    }

    /// The best structure for the current timers.
    fn best(&self) -> Kind {
        let by_len = Kind::of::<L>(self.len);
        if by_len == Kind::Ladder {
            // A wheel stays until most timers expire.
            if self.kind == Kind::Ladder || self.habit.is_to_expire() { Kind::Ladder } else { Kind::Wheel }
        } else if by_len < self.kind && (self.len >= self.least() || self.has_many_dead()) {
            // The population is small, but not so small that a change pays; or the ladder's entries
            // would make the move long.
            self.kind
        } else {
            by_len
        }
    }

    /// Whether a move out of the ladder would read many entries of timers that are gone. Later pops
    /// drop them. An empty ladder drops all at once.
    fn has_many_dead(&self) -> bool {
        self.kind == Kind::Ladder && self.len > 0 && self.parts.ladder.0[0].dead() > MOST_DEAD
    }

    /// With fewer timers than this, a smaller structure serves.
    fn least(&self) -> usize {
        if self.kind == Kind::Ladder && self.left == Holder::LEAVES { 0 } else { self.kind.least::<L>() }
    }

    /// What records say of timers in the structure of that kind.
    #[inline]
    pub(super) fn holder(&self, kind: Kind) -> Holder {
        Holder::new(kind, self.left)
    }

    /// Records which structure serves, and sets the populations at which the queue chooses again.
    pub(super) fn settle(&mut self) {
        self.first = match self.going {
            Some(going) if going.arrived > 0 => going.to,
            _ => self.kind,
        };
        self.serving = self.holder(self.kind);
        if self.going.is_some() {
            (self.most, self.least, self.is_undecided) = (0, usize::MAX, false);
            return;
        }
        self.is_undecided = self.kind == Kind::Wheel && self.len > L::WHEEL;
        self.most = if self.is_undecided { usize::MAX } else { self.kind.most::<L>() };
        self.least = self.least();
        if matches!(self.kind, Kind::Flat | Kind::Heap) {
            self.habit.forget();
        }
        self.habit.judge::<L>(self.len);
    }

    /// Begins a move if another structure serves better, and spends some of `budget` on it. `head`
    /// is the head change of the operation, which the result includes.
    #[cold]
    #[inline(never)]
    fn choose(
        &mut self,
        nodes: &mut impl Nodes<P, AdaptiveRecord<P>>,
        now: Tick,
        head: HeadChange,
        budget: &mut usize,
    ) -> HeadChange {
        if self.going.is_some() {
            return head;
        }
        self.now = now;
        self.habit.judge::<L>(self.len);
        let best = self.best();
        if best == self.kind {
            self.settle();
            return head;
        }
        self.begin(nodes, best, budget);
        HeadChange::Changed
    }

    /// Inserts `p`, which is counted in `len`, during a move, or when the queue must choose again.
    #[cold]
    #[inline(never)]
    fn insert_slowly(
        &mut self,
        nodes: &mut impl Nodes<P, AdaptiveRecord<P>>,
        p: P,
        deadline: Tick,
        now: Tick,
    ) -> HeadChange {
        let head = if self.going.is_some() {
            self.insert_moving(nodes, p, deadline, now)
        } else {
            nodes.record_mut(p).set_holder(self.serving);
            with_part!(mut self.parts, self.kind, |order| order.insert(nodes, p, deadline, now))
        };
        if self.len > self.most { self.choose(nodes, now, head, &mut { BUDGET }) } else { head }
    }

    /// Removes `p`, which is no longer counted in `len`, otherwise as
    /// [`insert_slowly`](Self::insert_slowly).
    #[cold]
    #[inline(never)]
    fn remove_slowly(&mut self, nodes: &mut impl Nodes<P, AdaptiveRecord<P>>, p: P) -> HeadChange {
        let head = if self.going.is_some() {
            self.remove_moving(nodes, p)
        } else {
            with_part!(mut self.parts, self.kind, |order| order.remove(nodes, p))
        };
        if self.len < self.least { self.choose(nodes, self.now, head, &mut { BUDGET }) } else { head }
    }

    /// Pops a timer during a move, when the queue must choose again, or while it is undecided.
    #[cold]
    #[inline(never)]
    fn pop_slowly(
        &mut self,
        nodes: &mut impl Nodes<P, AdaptiveRecord<P>>,
        now: Tick,
        budget: &mut usize,
    ) -> Option<Due<P>> {
        let popped = if self.going.is_some() {
            self.pop_moving(nodes, now, budget)
        } else {
            with_part!(mut self.parts, self.kind, |order| order.pop(nodes, now, budget))
        };
        let Some(popped) = popped else {
            self.set_quiet(nodes);
            return None;
        };
        self.len -= 1;
        if self.is_undecided {
            self.habit.expired();
        }
        if self.len < self.least || self.is_undecided && self.habit.is_to_expire() {
            spend_after_pop(budget, |budget| {
                let _ = self.choose(nodes, now, HeadChange::Same, budget);
            });
        }
        Some(popped)
    }

    /// After a pop that found nothing: sets the tick before which no pop finds anything.
    #[inline(never)]
    fn set_quiet(&mut self, nodes: &impl Nodes<P, AdaptiveRecord<P>>) {
        // A ladder without timers may have dead entries. A later timer may take over such an entry,
        // and `next_wake` is then the entry's tick, which may be earlier than the deadline.
        let empty = if self.first == Kind::Ladder { 0 } else { Tick::MAX };
        self.quiet = self.next_wake(nodes).unwrap_or(empty);
    }

    /// Pops from the structure that serves. The caller looks at the result, so that this function
    /// has nothing to do after its call.
    #[inline(never)]
    fn pop_part(
        &mut self,
        nodes: &mut impl Nodes<P, AdaptiveRecord<P>>,
        now: Tick,
        budget: &mut usize,
    ) -> Option<Due<P>> {
        with_part!(mut self.parts, self.kind, |order| order.pop(nodes, now, budget))
    }

    /// The structure that holds `p`.
    #[inline]
    pub(super) fn kind_of(&self, nodes: &impl Nodes<P, AdaptiveRecord<P>>, p: P) -> Kind {
        match self.going {
            Some(going) if nodes.record(p).holder() == self.holder(going.to) => going.to,
            _ => self.kind,
        }
    }
}

// SAFETY: the promises of `Discipline`, 1. and 2. hold for each structure. `kind_of` tells the
// structures' timers apart. A record holds what one structure wrote: a timer's holder is set before
// its insert, and a ladder takes no record of another holder for its own. Over pointers the queue
// does not compile, since a ladder does not. 3. No user code is called at all. No structure is
// called before its memory was allocated (`grow` comes before `begin`). 4. The queue holds
// structures that promise the same, numbers and vectors of numbers.
unsafe impl<P: Handle, L: Limits> Discipline<P> for Adaptive<P, L> {
    type Record = AdaptiveRecord<P>;
    const NEW: Self = Self {
        parts: Parts::NEW,
        kind: Kind::Flat,
        first: Kind::Flat,
        len: 0,
        most: L::FLAT,
        least: 0,
        reserved: 0,
        going: None,
        left: 0,
        serving: Holder::new(Kind::Flat, 0),
        habit: Habit::NEW,
        is_undecided: false,
        now: 0,
        quiet: 0,
        _limits: PhantomData,
    };
    const ORDER: Order = Order::Exact;
    const MOVES: bool = true;

    #[inline]
    fn reserve(&mut self, len: usize, additional: usize) -> Result<(), Reject> {
        let timers = len.checked_add(additional).ok_or(Reject::Full)?;
        if timers <= self.reserved {
            return Ok(());
        }
        let more = timers.max(self.reserved.saturating_add(self.reserved / 2)).max(8);
        if additional == 1 && self.grow(more).is_ok() {
            return Ok(());
        }
        self.grow(timers)
    }

    #[inline]
    fn insert(
        &mut self,
        nodes: &mut impl Nodes<P, AdaptiveRecord<P>>,
        p: P,
        deadline: Tick,
        now: Tick,
    ) -> HeadChange {
        self.len += 1;
        self.quiet = self.quiet.min(deadline);
        if self.len > self.most {
            return self.insert_slowly(nodes, p, deadline, now);
        }
        nodes.record_mut(p).set_holder(self.serving);
        with_part!(mut self.parts, self.kind, |order| order.insert(nodes, p, deadline, now))
    }

    #[inline]
    fn remove(&mut self, nodes: &mut impl Nodes<P, AdaptiveRecord<P>>, p: P) -> HeadChange {
        self.len -= 1;
        if self.is_undecided {
            self.habit.moved();
        }
        if self.len < self.least {
            return self.remove_slowly(nodes, p);
        }
        with_part!(mut self.parts, self.kind, |order| order.remove(nodes, p))
    }

    #[inline]
    fn reschedule(
        &mut self,
        nodes: &mut impl Nodes<P, AdaptiveRecord<P>>,
        p: P,
        deadline: Tick,
        now: Tick,
    ) -> HeadChange {
        if self.is_undecided {
            self.habit.moved();
        }
        self.quiet = self.quiet.min(deadline);
        if self.going.is_some() {
            return self.reschedule_moving(nodes, p, deadline, now);
        }
        with_part!(mut self.parts, self.kind, |order| {
            order.reschedule(nodes, p, deadline, now)
        })
    }

    #[inline]
    fn head(&self, nodes: &impl Nodes<P, AdaptiveRecord<P>>) -> Option<P> {
        with_part!(ref self.parts, self.first, |order| order.head(nodes))
    }

    fn second(&self, nodes: &impl Nodes<P, AdaptiveRecord<P>>) -> Option<P> {
        match self.going {
            Some(Move { arrived: 1, .. }) => {
                with_part!(ref self.parts, self.kind, |order| order.head(nodes))
            }
            _ => with_part!(ref self.parts, self.first, |order| order.second(nodes)),
        }
    }

    fn any(&self, nodes: &impl Nodes<P, AdaptiveRecord<P>>) -> Option<P> {
        with_part!(ref self.parts, self.first, |order| order.any(nodes))
    }

    #[inline]
    fn expiry(&self, nodes: &impl Nodes<P, AdaptiveRecord<P>>, p: P) -> Tick {
        with_part!(ref self.parts, self.kind_of(nodes, p), |order| order.expiry(nodes, p))
    }

    #[inline(always)]
    fn next_expiry(&self, nodes: &impl Nodes<P, AdaptiveRecord<P>>) -> Option<Tick> {
        with_part!(ref self.parts, self.first, |order| order.next_expiry(nodes))
    }

    #[inline(always)]
    fn next_wake(&self, nodes: &impl Nodes<P, AdaptiveRecord<P>>) -> Option<Tick> {
        with_part!(ref self.parts, self.first, |order| order.next_wake(nodes))
    }

    #[inline]
    fn due(
        &mut self,
        nodes: &mut impl Nodes<P, AdaptiveRecord<P>>,
        now: Tick,
        budget: &mut usize,
    ) -> Option<Due<P>> {
        if self.going.is_some() && !self.may_be_due(nodes, now) {
            return None;
        }
        with_part!(mut self.parts, self.first, |order| order.due(nodes, now, budget))
    }

    #[inline]
    fn rearm_due(&mut self, nodes: &mut impl Nodes<P, AdaptiveRecord<P>>, p: P, deadline: Tick, now: Tick) {
        if self.going.is_some() {
            let _ = self.reschedule_moving(nodes, p, deadline, now);
            return;
        }
        with_part!(mut self.parts, self.kind, |order| order.rearm_due(nodes, p, deadline, now));
        if self.is_undecided {
            self.habit.expired();
            if self.habit.is_to_expire() {
                let _ = self.choose(nodes, now, HeadChange::Same, &mut { BUDGET });
            }
        }
    }

    #[inline]
    fn is_quiet(&self, _: &impl Nodes<P, AdaptiveRecord<P>>, now: Tick) -> bool {
        now < self.quiet
    }

    #[inline(always)]
    fn pop(
        &mut self,
        nodes: &mut impl Nodes<P, AdaptiveRecord<P>>,
        now: Tick,
        budget: &mut usize,
    ) -> Option<Due<P>> {
        if now < self.quiet {
            return None;
        }
        // The pop may leave fewer than `least` timers.
        if self.len <= self.least || self.is_undecided {
            return self.pop_slowly(nodes, now, budget);
        }
        let popped = self.pop_part(nodes, now, budget);
        if popped.is_some() {
            self.len -= 1;
        } else {
            self.set_quiet(nodes);
        }
        popped
    }

    fn explain(&self, nodes: &impl Nodes<P, AdaptiveRecord<P>>, p: P) -> Explanation {
        with_part!(ref self.parts, self.kind_of(nodes, p), |order| order.explain(nodes, p))
    }

    fn for_each(&self, nodes: &impl Nodes<P, AdaptiveRecord<P>>, mut visit: impl FnMut(P)) {
        with_part!(ref self.parts, self.kind, |order| order.for_each(nodes, &mut visit));
        if let Some(going) = self.going {
            with_part!(ref self.parts, going.to, |order| order.for_each(nodes, &mut visit));
        }
    }

    fn rank(&self, nodes: &impl Nodes<P, AdaptiveRecord<P>>, p: P, visited: u64) -> u64 {
        let kind = self.kind_of(nodes, p);
        // During a move, equals in the structure that is being left arrived after those that moved.
        let later = u64::from(self.going.is_some_and(|going| going.to != kind)) << 63;
        later | with_part!(ref self.parts, kind, |order| order.rank(nodes, p, visited))
    }

    fn start_sequence_at(&mut self, next: u32) {
        if self.len == 0 {
            self.parts.start_sequence_at(next);
        }
    }

    fn clear(&mut self) {
        self.parts.clear();
        self.len = 0;
        self.going = None;
        self.kind = Kind::Flat;
        self.habit = Habit::NEW;
        self.now = 0;
        self.settle();
    }

    fn heap_bytes(&self) -> usize {
        self.parts.heap_bytes()
    }

    fn check(&self, nodes: &impl Nodes<P, AdaptiveRecord<P>>, len: usize) -> Result<(), Violation> {
        self.check_all(nodes, len)
    }
}
