//! Tests of sleeps: when they end, moved deadlines, drops, and wakers that use sleeps.

use core::future::{Future, poll_fn};
use core::pin::{Pin, pin};
use core::task::{Context, Waker};
use core::time::Duration;
use std::sync::{Arc, Mutex};
use std::task::Wake;

use tickwright_async::{Sleep, Timers};

use crate::scene::Scene;

crate::behaviours! {
    every_driver: a_deadline_that_is_over_is_ready_at_once, a_sleep_has_elapsed_when_it_has_fired,
        a_sleep_ends_at_its_deadline_and_not_before, a_fraction_of_a_millisecond_counts,
        a_later_deadline_counts, an_earlier_deadline_counts, a_sleep_that_has_fired_is_reset,
        a_reset_to_the_past_wakes_the_task, two_resets_keep_the_waker, the_last_task_to_poll_is_woken,
        a_dropped_sleep_wakes_nobody, thousands_of_sleeps_of_zero_end,
        a_sleep_of_centuries_leaves_a_short_one_alone, a_drop_after_a_move_leaves_the_others,
        a_waker_drops_sleeps, the_drop_of_a_waker_drops_a_sleep, the_drop_of_a_waker_arms_a_sleep;
    virtual_time: a_deadline_is_exact_at_any_distance, years_pass,
        a_sleep_of_decades_leaves_the_others_alone
}

fn a_deadline_that_is_over_is_ready_at_once(scene: &Scene) {
    let task = scene.task();
    scene.advance(10);
    for at in [scene.at(10), scene.at(9), scene.at(0), scene.at(0) - Duration::from_millis(100)] {
        task.ready_at_once(pin!(scene.timers.sleep_until(at)));
    }
    task.ready_at_once(pin!(scene.timers.sleep(Duration::ZERO)));
    assert_eq!(scene.timers.report().locks, 0, "no timer was filed");
}

fn a_sleep_has_elapsed_when_it_has_fired(scene: &Scene) {
    let task = scene.task();
    let mut sleep = pin!(scene.timers.sleep_until(scene.at(10)));
    assert!(!sleep.is_elapsed(), "it was never polled");
    task.pending(sleep.as_mut());
    scene.require(!sleep.is_elapsed(), "elapsed early");
    scene.advance(10);
    task.woken();
    assert!(sleep.is_elapsed());
    task.ready(sleep);
}

fn a_sleep_ends_at_its_deadline_and_not_before(scene: &Scene) {
    let task = scene.task();
    for delay in [1, 10, 60, 5, 60] {
        let deadline = scene.ahead(delay);
        let mut sleep = pin!(scene.timers.sleep_until(deadline));
        assert_eq!(sleep.deadline(), deadline);
        task.pending(sleep.as_mut());
        scene.advance(delay - 1);
        task.asleep();
        task.pending(sleep.as_mut());
        scene.advance(1);
        task.woken();
        task.ready(sleep.as_mut());
        assert!(scene.timers.now() >= deadline);
        task.ready_at_once(sleep);
    }
}

fn a_deadline_is_exact_at_any_distance(scene: &Scene) {
    let task = scene.task();
    for delay in [63, 64, 65, 1000, 4095, 4096, 4097, 262_144, 86_400_000] {
        let mut sleep = pin!(scene.timers.sleep(scene.span(delay)));
        task.pending(sleep.as_mut());
        scene.advance_by(scene.span(delay) - Duration::from_nanos(1));
        task.asleep();
        task.pending(sleep.as_mut());
        scene.advance_by(Duration::from_nanos(1));
        task.woken();
        task.ready_at_once(sleep);
    }
}

fn a_fraction_of_a_millisecond_counts(scene: &Scene) {
    let millisecond = Duration::from_millis(1);
    for _ in 0..5 {
        let deadline = scene.timers.now() + millisecond + Duration::from_nanos(1);
        scene.block_on(scene.timers.sleep_until(deadline));
        let late = scene.timers.now().checked_duration_since(deadline).expect("not early");
        // tokio rounds a sleep up to the next millisecond.
        assert!(scene.is_real() || late < millisecond, "{late:?}");
    }
}

fn a_later_deadline_counts(scene: &Scene) {
    let task = scene.task();
    let mut sleep = pin!(scene.timers.sleep_until(scene.at(10)));
    task.pending(sleep.as_mut());
    sleep.reset(scene.at(20));
    scene.advance(10);
    task.asleep();
    task.pending(sleep.as_mut());
    scene.advance(9);
    task.asleep();
    scene.advance(1);
    task.woken();
    task.ready(sleep);
}

fn an_earlier_deadline_counts(scene: &Scene) {
    for wait in [0, 5] {
        let task = scene.task();
        let mut sleep = pin!(scene.timers.sleep_until(scene.ahead(1000)));
        task.pending(sleep.as_mut());
        scene.advance(wait);
        sleep.reset(scene.ahead(8));
        scene.advance(7);
        task.asleep();
        scene.advance(1);
        task.woken();
        task.ready(sleep);
    }
}

fn a_sleep_that_has_fired_is_reset(scene: &Scene) {
    let task = scene.task();
    let mut sleep = pin!(scene.timers.sleep_until(scene.at(10)));
    for _ in 0..3 {
        task.pending(sleep.as_mut());
        task.pending(sleep.as_mut());
        let before = sleep.deadline();
        scene.advance(10);
        task.woken();
        task.ready(sleep.as_mut());
        task.ready_at_once(sleep.as_mut());
        sleep.reset(scene.ahead(10));
        assert_ne!(sleep.deadline(), before);
        scene.require(!sleep.is_elapsed(), "elapsed for the deadline before");
    }
}

fn a_reset_to_the_past_wakes_the_task(scene: &Scene) {
    let task = scene.task();
    scene.advance(20);
    for past in [scene.at(10), scene.at(20), scene.at(0) - Duration::from_millis(100)] {
        let mut sleep = pin!(scene.timers.sleep_until(scene.at(100_000)));
        task.pending(sleep.as_mut());
        task.asleep();
        sleep.reset(past);
        task.woken();
        task.ready(sleep);
    }
}

fn two_resets_keep_the_waker(scene: &Scene) {
    let task = scene.task();
    let mut sleep = pin!(scene.timers.sleep(Duration::from_secs(3600)));
    task.pending(sleep.as_mut());
    sleep.reset_after(Duration::from_secs(7200));
    sleep.reset(scene.timers.now());
    task.woken();
    task.ready(sleep);
}

fn the_last_task_to_poll_is_woken(scene: &Scene) {
    let (first, second) = (scene.task(), scene.task());
    let mut sleep = pin!(scene.timers.sleep_until(scene.at(10)));
    first.pending(sleep.as_mut());
    second.pending(sleep.as_mut());
    scene.advance(10);
    second.woken();
    first.asleep();
    second.ready(sleep);
}

fn a_dropped_sleep_wakes_nobody(scene: &Scene) {
    let (task, other) = (scene.task(), scene.task());
    let mut kept = pin!(scene.timers.sleep_until(scene.at(12)));
    other.pending(kept.as_mut());
    task.pending(pin!(scene.timers.sleep_until(scene.at(10))));
    assert_eq!(scene.timers.report().live, 1);
    scene.advance(12);
    other.woken();
    task.asleep();
}

fn thousands_of_sleeps_of_zero_end(scene: &Scene) {
    let start = scene.timers.now();
    scene.block_on(async {
        for _ in 0..10_000 {
            tickwright_async::sleep(Duration::ZERO).await;
        }
    });
    assert!(scene.is_real() || scene.timers.now() == start, "the clock has moved");
}

fn a_sleep_of_centuries_leaves_a_short_one_alone(scene: &Scene) {
    let mut long = pin!(scene.timers.sleep(Duration::from_secs(u64::MAX / 10)));
    let mut short = pin!(scene.timers.sleep(Duration::from_nanos(1)));
    scene.block_on(poll_fn(|cx| {
        assert!(long.as_mut().poll(cx).is_pending());
        short.as_mut().poll(cx)
    }));
}

fn a_drop_after_a_move_leaves_the_others(scene: &Scene) {
    let (first, last) = (scene.task(), scene.task());
    let [mut a, mut b] = [0, 1].map(|_| Box::pin(scene.timers.sleep_until(scene.at(5))));
    let mut c = Box::pin(scene.timers.sleep_until(scene.at(10)));
    first.pending(a.as_mut());
    last.pending(b.as_mut());
    last.pending(c.as_mut());
    b.reset(scene.at(10));
    scene.advance(5);
    first.woken();
    first.ready(a.as_mut());
    drop(b);
    last.asleep();
    scene.advance(5);
    last.woken();
    last.ready(c.as_mut());
    assert_eq!(scene.timers.report().live, 0);
}

type Sleeps = Arc<Mutex<Vec<Pin<Box<Sleep>>>>>;

fn a_waker_drops_sleeps(scene: &Scene) {
    struct Dropping(Sleeps);
    impl Wake for Dropping {
        fn wake(self: Arc<Self>) {
            self.0.lock().expect("no drop has panicked").clear();
        }
    }
    let sleeps = Sleeps::default();
    let waker = Waker::from(Arc::new(Dropping(Arc::clone(&sleeps))));
    for _ in 0..100 {
        let mut sleep = Box::pin(scene.timers.sleep_until(scene.at(10)));
        scene.require(sleep.as_mut().poll(&mut Context::from_waker(&waker)).is_pending(), "not pending");
        sleeps.lock().unwrap().push(sleep);
    }
    scene.advance(11);
    assert!(scene.comes(|| sleeps.lock().unwrap().is_empty()), "woken");
    assert!(scene.comes(|| scene.timers.report().live == 0), "none is left");
    scene.block_on(scene.timers.sleep(scene.span(1)));
    assert_eq!(scene.timers.report().panics, 0);
}

fn the_drop_of_a_waker_drops_a_sleep(scene: &Scene) {
    struct Owning(#[allow(dead_code, reason = "it is there to be dropped")] Mutex<Pin<Box<Sleep>>>);
    impl Wake for Owning {
        fn wake(self: Arc<Self>) {}
    }
    let hour = Duration::from_secs(3600);
    let task = scene.task();
    let [mut outer, mut inner] = [0, 1].map(|_| Box::pin(scene.timers.sleep(hour)));
    task.pending(inner.as_mut());
    let waker = Waker::from(Arc::new(Owning(Mutex::new(inner))));
    assert!(outer.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    drop(waker);
    assert_eq!(scene.timers.report().live, 2);
    drop(outer);
    assert_eq!(scene.timers.report().live, 0);
}

fn the_drop_of_a_waker_arms_a_sleep(scene: &Scene) {
    struct Arming(Timers, Arc<Mutex<Option<Pin<Box<Sleep>>>>>);
    impl Wake for Arming {
        fn wake(self: Arc<Self>) {}
    }
    impl Drop for Arming {
        fn drop(&mut self) {
            let mut sleep = Box::pin(self.0.sleep(Duration::from_secs(5)));
            assert!(sleep.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
            *self.1.lock().unwrap() = Some(sleep);
        }
    }
    let armed = Arc::new(Mutex::new(None));
    let waker = Waker::from(Arc::new(Arming(scene.timers.clone(), Arc::clone(&armed))));
    let mut sleep = Box::pin(scene.timers.sleep(Duration::from_secs(10)));
    assert!(sleep.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    drop(waker);
    scene.settle();
    drop(sleep);
    scene.settle();
    assert!(armed.lock().unwrap().take().is_some());
    assert_eq!(scene.timers.report().live, 0);
}

fn years_pass(scene: &Scene) {
    let year = Duration::from_secs(365 * 86_400);
    let most = Duration::from_millis((1 << 36) - 1);
    for span in [year, year, most - Duration::from_millis(1), most, year * 5, year * 10, year * 100] {
        let deadline = scene.timers.now() + span;
        scene.block_on(scene.timers.sleep_until(deadline));
        let late = scene.timers.now().checked_duration_since(deadline).expect("not early");
        assert!(late <= Duration::from_millis(1), "{late:?}");
    }
}

fn a_sleep_of_decades_leaves_the_others_alone(scene: &Scene) {
    let task = scene.task();
    let far = Duration::from_millis(10 << 36);
    let mut decades = pin!(scene.timers.sleep(far));
    task.pending(decades.as_mut());
    scene.advance_by(Duration::from_millis((1 << 30) - 1));
    let (mut first, mut second) = (scene.timers.sleep(scene.span(10)), scene.timers.sleep(scene.span(20)));
    let other = scene.task();
    other.pending(Pin::new(&mut first));
    other.pending(Pin::new(&mut second));
    scene.advance(10);
    other.woken();
    other.ready_at_once(Pin::new(&mut first));
    scene.advance(10);
    other.woken();
    drop((first, second));
    scene.advance_by(Duration::from_millis(1 << 31));
    task.asleep();
    scene.advance_by(far);
    task.woken();
    task.ready_at_once(decades);
}
