//! `update_now`: a coarse wheel that is told the time is late by at most 8/63 of a delay or by one
//! tick, counted from the caller's time, after any uptime and any sleep.

#![cfg(feature = "alloc")]

use core::cell::Cell;

use tickwright_core::{
    CoarseWheel, DaryHeap, Expired, HookQueue, Order, Reject, SlabQueue, Timer, TimerQueue, Wheel,
};

/// A tick is 1 ms.
const SECOND: u64 = 1_000;
const HOUR: u64 = 3_600 * SECOND;

/// The latest tick for a delay from `now`, in the words of the documentation.
fn latest(now: u64, delay: u64) -> u64 {
    now + delay + (delay * 8 / 63).max(1)
}

/// Uptimes from 1 s to 100 h, in steps of a factor of 1.2 or so.
fn uptimes() -> impl Iterator<Item = u64> {
    core::iter::successors(Some(SECOND), |&up| Some(up * 6 / 5 + 7)).take_while(|&up| up <= 100 * HOUR)
}

/// Pauses from 1 ms to 1 h.
fn pauses() -> impl Iterator<Item = u64> {
    core::iter::successors(Some(1), |&pause| Some(pause * 3 + 1))
        .take_while(|&pause| pause < HOUR)
        .chain([HOUR])
}

const DELAYS: [u64; 9] = [1, 62, 63, 200, 504, SECOND, 12 * SECOND, 60 * SECOND, HOUR];

/// One queue lives through all pauses: each insert and re-arm is in time, and each timer leaves
/// between its deadline and its latest tick.
fn live<Q: TimerQueue>(mut queue: Q, mut values: impl Iterator<Item = Q::Value>, uptime: u64) {
    let mut now = uptime;
    queue.update_now(now);
    for pause in pauses() {
        for delay in DELAYS {
            let inserted = queue.insert(now + delay, values.next().expect("enough timers"));
            let Ok(inserted) = inserted.map_err(Reject::from) else { panic!("refused") };
            let due = queue.next_expiry().expect("a timer is pending");
            assert!((now + delay..=latest(now, delay)).contains(&due), "armed at {now} for {delay}: {due}");
            // The program sleeps, and a message moves the timer.
            now += pause;
            queue.update_now(now);
            if now < due {
                let _ = queue.reschedule(inserted.key, now + delay).expect("it is pending");
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

/// What `update_now` is for. It also shows that the time has to be told: the clause speaks of it.
#[test]
fn without_it_the_delay_counts_from_the_last_pop() -> Result<(), Reject> {
    let mut queue: SlabQueue<CoarseWheel, ()> = SlabQueue::new();
    let late = queue.insert(HOUR + SECOND, ())?.key;
    assert_eq!(queue.expiry(late), Some(3_670_016), "69 s late");
    queue.update_now(HOUR);
    let Ok(_) = queue.reschedule(late, HOUR + SECOND) else { panic!("it is pending") };
    assert_eq!(queue.expiry(late), Some(HOUR + 1_024));
    Ok(())
}

/// Timers that became due while the program slept stay, in order, and leave at the next pop.
fn due_timers_stay<Q: TimerQueue<Value = u32>>(mut queue: Q) {
    for value in 0..40 {
        assert!(queue.insert(u64::from(value) * 17 % 90, value).is_ok());
    }
    let (head, wake) = (queue.peek(), queue.next_wake());
    queue.update_now(HOUR);
    queue.update_now(50);
    assert_eq!((queue.now(), queue.len(), queue.peek(), queue.next_wake()), (HOUR, 40, head, wake));
    assert!(queue.insert(HOUR + 5, 40).is_ok() && queue.insert(0, 41).is_ok());
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
