//! Tests the queue whose timers are in the tasks, and the storage of these timers.

use std::vec::Vec;

use super::*;
use crate::embassy::testing::{self, Task, Timers, tasks};

impl Timers for Queue {
    fn arm(&mut self, task: &Task, at: u64) -> bool {
        self.schedule_wake_queue_item(at, task.item(), &task.waker)
    }

    fn expire(&mut self, now: u64) -> u64 {
        self.next_expiration(now)
    }
}

#[test]
fn zeros_are_an_idle_timer() {
    let (tasks, _) = tasks(1);
    assert!(size_of::<Item>() <= size_of::<TimerQueueItem>());
    // SAFETY: 1. the storage is all zeros; 2. nothing else refers to it yet.
    let timer: &Item = unsafe { tasks[0].item().as_ref() };
    assert!(!timer.is_linked() && timer.payload.take().is_none());
    let mut queue = Queue::new();
    assert!(queue.arm(&tasks[0], 1));
    assert_eq!((queue.timers.len(), queue.timers.check()), (1, Ok(())));
}

#[test]
fn it_wakes_in_order() {
    testing::wakes_in_order(Queue::new());
}

#[test]
fn the_earliest_deadline_of_a_task_counts() {
    testing::the_earliest_deadline_of_a_task_counts(Queue::new());
}

#[test]
fn never_blocks_no_later_timer() {
    testing::never_blocks_no_later_timer(Queue::new());
}

#[test]
fn a_missed_alarm_is_made_up_for() {
    testing::a_missed_alarm_is_made_up_for(Queue::new());
}

/// Embassy's mock driver resets itself by overwriting its queue with a new one.
#[test]
fn a_replaced_queue_gives_its_tasks_back() {
    let (tasks, log) = tasks(3);
    let mut queue = Queue::new();
    for _ in 0..3 {
        for task in &tasks {
            queue.arm(task, 10);
        }
        queue = Queue::new();
        assert_eq!(queue.expire(10), u64::MAX);
    }
    queue.arm(&tasks[1], 4);
    assert_eq!(queue.expire(4), u64::MAX);
    assert_eq!(core::mem::take(&mut *log.lock().unwrap()), [1]);
}

#[test]
fn a_task_that_sleeps_in_another_queue_is_not_lost() {
    let (tasks, log) = tasks(1);
    let (mut first, mut second) = (Queue::new(), Queue::new());
    assert!(first.arm(&tasks[0], 10));
    assert!(!second.arm(&tasks[0], 5), "it asks again, at once");
    assert_eq!(core::mem::take(&mut *log.lock().unwrap()), [0]);
    assert_eq!(first.expire(10), u64::MAX);
    assert!(second.arm(&tasks[0], 5));
    assert_eq!(second.expire(5), u64::MAX);
    let log: Vec<_> = core::mem::take(&mut *log.lock().unwrap());
    assert_eq!(log, [0, 0]);
}
