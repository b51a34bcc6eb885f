use super::*;
use crate::result::{Unit, labels};
use crate::tour::tests::report;

/// A series with samples around `ns`, in the form of a bench report.
fn series(structure: &'static str, n: u64, ns: f64) -> Series {
    let of = labels([("structure", structure.into()), ("n", n.into())]);
    Series::new("hold", Unit::Ns, of).per("operation").of([ns; 7])
}

fn hold(rows: &[(&'static str, [f64; 3])]) -> Report {
    let mut report = report("bench hold");
    for (structure, medians) in rows {
        let populations = [16, 1000, 100_000].into_iter().zip(medians);
        report
            .series
            .extend(populations.filter(|(_, ns)| **ns > 0.0).map(|(n, ns)| series(structure, n, *ns)));
    }
    report
}

#[test]
fn each_line_answers_from_medians_of_ours() {
    let report = hold(&[
        ("list/hook", [20.0, 400.0, 0.0]),
        ("heap4/slab", [40.0, 80.0, 200.0]),
        ("rb-cached/hook", [45.0, 90.0, 300.0]),
        ("coarse/slab", [90.0, 60.0, 100.0]),
        // The advice never names a rival.
        ("orx-4ary", [1.0, 1.0, 1.0]),
    ]);
    assert_eq!(
        advice(&[report]),
        [
            "up to 16 timers: list/hook, 20 ns at n=16",
            "in exact order, from 1k timers on: heap4/slab, 200 ns at n=100k",
            "fastest of all, from 1k timers on: coarse/slab, 100 ns at n=100k (late by at most its bucket)",
            "without an allocator: rb-cached/hook, 300 ns at n=100k",
        ]
    );
}

#[test]
fn a_list_that_never_keeps_up_is_no_advice() {
    let report = hold(&[("list/hook", [100.0, 400.0, 0.0]), ("heap4/slab", [40.0, 80.0, 200.0])]);
    assert_eq!(advice(&[report])[0], "in exact order, from 16 timers on: heap4/slab, 200 ns at n=100k");
}

#[test]
fn nothing_measured_says_nothing() {
    assert_eq!(advice(&[]), Vec::<String>::new());
    assert_eq!(advice(&[report("bench hold")]), Vec::<String>::new());
}
