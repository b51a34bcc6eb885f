//! Tests the translation of each kind of timer from records to events.

use super::*;

const MS: u64 = 1_000_000;
const NOT: u64 = 0;

struct Case {
    translator: Translator,
    out: Vec<Seen>,
}

impl Case {
    fn new() -> Self {
        Self { translator: Translator::new(0), out: Vec::new() }
    }

    fn on(&mut self, of: u8, at_ms: u64, op: u8, deadline_ms: u64, period_ms: u64) -> &mut Self {
        let [time_ns, deadline_ns, period_ns] = [at_ms, deadline_ms, period_ms].map(|ms| ms * MS);
        let rest = Record { site: 5, thread: 9, cpu: 1, ..Record::default() };
        let record = Record { time_ns, deadline_ns, period_ns, source: of, op, id: 7, ..rest };
        self.translator.record(0, &record, &mut self.out);
        self
    }

    /// The resulting events as (ms, name).
    fn came(&mut self) -> Vec<(u64, &'static str)> {
        self.out.drain(..).map(|seen| (seen.time_ns / MS, seen.what.name())).collect()
    }

    fn until(&mut self, ms: u64) -> &mut Self {
        self.translator.until(0, ms * MS, &mut self.out);
        self
    }
}

#[test]
fn a_timer_of_a_loop_is_armed_moved_cancelled_and_fired() {
    for of in [source::LIBEVENT, source::LIBUV, source::LIBEV] {
        let mut case = Case::new();
        case.on(of, 1, op::ARM, 10, 0).on(of, 2, op::ARM, 20, 0).on(of, 3, op::STOP, NOT, 0);
        case.on(of, 4, op::STOP, NOT, 0).on(of, 5, op::ARM, 30, 0).on(of, 31, op::FIRE, NOT, 0);
        case.on(of, 32, op::FIRE, NOT, 0).until(100);
        assert_eq!(case.came(), [(1, "arm"), (2, "rearm"), (3, "cancel"), (5, "arm"), (31, "fire")]);
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
fn a_wait_times_out_or_is_woken() {
    for of in source::POLL..=source::SEM {
        let mut case = Case::new();
        case.on(of, 1, op::ARM, 10, 0).on(of, 11, op::FIRE, NOT, 0);
        case.on(of, 12, op::ARM, 20, 0).on(of, 13, op::STOP, NOT, 0).until(100);
        assert_eq!(case.came(), [(1, "arm"), (11, "fire"), (12, "arm"), (13, "cancel")]);
    }
}

#[test]
fn a_wait_that_a_thread_left_is_cancelled_by_the_next() {
    let mut case = Case::new();
    case.on(source::COND, 1, op::ARM, 10, 0).on(source::COND, 5, op::ARM, 20, 0);
    assert_eq!(case.came(), [(1, "arm"), (5, "cancel"), (5, "arm")]);
}

#[test]
fn waits_of_two_threads_are_two_timers() {
    let mut case = Case::new();
    for thread in [1, 2] {
        let record = Record { source: source::POLL, thread, deadline_ns: 5, ..Record::default() };
        case.translator.record(0, &record, &mut case.out);
    }
    assert_eq!([case.out[0].timer, case.out[1].timer], [1, 2]);
    assert_eq!(case.came(), [(0, "arm"), (0, "arm")]);
}

#[test]
fn a_timer_of_the_kernel_fires_at_its_deadline() {
    for of in [source::TIMERFD, source::POSIX, source::ITIMER] {
        let mut case = Case::new();
        case.on(of, 1, op::ARM, 10, 0).on(of, 2, op::ARM, 5, 0).on(of, 8, op::STOP, NOT, 0).until(100);
        assert_eq!(case.came(), [(1, "arm"), (2, "rearm"), (5, "fire")], "expired before it was stopped");
    }
}

#[test]
fn a_period_goes_on_until_it_is_stopped() {
    for of in [source::TIMERFD, source::LIBEV] {
        let mut case = Case::new();
        case.on(of, 1, op::ARM, 10, 10).until(25).on(of, 35, op::STOP, NOT, 0).until(100);
        assert_eq!(case.came(), [(1, "arm"), (10, "fire"), (20, "fire"), (30, "fire"), (35, "cancel")]);
    }
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
fn a_deadline_that_has_passed_fires_when_it_is_armed() {
    for of in [source::TIMERFD, source::POSIX] {
        let mut case = Case::new();
        case.on(of, 50, op::ARM, 0, 0).until(60).on(of, 70, op::ARM, 65, 0).on(of, 75, op::STOP, NOT, 0);
        assert_eq!(case.came(), [(50, "arm"), (50, "fire"), (70, "arm"), (70, "fire")]);
    }
}

#[test]
fn a_period_whose_deadline_has_passed_counts_from_the_arm() {
    let mut case = Case::new();
    // The grid of the period is 3, 13, 23 ms and so on. A point of the grid before the arm never
    // fires.
    case.on(source::TIMERFD, 50, op::ARM, 3, 10).until(64);
    assert_eq!(case.came(), [(50, "arm"), (50, "fire"), (53, "fire"), (63, "fire")]);
    assert_eq!(case.translator.left_out(0), None);
    // Two cases: a deadline on the grid, and a deadline that is now.
    case.on(source::TIMERFD, 64, op::ARM, 44, 10).until(75);
    case.on(source::TIMERFD, 75, op::ARM, 75, 10).until(86);
    let first = [(64, "rearm"), (64, "fire"), (74, "fire")];
    assert_eq!(case.came(), [&first[..], &[(75, "rearm"), (75, "fire"), (85, "fire")]].concat());
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
fn expiries_of_a_process_do_not_hang_on_the_records_of_another() {
    let mut case = Case::new();
    case.on(source::TIMERFD, 1, op::ARM, 10, 0);
    let record = Record { time_ns: 30 * MS, deadline_ns: 40 * MS, ..Record::default() };
    case.translator.record(1, &record, &mut case.out);
    case.on(source::TIMERFD, 9, op::STOP, NOT, 0).until(100);
    assert_eq!(case.came(), [(1, "arm"), (30, "arm"), (9, "cancel")]);
}

#[test]
fn an_expiry_that_a_library_hides_is_added_once() {
    let mut case = Case::new();
    case.on(source::LIBUV, 1, op::ARM, 10, 0);
    case.translator.overdue(900 * MS, &mut case.out);
    assert_eq!(case.came(), [(1, "arm")], "it may only be late");
    case.translator.overdue(1100 * MS, &mut case.out);
    case.translator.overdue(1200 * MS, &mut case.out);
    assert_eq!(case.came(), [(10, "fire")]);
}

#[test]
fn a_library_that_shows_expiries_is_believed() {
    let mut case = Case::new();
    case.on(source::LIBUV, 1, op::ARM, 10, 0).on(source::LIBUV, 11, op::FIRE, NOT, 0);
    case.on(source::LIBUV, 12, op::ARM, 20, 0);
    case.translator.overdue(9000 * MS, &mut case.out);
    assert_eq!(case.came(), [(1, "arm"), (11, "fire"), (12, "arm")]);
}

#[test]
fn a_process_that_ends_takes_its_timers_with_it() {
    let mut case = Case::new();
    case.on(source::TIMERFD, 1, op::ARM, 10, 10);
    case.translator.ended(1, 5 * MS, &mut case.out);
    assert_eq!(case.came(), [(1, "arm")], "another process");
    case.translator.ended(0, 5 * MS, &mut case.out);
    case.until(100);
    assert_eq!(case.came(), [(5, "cancel")]);
}

#[test]
fn a_timer_that_was_armed_after_the_last_look_at_the_clock_ends_later() {
    let mut case = Case::new();
    case.on(source::TIMERFD, 8, op::ARM, 10, 0);
    case.translator.ended(0, 5 * MS, &mut case.out);
    assert_eq!(case.came(), [(8, "arm"), (8, "cancel")]);
}

#[test]
fn a_process_that_is_forgotten_leaves_its_count() {
    let mut case = Case::new();
    case.on(source::LIBUV, 1, op::ARM, 10, 0).on(source::LIBUV, 11, op::FIRE, NOT, 0);
    case.on(source::TIMERFD, 1, op::ARM, 10, 10);
    case.translator.forget(0);
    assert_eq!(case.translator.processes(), 0);
    assert_eq!(case.translator.timers(), 2);
    case.until(100).on(source::POLL, 101, op::ARM, 110, 0);
    assert_eq!(case.out.last().unwrap().timer, 3, "a number is given once");
}

#[test]
fn numbers_of_unknown_operations_are_ignored() {
    let mut case = Case::new();
    case.on(source::POLL, 1, 77, 10, 0);
    assert_eq!(case.came(), []);
}
