use super::*;

#[test]
fn quantiles_are_upper_bounds_and_at_most_the_worst() {
    let mut lateness = Lateness::NONE;
    assert_eq!(lateness.quantile(0.5), None);
    for nanos in [0, 1, 5, 100, 1000] {
        lateness.note(nanos);
    }
    assert_eq!(lateness.count(), 5);
    assert_eq!(lateness.quantile(0.0), Some(Duration::from_nanos(1)));
    assert_eq!(lateness.quantile(0.6), Some(Duration::from_nanos(7)));
    assert_eq!(lateness.quantile(1.0), Some(Duration::from_nanos(1000)), "the worst is exact");
    assert_eq!(lateness.quantile(f64::NAN), Some(Duration::from_nanos(1)));
    lateness.note(u64::MAX);
    assert_eq!(lateness.quantile(1.0), Some(Duration::from_nanos(u64::MAX)));
}

#[test]
fn a_report_says_what_there_is() {
    let mut lateness = Lateness::NONE;
    lateness.note(3000);
    let report = Report { live: 2, vacant: 1, locks: 4, lateness, wakeups: 5, panics: 0 };
    let text = report.to_string();
    assert!(text.starts_with("2 timers live, 1 vacant, 1 fired, 4 locks, 5 wake-ups\n"), "{text}");
    assert!(text.contains("half at most 3µs"), "{text}");
}
