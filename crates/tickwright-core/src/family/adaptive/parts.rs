//! The structures that may serve.

use alloc::vec::Vec;

use super::choice::Kind;
use super::record::{AdaptiveRecord, BUCKETS};
use crate::contract::{Reject, Tick};
use crate::family::dary_heap::{self, Heap};
use crate::family::digits::BucketNumber;
use crate::family::flat::{self, Flat};
use crate::family::ladder::Ladder;
use crate::family::wheel::Hierarchy;
use crate::storage::{Discipline, Handle};

const LEVELS: usize = BucketNumber::<BUCKETS>::LEVELS as usize;

/// A structure of some KiB, created when it is first needed.
#[derive(Debug)]
pub(super) struct Late<D>(pub(super) Vec<D>);

impl<D> Late<D> {
    /// Creates the structure, unless it exists.
    fn make<P: Handle>(&mut self) -> Result<(), Reject>
    where
        D: Discipline<P>,
    {
        if self.0.is_empty() {
            self.0.try_reserve_exact(1).map_err(|_| Reject::Full)?;
            self.0.push(D::NEW);
        }
        Ok(())
    }

    fn bytes(&self) -> usize {
        self.0.capacity() * size_of::<D>()
    }
}

/// All structures. Structures that serve no timers are empty.
pub(super) struct Parts<P: Handle> {
    pub(super) flat: Flat<flat::Growing<P>, AdaptiveRecord<P>>,
    pub(super) heap: Heap<P, dary_heap::Growing<P, 4>, 4, AdaptiveRecord<P>>,
    pub(super) wheel: Late<Hierarchy<P, BUCKETS, LEVELS, AdaptiveRecord<P>>>,
    pub(super) ladder: Late<Ladder<P, AdaptiveRecord<P>>>,
}

/// Calls the structure of a kind.
macro_rules! with_part {
    (mut $parts:expr, $kind:expr, |$order:ident| $body:expr) => {
        match $kind {
            $crate::family::adaptive::choice::Kind::Flat => {
                let $order = &mut $parts.flat;
                $body
            }
            $crate::family::adaptive::choice::Kind::Heap => {
                let $order = &mut $parts.heap;
                $body
            }
            $crate::family::adaptive::choice::Kind::Wheel => {
                let $order = &mut $parts.wheel.0[0];
                $body
            }
            $crate::family::adaptive::choice::Kind::Ladder => {
                let $order = &mut $parts.ladder.0[0];
                $body
            }
        }
    };
    (ref $parts:expr, $kind:expr, |$order:ident| $body:expr) => {
        match $kind {
            $crate::family::adaptive::choice::Kind::Flat => {
                let $order = &$parts.flat;
                $body
            }
            $crate::family::adaptive::choice::Kind::Heap => {
                let $order = &$parts.heap;
                $body
            }
            $crate::family::adaptive::choice::Kind::Wheel => {
                let $order = &$parts.wheel.0[0];
                $body
            }
            $crate::family::adaptive::choice::Kind::Ladder => {
                let $order = &$parts.ladder.0[0];
                $body
            }
        }
    };
}
pub(super) use with_part;

impl<P: Handle> Parts<P> {
    pub(super) const NEW: Self = Self {
        flat: Discipline::<P>::NEW,
        heap: Discipline::<P>::NEW,
        wheel: Late(Vec::new()),
        ladder: Late(Vec::new()),
    };

    /// Makes room for `len` timers in the structure of that kind.
    ///
    /// # Errors
    /// `Full`: the memory cannot be allocated.
    pub(super) fn reserve(&mut self, kind: Kind, len: usize) -> Result<(), Reject> {
        match kind {
            Kind::Flat => Discipline::<P>::reserve(&mut self.flat, 0, len),
            Kind::Heap => self.heap.reserve(0, len),
            Kind::Wheel => self.wheel.make::<P>(),
            Kind::Ladder => {
                self.ladder.make::<P>()?;
                self.ladder.0[0].reserve(0, len)
            }
        }
    }

    /// The structures whose memory has been allocated.
    pub(super) fn made(&self) -> impl Iterator<Item = Kind> {
        let wheel = (!self.wheel.0.is_empty()).then_some(Kind::Wheel);
        let ladder = (!self.ladder.0.is_empty()).then_some(Kind::Ladder);
        [Kind::Flat, Kind::Heap].into_iter().chain(wheel).chain(ladder)
    }

    pub(super) fn clear(&mut self) {
        Discipline::<P>::clear(&mut self.flat);
        self.heap.clear();
        self.wheel.0.iter_mut().for_each(Discipline::clear);
        self.ladder.0.iter_mut().for_each(Discipline::clear);
    }

    pub(super) fn start_sequence_at(&mut self, next: u32) {
        self.heap.start_sequence_at(next);
        self.ladder.0.iter_mut().for_each(|ladder| ladder.start_sequence_at(next));
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let ladder: usize = self.ladder.0.iter().map(Discipline::heap_bytes).sum();
        let small = Discipline::<P>::heap_bytes(&self.flat) + self.heap.heap_bytes();
        small + self.wheel.bytes() + self.ladder.bytes() + ladder
    }
}

/// A move of all timers from one structure to another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Move {
    pub(super) to: Kind,
    /// The number of timers that are in the new structure already.
    pub(super) arrived: usize,
    /// Timers in the new structure are due at or before this tick, all others at it or later.
    pub(super) boundary: Tick,
}

/// The most that one step of a move spends: a unit for each timer that changes its structure, and
/// for each timer that moves inside the old structure. It is enough to bring some timers to the
/// front, and limits the cost of the worst call.
pub(super) const BUDGET: usize = 64;

/// Lets `step` spend of the budget of a pop, but for the unit that the popped timer costs.
pub(super) fn spend_after_pop(budget: &mut usize, step: impl FnOnce(&mut usize)) {
    let popped = 1.min(*budget);
    *budget -= popped;
    step(budget);
    *budget += popped;
}
