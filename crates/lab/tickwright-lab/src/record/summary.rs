//! The texts of a recording: the header at its start, and the summary at its end.

use core::fmt::Write;
use core::time::Duration;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitStatus;

use tickwright_preload::ring::source;
use tickwright_trace::Header;

use super::collector::Totals;
use super::sink::Outcome;
use crate::clock::{Meter, OsClock};
use crate::host::Host;
use crate::output::text::plain;
use crate::traces::remedy::remedies;

/// Sentences about what the library cannot see, and about what it sees only partly.
const UNSEEN: [&str; 11] = [
    "timers that the program implements itself: only the time-out of its wait is seen, \
     which is the earliest deadline",
    "calls of libraries that are linked into the program or bind their own symbols",
    "raw system calls: the futex time-outs of Rust and Go programs, io_uring",
    "time-outs of sockets (SO_RCVTIMEO), mutexes, message queues and sigtimedwait; \
     itimers and POSIX timers of processor time (beyond 256 at once, such a POSIX timer is taken \
     for one of wall time)",
    "static and setuid programs that the recorded program starts",
    "processes that begin after a chroot, in a container, or without the environment",
    "children by vfork, _Fork or a raw clone: until an exec, their calls count as their parent's",
    "the wait of an event loop repeats its earliest timer: leave out one of the two sources",
    "timerfd, POSIX timers, itimers and repeating timers of libev are taken to fire at their deadline",
    "event loops count a delay from the time at which the loop woke: \
     an expiry may precede its deadline by that age",
    "memory that is used again for another timer keeps the number of the first",
];

/// Returns the header of a recording that begins now.
pub(super) fn header(program: &[OsString]) -> Header {
    let words: Vec<_> = program.iter().map(|word| word.to_string_lossy()).collect();
    let host = Host::read();
    let facts = [("cpu", host.cpu), ("kernel", host.kernel), ("cores", Some(host.cores.to_string()))];
    Header {
        of: words.join(" "),
        clock: "CLOCK_MONOTONIC".into(),
        started: OsClock::start().date().unwrap_or_default(),
        host: facts.into_iter().filter_map(|(name, fact)| Some((name.to_owned(), fact?))).collect(),
        unseen: UNSEEN.map(String::from).to_vec(),
        ..Header::of("record")
    }
}

/// How a recording ended.
#[derive(Debug)]
pub(super) struct Ended<'a> {
    pub(super) status: ExitStatus,
    pub(super) elapsed: Duration,
    pub(super) file: &'a Path,
    pub(super) program: &'a [OsString],
}

/// Returns the lines at the end of a recording.
pub(super) fn text(ended: &Ended<'_>, totals: &Totals, outcome: &Outcome) -> String {
    let file = plain(&ended.file.display().to_string());
    let events: u64 = outcome.written.values().sum();
    let mut out = String::new();
    let mut line = |text: String| {
        let _ = writeln!(out, "tickwright: {text}");
    };
    line(format!(
        "{} of {} in {:.1} s: {file} ({})",
        counted(events, "event"),
        counted(totals.timers, "timer"),
        ended.elapsed.as_secs_f64(),
        counted(outcome.bytes, "byte")
    ));
    let each = |(of, count): (&u8, &u64)| {
        source::NAMES.get(usize::from(*of)).map(|name| format!("{name} {count}")).unwrap_or_default()
    };
    let sources: Vec<String> = outcome.written.iter().map(each).collect();
    line(format!(
        "{}, {}; {}",
        counted(totals.processes.into(), "process"),
        counted(outcome.threads as u64, "thread"),
        match &sources[..] {
            [] => "no timer was armed".to_owned(),
            some => some.join(", "),
        }
    ));
    line(format!("{} lost", counted(outcome.lost.saturating_sub(totals.left_out), "record")));
    if totals.left_out > 0 {
        let expiries = if totals.left_out == 1 { "expiry" } else { "expiries" };
        line(format!("{} {expiries} left out: a timer expired too often to be written", totals.left_out));
    }
    if outcome.unwritten > 0 {
        let why =
            if outcome.is_full { "the trace reached --max-mib" } else { "the trace could not be written" };
        line(format!("{} not written: {why}", counted(outcome.unwritten, "event")));
    }
    let per_record = totals.cost.as_nanos().checked_div(totals.records.into()).unwrap_or(0);
    let share = 100.0 * totals.cost.as_secs_f64() / totals.cpu.as_secs_f64();
    let share = if share.is_finite() { format!("{share:.2} %") } else { "an unknown share".to_owned() };
    line(format!(
        "own cost: {} of {per_record} ns, {share} of the program's {:.2} s of processor time",
        counted(totals.records, "record"),
        totals.cpu.as_secs_f64()
    ));
    if totals.records > 0 {
        line(MEASURED_COST.into());
    }
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&ended.status) {
        line(format!("signal {signal} ended the program"));
    }
    let Some(why) = no_timers(outcome) else {
        line(format!("`tickwright describe {file}` shows the timers, and what could not be seen"));
        return out;
    };
    line(why.into());
    for step in remedies(&command(ended.program)) {
        line(format!("next, {step}"));
    }
    out
}

/// The cost of a recording beyond the time that the library itself measures. `docs/recording.md`
/// reports this cost for a server.
const MEASURED_COST: &str = "with the cache misses that records bring, a server under load took 2 to 6 % more \
                             processor time a query";

/// Returns why a recording has no timer of the program, or `None` if the recording has a timer.
fn no_timers(outcome: &Outcome) -> Option<&'static str> {
    if outcome.written.values().sum::<u64>() + outcome.unwritten == 0 {
        let why = "no call was seen that arms a timer or waits with a time-out: a program in Go, or one that is \
                   linked statically, makes its system calls without libc, where they are not seen";
        return Some(why);
    }
    let is_wait = |of: &u8| *of >= source::POLL;
    let why = "only waits were seen, and `recommend` says nothing about waits: the program keeps its timers \
               itself, and waits for the earliest one";
    (!outcome.written.is_empty() && outcome.written.keys().all(is_wait)).then_some(why)
}

/// Returns the words of a program as a user would type them in a shell.
pub(super) fn command(program: &[OsString]) -> String {
    let quoted = |word: &OsString| {
        let word = word.to_string_lossy();
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./=:,+@%".contains(letter);
        if !word.is_empty() && word.chars().all(is_plain) {
            word.into_owned()
        } else {
            format!("'{}'", word.replace('\'', "'\\''"))
        }
    };
    plain(&program.iter().map(quoted).collect::<Vec<_>>().join(" "))
}

/// Returns a count with its noun, such as `1 event`, `2 events`, `2 processes`.
fn counted(count: u64, what: &str) -> String {
    let end = match count {
        1 => "",
        _ if what.ends_with('s') => "es",
        _ => "s",
    };
    format!("{count} {what}{end}")
}

/// Returns the message for a program that never loaded the library.
pub(super) fn unseen_program(program: &OsStr, status: ExitStatus, remedy: &str) -> String {
    format!(
        "'{}' ran ({status}) but did not load the library: it or its loader ignores LD_PRELOAD, \
         or the folder for temporary files allows no programs (TMPDIR names another): {remedy}",
        plain(&program.to_string_lossy())
    )
}

#[cfg(test)]
mod tests;
