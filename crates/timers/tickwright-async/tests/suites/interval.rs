//! Tests of intervals: the policies for missed ticks, resets, and the shortest and longest periods.

use core::future::poll_fn;
use core::pin::pin;
use core::task::Poll;
use core::time::Duration;

use tickwright_async::{Interval, MissedTickBehavior};

use crate::scene::{Scene, Task};

crate::behaviours! {
    every_driver: burst_makes_up_for_every_tick, delay_starts_a_new_grid, skip_stays_on_the_grid,
        a_start_in_the_past_is_made_up_for, reset_starts_a_period_from_now,
        reset_immediately_ticks_at_once, reset_after_sets_the_next_tick, reset_at_sets_the_next_tick,
        no_period_is_refused, no_reset_is_refused, a_tick_that_is_there_registers_no_waker,
        a_task_that_wakes_itself_gets_every_tick;
    virtual_time:
}

/// An interval of 30 units and the task that waits for its ticks.
struct Beat<'a> {
    scene: &'a Scene,
    task: Task<'a>,
    interval: Interval,
}

impl<'a> Beat<'a> {
    fn new(scene: &'a Scene, start: u32) -> Self {
        let interval = scene.timers.interval_at(scene.at(start), scene.span(30));
        Self { scene, task: scene.task(), interval }
    }

    fn with(scene: &'a Scene, behavior: MissedTickBehavior) -> Self {
        let mut beat = Self::new(scene, 0);
        beat.interval.set_missed_tick_behavior(behavior);
        assert_eq!(beat.interval.missed_tick_behavior(), behavior);
        beat
    }

    /// Advances the clock by `span`, and requires that exactly these ticks are ready.
    #[track_caller]
    fn expect(&mut self, span: u32, ticks: &[u128]) {
        self.scene.advance(span);
        for &tick in ticks {
            let due = self.task.ready(pin!(poll_fn(|cx| self.interval.poll_tick(cx))));
            let at = self.scene.units(due);
            self.scene.require(at == tick, &format!("a tick at {at} and not at {tick}"));
        }
        self.task.pending(pin!(poll_fn(|cx| self.interval.poll_tick(cx))));
    }
}

fn burst_makes_up_for_every_tick(scene: &Scene) {
    let mut beat = Beat::with(scene, MissedTickBehavior::Burst);
    beat.expect(0, &[0]);
    beat.expect(10, &[]);
    beat.expect(20, &[30]);
    beat.expect(65, &[60, 90]);
    beat.expect(20, &[]);
    beat.expect(10, &[120]);
    beat.expect(25, &[150]);
    beat.expect(30, &[180]);
}

fn delay_starts_a_new_grid(scene: &Scene) {
    let mut beat = Beat::with(scene, MissedTickBehavior::Delay);
    beat.expect(0, &[0]);
    beat.expect(10, &[]);
    beat.expect(20, &[30]);
    beat.expect(65, &[60]);
    beat.expect(29, &[]);
    beat.expect(1, &[125]);
    beat.expect(30, &[155]);
}

fn skip_stays_on_the_grid(scene: &Scene) {
    let mut beat = Beat::with(scene, MissedTickBehavior::Skip);
    beat.expect(0, &[0]);
    beat.expect(10, &[]);
    beat.expect(20, &[30]);
    beat.expect(65, &[60]);
    beat.expect(24, &[]);
    beat.expect(1, &[120]);
    beat.expect(30, &[150]);
}

fn a_start_in_the_past_is_made_up_for(scene: &Scene) {
    scene.advance(1);
    let mut beat = Beat::new(scene, 0);
    beat.expect(0, &[0]);
    beat.expect(10, &[]);
    beat.expect(19, &[30]);
    beat.expect(40, &[60]);
    beat.expect(50, &[90, 120]);
}

fn reset_starts_a_period_from_now(scene: &Scene) {
    let mut beat = Beat::new(scene, 0);
    beat.expect(0, &[0]);
    beat.expect(30, &[30]);
    beat.expect(10, &[]);
    beat.interval.reset();
    beat.expect(29, &[]);
    beat.expect(1, &[70]);
    beat.expect(30, &[100]);
}

fn reset_immediately_ticks_at_once(scene: &Scene) {
    let mut beat = Beat::new(scene, 0);
    beat.expect(0, &[0]);
    beat.expect(10, &[]);
    beat.interval.reset_immediately();
    beat.task.woken();
    beat.expect(0, &[10]);
    beat.expect(10, &[]);
    beat.expect(20, &[40]);
}

fn reset_after_sets_the_next_tick(scene: &Scene) {
    let mut beat = Beat::new(scene, 0);
    beat.expect(0, &[0]);
    beat.expect(10, &[]);
    beat.interval.reset_after(scene.span(5));
    beat.expect(4, &[]);
    beat.expect(1, &[15]);
    beat.expect(29, &[]);
    beat.expect(1, &[45]);
}

fn reset_at_sets_the_next_tick(scene: &Scene) {
    let mut beat = Beat::new(scene, 0);
    beat.expect(0, &[0]);
    beat.expect(10, &[]);
    beat.interval.reset_at(scene.at(14));
    beat.expect(3, &[]);
    beat.expect(1, &[14]);
    // The next tick is more than a period away.
    beat.interval.reset_at(scene.at(114));
    beat.expect(30, &[]);
    beat.expect(30, &[]);
    beat.expect(39, &[]);
    beat.expect(1, &[114]);
    beat.expect(30, &[144]);
}

const POLICIES: [MissedTickBehavior; 3] =
    [MissedTickBehavior::Burst, MissedTickBehavior::Delay, MissedTickBehavior::Skip];

fn no_period_is_refused(scene: &Scene) {
    let task = scene.task();
    for behavior in POLICIES {
        let mut zero = scene.timers.interval(Duration::ZERO);
        zero.set_missed_tick_behavior(behavior);
        task.ready(pin!(poll_fn(|cx| zero.poll_tick(cx))));
        scene.advance(1);
        task.ready(pin!(poll_fn(|cx| zero.poll_tick(cx))));
        let mut long = scene.timers.interval(Duration::MAX);
        long.set_missed_tick_behavior(behavior);
        task.ready_at_once(pin!(poll_fn(|cx| long.poll_tick(cx))));
        task.pending(pin!(poll_fn(|cx| long.poll_tick(cx))));
    }
}

fn no_reset_is_refused(scene: &Scene) {
    let task = scene.task();
    for behavior in POLICIES {
        let mut long = scene.timers.interval(Duration::MAX);
        long.set_missed_tick_behavior(behavior);
        long.reset();
        task.pending(pin!(poll_fn(|cx| long.poll_tick(cx))));
        let mut beat = Beat::with(scene, behavior);
        beat.interval.reset_after(Duration::MAX);
        beat.expect(40, &[]);
        beat.interval.reset_immediately();
        task.ready(pin!(poll_fn(|cx| beat.interval.poll_tick(cx))));
    }
}

fn a_tick_that_is_there_registers_no_waker(scene: &Scene) {
    let (task, mut interval) = (scene.task(), scene.timers.interval(scene.span(10)));
    task.ready_at_once(pin!(poll_fn(|cx| interval.poll_tick(cx))));
    scene.advance(25);
    task.asleep();
    task.pending(pin!(poll_fn(|cx| {
        // The task takes a tick, and then waits for another event.
        assert!(interval.poll_tick(cx).is_ready());
        Poll::<()>::Pending
    })));
    scene.advance(20);
    task.asleep();
}

fn a_task_that_wakes_itself_gets_every_tick(scene: &Scene) {
    let (mut ticks, mut interval) = (0, scene.timers.interval(scene.span(10)));
    let mut fourth = poll_fn(|cx| {
        if interval.poll_tick(cx).is_pending() {
            return Poll::Pending;
        }
        ticks += 1;
        if ticks % 4 == 0 {
            return Poll::Ready(ticks);
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    });
    let mut taken = Vec::new();
    for _ in 0..3 {
        taken.push(scene.block_on(&mut fourth));
    }
    assert_eq!(taken, [4, 8, 12]);
    assert!(scene.timers.now() >= scene.at(110));
}
