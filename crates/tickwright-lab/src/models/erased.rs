//! A queue of any type behind a pointer. What takes a queue in this form is compiled once, and not
//! once for each structure. One call runs a tape, so that the loop that is timed has no indirect
//! call inside.

use core::cell::{RefCell, RefMut};

use crate::clock::Meter;
use crate::models::tape::{self, Step, Tape};
use crate::models::witness::Answer;
use crate::structures::candidate::BenchQueue;

/// A queue whose type is not known.
pub(crate) trait Erased: BenchQueue {
    /// Runs a tape and records the answers.
    fn run(&mut self, tape: &Tape, answer: &mut Answer);

    /// Runs a tape and times each call alone: see [`tape::calls`].
    fn calls(&mut self, tape: &Tape, answer: &mut Answer, meter: &dyn Meter, call: &mut dyn FnMut(Step, u64));

    /// See [`BenchQueue::advance`].
    fn deliver(&mut self, now: u64, budget: usize, sink: &mut dyn FnMut(u32, u64)) -> bool;
}

impl<Q: BenchQueue> Erased for Q {
    fn run(&mut self, tape: &Tape, answer: &mut Answer) {
        match answer {
            Answer::Folded(fold) => tape::run(tape, self, fold),
            Answer::Logged(log) => tape::run(tape, self, log),
        }
    }

    fn calls(
        &mut self,
        tape: &Tape,
        answer: &mut Answer,
        meter: &dyn Meter,
        call: &mut dyn FnMut(Step, u64),
    ) {
        tape::calls(tape, self, answer, meter, call);
    }

    fn deliver(&mut self, now: u64, budget: usize, mut sink: &mut dyn FnMut(u32, u64)) -> bool {
        self.advance(now, budget, &mut sink)
    }
}

/// A queue that several share. A `RefCell` of a trait object could not be shared among queues of
/// different lifetimes.
pub(crate) trait Shared {
    /// Returns the queue.
    fn queue(&self) -> RefMut<'_, dyn Erased + '_>;
}

impl<Q: BenchQueue> Shared for RefCell<Q> {
    fn queue(&self) -> RefMut<'_, dyn Erased + '_> {
        self.borrow_mut()
    }
}
