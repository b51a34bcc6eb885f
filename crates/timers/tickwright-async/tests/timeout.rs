//! Tests of time-outs and slots with a clock that stands still.

mod common;

use core::future::{Future, pending, ready};
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;
use std::io;
use std::pin::pin;

use common::{Counter, ms};
use tickwright_async::{Elapsed, TestClock, timeout, timeout_at};

#[test]
fn a_future_that_is_ready_needs_no_timer() {
    let clock = TestClock::new();
    let (timers, task) = (clock.timers(), Counter::new());
    assert_eq!(task.poll(pin!(timers.timeout(ms(5), ready(7)))), Poll::Ready(Ok(7)));
    assert_eq!(task.poll(pin!(timers.timeout(Duration::ZERO, ready(7)))), Poll::Ready(Ok(7)));
    assert_eq!(timers.report().locks, 0);
}

#[test]
fn a_future_is_given_up_at_the_deadline() {
    let clock = TestClock::new();
    let (timers, task) = (clock.timers(), Counter::new());
    let mut given = pin!(timers.timeout_at(timers.now() + ms(5), pending::<()>()));
    assert_eq!(given.deadline(), timers.now() + ms(5));
    assert_eq!(task.poll(given.as_mut()), Poll::Pending);
    clock.advance(ms(4));
    assert_eq!(task.poll(given.as_mut()), Poll::Pending);
    clock.advance(ms(1));
    assert_eq!(task.count(), 1);
    let Poll::Ready(Err(elapsed)) = task.poll(given) else { panic!("the deadline has passed") };
    assert_eq!(io::Error::from(elapsed).kind(), io::ErrorKind::TimedOut);
}

#[test]
fn a_future_that_is_ready_at_the_deadline_is_ready() {
    let clock = TestClock::new();
    let (timers, task) = (clock.timers(), Counter::new());
    let mut both = pin!(timers.timeout(ms(5), timers.sleep(ms(5))));
    assert_eq!(task.poll(both.as_mut()), Poll::Pending);
    clock.advance(ms(5));
    assert_eq!(task.poll(both), Poll::Ready(Ok(())));
}

#[test]
fn a_future_that_is_pending_and_then_ready_leaves_no_timer_to_wait_for() {
    let clock = TestClock::new();
    let (timers, task) = (clock.timers(), Counter::new());
    {
        let mut given = pin!(timers.timeout(ms(50), timers.sleep(ms(5))));
        assert_eq!(task.poll(given.as_mut()), Poll::Pending);
        clock.advance(ms(5));
        assert_eq!(task.poll(given.as_mut()), Poll::Ready(Ok(())));
    }
    assert_eq!(timers.report().live, 0);
    clock.advance(ms(100));
    assert_eq!((task.count(), timers.report().lateness.count()), (1, 1));
}

#[test]
fn the_future_is_reached_and_given_back() {
    let clock = TestClock::new();
    let mut given = clock.timers().timeout(ms(5), ready(1));
    assert_eq!(given.get_ref().clone().into_inner(), 1);
    *given.get_mut() = ready(2);
    assert_eq!(given.into_inner().into_inner(), 2);
}

#[test]
fn time_outs_nest() {
    let clock = TestClock::new();
    let inner = clock.block_on(async {
        let inner = timeout(ms(5), pending::<()>());
        timeout_at(tickwright_async::now() + ms(9), inner).await
    });
    assert!(matches!(inner, Ok(Err(Elapsed { .. }))));
}

#[test]
fn a_thousand_time_outs_of_one_delay_take_a_few_locks() {
    let clock = TestClock::new();
    let (timers, task) = (clock.timers(), Counter::new());
    for _ in 0..1000 {
        let mut given = pin!(timers.timeout(ms(5000), pending::<()>()));
        assert_eq!(task.poll(given.as_mut()), Poll::Pending);
        clock.advance(ms(1));
    }
    assert_eq!((timers.report().locks, timers.report().vacant), (1, 1));
}

#[test]
fn a_slot_serves_one_operation_after_the_other() {
    let clock = TestClock::new();
    let (timers, task) = (clock.timers(), Counter::new());
    let mut slot = timers.slot();
    for _ in 0..100 {
        let mut given = pin!(slot.timeout(ms(50), timers.sleep(ms(5))));
        assert_eq!(task.poll(given.as_mut()), Poll::Pending);
        clock.advance(ms(5));
        assert_eq!(task.poll(given), Poll::Ready(Ok(())));
    }
    assert_eq!(slot.deadline(), None);
    let start = timers.now();
    let given = clock.block_on(slot.timeout_at(start + ms(50), pending::<()>()));
    assert!(given.is_err());
    assert_eq!(timers.now(), start + ms(50));
    let again = clock.block_on(slot.timeout(ms(1), pending::<()>()));
    assert!(again.is_err(), "a slot that has fired is used again");
}

#[test]
fn a_slot_without_a_deadline_waits_for_ever() {
    let clock = TestClock::new();
    let (timers, task) = (clock.timers(), Counter::new());
    let mut slot = timers.slot();
    assert!(slot.poll_elapsed(&mut task.context()).is_pending());
    slot.set_after(ms(5));
    assert!(slot.poll_elapsed(&mut task.context()).is_pending());
    slot.clear();
    clock.advance(ms(10));
    assert_eq!((task.count(), slot.poll_elapsed(&mut task.context())), (0, Poll::Pending));
    slot.set(timers.now() + ms(3));
    assert_eq!(slot.deadline(), Some(timers.now() + ms(3)));
    assert!(slot.poll_elapsed(&mut task.context()).is_pending());
    clock.advance(ms(3));
    assert_eq!((task.count(), slot.poll_elapsed(&mut task.context())), (1, Poll::Ready(())));
}

#[test]
fn a_slot_gives_its_waker_back_when_it_is_dropped() {
    let clock = TestClock::new();
    let (timers, task) = (clock.timers(), Counter::new());
    let mut slot = timers.slot();
    slot.set_after(ms(5));
    assert!(slot.poll_elapsed(&mut task.context()).is_pending());
    slot.clear();
    assert_eq!(task.held(), 1, "kept for the next operation");
    drop(slot);
    assert_eq!(task.held(), 0);
}

#[test]
fn futures_are_small() {
    assert!(size_of::<tickwright_async::Sleep>() <= 64);
    assert!(size_of::<tickwright_async::Timeout<()>>() <= 64);
    assert!(size_of::<tickwright_async::Slot>() <= 64);
    fn is_send_and_sync<T: Send + Sync + Unpin>() {}
    is_send_and_sync::<tickwright_async::Sleep>();
    is_send_and_sync::<tickwright_async::Slot>();
    is_send_and_sync::<tickwright_async::Timers>();
    is_send_and_sync::<tickwright_async::Interval>();
    is_send_and_sync::<tickwright_async::DelayQueue<u8>>();
}

/// A future whose first poll is pending and whose second poll is ready.
struct Twice(bool);

impl Future for Twice {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if core::mem::replace(&mut self.0, true) { Poll::Ready(()) } else { Poll::Pending }
    }
}

#[test]
fn a_slot_locks_once_for_a_thousand_operations() {
    let clock = TestClock::new();
    let timers = clock.timers();
    let task = Counter::new();
    let mut slot = timers.slot();
    for _ in 0..1000 {
        let mut operation = pin!(slot.timeout(ms(5000), Twice(false)));
        assert!(task.poll(operation.as_mut()).is_pending());
        assert_eq!(task.poll(operation.as_mut()), Poll::Ready(Ok(())));
        clock.advance(ms(1));
    }
    assert_eq!(timers.report().locks, 1);
    // The slot was not in use when its filed tick passed, so the next operation files its timer
    // again.
    clock.advance(ms(10_000));
    let before = timers.report().locks;
    let mut operation = pin!(slot.timeout(ms(5000), Twice(false)));
    assert!(task.poll(operation.as_mut()).is_pending());
    assert_eq!(timers.report().locks, before + 1);
}
