//! The operations: one structure does the work, or two of them during a move.

use core::fmt;
use core::marker::PhantomData;

use alloc::vec::Vec;

use super::choice::{Habit, Kind, Limits, most_slots};
use super::parts::{Marks, Move, Parts, RecordOf, with_large_part, with_part, with_small_part};
use crate::contract::{HeadChange, Order, Reject, Tick, Violation};
use crate::explain::Explanation;
use crate::family::ladder::LadderQueue;
use crate::storage::{Discipline, Due, Handle, Nodes};

/// The slab's record of each timer.
pub(super) type SlotRecord<P> = RecordOf<LadderQueue, P>;

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
    /// The records and the marks exist for slots below this number.
    slots: usize,
    pub(super) going: Option<Move>,
    pub(super) marks: Marks,
    habit: Habit,
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
    /// Returns `timers` plus a reserve. The reserve is for timers that are inserted during a move,
    /// and for their slots.
    const fn with_slack(timers: usize) -> usize {
        timers.saturating_add(timers / 2).saturating_add(16)
    }

    /// Makes room for `timers` in `slots` slots, in each structure that may later serve them.
    #[cold]
    fn grow(&mut self, timers: usize, slots: usize) -> Result<(), Reject> {
        // A ladder cannot number 2^31 timers or more.
        if timers >= 1 << 31 {
            return Err(Reject::Full);
        }
        let is_small = slots <= most_slots::<L>();
        self.marks.cover(slots)?;
        for kind in [Kind::Flat, Kind::Heap, Kind::Wheel] {
            let may_serve = match kind {
                Kind::Wheel if !is_small => self.kind != Kind::Ladder && !self.habit.is_to_expire(),
                _ => is_small && kind <= Kind::of::<L>(timers),
            };
            // The structure that serves, or is being left, needs records until the move ends.
            let serves =
                self.len > 0 && (kind == self.kind || self.going.is_some_and(|going| going.to == kind));
            if may_serve || serves {
                let most = timers.min(kind.most::<L>()).max(self.len);
                self.parts.reserve(kind, Self::with_slack(most), slots)?;
            }
        }
        if !is_small || timers > L::WHEEL {
            self.parts.reserve(Kind::Ladder, timers, slots)?;
        }
        self.reserved = timers;
        self.slots = slots;
        if self.len == 0 {
            self.kind = self.best();
        }
        self.settle();
        Ok(())
    }

    /// Whether every structure's array has places for all slots of `reserved` timers.
    fn is_small(&self) -> bool {
        self.slots <= most_slots::<L>()
    }

    /// Whether the wheel's array has places for all slots.
    fn wheel_is_large(&self) -> bool {
        !self.parts.wheel.0.is_empty() && self.parts.wheel_records.0.len() >= self.slots
    }

    /// The best structure for the current timers.
    fn best(&self) -> Kind {
        let by_len = Kind::of::<L>(self.len);
        if self.kind == Kind::Ladder {
            Kind::Ladder
        } else if by_len == Kind::Ladder || !self.is_small() {
            if self.wheel_is_large() && !self.habit.is_to_expire() { Kind::Wheel } else { Kind::Ladder }
        } else if by_len < self.kind && self.len >= self.kind.least::<L>() {
            // The population is small, but not so small that a change pays.
            self.kind
        } else {
            by_len
        }
    }

    /// Records which structure serves, and sets the populations at which the queue chooses again.
    pub(super) fn settle(&mut self) {
        self.first = match self.going {
            Some(going) if going.arrived > 0 => going.to,
            _ => self.kind,
        };
        if self.going.is_some() {
            (self.most, self.least, self.is_undecided) = (0, usize::MAX, false);
            return;
        }
        let is_small = self.is_small();
        self.is_undecided = self.kind == Kind::Wheel && (self.len > L::WHEEL || !is_small);
        self.most = match self.kind {
            Kind::Ladder => usize::MAX,
            Kind::Wheel if self.is_undecided && self.wheel_is_large() => usize::MAX,
            kind if is_small => kind.most::<L>(),
            _ => 0,
        };
        self.least = if is_small { self.kind.least::<L>() } else { 0 };
        if matches!(self.kind, Kind::Flat | Kind::Heap) {
            self.habit.forget();
        }
        self.habit.judge::<L>(self.len);
    }

    /// Begins a move if another structure serves better. `head` is the head change of the
    /// operation, which the result includes.
    #[cold]
    #[inline(never)]
    fn choose(
        &mut self,
        nodes: &mut impl Nodes<P, SlotRecord<P>>,
        now: Tick,
        head: HeadChange,
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
        self.begin(nodes, best);
        HeadChange::Changed
    }

    /// Inserts `p`, which is counted in `len`, during a move, or when the queue must choose again.
    #[cold]
    #[inline(never)]
    fn insert_slowly(
        &mut self,
        nodes: &mut impl Nodes<P, SlotRecord<P>>,
        p: P,
        deadline: Tick,
        now: Tick,
    ) -> HeadChange {
        let head = if self.going.is_some() {
            self.insert_moving(nodes, p, deadline, now)
        } else {
            with_part!(mut self.parts, self.kind, nodes, |order, records| {
                order.insert(records, p, deadline, now)
            })
        };
        if self.len > self.most { self.choose(nodes, now, head) } else { head }
    }

    /// Removes `p`, which is no longer counted in `len`, otherwise as
    /// [`insert_slowly`](Self::insert_slowly).
    #[cold]
    #[inline(never)]
    fn remove_slowly(&mut self, nodes: &mut impl Nodes<P, SlotRecord<P>>, p: P) -> HeadChange {
        let head = if self.going.is_some() {
            self.remove_moving(nodes, p)
        } else {
            with_part!(mut self.parts, self.kind, nodes, |order, records| order.remove(records, p))
        };
        if self.len < self.least { self.choose(nodes, self.now, head) } else { head }
    }

    /// Pops a timer during a move, when the queue must choose again, or while it is undecided.
    #[cold]
    #[inline(never)]
    fn pop_slowly(
        &mut self,
        nodes: &mut impl Nodes<P, SlotRecord<P>>,
        now: Tick,
        budget: &mut usize,
    ) -> Option<Due<P>> {
        let popped = if self.going.is_some() {
            self.pop_moving(nodes, now, budget)
        } else {
            with_part!(mut self.parts, self.kind, nodes, |order, records| order.pop(records, now, budget))
        };
        let Some(popped) = popped else {
            self.set_quiet(nodes, now);
            return None;
        };
        self.len -= 1;
        if self.is_undecided {
            self.habit.expired();
        }
        if self.len < self.least || self.is_undecided && self.habit.is_to_expire() {
            let _ = self.choose(nodes, now, HeadChange::Same);
        }
        Some(popped)
    }

    /// After a pop that found nothing: sets the tick before which no pop finds anything.
    #[inline(never)]
    fn set_quiet(&mut self, nodes: &impl Nodes<P, SlotRecord<P>>, now: Tick) {
        // A ladder without timers may have dead entries. A later timer may take over such an entry,
        // and `next_wake` is then the entry's tick, which may be earlier than the deadline.
        let empty = if self.first == Kind::Ladder { now } else { Tick::MAX };
        self.quiet = self.next_wake(nodes).unwrap_or(empty);
    }

    // `with_small_part` calls the functions `.._large` when a wheel or a ladder serves.

    #[inline]
    fn insert_large(
        &mut self,
        nodes: &mut impl Nodes<P, SlotRecord<P>>,
        p: P,
        deadline: Tick,
        now: Tick,
    ) -> HeadChange {
        with_large_part!(mut self.parts, self.kind, nodes, |order, records| {
            order.insert(records, p, deadline, now)
        })
    }

    #[inline(always)]
    fn next_expiry_large(&self, nodes: &impl Nodes<P, SlotRecord<P>>) -> Option<Tick> {
        with_large_part!(ref self.parts, self.first, nodes, |order, records| order.next_expiry(records))
    }

    #[inline(always)]
    fn next_wake_large(&self, nodes: &impl Nodes<P, SlotRecord<P>>) -> Option<Tick> {
        with_large_part!(ref self.parts, self.first, nodes, |order, records| order.next_wake(records))
    }

    #[inline]
    fn due_large(
        &mut self,
        nodes: &mut impl Nodes<P, SlotRecord<P>>,
        now: Tick,
        budget: &mut usize,
    ) -> Option<Due<P>> {
        with_large_part!(mut self.parts, self.first, nodes, |order, records| order.due(records, now, budget))
    }

    #[inline]
    fn rearm_due_large(&mut self, nodes: &mut impl Nodes<P, SlotRecord<P>>, p: P, deadline: Tick, now: Tick) {
        with_large_part!(mut self.parts, self.kind, nodes, |order, records| {
            order.rearm_due(records, p, deadline, now);
        });
        // Only a wheel is ever undecided.
        if self.is_undecided {
            self.habit.expired();
            if self.habit.is_to_expire() {
                let _ = self.choose(nodes, now, HeadChange::Same);
            }
        }
    }

    /// Pops at a tick that is not before `quiet`. The caller inlines the comparison alone.
    #[inline(never)]
    fn pop_late(
        &mut self,
        nodes: &mut impl Nodes<P, SlotRecord<P>>,
        now: Tick,
        budget: &mut usize,
    ) -> Option<Due<P>> {
        // The pop may leave fewer than `least` timers.
        if self.len <= self.least || self.is_undecided {
            return self.pop_slowly(nodes, now, budget);
        }
        let popped =
            with_part!(mut self.parts, self.kind, nodes, |order, records| order.pop(records, now, budget));
        if popped.is_none() {
            self.set_quiet(nodes, now);
            return None;
        }
        self.len -= 1;
        popped
    }

    /// The structure that holds `p`.
    #[inline]
    pub(super) fn kind_of(&self, p: P) -> Kind {
        match self.going {
            Some(going) if self.marks.has(p) => going.to,
            _ => self.kind,
        }
    }
}

// SAFETY: the promises of `Discipline`, 1. and 2. hold for each structure. `kind_of` tells the
// structures' timers apart. The marks hold bits only. Records beside the slab exist for each slot
// that was inserted (`cover`). 3. No user code is called at all. No structure is called before its
// memory was allocated (`grow` comes before `begin`). 4. The queue holds structures that promise
// the same, numbers and vectors of numbers.
unsafe impl<P: Handle, L: Limits> Discipline<P> for Adaptive<P, L> {
    type Record = SlotRecord<P>;
    const NEW: Self = Self {
        parts: Parts::NEW,
        kind: Kind::Flat,
        first: Kind::Flat,
        len: 0,
        most: L::FLAT,
        least: 0,
        reserved: 0,
        slots: 0,
        going: None,
        marks: Marks(Vec::new()),
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
        let slots = |timers| Self::with_slack(timers).max(self.slots);
        let (many, few) = (slots(more), slots(timers));
        if additional == 1 && self.grow(more, many).is_ok() {
            return Ok(());
        }
        self.grow(timers, few)
    }

    #[inline]
    fn cover(&mut self, slots: usize) -> Result<(), Reject> {
        if slots <= self.slots {
            return Ok(());
        }
        // There are more slots than timers: some slots are retired, or belong to timers that are
        // not linked.
        let more = slots.saturating_add(slots / 4);
        self.grow(self.reserved, more).or_else(|_| self.grow(self.reserved, slots))
    }

    #[inline]
    fn insert(
        &mut self,
        nodes: &mut impl Nodes<P, SlotRecord<P>>,
        p: P,
        deadline: Tick,
        now: Tick,
    ) -> HeadChange {
        self.len += 1;
        self.quiet = self.quiet.min(deadline);
        if self.len > self.most {
            return self.insert_slowly(nodes, p, deadline, now);
        }
        with_small_part!(mut self.parts, self.kind, |order, records| {
            order.insert(records, p, deadline, now)
        } else self.insert_large(nodes, p, deadline, now))
    }

    #[inline]
    fn remove(&mut self, nodes: &mut impl Nodes<P, SlotRecord<P>>, p: P) -> HeadChange {
        self.len -= 1;
        if self.is_undecided {
            self.habit.moved();
        }
        if self.len < self.least {
            return self.remove_slowly(nodes, p);
        }
        with_part!(mut self.parts, self.kind, nodes, |order, records| order.remove(records, p))
    }

    #[inline]
    fn reschedule(
        &mut self,
        nodes: &mut impl Nodes<P, SlotRecord<P>>,
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
        with_part!(mut self.parts, self.kind, nodes, |order, records| {
            order.reschedule(records, p, deadline, now)
        })
    }

    #[inline]
    fn head(&self, nodes: &impl Nodes<P, SlotRecord<P>>) -> Option<P> {
        with_part!(ref self.parts, self.first, nodes, |order, records| order.head(records))
    }

    fn second(&self, nodes: &impl Nodes<P, SlotRecord<P>>) -> Option<P> {
        match self.going {
            Some(Move { arrived: 1, .. }) => {
                with_part!(ref self.parts, self.kind, nodes, |order, records| order.head(records))
            }
            _ => with_part!(ref self.parts, self.first, nodes, |order, records| order.second(records)),
        }
    }

    fn any(&self, nodes: &impl Nodes<P, SlotRecord<P>>) -> Option<P> {
        with_part!(ref self.parts, self.first, nodes, |order, records| order.any(records))
    }

    #[inline]
    fn expiry(&self, nodes: &impl Nodes<P, SlotRecord<P>>, p: P) -> Tick {
        with_part!(ref self.parts, self.kind_of(p), nodes, |order, records| order.expiry(records, p))
    }

    #[inline(always)]
    fn next_expiry(&self, nodes: &impl Nodes<P, SlotRecord<P>>) -> Option<Tick> {
        with_small_part!(ref self.parts, self.first, |order, records| {
            order.next_expiry(records)
        } else self.next_expiry_large(nodes))
    }

    #[inline(always)]
    fn next_wake(&self, nodes: &impl Nodes<P, SlotRecord<P>>) -> Option<Tick> {
        with_small_part!(ref self.parts, self.first, |order, records| {
            order.next_wake(records)
        } else self.next_wake_large(nodes))
    }

    #[inline]
    fn due(
        &mut self,
        nodes: &mut impl Nodes<P, SlotRecord<P>>,
        now: Tick,
        budget: &mut usize,
    ) -> Option<Due<P>> {
        if self.going.is_some() && !self.may_be_due(nodes, now) {
            return None;
        }
        with_small_part!(mut self.parts, self.first, |order, records| {
            order.due(records, now, budget)
        } else self.due_large(nodes, now, budget))
    }

    #[inline]
    fn rearm_due(&mut self, nodes: &mut impl Nodes<P, SlotRecord<P>>, p: P, deadline: Tick, now: Tick) {
        if self.going.is_some() {
            let _ = self.reschedule_moving(nodes, p, deadline, now);
            return;
        }
        with_small_part!(mut self.parts, self.kind, |order, records| {
            order.rearm_due(records, p, deadline, now)
        } else self.rearm_due_large(nodes, p, deadline, now));
    }

    #[inline(always)]
    fn pop(
        &mut self,
        nodes: &mut impl Nodes<P, SlotRecord<P>>,
        now: Tick,
        budget: &mut usize,
    ) -> Option<Due<P>> {
        if now < self.quiet {
            return None;
        }
        self.pop_late(nodes, now, budget)
    }

    fn explain(&self, nodes: &impl Nodes<P, SlotRecord<P>>, p: P) -> Explanation {
        with_part!(ref self.parts, self.kind_of(p), nodes, |order, records| order.explain(records, p))
    }

    fn for_each(&self, nodes: &impl Nodes<P, SlotRecord<P>>, mut visit: impl FnMut(P)) {
        with_part!(ref self.parts, self.kind, nodes, |order, records| order.for_each(records, &mut visit));
        if let Some(going) = self.going {
            with_part!(ref self.parts, going.to, nodes, |order, records| order.for_each(records, &mut visit));
        }
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
        if self.reserved > 0 {
            self.kind = self.best();
        }
        self.settle();
    }

    fn heap_bytes(&self) -> usize {
        self.parts.heap_bytes() + self.marks.0.capacity() * size_of::<u64>()
    }

    fn check(&self, nodes: &impl Nodes<P, SlotRecord<P>>, len: usize) -> Result<(), Violation> {
        self.check_all(nodes, len)
    }
}
