//! Counts of durable timers as OpenMetrics text.

use tickwright::metrics::{Measured, Metric, OpenMetrics};
use tickwright_durable::sqlite::Sqlite;
use tickwright_durable::{Added, Cancelled, Due, Error, MAX_DUE, Metrics, Settings, Timers};

#[test]
fn what_a_participant_did_is_in_the_text() {
    let mut timers = Timers::new(Sqlite::open(":memory:").unwrap(), Settings::alone());
    for (id, due) in [("a", Due::At(1)), ("b", Due::At(2)), ("later", Due::At(MAX_DUE))] {
        timers.add(id, due, b"").unwrap();
    }
    let firings = timers.take_due().unwrap();
    assert!(timers.done(&firings[0]) && timers.release(&firings[1]));
    assert_eq!(timers.take_due().unwrap().len(), 1, "the released one again");
    timers.replace("later", Due::At(MAX_DUE), b"").unwrap();
    timers.add("not", Due::At(MAX_DUE), b"").unwrap();
    assert_eq!(timers.cancel("not"), Ok(Cancelled::Removed));
    assert_eq!(timers.cancel("b"), Ok(Cancelled::Running), "it does not wait");
    assert_eq!(timers.cancel("c"), Ok(Cancelled::Gone));

    let metrics = timers.metrics();
    let text = OpenMetrics::default().with("mail", &metrics).to_string();
    let labels = "{name=\"mail\",kind=\"durable\"";
    for (sample, right) in [
        ("timers_loaded", 1),
        ("timers_held", 1),
        ("timers_armed_total", 5),
        ("timers_fired_total", 3),
        ("timers_cancelled_total", 1),
        ("timer_takeovers_total", 1),
        ("timers_repeated_total", 1),
        ("timers_lost_total", 0),
        ("timer_statements_total", metrics.statements),
        ("timer_commits_total", metrics.commits),
        ("timer_failures_total", 0),
        ("timer_lateness_seconds_count", 3),
    ] {
        let line = format!("tickwright_{sample}{labels}}} {right}");
        assert!(text.lines().any(|own| own == line), "{line}\n{text}");
    }
    assert!(metrics.statements > 3 && metrics.commits > 1);
    // Each timer was due in 1970.
    let late = format!("tickwright_timer_lateness_seconds_bucket{labels},le=\"8.589934591\"}} 0");
    assert!(text.lines().any(|own| own == late), "{text}");
    let mean = metrics.lateness.mean().as_micros();
    assert_eq!(mean, u128::from(metrics.late_us / 3), "the histogram has the sum of the latenesses");
}

/// Only committed changes count, each with its delay.
#[test]
fn what_a_participant_armed_is_counted_with_its_delay() {
    const HOUR: i64 = 3_600_000_000;
    let mut timers = Timers::new(Sqlite::open(":memory:").unwrap(), Settings::alone());
    timers.add("a", Due::At(1), b"").unwrap();
    assert_eq!(timers.add("a", Due::After(HOUR), b""), Ok(Added::Exists));
    let failed = timers.batch(|batch| {
        batch.add("b", Due::After(HOUR), b"")?;
        batch.cancel("a")?;
        batch.add("", Due::After(HOUR), b"")
    });
    assert_eq!(failed, Err(Error::IdLength { bytes: 0 }));
    let counts = |timers: &Timers<_>| {
        let Metrics { armed, cancelled, delays, .. } = timers.metrics();
        (armed, cancelled, delays.buckets().map(|(last, n)| (last.as_nanos(), n)).collect::<Vec<_>>())
    };
    let due = (1, 1); // It was due in 1970.
    assert_eq!(counts(&timers), (1, 0, vec![due]));

    let hour = (1 << 42) - 1; // From 37 to 73 minutes.
    timers.add("b", Due::After(HOUR), b"").unwrap();
    assert_eq!(counts(&timers), (2, 0, vec![due, (hour, 1)]));
    let firings = timers.take_due().unwrap();
    timers.again(&firings[0], Due::After(HOUR)).unwrap();
    assert_eq!(counts(&timers).0, 2, "the answer is not written yet");
    timers.take_due().unwrap();
    assert_eq!(counts(&timers), (3, 0, vec![due, (hour, 2)]));
    timers.cancel("a").unwrap();
    assert_eq!(counts(&timers), (3, 1, vec![due, (hour, 2)]));
}

/// All values differ, so an exchange of two fields shows.
#[test]
fn each_field_has_its_own_metric() {
    let mut metrics = Metrics::default();
    (metrics.window, metrics.held, metrics.firings) = (11, 12, 13);
    (metrics.takeovers, metrics.repeated, metrics.lost) = (14, 15, 16);
    (metrics.statements, metrics.commits, metrics.failures) = (17, 18, 19);
    (metrics.armed, metrics.cancelled) = (20, 21);
    let right = [
        (Metric::Loaded, 11),
        (Metric::Held, 12),
        (Metric::Armed, 20),
        (Metric::Fired, 13),
        (Metric::Cancelled, 21),
        (Metric::Takeovers, 14),
        (Metric::Repeated, 15),
        (Metric::Lost, 16),
        (Metric::Statements, 17),
        (Metric::Commits, 18),
        (Metric::Failures, 19),
    ];
    assert_eq!(metrics.numbers(), right);
}
