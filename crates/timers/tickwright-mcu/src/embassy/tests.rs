//! Runs the same scenarios with the queues of this crate and with the queues of
//! `embassy-time-queue-utils`. The scenarios test the promises of Embassy's mock driver, and bugs
//! that Embassy's queues and drivers had. If a queue of Embassy still fails a scenario, the test
//! names the issue and the wrong wake-ups.

use std::boxed::Box;
use std::vec::Vec;

use embassy_time_queue_utils::{queue_generic as their_generic, queue_integrated as their_integrated};

use crate::embassy::testing::driver::{Driver, Kind};
use crate::embassy::testing::{Task, Timers, agrees_with_an_oracle};
use crate::embassy::{queue_generic, queue_integrated};

impl Timers for their_integrated::Queue {
    fn arm(&mut self, task: &Task, at: u64) -> bool {
        self.schedule_wake_queue_item(at, task.item(), &task.waker)
    }

    fn expire(&mut self, now: u64) -> u64 {
        self.next_expiration(now)
    }
}

impl<const N: usize> Timers for their_generic::ConstGenericQueue<N> {
    fn arm(&mut self, task: &Task, at: u64) -> bool {
        self.schedule_wake(at, &task.waker)
    }

    fn expire(&mut self, now: u64) -> u64 {
        self.next_expiration(now)
    }
}

/// A kind of queue, from this crate or from Embassy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Which {
    OursInTasks,
    OursGeneric,
    TheirsInTasks,
    TheirsGeneric,
}

use Which::{OursGeneric, OursInTasks, TheirsGeneric, TheirsInTasks};

impl Which {
    const ALL: [Self; 4] = [OursInTasks, OursGeneric, TheirsInTasks, TheirsGeneric];

    /// Creates an empty queue. A generic queue has room for `N` timers.
    fn make<const N: usize>(self) -> Box<dyn Timers> {
        match self {
            OursInTasks => Box::new(queue_integrated::Queue::new()),
            OursGeneric => Box::new(queue_generic::ConstGenericQueue::<N>::new()),
            TheirsInTasks => Box::new(their_integrated::Queue::new()),
            TheirsGeneric => Box::new(their_generic::ConstGenericQueue::<N>::new()),
        }
    }

    fn is_ours(self) -> bool {
        matches!(self, OursInTasks | OursGeneric)
    }

    /// Sorts the tasks that one alarm wakes if `self` is a queue of Embassy, which, unlike this
    /// crate, promises no order among these tasks.
    fn in_promised_order(self, wakes: &[(u64, usize)]) -> Vec<(u64, usize)> {
        let mut wakes = wakes.to_vec();
        if !self.is_ours() {
            wakes.sort_unstable();
        }
        wakes
    }
}

/// A known failure of a scenario: the queue, the bug, and the wrong wake-ups.
type Known<'a> = (Which, &'a str, &'a [(u64, usize)]);

/// Runs a scenario with these queues, and compares the wake-ups with `right`. A known failure must
/// occur exactly as described. If Embassy fixes the bug, the test fails with a message that says
/// so.
fn expect(queues: &[Which], scenario: impl Fn(Which) -> Driver, right: &[(u64, usize)], known: &[Known<'_>]) {
    for &which in queues {
        let seen = which.in_promised_order(scenario(which).seen());
        let right = which.in_promised_order(right);
        match known.iter().find(|(failing, ..)| *failing == which) {
            None => assert_eq!(seen, right, "{which:?}"),
            Some((_, bug, wrong)) => {
                assert!(!which.is_ours(), "{which:?} may fail nothing");
                assert_ne!(seen, right, "{which:?}: {bug} is mended: expect the right wake-ups");
                assert_eq!(seen, which.in_promised_order(wrong), "{which:?}: {bug}");
            }
        }
    }
}

#[test]
fn the_mock_clock_moves_only_when_advanced() {
    let scenario = |which: Which| {
        let mut driver = Driver::new(Kind::Mock, which.make::<4>(), 1);
        assert_eq!(driver.now(), 0);
        driver.advance(1_000_000);
        assert_eq!(driver.now(), 1_000_000);
        driver.schedule_wake(0, 1_000_001);
        driver.advance(0);
        assert_eq!(driver.now(), 1_000_000);
        driver
    };
    expect(&Which::ALL, scenario, &[], &[]);
}

#[test]
fn a_timer_fires_at_its_tick_once() {
    for kind in [Kind::Mock, Kind::Hardware] {
        let scenario = |which: Which| {
            let mut driver = Driver::new(kind, which.make::<4>(), 1);
            driver.schedule_wake(0, 5);
            for ticks in [4, 1, 100] {
                driver.advance(ticks);
            }
            driver
        };
        expect(&Which::ALL, scenario, &[(5, 0)], &[]);
    }
}

#[test]
fn a_deadline_that_has_passed_fires_at_once() {
    for kind in [Kind::Mock, Kind::Hardware] {
        let scenario = |which: Which| {
            let mut driver = Driver::new(kind, which.make::<4>(), 3);
            driver.advance(100);
            for (task, at) in [(0, 99), (1, 100), (2, 101)] {
                driver.schedule_wake(task, at);
            }
            assert_eq!(driver.seen().len(), 2, "{which:?}: before the clock moves");
            driver.advance(1);
            driver
        };
        expect(&Which::ALL, scenario, &[(100, 0), (100, 1), (101, 2)], &[]);
    }
}

#[test]
fn one_long_advance_fires_all_that_are_due() {
    let scenario = |which: Which| {
        let mut driver = Driver::new(Kind::Mock, which.make::<6>(), 6);
        for (task, at) in [(0, 30), (1, 10), (2, 20), (3, 10), (4, 25), (5, 31)] {
            driver.schedule_wake(task, at);
        }
        driver.advance(30);
        driver
    };
    expect(&Which::ALL, scenario, &[(30, 1), (30, 3), (30, 2), (30, 4), (30, 0)], &[]);
}

/// Embassy's own integrated queue leaves the waker in the storage of each pending task. After the
/// reset the task's timer therefore still counts as pending, although the new queue does not
/// contain it.
#[test]
fn a_reset_forgets_the_timers_and_keeps_the_tasks() {
    let scenario = |which: Which| {
        let mut driver = Driver::new(Kind::Mock, which.make::<4>(), 2);
        driver.schedule_wake(0, 10);
        driver.schedule_wake(1, 20);
        driver.advance(5);
        driver.reset(which.make::<4>());
        assert_eq!(driver.now(), 0);
        driver.advance(100);
        assert_eq!(driver.seen(), [], "{which:?}: no timer is left");
        driver.schedule_wake(0, 110);
        driver.advance(10);
        driver
    };
    let lost = [(TheirsInTasks, "a timer after a reset is lost (it has no issue)", &[][..])];
    expect(&Which::ALL, scenario, &[(110, 0)], &lost);
}

/// `embassy-time-queue-utils` 0.3.1 fixed this bug. Up to 0.3.0 the timers at 20 and 15 were lost.
#[test]
fn never_blocks_no_later_timer_embassy_4736() {
    let scenario = |which: Which| {
        let mut driver = Driver::new(Kind::Hardware, which.make::<2>(), 2);
        for _ in 0..2 {
            driver.schedule_wake(0, u64::MAX);
            driver.advance(10);
            let now = driver.now();
            for (task, at) in [(0, now + 10), (0, u64::MAX), (1, now + 5), (1, u64::MAX)] {
                driver.schedule_wake(task, at);
            }
            driver.advance(10);
        }
        driver
    };
    expect(&Which::ALL, scenario, &[(15, 1), (20, 0), (35, 1), (40, 0)], &[]);
}

#[test]
fn never_takes_no_room() {
    let scenario = |which: Which| {
        let mut driver = Driver::new(Kind::Hardware, which.make::<2>(), 3);
        driver.schedule_wake(0, u64::MAX);
        driver.schedule_wake(1, u64::MAX);
        driver.schedule_wake(2, 10);
        driver.advance(20);
        driver
    };
    let early = [(TheirsGeneric, "a full queue wakes another task early", &[(0, 1), (10, 2)][..])];
    expect(&Which::ALL, scenario, &[(10, 2)], &early);
}

/// There is no room for the timer of task 2. Only task 2 is woken, and it tries again.
#[test]
fn a_full_queue_wakes_no_other_task() {
    let scenario = |which: Which| {
        let mut driver = Driver::new(Kind::Hardware, which.make::<2>(), 3);
        for (task, at) in [(0, 10), (1, 20), (2, 5)] {
            driver.schedule_wake(task, at);
        }
        driver.advance(30);
        driver
    };
    // Embassy's generic queue drops the timer of task 1 to make room.
    let early = [(TheirsGeneric, "a full queue wakes another task early", &[(0, 1), (5, 2), (10, 0)][..])];
    expect(&[OursGeneric, TheirsGeneric], scenario, &[(0, 2), (10, 0), (20, 1)], &early);
    expect(&[OursInTasks, TheirsInTasks], scenario, &[(5, 2), (10, 0), (20, 1)], &[]);
}

/// The driver's bug has no effect with a queue that returns true only if the armed timer is the
/// next timer to expire. Embassy's queues return true for each new timer, so a later timer delays
/// the alarm.
#[test]
fn a_later_timer_delays_no_alarm_esp_hal_4212() {
    let scenario = |kind| {
        move |which: Which| {
            let mut driver = Driver::new(kind, which.make::<3>(), 3);
            driver.schedule_wake(0, 100);
            driver.schedule_wake(1, 200);
            driver.schedule_wake(2, 150);
            driver.advance(300);
            driver
        }
    };
    let right = [(100, 0), (150, 2), (200, 1)];
    let late = &[(150, 0), (150, 2), (200, 1)][..];
    let bug = "esp-hal's issue 4212: the next alarm is overwritten";
    expect(
        &Which::ALL,
        scenario(Kind::Overwriting),
        &right,
        &[(TheirsInTasks, bug, late), (TheirsGeneric, bug, late)],
    );
    expect(&Which::ALL, scenario(Kind::Hardware), &right, &[]);
}

/// A driver that has lost its alarm wakes the missed tasks when `schedule_wake` of the queue next
/// returns true.
#[test]
fn a_lost_alarm_is_made_up_for_embassy_3758() {
    let scenario = |which: Which| {
        let mut driver = Driver::new(Kind::Hardware, which.make::<2>(), 2);
        driver.schedule_wake(0, 100);
        driver.lose_alarm();
        driver.advance(150);
        driver.schedule_wake(1, 90);
        driver.advance(100);
        driver
    };
    expect(&Which::ALL, scenario, &[(150, 1), (150, 0)], &[]);
}

/// A disadvantage of this crate's queues: `schedule_wake` returns false for a timer that is later
/// than the missed timer, so arming such a timer does not make up for a lost alarm. With Embassy's
/// queues, arming any new timer makes up for it.
#[test]
fn a_lost_alarm_waits_for_an_earlier_timer() {
    let scenario = |which: Which| {
        let mut driver = Driver::new(Kind::Hardware, which.make::<3>(), 3);
        driver.schedule_wake(0, 100);
        driver.lose_alarm();
        driver.advance(150);
        driver.schedule_wake(1, 300);
        driver.advance(200);
        driver.schedule_wake(2, 50);
        driver
    };
    expect(&[OursInTasks, OursGeneric], scenario, &[(350, 2), (350, 0), (350, 1)], &[]);
    expect(&[TheirsInTasks, TheirsGeneric], scenario, &[(150, 0), (300, 1), (350, 2)], &[]);
}

/// The scenarios do not favor this crate: Embassy's queues also agree with the oracle, except for
/// the order of the timers that one alarm wakes.
#[test]
fn all_queues_agree_with_an_oracle() {
    for which in Which::ALL {
        agrees_with_an_oracle(|| which.make::<24>(), which.is_ours());
    }
}

/// A queue whose alarms are late by up to a slack, as with [`Queue`](super::Queue) and the same
/// slack.
#[cfg(feature = "slack")]
struct Late<Q>(Q, u32);

#[cfg(feature = "slack")]
impl<Q: Timers> Timers for Late<Q> {
    fn arm(&mut self, task: &Task, at: u64) -> bool {
        self.0.arm(task, at)
    }

    fn expire(&mut self, now: u64) -> u64 {
        super::within(self.0.expire(now), self.1)
    }
}

/// Arms random timers with a hardware driver, and checks that no wake-up is early, late by more
/// than the slack, or lost. Returns how often the chip wakes.
#[cfg(feature = "slack")]
fn alarms_with_slack(queue: Box<dyn Timers>, slack: u64, seed: u64) -> usize {
    const TASKS: usize = 12;
    let mut random = tickwright_nodes::testing::Random::new(seed);
    let mut driver = Driver::new(Kind::Hardware, queue, TASKS);
    let mut asked = [None; TASKS];
    let mut checked = 0;
    for _ in 0..300 {
        let task = random.below(TASKS as u32) as usize;
        if asked[task].is_none() {
            let at = driver.now() + 1 + u64::from(random.below(200));
            asked[task] = Some(at);
            driver.schedule_wake(task, at);
        }
        driver.advance(random.below(20).into());
        for &(now, task) in &driver.seen()[checked..] {
            let at: u64 = asked[task].take().expect("a task is woken once");
            assert!(at <= now && now <= at + slack, "for {at}, at {now}");
        }
        checked = driver.seen().len();
        assert!(asked.iter().flatten().all(|at| at + slack >= driver.now()), "a timer is lost");
    }
    let mut times: Vec<u64> = driver.seen().iter().map(|&(now, _)| now).collect();
    times.dedup();
    times.len()
}

#[cfg(feature = "slack")]
#[test]
fn slack_makes_no_timer_early_and_none_later_than_it_says_embassy_5202() {
    for seed in 0..20 {
        let wakes = [0, 1, 10, 50].map(|slack| {
            let tasks =
                alarms_with_slack(Box::new(Late(queue_integrated::Queue::new(), slack)), slack.into(), seed);
            let slots = Late(queue_generic::ConstGenericQueue::<12>::new(), slack);
            assert_eq!(alarms_with_slack(Box::new(slots), slack.into(), seed), tasks);
            tasks
        });
        assert!(wakes.is_sorted_by(|more, less| more >= less) && wakes[3] * 2 < wakes[0], "{wakes:?}");
    }
}

/// A program can set the slack, although the time driver owns the queue.
#[cfg(all(feature = "slack", not(feature = "_generic-queue")))]
#[test]
fn the_slack_of_the_program_moves_the_alarm() {
    let (tasks, log) = crate::embassy::testing::tasks(2);
    let mut queue = super::Queue::new();
    let arm = |queue: &mut super::Queue, task: usize, at| {
        queue.0.schedule_wake_queue_item(at, tasks[task].item(), &tasks[task].waker)
    };
    super::set_slack(10);
    assert!(arm(&mut queue, 0, 100));
    assert_eq!(queue.next_expiration(0), 110);
    assert!(!arm(&mut queue, 1, 104));
    assert_eq!(queue.next_expiration(99), 110);
    assert_eq!(crate::embassy::testing::woken(&log), []);
    assert_eq!(queue.next_expiration(110), u64::MAX);
    assert_eq!(crate::embassy::testing::woken(&log), [0, 1]);
    assert!(arm(&mut queue, 0, u64::MAX - 3));
    assert_eq!(queue.next_expiration(120), u64::MAX - 1, "it is not never");
    super::set_slack(0);
    assert_eq!(queue.next_expiration(120), u64::MAX - 3);
}
