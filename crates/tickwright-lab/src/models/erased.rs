//! A queue of any type behind a pointer. What takes a queue in this form is compiled once, and not
//! once for each structure. One call runs a tape, so that the loop that is timed has no indirect
//! call inside.

use core::cell::RefCell;

use crate::clock::Meter;
use crate::models::tape::{self, Step, Tape};
use crate::models::witness::{Answer, Fold, Log};
use crate::structures::candidate::{BenchQueue, Dead};

/// The operations of a [`BenchQueue`] without type parameters, and the loops over a tape.
pub(crate) trait Operations {
    /// Runs a tape and folds the answers.
    fn fold(&self, tape: &Tape, fold: &mut Fold);

    /// Runs a tape and records each answer.
    fn log(&self, tape: &Tape, log: &mut Log);

    /// Runs a tape and times each call alone: see [`tape::calls`].
    fn calls(&self, tape: &Tape, answer: &mut Answer, meter: &dyn Meter, call: &mut dyn FnMut(Step, u64));

    /// See [`BenchQueue::DEAD`].
    fn dead(&self) -> Dead;

    fn insert(&self, id: u32, deadline: u64);
    fn remove(&self, id: u32);
    fn reschedule(&self, id: u32, deadline: u64);
    fn head(&self) -> Option<u64>;
    fn second(&self) -> Option<u64>;
    fn pop_expired(&self, now: u64) -> Option<(u32, u64)>;
    fn look_at_head(&self) -> Option<u64>;
    fn take_head(&self, now: u64) -> Option<(u32, u64)>;
    fn pop(&self) -> Option<(u32, u64)>;
    fn pop_and_reinsert(&self, delay: u64) -> Option<(u32, u64)>;
    fn wake(&self) -> Option<u64>;
    fn advance(&self, now: u64, budget: usize, sink: &mut dyn FnMut(u32, u64)) -> bool;
    fn tell(&self, now: u64);
    fn dead_entries(&self) -> Option<usize>;
    fn callers_bytes(&self) -> usize;
}

/// Defines the operations of each trait by those of the other. `advance` differs.
macro_rules! forward {
    (($($by:tt)+) $self:ident => $queue:expr, $to:ident) => {
        fn insert($($by)+ $self, id: u32, deadline: u64) {
            $to::insert($queue, id, deadline);
        }

        fn remove($($by)+ $self, id: u32) {
            $to::remove($queue, id);
        }

        fn reschedule($($by)+ $self, id: u32, deadline: u64) {
            $to::reschedule($queue, id, deadline);
        }

        fn head($($by)+ $self) -> Option<u64> {
            $to::head($queue)
        }

        fn second($($by)+ $self) -> Option<u64> {
            $to::second($queue)
        }

        fn pop_expired($($by)+ $self, now: u64) -> Option<(u32, u64)> {
            $to::pop_expired($queue, now)
        }

        fn look_at_head($($by)+ $self) -> Option<u64> {
            $to::look_at_head($queue)
        }

        fn take_head($($by)+ $self, now: u64) -> Option<(u32, u64)> {
            $to::take_head($queue, now)
        }

        fn pop($($by)+ $self) -> Option<(u32, u64)> {
            $to::pop($queue)
        }

        fn pop_and_reinsert($($by)+ $self, delay: u64) -> Option<(u32, u64)> {
            $to::pop_and_reinsert($queue, delay)
        }

        fn wake($($by)+ $self) -> Option<u64> {
            $to::wake($queue)
        }

        fn tell($($by)+ $self, now: u64) {
            $to::tell($queue, now);
        }

        fn dead_entries(&$self) -> Option<usize> {
            $to::dead_entries($queue)
        }

        fn callers_bytes(&$self) -> usize {
            $to::callers_bytes($queue)
        }
    };
}

impl<Q: BenchQueue> Operations for RefCell<Q> {
    forward!((&) self => &mut *self.borrow_mut(), BenchQueue);

    fn advance(&self, now: u64, budget: usize, mut sink: &mut dyn FnMut(u32, u64)) -> bool {
        self.borrow_mut().advance(now, budget, &mut sink)
    }

    fn fold(&self, tape: &Tape, fold: &mut Fold) {
        tape::run(tape, &mut *self.borrow_mut(), fold);
    }

    fn log(&self, tape: &Tape, log: &mut Log) {
        tape::run(tape, &mut *self.borrow_mut(), log);
    }

    fn calls(&self, tape: &Tape, answer: &mut Answer, meter: &dyn Meter, call: &mut dyn FnMut(Step, u64)) {
        tape::calls(tape, &mut *self.borrow_mut(), answer, meter, call);
    }

    fn dead(&self) -> Dead {
        Q::DEAD
    }
}

/// A queue behind a pointer.
#[derive(Clone, Copy)]
pub(crate) struct Erased<'q>(pub(crate) &'q (dyn Operations + 'q));

impl BenchQueue for Erased<'_> {
    forward!((&mut) self => self.0, Operations);

    fn advance(&mut self, now: u64, budget: usize, sink: &mut impl FnMut(u32, u64)) -> bool {
        self.0.advance(now, budget, sink)
    }
}
