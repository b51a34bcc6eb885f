//! Tests of time-outs and slots.

use core::cell::{Cell, RefCell};
use core::future::{Future, pending, poll_fn, ready};
use core::pin::pin;
use core::task::{Poll, Waker};
use core::time::Duration;

use crate::scene::Scene;

crate::behaviours! {
    every_driver: a_future_that_is_ready_wins_over_a_deadline_that_is_over,
        a_future_that_completes_in_time_is_not_given_up, the_longest_duration_does_not_end,
        a_deadline_that_is_now_gives_a_pending_future_up, a_deadline_that_comes_gives_a_future_up,
        a_slot_that_is_set_to_the_past_is_over, a_slot_that_is_moved_to_the_past_wakes_the_task,
        a_slot_that_was_cleared_wakes_nobody_and_serves_again;
    virtual_time: the_longest_duration_outlasts_a_decade
}

/// A future that becomes ready when the test opens it.
#[derive(Default)]
struct Gate {
    is_open: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

impl Gate {
    fn open(&self) {
        self.is_open.set(true);
        self.waker.take().expect("a task waits").wake();
    }

    fn wait(&self) -> impl Future<Output = u8> + '_ {
        poll_fn(|cx| {
            self.waker.replace(Some(cx.waker().clone()));
            if self.is_open.get() { Poll::Ready(7) } else { Poll::Pending }
        })
    }
}

fn a_future_that_is_ready_wins_over_a_deadline_that_is_over(scene: &Scene) {
    let (timers, task) = (&scene.timers, scene.task());
    let now = timers.now();
    for deadline in [now, now - Duration::from_secs(1)] {
        assert_eq!(task.ready_at_once(pin!(timers.timeout_at(deadline, ready(7)))), Ok(7));
    }
    assert_eq!(task.ready_at_once(pin!(timers.timeout(Duration::ZERO, ready(7)))), Ok(7));
    assert_eq!(timers.report().locks, 0, "no timer was filed");
}

fn a_future_that_completes_in_time_is_not_given_up(scene: &Scene) {
    let (timers, task) = (&scene.timers, scene.task());
    for by_instant in [false, true] {
        let (gate, deadline) = (Gate::default(), scene.ahead(100));
        let span = deadline.saturating_duration_since(timers.now());
        let timeout = if by_instant {
            timers.timeout_at(deadline, gate.wait())
        } else {
            timers.timeout(span, gate.wait())
        };
        let mut timeout = Box::pin(timeout);
        task.pending(timeout.as_mut());
        scene.advance(30);
        task.asleep();
        task.pending(timeout.as_mut());
        gate.open();
        task.woken();
        assert_eq!(task.ready_at_once(timeout.as_mut()), Ok(7));
        drop(timeout);
        assert_eq!(timers.report().live, 0);
    }
}

fn wait_longest(scene: &Scene, advance: impl FnOnce()) {
    let (task, gate) = (scene.task(), Gate::default());
    let mut timeout = pin!(scene.timers.timeout(Duration::MAX, gate.wait()));
    task.pending(timeout.as_mut());
    advance();
    task.asleep();
    task.pending(timeout.as_mut());
    gate.open();
    task.woken();
    assert_eq!(task.ready_at_once(timeout), Ok(7));
}

fn the_longest_duration_does_not_end(scene: &Scene) {
    wait_longest(scene, || scene.advance(10));
}

fn the_longest_duration_outlasts_a_decade(scene: &Scene) {
    wait_longest(scene, || scene.advance_by(Duration::from_secs(10 * 365 * 86_400)));
}

fn a_deadline_that_is_now_gives_a_pending_future_up(scene: &Scene) {
    let (timers, task) = (&scene.timers, scene.task());
    for deadline in [timers.now(), timers.now() - Duration::from_secs(1)] {
        let given_up = task.ready_at_once(pin!(timers.timeout_at(deadline, pending::<()>())));
        assert!(given_up.is_err());
    }
    let given_up = task.ready_at_once(pin!(timers.timeout(Duration::ZERO, pending::<()>())));
    assert!(given_up.is_err());
}

fn a_deadline_that_comes_gives_a_future_up(scene: &Scene) {
    let task = scene.task();
    let mut timeout = pin!(scene.timers.timeout_at(scene.at(30), pending::<()>()));
    task.pending(timeout.as_mut());
    scene.advance(29);
    task.asleep();
    task.pending(timeout.as_mut());
    scene.advance(1);
    task.woken();
    assert!(task.ready(timeout).is_err());
    assert!(scene.timers.now() >= scene.at(30));
}

fn a_slot_that_is_set_to_the_past_is_over(scene: &Scene) {
    let task = scene.task();
    scene.advance(20);
    let mut slot = scene.timers.slot();
    for past in [scene.at(20), scene.at(10), scene.at(0) - Duration::from_millis(100)] {
        slot.set(past);
        assert_eq!(slot.deadline(), Some(past));
        task.ready(pin!(poll_fn(|cx| slot.poll_elapsed(cx))));
        let given_up = task.ready(pin!(slot.timeout_at(past, pending::<()>())));
        assert!(given_up.is_err());
    }
}

fn a_slot_that_is_moved_to_the_past_wakes_the_task(scene: &Scene) {
    let task = scene.task();
    scene.advance(20);
    let mut slot = scene.timers.slot();
    for past in [scene.at(20), scene.at(10), scene.at(0) - Duration::from_millis(100)] {
        slot.set(scene.at(100_000));
        task.pending(pin!(poll_fn(|cx| slot.poll_elapsed(cx))));
        task.asleep();
        slot.set(past);
        task.woken();
        task.ready(pin!(poll_fn(|cx| slot.poll_elapsed(cx))));
    }
}

fn a_slot_that_was_cleared_wakes_nobody_and_serves_again(scene: &Scene) {
    let task = scene.task();
    let mut slot = scene.timers.slot();
    slot.set(scene.at(10));
    task.pending(pin!(poll_fn(|cx| slot.poll_elapsed(cx))));
    slot.clear();
    assert_eq!(slot.deadline(), None);
    scene.advance(15);
    task.asleep();
    task.pending(pin!(poll_fn(|cx| slot.poll_elapsed(cx))));
    slot.set(scene.at(20));
    task.pending(pin!(poll_fn(|cx| slot.poll_elapsed(cx))));
    scene.advance(5);
    task.woken();
    task.ready(pin!(poll_fn(|cx| slot.poll_elapsed(cx))));
}
