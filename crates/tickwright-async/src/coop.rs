//! Cooperation: a task that is always due lets the other tasks of its thread run.
//!
//! A poll that is ready because the clock has passed the deadline did not wait for anything. A task
//! whose every poll is ready in this way never returns to its executor. An example is
//! `loop { sleep(ZERO).await }`, or an interval of 1 ms whose task works for 1.5 ms. Each thread
//! counts such polls in a row of one task. When the budget is spent, the poll wakes its task and is
//! pending.

use core::cell::Cell;
use core::task::Waker;

/// How many polls in a row are ready without a wait, by the clock of the machine.
const POLLS: u32 = 16;

/// The same by a clock of tokio or of a test, where a test polls by hand and expects that what is
/// due is ready.
const POLLS_OF_A_TEST: u32 = 128;

thread_local! {
    /// A task, by the address of its waker's data, and the number of its polls in this row.
    static ROW: Cell<(usize, u32)> = const { Cell::new((0, 0)) };
}

/// Counts a poll that is ready without a wait. True: the budget is spent, the task was woken, and
/// the poll has to be pending.
///
/// A waker without data, as [`Waker::noop`], can wake no task, so its polls have no budget.
pub(crate) fn is_spent(waker: &Waker, is_machine: bool) -> bool {
    let task = waker.data().addr();
    if task == 0 {
        return false;
    }
    let budget = if is_machine { POLLS } else { POLLS_OF_A_TEST };
    let spent = ROW.try_with(|row| {
        let (of, polls) = row.get();
        let polls = if of == task { polls } else { 0 };
        row.set((task, if polls < budget { polls + 1 } else { 0 }));
        polls >= budget
    });
    let spent = spent.unwrap_or(false);
    if spent {
        waker.wake_by_ref();
    }
    spent
}

/// A timer was waited for, so the next row begins.
#[inline]
pub(crate) fn waited() {
    let _ = ROW.try_with(|row| row.set((0, 0)));
}
