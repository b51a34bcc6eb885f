//! Cooperation: a task whose timers are always ready lets the other tasks of its thread run.
//!
//! A task whose every poll is ready never returns to its executor. An example is
//! `loop { sleep(ZERO).await }`, or an interval of 1 ms whose task works for 1.5 ms.
//!
//! # The rule
//! Each thread has a budget for ready polls: 1024 of timers that have fired, or 128 that take a
//! value out of a delay queue, or 16 for which the clock has passed the deadline without a wait
//! (128 by a clock of a test); when the budget is spent, a poll that would be ready wakes its task
//! and is pending, until the task has returned to its executor or the timer was held back twice in
//! a row.
//!
//! # Why the budget is the thread's
//! The task is not known. Each future in a `FuturesUnordered` has a waker of its own, though all of
//! them are one task. A timer of the same task that was waited for is no sign that the task has
//! returned either: a `select!` whose first branch is ready does not return.
//!
//! # When a task has returned
//! - A task of tokio (feature `tokio`) has a budget of tokio's, which is full at the start of each
//!   turn. When the thread's budget is spent, the task loses the rest of tokio's. While tokio's is
//!   empty, the turn goes on. tokio wakes the task after it has looked at sockets and timers.
//! - [`TestClock::block_on`](crate::TestClock::block_on) begins a turn, and so does
//!   [`Timers::run`](crate::Timers::run), which a loop of the caller's calls between two turns. A
//!   test that moves its clock outside of `block_on` is such a loop too.
//! - The timer that was held back first is polled for the third time, with no ready poll in
//!   between. After two polls that wake their own future, `FuturesUnordered` returns too.
//! - Elsewhere nothing tells. Eight polls in a row with other wakers than the first are held back:
//!   they belong to other tasks, or to futures of a `FuturesUnordered`, which has returned by then.
//!   With the same waker 1024 polls are, because the branches of a `select!` share it, and a turn
//!   polls each of them once. So many are needed only if the timer that was held back first was
//!   dropped.
//!
//! # Why at most twice
//! Another task of the thread may spend the budget in each of its turns. A timer that is polled
//! once between two such turns would be held back for ever. A timer that was held back twice is let
//! through, but only eight of them until the budget is full again: a thousand in a
//! `FuturesUnordered` would be ready in one turn.

use core::cell::Cell;
use core::task::Waker;

/// The units of a budget.
const BUDGET: u32 = 1024;

/// What a poll takes that is ready because its timer has fired. The task has mostly waited for it.
/// It has not if another timer was ready when this one was armed.
pub(crate) const FIRED: u32 = 1;

/// What a value of a delay queue takes, and a poll by a clock of a test that is ready without a
/// wait.
pub(crate) const VALUE: u32 = BUDGET / 128;

/// What a poll takes that is ready without a wait. A task that is always late works between two
/// such polls, and the others wait for that work.
pub(crate) const LATE: u32 = BUDGET / 16;

/// How many polls with other wakers than the first are held back in a row, if nothing tells when
/// the task returns. As many timers that were held back [`TWICE`] are let through.
const MOST: u32 = 8;

/// How many polls with the waker of the first count as one with another waker.
const OTHER: u32 = 128;

/// How often in a row one timer is held back.
const TWICE: u32 = 2;

/// The budget of a thread.
struct Budget {
    spent: Cell<u32>,
    /// Of use while the budget is spent.
    turn: Cell<Turn>,
    /// Whether the thread is in `TestClock::block_on`.
    in_block_on: Cell<bool>,
}

/// The end of a task's turn, after which the budget is full again.
#[derive(Clone, Copy)]
struct Turn {
    /// Whether the task is one of tokio's, which has lost the rest of tokio's budget. `None`: the
    /// budget was spent by the last poll.
    on_tokio: Option<bool>,
    /// The first poll in a row that was held back (0: none): its timer, how often that timer was,
    /// and the address of the waker's data.
    first: usize,
    again: u32,
    waker: usize,
    /// How many polls in the row were held back; with another waker a poll counts [`OTHER`] times.
    held: u32,
    /// How many timers were let through, because they had been held back twice.
    passed: u32,
}

impl Turn {
    const NEW: Self = Self { on_tokio: None, first: 0, again: 0, waker: 0, held: 0, passed: 0 };

    /// Whether the task has returned to its executor, as its timer is polled.
    fn has_returned(&mut self, timer: usize, waker: &Waker) -> bool {
        match self.on_tokio {
            _ if self.first == timer && self.again >= TWICE => true,
            None => {
                self.on_tokio = Some(tokio::end_turn(waker));
                false
            }
            Some(true) => !tokio::is_spent(waker),
            Some(false) => self.held >= MOST * OTHER,
        }
    }

    fn let_through(&mut self) {
        self.passed += 1;
        // The next poll is the first in a row.
        (self.first, self.again, self.waker, self.held) = (0, 0, 0, 0);
    }

    fn hold_back(&mut self, timer: usize, waker: usize) {
        if self.first == 0 {
            (self.first, self.waker) = (timer, waker);
        }
        self.again += u32::from(self.first == timer);
        self.held += if self.waker == waker { 1 } else { OTHER };
    }
}

thread_local! {
    static HERE: Budget = const {
        Budget { spent: Cell::new(0), turn: Cell::new(Turn::NEW), in_block_on: Cell::new(false) }
    };
}

/// A timer whose poll is ready, unless it is held back.
#[derive(Clone, Copy)]
pub(crate) struct Candidate {
    /// Its address.
    pub(crate) timer: usize,
    /// How often in a row it was held back before.
    pub(crate) held: u32,
}

/// Takes `units` for a poll that is ready. False: the budget is spent, the task was woken, and the
/// poll has to be pending.
///
/// A waker without data, as [`Waker::noop`], can wake no task, so its polls take nothing.
#[inline]
pub(crate) fn take(units: u32, candidate: Candidate, waker: &Waker) -> bool {
    // The threads of a model are not the platform's.
    if cfg!(loom) || waker.data().is_null() {
        return true;
    }
    let taken = HERE.try_with(|here| {
        let spent = here.spent.get();
        if spent < BUDGET {
            here.spent.set(spent + units);
        }
        spent < BUDGET
    });
    taken.unwrap_or(true) || take_spent(units, candidate, waker)
}

/// [`take`] from a budget that is spent.
#[cold]
fn take_spent(units: u32, candidate: Candidate, waker: &Waker) -> bool {
    let taken = HERE.try_with(|here| {
        let mut turn = here.turn.get();
        if turn.has_returned(candidate.timer, waker) {
            here.turn.set(Turn::NEW);
            here.spent.set(units);
            return true;
        }
        let passes = candidate.held >= TWICE && turn.passed < MOST;
        if passes {
            turn.let_through();
        } else {
            turn.hold_back(candidate.timer, waker.data().addr());
        }
        here.turn.set(turn);
        if !passes && turn.on_tokio != Some(true) {
            waker.wake_by_ref();
        }
        passes
    });
    taken.unwrap_or(true)
}

/// Fills the budget of this thread: a task begins its turn, or new timers are made.
#[inline]
pub(crate) fn begin_turn() {
    let _ = HERE.try_with(|here| {
        here.turn.set(Turn::NEW);
        here.spent.set(0);
    });
}

/// Like [`begin_turn`], as a thread moves the clock of a test. A task that moves the clock goes on
/// with its turn.
pub(crate) fn begin_turn_by_hand() {
    if HERE.try_with(|here| here.in_block_on.get()) == Ok(false) {
        begin_turn();
    }
}

/// While this guard lives, the thread is in `TestClock::block_on`.
pub(crate) struct InBlockOn {
    before: bool,
}

impl InBlockOn {
    pub(crate) fn new() -> Self {
        Self { before: HERE.try_with(|here| here.in_block_on.replace(true)).unwrap_or(false) }
    }
}

impl Drop for InBlockOn {
    fn drop(&mut self) {
        let _ = HERE.try_with(|here| here.in_block_on.set(self.before));
    }
}

/// The budget of tokio's task. Its units can be taken one by one, and cannot be counted.
#[cfg(feature = "tokio")]
mod tokio {
    use core::future::Future;
    use core::pin::pin;
    use core::task::{Context, Waker};

    /// More units than a task of tokio has.
    const MORE: u32 = 256;

    /// Takes all units of this task. False: this is no task of tokio, or one without a limit.
    pub(super) fn end_turn(waker: &Waker) -> bool {
        ::tokio::runtime::Handle::try_current().is_ok() && (0..MORE).any(|_| is_spent(waker))
    }

    /// Takes one unit of this task. True: none was left, and tokio will wake the task.
    pub(super) fn is_spent(waker: &Waker) -> bool {
        pin!(::tokio::task::consume_budget()).poll(&mut Context::from_waker(waker)).is_pending()
    }
}

#[cfg(not(feature = "tokio"))]
mod tokio {
    use core::task::Waker;

    pub(super) const fn end_turn(_: &Waker) -> bool {
        false
    }

    pub(super) const fn is_spent(_: &Waker) -> bool {
        false
    }
}
