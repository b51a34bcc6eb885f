use super::tool::histogram;
use super::*;
use crate::render;
use crate::result::Unit;
use crate::stats::Verdict;

fn leg(ns: &[u64]) -> Leg {
    Leg { cells: in_cells(ns), cpu_percent: 2.0 }
}

#[test]
fn percentiles_are_interpolated_within_a_cell() {
    assert_eq!(leg(&[2_500; 10]).percentile(0.5), 2_500.0);
    assert_eq!(leg(&[&[500; 10][..], &[1_500; 10]].concat()).percentile(0.5), 1_000.0);
    assert!(leg(&[]).percentile(0.5).is_nan());
    assert!(leg(&[500, u64::MAX, u64::MAX]).percentile(0.5).is_nan(), "the last cell has no end");
}

#[test]
fn ours_is_counted_as_cyclictest_counts() {
    let cells = in_cells(&[999, 1000, 1999, u64::MAX]);
    assert_eq!((cells.counts()[0], cells.counts()[1], cells.counts()[CELLS - 1]), (1, 2, 1));
}

#[test]
fn the_histogram_of_cyclictest_is_read_with_its_overflows() {
    let text = "# /dev/cpu_dma_latency set to 0us\n# Histogram\n000000 000000\n000001 000007\n000002\t000003\n\
                # Total: 000000010\n# Min Latencies: 00001\n# Histogram Overflows: 00004\n# Histogram Overflow at cycle number:\n# Thread 0: 5\n";
    assert_eq!(histogram(text, 3).counts(), [0, 7, 3 + 4]);
    assert_eq!(histogram("", 2).counts(), [0, 0]);
}

fn args(words: &[&str]) -> VersusArgs {
    request::words(words).unwrap()
}

fn call(words: &[&str]) -> Result<String, LabError> {
    Call::new("cyclictest".into(), &args(words).wake).map(|call| call.words())
}

#[test]
fn it_is_called_with_the_same_interval_priority_and_clock() {
    assert_eq!(call(&[]).unwrap(), "cyclictest -q -t 1 --default-system -c 0 -i 1000 -p 80");
    let words = call(&["-c", "1", "-p", "none", "-a", "0", "-m"]).unwrap();
    assert_eq!(words, "cyclictest -q -t 1 --default-system -c 1 -i 1000 --policy=other -m -a 0");
}

#[test]
fn what_cyclictest_cannot_do_is_refused() {
    assert_eq!(call(&["--interval", "1500ns"]).unwrap_err().code(), 2);
    let two = args(&["--structures", "list"]).plan().unwrap_err().to_string();
    assert!(two.contains("--structures names 2: list/slab,list/hook"), "{two}");
}

#[test]
fn a_run_of_each_tool_has_intervals_enough() {
    let points = |words: &[&str]| points(&args(words).wake);
    assert_eq!(points(&[]).unwrap(), 1250);
    let error = points(&["--interval", "1s"]).unwrap_err().to_string();
    assert!(error.contains("at least 26m40s"), "{error}");
    let error = points(&["--interval", "1us", "--duration", "1h"]).unwrap_err().to_string();
    assert!(error.contains("16777216 at most"), "{error}");
}

/// Eight rounds of each tool. All samples of a round have the same lateness, in whole us.
fn data(ours: [u64; 8], theirs: [u64; 8]) -> Data {
    let legs = |all: [u64; 8]| all.map(|us| leg(&[us * 1000 + 500; 100])).to_vec();
    Data { granted: Priority::NONE, legs: [legs(ours), legs(theirs)] }
}

#[test]
fn a_ratio_keeps_to_a_tenth_misses_it_or_does_not_show_it() {
    let verdicts = |ours, theirs| {
        let findings = tables::findings(&data(ours, theirs).legs);
        [findings[0].verdict, findings[2].verdict]
    };
    assert_eq!(verdicts([10; 8], [10; 8]), [Verdict::Held; 2]);
    assert_eq!(verdicts([12; 8], [10; 8])[0], Verdict::Missed);
    assert_eq!(verdicts([12; 8], [10, 20, 10, 20, 10, 20, 10, 5])[0], Verdict::NotShown);
    let none = tables::findings(&[Vec::new(), Vec::new()]);
    assert_eq!((none[0].here.as_str(), none[0].verdict), ("not measured", Verdict::NotShown));
}

#[test]
fn a_report_shows_both_tools_and_a_reason() {
    let args = args(&["--priority", "none"]);
    let call = Some(Call::new("cyclictest".into(), &args.wake).unwrap());
    let plan = Plan { call, ..args.plan().unwrap() };
    let data = data([20, 21, 22, 20, 21, 22, 20, 21], [10; 8]);
    let findings = args.findings(&plan, &data);
    assert_eq!((findings[0].here.as_str(), findings[0].verdict), ("2.05x", Verdict::Missed));
    assert_eq!(args.series(&plan, &data)[0].unit, Unit::Ns);
    insta::assert_snapshot!(render::sections(&args.sections(&plan, &data, &findings)));
    let skipped = args.sections(&Plan { call: None, ..plan }, &data, &findings);
    assert!(skipped.is_empty());
}
