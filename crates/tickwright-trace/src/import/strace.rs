//! System calls that set timers or wait, as `strace -f -ttt -T` writes them.
//!
//! Record with `strace -f -ttt -T -o FILE PROGRAM`, or `-p PID`. `-e trace=` makes the recording
//! smaller; keep `%process` in it, so that processes can be told from threads. Lines of other calls
//! are left out. Without `-T`, the end of a wait is taken from the thread's next line. `-r` is read
//! as well, but where there are several threads its stamps may be wrong by milliseconds. `-t` and
//! `-tt` are refused: their stamps have no date.
//!
//! # What the lines mean
//! - A wait with a time-out (`poll`, `select`, `epoll_wait`, `nanosleep`, `futex`, ...) arms a
//!   timer when it begins. The timer fires if the wait returns because its time was over, else it
//!   is cancelled. Time-outs `NULL`, -1 and 0 are no timers. Each thread has one timer of each
//!   kind.
//! - A wait that a signal stopped goes on in `restart_syscall`.
//! - A timerfd is named by process and descriptor until the descriptor is closed or used again. A
//!   POSIX timer is named by process and id, an interval timer by process and clock. `alarm` is an
//!   interval timer. A time of 0 disarms.
//! - A timerfd fires when it is read, other timers when their signal comes. One expiry is written
//!   for both, however many they say there were: [`Strace::missed`] counts the others.
//! - Some programs wait for a timerfd but do not read it, or block the signal. A one-shot timer
//!   fires at its deadline if no line within 100 ms after that says that it has fired.
//! - A deadline on `CLOCK_REALTIME` is a stamp. What other clocks say at a stamp, expiries show: a
//!   call that returned because its time was over ended at its deadline. Until there is one, events
//!   wait, up to 65,536. Then the delay of the most urgent deadline so far is taken for 0, and
//!   [`Strace::guessed`] counts such deadlines. To have none, record for longer, or with a
//!   `clock_gettime` that is a system call.
//! - The times of `ITIMER_VIRTUAL` and `ITIMER_PROF` pass while the program computes: deadlines are
//!   the earliest possible.
//! - Events are in the order of their times. An exception is when more than 65,536 of them would
//!   have to wait for the end of a call that began before them.

mod args;
mod call;
mod clock;
mod found;
mod line;
mod queue;
mod state;
mod tasks;

use std::io::{BufRead, Write};

pub use self::found::Strace;
use self::line::{Body, Stamp, read};
use self::state::State;
use super::source::next_line;
use crate::error::TraceError;

/// Reads strace's lines and writes them as a `.twt` file. `of` is what was recorded. Memory grows
/// with the number of threads and timers.
///
/// # Errors
/// [`TraceError::Line`] when no line is a call that sets a timer or waits for a time, and when
/// stamps have no date. [`TraceError::Io`]. [`TraceError::Unfit`] for a million names of threads.
pub fn import<R: BufRead, W: Write>(mut from: R, of: &str, to: W) -> Result<(W, Strace), TraceError> {
    let mut state = State::new(of, to);
    let mut bytes = Vec::new();
    let mut lines = 0;
    let mut unstamped = 0_u64;
    while next_line(&mut from, &mut bytes)? {
        lines += 1;
        let line = read(&bytes);
        let is_call = matches!(line.body, Body::Call { .. } | Body::Begin { .. });
        match line.stamp {
            Stamp::OfDay if is_call => {
                let what = "the stamps have no date: record with strace -f -ttt -T, not -t or -tt".into();
                return Err(TraceError::Line { line: lines, what });
            }
            Stamp::Missing | Stamp::OfDay => {
                if !state.go_on(&bytes)? && is_call && is_timer(&line.body) {
                    unstamped += 1;
                }
            }
            Stamp::Unix(_) | Stamp::Since(_) => state.line(&line)?,
        }
    }
    state.found.count.lines = lines;
    state.found.count.unreadable += unstamped;
    match state.finish()? {
        (Some(to), found) => Ok((to, found)),
        (None, found) => {
            let what = match found.count.unreadable {
                0 if lines == 0 => "the file is empty: nothing was recorded".into(),
                0 => "no line sets a timer or waits for a time: record with strace -f -ttt -T".into(),
                some if some == unstamped => "the lines have no stamps: record with strace -f -ttt -T".into(),
                some => format!("{some} lines set timers or wait, but none can be read"),
            };
            Err(TraceError::Line { line: lines, what })
        }
    }
}

/// Whether a call always says something about a timer.
fn is_timer(body: &Body<'_>) -> bool {
    let (Body::Call { name, .. } | Body::Begin { name, .. }) = body else { return false };
    call::call(name).is_some_and(|at| matches!(call::CALLS[at].1, call::Call::Wait(_)))
}
