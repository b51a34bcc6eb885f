//! The calls that set timers or wait for a time, and the calls that show which process owns a
//! timer.

use super::args::{Args, Outcome, pair};
use super::clock::{Clock, Due};
use super::line::{digits, find};
use crate::event::Ns;

/// The queues, as indexes into [`BASES`].
pub(super) const TIMERFD: u8 = 0;
pub(super) const POSIX: u8 = 1;
pub(super) const ITIMER: u8 = 2;
const POLL: u8 = 3;
const EPOLL: u8 = 4;
const SELECT: u8 = 5;
const SLEEP: u8 = 6;
const FUTEX: u8 = 7;
const SIGNAL: u8 = 8;
const IPC: u8 = 9;
const AIO: u8 = 10;

/// The queues, with the unit of their times in ns.
pub(super) const BASES: [(&str, u64); 11] = [
    ("timerfd", 1),
    ("posix-timer", 1),
    ("itimer", 1_000),
    ("poll", 1_000_000),
    ("epoll", 1_000_000),
    ("select", 1_000),
    ("sleep", 1),
    ("futex", 1),
    ("signal", 1),
    ("ipc", 1),
    ("aio", 1),
];

/// What a call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    Wait(Wait),
    TimerfdCreate,
    TimerfdSettime,
    Read,
    Close,
    CloseRange,
    /// The call returns a file descriptor, so an earlier descriptor of that number was closed.
    Opens,
    TimerCreate,
    TimerSettime,
    TimerDelete,
    Setitimer,
    Alarm,
    Gettime,
    Clone,
    Exec,
    Restart,
}

/// A call that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wait {
    pub(super) base: u8,
    /// Which argument is the time-out.
    at: u8,
    form: Form,
    /// What the call returns when the time is over.
    over: Over,
}

/// How a time-out is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// A number of ms.
    Milliseconds,
    /// Seconds and ns.
    Spec,
    /// Seconds and us.
    Value,
    /// Seconds and ns, on a clock, from now or not.
    ClockSleep,
    /// Seconds and ns; the operation says which clock.
    Futex,
    /// Seconds and ns, on the clock of the last argument.
    Futexes,
    /// Seconds and ns since 1970.
    Calendar,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Over {
    Zero,
    TimedOut,
    Again,
}

const fn wait(base: u8, at: u8, form: Form, over: Over) -> Call {
    Call::Wait(Wait { base, at, form, over })
}

/// The calls, sorted by name.
pub(super) const CALLS: [(&str, Call); 67] = [
    ("_newselect", wait(SELECT, 4, Form::Value, Over::Zero)),
    ("accept", Call::Opens),
    ("accept4", Call::Opens),
    ("alarm", Call::Alarm),
    ("clock_gettime", Call::Gettime),
    ("clock_gettime64", Call::Gettime),
    ("clock_nanosleep", wait(SLEEP, 2, Form::ClockSleep, Over::Zero)),
    ("clock_nanosleep_time64", wait(SLEEP, 2, Form::ClockSleep, Over::Zero)),
    ("clone", Call::Clone),
    ("clone3", Call::Clone),
    ("close", Call::Close),
    ("close_range", Call::CloseRange),
    ("creat", Call::Opens),
    ("dup", Call::Opens),
    ("dup2", Call::Opens),
    ("dup3", Call::Opens),
    ("epoll_create", Call::Opens),
    ("epoll_create1", Call::Opens),
    ("epoll_pwait", wait(EPOLL, 3, Form::Milliseconds, Over::Zero)),
    ("epoll_pwait2", wait(EPOLL, 3, Form::Spec, Over::Zero)),
    ("epoll_wait", wait(EPOLL, 3, Form::Milliseconds, Over::Zero)),
    ("eventfd", Call::Opens),
    ("eventfd2", Call::Opens),
    ("execve", Call::Exec),
    ("execveat", Call::Exec),
    ("fork", Call::Clone),
    ("futex", wait(FUTEX, 3, Form::Futex, Over::TimedOut)),
    ("futex_time64", wait(FUTEX, 3, Form::Futex, Over::TimedOut)),
    ("futex_waitv", wait(FUTEX, 3, Form::Futexes, Over::TimedOut)),
    ("inotify_init1", Call::Opens),
    ("io_getevents", wait(AIO, 4, Form::Spec, Over::Zero)),
    ("io_pgetevents", wait(AIO, 4, Form::Spec, Over::Zero)),
    ("io_pgetevents_time64", wait(AIO, 4, Form::Spec, Over::Zero)),
    ("memfd_create", Call::Opens),
    ("mq_timedreceive", wait(IPC, 4, Form::Calendar, Over::TimedOut)),
    ("mq_timedreceive_time64", wait(IPC, 4, Form::Calendar, Over::TimedOut)),
    ("mq_timedsend", wait(IPC, 4, Form::Calendar, Over::TimedOut)),
    ("mq_timedsend_time64", wait(IPC, 4, Form::Calendar, Over::TimedOut)),
    ("nanosleep", wait(SLEEP, 0, Form::Spec, Over::Zero)),
    ("open", Call::Opens),
    ("openat", Call::Opens),
    ("openat2", Call::Opens),
    ("pidfd_open", Call::Opens),
    ("poll", wait(POLL, 2, Form::Milliseconds, Over::Zero)),
    ("ppoll", wait(POLL, 2, Form::Spec, Over::Zero)),
    ("ppoll_time64", wait(POLL, 2, Form::Spec, Over::Zero)),
    ("pselect6", wait(SELECT, 4, Form::Spec, Over::Zero)),
    ("pselect6_time64", wait(SELECT, 4, Form::Spec, Over::Zero)),
    ("read", Call::Read),
    ("restart_syscall", Call::Restart),
    ("rt_sigtimedwait", wait(SIGNAL, 2, Form::Spec, Over::Again)),
    ("rt_sigtimedwait_time64", wait(SIGNAL, 2, Form::Spec, Over::Again)),
    ("select", wait(SELECT, 4, Form::Value, Over::Zero)),
    ("semtimedop", wait(IPC, 3, Form::Spec, Over::Again)),
    ("semtimedop_time64", wait(IPC, 3, Form::Spec, Over::Again)),
    ("setitimer", Call::Setitimer),
    ("signalfd4", Call::Opens),
    ("socket", Call::Opens),
    ("timer_create", Call::TimerCreate),
    ("timer_delete", Call::TimerDelete),
    ("timer_settime", Call::TimerSettime),
    ("timer_settime64", Call::TimerSettime),
    ("timerfd_create", Call::TimerfdCreate),
    ("timerfd_settime", Call::TimerfdSettime),
    ("timerfd_settime64", Call::TimerfdSettime),
    ("userfaultfd", Call::Opens),
    ("vfork", Call::Clone),
];

/// The index of a call in [`CALLS`].
pub(super) fn call(name: &[u8]) -> Option<usize> {
    CALLS.binary_search_by(|(known, _)| known.as_bytes().cmp(name)).ok()
}

/// The time-out of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimeOut {
    /// The wait has no time-out, or does not wait at all.
    None,
    At(Due),
    /// The arguments so far do not have the time.
    Missing,
    /// It cannot be read.
    Bad,
}

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// Its time was over.
    Over,
    /// The wait ended before its time was over.
    Early,
    /// A signal stopped the wait; `restart_syscall` continues it.
    Stopped,
    /// The call did not wait: an argument was wrong, or the word of a futex had changed.
    Refused,
}

impl Wait {
    /// The time-out. `start` is the time of the call.
    pub(super) fn time_out(&self, start: Ns, args: &Args<'_>) -> TimeOut {
        let from_now = |ns: Option<Ns>| match ns {
            Some(ns) if ns > 0 => TimeOut::At(Due::At(start.saturating_add(ns))),
            Some(_) => TimeOut::None,
            None => TimeOut::Bad,
        };
        let text = args.get(self.at.into());
        if self.form == Form::Futex && !args.get(1).is_empty() && futex_clock(args.get(1)).is_none() {
            return TimeOut::None;
        }
        if text.is_empty() {
            return TimeOut::Missing;
        }
        if text == b"NULL" {
            return TimeOut::None;
        }
        let on = |clock: Option<Clock>| match (clock, pair(text, 1)) {
            (Some(clock), Some(ns)) => TimeOut::At(Due::On(clock, ns)),
            _ => TimeOut::Bad,
        };
        match self.form {
            Form::Milliseconds => match text.strip_prefix(b"-") {
                Some(_) => TimeOut::None,
                None => from_now(digits(text).filter(|(_, rest)| rest.is_empty()).map(|(ms, _)| {
                    // Old versions write -1 as an unsigned 32-bit number.
                    i32::try_from(ms).map_or(0, |ms| i64::from(ms) * 1_000_000)
                })),
            },
            Form::Spec => from_now(pair(text, 1)),
            Form::Value => from_now(pair(text, 1_000)),
            Form::ClockSleep if find(args.get(1), b"TIMER_ABSTIME").is_none() => from_now(pair(text, 1)),
            Form::ClockSleep => on(Clock::of(args.get(0))),
            Form::Futexes => match args.get(4) {
                b"" => TimeOut::Missing,
                clock => on(Clock::of(clock)),
            },
            Form::Calendar => on(Some(Clock::Realtime)),
            Form::Futex => match futex_clock(args.get(1)) {
                Some(None) => from_now(pair(text, 1)),
                Some(clock) => on(clock),
                None => TimeOut::None,
            },
        }
    }

    /// How it ended.
    pub(super) fn ended(&self, outcome: &Outcome<'_>) -> Ended {
        let over = match self.over {
            Over::Zero => outcome.value == Some(0),
            Over::TimedOut => outcome.error == b"ETIMEDOUT",
            Over::Again => outcome.error == b"EAGAIN",
        };
        match outcome.error {
            _ if over => Ended::Over,
            b"" | b"EINTR" => Ended::Early,
            b"ERESTART_RESTARTBLOCK" => Ended::Stopped,
            error if error.starts_with(b"ERESTART") => Ended::Early,
            _ => Ended::Refused,
        }
    }
}

/// The clock of a futex operation that waits, `Some(None)` for a time from now on.
fn futex_clock(operation: &[u8]) -> Option<Option<Clock>> {
    let (command, is_calendar) = match operation.strip_prefix(b"0x") {
        // Old versions of strace do not know each flag and print a number.
        Some(hex) => {
            let length = hex.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
            let number = u32::from_str_radix(core::str::from_utf8(&hex[..length]).ok()?, 16).ok()?;
            let command: &[u8] = match number & 0x7f {
                0 => b"FUTEX_WAIT",
                6 => b"FUTEX_LOCK_PI",
                9 => b"FUTEX_WAIT_BITSET",
                11 => b"FUTEX_WAIT_REQUEUE_PI",
                13 => b"FUTEX_LOCK_PI2",
                _ => return None,
            };
            (command, number & 0x100 != 0)
        }
        None => {
            let end = operation.iter().position(|&byte| byte == b'|').unwrap_or(operation.len());
            let command = &operation[..end];
            let command = command.strip_suffix(b"_PRIVATE").unwrap_or(command);
            (command, find(operation, b"FUTEX_CLOCK_REALTIME").is_some())
        }
    };
    let clock = if is_calendar { Clock::Realtime } else { Clock::Monotonic };
    match command {
        b"FUTEX_WAIT" => Some(None),
        b"FUTEX_LOCK_PI" => Some(Some(Clock::Realtime)),
        b"FUTEX_WAIT_BITSET" | b"FUTEX_WAIT_REQUEUE_PI" | b"FUTEX_LOCK_PI2" => Some(Some(clock)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_calls_are_in_order() {
        assert!(CALLS.is_sorted_by(|(a, _), (b, _)| a < b));
        for (at, (name, _)) in CALLS.iter().enumerate() {
            assert_eq!(call(name.as_bytes()), Some(at));
        }
        assert_eq!(call(b"write"), None);
    }
}
