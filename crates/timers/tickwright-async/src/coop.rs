//! Cooperation: a task whose timers are always ready lets the other tasks of its thread run.
//!
//! A task whose every poll is ready never returns to its executor. An example is
//! `loop { sleep(ZERO).await }`, or an interval of 1 ms whose task works for 1.5 ms.
//!
//! # The rule
//! Each thread has a budget for ready polls: 1024 polls of timers that have fired, or 128 polls
//! that take a value out of a delay queue, or 16 polls that are ready without a wait because the
//! clock has already passed the deadline (128 such polls by a clock of a test). When the budget is
//! spent, a poll that would be ready wakes its task and returns pending. This ends when the task
//! has returned to its executor, or when the timer was held back twice in a row.
//!
//! # Why the budget is the thread's
//! A timer does not know which task polls it. Each future in a `FuturesUnordered` has its own
//! waker, although all of them belong to one task. A pending timer of the task that fires does not
//! prove that the task has returned either, because a `select!` whose first branch is ready does
//! not return.
//!
//! # When a task has returned
//! - A task of tokio (feature `tokio`) has a budget of tokio, which is full at the start of each
//!   turn. When the thread's budget is spent, we also spend the rest of the task's tokio budget.
//!   While the tokio budget is empty, the turn continues. tokio wakes the task after it has polled
//!   its sockets and timers.
//! - [`TestClock::block_on`](crate::TestClock::block_on) begins a turn.
//!   [`Timers::run`](crate::Timers::run) does too, because the caller's loop calls it between two
//!   turns. A test that moves its clock outside of `block_on` counts as such a loop.
//! - The timer that was held back first is polled for the third time, with no ready poll since its
//!   first poll. Even `FuturesUnordered` returns after two polls that wake their own future.
//! - In all other cases the end of a turn is inferred. Eight polls in a row whose wakers differ
//!   from the first one are held back: they belong to other tasks, or to futures of a
//!   `FuturesUnordered`, which has returned by then. Up to 1024 polls with the first waker are held
//!   back, because the branches of a `select!` share a waker and a turn polls each branch once. The
//!   limit of 1024 is reached only if the timer that was held back first was dropped.
//!
//! # Why at most twice
//! Another task of the thread might spend the budget in each of its turns. A timer that is polled
//! once between two such turns would be held back forever. Therefore a timer that was held back
//! twice is let through. At most eight timers are let through until the budget is full again,
//! because otherwise a thousand timers in a `FuturesUnordered` would be ready in one turn.

use core::cell::Cell;
use core::task::Waker;

/// The units of a budget.
const BUDGET: u32 = 1024;

/// The units of a poll that is ready because its timer has fired. Usually the task has waited for
/// the timer. It has not waited if another timer was ready when this timer was armed.
pub(crate) const FIRED: u32 = 1;

/// The units of a value of a delay queue, and of a poll that is ready without a wait by a clock of
/// a test.
pub(crate) const VALUE: u32 = BUDGET / 128;

/// The units of a poll that is ready without a wait. A task that is always late works between two
/// such polls, and the other tasks wait for that work.
pub(crate) const LATE: u32 = BUDGET / 16;

/// How many polls in a row with wakers other than the first are held back, if nothing shows when
/// the task returns. It is also the number of timers that are let through after they were held back
/// [`TWICE`].
const MOST: u32 = 8;

/// How many polls with the first waker count as one poll with another waker.
const OTHER: u32 = 128;

/// How often in a row one timer is held back.
const TWICE: u32 = 2;

/// The budget of a thread.
struct Budget {
    spent: Cell<u32>,
    /// Used only while the budget is spent.
    turn: Cell<Turn>,
    /// Whether the thread is in `TestClock::block_on`.
    in_block_on: Cell<bool>,
}

/// The end of a task's turn, after which the budget is full again.
#[derive(Clone, Copy)]
struct Turn {
    /// Whether the task is a task of tokio, whose tokio budget was therefore spent too. `None`: the
    /// last poll spent our budget, and this is not known yet.
    on_tokio: Option<bool>,
    /// The first of the polls in a row that were held back: its timer (0: no poll was held back),
    /// how often that timer was held back, and the address of the waker's data.
    first: usize,
    again: u32,
    waker: usize,
    /// How many polls in a row were held back. A poll with another waker counts [`OTHER`] times.
    held: u32,
    /// How many timers were let through because they had been held back twice.
    passed: u32,
}

impl Turn {
    const NEW: Self = Self { on_tokio: None, first: 0, again: 0, waker: 0, held: 0, passed: 0 };

    /// Returns whether this poll of `timer` shows that the task has returned to its executor.
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
/// A waker without data, such as [`Waker::noop`], cannot wake a task, so polls with such a waker
/// take no units.
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

/// Does the work of [`take`] when the budget is spent.
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

/// Like [`begin_turn`], for a thread that moves the clock of a test. If a task in `block_on` moves
/// the clock, its turn continues.
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

/// The budget of a tokio task. Its units can only be taken one by one, and not be counted.
#[cfg(feature = "tokio")]
mod tokio {
    use core::future::Future;
    use core::pin::pin;
    use core::task::{Context, Waker};

    /// More units than a task of tokio has.
    const MORE: u32 = 256;

    /// Takes all units of this task. Returns false if this is not a task of tokio, or if its budget
    /// is unlimited.
    pub(super) fn end_turn(waker: &Waker) -> bool {
        ::tokio::runtime::Handle::try_current().is_ok() && (0..MORE).any(|_| is_spent(waker))
    }

    /// Takes one unit of this task. Returns true if no unit was left; tokio then wakes the task.
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
