//! Cooperation: a task whose timers are always ready lets the other tasks of its thread run.
//!
//! If every poll of a task's timers is ready, the task never returns to its executor. Examples are
//! `loop { sleep(ZERO).await }`, and an interval of 1 ms whose task works for 1.5 ms per tick.
//!
//! # The rule
//! Each thread has a budget for ready polls. The budget is enough for 1024 polls of timers that
//! have fired, or for 128 polls that take a value out of a delay queue, or for 16 polls that are
//! ready without a wait because the deadline has already passed (128 such polls with the clock of a
//! test). When the budget is spent, a poll that would be ready wakes its task and returns pending
//! (it is held back). Polls are held back until the task has returned to its executor, but the same
//! timer at most twice in a row.
//!
//! # Why the budget is the thread's
//! The budget belongs to the thread, because a timer cannot find out which task polls it. Wakers do
//! not identify tasks: each future in a `FuturesUnordered` has its own waker, although all of them
//! belong to one task. If a pending timer of the task fires, this does not prove either that the
//! task has returned, because a `select!` whose first branch is ready does not return.
//!
//! # When a task has returned
//! - A tokio task (with the feature `tokio`) has a budget from tokio, which is full at the start of
//!   each turn of the task. When the thread's budget is spent, we also spend all remaining units of
//!   the task's tokio budget. As long as the tokio budget is empty, the task has not returned.
//!   tokio polls the task again only after it has polled its sockets and timers.
//! - A task has returned when [`TestClock::block_on`](crate::TestClock::block_on) polls it again,
//!   or when the caller's loop calls [`Timers::run`](crate::Timers::run), because the loop does
//!   this between two turns. A test that moves its clock outside of `block_on` is treated like such
//!   a loop.
//! - A task has returned when the timer that was held back first is polled for the third time and
//!   no poll was ready in between, because even `FuturesUnordered` returns after two polls that
//!   wake their own future.
//! - In all other cases, the end of a turn is inferred from the number of polls that were held
//!   back. After eight polls whose wakers differ from the waker of the first one, the task has
//!   returned, because these polls belong to other tasks, or to futures of a `FuturesUnordered`,
//!   which has returned by then. Polls with the waker of the first one can be branches of the same
//!   `select!`, which polls each branch once per turn. Therefore up to 1024 such polls are held
//!   back. This limit is reached only if the timer that was held back first was dropped.
//!
//! # Why at most twice
//! If another task of the thread spends the budget in each of its turns, a timer that is polled
//! once between two such turns would be held back forever. Therefore a timer that was held back
//! twice in a row is let through: its next poll is ready. At most eight timers are let through
//! until the budget is full again, because otherwise a thousand timers in a `FuturesUnordered`
//! could be ready in one turn.

use core::cell::Cell;
use core::task::Waker;

/// The number of units in a full budget.
const BUDGET: u32 = 1024;

/// The units for a poll that is ready because its timer has fired. The task has usually waited for
/// this timer. It has not waited if another of its timers was always ready.
pub(crate) const FIRED: u32 = 1;

/// The units for taking a value out of a delay queue, and for a poll that is ready without a wait
/// if the clock belongs to a test.
pub(crate) const VALUE: u32 = BUDGET / 128;

/// The units for a poll that is ready without a wait. A task that is always late works between two
/// such polls, and the other tasks must wait during that work.
pub(crate) const LATE: u32 = BUDGET / 16;

/// How many polls in a row with wakers other than the first one are held back, if nothing else
/// shows that the task has returned. It is also the largest number of timers that are let through
/// after they were held back twice in a row ([`TWICE`]).
const MOST: u32 = 8;

/// How many polls with the first waker are counted like one poll with another waker.
const OTHER: u32 = 128;

/// How often in a row a timer is held back at most.
const TWICE: u32 = 2;

/// The budget of a thread.
struct Budget {
    spent: Cell<u32>,
    /// The state of the current turn, which is used only while the budget is spent.
    turn: Cell<Turn>,
    /// Whether the thread is in `TestClock::block_on`.
    in_block_on: Cell<bool>,
}

/// What is known about the current turn of the task that has spent the budget. When the turn has
/// ended, the budget is full again.
#[derive(Clone, Copy)]
struct Turn {
    /// Whether the task is a tokio task, so that its tokio budget was spent, too. It is `None` if
    /// the last poll has just spent our budget, so that this is not known yet.
    on_tokio: Option<bool>,
    /// The first poll of the current series of polls that were held back: its timer (0 if no poll
    /// was held back), how often that timer was held back, and the address of its waker's data.
    first: usize,
    again: u32,
    waker: usize,
    /// How many polls of the series were held back. A poll with another waker counts [`OTHER`]
    /// times.
    held: u32,
    /// How many timers were let through because they were held back twice.
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
        // The next poll that is held back begins a new series.
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

/// A timer whose poll will be ready, unless it is held back.
#[derive(Clone, Copy)]
pub(crate) struct Candidate {
    /// The address of the timer.
    pub(crate) timer: usize,
    /// How often in a row the timer was held back before this poll.
    pub(crate) held: u32,
}

/// Takes `units` of the budget for a poll that would be ready. Returns false if the budget is
/// spent. In this case the task was woken, and the poll must return pending.
///
/// A waker without data, such as [`Waker::noop`], cannot wake a task, so polls with such a waker
/// take no units and are never held back.
#[inline]
pub(crate) fn take(units: u32, candidate: Candidate, waker: &Waker) -> bool {
    // The threads of a loom model are not threads of the platform, so they have no budget.
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

/// Fills the budget of this thread, because a task begins its turn or new timers are created.
#[inline]
pub(crate) fn begin_turn() {
    let _ = HERE.try_with(|here| {
        here.turn.set(Turn::NEW);
        here.spent.set(0);
    });
}

/// Like [`begin_turn`], for a thread that moves the clock of a test. If a task in `block_on` moves
/// the clock, the task's turn continues.
pub(crate) fn begin_turn_by_hand() {
    if HERE.try_with(|here| here.in_block_on.get()) == Ok(false) {
        begin_turn();
    }
}

/// A guard: the thread is in `TestClock::block_on` while the guard exists.
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

/// Access to the budget of a tokio task. Its units can only be taken one by one, and they cannot be
/// counted.
#[cfg(feature = "tokio")]
mod tokio {
    use core::future::Future;
    use core::pin::pin;
    use core::task::{Context, Waker};

    /// More units than the budget of a tokio task has.
    const MORE: u32 = 256;

    /// Takes all units of this task. Returns false if this is not a tokio task, or if its budget is
    /// unlimited.
    pub(super) fn end_turn(waker: &Waker) -> bool {
        ::tokio::runtime::Handle::try_current().is_ok() && (0..MORE).any(|_| is_spent(waker))
    }

    /// Takes one unit of this task. Returns true if no unit was left. In this case tokio wakes the
    /// task.
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
