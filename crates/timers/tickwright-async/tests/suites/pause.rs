//! Tests of clocks that are moved: how far and when they move, and which timers fire.

use core::cell::{Cell, RefCell};
use core::future::{Future, poll_fn};
use core::pin::pin;
use core::task::{Poll, Waker};
use core::time::Duration;

use crate::scene::Scene;

crate::behaviours! {
    every_driver: an_advance_before_the_deadline_leaves_a_sleep_pending;
    virtual_time: an_advance_is_exact, parts_of_a_millisecond_add_up,
        one_advance_over_a_deadline_fires, a_clock_goes_the_same_way_each_time,
        the_clock_waits_for_work_that_is_ready
}

fn an_advance_before_the_deadline_leaves_a_sleep_pending(scene: &Scene) {
    for is_polled in [true, false] {
        let (task, before) = (scene.task(), scene.timers.now());
        let deadline = scene.ahead(30);
        let mut sleep = pin!(scene.timers.sleep_until(deadline));
        if is_polled {
            task.pending(sleep.as_mut());
        }
        scene.advance(10);
        let gone = scene.timers.now() - before;
        assert!(scene.is_real() || gone == scene.span(10), "{gone:?}");
        task.asleep();
        task.pending(sleep.as_mut());
        scene.advance(20);
        task.woken();
        task.ready(sleep);
    }
}

fn an_advance_is_exact(scene: &Scene) {
    let task = scene.task();
    let mut sleep = pin!(scene.timers.sleep(Duration::from_secs(60)));
    task.pending(sleep.as_mut());
    for micros in [51_592, 1, 3_141_592, 3_123_456, 1000, 1000] {
        let (before, span) = (scene.timers.now(), Duration::from_micros(micros));
        scene.advance_by(span);
        assert_eq!(scene.timers.now() - before, span);
        task.asleep();
        task.pending(sleep.as_mut());
    }
}

fn parts_of_a_millisecond_add_up(scene: &Scene) {
    let task = scene.task();
    let mut sleep = pin!(scene.timers.sleep(Duration::from_millis(1)));
    for _ in 0..4 {
        task.pending(sleep.as_mut());
        task.asleep();
        scene.advance_by(Duration::from_micros(250));
    }
    task.woken();
    task.ready_at_once(sleep);
}

fn one_advance_over_a_deadline_fires(scene: &Scene) {
    let task = scene.task();
    let mut sleep = pin!(scene.timers.sleep(Duration::from_millis(1)));
    task.pending(sleep.as_mut());
    scene.advance_by(Duration::from_micros(250));
    task.asleep();
    task.pending(sleep.as_mut());
    scene.advance_by(Duration::from_micros(1500));
    task.woken();
    task.ready_at_once(sleep);
}

fn a_clock_goes_the_same_way_each_time(scene: &Scene) {
    let way = |scene: &Scene| {
        let (mut random, start, mut times) = (1_u64, scene.timers.now(), Vec::new());
        for _ in 0..2000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            scene.block_on(scene.timers.sleep(Duration::from_nanos(random >> 34)));
            times.push(scene.timers.now() - start);
        }
        times
    };
    assert_eq!(way(scene), way(&scene.another()));
}

fn the_clock_waits_for_work_that_is_ready(scene: &Scene) {
    let (is_sent, waker) = (Cell::new(false), RefCell::new(None::<Waker>));
    let start = scene.timers.now();
    let mut receive = pin!(poll_fn(|cx| {
        waker.replace(Some(cx.waker().clone()));
        if is_sent.get() { Poll::Ready(scene.timers.now() - start) } else { Poll::Pending }
    }));
    let mut send = pin!(async {
        is_sent.set(true);
        waker.take().expect("the receiver waits").wake();
        scene.timers.sleep(scene.span(100)).await;
    });
    let mut received = None;
    scene.block_on(poll_fn(|cx| {
        if received.is_none()
            && let Poll::Ready(at) = receive.as_mut().poll(cx)
        {
            received = Some(at);
        }
        send.as_mut().poll(cx)
    }));
    assert_eq!(received, Some(Duration::ZERO), "received before the clock moved");
    assert_eq!(scene.timers.now() - start, scene.span(100));
}
