//! Tests of intervals and their policies for missed ticks, with a clock that stands still.

mod common;

use core::task::Poll;
use std::time::Instant;

use common::{Counter, ms};
use tickwright_async::{Interval, MissedTickBehavior, TestClock, Timers};

struct Scene {
    clock: TestClock,
    timers: Timers,
    task: Counter,
    start: Instant,
}

impl Scene {
    fn new() -> Self {
        let clock = TestClock::new();
        let timers = clock.timers();
        Self { start: timers.now(), clock, timers, task: Counter::new() }
    }

    /// Polls an interval. Returns when the tick was due, in ms from the start.
    fn poll(&self, interval: &mut Interval) -> Poll<u128> {
        interval.poll_tick(&mut self.task.context()).map(|due| (due - self.start).as_millis())
    }

    /// Runs a sequence of steps. A step is the span by which the clock is advanced, and the due
    /// times of the ticks that must be ready after that.
    fn expect(&self, interval: &mut Interval, steps: &[(u64, &[u128])]) {
        for (number, (span, ticks)) in steps.iter().enumerate() {
            self.clock.advance(ms(*span));
            for tick in *ticks {
                assert_eq!(self.poll(interval), Poll::Ready(*tick), "step {number}");
            }
            assert_eq!(self.poll(interval), Poll::Pending, "step {number}");
        }
    }
}

#[test]
fn the_first_tick_comes_at_once_and_the_others_every_period() {
    let scene = Scene::new();
    let mut interval = scene.timers.interval(ms(300));
    assert_eq!(interval.period(), ms(300));
    scene.expect(
        &mut interval,
        &[(0, &[0]), (100, &[]), (200, &[300]), (299, &[]), (1, &[600]), (300, &[900])],
    );
}

#[test]
fn the_first_tick_comes_at_the_start() {
    let scene = Scene::new();
    let mut interval = scene.timers.interval_at(scene.start + ms(50), ms(100));
    scene.expect(&mut interval, &[(0, &[]), (49, &[]), (1, &[50]), (100, &[150])]);
}

#[test]
fn a_little_late_is_not_missed() {
    for behavior in [MissedTickBehavior::Burst, MissedTickBehavior::Delay, MissedTickBehavior::Skip] {
        let scene = Scene::new();
        let mut interval = scene.timers.interval(ms(100));
        interval.set_missed_tick_behavior(behavior);
        scene.expect(&mut interval, &[(0, &[0]), (103, &[100]), (96, &[]), (1, &[200]), (100, &[300])]);
    }
}

#[test]
fn short_periods_keep_their_grid() {
    let scene = Scene::new();
    let mut interval = scene.timers.interval(ms(2));
    interval.set_missed_tick_behavior(MissedTickBehavior::Skip);
    scene.expect(&mut interval, &[(0, &[0]), (9, &[2]), (1, &[10]), (2, &[12])]);
}

/// The rule of tokio holds, even if 5 ms are several periods.
#[test]
fn a_tick_is_missed_when_it_is_more_than_5_ms_late() {
    let scene = Scene::new();
    let mut interval = scene.timers.interval(ms(2));
    interval.set_missed_tick_behavior(MissedTickBehavior::Skip);
    scene.expect(&mut interval, &[(0, &[0]), (7, &[2, 4, 6]), (1, &[8]), (8, &[10]), (1, &[]), (1, &[18])]);
    let mut interval = scene.timers.interval(ms(4));
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    assert_eq!(scene.poll(&mut interval), Poll::Ready(18));
    scene.expect(&mut interval, &[(7, &[22]), (1, &[26]), (10, &[30]), (3, &[]), (1, &[40])]);
}

#[test]
fn a_period_of_zero_is_a_resolution() {
    let scene = Scene::new();
    let mut interval = scene.timers.interval(core::time::Duration::ZERO);
    assert_eq!(interval.period(), core::time::Duration::from_micros(1));
    assert_eq!(scene.poll(&mut interval), Poll::Ready(0));
    assert_eq!(scene.poll(&mut interval), Poll::Pending, "at most one tick until the clock moves");
    let coarse = tickwright_async::TimerSettings::new().resolution(ms(2));
    let coarse = scene.clock.timers_with(coarse);
    assert_eq!(coarse.interval(core::time::Duration::ZERO).period(), coarse.resolution());
}

#[test]
fn a_tick_that_was_not_waited_for_to_the_end_is_not_lost() {
    let scene = Scene::new();
    let mut interval = scene.timers.interval(ms(100));
    assert_eq!(scene.poll(&mut interval), Poll::Ready(0));
    scene.clock.advance(ms(100));
    drop(interval.tick());
    assert_eq!(scene.poll(&mut interval), Poll::Ready(100));
}

#[test]
fn an_interval_is_a_stream_that_does_not_end() {
    use futures_core::Stream;
    let scene = Scene::new();
    let mut interval = scene.timers.interval(ms(10));
    let next = core::pin::Pin::new(&mut interval).poll_next(&mut scene.task.context());
    assert_eq!(next, Poll::Ready(Some(scene.start)));
    assert_eq!(interval.size_hint(), (usize::MAX, None));
}
