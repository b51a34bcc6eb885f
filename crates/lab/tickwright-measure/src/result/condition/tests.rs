use super::super::{empty, labels};
use super::*;

fn report() -> Report {
    let mut report = empty("bench hold");
    let of = |structure: &'static str| labels([("structure", structure.into()), ("n", 16_u32.into())]);
    let hundred = (1..=100).map(f64::from);
    report.series = vec![
        Series::new("hold", Unit::Ns, of("list/slab")).of(hundred.clone()),
        Series::new("hold", Unit::Ns, of("wheel/slab")).of(hundred.map(|ns| ns * 10.0)),
        Series::new("memory", Unit::Bytes, of("list/slab")).of([2048.0]),
    ];
    report
}

#[track_caller]
fn fulfilled(condition: &str) -> Vec<(String, f64)> {
    let condition: Condition = condition.parse().unwrap();
    let report = report();
    let found = condition.fulfilled(&report).unwrap();
    found.into_iter().map(|(series, value)| (series.labels["structure"].to_string(), value)).collect()
}

#[test]
fn series_are_chosen_by_name_and_labels_and_judged_by_a_statistic() {
    assert_eq!(fulfilled("p99(hold) > 200ns"), [("wheel/slab".to_owned(), 990.0)]);
    assert_eq!(fulfilled("max(hold)>=100ns").len(), 2);
    assert_eq!(fulfilled("min(hold[structure=list/slab]) < 2ns"), [("list/slab".to_owned(), 1.0)]);
    assert_eq!(fulfilled("median(hold[structure=wheel/slab, n=16]) > 0.5us").len(), 1);
    assert_eq!(fulfilled("mean(hold) <= 50.5 ns"), [("list/slab".to_owned(), 50.5)]);
    assert_eq!(fulfilled("max(memory) >= 2KiB").len(), 1);
    assert_eq!(fulfilled("max(memory) > 2KiB").len(), 0);
}

#[test]
fn a_condition_is_about_the_percentile_of_its_statistic_and_about_no_reference_row() {
    let mut report = report();
    let of = |structure: &'static str, at: &'static str| {
        labels([("structure", structure.into()), ("at", at.into())])
    };
    let rows = [("list/hook", "p50", 10.0), ("list/hook", "p99", 90.0), ("list/hook", "max", 9000.0)];
    let rows = rows.into_iter().chain([("(floor)", "p99", 100.0)]);
    report.series = rows.map(|(row, at, ns)| Series::new("insert", Unit::Ns, of(row, at)).of([ns])).collect();
    let found = |condition: &str| -> Vec<f64> {
        let condition: Condition = condition.parse().unwrap();
        condition.fulfilled(&report).unwrap().into_iter().map(|(_, value)| value).collect()
    };
    assert_eq!(found("p99(insert) > 50ns"), [90.0]);
    assert!(found("p99(insert) > 90ns").is_empty());
    assert_eq!((found("median(insert) > 1ns"), found("max(insert) > 1ns")), (vec![10.0], vec![9000.0]));
    assert_eq!(found("p99(insert[structure=(floor)]) > 50ns"), [100.0]);
    assert_eq!(found("mean(insert[at=max]) > 50ns"), [9000.0]);
}

#[test]
fn a_condition_that_cannot_be_read_says_why() {
    for (text, why) in [
        ("insert > 5", "no '('"),
        ("p99(insert > 5", "no ')'"),
        ("p100(insert) > 5", "none of min"),
        ("best(insert) > 5", "none of min"),
        ("p99() > 5", "no series"),
        ("p99(a[b) > 5", "no ']'"),
        ("p99(a[b]) > 5", "no '='"),
        ("p99(a) = 5", "no <"),
        ("p99(a) > 5 parsecs", "no number with a unit"),
        ("p99(a) > ns", "no number with a unit"),
        ("p99(a) > 200", "one of ns, us, ms, s, B, KiB, MiB, %, x, count, instructions, /s"),
    ] {
        let error = text.parse::<Condition>().unwrap_err();
        assert!(error.contains(why) && error.contains(FORM), "{text}: {error}");
    }
}

#[test]
fn a_condition_about_nothing_names_what_there_is() {
    let about = |text: &str| text.parse::<Condition>().unwrap().fulfilled(&report()).unwrap_err();
    let error = about("p99(insert) > 5ns");
    assert!(error.contains("no such series") && error.contains("hold, memory"), "{error}");
    let error = about("p99(hold[structure=heap]) > 5ns");
    let labels = "the labels of hold are: n 16; structure list/slab, wheel/slab";
    assert!(error.contains("no such series") && error.contains(labels), "{error}");
    assert!(about("max(memory) > 5ns").contains("not in the unit"));
}
