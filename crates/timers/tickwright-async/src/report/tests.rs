use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Waker};
use core::time::Duration;

use super::*;
use crate::{Sleep, TestClock};

fn report() -> TimerReport {
    let mut lateness = Lateness::new();
    lateness.note(3000);
    TimerReport { live: 2, vacant: 1, locks: 4, lateness, wakeups: 5, panics: 6, ..TimerReport::EMPTY }
}

#[test]
fn a_report_says_what_there_is() {
    let text = report().to_string();
    assert!(text.starts_with("2 timers live, 1 vacant, 1 fired, 4 locks, 5 wake-ups\n"), "{text}");
    assert!(text.contains("half at most 3µs"), "{text}");
}

#[cfg(feature = "metrics")]
#[test]
fn each_number_has_its_name() {
    use tickwright::metrics::Measured;

    let report = TimerReport { high_water: 7, armed: 8, rearmed: 9, cancelled: 10, ..report() };
    let right = [
        (Metric::Timers, 3),
        (Metric::Pending, 2),
        (Metric::HighWater, 7),
        (Metric::Armed, 8),
        (Metric::Rearmed, 9),
        (Metric::Fired, 1),
        (Metric::Cancelled, 10),
        (Metric::Locks, 4),
        (Metric::Wakeups, 5),
        (Metric::Panics, 6),
    ];
    assert_eq!(report.numbers(), right);
}

#[test]
fn each_entry_into_a_queue_counts_its_delay() {
    let clock = TestClock::new();
    let (timers, start, ms) = (clock.timers(), clock.timers().now(), Duration::from_millis);
    let poll = |sleep: &mut Sleep| Pin::new(sleep).poll(&mut Context::from_waker(Waker::noop()));
    let counted =
        || timers.report().delays.buckets().map(|(last, count)| (last.as_nanos(), count)).collect::<Vec<_>>();
    let mut sleep = timers.sleep(ms(1000));
    assert!(counted().is_empty() && poll(&mut sleep).is_pending());
    let second = ((1 << 30) - 1, 1); // From 537 ms to 1.07 s.
    assert_eq!(counted(), [second]);

    // The timer stays in its queue: later, earlier, and later again.
    sleep.reset(start + ms(5000));
    sleep.reset(start + ms(300));
    sleep.reset(start + ms(6000));
    assert!(poll(&mut sleep).is_pending());
    assert_eq!(counted(), [second]);

    // The driver finds it at 300 ms, with 5.7 s left.
    clock.advance(ms(400));
    let seconds = ((1 << 33) - 1, 1); // From 4.3 to 8.6 s.
    assert_eq!(counted(), [second, seconds]);

    // The next sleep takes the vacant timer, in its queue.
    drop(sleep);
    let mut sleep = timers.sleep(ms(700));
    assert!(poll(&mut sleep).is_pending());
    assert_eq!((counted(), timers.report().live), (vec![second, seconds], 1));

    // The timer has fired, so it is in no queue.
    clock.advance(ms(700));
    assert!(poll(&mut sleep).is_ready() && poll(&mut timers.sleep(ms(0))).is_ready());
    assert_eq!(counted(), [second, seconds]);
    sleep.reset_after(ms(2));
    assert!(poll(&mut sleep).is_pending());
    assert_eq!(counted(), [((1 << 21) - 1, 1), second, seconds]);
}

/// Each arm ends in one way, with a lock or without.
#[cfg(feature = "metrics")]
#[test]
fn arms_rearms_and_cancels_are_counted() {
    let clock = TestClock::new();
    let timers = clock.timers_with(crate::TimerSettings::new().shards(1));
    let (start, ms) = (timers.now(), Duration::from_millis);
    let poll = |sleep: &mut Sleep| Pin::new(sleep).poll(&mut Context::from_waker(Waker::noop()));
    let counts = || {
        let TimerReport { live, high_water, armed, rearmed, cancelled, lateness, .. } = timers.report();
        assert_eq!(armed, rearmed + cancelled + live as u64 + lateness.count());
        (armed, rearmed, cancelled, live, high_water)
    };
    let mut sleep = timers.sleep(ms(1000));
    sleep.reset_after(ms(1000));
    assert_eq!(counts(), (0, 0, 0, 0, 0), "no task waits yet");
    assert!(poll(&mut sleep).is_pending() && poll(&mut sleep).is_pending());
    assert_eq!(counts(), (1, 0, 0, 1, 1));

    // Later without a lock, and earlier with one.
    sleep.reset(start + ms(5000));
    sleep.reset(start + ms(300));
    assert_eq!(counts(), (3, 2, 0, 1, 1));
    let mut other = timers.sleep(ms(7000));
    assert!(poll(&mut other).is_pending());
    assert_eq!(counts(), (4, 2, 0, 2, 2));

    // Both timers stay in the queue. The next sleep takes one of them without a lock.
    drop((sleep, other));
    assert_eq!(counts(), (4, 2, 2, 0, 2));
    let mut sleep = timers.sleep(ms(800));
    assert!(poll(&mut sleep).is_pending());
    assert_eq!(counts(), (5, 2, 2, 1, 2));

    clock.advance(ms(800));
    assert_eq!(counts(), (5, 2, 2, 0, 2), "it fired");
    sleep.reset_after(ms(400));
    assert_eq!(counts(), (5, 2, 2, 0, 2), "a timer that has fired is not armed by this");
    assert!(poll(&mut sleep).is_pending());
    assert_eq!(counts(), (6, 2, 2, 1, 2));

    // The poll is ready before the driver runs.
    sleep.reset(start);
    assert!(poll(&mut sleep).is_ready());
    assert_eq!(counts(), (7, 3, 3, 0, 2));
    drop(sleep);
    assert_eq!((counts(), timers.report().lateness.count()), ((7, 3, 3, 0, 2), 1));
}

/// A timer's own counts are collected when it leaves the queue.
#[cfg(feature = "metrics")]
#[test]
fn counts_outlive_their_timer() {
    let clock = TestClock::new();
    let timers = clock.timers_with(crate::TimerSettings::new().shards(1));
    let poll = |sleep: &mut Sleep| Pin::new(sleep).poll(&mut Context::from_waker(Waker::noop()));
    let counts = || (timers.report().armed, timers.report().rearmed, timers.report().cancelled);
    // The second sleep takes the vacant timer of the first without a lock.
    let arm_twice = || {
        for _ in 0..2 {
            let mut sleep = timers.sleep(Duration::from_secs(5));
            assert!(poll(&mut sleep).is_pending());
            sleep.reset_after(Duration::from_secs(6));
        }
    };
    arm_twice();
    clock.advance(Duration::from_secs(20));
    assert_eq!((timers.report().vacant, counts()), (0, (4, 2, 2)), "the driver took it out");
    // The end of a thread removes the thread's timers.
    std::thread::scope(|scope| scope.spawn(arm_twice).join().unwrap());
    assert_eq!((timers.report().vacant, counts()), (0, (8, 4, 4)));
    // The driver fires a timer that was armed and re-armed without a lock.
    let mut sleep = timers.sleep(Duration::from_secs(5));
    assert!(poll(&mut sleep).is_pending());
    sleep.reset_after(Duration::from_secs(6));
    clock.advance(Duration::from_secs(6));
    assert_eq!((timers.report().lateness.count(), counts()), (1, (10, 5, 4)));
}
