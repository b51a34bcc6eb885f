//! A queue of any type as a trait object. A function that takes a queue in this form is compiled
//! only once, and not for each structure. One call runs a whole tape, so that the timed loop
//! contains no indirect call.

use core::cell::{RefCell, RefMut};

use crate::clock::Meter;
use crate::models::tape::{self, Step, Tape};
use crate::models::witness::{Answer, Witness};
use crate::structures::candidate::{BenchQueue, Timed};

/// A queue whose type is not known.
pub(crate) trait Erased: BenchQueue {
    /// Runs a tape and records the answers.
    fn run(&mut self, tape: &Tape, answer: &mut Answer);

    /// As [`run`](Self::run), with a reading of the clock before and after each call of a step.
    /// Calls `call` with the step and the time in ns, if the step counts as an operation.
    fn calls(&mut self, tape: &Tape, answer: &mut Answer, meter: &dyn Meter, call: &mut dyn FnMut(Step, u64));

    /// See [`BenchQueue::advance`].
    fn deliver(&mut self, now: u64, budget: usize, sink: &mut dyn FnMut(u32, u64)) -> bool;
}

impl<Q: Timed> Erased for Q {
    fn run(&mut self, tape: &Tape, answer: &mut Answer) {
        match answer {
            Answer::Folded(fold) if !tape.asks() => tape::run(tape, self, fold),
            Answer::Logged(log) if tape.asks() => tape::serve_all(tape, self, log),
            Answer::Logged(log) if !Q::EXACT => tape::run(tape, self, log),
            _ => tape::run(tape, &mut Behind(self), answer),
        }
    }

    fn calls(
        &mut self,
        tape: &Tape,
        answer: &mut Answer,
        meter: &dyn Meter,
        call: &mut dyn FnMut(Step, u64),
    ) {
        for &step in &tape.steps {
            loop {
                let begun = meter.now();
                // A pop has one answer, which is recorded after the clock's second reading.
                let (popped, is_last) = match (step, &mut *answer) {
                    (Step::Pop, _) => (self.pop(), true),
                    (_, Answer::Folded(fold)) if !tape.asks() => (None, step.run(tape, self, fold)),
                    (_, Answer::Logged(log)) if !Q::EXACT => (None, step.run(tape, self, log)),
                    (_, answer) => (None, step.run(tape, &mut Behind(self), answer)),
                };
                let ns = meter.now().saturating_sub(begun);
                if step.is_operation() {
                    call(step, ns);
                }
                if let Some((id, expiry)) = popped {
                    answer.delivered(id, expiry, expiry);
                }
                if is_last {
                    break;
                }
            }
        }
    }

    fn deliver(&mut self, now: u64, budget: usize, mut sink: &mut dyn FnMut(u32, u64)) -> bool {
        self.advance(now, budget, &mut sink)
    }
}

/// A queue whose calls are indirect. The loops over it are compiled once. These loops run work that
/// is not timed, such as logging all answers of an exact queue, or asking the questions of a
/// workload whose answers are only folded.
struct Behind<'q>(&'q mut dyn Erased);

impl BenchQueue for Behind<'_> {
    fn insert(&mut self, id: u32, deadline: u64) {
        self.0.insert(id, deadline);
    }

    fn remove(&mut self, id: u32) {
        self.0.remove(id);
    }

    fn reschedule(&mut self, id: u32, deadline: u64) {
        self.0.reschedule(id, deadline);
    }

    fn head(&mut self) -> Option<u64> {
        self.0.head()
    }

    fn pop_expired(&mut self, now: u64) -> Option<(u32, u64)> {
        self.0.pop_expired(now)
    }

    fn look_at_head(&mut self) -> Option<u64> {
        self.0.look_at_head()
    }

    fn pop(&mut self) -> Option<(u32, u64)> {
        self.0.pop()
    }

    fn pop_and_reinsert(&mut self, delay: u64) -> Option<(u32, u64)> {
        self.0.pop_and_reinsert(delay)
    }

    fn wake(&mut self) -> Option<u64> {
        self.0.wake()
    }

    fn advance(&mut self, now: u64, budget: usize, sink: &mut impl FnMut(u32, u64)) -> bool {
        self.0.deliver(now, budget, sink)
    }

    fn tell(&mut self, now: u64) {
        self.0.tell(now);
    }
}

/// A queue that several owners share. A `RefCell` of a trait object could not be shared among
/// queues of different lifetimes.
pub(crate) trait Shared {
    /// Returns the queue.
    fn queue(&self) -> RefMut<'_, dyn Erased + '_>;
}

impl<Q: Timed> Shared for RefCell<Q> {
    fn queue(&self) -> RefMut<'_, dyn Erased + '_> {
        self.borrow_mut()
    }
}
