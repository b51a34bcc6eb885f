//! Imports the lines of `strace -f -ttt -T`: system calls that set timers or wait.
//!
//! Record with `strace -f -ttt -T -o FILE PROGRAM`, or `-p PID`. `-e trace=` makes the recording
//! smaller. Keep `%process` in that list, or the import cannot tell processes from threads. Lines
//! of other calls are skipped. Without `-T`, the thread's next line gives the end of a wait. `-r`
//! is read as well, but with several threads its stamps may be wrong by milliseconds. `-t` and
//! `-tt` are refused: their stamps have no date.
//!
//! # What the lines mean
//! - A wait with a time-out (`poll`, `select`, `epoll_wait`, `nanosleep`, `futex`, ...) arms a
//!   timer when it begins. The timer fires if the wait returns because its time was over; otherwise
//!   it is cancelled. A wait with the time-out `NULL`, -1 or 0 is no timer. Each thread has one
//!   timer of each kind.
//! - A wait that a signal stopped continues in `restart_syscall`.
//! - A timerfd is named by process and descriptor until the descriptor is closed or used again. A
//!   POSIX timer is named by process and id, an interval timer by process and clock. `alarm` is an
//!   interval timer. A time of 0 disarms.
//! - A timerfd fires when it is read, other timers when their signal comes. Each such line gives
//!   one expiry, even if it reports several: [`Strace::missed`] counts the others.
//! - Some programs wait for a timerfd but do not read it, or block the signal. A one-shot timer
//!   fires at its deadline if no line within 100 ms after that says that it has fired.
//! - A deadline on `CLOCK_REALTIME` is a stamp. Expiries show the offset of another clock: a call
//!   that returned because its time was over ended at its deadline. Before the first such expiry,
//!   up to 65,536 events wait. After these, the import takes the delay of the most urgent deadline
//!   so far for 0. [`Strace::guessed`] counts the deadlines that rest on this guess. To avoid
//!   guesses, record for longer, or let `clock_gettime` be a system call.
//! - `ITIMER_VIRTUAL` and `ITIMER_PROF` count processor time, so their deadlines are the earliest
//!   possible.
//! - Events are in the order of their times. The exception: more than 65,536 events would have to
//!   wait for the end of a call that began before them.

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
use super::source::LineReader;
use crate::error::TraceError;

/// Reads strace's lines and writes them as a `.twt` file. `of` names the recorded program, for the
/// header. Memory grows with the number of threads and timers.
///
/// # Errors
/// [`TraceError::Line`] if no line is a call that sets a timer or waits for a time, or if stamps
/// have no date. [`TraceError::Io`]. [`TraceError::Unfit`] if there are a million names of threads.
pub fn import<R: BufRead, W: Write>(from: R, of: &str, to: W) -> Result<(W, Strace), TraceError> {
    let mut state = State::new(of, to);
    let mut from = LineReader::new(from)?;
    let mut lines = 0;
    let mut unstamped = 0_u64;
    while let Some(bytes) = from.next()? {
        lines += 1;
        let line = read(bytes);
        let is_call = matches!(line.body, Body::Call { .. } | Body::Begin { .. });
        match line.stamp {
            Stamp::OfDay if is_call => {
                let what = "the stamps have no date: record with strace -f -ttt -T, not -t or -tt".into();
                return Err(TraceError::Line { line: lines, what });
            }
            Stamp::Missing | Stamp::OfDay => {
                if !state.go_on(bytes)? && is_call && is_timer(&line.body) {
                    unstamped += 1;
                }
            }
            Stamp::Unix(_) | Stamp::Since(_) => state.line(&line)?,
        }
    }
    (state.found.count.lines, state.found.count.damage) = (lines, from.damage);
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

/// Whether a line is strace's: a call, a signal or an end, with a stamp or without.
pub(super) fn is_line(line: &[u8]) -> bool {
    read(line).body != Body::Other
}

/// Whether every line of this call is about a timer.
fn is_timer(body: &Body<'_>) -> bool {
    let (Body::Call { name, .. } | Body::Begin { name, .. }) = body else { return false };
    call::call(name).is_some_and(|at| matches!(call::CALLS[at].1, call::Call::Wait(_)))
}
