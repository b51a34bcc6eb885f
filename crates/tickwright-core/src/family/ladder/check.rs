//! Verifies all invariants.

use super::enter::{NEAR_LEVELS, tick_at};
use super::rungs::Number;
use super::scan::Place;
use super::state::{Ladder, LadderNode, Work};
use crate::contract::{Tick, Violation};
use crate::storage::{Handle, Nodes};

impl<P: Handle, R: LadderNode<P>> Ladder<P, R> {
    pub(super) fn check_all(&self, nodes: &impl Nodes<P, R>, len: usize) -> Result<(), Violation> {
        if self.live != len || self.places().count() != self.entries || self.entries < len {
            return Err(Violation::Count);
        }
        // A timer may have two witnesses.
        if !self.run.is_sorted_by(|later, earlier| later >= earlier)
            || self.run.last().is_some_and(|near| near.tick() < self.clock)
        {
            return Err(Violation::Order);
        }
        let earliest = self.rungs.iter().map(|at| self.rungs.at(at).min).min().unwrap_or(Tick::MAX);
        let horizon = match self.work {
            Work::None => earliest,
            Work::Front { .. } => earliest.min(self.clock.saturating_add(1)),
            Work::Cascade { .. } | Work::Sort { .. } => 0,
        };
        if self.horizon != horizon {
            return Err(Violation::Minimum);
        }
        self.rungs.check_marks()?;
        for at in self.rungs.iter() {
            self.check_bucket(nodes, at)?;
        }
        if let Work::Front { bound, .. } = self.work {
            let run = self.run.iter().rev().take_while(|near| near.tick() == self.clock);
            let in_order = run
                .map(|&near| Place::Run(near))
                .chain(self.in_work())
                .filter_map(|place| self.witness(nodes, place));
            let arrivals = in_order.map(|p| nodes.record(p)).filter(|record| record.expiry() == self.clock);
            if !arrivals.map(R::sequence).filter(|&arrival| arrival < bound).is_sorted() {
                return Err(Violation::Sequence);
            }
        }
        let mut result = Ok(());
        let (mut found, mut moved) = (0, 0);
        self.each_witness(nodes, |p| {
            found += 1;
            let record = nodes.record(p);
            moved += usize::from(record.is_moved());
            if record.placed() > record.expiry() {
                result = Err(Violation::Order);
            } else if record.sequence() >= self.next_sequence {
                result = Err(Violation::Sequence);
            }
        });
        if found == len && moved == self.moved { result } else { Err(Violation::Count) }
    }

    fn check_bucket(&self, nodes: &impl Nodes<P, R>, at: Number) -> Result<(), Violation> {
        let min = self.rungs.at(at).min;
        if Number::of(self.clock, min.max(self.clock)) != at {
            return Err(Violation::Bucket);
        }
        let (mut exact, mut last) = (self.rungs.is_dirty(at), None);
        for place in self.in_bucket(at) {
            if let Place::Bucket(_, entry) = place
                && at.level() < NEAR_LEVELS
                && tick_at(self.clock, at.level(), entry) < min
            {
                return Err(Violation::Minimum);
            }
            let Some(p) = self.witness(nodes, place) else { continue };
            let record = nodes.record(p);
            exact |= record.expiry() == min;
            // Timers of one tick leave in this order; a mixed bucket is sorted when the ladder
            // enters it.
            if at.level() == 0 && record.expiry() == min && !self.rungs.is_mixed(at) {
                if last.is_some_and(|last| record.sequence() < last) {
                    return Err(Violation::Sequence);
                }
                last = Some(record.sequence());
            }
        }
        if exact { Ok(()) } else { Err(Violation::Minimum) }
    }
}
