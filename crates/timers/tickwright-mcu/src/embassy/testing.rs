//! Code that the tests of all queues share: tasks that log their wake-ups, drivers, and scenarios
//! that a queue must pass.

pub(crate) mod driver;

use core::task::Waker;
use std::boxed::Box;
use std::sync::{Arc, Mutex};
use std::task::Wake;
use std::vec::Vec;

use embassy_executor_timer_queue::TimerQueueItem;
use tickwright_nodes::testing::Random;

/// The numbers of the tasks that were woken, in order.
pub(crate) type Log = Arc<Mutex<Vec<usize>>>;

/// A task, which has a number, a waker, and the same storage as a task of Embassy's executor.
pub(crate) struct Task {
    pub(crate) waker: Waker,
    item: *mut TimerQueueItem,
}

struct Woken {
    task: usize,
    log: Log,
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.log.lock().unwrap().push(self.task);
    }
}

impl Task {
    /// Returns the task's storage. Test code must not store the reference.
    pub(crate) fn item(&self) -> &'static mut TimerQueueItem {
        // SAFETY: 1. the storage was leaked, so it is static; 2. the callers pass it to a queue at
        // once.
        unsafe { &mut *self.item }
    }
}

/// Creates `n` tasks, and the log of their wake-ups.
pub(crate) fn tasks(n: usize) -> (Vec<Task>, Log) {
    let log = Log::default();
    let task = |task| Task {
        waker: Waker::from(Arc::new(Woken { task, log: Arc::clone(&log) })),
        item: Box::leak(Box::new(TimerQueueItem::new())),
    };
    ((0..n).map(task).collect(), log)
}

/// Replaces a function of the executor, because the linker needs it. No test calls this function.
/// The test program on an emulated microcontroller calls the executor's own function.
#[unsafe(no_mangle)]
extern "Rust" fn __embassy_time_queue_item_from_waker(_: &Waker) -> &'static mut TimerQueueItem {
    unreachable!("the tests have no executor")
}

/// A queue, with operations on [`Task`]s.
pub(crate) trait Timers {
    /// Arms the timer of a task.
    fn arm(&mut self, task: &Task, at: u64) -> bool;
    /// Wakes the tasks that are due, and returns the next alarm.
    fn expire(&mut self, now: u64) -> u64;
}

pub(crate) fn woken(log: &Log) -> Vec<usize> {
    core::mem::take(&mut *log.lock().unwrap())
}

/// Checks that each timer fires once, in the order of the deadlines, and that timers with equal
/// deadlines fire in the order in which they were armed.
pub(crate) fn wakes_in_order(mut queue: impl Timers) {
    let (tasks, log) = tasks(6);
    for (task, at) in [(0, 30), (1, 10), (2, 20), (3, 10), (4, 0), (5, 20)] {
        queue.arm(&tasks[task], at);
    }
    assert_eq!((queue.expire(0), woken(&log)), (10, [4].to_vec()));
    assert_eq!((queue.expire(9), woken(&log)), (10, [].to_vec()), "none is early");
    assert_eq!((queue.expire(25), woken(&log)), (30, [1, 3, 2, 5].to_vec()));
    assert_eq!((queue.expire(30), woken(&log)), (u64::MAX, [0].to_vec()));
    for (task, at) in [(5, 29), (4, 3)] {
        queue.arm(&tasks[task], at);
    }
    assert_eq!((queue.expire(30), woken(&log)), (u64::MAX, [5, 4].to_vec()), "what has passed is due now");
    assert_eq!((queue.expire(u64::MAX), woken(&log)), (u64::MAX, [].to_vec()), "none comes twice");
}

/// Checks that a waker has only one deadline, which is the earliest.
pub(crate) fn the_earliest_deadline_of_a_task_counts(mut queue: impl Timers) {
    let (tasks, log) = tasks(2);
    assert!(queue.arm(&tasks[0], 50));
    assert!(!queue.arm(&tasks[0], 60), "it is woken before that, and asks again");
    assert!(!queue.arm(&tasks[0], 50));
    assert!(queue.arm(&tasks[0], 40));
    assert!(!queue.arm(&tasks[1], 45));
    assert_eq!((queue.expire(40), woken(&log)), (45, [0].to_vec()));
    assert_eq!((queue.expire(60), woken(&log)), (u64::MAX, [1].to_vec()));
}

/// Checks that a queue does not have the bug of Embassy's issue 4736: after a timer with the
/// deadline "never", the next timer of the same task was lost.
pub(crate) fn never_blocks_no_later_timer(mut queue: impl Timers) {
    let (tasks, log) = tasks(2);
    for now in [0, 10, 20] {
        assert!(!queue.arm(&tasks[0], u64::MAX));
        assert_eq!(queue.expire(now), u64::MAX);
        assert!(queue.arm(&tasks[0], now + 10));
        assert!(!queue.arm(&tasks[0], u64::MAX), "and leaves the pending one alone");
        assert!(queue.arm(&tasks[1], now + 5));
        assert!(!queue.arm(&tasks[1], u64::MAX));
        assert_eq!((queue.expire(now + 10), woken(&log)), (u64::MAX, [1, 0].to_vec()));
    }
}

/// In Embassy's issue 3758 and esp-hal's pull request 4212, a driver lost or overwrote an alarm.
/// Timers are not late if the queue reports each change of the next alarm, and if a later call
/// finds the timers of a missed alarm.
pub(crate) fn a_missed_alarm_is_made_up_for(mut queue: impl Timers) {
    let (tasks, log) = tasks(3);
    assert!(queue.arm(&tasks[0], 100));
    assert_eq!(queue.expire(50), 100);
    // The alarm for tick 80 overwrites the alarm for tick 100. Both timers must fire.
    assert!(queue.arm(&tasks[1], 80));
    assert_eq!((queue.expire(81), woken(&log)), (100, [1].to_vec()));
    // The driver misses the alarm for tick 100. After that, a timer is armed whose deadline has
    // already passed.
    assert!(queue.arm(&tasks[2], 90));
    assert_eq!((queue.expire(500), woken(&log)), (u64::MAX, [2, 0].to_vec()));
}

/// Runs random operations on a queue, and compares the queue with a vector that is searched
/// linearly. `is_ordered` tells whether the queue promises an order among timers that one alarm
/// wakes.
pub(crate) fn agrees_with_an_oracle(mut make: impl FnMut() -> Box<dyn Timers>, is_ordered: bool) {
    const TASKS: usize = 24;
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let (tasks, log) = tasks(TASKS);
        let mut queue = make();
        // The task and the deadline of each pending timer, in the order in which the timers were
        // armed.
        let mut pending: Vec<(usize, u64)> = Vec::new();
        let mut now = 0;
        for _ in 0..400 {
            let alarm = pending.iter().map(|&(_, at)| at).min().unwrap_or(u64::MAX);
            let task = random.below(TASKS as u32) as usize;
            let at = match random.below(8) {
                0 => u64::MAX,
                1 => now,
                _ => now + u64::from(random.below(40)),
            };
            if random.below(3) > 0 {
                let reported = queue.arm(&tasks[task], at);
                match pending.iter().position(|&(other, _)| other == task) {
                    Some(place) if at < pending[place].1 => {
                        pending.remove(place);
                        pending.push((task, at));
                    }
                    None if at < u64::MAX => pending.push((task, at)),
                    _ => {}
                }
                let changed = pending.iter().map(|&(_, at)| at).min().unwrap_or(u64::MAX) != alarm;
                assert!(reported || !changed, "a change of the next alarm is reported");
            } else {
                now += u64::from(random.below(12));
                let next = queue.expire(now);
                let mut due: Vec<_> = pending.iter().copied().filter(|&(_, at)| at <= now).collect();
                due.sort_by_key(|&(_, at)| at);
                pending.retain(|&(_, at)| at > now);
                let mut expected: Vec<_> = due.into_iter().map(|(task, _)| task).collect();
                let mut found = woken(&log);
                if !is_ordered {
                    expected.sort_unstable();
                    found.sort_unstable();
                }
                assert_eq!(found, expected);
                assert_eq!(next, pending.iter().map(|&(_, at)| at).min().unwrap_or(u64::MAX));
            }
        }
    }
}
