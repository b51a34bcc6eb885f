//! Ready when due at any poll, unless the task has had its share; and clocks that threads move.

mod common;

use core::cell::Cell;
use core::future::{Future, poll_fn};
use core::pin::pin;
use core::task::{Context, Poll, Waker};
use core::time::Duration;

use common::{Counter, Unpark, ms};
use tickwright_async::{Settings, TestClock, Timers};

/// Polls until the first poll that is pending; returns how many were ready.
fn ready_in_a_row(task: &Counter, mut due: impl FnMut(&mut Context<'_>) -> bool) -> usize {
    (0..1000).take_while(|_| due(&mut task.context())).count()
}

#[test]
fn a_task_that_is_always_due_yields_now_and_then() {
    let (clock, task) = (TestClock::new(), Counter::new());
    let timers = clock.timers();
    let zero = |cx: &mut Context<'_>| pin!(timers.sleep(Duration::ZERO)).poll(cx).is_ready();
    assert_eq!(ready_in_a_row(&task, zero), 128);
    assert_eq!(task.count(), 1, "the task goes on after the others");
    assert_eq!(ready_in_a_row(&task, zero), 128);
    // Another task has a row of its own, and a waker that can wake nobody has none.
    assert_eq!(ready_in_a_row(&Counter::new(), zero), 128);
    assert!((0..1000).all(|_| zero(&mut Context::from_waker(Waker::noop()))));
}

#[test]
fn an_interval_that_is_behind_lets_other_tasks_run() {
    // The clock of the machine; nothing depends on how fast it is.
    let timers = Settings::new().driven(|| {});
    let task = Counter::new();
    let mut behind = timers.interval_at(timers.now() - Duration::from_secs(3600), ms(1));
    let ticks = ready_in_a_row(&task, |cx| behind.poll_tick(cx).is_ready());
    assert_eq!((ticks, task.count()), (16, 1));
}

#[test]
fn a_loop_of_sleeps_of_zero_does_not_stop_its_neighbor() {
    let timers = Timers::new().unwrap();
    let turns = Cell::new(0);
    let mut busy = pin!(async {
        loop {
            timers.sleep(Duration::ZERO).await;
        }
    });
    Unpark::block_on(poll_fn(|cx| {
        turns.set(turns.get() + 1);
        assert!(busy.as_mut().poll(cx).is_pending());
        if turns.get() == 100 { Poll::Ready(()) } else { Poll::Pending }
    }));
}

#[test]
fn a_sleep_that_was_over_at_its_first_poll_has_elapsed() {
    let (clock, task) = (TestClock::new(), Counter::new());
    let timers = clock.timers();
    for mut sleep in [timers.sleep(Duration::ZERO), timers.sleep_until(timers.now() - ms(5))] {
        assert!(!sleep.is_elapsed());
        assert!(task.poll(pin!(&mut sleep)).is_ready());
        assert!(sleep.is_elapsed());
        sleep.reset(timers.now() + ms(1));
        assert!(!sleep.is_elapsed(), "it has another deadline");
    }
}

#[test]
fn a_reset_to_the_past_is_ready_at_the_next_poll_of_the_same_task() {
    let (clock, task) = (TestClock::new(), Counter::new());
    let machine = Settings::new().driven(|| {});
    for timers in [clock.timers(), machine] {
        let mut sleep = pin!(timers.sleep(Duration::from_secs(3600)));
        assert!(task.poll(sleep.as_mut()).is_pending());
        sleep.as_mut().get_mut().reset(timers.now() - ms(500));
        assert!(task.poll(sleep.as_mut()).is_ready());
        assert!(sleep.is_elapsed());
        // The sleep is of use again.
        sleep.as_mut().get_mut().reset(timers.now() + Duration::from_secs(3600));
        assert!(task.poll(sleep.as_mut()).is_pending());
        let mut slot = timers.slot();
        slot.set_after(Duration::from_secs(3600));
        assert!(slot.poll_elapsed(&mut task.context()).is_pending());
        slot.set_after(Duration::ZERO);
        assert!(slot.poll_elapsed(&mut task.context()).is_ready());
    }
}

#[test]
fn advances_of_two_threads_add_up() {
    let clock = TestClock::new();
    let timers = clock.timers();
    let begun = timers.now();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| (0..20_000).for_each(|_| clock.advance(Duration::from_micros(1))));
        }
    });
    assert_eq!(timers.now() - begun, ms(40));
}

#[test]
fn clear_of_a_delay_queue_wakes_the_task_that_polled_last() {
    let (clock, first, second) = (TestClock::new(), Counter::new(), Counter::new());
    let mut queue = clock.timers().delay_queue();
    queue.insert(1, ms(10));
    assert!(queue.poll_expired(&mut first.context()).is_pending());
    assert!(queue.poll_expired(&mut second.context()).is_pending());
    queue.clear();
    assert_eq!((first.count(), second.count()), (0, 1));
}

#[test]
fn a_timer_that_fired_a_tick_before_its_new_deadline_is_filed_again() {
    let (clock, task) = (TestClock::new(), Counter::new());
    let timers = clock.timers_with(Settings::new().resolution(Duration::from_nanos(8)));
    let start = timers.now();
    let mut sleep = pin!(timers.sleep_until(start + Duration::from_nanos(80)));
    assert!(task.poll(sleep.as_mut()).is_pending());
    clock.advance(Duration::from_nanos(80));
    assert_eq!(task.count(), 1);
    // It fired for tick 10 from the start; its deadline is now tick 11.
    sleep.as_mut().get_mut().reset(start + Duration::from_nanos(88));
    assert!(task.poll(sleep.as_mut()).is_pending());
    assert!(!sleep.is_elapsed());
    clock.advance(Duration::from_nanos(8));
    assert!(task.poll(sleep.as_mut()).is_ready());
    assert_eq!(task.count(), 2);
}
