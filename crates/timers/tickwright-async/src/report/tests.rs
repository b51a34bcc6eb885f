use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Waker};
use core::time::Duration;

use super::*;
use crate::{Sleep, TestClock};

fn report() -> TimerReport {
    let (delays, mut lateness) = (DelayCounts::new(), Lateness::new());
    lateness.note(3000);
    TimerReport { live: 2, vacant: 1, locks: 4, delays, lateness, wakeups: 5, panics: 6 }
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

    let right = [
        (Metric::Timers, 3),
        (Metric::Pending, 2),
        (Metric::Fired, 1),
        (Metric::Locks, 4),
        (Metric::Wakeups, 5),
        (Metric::Panics, 6),
    ];
    assert_eq!(report().numbers(), right);
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
