use super::*;

/// The length of a look follows the cost of wake-ups, from 3 us to 40 us and back.
#[test]
fn a_look_lasts_as_long_as_two_wake_ups() {
    let cost = WakeCost::new();
    assert_eq!(cost.longest_look_ns(), 2 * FIRST);
    for (wake_ns, expected) in [(3_000, 6_000), (40_000, 80_000), (3_000, 6_000)] {
        for at in 1..=40 {
            cost.sleep_begins();
            cost.notified(at * 1_000_000);
            cost.sleep_ended(|| at * 1_000_000 + wake_ns);
        }
        assert!(cost.longest_look_ns().abs_diff(expected) < expected / 50, "{cost:?}");
    }
}

/// If all processors of a machine are busy, a worker is woken late. Because of the limit, looks
/// stay shorter than such a wake-up.
#[test]
fn a_late_wake_up_counts_up_to_a_limit() {
    let cost = WakeCost::new();
    for at in 0..20 {
        cost.sleep_begins();
        cost.notified(at);
        cost.sleep_ended(|| u64::MAX);
    }
    assert_eq!(cost.longest_look_ns(), LONGEST);
}

/// A sleep that ends by a time-out is not measured, and the clock is not read. Notifications from
/// before the sleep, and a clock that seems to run backwards, are not measured either.
#[test]
fn only_a_notification_counts() {
    let cost = WakeCost::new();
    cost.notified(7);
    cost.sleep_begins();
    cost.sleep_ended(|| unreachable!("nobody notified"));
    assert_eq!(cost.longest_look_ns(), 2 * FIRST);
    cost.notified(1_000);
    cost.sleep_ended(|| 10);
    assert_eq!(cost.longest_look_ns(), 2 * (3 * FIRST / 4));
}
