//! What a recording says: at its start in the header, at its end in words.

use core::fmt::Write;
use core::time::Duration;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitStatus;
use std::time::{SystemTime, UNIX_EPOCH};

use tickwright_preload::ring::source;
use tickwright_trace::Header;

use super::collector::Totals;
use super::sink::Outcome;
use crate::host::Host;
use crate::output::text::plain;

/// What the library cannot see, and how it sees some of the rest.
const UNSEEN: [&str; 10] = [
    "timers that the program implements itself: only the time-out of its wait is seen, \
     which is the earliest deadline",
    "calls of libraries that are linked into the program or bind their own symbols",
    "raw system calls: the futex time-outs of Rust and Go programs, io_uring",
    "time-outs of sockets (SO_RCVTIMEO), mutexes, message queues and sigtimedwait; \
     itimers of processor time",
    "static and setuid programs that the recorded program starts",
    "processes that begin after a chroot, in a container, or without the environment",
    "the wait of an event loop repeats its earliest timer: leave out one of the two sources",
    "timerfd, POSIX timers, itimers and repeating timers of libev are taken to fire at their deadline",
    "event loops count a delay from the time at which the loop woke: \
     an expiry may precede its deadline by that age",
    "memory that is used again for another timer keeps the number of the first",
];

/// The header of a recording that begins now.
pub(super) fn header(program: &[OsString]) -> Header {
    let words: Vec<_> = program.iter().map(|word| word.to_string_lossy()).collect();
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let host = Host::read();
    let facts = [("cpu", host.cpu), ("kernel", host.kernel), ("cores", Some(host.cores.to_string()))];
    Header {
        of: words.join(" "),
        clock: "CLOCK_MONOTONIC".into(),
        started: date(since.as_secs()),
        host: facts.into_iter().filter_map(|(name, fact)| Some((name.to_owned(), fact?))).collect(),
        unseen: UNSEEN.map(String::from).to_vec(),
        ..Header::of("record")
    }
}

/// A time in seconds since 1970, as RFC 3339 writes it.
fn date(seconds: u64) -> String {
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Years begin in March, so that the leap day is the last: see "civil from days" of H. Hinnant.
    let shifted = days + 719_468;
    let (era, day) = (shifted / 146_097, shifted % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = year + era * 400 + next;
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// How a recording ended.
#[derive(Debug)]
pub(super) struct Ended<'a> {
    pub(super) status: ExitStatus,
    pub(super) elapsed: Duration,
    pub(super) file: &'a Path,
}

/// The lines at the end of a recording.
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
        counted(totals.timers as u64, "timer"),
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
    line(format!("{} lost", counted(outcome.lost, "record")));
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
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&ended.status) {
        line(format!("signal {signal} ended the program"));
    }
    line(format!("`tickwright describe {file}` shows the timers, and what could not be seen"));
    out
}

/// `1 event`, `2 events`, `2 processes`.
fn counted(count: u64, what: &str) -> String {
    let end = match count {
        1 => "",
        _ if what.ends_with('s') => "es",
        _ => "s",
    };
    format!("{count} {what}{end}")
}

/// The message for a program that never loaded the library.
pub(super) fn unseen_program(program: &OsStr, status: ExitStatus, remedy: &str) -> String {
    format!(
        "'{}' ran ({status}) but did not load the library: it or its loader ignores LD_PRELOAD, \
         or the folder for temporary files allows no programs (TMPDIR names another): {remedy}",
        plain(&program.to_string_lossy())
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(date(0), "1970-01-01T00:00:00Z");
        assert_eq!(date(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(date(1_795_218_604), "2026-11-20T23:50:04Z");
        assert_eq!(date(4_102_444_799), "2099-12-31T23:59:59Z");
    }
}
