use super::span;
use core::time::Duration;

#[test]
fn spans_have_a_unit_and_a_range() {
    let period = span::parse::<1_000, 10_000_000_000>;
    assert_eq!(period("100us"), Ok(Duration::from_micros(100)));
    assert_eq!(period("1ms"), Ok(Duration::from_millis(1)));
    assert_eq!(period("10s"), Ok(Duration::from_secs(10)));
    for wrong in ["0us", "0", "999ns", "11s", "-1ms", "1.5ms", "", "us", "99999999999999999999s", "1h"] {
        let message = period(wrong).unwrap_err();
        assert!(message.contains("from 1us to 10s"), "{message}");
    }
}

#[test]
fn spans_are_shown_as_they_are_read() {
    for text in ["500ns", "1500ns", "100us", "1ms", "2s"] {
        assert_eq!(span::show(span::parse::<1, 10_000_000_000>(text).unwrap()), text);
    }
}

use super::cli::fitting;
use super::plan::Plan;
use super::report::judge;
use super::rights::{Priority, parse_cpu, ranges};

#[test]
fn priorities_are_from_1_to_99() {
    assert_eq!("none".parse(), Ok(Priority::NONE));
    assert_eq!("99".parse::<Priority>().unwrap().get(), 99);
    for wrong in ["0", "100", "-1", "300", "high", ""] {
        let message = wrong.parse::<Priority>().unwrap_err();
        assert!(message.contains("from 1 to 99"), "{message}");
    }
}

#[test]
fn processors_are_named_by_ranges() {
    assert_eq!(ranges(&[0, 1, 2, 5, 7, 8]), "0-2, 5, 7-8");
    assert_eq!(ranges(&[]), "");
    assert!(parse_cpu("-1").unwrap_err().contains("may use 0"));
    assert!(parse_cpu("99999999").is_err());
}

#[test]
fn a_histogram_takes_a_quarter_of_the_memory_at_most() {
    assert_eq!(fitting(300, 4, Some(1 << 30)).unwrap(), 300);
    assert_eq!(fitting(1 << 23, 4, Some(1 << 30)).unwrap(), 1 << 23);
    let error = fitting((1 << 23) + 1, 4, Some(1 << 30)).unwrap_err();
    assert!(error.to_string().contains("from 1 to 8388608"), "{error}");
    assert!(fitting(u64::MAX, 1, None).is_err());
}

fn plan(duration_ms: u64, period_us: u64) -> Plan {
    Plan::usual(Duration::from_millis(duration_ms), Duration::from_micros(period_us)).unwrap()
}

#[test]
fn turns_are_short_and_many() {
    let long = plan(20_000, 1000);
    assert_eq!((long.slice(), long.rounds()), (Duration::from_millis(250), 20));
    assert_eq!((long.turn().points, long.turn().host_period), (250, 10_000_000));
    let short = plan(3000, 250);
    assert_eq!(short.rounds(), 9);
    let slow = plan(20_000, 100_000);
    assert_eq!(slow.slice(), Duration::from_secs(2));
    assert!(long.check().is_ok() && short.check().is_ok() && slow.check().is_ok());
}

#[test]
fn times_that_do_not_fit_together_are_refused_with_what_would() {
    let error = plan(100, 10_000).check().unwrap_err();
    assert!(error.to_string().contains("at least 1s600ms"), "{error}");
    let mut turns = plan(20_000, 10_000);
    turns.slice = Some(Duration::from_millis(1));
    let error = turns.check().unwrap_err();
    assert!(error.to_string().contains("shorter than a period of 10ms"), "{error}");
}

#[test]
fn a_turn_has_no_more_periods_than_are_kept() {
    let mut turns = plan(1 << 30, 1);
    turns.slice = Some(Duration::from_secs(16));
    assert!(turns.check().is_ok());
    turns.slice = Some(Duration::from_secs(17));
    let error = turns.check().unwrap_err();
    assert!(error.to_string().contains("16777216 at most"), "{error}");
}

#[test]
fn a_limit_is_held_against_the_worst_sample_and_against_gaps() {
    assert!(judge(99.9, 0, Some(100.0)).is_ok());
    assert!(judge(1e9, 9, None).is_ok());
    assert_eq!(judge(100.1, 0, Some(100.0)).unwrap_err().code(), 1);
    assert_eq!(judge(1.0, 1, Some(100.0)).unwrap_err().code(), 1);
}

#[test]
fn a_structure_without_samples_is_not_the_best() {
    use super::lane::Lane;
    use super::order::{Entry, Order};
    use super::slice::Seen;
    let plan = plan(20_000, 1000);
    let mut lanes: Vec<Lane> =
        plan.structures.iter().map(|structure| Lane::new(structure, 10, 1000)).collect();
    let mut seen = Seen::new(1);
    seen.lateness.push(7000);
    lanes[1].add(&seen);
    let entries: Vec<Entry> = lanes.iter().map(Entry::of).collect();
    assert_eq!(Order::of(&entries, &[]).by_average, ["heap2/hook"]);
}
