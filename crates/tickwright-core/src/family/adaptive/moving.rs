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
use super::parts::{BUDGET, Move, spend_after_pop, with_part};
use super::queue::Adaptive;
use super::record::AdaptiveRecord;
use crate::contract::{HeadChange, Tick, Violation};
use crate::storage::{Discipline, Due, Handle, Nodes};

/// Each insert, removal, re-arm and expiry moves this many timers. Each of these operations adds at
/// most one timer, so a move of n timers ends within n / 3 operations. Out of a ladder it takes up
/// to ten more, which drop dead entries and place moved timers again.
const STEP: usize = 4;

impl<P: Handle, L: Limits> Adaptive<P, L> {
    /// Begins to move all timers to another structure, which has room for them. The first step
    /// spends some of `budget`.
    pub(super) fn begin(
        &mut self,
        nodes: &mut impl Nodes<P, AdaptiveRecord<P>>,
        to: Kind,
        budget: &mut usize,
    ) {
        if to == Kind::Ladder {
            self.habit.settle_on_expiry();
        }
        if self.len == 0 {
            self.leave_for(to);
            return self.settle();
        }
        self.going = Some(Move { to, arrived: 0, boundary: 0 });
        self.step(nodes, budget);
    }

    /// Moves some timers, and spends at most `BUDGET` of `budget`. The step that moves the last
    /// timer ends the move.
    fn step(&mut self, nodes: &mut impl Nodes<P, AdaptiveRecord<P>>, budget: &mut usize) {
        let Some(mut going) = self.going else { return };
        let most = BUDGET.min(*budget);
        let mut left = most;
        for _ in 0..STEP {
            let Some(popped) = self.pop_old(nodes, &mut left) else { break };
            left -= 1;
            let Due { handle: p, deadline, expiry } = popped;
            // A structure without timers takes this `now` for its clock. It must not be later than
            // any deadline that arrives before the next step.
            let now = self.now.min(expiry);
            nodes.record_mut(p).set_holder(self.holder(going.to));
            let _ = with_part!(mut self.parts, going.to, |order| {
                order.insert(nodes, p, deadline, now)
            });
            going.arrived += 1;
        }
        *budget -= most - left;
        self.update(nodes, going);
    }

    /// Removes the head of the structure that is being left, even before the head is due.
    fn pop_old(
        &mut self,
        nodes: &mut impl Nodes<P, AdaptiveRecord<P>>,
        budget: &mut usize,
    ) -> Option<Due<P>> {
        // Its `now` is not later than its earliest timer, so that its clock passes no timer.
        while *budget > 0 {
            let popped = with_part!(mut self.parts, self.kind, |order| {
                let earliest = order.next_wake(nodes)?;
                order.pop(nodes, earliest, budget)
            });
            if popped.is_some() {
                return popped;
            }
        }
        None
    }

    /// Records the progress of the move.
    fn update(&mut self, nodes: &mut impl Nodes<P, AdaptiveRecord<P>>, going: Move) {
        if going.arrived < self.len {
            let earliest = with_part!(mut self.parts, self.kind, |order| order.next_wake(nodes));
            self.going = Some(Move { boundary: earliest.unwrap_or(Tick::MAX), ..going });
        } else {
            self.leave_for(going.to);
            self.going = None;
        }
        self.settle();
        // The head may now be in a ladder, where it may have taken over a dead entry.
        self.quiet = self.quiet.min(self.next_wake(nodes).unwrap_or(Tick::MAX));
    }

    /// No timer is left in the structure that served: `to` serves from now on. A ladder that is
    /// left drops its dead entries.
    fn leave_for(&mut self, to: Kind) {
        if self.kind == Kind::Ladder {
            self.parts.ladder.0.iter_mut().for_each(Discipline::clear);
            self.left += 1;
        }
        self.kind = to;
    }

    #[cold]
    #[inline(never)]
    pub(super) fn insert_moving(
        &mut self,
        nodes: &mut impl Nodes<P, AdaptiveRecord<P>>,
        p: P,
        deadline: Tick,
        now: Tick,
    ) -> HeadChange {
        self.now = now;
        self.enter(nodes, p, deadline);
        self.step(nodes, &mut { BUDGET });
        HeadChange::Changed
    }

    /// Whether the head may be due. A wheel that is being left may have advanced into a bucket that
    /// is not due. When nothing is due, it is not asked to advance.
    pub(super) fn may_be_due(&self, nodes: &impl Nodes<P, AdaptiveRecord<P>>, now: Tick) -> bool {
        with_part!(ref self.parts, self.first, |order| order.next_wake(nodes)).is_some_and(|wake| wake <= now)
    }

    /// Inserts `p` on its side of the boundary.
    fn enter(&mut self, nodes: &mut impl Nodes<P, AdaptiveRecord<P>>, p: P, deadline: Tick) {
        let now = self.now;
        let Some(going) = &mut self.going else { return };
        let is_early = deadline.max(now) < going.boundary;
        going.arrived += usize::from(is_early);
        let kind = if is_early { going.to } else { self.kind };
        nodes.record_mut(p).set_holder(self.holder(kind));
        let _ = with_part!(mut self.parts, kind, |order| {
            order.insert(nodes, p, deadline, now)
        });
    }

    /// Removes `p` from the structure that holds it.
    fn leave(&mut self, nodes: &mut impl Nodes<P, AdaptiveRecord<P>>, p: P) {
        let kind = self.kind_of(nodes, p);
        let _ = with_part!(mut self.parts, kind, |order| order.remove(nodes, p));
        if let Some(going) = &mut self.going {
            going.arrived -= usize::from(kind == going.to);
        }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn remove_moving(&mut self, nodes: &mut impl Nodes<P, AdaptiveRecord<P>>, p: P) -> HeadChange {
        self.leave(nodes, p);
        self.step(nodes, &mut { BUDGET });
        HeadChange::Changed
    }

    #[cold]
    #[inline(never)]
    pub(super) fn reschedule_moving(
        &mut self,
        nodes: &mut impl Nodes<P, AdaptiveRecord<P>>,
        p: P,
        deadline: Tick,
        now: Tick,
    ) -> HeadChange {
        self.now = now;
        self.leave(nodes, p);
        self.enter(nodes, p, deadline);
        self.step(nodes, &mut { BUDGET });
        HeadChange::Changed
    }

    #[cold]
    #[inline(never)]
    pub(super) fn pop_moving(
        &mut self,
        nodes: &mut impl Nodes<P, AdaptiveRecord<P>>,
        now: Tick,
        budget: &mut usize,
    ) -> Option<Due<P>> {
        self.now = now;
        if !self.may_be_due(nodes, now) {
            return None;
        }
        let popped = with_part!(mut self.parts, self.first, |order| order.pop(nodes, now, budget))?;
        if let Some(going) = &mut self.going {
            going.arrived = going.arrived.saturating_sub(1);
        }
        // `len` still counts the timer until this function returns.
        self.len -= 1;
        spend_after_pop(budget, |budget| self.step(nodes, budget));
        self.len += 1;
        Some(popped)
    }

    pub(super) fn check_all(
        &self,
        nodes: &impl Nodes<P, AdaptiveRecord<P>>,
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
            with_part!(ref self.parts, idle, |order| order.check(nodes, 0))?;
        }
        with_part!(ref self.parts, self.kind, |order| order.check(nodes, len - going.arrived))?;
        if self.going.is_none() {
            return Ok(());
        }
        with_part!(ref self.parts, going.to, |order| order.check(nodes, going.arrived))?;
        let mut result = Ok(());
        with_part!(ref self.parts, self.kind, |order| order.for_each(nodes, |p| {
            if self.kind_of(nodes, p) == going.to {
                result = Err(Violation::Position);
            } else if order.expiry(nodes, p) < going.boundary {
                result = Err(Violation::Order);
            }
        }));
        with_part!(ref self.parts, going.to, |order| order.for_each(nodes, |p| {
            if self.kind_of(nodes, p) != going.to {
                result = Err(Violation::Position);
            } else if order.expiry(nodes, p) > going.boundary {
                result = Err(Violation::Order);
            }
        }));
        result
    }
}
