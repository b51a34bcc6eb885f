//! Tests of the import of strace's lines: each form, each special case, and a recorded program.

use std::collections::HashMap;
use std::io::BufReader;

use proptest::prelude::*;
use tickwright_trace::import::strace::{Strace, import};
use tickwright_trace::{Event, Header, Reader, What};

/// The header, the events with the names of their calls, and what was found.
fn imported(text: &[u8]) -> (Header, Vec<(Event, String, String)>, Strace) {
    let (file, found) = import(text, "test", Vec::new()).unwrap();
    let mut reader = Reader::new(&file[..]).unwrap();
    let mut events = Vec::new();
    while let Some(block) = reader.next_block().unwrap() {
        events.extend_from_slice(block);
    }
    let count = found.arms + found.rearms + found.cancels + found.fires;
    assert_eq!((found.count.events, count), (events.len() as u64, events.len() as u64));
    let named = |event: &Event| {
        let name = |text: Option<&str>| text.unwrap_or("").to_owned();
        (*event, name(reader.sites().get(event.site)), name(reader.threads().get(event.thread)))
    };
    (reader.header().clone(), events.iter().map(named).collect(), found)
}

/// One line for each event: its time in us, queue, timer and kind. An arm also has the delay in us.
fn told(text: &str) -> Vec<String> {
    let (header, events, _) = imported(text.as_bytes());
    let told = |(event, ..): &(Event, String, String)| {
        let base = &header.bases[usize::from(event.base)].name;
        let us = event.time / 1_000;
        let told = format!("{us} {base} {} {}", event.timer, event.what.name());
        match event.what.armed() {
            Some((deadline, 0)) => format!("{told} {}", (deadline - event.time) / 1_000),
            Some((deadline, period)) => {
                format!("{told} {}/{}", (deadline - event.time) / 1_000, period / 1_000)
            }
            None => told,
        }
    };
    events.iter().map(told).collect()
}

/// Writes each text with a stamp n us after 1795218604. A text that begins with a number belongs to
/// that thread.
fn lines(all: &[(u32, &str)]) -> String {
    let line = |&(us, text): &(u32, &str)| {
        let (task, text) = match text.split_once('|') {
            Some((task, text)) if task.parse::<u32>().is_ok() => (format!("{task} "), text),
            _ => (String::new(), text),
        };
        format!("{task}{}.{:06} {text}\n", 1_795_218_604 + us / 1_000_000, us % 1_000_000)
    };
    all.iter().map(line).collect()
}

fn assert_told(all: &[(u32, &str)], expected: &[&str]) {
    assert_eq!(told(&lines(all)), expected);
}

const SPEC: &str = "{it_interval={tv_sec=0, tv_nsec=0}, it_value={tv_sec=0, tv_nsec=";

/// A call that sets a timerfd to expire once, in n ms.
fn settime(fd: u32, ms: u32) -> String {
    format!("timerfd_settime({fd}, 0, {SPEC}{}}}}}, NULL) = 0 <0.000006>", ms * 1_000_000)
}

#[test]
fn each_wait_arms_and_fires_or_is_cancelled() {
    let all = [
        (0, "epoll_wait(4, [{events=EPOLLIN, data={u32=3, u64=3}}], 8, 250) = 1 <0.004023>"),
        (5_000, "epoll_pwait2(4, [], 8, {tv_sec=0, tv_nsec=1500000}, NULL, 8) = 0 <0.001598>"),
        (10_000, "poll([{fd=3, events=POLLIN}], 1, 2) = 0 (Timeout) <0.002094>"),
        (
            15_000,
            "ppoll([{fd=3, events=POLLIN}], 1, {tv_sec=0, tv_nsec=1000000}, NULL, 8) = 0 (Timeout) <0.001081>",
        ),
        (20_000, "pselect6(0, NULL, NULL, NULL, {tv_sec=0, tv_nsec=1000000}, NULL) = 0 (Timeout) <0.001090>"),
        (
            25_000,
            "select(4, [3], NULL, NULL, {tv_sec=0, tv_usec=3000}) = 1 (in [3], left {tv_sec=0, tv_usec=2000}) <0.001000>",
        ),
        (30_000, "clock_nanosleep(CLOCK_REALTIME, 0, {tv_sec=0, tv_nsec=1000000}, NULL) = 0 <0.001112>"),
        (
            35_000,
            "futex(0x7ffce559cc08, FUTEX_WAIT_BITSET_PRIVATE|FUTEX_CLOCK_REALTIME, 0, {tv_sec=1795218604, tv_nsec=37000000}, FUTEX_BITSET_MATCH_ANY) = -1 ETIMEDOUT (Connection timed out) <0.002053>",
        ),
        (40_000, "futex(0x7f, FUTEX_WAIT_PRIVATE, 2, {tv_sec=1, tv_nsec=0}) = 0 <0.001000>"),
        (
            45_000,
            "rt_sigtimedwait([USR2], NULL, {tv_sec=0, tv_nsec=1000000}, 8) = -1 EAGAIN (Resource temporarily unavailable) <0.001077>",
        ),
        (
            50_000,
            "semtimedop(5, [{sem_num=0, sem_op=-1, sem_flg=0}], 1, {tv_sec=0, tv_nsec=1000000}) = -1 EAGAIN (Resource temporarily unavailable) <0.001077>",
        ),
        (
            55_000,
            "mq_timedreceive(3, \"a,b)\", 4, [0], {tv_sec=1795218604, tv_nsec=60000000}) = 4 <0.001000>",
        ),
        (60_000, "io_getevents(0x7f, 1, 128, [], {tv_sec=0, tv_nsec=2000000}) = 0 <0.002010>"),
        (65_000, "nanosleep({tv_sec=0, tv_nsec=2000000}, NULL) = 0 <0.002010>"),
        (70_000, "_newselect(0, NULL, NULL, NULL, {0, 2000}) = 0 (Timeout) <0.002010>"),
        (75_000, "ppoll_time64([], 0, {tv_sec=0, tv_nsec=1000000}, NULL, 8) = 0 (Timeout) <0.001081>"),
    ];
    let expected = [
        "0 epoll 1 arm 250000",
        "4023 epoll 1 cancel",
        "5000 epoll 1 arm 1500",
        "6598 epoll 1 fire",
        "10000 poll 2 arm 2000",
        "12094 poll 2 fire",
        "15000 poll 2 arm 1000",
        "16081 poll 2 fire",
        "20000 select 3 arm 1000",
        "21090 select 3 fire",
        "25000 select 3 arm 3000",
        "26000 select 3 cancel",
        "30000 sleep 4 arm 1000",
        "31112 sleep 4 fire",
        "35000 futex 5 arm 2000",
        "37053 futex 5 fire",
        "40000 futex 5 arm 1000000",
        "41000 futex 5 cancel",
        "45000 signal 6 arm 1000",
        "46077 signal 6 fire",
        "50000 ipc 7 arm 1000",
        "51077 ipc 7 fire",
        "55000 ipc 7 arm 5000",
        "56000 ipc 7 cancel",
        "60000 aio 8 arm 2000",
        "62010 aio 8 fire",
        "65000 sleep 4 arm 2000",
        "67010 sleep 4 fire",
        "70000 select 3 arm 2000",
        "72010 select 3 fire",
        "75000 poll 2 arm 1000",
        "76081 poll 2 fire",
    ];
    assert_told(&all, &expected);
    let (header, events, found) = imported(lines(&all).as_bytes());
    assert_eq!((found.arms, found.fires, found.cancels, found.early), (16, 12, 4, 4));
    assert_eq!((header.source.as_str(), header.started.as_str()), ("strace", "2026-11-20T23:50:04Z"));
    assert!(header.unseen[0].contains("lower bound"));
    assert_eq!(events[0].1, "epoll_wait");
}

#[test]
fn time_outs_of_none_are_no_timers() {
    let all = lines(&[
        (0, "poll([{fd=3, events=POLLIN}], 1, -1) = 1 <0.1>"),
        (1, "poll([{fd=3, events=POLLIN}], 1, 4294967295) = 1 <0.1>"),
        (2, "epoll_wait(4, [], 8, 0) = 0 <0.000001>"),
        (3, "ppoll([], 0, NULL, NULL, 0) = ? ERESTARTNOHAND (To be restarted if no handler) <0.1>"),
        (4, "select(0, NULL, NULL, NULL, {tv_sec=0, tv_usec=0}) = 0 (Timeout) <0.1>"),
        (5, "futex(0x7f, FUTEX_WAIT_PRIVATE, 2, NULL) = 0 <0.1>"),
        (6, "futex(0x7f, FUTEX_WAKE_PRIVATE, 1) = 0 <0.1>"),
        (
            7,
            "futex(0x7f, FUTEX_WAIT_PRIVATE, 2, {1, 0}) = -1 EAGAIN (Resource temporarily unavailable) <0.1>",
        ),
        (8, "poll(0x1, 1, 10) = -1 EFAULT (Bad address) <0.1>"),
        (9, "poll([], 0, 10) = 0 (Timeout) <0.010>"),
    ]);
    let (_, events, found) = imported(all.as_bytes());
    assert_eq!((events.len(), found.untimed, found.count.unreadable), (2, 7, 0));
}

#[test]
fn timerfds_are_set_moved_disarmed_read_and_closed() {
    let (long, short) = (settime(3, 500), settime(3, 4));
    let all = [
        (0, "timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC) = 3<anon_inode:[timerfd]> <0.000005>"),
        (10, &long),
        (20, &short),
        (4_100, r#"read(3<anon_inode:[timerfd]>, "\1\0\0\0\0\0\0\0", 8) = 8 <0.000008>"#),
        (4_200, r#"read(3, 0x7ffc, 8) = -1 EAGAIN (Resource temporarily unavailable) <0.000008>"#),
        (
            5_000,
            "timerfd_settime(3, 0, {it_interval={tv_sec=0, tv_nsec=5000000}, it_value={tv_sec=0, tv_nsec=5000000}}, NULL) = 0 <0.1>",
        ),
        (10_100, r#"read(3, "\1\0\0\0\0\0\0\0", 8) = 8 <0.000008>"#),
        (25_100, r#"read(3, "\3\0\0\0\0\0\0\0", 8) = 8 <0.000008>"#),
        (
            26_000,
            "timerfd_settime(3, 0, {it_interval={tv_sec=0, tv_nsec=0}, it_value={tv_sec=0, tv_nsec=0}}, NULL) = 0 <0.000011>",
        ),
        (26_100, &long),
        (26_200, "close(3) = 0 <0.000001>"),
        (26_300, r#"read(3, "12345678", 8) = 8 <0.000008>"#),
        (26_400, "timerfd_create(CLOCK_MONOTONIC, 0) = 3 <0.1>"),
        (26_500, &long),
        // The descriptor was closed, but no line shows how.
        (26_600, "openat(AT_FDCWD, \"a)=\", O_RDONLY) = 3</tmp/a> <0.000001>"),
        (26_700, "timerfd_create(CLOCK_MONOTONIC, 0) = 3 <0.1>"),
        (26_800, &long),
        (26_900, "timerfd_create(CLOCK_MONOTONIC, 0) = 3 <0.1>"),
        (27_000, &long),
        (27_100, "close_range(3, 4294967295, 0) = 0 <0.1>"),
    ];
    let expected = [
        "10 timerfd 1 arm 500000",
        "20 timerfd 1 rearm 4000",
        "4108 timerfd 1 fire",
        "5000 timerfd 1 arm 5000/5000",
        "10108 timerfd 1 fire",
        "25108 timerfd 1 fire",
        "26000 timerfd 1 cancel",
        "26100 timerfd 1 arm 500000",
        "26200 timerfd 1 cancel",
        "26500 timerfd 2 arm 500000",
        "26600 timerfd 2 cancel",
        "26800 timerfd 3 arm 500000",
        "26900 timerfd 3 cancel",
        "27000 timerfd 4 arm 500000",
        "27100 timerfd 4 cancel",
    ];
    assert_told(&all, &expected);
    let (_, _, found) = imported(lines(&all).as_bytes());
    assert_eq!((found.missed, found.count.unreadable), (2, 0));
}

/// A program that waits for a timerfd without reading it, and one that reads it late.
#[test]
fn an_expiry_that_no_line_shows_is_at_the_deadline() {
    let short = settime(3, 4);
    let all = [
        (0, "timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC) = 3 <0.000005>"),
        (10, &short[..]),
        (4_100, &short),
        (300_000, "poll([], 0, -1) = 1 <0.000008>"),
        (300_100, r#"read(3, "\1\0\0\0\0\0\0\0", 8) = 8 <0.000008>"#),
        (400_000, &short),
        (405_000, "getpid() = 7 <0.000001>"),
    ];
    let expected = [
        "10 timerfd 1 arm 4000",
        "4010 timerfd 1 fire",
        "4100 timerfd 1 arm 4000",
        "8100 timerfd 1 fire",
        "400000 timerfd 1 arm 4000",
        "404000 timerfd 1 fire",
    ];
    assert_told(&all, &expected);
    assert_eq!(imported(lines(&all).as_bytes()).2.inferred, 3);
}

#[test]
fn signals_are_the_expiries_of_posix_and_interval_timers() {
    let all = [
        (
            0,
            "setitimer(ITIMER_REAL, {it_interval={tv_sec=0, tv_usec=0}, it_value={tv_sec=0, tv_usec=2000}}, NULL) = 0 <0.000014>",
        ),
        (2_100, "--- SIGALRM {si_signo=SIGALRM, si_code=SI_KERNEL} ---"),
        (2_150, "--- SIGALRM {si_signo=SIGALRM, si_code=SI_USER, si_pid=1, si_uid=0} ---"),
        (
            3_000,
            "timer_create(CLOCK_MONOTONIC, {sigev_signo=SIGALRM, sigev_notify=SIGEV_SIGNAL}, [0]) = 0 <0.000006>",
        ),
        (
            3_100,
            "timer_settime(0, 0, {it_interval={tv_sec=0, tv_nsec=0}, it_value={tv_sec=0, tv_nsec=1000000}}, NULL) = 0 <0.000005>",
        ),
        (
            4_200,
            "--- SIGALRM {si_signo=SIGALRM, si_code=SI_TIMER, si_timerid=0, si_overrun=2, si_int=0, si_ptr=NULL} ---",
        ),
        (5_000, "timer_settime(0, 0, {it_interval={0, 1000000}, it_value={0, 1000000}}, NULL) = 0"),
        (6_000, "--- SIGALRM (Alarm clock) @ 0 (0) ---"),
        (
            7_000,
            "rt_sigtimedwait([ALRM], {si_signo=SIGALRM, si_code=SI_TIMER, si_timerid=0, si_overrun=0}, NULL, 8) = 14 <0.000100>",
        ),
        (7_500, "--- SIGALRM {si_signo=SIGALRM, si_code=SI_TIMER, si_pid=0, si_uid=0} ---"),
        (8_000, "timer_delete(0) = 0 <0.000012>"),
        (9_000, "alarm(5)        = 0 <0.000008>"),
        (9_100, "alarm(0)        = 5 <0.000008>"),
        (9_200, "setitimer(ITIMER_PROF, {it_interval={0, 10000}, it_value={0, 10000}}, NULL) = 0 <0.1>"),
        (90_200, "--- SIGPROF {si_signo=SIGPROF, si_code=SI_KERNEL} ---"),
    ];
    let expected = [
        "0 itimer 1 arm 2000",
        "2100 itimer 1 fire",
        "3100 posix-timer 2 arm 1000",
        "4200 posix-timer 2 fire",
        "5000 posix-timer 2 arm 1000/1000",
        "7100 posix-timer 2 fire",
        "7500 posix-timer 2 fire",
        "8000 posix-timer 2 cancel",
        "9000 itimer 1 arm 5000000",
        "9100 itimer 1 cancel",
        "9200 itimer 3 arm 10000/10000",
        "90200 itimer 3 fire",
    ];
    assert_told(&all, &expected);
    assert_eq!(imported(lines(&all).as_bytes()).2.missed, 2);
}

/// Calls in two halves; some have their time-out in the second half.
#[test]
fn halves_of_calls_are_joined_by_thread() {
    let all = [
        (0, "7|epoll_wait(3,  <unfinished ...>"),
        (10, "8|poll([{fd=14, events=POLLIN}], 1, 1000 <unfinished ...>"),
        (20, "9|nanosleep({1, 0},  <unfinished ...>"),
        (200_000, "10|poll([], 0, 1) = 0 (Timeout) <0.001>"),
        (
            500_000,
            "7|<... epoll_wait resumed>[{events=EPOLLIN, data={u32=4, u64=4}}], 1, 700) = 1 <0.500000>",
        ),
        (600_000, "9|<... nanosleep resumed> NULL) = -1 EINTR (Interrupted system call)"),
        (600_100, "9|epoll_wait(3,  <unfinished ...>"),
        (600_200, "9|<... epoll_wait resumed>[], 8, -1) = 0"),
        (1_000_100, "8|<... poll resumed> ) = 0 (Timeout)"),
        // One thread still waits when the recording ends; the other thread is killed.
        (1_000_200, "8|poll([{fd=14, events=POLLIN}], 1, 1000 <detached ...>"),
        (1_000_300, "7|futex(0x7f, FUTEX_WAIT_PRIVATE, 2, {60, 0} <unfinished ...>"),
        (1_000_400, "7|+++ killed by SIGKILL +++"),
    ];
    let expected = [
        "0 epoll 4 arm 700000",
        "10 poll 1 arm 1000000",
        "20 sleep 2 arm 1000000",
        "200000 poll 3 arm 1000",
        "201000 poll 3 fire",
        "500000 epoll 4 cancel",
        "600000 sleep 2 cancel",
        "1000100 poll 1 fire",
        "1000200 poll 1 arm 1000000",
        "1000300 futex 5 arm 60000000",
        "1000400 futex 5 cancel",
    ];
    assert_told(&all, &expected);
    let (_, events, found) = imported(lines(&all).as_bytes());
    assert_eq!((events[0].2.as_str(), found.count.unreadable), ("7", 0));
}

/// The log of an Asterisk of 2017.
#[test]
fn old_versions_are_read() {
    let all = [
        (
            0,
            "29374|futex(0x7ff130f33bc4, FUTEX_WAIT_BITSET_PRIVATE|FUTEX_CLOCK_REALTIME, 64851, {1795218605, 0}, ffffffff <unfinished ...>",
        ),
        (10, "29392|epoll_wait(4, {{EPOLLIN, {u32=3, u64=3}}}, 8, 250) = 1 <0.004023>"),
        (20_000, "29392|epoll_wait(4, {}, 8, 10) = 0"),
        (
            30_001,
            "29392|futex(0x7f, 0x189 /* FUTEX_??? */, 1, {1795218604, 31000000}, ffffffff) = -1 ETIMEDOUT (Connection timed out)",
        ),
        (1_000_100, "29374|<... futex resumed> )             = -1 ETIMEDOUT (Connection timed out)"),
        (1_000_200, "29374|setitimer(ITIMER_REAL, {it_interval={0, 0}, it_value={0, 2000}}, NULL) = 0"),
        (1_002_300, "29374|--- SIGALRM (Alarm clock) @ 0 (0) ---"),
        (1_002_400, "29374|setitimer(ITIMER_REAL, {{0, 0}, {0, 2000}}, NULL) = 0"),
    ];
    let expected = [
        "0 futex 1 arm 1000000",
        "10 epoll 2 arm 250000",
        "4033 epoll 2 cancel",
        "20000 epoll 2 arm 10000",
        "30000 epoll 2 fire",
        "30001 futex 3 arm 999",
        "31000 futex 3 fire",
        "1000100 futex 1 fire",
        "1000200 itimer 4 arm 2000",
        "1002300 itimer 4 fire",
        "1002400 itimer 4 arm 2000",
    ];
    let told = told(&lines(&all));
    assert_eq!(told, expected);
}

#[test]
fn a_wait_that_a_signal_stopped_goes_on_or_is_cancelled() {
    let stopped = "ERESTART_RESTARTBLOCK (Interrupted by signal)";
    let all = [
        (0, &format!("7|nanosleep({{1, 0}}, NULL) = ? {stopped} <0.1>")[..]),
        (100_000, "7|--- SIGCHLD {si_signo=SIGCHLD} ---"),
        (
            100_010,
            &format!("7|restart_syscall(<... resuming interrupted nanosleep ...>) = ? {stopped} <0.2>"),
        ),
        (300_020, "7|restart_syscall(<... resuming interrupted nanosleep ...> <unfinished ...>"),
        (1_000_100, "7|<... restart_syscall resumed>) = 0 <0.700080>"),
        (2_000_000, &format!("7|poll([], 0, 1000) = ? {stopped} <0.1>")),
        (2_100_100, "7|--- SIGCHLD {si_signo=SIGCHLD} ---"),
        (2_100_200, "7|rt_sigreturn({mask=[]}) = -1 EINTR (Interrupted system call) <0.1>"),
        (
            3_000_000,
            "7|ppoll([], 0, {1, 0}, NULL, 8) = ? ERESTARTNOHAND (To be restarted if no handler) <0.1>",
        ),
        (3_100_100, "7|ppoll([], 0, {0, 900000000}, NULL, 8) = 0 (Timeout) <0.9>"),
        (5_000_000, "7|epoll_wait(3, 0x7f, 8, 1000) = -1 EINTR (Interrupted system call) <0.5>"),
        (6_000_000, "7|restart_syscall(<... resuming interrupted poll ...>) = 0 <0.1>"),
    ];
    let expected = [
        "0 sleep 1 arm 1000000",
        "1000100 sleep 1 fire",
        "2000000 poll 2 arm 1000000",
        "2100000 poll 2 cancel",
        "3000000 poll 2 arm 1000000",
        "3100000 poll 2 cancel",
        "3100100 poll 2 arm 900000",
        "4000100 poll 2 fire",
        "5000000 epoll 3 arm 1000000",
        "5500000 epoll 3 cancel",
    ];
    assert_told(&all, &expected);
}

/// The first expiry shows the offset of the monotonic clock; events before the expiry wait for it.
#[test]
fn deadlines_of_other_clocks_are_converted() {
    let sleep = "clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, {tv_sec=1032, tv_nsec=710000000}, NULL) = 0 <0.010050>";
    let all = [
        (0, "timerfd_create(CLOCK_MONOTONIC, 0) = 3 <0.000001>"),
        (
            100,
            "timerfd_settime(3, TFD_TIMER_ABSTIME, {it_interval={tv_sec=0, tv_nsec=0}, it_value={tv_sec=1033, tv_nsec=710000000}}, NULL) = 0 <0.1>",
        ),
        (1_000, sleep),
        (
            20_000,
            "futex(0x7f, FUTEX_WAIT_BITSET_PRIVATE, 0, {tv_sec=1032, tv_nsec=730000000}, FUTEX_BITSET_MATCH_ANY) = 0 <0.001>",
        ),
        (
            30_000,
            "timerfd_settime(3, TFD_TIMER_ABSTIME, {it_interval={0, 0}, it_value={1795218604, 50000000}}, NULL) = 0 <0.1>",
        ),
    ];
    let told = told(&lines(&all[..4]));
    let expected = [
        "100 timerfd 1 arm 1010950",
        "1000 sleep 2 arm 10050",
        "11050 sleep 2 fire",
        "20000 futex 3 arm 11050",
        "21000 futex 3 cancel",
    ];
    assert_eq!(told, expected);
    assert_eq!(imported(lines(&all[..4]).as_bytes()).2.guessed, 0);
    // No line shows the clock, so the most urgent deadline counts as due.
    let (_, events, found) = imported(lines(&[all[0], all[1], all[3]]).as_bytes());
    assert_eq!((found.guessed, events.len()), (2, 3));
    // A timerfd whose creation is not in the trace.
    let (_, events, found) = imported(lines(&all[4..]).as_bytes());
    assert_eq!((found.guessed, events[0].0.what.armed().unwrap().0), (0, 20_000_000));
}

#[test]
fn stamps_of_other_options() {
    let relative = "     0.000000 timerfd_create(CLOCK_MONOTONIC, 0) = 3\n     0.001000 poll([], 0, 5) = 0 (Timeout)\n     0.006000 poll([], 0, 5) = 1\n     0.001000 getpid() = 7\n";
    let expected = ["1000 poll 2 arm 5000", "6000 poll 2 fire", "7000 poll 2 arm 5000", "8000 poll 2 cancel"];
    assert_eq!(told(relative), expected);
    assert_eq!(imported(relative.as_bytes()).0.started, "");
    let bracketed = "[pid    7<a b>] 1795218604.000000 poll([], 0, 5) = 0 (Timeout) <0.005>\n";
    assert_eq!(imported(bracketed.as_bytes()).1[0].2, "a b-7");
    let error = |text: &str| import(text.as_bytes(), "test", Vec::new()).unwrap_err().to_string();
    for dateless in ["7 09:30:00 poll([], 0, 5) = 0", "09:30:00.123456 poll([], 0, 5 <unfinished ...>"] {
        assert!(error(dateless).contains("record with strace -f -ttt -T, not -t"), "{}", error(dateless));
    }
    assert!(error("7 poll([], 0, 5) = 0\n").contains("no stamps"));
    assert!(error("").contains("empty"));
    assert!(error("hello\n1795218604.1 write(1) = 5\n").contains("no line sets a timer"));
    assert!(error("1795218604.1 poll([{fd=3, ev").contains("none can be read"));
}

/// On a terminal, strace omits the number of a lone thread, and its messages cut lines in two.
#[test]
fn lines_of_a_terminal() {
    let text = "1795218604.000000 timerfd_create(CLOCK_MONOTONIC, 0) = 3 <0.1>
1795218604.001000 epoll_wait(3, strace: Process 77 attached
 <unfinished ...>
[pid    77] 1795218604.002000 poll([], 0, 5 <unfinished ...>
[pid    76] 1795218604.003000 <... epoll_wait resumed>[], 1, 2) = 0 <0.002000>
[pid    76] 1795218604.004000 timerfd_settime(3, 0, {{0, 0}, {9, 0}}, NULL) = 0 <0.1>
[pid    77] 1795218604.007000 <... poll resumed>) = 0 (Timeout) <0.005000>
[pid    77] 1795218604.008000 +++ exited with 0 +++
1795218604.009000 timerfd_settime(3, 0, {{0, 0}, {8, 0}}, NULL) = 0 <0.1>
1795218604.010000 rt_sigtimedwait([USR2], NULL, {tv_sec=0, tv_nsec=1000000}, 8strace: Process 78 attached
) = -1 EAGAIN (Resource temporarily unavailable) <0.001117>
strace: Process 76 detached
";
    let expected = [
        "1000 epoll 2 arm 2000",
        "2000 poll 1 arm 5000",
        "3000 epoll 2 fire",
        "4000 timerfd 3 arm 9000000",
        "7000 poll 1 fire",
        "9000 timerfd 3 rearm 8000000",
        "10000 signal 4 arm 1000",
        "11117 signal 4 fire",
    ];
    let (_, _, found) = imported(text.as_bytes());
    assert_eq!(found.count.unreadable, 0);
    let shape = |all: Vec<String>| -> Vec<String> {
        // The numbers of timers are in the order of their lines.
        let mut names = HashMap::new();
        let mut shape = |line: &String| {
            let mut words: Vec<_> = line.split(' ').map(str::to_owned).collect();
            let next = names.len();
            words[2] = names.entry(words[2].clone()).or_insert(next).to_string();
            words.join(" ")
        };
        all.iter().map(&mut shape).collect()
    };
    assert_eq!(shape(told(text)), shape(expected.map(str::to_owned).to_vec()));
}

/// Processes have descriptors of their own; threads share them. The end of a process or a
/// descriptor ends its timers.
#[test]
fn processes_and_threads() {
    let (long, longer) = (settime(3, 500), settime(3, 600));
    let of = |task: u32, text: &str| format!("{task}|{text}");
    let all = [
        (0, of(7, "timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC) = 3 <0.1>")),
        (100, of(7, &long)),
        (200, of(7, "clone3({flags=CLONE_VM|CLONE_THREAD, stack=0x7f} => {parent_tid=[8]}, 88) = 8 <0.1>")),
        (300, of(8, &longer)),
        (400, of(7, "clone(child_stack=NULL, flags=CLONE_CHILD_SETTID|SIGCHLD <unfinished ...>")),
        (450, of(9, "timerfd_create(CLOCK_MONOTONIC, 0) = 3 <0.1>")),
        (500, of(9, &long)),
        (600, of(7, "<... clone resumed>, child_tidptr=0x7f) = 9 <0.1>")),
        (700, of(9, "execve(\"/bin/true\", [\"true\"], 0x7f /* 9 vars */) = 0 <0.1>")),
        (800, of(9, "+++ exited with 0 +++")),
        (900, of(8, "+++ exited with 0 +++")),
        (1_000, of(7, "execve(\"/bin/true\", [\"true\"], 0x7f /* 9 vars */) = 0 <0.1>")),
        (1_100, of(7, "setitimer(ITIMER_REAL, {{0, 0}, {1, 0}}, NULL) = 0 <0.1>")),
        (1_200, of(7, "+++ killed by SIGKILL +++")),
    ];
    let all: Vec<_> = all.iter().map(|(us, text)| (*us, text.as_str())).collect();
    let expected = [
        "100 timerfd 1 arm 500000",
        "300 timerfd 1 rearm 600000",
        "500 timerfd 2 arm 500000",
        "800 timerfd 2 cancel",
        "1000 timerfd 1 cancel",
        "1100 itimer 3 arm 1000000",
        "1200 itimer 3 cancel",
    ];
    assert_told(&all, &expected);
}

#[test]
fn what_cannot_be_read_is_counted() {
    let text = [
        lines(&[
            (0, "poll([], 0, 5) = 0 (Timeout) <0.005>"),
            (6_000, "timerfd_create(CLOCK_MONOTONIC, 0) = 3"),
            (7_000, "poll([{fd=3, events=POLL"),
            (8_000, "nanosleep(0x7ffc, NULL) = 0 <0.1>"),
            (9_000, "setitimer(ITIMER_ODD, {{0, 0}, {1, 0}}, NULL) = 0 <0.1>"),
            (9_500, "timerfd_settime(3, 0, 0x7f, NULL) = 0 <0.1>"),
            (9_600, "timerfd_settime(3, 0, 0x7f, NULL) = -1 EFAULT (Bad address) <0.1>"),
            (9_650, "timer_create(CLOCK_MONOTONIC, {sigev_signo=SIGALRM}, 0x7ffc) = 0 <0.1>"),
            (9_700, "read(3, \"\\1"),
            (9_800, "read(4, \"\\1"),
            (9_900, "[pid x] poll("),
        ]),
        "poll([], 0, 5) = 0 (Timeout)\n".into(),
        "\0\u{fffd} garbage\n+++\n---\n".into(),
    ];
    let (_, events, found) = imported(text.concat().as_bytes());
    assert_eq!((events.len(), found.count.unreadable, found.count.lines), (2, 7, 15));
}

/// The second half of a call cannot be read. The thread does something else then, so that it waits
/// no longer.
#[test]
fn a_wait_without_a_result_ends_at_its_second_half() {
    let all = [
        (0, "7|poll([], 0, 700 <unfinished ...>"),
        (5_000, "7|<... poll resumed>"),
        (9_000, "8|getpid() = 8 <0.000001>"),
    ];
    assert_told(&all, &["0 poll 1 arm 700000", "5000 poll 1 cancel"]);
    assert_eq!(imported(lines(&all).as_bytes()).2.count.unreadable, 1);
}

/// The clock with which a POSIX timer was created is the clock of its deadlines, also where a
/// deadline looks like one of another clock.
#[test]
fn a_posix_timer_has_the_clock_of_its_creation() {
    let create = |clock: &str| {
        format!("timer_create({clock}, {{sigev_signo=SIGALRM, sigev_notify=SIGEV_SIGNAL}}, [0]) = 0 <0.1>")
    };
    let set =
        "timer_settime(0, TIMER_ABSTIME, {it_interval={0, 0}, it_value={1795218641, 0}}, NULL) = 0 <0.1>";
    for (clock, delay) in [("CLOCK_REALTIME", 37_000_000 - 100), ("CLOCK_TAI", 1_000 - 100)] {
        let create = create(clock);
        let all = [
            (0, &create[..]),
            (50, "clock_gettime(CLOCK_TAI, {tv_sec=1795218640, tv_nsec=999050000}) = 0 <0.000000>"),
            (100, set),
            (200, "getpid() = 7 <0.000001>"),
        ];
        let first = told(&lines(&all)).into_iter().next();
        assert_eq!(first.as_deref(), Some(&format!("100 posix-timer 1 arm {delay}")[..]), "{clock}");
    }
}

#[test]
fn a_gigantic_line_takes_little_memory() {
    let gigantic = std::io::Read::take(std::io::repeat(b'x'), 50_000_000);
    assert!(import(BufReader::new(gigantic), "test", Vec::new()).is_err());
    let begin = &b"1795218604.1 poll(["[..];
    let gigantic = std::io::Read::chain(begin, std::io::Read::take(std::io::repeat(b'('), 50_000_000));
    assert!(import(BufReader::new(gigantic), "test", Vec::new()).is_err());
}

/// A timer that is not pending is armed; a pending timer is moved, cancelled or fired.
fn assert_consistent(events: &[(Event, String, String)], what: &str) {
    let mut pending = HashMap::new();
    for (event, ..) in events {
        let is_pending = pending.entry(event.timer).or_insert(None);
        assert_eq!(is_pending.is_some(), !matches!(event.what, What::Arm { .. }), "{what}: {event:?}");
        *is_pending = match event.what {
            What::Arm { period, .. } | What::Rearm { period, .. } => Some(period),
            What::Fire => is_pending.filter(|&period| period > 0),
            What::Cancel => None,
        };
    }
}

/// A program that uses each kind of timer, recorded with four sets of options.
#[test]
fn a_recorded_program() {
    for (name, text) in [
        ("-f -ttt -T -o", &include_bytes!("samples/strace-o.txt")[..]),
        ("-f -ttt -T", include_bytes!("samples/strace-stderr.txt")),
        ("-f -r", include_bytes!("samples/strace-r.txt")),
    ] {
        let (header, events, found) = imported(text);
        assert_eq!((found.count.unreadable, found.guessed), (0, 0), "{name}");
        assert!(events.is_sorted_by_key(|(event, ..)| event.time), "{name}");
        assert_consistent(&events, name);
        let of = |base: &str, what: &str| {
            let is_it = |(event, ..): &&(Event, String, String)| {
                header.bases[usize::from(event.base)].name == base && event.what.name() == what
            };
            events.iter().filter(is_it).count()
        };
        // Four periods, and one absolute deadline.
        let timerfd = ["arm", "rearm", "cancel", "fire"].map(|what| of("timerfd", what));
        assert_eq!(timerfd, [2, 1, 1, 5], "{name}");
        assert_eq!((of("futex", "arm"), of("futex", "fire")), (3, 3), "{name}");
        assert_eq!((of("poll", "arm"), of("poll", "fire")), (2, 2), "{name}");
        assert_eq!((of("select", "fire"), of("signal", "fire")), (1, 1), "{name}");
        assert_eq!((of("epoll", "arm"), of("epoll", "cancel")), (4, 4), "{name}");
        assert_eq!((of("itimer", "fire"), of("itimer", "cancel")), (1, 1), "{name}");
        assert!(of("posix-timer", "fire") >= 2 && of("posix-timer", "cancel") == 1, "{name}");
        for (event, ..) in &events {
            let late = event.what.armed().map_or(0, |(deadline, _)| deadline - event.time);
            let least = if name == "-f -r" { -5_000_000 } else { 0 };
            assert!((least..6_000_000_000).contains(&late), "{name}: {event:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        let _ = import(&bytes[..], "test", Vec::new());
    }

    #[test]
    fn damaged_lines_are_read_without_a_panic(
        changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..40),
        cuts in proptest::collection::vec(any::<proptest::sample::Index>(), 0..6),
    ) {
        let mut text = include_bytes!("samples/strace-stderr.txt").to_vec();
        let digits = b"0123456789<>()[]{}=,\n -.";
        for (at, byte) in changes {
            let at = at.index(text.len());
            text[at] = if byte < 200 { digits[usize::from(byte) % digits.len()] } else { byte };
        }
        for cut in cuts {
            let at = cut.index(text.len());
            let end = (at + 37).min(text.len());
            text.drain(at..end);
        }
        if let Ok((file, found)) = import(&text[..], "test", Vec::new()) {
            let events: Result<Vec<_>, _> = Reader::new(&file[..]).unwrap().events().collect();
            prop_assert_eq!(events.unwrap().len() as u64, found.count.events);
        }
    }
}

/// Reads a recording that the environment names, and checks its events in order.
#[test]
fn a_recording_of_yours() {
    let Ok(path) = std::env::var("TICKWRIGHT_STRACE_TRACE") else {
        eprintln!("skipped: TICKWRIGHT_STRACE_TRACE names no file");
        return;
    };
    let (_, events, found) = imported(&std::fs::read(path).unwrap());
    assert_consistent(&events, "recording");
    assert!(events.is_sorted_by_key(|(event, ..)| event.time));
    assert_eq!(found.count.unreadable, 0);
    eprintln!("{found:?}");
}
