//! Tests of sleeps with a clock that stands still, so that the timers fire when the test moves the
//! clock.

mod common;

use core::task::Poll;
use core::time::Duration;
use std::pin::pin;

use common::{Counter, ms};
use tickwright_async::{TestClock, sleep, sleep_until};

#[test]
fn a_sleep_that_was_never_polled_holds_no_timer() {
    let clock = TestClock::new();
    let timers = clock.timers();
    let sleep = timers.sleep(ms(5));
    assert_eq!((timers.report().live, timers.poll_timeout()), (0, None));
    clock.advance(ms(6));
    assert!(!sleep.is_elapsed(), "it was not armed");
    assert!(clock.is_ready(pin!(sleep)), "the first poll looks at the clock");
}

#[test]
fn the_deadline_is_what_was_asked_for() {
    let clock = TestClock::new();
    let timers = clock.timers();
    let at = timers.now() + ms(7);
    assert_eq!(timers.sleep(ms(7)).deadline(), at);
    let mut sleep = timers.sleep_until(at);
    assert_eq!(sleep.deadline(), at);
    sleep.reset(at + ms(1));
    assert_eq!(sleep.deadline(), at + ms(1));
    sleep.reset_after(ms(3));
    assert_eq!(sleep.deadline(), timers.now() + ms(3));
}

#[test]
fn no_duration_is_too_long() {
    let clock = TestClock::new();
    let timers = clock.timers();
    let year = Duration::from_secs(365 * 86_400);
    for long in [year, year * 68, year * 500, year * 600, Duration::MAX] {
        let mut sleep = pin!(timers.sleep(long));
        assert!(!clock.is_ready(sleep.as_mut()));
        let _ = sleep.deadline();
        let never = pin!(timers.timeout(long, core::future::pending::<()>()));
        assert!(!clock.is_ready(never));
    }
    let mut year_long = pin!(timers.sleep(year));
    assert!(!clock.is_ready(year_long.as_mut()));
    clock.advance(year);
    assert!(clock.is_ready(year_long));
    clock.advance(Duration::MAX);
    let mut last = pin!(timers.sleep(Duration::MAX));
    assert!(
        clock.is_ready(last.as_mut()) || !clock.is_ready(last),
        "it is answered, at the end of the clock"
    );
}

#[test]
fn a_task_is_woken_once_and_at_the_deadline() {
    let clock = TestClock::new();
    let timers = clock.timers();
    let counter = Counter::new();
    let mut sleep = pin!(timers.sleep(ms(10)));
    assert_eq!(counter.poll(sleep.as_mut()), Poll::Pending);
    assert_eq!(counter.poll(sleep.as_mut()), Poll::Pending);
    clock.advance(ms(9));
    assert_eq!(counter.count(), 0);
    clock.advance(ms(1));
    assert_eq!(counter.count(), 1);
    clock.advance(ms(100));
    assert_eq!(counter.count(), 1);
    assert_eq!(counter.poll(sleep), Poll::Ready(()));
    assert_eq!(counter.held(), 0, "its waker was given back");
}

#[test]
fn the_last_task_to_poll_is_the_one_that_is_woken() {
    let clock = TestClock::new();
    let timers = clock.timers();
    let (first, second) = (Counter::new(), Counter::new());
    let mut sleep = pin!(timers.sleep(ms(10)));
    assert_eq!(first.poll(sleep.as_mut()), Poll::Pending);
    assert_eq!(second.poll(sleep.as_mut()), Poll::Pending);
    assert_eq!(first.held(), 0, "its waker was dropped");
    clock.advance(ms(10));
    assert_eq!((first.count(), second.count()), (0, 1));
}

#[test]
fn a_dropped_sleep_wakes_nobody_and_keeps_no_waker() {
    let clock = TestClock::new();
    let timers = clock.timers();
    let counter = Counter::new();
    {
        let mut sleep = pin!(timers.sleep(ms(10)));
        assert_eq!(counter.poll(sleep.as_mut()), Poll::Pending);
        assert_eq!(timers.report().live, 1);
    }
    assert_eq!((timers.report().live, counter.held()), (0, 0));
    clock.advance(ms(20));
    assert_eq!(counter.count(), 0);
    assert_eq!(timers.report().lateness.count(), 0);
}

#[test]
fn a_later_deadline_takes_no_lock() {
    let clock = TestClock::new();
    let timers = clock.timers();
    let counter = Counter::new();
    let mut sleep = pin!(timers.sleep(ms(10)));
    assert_eq!(counter.poll(sleep.as_mut()), Poll::Pending);
    assert_eq!(timers.report().locks, 1);
    for _ in 0..1000 {
        clock.advance(Duration::from_micros(9));
        sleep.reset_after(ms(10));
        assert_eq!(counter.poll(sleep.as_mut()), Poll::Pending);
    }
    assert_eq!(timers.report().locks, 1, "a thousand re-arms");
    clock.advance(ms(10) - Duration::from_nanos(1));
    assert_eq!(counter.count(), 0);
    clock.advance(Duration::from_nanos(1));
    assert_eq!(counter.count(), 1);
}

#[test]
fn a_reset_before_the_first_poll_arms_nothing() {
    let clock = TestClock::new();
    let timers = clock.timers();
    let mut sleep = timers.sleep(ms(10));
    sleep.reset_after(ms(20));
    assert_eq!(timers.report().live, 0);
    clock.advance(ms(15));
    let mut sleep = pin!(sleep);
    assert!(!clock.is_ready(sleep.as_mut()));
    clock.advance(ms(5));
    assert!(clock.is_ready(sleep));
}

#[test]
fn a_timer_that_was_used_before_serves_an_earlier_deadline() {
    let clock = TestClock::new();
    let timers = clock.timers();
    let counter = Counter::new();
    assert_eq!(counter.poll(pin!(timers.sleep(ms(3000)))), Poll::Pending);
    assert_eq!(timers.report().vacant, 1);
    let mut sleep = pin!(timers.sleep(ms(2100)));
    assert_eq!(counter.poll(sleep.as_mut()), Poll::Pending);
    assert_eq!((timers.report().vacant, timers.report().live), (0, 1), "the same timer, moved");
    clock.advance(ms(2100) - Duration::from_nanos(1));
    assert_eq!(counter.count(), 0);
    clock.advance(Duration::from_nanos(1));
    assert_eq!(counter.count(), 1);
}

#[test]
fn what_is_vacant_leaves_when_it_is_due() {
    let clock = TestClock::new();
    let timers = clock.timers();
    for delay in 1..50 {
        let _ = clock.is_ready(pin!(timers.sleep(ms(delay * 37))));
    }
    clock.advance(ms(50 * 37));
    let report = timers.report();
    assert_eq!((report.live, report.vacant, report.lateness.count()), (0, 0, 0));
    assert_eq!(timers.poll_timeout(), None, "no wake-up is left");
}

#[test]
fn wakers_are_called_in_the_order_of_the_deadlines() {
    let clock = TestClock::new();
    let timers = clock.timers();
    let order = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let mut sleeps = Vec::new();
    for delay in [30, 10, 20, 10, 64, 1] {
        let mut sleep = Box::pin(timers.sleep(ms(delay)));
        let waker = common::logging(&order, delay);
        let mut cx = core::task::Context::from_waker(&waker);
        assert!(core::future::Future::poll(sleep.as_mut(), &mut cx).is_pending());
        sleeps.push(sleep);
    }
    clock.advance(ms(100));
    assert_eq!(*order.lock().unwrap(), [1, 10, 10, 20, 30, 64]);
}

#[test]
fn functions_use_the_timers_that_were_entered() {
    let (outer, inner) = (TestClock::new(), TestClock::new());
    let _outer = outer.timers().enter();
    let mut first = pin!(sleep(ms(5)));
    assert!(!outer.is_ready(first.as_mut()));
    {
        let _inner = inner.timers().enter();
        let mut second = pin!(sleep_until(tickwright_async::now() + ms(5)));
        assert!(!inner.is_ready(second.as_mut()));
        inner.advance(ms(5));
        assert!(inner.is_ready(second));
    }
    assert!(!outer.is_ready(first.as_mut()), "its clock has not moved");
    assert_eq!(tickwright_async::now(), outer.timers().now());
    outer.advance(ms(5));
    assert!(outer.is_ready(first));
}
