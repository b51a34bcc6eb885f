//! Tests of delay queues: which values come out and when, and what wakes the task.

mod keys;

use core::future::poll_fn;
use core::pin::pin;
use core::time::Duration;
use std::time::Instant;

use tickwright_async::DelayQueue;
use tickwright_async::delay_queue::Key;

use crate::scene::{Scene, Task};

crate::behaviours! {
    every_driver: values_whose_delay_is_over_come_at_once, one_value_comes_at_its_time,
        an_insert_into_the_past_wakes_the_task, a_removed_value_does_not_come,
        a_value_that_is_due_is_removed, a_reset_moves_a_value_to_and_fro,
        a_reset_to_the_past_wakes_the_task, resets_of_two_values_cross,
        an_earlier_reset_of_either_value_wakes_earlier, a_later_reset_of_the_first_lets_the_second_go,
        a_value_that_was_inserted_as_due_is_reset, an_earlier_insert_wakes_earlier,
        inserts_between_two_takes_lose_nothing, the_end_wakes_the_task;
    virtual_time: values_come_at_their_milliseconds_and_at_no_other, a_reset_within_a_bucket_is_exact,
        a_queue_of_years_goes_on
}

/// A queue and the task that waits for its values.
struct Line<'a> {
    scene: &'a Scene,
    task: Task<'a>,
    queue: DelayQueue<&'static str>,
}

impl<'a> Line<'a> {
    fn new(scene: &'a Scene) -> Self {
        Self { scene, task: scene.task(), queue: scene.timers.delay_queue() }
    }

    /// Inserts a value that is due `n` units after the start.
    fn insert(&mut self, value: &'static str, n: u32) -> Key {
        self.queue.insert_at(value, self.scene.at(n))
    }

    fn reset(&mut self, key: &Key, n: u32) {
        assert_eq!(self.queue.reset_at(key, self.scene.at(n)), Ok(()));
    }

    fn remove(&mut self, key: &Key) -> Option<&'static str> {
        self.queue.try_remove(key).map(|removed| removed.into_inner())
    }

    /// Returns an instant that has passed.
    fn past(&self) -> Instant {
        self.scene.at(0) - Duration::from_millis(100)
    }

    #[track_caller]
    fn pending(&mut self) {
        self.task.pending(pin!(poll_fn(|cx| self.queue.poll_expired(cx))));
    }

    /// Requires that no value is due. After a removal or a reset, the queue has only a lower bound
    /// of its next deadline, so the task is possibly woken too early.
    #[track_caller]
    fn still_pending(&mut self) {
        self.pending();
        self.task.forget();
    }

    /// Requires that this value comes out.
    #[track_caller]
    fn takes(&mut self, value: &str) -> Key {
        let taken = self.task.ready(pin!(poll_fn(|cx| self.queue.poll_expired(cx))));
        let taken = taken.expect("a value");
        self.scene.require(*taken.get_ref() == value, &format!("{taken:?} and not {value}"));
        assert!(taken.deadline() <= self.scene.timers.now(), "early");
        taken.key()
    }

    /// Requires that the queue is empty.
    #[track_caller]
    fn ends(&mut self) {
        let taken = self.task.ready_at_once(pin!(poll_fn(|cx| self.queue.poll_expired(cx))));
        assert_eq!((taken, self.queue.len()), (None, 0));
    }
}

fn values_whose_delay_is_over_come_at_once(scene: &Scene) {
    let mut line = Line::new(scene);
    scene.advance(10);
    for (value, at) in [("c", 10), ("b", 9), ("a", 0)] {
        line.insert(value, at);
    }
    assert_eq!(line.queue.len(), 3);
    line.takes("a");
    line.takes("b");
    line.takes("c");
    line.ends();
    line.insert("d", 5);
    line.takes("d");
    line.ends();
}

fn one_value_comes_at_its_time(scene: &Scene) {
    let mut line = Line::new(scene);
    let key = line.insert("egg", 5);
    assert_eq!(line.queue.deadline(&key), Some(scene.at(5)));
    line.pending();
    scene.advance(4);
    line.task.asleep();
    scene.advance(1);
    line.task.woken();
    assert_eq!(line.takes("egg"), key);
    line.ends();
}

fn values_come_at_their_milliseconds_and_at_no_other(scene: &Scene) {
    const DELAYS: [(&str, u32); 6] =
        [("1000", 1000), ("2", 2), ("234", 234), ("300000", 300_000), ("60", 60), ("10", 10)];
    let mut line = Line::new(scene);
    for (value, delay) in DELAYS {
        line.insert(value, delay);
    }
    line.pending();
    for elapsed in 1..=1200 {
        scene.advance(1);
        match DELAYS.iter().find(|(_, delay)| *delay == elapsed) {
            Some((value, _)) => {
                line.task.woken();
                line.takes(value);
                line.pending();
            }
            None => line.task.asleep(),
        }
    }
    scene.advance(300_000 - 1200);
    line.task.woken();
    line.takes("300000");
    line.ends();
}

fn an_insert_into_the_past_wakes_the_task(scene: &Scene) {
    let mut line = Line::new(scene);
    line.insert("later", 200);
    line.pending();
    scene.advance(20);
    line.task.asleep();
    line.insert("past", 10);
    line.task.woken();
    line.takes("past");
    line.pending();
}

fn a_removed_value_does_not_come(scene: &Scene) {
    let mut line = Line::new(scene);
    let key = line.insert("egg", 5);
    line.pending();
    assert_eq!(line.remove(&key), Some("egg"));
    scene.advance(10);
    line.ends();
}

fn a_value_that_is_due_is_removed(scene: &Scene) {
    let mut line = Line::new(scene);
    let (egg, tea) = (line.insert("egg", 64), line.insert("tea", 64));
    scene.advance(70);
    assert_eq!(line.takes("egg"), egg);
    assert_eq!(line.remove(&tea), Some("tea"), "at the first tick of a bucket");
    let past = line.insert("past", 10);
    assert_eq!(line.remove(&past), Some("past"));
    line.ends();
}

fn a_reset_moves_a_value_to_and_fro(scene: &Scene) {
    let mut line = Line::new(scene);
    let key = line.insert("egg", 5);
    line.pending();
    scene.advance(1);
    line.reset(&key, 10);
    line.pending();
    scene.advance(8);
    line.task.asleep();
    line.pending();
    scene.advance(1);
    line.task.woken();
    line.takes("egg");
    line.ends();
    // The value is moved twice to an earlier instant, without a poll in between.
    let key = line.insert("tea", 200);
    line.pending();
    scene.advance(3);
    line.reset(&key, 50);
    scene.advance(10);
    line.reset(&key, 40);
    scene.advance(16);
    line.still_pending();
    scene.advance(1);
    line.task.woken();
    line.takes("tea");
}

fn a_reset_to_the_past_wakes_the_task(scene: &Scene) {
    for is_alone in [true, false] {
        let mut line = Line::new(scene);
        let key = line.insert("egg", 100_000);
        if !is_alone {
            line.insert("tea", 90_000);
        }
        line.pending();
        line.task.asleep();
        assert_eq!(line.queue.reset_at(&key, line.past()), Ok(()));
        line.task.woken();
        line.takes("egg");
    }
}

fn resets_of_two_values_cross(scene: &Scene) {
    let mut line = Line::new(scene);
    let (one, two) = (line.insert("one", 20), line.insert("two", 25));
    line.pending();
    line.reset(&one, 30);
    line.reset(&two, 35);
    line.reset(&one, 40);
    scene.advance(34);
    line.still_pending();
    scene.advance(1);
    line.task.woken();
    line.takes("two");
    line.pending();
    scene.advance(5);
    line.task.woken();
    line.takes("one");
    line.ends();
}

fn an_earlier_reset_of_either_value_wakes_earlier(scene: &Scene) {
    for which in 0..2 {
        let scene = &scene.another();
        let mut line = Line::new(scene);
        let keys = [line.insert("one", 200), line.insert("two", 250)];
        line.pending();
        line.reset(&keys[which], 10);
        scene.advance(9);
        line.task.asleep();
        scene.advance(1);
        line.task.woken();
        line.takes(["one", "two"][which]);
        line.pending();
    }
}

fn a_later_reset_of_the_first_lets_the_second_go(scene: &Scene) {
    let mut line = Line::new(scene);
    let one = line.insert("one", 20);
    line.insert("two", 25);
    line.pending();
    line.reset(&one, 30);
    scene.advance(24);
    line.still_pending();
    scene.advance(1);
    line.task.woken();
    line.takes("two");
    line.pending();
    scene.advance(5);
    line.task.woken();
    line.takes("one");
    line.ends();
}

fn a_value_that_was_inserted_as_due_is_reset(scene: &Scene) {
    let mut line = Line::new(scene);
    let past = line.past();
    let key = line.queue.insert_at("egg", past);
    line.reset(&key, 100);
    line.reset(&key, 20);
    assert_eq!(line.queue.len(), 1);
    line.pending();
    scene.advance(19);
    line.task.asleep();
    scene.advance(1);
    line.task.woken();
    line.takes("egg");
    line.ends();
}

fn a_reset_within_a_bucket_is_exact(scene: &Scene) {
    for first in [100, 200] {
        let scene = &scene.another();
        let mut line = Line::new(scene);
        let key = line.insert("egg", first);
        line.pending();
        scene.advance(80);
        line.task.asleep();
        line.reset(&key, 120);
        scene.advance(39);
        line.task.asleep();
        line.pending();
        scene.advance(1);
        line.task.woken();
        line.takes("egg");
    }
}

fn an_earlier_insert_wakes_earlier(scene: &Scene) {
    let mut line = Line::new(scene);
    line.insert("later", 10_000);
    line.pending();
    line.insert("sooner", 60);
    line.pending();
    line.insert("soonest", 20);
    scene.advance(19);
    line.task.asleep();
    scene.advance(1);
    line.task.woken();
    line.takes("soonest");
    line.pending();
    scene.advance(40);
    line.task.woken();
    line.takes("sooner");
    line.pending();
}

fn inserts_between_two_takes_lose_nothing(scene: &Scene) {
    let mut line = Line::new(scene);
    for value in ["1", "2", "3"] {
        line.insert(value, 10);
    }
    line.pending();
    scene.advance(10);
    line.task.woken();
    for value in ["1", "2", "3"] {
        line.takes(value);
        line.insert("again", 50);
    }
    line.pending();
    assert_eq!(line.queue.len(), 3);
    scene.advance(40);
    line.task.woken();
    for _ in 0..3 {
        line.takes("again");
    }
    line.ends();
}

fn the_end_wakes_the_task(scene: &Scene) {
    for by_clear in [false, true] {
        let mut line = Line::new(scene);
        let key = line.insert("egg", 1000);
        line.insert("tea", 2000);
        line.pending();
        let far = line.queue.insert("far", Duration::from_secs(3600));
        line.task.asleep();
        if by_clear {
            line.queue.clear();
        } else {
            line.remove(&key);
            line.remove(&far);
            line.task.asleep();
            let last = line.queue.peek().expect("tea is left");
            line.remove(&last);
        }
        line.task.woken();
        line.ends();
    }
}

fn a_queue_of_years_goes_on(scene: &Scene) {
    let (task, mut queue) = (scene.task(), scene.timers.delay_queue());
    for _ in 0..2 {
        scene.advance_by(Duration::from_millis(1 << 35));
        queue.insert(0, Duration::ZERO);
        task.ready(pin!(poll_fn(|cx| queue.poll_expired(cx))));
    }
    for delay in [Duration::from_millis(1 << 36), Duration::MAX] {
        queue.insert(2, delay);
        task.pending(pin!(poll_fn(|cx| queue.poll_expired(cx))));
    }
    queue.insert(1, Duration::from_millis(1));
    scene.advance(1);
    task.woken();
    let taken = task.ready(pin!(poll_fn(|cx| queue.poll_expired(cx))));
    assert_eq!(taken.map(|taken| taken.into_inner()), Some(1));
}
