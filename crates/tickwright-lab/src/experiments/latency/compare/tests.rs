use super::tool::{arguments, histogram};
use super::*;
use crate::experiments::latency::clock::{Clock, Driver};

#[test]
fn percentiles_are_interpolated_within_a_cell() {
    assert_eq!(percentile(&[0, 0, 10, 0], 0.5), 2.5);
    assert_eq!(percentile(&[10, 10, 0], 0.5), 1.0);
    assert_eq!(percentile(&[99, 0, 1, 0], 0.99), 1.0);
    assert!(percentile(&[0, 0], 0.5).is_nan());
    assert!(percentile(&[1, 9], 0.5).is_nan(), "the last cell has no end");
}

#[test]
fn the_histogram_of_cyclictest_is_read_with_its_overflows() {
    let text = "# /dev/cpu_dma_latency set to 0us\n# Histogram\n000000 000000\n000001 000007\n000002\t000003\n\
                # Total: 000000010\n# Min Latencies: 00001\n# Histogram Overflows: 00004\n# Histogram Overflow at cycle number:\n# Thread 0: 5\n";
    assert_eq!(histogram(text, 3), [0, 7, 3 + 4]);
    assert_eq!(histogram("", 2), [0, 0]);
}

fn plan() -> Plan {
    Plan::usual(Duration::from_secs(20), Duration::from_millis(1)).unwrap()
}

#[test]
fn it_is_called_with_the_same_period_priority_and_clock() {
    let mut plan = plan();
    assert_eq!(arguments(&plan).unwrap().join(" "), "-q -t 1 --default-system -c 0 -i 1000 -p 80");
    plan.clock = Clock::Realtime;
    plan.priority = "none".parse().unwrap();
    plan.cpu = Some(1);
    plan.mlock = true;
    let words = arguments(&plan).unwrap().join(" ");
    assert_eq!(words, "-q -t 1 --default-system -c 1 -i 1000 --policy=other -m -a 1");
}

#[test]
fn what_cyclictest_cannot_do_is_refused() {
    let refused = |change: fn(&mut Plan)| {
        let mut plan = plan();
        change(&mut plan);
        arguments(&plan).unwrap_err().code()
    };
    assert_eq!(refused(|plan| plan.clock = Clock::Boot), 2);
    assert_eq!(refused(|plan| plan.driver = Driver::Spin), 2);
    assert_eq!(refused(|plan| plan.period = Duration::from_nanos(1500)), 2);
}

fn legs(ours: &[f64], theirs: &[f64]) -> Vec<Leg> {
    let leg = |tool, median_us: &f64| Leg {
        tool,
        round: 0,
        samples: 1,
        median_us: *median_us,
        p99_us: 1.0,
        cpu_percent: 1.0,
    };
    let both =
        ours.iter().map(|us| leg("tickwright", us)).chain(theirs.iter().map(|us| leg("cyclictest", us)));
    both.collect()
}

#[test]
fn a_ratio_is_within_ten_percent_or_has_a_reason() {
    let same = compare(&legs(&[10.0; 8], &[10.5; 8]));
    assert_eq!(same[0].verdict, "within 10 %");
    assert_eq!(same[2].verdict, "at most cyclictest's");
    let more = compare(&legs(&[12.0; 8], &[10.0; 8]));
    assert!(more[0].verdict.starts_with("+20 %, not within 10 %: ours re-arms"), "{}", more[0].verdict);
    let wild = compare(&legs(&[12.0; 8], &[10.0, 20.0, 10.0, 20.0, 10.0, 20.0, 10.0, 5.0]));
    assert!(wild[0].verdict.contains("not shown to differ"), "{}", wild[0].verdict);
    let spread = compare(&legs(&[5.0; 8], &[10.0, 20.0, 10.0, 20.0, 10.0, 20.0, 10.0, 20.0]));
    assert!(spread[0].verdict.contains("differs from itself"), "{}", spread[0].verdict);
    assert_eq!(compare(&[])[0].verdict, "no figures: nothing measured, or beyond the cells");
}

#[test]
fn a_run_of_each_tool_has_periods_enough() {
    let mut plan = plan();
    assert_eq!(points(&plan).unwrap(), 1250);
    plan.period = Duration::from_secs(1);
    let error = points(&plan).unwrap_err();
    assert!(error.to_string().contains("at least 26m40s"), "{error}");
}

#[test]
fn ours_is_counted_as_cyclictest_counts() {
    let cells = in_cells(&[999, 1000, 1999, u64::MAX]);
    assert_eq!((cells[0], cells[1], cells[CELLS - 1]), (1, 2, 1));
}

#[test]
fn the_report_tells_what_was_run_and_not_what_a_run_by_itself_would_be() {
    let facts = facts(&plan(), 0, Duration::from_millis(1250));
    assert_eq!((facts.host_hz, facts.slice_ms, facts.period_us), (0, 1250.0, 1000.0));
    let mut plan = plan();
    (plan.duration, plan.period) = (Duration::from_secs(3600), Duration::from_micros(1));
    assert!(points(&plan).unwrap_err().to_string().contains("16777216 at most"));
}
