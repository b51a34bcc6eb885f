use core::cell::{Cell, RefCell};

use super::*;
use crate::clock::OsClock;

/// The ways in which a scheduler can fail the check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    Refuses,
    /// An added timer is missing.
    Loses,
    Early,
    Late,
    /// A deleted timer stays pending.
    Keeps,
    Breaks,
}

/// A scheduler that stores only due times and counts, but no timers.
struct Liar {
    fault: Fault,
    clock: OsClock,
    added: Cell<usize>,
    deleted: Cell<usize>,
    due: RefCell<Vec<u64>>,
}

impl Subject for Liar {
    type Id = usize;

    fn add(&self, delay: u32) -> Option<usize> {
        let id = self.added.get();
        self.added.set(id + 1);
        self.due.borrow_mut().push(self.clock.now() + u64::from(delay) * 1_000_000);
        (self.fault != Fault::Refuses || id != 7).then_some(id)
    }

    fn del(&self, id: usize) -> bool {
        if self.fault == Fault::Keeps && id == 7 {
            return false;
        }
        self.deleted.set(self.deleted.get() + 1);
        true
    }

    fn when(&self, id: usize) -> Option<u64> {
        let due = self.due.borrow()[id];
        match self.fault {
            Fault::Loses if id == 7 => None,
            Fault::Early if id == 7 => Some(due.saturating_sub(1_000_000_000)),
            Fault::Late if id == 7 => Some(due + 1_000_000_000),
            _ => Some(due),
        }
    }

    fn now(&self) -> u64 {
        self.clock.now()
    }

    fn pending(&self) -> usize {
        self.added.get() - self.deleted.get()
    }

    fn fault(&self) -> Option<String> {
        (self.fault == Fault::Breaks).then(|| "broken".into())
    }
}

fn take(fault: Fault) -> Result<Option<Sample>, String> {
    let clock = OsClock::start();
    let mut delays = Delays::drawn(20, 1);
    let liar = Liar { fault, clock, added: Cell::new(0), deleted: Cell::new(0), due: Vec::new().into() };
    Measure { n: 20, delays: &mut delays, meter: &clock, until: u64::MAX }.visit(liar)
}

#[test]
fn a_scheduler_that_answers_wrongly_is_not_timed() {
    assert!(take(Fault::None).unwrap().is_some());
    for (fault, words) in [
        (Fault::Refuses, "an add was refused"),
        (Fault::Loses, "the 7th is not pending"),
        (Fault::Early, "the 7th, of "),
        (Fault::Late, "the 7th, of "),
        (Fault::Keeps, "19 were deleted and 1 are left"),
        (Fault::Breaks, "broken"),
    ] {
        let wrong = take(fault).unwrap_err();
        assert!(wrong.contains(words), "{fault:?}: {wrong}");
    }
}

#[test]
fn delays_are_drawn_again_from_the_begin() {
    let mut delays = Delays::drawn(3, 9);
    let first: Vec<u32> = (0..3).map(|_| delays.next()).collect();
    assert_eq!((0..3).map(|_| delays.next()).collect::<Vec<_>>(), first);
    assert!(first.iter().all(|&delay| delay < DELAYS_MS));
}
