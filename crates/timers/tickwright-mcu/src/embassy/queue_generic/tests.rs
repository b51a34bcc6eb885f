//! Tests the queue with a fixed number of timers, mainly what it does when it is full.

use super::*;
use crate::embassy::testing::{self, Task, Timers, tasks};

impl<const N: usize> Timers for ConstGenericQueue<N> {
    fn arm(&mut self, task: &Task, at: u64) -> bool {
        self.schedule_wake(at, &task.waker)
    }

    fn expire(&mut self, now: u64) -> u64 {
        let next = self.next_expiration(now);
        assert_eq!(self.order.check(&self.slots, self.len), Ok(()));
        next
    }
}

#[test]
fn it_wakes_in_order() {
    testing::wakes_in_order(ConstGenericQueue::<6>::new());
}

#[test]
fn the_earliest_deadline_of_a_task_counts() {
    testing::the_earliest_deadline_of_a_task_counts(ConstGenericQueue::<2>::new());
}

#[test]
fn never_blocks_no_later_timer() {
    testing::never_blocks_no_later_timer(ConstGenericQueue::<2>::new());
}

#[test]
fn a_missed_alarm_is_made_up_for() {
    testing::a_missed_alarm_is_made_up_for(ConstGenericQueue::<3>::new());
}

/// When Embassy's own queue was full, it woke the task at the end of its vector. This queue wakes
/// only the task that found no room, which tries again. All other tasks continue to sleep.
#[test]
fn a_full_queue_wakes_nobody_else_early() {
    let (tasks, log) = tasks(3);
    let mut queue = ConstGenericQueue::<2>::new();
    assert!(queue.arm(&tasks[0], 10));
    assert!(!queue.arm(&tasks[1], 20));
    for refused in 1..4 {
        assert!(!queue.arm(&tasks[2], 5));
        assert_eq!((queue.refused(), core::mem::take(&mut *log.lock().unwrap())), (refused, [2].into()));
    }
    assert!(queue.arm(&tasks[0], 8), "a task that has room keeps it");
    assert_eq!(queue.expire(8), 20);
    assert!(queue.arm(&tasks[2], 9));
    assert_eq!(queue.expire(30), u64::MAX);
    assert_eq!(*log.lock().unwrap(), [0, 2, 1]);
}
