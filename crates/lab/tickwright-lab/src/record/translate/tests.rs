//! Tests the translation of each kind of timer from records to events.

use core::ops::RangeInclusive;

use super::*;

const MS: u64 = 1_000_000;

struct Case {
    translator: Translator,
    out: Vec<Seen>,
}

impl Case {
    fn new() -> Self {
        Self { translator: Translator::new(0), out: Vec::new() }
    }

    /// Performs the operations that the words name on a timer of a source, with times in ms. The
    /// words of the program are `arm AT DEADLINE/PERIOD`, `stop AT` and `fire AT`. The words of the
    /// recorder are `until`, `overdue` and `ended`.
    fn does(&mut self, of: u8, words: &str) -> &mut Self {
        for words in words.split(", ") {
            let mut numbers = words.split([' ', '/']).skip(1).map(|ms| ms.parse::<u64>().unwrap() * MS);
            let mut next = || numbers.next().unwrap_or(0);
            let [time_ns, deadline_ns, period_ns] = [next(), next(), next()];
            let op = match words.split(' ').next().unwrap() {
                "until" => {
                    self.translator.until(0, time_ns, &mut self.out);
                    continue;
                }
                "overdue" => {
                    self.translator.overdue(time_ns, &mut self.out);
                    continue;
                }
                "ended" => {
                    self.translator.ended(0, time_ns, &mut self.out);
                    continue;
                }
                "arm" => op::ARM,
                "stop" => op::STOP,
                "fire" => op::FIRE,
                _ => 77,
            };
            let rest = Record { site: 5, thread: 9, cpu: 1, ..Record::default() };
            let record = Record { time_ns, deadline_ns, period_ns, source: of, op, id: 7, ..rest };
            self.translator.record(0, &record, &mut self.out);
        }
        self
    }

    /// Returns the events, with their times in ms.
    fn came(&mut self) -> String {
        let came = self.out.drain(..).map(|seen| format!("{} {}", seen.time_ns / MS, seen.what.name()));
        came.collect::<Vec<_>>().join(", ")
    }
}

#[test]
fn records_become_the_events_of_their_timer() {
    let one = |of: u8| of..=of;
    let cases: &[(RangeInclusive<u8>, &str, &str)] = &[
        // A timer of an event loop.
        (
            source::LIBEVENT..=source::LIBEV,
            "arm 1 10, arm 2 20, stop 3, stop 4, arm 5 30, fire 31, fire 32, until 100",
            "1 arm, 2 rearm, 3 cancel, 5 arm, 31 fire",
        ),
        // A wait times out or is woken. A wait that a thread left without returning is cancelled by
        // the thread's next wait.
        (
            source::POLL..=source::SEM,
            "arm 1 10, fire 11, arm 12 20, stop 13, until 100",
            "1 arm, 11 fire, 12 arm, 13 cancel",
        ),
        (one(source::COND), "arm 1 10, arm 5 20", "1 arm, 5 cancel, 5 arm"),
        // A timer of the kernel fires at its deadline, which is before the stop here.
        (source::TIMERFD..=source::ITIMER, "arm 1 10, arm 2 5, stop 8, until 100", "1 arm, 2 rearm, 5 fire"),
        // A periodic timer continues until it is stopped.
        (
            one(source::TIMERFD),
            "arm 1 10/10, until 25, stop 35, until 100",
            "1 arm, 10 fire, 20 fire, 30 fire, 35 cancel",
        ),
        (
            one(source::LIBEV),
            "arm 1 10/10, until 25, stop 35, until 100",
            "1 arm, 10 fire, 20 fire, 30 fire, 35 cancel",
        ),
        // A deadline that has passed fires when it is armed.
        (
            source::TIMERFD..=source::POSIX,
            "arm 50 0, until 60, arm 70 65, stop 75",
            "50 arm, 50 fire, 70 arm, 70 fire",
        ),
        // The period fires at 3, 13, 23 ms and so on, but never before the timer was armed. Of the
        // other two arms, one has a deadline on such a tick, and the other has the current time as
        // its deadline.
        (
            one(source::TIMERFD),
            "arm 50 3/10, until 64, arm 64 44/10, until 75, arm 75 75/10, until 86",
            "50 arm, 50 fire, 53 fire, 63 fire, 64 rearm, 64 fire, 74 fire, 75 rearm, 75 fire, 85 fire",
        ),
        // An expiry that a library does not show is added when it is overdue. Before that, the
        // timer could merely be late.
        (one(source::LIBUV), "arm 1 10, overdue 900", "1 arm"),
        (one(source::LIBUV), "arm 1 10, overdue 1100, overdue 1200", "1 arm, 10 fire"),
        // If a library shows expiries, no expiry is added for it.
        (one(source::LIBUV), "arm 1 10, fire 11, arm 12 20, overdue 9000", "1 arm, 11 fire, 12 arm"),
        // When a process ends, its timers end too, including a timer that was armed after the last
        // reading of the clock.
        (one(source::TIMERFD), "arm 1 10/10, ended 5, until 100", "1 arm, 5 cancel"),
        (one(source::TIMERFD), "arm 8 10, ended 5", "8 arm, 8 cancel"),
        (one(source::POLL), "an-unknown-operation 1 10", ""),
    ];
    for (sources, words, came) in cases {
        for of in sources.clone() {
            let mut case = Case::new();
            assert_eq!(case.does(of, words).came(), *came, "{of}: {words}");
            assert_eq!(case.translator.left_out(0), None, "{of}: {words}");
        }
    }
}

#[test]
fn a_deadline_counts_from_the_start() {
    let mut translator = Translator::new(5 * MS);
    let mut out = Vec::new();
    let record = Record { time_ns: 6 * MS, deadline_ns: 9 * MS, ..Record::default() };
    translator.record(3, &record, &mut out);
    assert_eq!(out[0].what, What::Arm { deadline: 4 * MS as i64, period: 0 });
    assert_eq!((out[0].process, out[0].cpu), (3, 1));
}

#[test]
fn waits_of_two_threads_are_two_timers() {
    let mut case = Case::new();
    for thread in [1, 2] {
        let record = Record { source: source::POLL, thread, deadline_ns: 5, ..Record::default() };
        case.translator.record(0, &record, &mut case.out);
    }
    assert_eq!([case.out[0].timer, case.out[1].timer], [1, 2]);
    assert_eq!(case.came(), "0 arm, 0 arm");
}

#[test]
fn a_period_of_a_nanosecond_has_an_end() {
    let mut case = Case::new();
    let record = Record { source: source::TIMERFD, deadline_ns: 1, period_ns: 1, ..Record::default() };
    case.translator.record(0, &record, &mut case.out);
    case.translator.until(0, 1500, &mut case.out);
    assert_eq!(case.out.len(), 1001);
    case.translator.until(0, 3000, &mut case.out);
    assert_eq!(case.out.len(), 2001);
    let left_out = LeftOut { time_ns: 1001, count: 500 + 500 };
    assert_eq!(case.translator.left_out(0), Some(left_out), "those of both turns");
    assert_eq!(case.translator.left_out(0), None);
    assert_eq!(case.translator.left_out(1), None, "another process");
}

#[test]
fn a_short_period_from_the_past_leaves_nothing_out_that_happened() {
    let mut case = Case::new();
    // A deadline of 1 ns after the boot, as `timerfd_settime(ABSTIME, {0, 1})` sets it.
    let armed = Record { time_ns: 50 * MS, deadline_ns: 1, period_ns: 1000, ..Record::default() };
    case.translator.record(0, &Record { source: source::TIMERFD, ..armed }, &mut case.out);
    case.translator.until(0, 50 * MS + 2000, &mut case.out);
    let fires: Vec<u64> = case.out[1..].iter().map(|seen| seen.time_ns - 50 * MS).collect();
    assert_eq!(fires, [0, 1, 1001]);
    assert_eq!(case.translator.left_out(0), None);
}

#[test]
fn a_time_at_the_end_of_the_clock_is_survived() {
    for period_ns in [0, 1, 1000, u64::MAX] {
        for deadline_ns in [0, 1, u64::MAX] {
            let mut case = Case::new();
            let armed = Record { deadline_ns, period_ns, source: source::TIMERFD, ..Record::default() };
            for time_ns in [0, u64::MAX, 5, u64::MAX] {
                case.translator.record(0, &Record { time_ns, ..armed }, &mut case.out);
                case.translator.until(0, u64::MAX, &mut case.out);
            }
            case.translator.ended(0, 0, &mut case.out);
            assert!(case.out.len() <= 4 * 1003, "{}", case.out.len());
        }
    }
}

#[test]
fn timers_of_a_process_do_not_hang_on_another() {
    let mut case = Case::new();
    case.does(source::TIMERFD, "arm 1 10");
    let record = Record { time_ns: 30 * MS, deadline_ns: 40 * MS, ..Record::default() };
    case.translator.record(1, &record, &mut case.out);
    case.translator.ended(2, 35 * MS, &mut case.out);
    case.does(source::TIMERFD, "stop 9, until 100");
    assert_eq!(case.came(), "1 arm, 30 arm, 9 cancel");
}

#[test]
fn a_process_that_is_forgotten_leaves_its_count() {
    let mut case = Case::new();
    case.does(source::LIBUV, "arm 1 10, fire 11").does(source::TIMERFD, "arm 1 10/10");
    case.translator.forget(0);
    assert_eq!((case.translator.processes(), case.translator.timers()), (0, 2));
    case.does(source::POLL, "until 100, arm 101 110");
    assert_eq!(case.out.last().unwrap().timer, 3, "a number is given once");
}
