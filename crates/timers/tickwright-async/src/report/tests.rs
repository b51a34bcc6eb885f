use super::*;

#[test]
fn a_report_says_what_there_is() {
    let mut lateness = Lateness::new();
    lateness.note(3000);
    let report = TimerReport { live: 2, vacant: 1, locks: 4, lateness, wakeups: 5, panics: 0 };
    let text = report.to_string();
    assert!(text.starts_with("2 timers live, 1 vacant, 1 fired, 4 locks, 5 wake-ups\n"), "{text}");
    assert!(text.contains("half at most 3µs"), "{text}");
}
