//! Tests of keys, `peek` and memory.

use core::time::Duration;

use tickwright_async::delay_queue::{Key, NotQueued};

use super::Line;
use crate::scene::Scene;

crate::behaviours! {
    every_driver: peek_names_the_next_value, memory_is_given_back_when_the_queue_is_empty,
        compact_keeps_the_keys_of_values, stale_keys_are_refused_also_after_compact,
        keys_serve_again_after_a_removal;
    virtual_time:
}

fn peek_names_the_next_value(scene: &Scene) {
    let mut line = Line::new(scene);
    // Both deadlines are in the same bucket. The value with the later deadline is inserted first.
    let late = line.insert("late", 40);
    let (now, early) = (line.insert("now", 0), line.insert("early", 35));
    assert_eq!(line.queue.peek(), Some(now));
    scene.advance(36);
    assert_eq!(line.queue.peek(), Some(now), "due, and not taken yet");
    line.takes("now");
    assert_eq!(line.queue.peek(), Some(early));
    line.takes("early");
    assert_eq!(line.queue.peek(), Some(late));
    line.pending();
    scene.advance(4);
    line.task.woken();
    assert_eq!(line.queue.peek(), Some(late));
    line.takes("late");
    assert_eq!(line.queue.peek(), None);
}

fn memory_is_given_back_when_the_queue_is_empty(scene: &Scene) {
    let mut line = Line::new(scene);
    line.queue.reserve(100);
    line.insert("egg", 5);
    line.insert("tea", 5);
    scene.advance(5);
    line.takes("egg");
    line.takes("tea");
    line.queue.compact();
    line.ends();
    let (egg, tea) = (line.insert("egg", 10), line.insert("tea", 10));
    assert_eq!((line.remove(&egg), line.remove(&tea)), (Some("egg"), Some("tea")));
    line.queue.shrink_to_fit();
    line.ends();
    line.insert("again", 15);
    line.pending();
    scene.advance(10);
    line.task.woken();
    line.takes("again");
    line.ends();
}

fn compact_keeps_the_keys_of_values(scene: &Scene) {
    let mut line = Line::new(scene);
    line.insert("1", 10);
    line.insert("2", 10);
    let (third, fourth) = (line.insert("3", 20), line.insert("4", 20));
    scene.advance(10);
    line.takes("1");
    line.takes("2");
    line.queue.compact();
    let (fifth, sixth) = (line.insert("5", 20), line.insert("6", 20));
    line.reset(&fourth, 30);
    line.reset(&sixth, 31);
    line.pending();
    scene.advance(9);
    line.task.asleep();
    assert_eq!(line.remove(&third), Some("3"));
    line.queue.compact();
    scene.advance(1);
    line.task.woken();
    assert_eq!(line.takes("5"), fifth);
    scene.advance(11);
    assert_eq!((line.takes("4"), line.takes("6")), (fourth, sixth));
    line.ends();
}

fn stale_keys_are_refused_also_after_compact(scene: &Scene) {
    let mut line = Line::new(scene);
    let (egg, tea) = (line.insert("egg", 10), line.insert("tea", 20));
    assert_eq!(line.remove(&egg), Some("egg"));
    line.queue.compact();
    scene.advance(20);
    assert_eq!(line.takes("tea"), tea);
    line.queue.compact();
    for key in [egg, tea] {
        assert!(!line.queue.contains(&key));
        assert_eq!(line.queue.remove(&key), Err(NotQueued));
        assert_eq!(line.queue.reset(&key, Duration::ZERO), Err(NotQueued));
        assert_eq!(line.queue.deadline(&key), None);
    }
    line.ends();
}

fn keys_serve_again_after_a_removal(scene: &Scene) {
    let mut line = Line::new(scene);
    let mut before: Option<Key> = None;
    for round in 1..=5 {
        let key = line.insert("egg", round * 5);
        assert!(before.is_none_or(|before| before != key && !line.queue.contains(&before)));
        line.pending();
        scene.advance(5);
        line.task.woken();
        if round % 2 == 0 {
            assert_eq!(line.remove(&key), Some("egg"));
        } else {
            assert_eq!(line.takes("egg"), key);
        }
        line.ends();
        before = Some(key);
    }
}
