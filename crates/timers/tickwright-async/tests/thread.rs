//! Tests of timers with a driver thread and the clock of the machine.

mod common;

use core::future::Future;
use core::pin::pin;
use core::task::{Context, Waker};
use core::time::Duration;
use std::sync::Arc;
use std::task::Wake;
use std::time::Instant;

use common::ms;
use tickwright_async::{TimerSettings, Timers};

/// A sleep of an hour is pending at its first poll, however slow the machine is. The test then
/// resets it to a near deadline.
const HOUR: Duration = Duration::from_secs(3600);

/// A minimal executor.
fn block_on<F: Future>(future: F) -> F::Output {
    common::Unpark::block_on(future)
}

#[test]
fn a_sleep_is_not_early() {
    let timers = Timers::new().unwrap();
    for micros in [1, 10, 100, 1000, 5000] {
        let span = Duration::from_micros(micros);
        let start = Instant::now();
        let sleep = timers.sleep(span);
        let deadline = sleep.deadline();
        block_on(sleep);
        assert!(start.elapsed() >= span);
        assert!(Instant::now() >= deadline);
    }
    let start = Instant::now();
    block_on(timers.sleep_until(start + ms(2)));
    assert!(Instant::now() >= start + ms(2));
}

#[test]
fn an_earlier_timer_wakes_the_thread() {
    let timers = Timers::new().unwrap();
    let mut long = pin!(timers.sleep(HOUR));
    assert!(long.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    block_on(timers.sleep(ms(2)));
    assert!(!long.is_elapsed());
    long.reset_after(ms(1));
    block_on(long);
}

#[test]
fn a_timer_that_outlives_all_handles_fires() {
    let timers = Timers::new().unwrap();
    let mut armed = pin!(timers.sleep(HOUR));
    assert!(armed.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    armed.reset_after(ms(5));
    let unarmed = timers.sleep(ms(10));
    drop(timers);
    block_on(armed);
    block_on(unarmed);
    block_on(async {});
}

#[test]
fn a_timer_is_armed_when_the_thread_has_ended() {
    for _ in 0..100 {
        let timers = TimerSettings::new().shards(1).start().unwrap();
        let (first, second) = (timers.sleep(ms(0)), timers.sleep(Duration::from_micros(50)));
        drop(timers);
        block_on(first);
        block_on(second);
    }
}

/// Timers fire so often that the driver rests. If a waker was not called, this test would wait
/// forever.
#[test]
fn each_sleep_of_many_threads_ends_and_none_is_early() {
    let timers = Timers::new().unwrap();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let timers = &timers;
            scope.spawn(move || {
                for at in 0..400 {
                    let span = Duration::from_micros(100 + (at * 37 + thread * 111) % 900);
                    let start = Instant::now();
                    block_on(timers.sleep(span));
                    assert!(start.elapsed() >= span);
                }
            });
        }
    });
    assert_eq!(timers.report().panics, 0);
}

#[test]
fn a_thread_cannot_sleep_by_a_clock_of_the_caller() {
    let clock = Arc::new(tickwright::time::VirtualHost::new().monotonic());
    let error = TimerSettings::new().clock(clock).start().unwrap_err();
    assert!(error.to_string().contains("driven"), "{error}");
}

#[test]
fn a_panic_of_a_waker_does_not_end_the_thread() {
    struct Panics;
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            std::panic::resume_unwind(Box::new("a waker"));
        }
    }
    let timers = Timers::new().unwrap();
    let mut sleep = pin!(timers.sleep(HOUR));
    let waker = Waker::from(Arc::new(Panics));
    assert!(sleep.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    sleep.reset_after(ms(1));
    block_on(timers.sleep(ms(2)));
    while timers.report().panics == 0 {
        std::thread::yield_now();
    }
    block_on(timers.sleep(ms(1)));
}

#[test]
fn an_idle_thread_does_not_wake() {
    let timers = Timers::new().unwrap();
    let mut far = pin!(timers.sleep(HOUR));
    assert!(far.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    std::thread::sleep(ms(20));
    let before = timers.report().wakeups;
    std::thread::sleep(ms(200));
    assert_eq!(timers.report().wakeups, before);
}

#[test]
fn sleeps_on_many_threads_are_all_woken_and_none_is_early() {
    let timers = TimerSettings::new().shards(3).start().unwrap();
    std::thread::scope(|scope| {
        for thread in 0..8_u64 {
            let timers = &timers;
            scope.spawn(move || {
                for round in 0..50 {
                    let span = Duration::from_micros((thread * 37 + round * 13) % 700);
                    let start = Instant::now();
                    block_on(timers.sleep(span));
                    assert!(start.elapsed() >= span);
                }
            });
        }
    });
    assert_eq!(timers.report().live, 0);
}

#[test]
#[cfg(target_os = "linux")]
fn the_thread_ends_when_the_last_timer_is_dropped() {
    // This test runs in a separate process, in which no other test uses driver threads.
    const CHILD: &str = "TICKWRIGHT_ASYNC_THREADS";
    if std::env::var_os(CHILD).is_none() {
        let name = "the_thread_ends_when_the_last_timer_is_dropped";
        // If the tests run in an emulator that cannot start programs, this variable names the
        // emulator.
        let emulator = std::env::var("TICKWRIGHT_EMULATOR").unwrap_or_default();
        let test = std::env::current_exe().unwrap();
        let mut words = emulator.split_whitespace().map(Into::into).chain([test]);
        let mut child = std::process::Command::new(words.next().unwrap());
        let status = child.args(words).args(["--exact", name]).env(CHILD, "1").status();
        assert!(status.unwrap().success());
        return;
    }
    let timers = Timers::new().unwrap();
    let mut far = Box::pin(timers.sleep(HOUR));
    assert!(far.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    drop(timers);
    let start = Instant::now();
    // A thread gets its name shortly after its start.
    while common::driver_threads() == 0 {
        assert!(start.elapsed() < Duration::from_secs(30), "a timer is pending");
        std::thread::yield_now();
    }
    assert!(!far.is_elapsed());
    drop(far);
    while common::driver_threads() > 0 {
        assert!(start.elapsed() < Duration::from_secs(30), "the thread goes on");
        std::thread::yield_now();
    }
}
