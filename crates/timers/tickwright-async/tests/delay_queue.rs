//! Tests of delay queues with a clock that stands still.

mod common;

use core::task::Poll;
use core::time::Duration;

use common::{Counter, ms};
use tickwright_async::delay_queue::{Expired, NotQueued};
use tickwright_async::{DelayQueue, TestClock, Timers};

/// A queue, its clock, and a task that waits for it.
struct Scene {
    clock: TestClock,
    timers: Timers,
    queue: DelayQueue<&'static str>,
    task: Counter,
}

impl Scene {
    fn new() -> Self {
        let clock = TestClock::new();
        let timers = clock.timers();
        Self { queue: timers.delay_queue(), clock, timers, task: Counter::new() }
    }

    fn poll(&mut self) -> Poll<Option<&'static str>> {
        self.queue.poll_expired(&mut self.task.context()).map(|taken| taken.map(Expired::into_inner))
    }

    fn advance(&self, milliseconds: u64) {
        self.clock.advance(ms(milliseconds));
    }
}

const NONE: Poll<Option<&str>> = Poll::Ready(None);

fn some(value: &'static str) -> Poll<Option<&'static str>> {
    Poll::Ready(Some(value))
}

#[test]
fn an_empty_queue_has_ended() {
    let mut scene = Scene::new();
    assert_eq!(scene.poll(), NONE);
    assert!(scene.queue.is_empty());
    assert_eq!((scene.queue.len(), scene.queue.peek()), (0, None));
}

#[test]
fn one_value_comes_at_its_time_and_once() {
    let mut scene = Scene::new();
    let at = scene.timers.now() + ms(5);
    let key = scene.queue.insert_at("egg", at);
    assert_eq!(scene.queue.deadline(&key), Some(at));
    assert_eq!(scene.poll(), Poll::Pending);
    scene.advance(4);
    assert_eq!((scene.task.count(), scene.poll()), (0, Poll::Pending));
    scene.advance(1);
    assert_eq!(scene.task.count(), 1);
    let expired = match scene.queue.poll_expired(&mut scene.task.context()) {
        Poll::Ready(Some(expired)) => expired,
        other => panic!("{other:?}"),
    };
    assert_eq!((*expired.get_ref(), expired.deadline(), expired.key()), ("egg", at, key));
    assert_eq!(scene.poll(), NONE);
    assert_eq!((scene.queue.deadline(&key), scene.queue.contains(&key)), (None, false));
}

#[test]
fn values_come_in_the_order_of_their_deadlines() {
    let mut scene = Scene::new();
    for (value, delay) in [("c", 250), ("a", 5), ("b", 240), ("e", 100_000), ("d", 251)] {
        scene.queue.insert(value, ms(delay));
    }
    assert_eq!(scene.poll(), Poll::Pending);
    scene.advance(5);
    assert_eq!((scene.poll(), scene.poll()), (some("a"), Poll::Pending));
    scene.advance(300);
    assert_eq!((scene.poll(), scene.poll(), scene.poll()), (some("b"), some("c"), some("d")));
    assert_eq!(scene.poll(), Poll::Pending);
    scene.advance(100_000);
    assert_eq!((scene.poll(), scene.poll()), (some("e"), NONE));
}

#[test]
fn equal_deadlines_come_in_the_order_of_their_inserts() {
    let mut scene = Scene::new();
    let at = scene.timers.now() + ms(70);
    for value in ["a", "b", "c"] {
        scene.queue.insert_at(value, at);
    }
    scene.advance(70);
    assert_eq!((scene.poll(), scene.poll(), scene.poll()), (some("a"), some("b"), some("c")));
}

#[test]
fn delays_at_and_around_the_widths_of_buckets_are_exact() {
    for delay in [1, 2, 63, 64, 65, 127, 128, 4095, 4096, 4097, 262_143, 262_144, 16_777_217] {
        let mut scene = Scene::new();
        scene.queue.insert("it", ms(delay));
        assert_eq!(scene.poll(), Poll::Pending);
        scene.advance(delay - 1);
        assert_eq!((scene.poll(), scene.task.count()), (Poll::Pending, 0), "{delay}");
        scene.advance(1);
        assert_eq!((scene.task.count(), scene.poll()), (1, some("it")), "{delay}");
    }
}

#[test]
fn no_delay_is_too_long() {
    let mut scene = Scene::new();
    for delay in [ms(1 << 36), ms((1 << 36) + 1), Duration::MAX] {
        let key = scene.queue.insert("far", delay);
        assert_eq!(scene.poll(), Poll::Pending);
        assert_eq!(scene.queue.reset(&key, Duration::MAX), Ok(()));
    }
    scene.queue.insert("near", ms(1));
    scene.advance(1);
    assert_eq!((scene.poll(), scene.poll()), (some("near"), Poll::Pending));
}

#[test]
fn a_removed_value_does_not_come() {
    let mut scene = Scene::new();
    let egg = scene.queue.insert("egg", ms(5));
    let tea = scene.queue.insert("tea", ms(9));
    assert_eq!(scene.poll(), Poll::Pending);
    assert_eq!(scene.queue.remove(&egg).map(Expired::into_inner), Ok("egg"));
    assert_eq!(scene.queue.remove(&egg), Err(NotQueued));
    assert!(NotQueued.to_string().contains("insert it again"));
    assert_eq!(scene.queue.try_remove(&egg), None);
    scene.advance(8);
    assert_eq!(scene.poll(), Poll::Pending);
    scene.advance(1);
    assert_eq!((scene.poll(), scene.poll()), (some("tea"), NONE));
    assert_eq!(scene.queue.try_remove(&tea), None, "it has expired");
}

#[test]
fn a_value_that_is_due_can_be_removed_before_it_is_taken() {
    let mut scene = Scene::new();
    let (a, b) = (scene.queue.insert("a", ms(5)), scene.queue.insert("b", ms(5)));
    let past = scene.timers.now();
    let c = scene.queue.insert_at("c", past);
    scene.advance(10);
    assert_eq!(scene.queue.remove(&a).map(Expired::into_inner), Ok("a"));
    assert_eq!(scene.queue.try_remove(&c).map(Expired::into_inner), Some("c"));
    assert_eq!((scene.poll(), scene.poll()), (some("b"), NONE));
    assert_eq!(scene.queue.reset(&b, ms(5)), Err(NotQueued));
}

#[test]
fn clear_wakes_the_task() {
    let mut scene = Scene::new();
    let key = scene.queue.insert("egg", ms(500));
    assert_eq!(scene.poll(), Poll::Pending);
    scene.queue.clear();
    assert_eq!((scene.task.count(), scene.poll()), (1, NONE));
    assert_eq!((scene.queue.len(), scene.queue.deadline(&key)), (0, None));
    scene.queue.clear();
    scene.queue.insert("tea", ms(1));
    assert_eq!(scene.poll(), Poll::Pending);
    scene.advance(1);
    assert_eq!(scene.poll(), some("tea"));
}

#[test]
fn a_reset_moves_a_value_to_and_fro() {
    let mut scene = Scene::new();
    let key = scene.queue.insert("egg", ms(5));
    assert_eq!(scene.poll(), Poll::Pending);
    assert_eq!(scene.queue.reset(&key, ms(10)), Ok(()));
    scene.advance(7);
    assert_eq!((scene.task.count(), scene.poll()), (0, Poll::Pending));
    assert_eq!(scene.queue.reset(&key, ms(1)), Ok(()));
    scene.advance(1);
    assert_eq!((scene.task.count(), scene.poll()), (1, some("egg")));
    assert_eq!(scene.queue.reset(&key, ms(1)), Err(NotQueued));
}

#[test]
fn a_reset_of_the_first_value_gives_way_to_the_second() {
    let mut scene = Scene::new();
    let first = scene.queue.insert("first", ms(10));
    let second = scene.queue.insert("second", ms(20));
    assert_eq!(scene.poll(), Poll::Pending);
    assert_eq!(scene.queue.peek(), Some(first));
    assert_eq!(scene.queue.reset(&first, ms(30)), Ok(()));
    assert_eq!(scene.queue.peek(), Some(second));
    scene.advance(20);
    assert_eq!((scene.task.count(), scene.poll(), scene.poll()), (1, some("second"), Poll::Pending));
    scene.advance(10);
    assert_eq!(scene.poll(), some("first"));
}

#[test]
fn a_value_that_is_due_but_not_taken_can_be_reset() {
    let mut scene = Scene::new();
    let key = scene.queue.insert("egg", ms(5));
    scene.advance(20);
    assert_eq!(scene.queue.reset(&key, ms(5)), Ok(()));
    assert_eq!(scene.poll(), Poll::Pending);
    scene.advance(5);
    assert_eq!(scene.poll(), some("egg"));
}

#[test]
fn an_insert_into_a_queue_that_has_ended_wakes_the_task() {
    let mut scene = Scene::new();
    assert_eq!(scene.poll(), NONE);
    scene.queue.insert("egg", ms(5));
    assert_eq!((scene.task.count(), scene.poll()), (1, Poll::Pending));
}

#[test]
fn an_insert_after_the_first_wakes_nobody() {
    let mut scene = Scene::new();
    scene.queue.insert("first", ms(5));
    assert_eq!(scene.poll(), Poll::Pending);
    scene.queue.insert("second", ms(6));
    scene.advance(4);
    assert_eq!(scene.task.count(), 0);
    scene.advance(2);
    assert_eq!((scene.poll(), scene.poll(), scene.poll()), (some("first"), some("second"), NONE));
}

#[test]
fn another_task_takes_over() {
    let mut scene = Scene::new();
    scene.queue.insert("egg", ms(5));
    assert_eq!(scene.poll(), Poll::Pending);
    let other = Counter::new();
    assert!(scene.queue.poll_expired(&mut other.context()).is_pending());
    scene.advance(5);
    assert_eq!((scene.task.count(), other.count()), (0, 1));
}

#[test]
fn keys_are_stale_for_ever_also_when_the_memory_is_given_back() {
    let mut scene = Scene::new();
    let old = scene.queue.insert("old", ms(5));
    scene.queue.reserve(100);
    scene.queue.shrink_to_fit();
    assert!(scene.queue.contains(&old), "nothing is given back while a value is in it");
    scene.queue.try_remove(&old);
    scene.queue.compact();
    let new = scene.queue.insert("new", ms(5));
    assert_ne!(old, new);
    assert_eq!(scene.queue.try_remove(&old), None);
    scene.advance(5);
    assert_eq!(scene.poll(), some("new"));
}

#[test]
fn a_queue_without_a_handle_uses_the_timers_that_were_entered() {
    let clock = TestClock::new();
    let _entered = clock.timers().enter();
    let (task, mut queue) = (Counter::new(), DelayQueue::with_capacity(2));
    queue.insert(1, ms(5));
    assert!(queue.poll_expired(&mut task.context()).is_pending());
    clock.advance(ms(5));
    assert_eq!(task.count(), 1);
    assert!(DelayQueue::<u8>::default().is_empty());
}

#[test]
fn values_of_any_type_are_dropped_with_the_queue() {
    let clock = TestClock::new();
    let counted = std::rc::Rc::new(());
    let mut queue = clock.timers().delay_queue();
    queue.insert(std::rc::Rc::clone(&counted), ms(5));
    drop(queue);
    assert_eq!(std::rc::Rc::strong_count(&counted), 1);
}

#[test]
fn a_thousand_random_operations_agree_with_a_list() {
    let mut scene = Scene::new();
    let mut random = 1_u64;
    let mut next = move |below: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % below
    };
    let mut list = Vec::new();
    let (mut now, mut taken) = (0, 0);
    for number in 0..3000_u64 {
        match next(8) {
            0..3 => {
                let delay = next(500);
                list.push((now + delay, number, scene.queue.insert("", ms(delay))));
            }
            3 if !list.is_empty() => {
                let at = next(list.len() as u64) as usize;
                let (_, _, key) = list.remove(at);
                assert!(scene.queue.try_remove(&key).is_some());
            }
            4 if !list.is_empty() => {
                let at = next(list.len() as u64) as usize;
                let delay = next(500);
                assert_eq!(scene.queue.reset(&list[at].2, ms(delay)), Ok(()));
                let (_, _, key) = list.remove(at);
                list.push((now + delay, number, key));
            }
            5 => {
                let span = next(30);
                scene.advance(span);
                now += span;
            }
            _ => {
                let first = list.iter().min_by_key(|(due, _, _)| *due).copied();
                match scene.queue.poll_expired(&mut scene.task.context()) {
                    Poll::Ready(Some(expired)) => {
                        let at = list.iter().position(|(_, _, key)| *key == expired.key()).unwrap();
                        let (due, _, _) = list.remove(at);
                        assert!(due <= now, "not early");
                        taken += 1;
                    }
                    Poll::Ready(None) => assert!(list.is_empty()),
                    Poll::Pending => assert!(first.is_some_and(|(due, _, _)| due > now), "none is kept"),
                }
            }
        }
        assert_eq!(scene.queue.len(), list.len());
    }
    assert!(taken > 300, "{taken}");
}
