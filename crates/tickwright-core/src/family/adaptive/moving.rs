//! A move from one structure to another, some timers at a time.
//!
//! ```text
//!   from:        . . . . | 70 70 81 95 ...      pops its heads, by its own lower bound
//!                        |
//!   to:    12 30 30 64 70|                      serves first
//!                    boundary = 70              arrivals before it go there, others to `from`
//! ```
//!
//! # Invariant
//! Every timer in `to` leaves before every timer in `from`. The heads of `from` leave it in order.
//! An arrival goes to `to` only if it is earlier than all timers in `from`. Timers of one tick that
//! are in `to` arrived earlier: an arrival for the boundary's own tick goes to `from`.

use super::choice::{Kind, Limits};
use super::parts::{Move, with_part};
use super::queue::{Adaptive, SlotRecord};
use crate::contract::{HeadChange, Tick, Violation};
use crate::storage::{Discipline, Due, Handle, Nodes};

/// Each insert, removal, re-arm and expiry moves this many timers. Each of these operations adds at
/// most one timer, so a move of n timers ends within n / 3 operations.
const STEP: usize = 4;

/// The budget of one step for moves inside the structure that is being left. It is enough to bring
/// some timers to the front, and limits the cost of the worst call.
const BUDGET: usize = 64;

impl<P: Handle, L: Limits> Adaptive<P, L> {
    /// Begins to move all timers to another structure, which has room for them.
    pub(super) fn begin(&mut self, nodes: &mut impl Nodes<P, SlotRecord<P>>, to: Kind) {
        if self.len == 0 {
            self.kind = to;
            return self.settle();
        }
        self.marks.reset();
        self.going = Some(Move { to, arrived: 0, boundary: 0 });
        self.step(nodes);
    }

    /// Moves some timers. The step that moves the last timer ends the move.
    fn step(&mut self, nodes: &mut impl Nodes<P, SlotRecord<P>>) {
        let Some(mut going) = self.going else { return };
        let mut budget = BUDGET;
        for _ in 0..STEP {
            let Some(popped) = self.pop_old(nodes, &mut budget) else { break };
            let Due { handle: p, deadline, expiry } = popped;
            // A structure without timers takes this `now` for its clock. It must not be later than
            // any deadline that arrives before the next step.
            let now = self.now.min(expiry);
            let _ = with_part!(mut self.parts, going.to, nodes, |order, records| {
                order.insert(records, p, deadline, now)
            });
            self.marks.set(p, true);
            going.arrived += 1;
        }
        self.update(nodes, going);
    }

    /// Removes the head of the structure that is being left, even before the head is due.
    fn pop_old(&mut self, nodes: &mut impl Nodes<P, SlotRecord<P>>, budget: &mut usize) -> Option<Due<P>> {
        // Its `now` is not later than its earliest timer, so that its clock passes no timer.
        while *budget > 0 {
            let popped = with_part!(mut self.parts, self.kind, nodes, |order, records| {
                let earliest = order.next_wake(records)?;
                order.pop(records, earliest, budget)
            });
            if popped.is_some() {
                return popped;
            }
        }
        None
    }

    /// Records the progress of the move.
    fn update(&mut self, nodes: &mut impl Nodes<P, SlotRecord<P>>, going: Move) {
        if going.arrived < self.len {
            let earliest =
                with_part!(mut self.parts, self.kind, nodes, |order, records| order.next_wake(records));
            self.going = Some(Move { boundary: earliest.unwrap_or(Tick::MAX), ..going });
        } else {
            self.kind = going.to;
            self.going = None;
        }
        self.settle();
        // The head may now be in a ladder, where it may have taken over a dead entry.
        self.quiet = self.quiet.min(self.next_wake(nodes).unwrap_or(Tick::MAX));
    }

    #[cold]
    #[inline(never)]
    pub(super) fn insert_moving(
        &mut self,
        nodes: &mut impl Nodes<P, SlotRecord<P>>,
        p: P,
        deadline: Tick,
        now: Tick,
    ) -> HeadChange {
        self.now = now;
        self.enter(nodes, p, deadline);
        self.step(nodes);
        HeadChange::Changed
    }

    /// Whether the head may be due. A wheel that is being left may have advanced into a bucket that
    /// is not due. When nothing is due, it is not asked to advance.
    pub(super) fn may_be_due(&self, nodes: &impl Nodes<P, SlotRecord<P>>, now: Tick) -> bool {
        with_part!(ref self.parts, self.first, nodes, |order, records| order.next_wake(records))
            .is_some_and(|wake| wake <= now)
    }

    /// Inserts `p` on its side of the boundary.
    fn enter(&mut self, nodes: &mut impl Nodes<P, SlotRecord<P>>, p: P, deadline: Tick) {
        let now = self.now;
        let Some(going) = &mut self.going else { return };
        let is_early = deadline.max(now) < going.boundary;
        going.arrived += usize::from(is_early);
        self.marks.set(p, is_early);
        let kind = if is_early { going.to } else { self.kind };
        let _ = with_part!(mut self.parts, kind, nodes, |order, records| {
            order.insert(records, p, deadline, now)
        });
    }

    /// Removes `p` from the structure that holds it.
    fn leave(&mut self, nodes: &mut impl Nodes<P, SlotRecord<P>>, p: P) {
        let kind = self.kind_of(p);
        let _ = with_part!(mut self.parts, kind, nodes, |order, records| order.remove(records, p));
        if let Some(going) = &mut self.going {
            going.arrived -= usize::from(self.marks.has(p));
        }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn remove_moving(&mut self, nodes: &mut impl Nodes<P, SlotRecord<P>>, p: P) -> HeadChange {
        self.leave(nodes, p);
        self.step(nodes);
        HeadChange::Changed
    }

    #[cold]
    #[inline(never)]
    pub(super) fn reschedule_moving(
        &mut self,
        nodes: &mut impl Nodes<P, SlotRecord<P>>,
        p: P,
        deadline: Tick,
        now: Tick,
    ) -> HeadChange {
        self.now = now;
        self.leave(nodes, p);
        self.enter(nodes, p, deadline);
        self.step(nodes);
        HeadChange::Changed
    }

    #[cold]
    #[inline(never)]
    pub(super) fn pop_moving(
        &mut self,
        nodes: &mut impl Nodes<P, SlotRecord<P>>,
        now: Tick,
        budget: &mut usize,
    ) -> Option<Due<P>> {
        self.now = now;
        if !self.may_be_due(nodes, now) {
            return None;
        }
        let popped =
            with_part!(mut self.parts, self.first, nodes, |order, records| order.pop(records, now, budget))?;
        if let Some(going) = &mut self.going {
            going.arrived = going.arrived.saturating_sub(1);
        }
        // `len` still counts the timer until this function returns.
        self.len -= 1;
        self.step(nodes);
        self.len += 1;
        Some(popped)
    }

    pub(super) fn check_all(
        &self,
        nodes: &impl Nodes<P, SlotRecord<P>>,
        len: usize,
    ) -> Result<(), Violation> {
        let going = self.going.unwrap_or(Move { to: self.kind, arrived: 0, boundary: Tick::MAX });
        if self.len != len || going.arrived > len {
            return Err(Violation::Count);
        }
        if len > 0 && self.next_wake(nodes).is_none_or(|wake| wake < self.quiet) {
            return Err(Violation::Minimum);
        }
        for idle in self.parts.made().filter(|&kind| kind != self.kind && kind != going.to) {
            with_part!(ref self.parts, idle, nodes, |order, records| order.check(records, 0))?;
        }
        with_part!(ref self.parts, self.kind, nodes, |order, records| order.check(records, len - going.arrived))?;
        if self.going.is_none() {
            return Ok(());
        }
        with_part!(ref self.parts, going.to, nodes, |order, records| order.check(records, going.arrived))?;
        let mut result = Ok(());
        with_part!(ref self.parts, self.kind, nodes, |order, records| order.for_each(records, |p| {
            if self.marks.has(p) {
                result = Err(Violation::Position);
            } else if order.expiry(records, p) < going.boundary {
                result = Err(Violation::Order);
            }
        }));
        with_part!(ref self.parts, going.to, nodes, |order, records| order.for_each(records, |p| {
            if !self.marks.has(p) {
                result = Err(Violation::Position);
            } else if order.expiry(records, p) > going.boundary {
                result = Err(Violation::Order);
            }
        }));
        result
    }
}
