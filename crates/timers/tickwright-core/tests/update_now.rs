//! Tests `insert_at`, `reschedule_at` and `update_now`: a timer in a coarse wheel is late by at
//! most 8/63 of its delay or one tick. The delay is counted from the caller's time, however long
//! the program has run or slept.

#![cfg(feature = "alloc")]

use core::cell::Cell;

use tickwright_core::{
    CoarseWheel, DaryHeap, Expired, HookQueue, KeyError, Order, Reject, SlabQueue, Timer, TimerQueue, Wheel,
};

/// A tick is 1 ms.
const SECOND: u64 = 1_000;
const HOUR: u64 = 3_600 * SECOND;

/// Returns the latest tick at which a timer with this delay from `now` is allowed to be due,
/// according to the documentation.
fn latest(now: u64, delay: u64) -> u64 {
    now + delay + (delay * 8 / 63).max(1)
}

/// Returns uptimes from 1 s to 100 h, each about 1.2 times as long as the previous one.
fn uptimes() -> impl Iterator<Item = u64> {
    core::iter::successors(Some(SECOND), |&up| Some(up * 6 / 5 + 7)).take_while(|&up| up <= 100 * HOUR)
}

/// Returns pauses from 1 ms to 1 h.
fn pauses() -> impl Iterator<Item = u64> {
    core::iter::successors(Some(1), |&pause| Some(pause * 3 + 1))
        .take_while(|&pause| pause < HOUR)
        .chain([HOUR])
}

const DELAYS: [u64; 9] = [1, 62, 63, 200, 504, SECOND, 12 * SECOND, 60 * SECOND, HOUR];

/// Uses one queue with all pauses. After each insert and re-arm, the timer's expiry is within the
/// bound, and the timer leaves between its deadline and its latest allowed tick.
fn live<Q: TimerQueue>(mut queue: Q, mut values: impl Iterator<Item = Q::Value>, uptime: u64) {
    let mut now = uptime;
    for pause in pauses() {
        for delay in DELAYS {
            let inserted = queue.insert_at(now + delay, values.next().expect("enough timers"), now);
            let Ok(key) = inserted.map_err(Reject::from) else { panic!("refused") };
            let due = queue.next_expiry().expect("a timer is pending");
            assert!((now + delay..=latest(now, delay)).contains(&due), "armed at {now} for {delay}: {due}");
            // The program sleeps. Then a message moves the timer.
            now += pause;
            if now < due {
                queue.reschedule_at(key, now + delay, now).expect("it is pending");
                let due = queue.next_expiry().expect("a timer is pending");
                assert!(
                    (now + delay..=latest(now, delay)).contains(&due),
                    "moved at {now} for {delay}: {due}"
                );
                now = due;
            }
            let fired = queue.pop_expired(now).expect("it is due");
            assert!(fired.expiry <= now && queue.is_empty());
        }
    }
    assert_eq!(queue.check(), Ok(()));
}

#[test]
fn a_coarse_wheel_is_in_time_after_any_uptime_and_any_sleep() {
    for uptime in uptimes() {
        let queue: SlabQueue<CoarseWheel, u32> = SlabQueue::new();
        live(queue, 0.., uptime);
        let timers: Vec<Timer<CoarseWheel, Cell<u32>>> = (0..200).map(|n| Timer::new(Cell::new(n))).collect();
        live(HookQueue::new(), timers.iter(), uptime);
    }
}

/// An event loop inserts a timer when a message wakes it, 12 s after the previous message. The loop
/// pops before it waits, so the queue's `now` is 12 s old at the insert.
#[test]
fn a_loop_that_sleeps_between_messages_has_its_time_outs_in_time() -> Result<(), Reject> {
    let mut queue: SlabQueue<CoarseWheel, ()> = SlabQueue::new();
    for message in 0..1_000 {
        let woken = message * 12 * SECOND;
        queue.insert_at(woken + 200, (), woken)?;
        let wake = queue.next_wake().expect("a timer is pending");
        assert!((woken + 200..=latest(woken, 200)).contains(&wake), "{wake}");
        assert_eq!(queue.pop_expired(wake).map(|fired| fired.deadline), Some(woken + 200));
    }
    Ok(())
}

/// A delay begins at the time that the caller passes. If that time is before the queue's `now`, it
/// counts as `now`.
#[test]
fn a_delay_counts_from_the_greatest_time_that_was_told() -> Result<(), Reject> {
    let mut queue: SlabQueue<CoarseWheel, ()> = SlabQueue::new();
    let late = queue.insert_at(HOUR + SECOND, (), 0)?;
    assert_eq!(queue.expiry(late), Some(3_670_016), "69 s late");
    let Ok(_) = queue.reschedule_at(late, HOUR + SECOND, HOUR) else { panic!("it is pending") };
    assert_eq!(queue.expiry(late), Some(HOUR + 1_024));
    let Ok(_) = queue.reschedule_at(late, HOUR + SECOND, 50) else { panic!("it is pending") };
    assert_eq!((queue.expiry(late), queue.now()), (Some(HOUR + 1_024), HOUR));
    Ok(())
}

/// A refused operation also advances `now` to the time that the caller passes.
#[test]
fn a_refused_operation_tells_the_time_too() -> Result<(), Reject> {
    let mut queue: SlabQueue<CoarseWheel, ()> = SlabQueue::bounded(1)?;
    let key = queue.insert_at(5, (), 1)?;
    assert_eq!(queue.insert_at(9, (), 2).map_err(|refused| refused.reason), Err(Reject::Full));
    assert_eq!((queue.now(), queue.len()), (2, 1));
    assert!(queue.remove(key).is_ok());
    assert_eq!(queue.reschedule_at(key, 9, 3), Err(KeyError::Stale));
    assert_eq!(queue.now(), 3);
    Ok(())
}

/// Timers that became due while the program slept stay in the queue in order, and leave at the next
/// pop.
fn due_timers_stay<Q: TimerQueue<Value = u32>>(mut queue: Q) {
    for value in 0..40 {
        assert!(queue.insert_at(u64::from(value) * 17 % 90, value, 0).is_ok());
    }
    let (head, wake) = (queue.peek(), queue.next_wake());
    queue.update_now(HOUR);
    queue.update_now(50);
    assert_eq!((queue.now(), queue.len(), queue.peek(), queue.next_wake()), (HOUR, 40, head, wake));
    assert!(queue.insert_at(HOUR + 5, 40, 0).is_ok() && queue.insert_at(0, 41, 0).is_ok());
    assert_eq!(queue.check(), Ok(()));
    let fired: Vec<Expired<Q::Key, u32>> = queue.expired(0).collect();
    assert_eq!(fired.len(), 41, "all that were due, and the one that was armed for the past");
    assert!(fired.is_sorted_by_key(|fired| fired.expiry) && fired[40].value == 41);
    assert!(fired.iter().all(|fired| fired.expiry <= HOUR));
    let lateness = if let Order::Granular { .. } = Q::ORDER { 1 } else { 0 };
    assert_eq!(queue.next_expiry(), Some(HOUR + 5 + lateness));
}

#[test]
fn what_is_due_meanwhile_stays_pending_and_leaves_in_order() {
    due_timers_stay(SlabQueue::<CoarseWheel, u32>::new());
    due_timers_stay(SlabQueue::<Wheel, u32>::new());
    due_timers_stay(SlabQueue::<DaryHeap<4>, u32>::new());
    due_timers_stay(tickwright_core::DefaultQueue::<u32>::new());
}
