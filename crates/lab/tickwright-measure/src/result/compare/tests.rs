use super::super::{Unit, empty, labels};
use super::*;
use crate::render;

fn report(ns: f64, rate: f64) -> Report {
    let samples = |middle: f64| (0..9).map(move |i| middle * (1.0 + 0.001 * f64::from(i)));
    let mut report = empty("bench hold");
    report.series = vec![
        Series::new("hold", Unit::Ns, labels([("n", 16_u32.into())])).of(samples(ns)),
        Series::new("rate", Unit::PerSecond, labels([])).better(Better::Higher).of(samples(rate)),
        Series::new("calls", Unit::Count, labels([])).better(Better::Neither).of(samples(5.0)),
    ];
    report
}

fn words(first: &Report, second: &Report) -> Vec<&'static str> {
    compare(first, second).unwrap().iter().map(Compared::words).collect()
}

#[test]
fn two_runs_of_one_command_show_no_difference() {
    let none = "no difference shown";
    assert_eq!(words(&report(10.0, 5.0), &report(10.5, 5.2)), [none; 3]);
    let compared = compare(&report(10.0, 5.0), &report(10.0, 5.0)).unwrap();
    let text = render::sections(&sections("a.json", "b.json", &compared));
    assert!(text.contains("No difference is shown between a.json and b.json."), "{text}");
}

#[test]
fn what_became_worse_is_named_in_its_own_direction() {
    assert_eq!(words(&report(10.0, 5.0), &report(15.0, 5.0))[..2], ["WORSE", "no difference shown"]);
    assert_eq!(words(&report(10.0, 5.0), &report(6.0, 2.0))[..2], ["better", "WORSE"]);
    assert_eq!(words(&report(10.0, 5.0), &report(10.0, 9.0))[1], "better");
    let compared = compare(&report(10.0, 5.0), &report(15.0, 5.0)).unwrap();
    let text = render::sections(&sections("a.json", "b.json", &compared));
    assert!(text.contains("One of 3 series differs: hold (n 16)."), "{text}");
    assert!(text.contains("1.50x"), "{text}");
}

#[test]
fn a_reference_row_is_neither_better_nor_worse() {
    let of = |row: &'static str, ns: f64| {
        let mut report = report(ns, 5.0);
        report.series[0].labels = labels([("structure", row.into())]);
        report
    };
    assert_eq!(words(&of("list/slab", 10.0), &of("list/slab", 15.0))[0], "WORSE");
    assert_eq!(words(&of("(floor)", 10.0), &of("(floor)", 15.0))[0], "more");
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let other = empty("bench memory");
    let error = compare(&report(1.0, 1.0), &other).unwrap_err().to_string();
    assert!(error.contains("`bench hold`") && error.contains("`bench memory`"), "{error}");
    let error = compare(&report(1.0, 1.0), &empty("bench hold")).unwrap_err().to_string();
    assert!(error.contains("no series in common"), "{error}");
}

/// A series with another size is a different series, and the order of the series does not matter.
#[test]
fn series_are_matched_by_their_labels() {
    let hold = |n: u32, ns: f64| {
        let samples = (0..9).map(move |i| ns * (1.0 + 0.001 * f64::from(i)));
        Series::new("hold", Unit::Ns, labels([("n", n.into())])).of(samples)
    };
    let of = |series: [Series; 2]| Report { series: series.into(), ..empty("bench hold") };
    let first = of([hold(16, 10.0), hold(1000, 90.0)]);
    let second = of([hold(1000, 91.0), hold(16, 10.0)]);
    assert_eq!(words(&first, &second), ["no difference shown"; 2]);
    let titles: Vec<_> = compare(&first, &second).unwrap().into_iter().map(|one| one.title).collect();
    assert_eq!(titles, ["hold (n 1000)", "hold (n 16)"]);
    let third = of([hold(17, 10.0), hold(1000, 900.0)]);
    assert_eq!(words(&first, &third), ["WORSE"]);
}
