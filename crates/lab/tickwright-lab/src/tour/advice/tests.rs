use super::*;
use crate::result::{Unit, labels};
use crate::tour::tests::report;

/// Returns a series with samples around `ns`, in the form of a bench report.
fn series(scenario: &'static str, structure: &'static str, n: u64, ns: f64) -> Series {
    let of = labels([("scenario", scenario.into()), ("structure", structure.into()), ("n", n.into())]);
    Series::new("hold", Unit::Ns, of).per("operation").of([ns; 7])
}

/// Returns a report of rows: a structure, and its time at each population. A time of 0 means that
/// the structure was not measured.
fn bench<const N: usize>(
    experiment: &str,
    scenario: &'static str,
    n: [u64; N],
    rows: &[(&'static str, [f64; N])],
) -> Report {
    let mut report = report(experiment);
    for (structure, medians) in rows {
        let points = n.into_iter().zip(*medians).filter(|(_, ns)| *ns > 0.0);
        report.series.extend(points.map(|(n, ns)| series(scenario, structure, n, ns)));
    }
    report
}

const N: [u64; 5] = [1, 16, 1000, 100_000, 1_000_000];

fn hold(rows: &[(&'static str, [f64; 5])]) -> Report {
    bench("bench hold", "hold-exp-sparse", N, rows)
}

fn lines(reports: &[Report]) -> Vec<String> {
    advice(reports).iter().map(Advice::line).collect()
}

#[test]
fn every_population_gets_a_structure_of_ours_and_the_rival_that_beats_it_is_named() {
    let report = hold(&[
        ("flat/slab", [10.0, 20.0, 0.0, 0.0, 0.0]),
        ("ladder/slab", [15.0, 30.0, 90.0, 210.0, 400.0]),
        ("heap4/slab", [30.0, 40.0, 80.0, 200.0, 420.0]),
        ("list/hook", [9.0, 20.0, 400.0, 0.0, 0.0]),
        ("rb-cached/hook", [30.0, 45.0, 90.0, 300.0, 900.0]),
        ("orx-4ary", [30.0, 40.0, 50.0, 190.0, 390.0]),
    ]);
    assert_eq!(
        lines(&[report]),
        [
            "in a queue that owns its timers: 1 to 16 timers flat/slab, 10 to 20 ns; \
             17 to 1M timers ladder/slab, 90 to 400 ns (orx-4ary of others: 50 at 1k)",
            "in your own structs, without an allocator: 1 to 16 timers list/hook, 9.0 to 20 ns; \
             17 to 1M timers rb-cached/hook, 90 to 900 ns",
        ]
    );
}

/// The fastest structure in the middle is not the fastest at either end.
#[test]
fn curves_that_are_not_monotone_leave_no_hole() {
    let report = hold(&[
        ("heap4/slab", [10.0, 60.0, 90.0, 500.0, 100.0]),
        ("wheel/slab", [30.0, 40.0, 50.0, 400.0, 200.0]),
        ("ladder/slab", [50.0, 90.0, 100.0, 300.0, 300.0]),
    ]);
    let ranges = advice(&[report]).remove(0).ranges;
    let timers: Vec<&str> = ranges.iter().map(|(timers, _)| timers.as_str()).collect();
    assert_eq!(timers, ["1 timer", "2 to 1k timers", "1001 to 1M timers"]);
    let take: Vec<&str> = ranges.iter().map(|(_, take)| take.split(',').next().unwrap()).collect();
    // There are at most three ranges, so the third range goes to the structure with the least worst
    // case.
    assert_eq!(take, ["heap4/slab", "wheel/slab", "heap4/slab"]);
    assert!(ranges[2].1.contains("(at most 1.67x of the fastest)"), "{ranges:?}");
}

#[test]
fn fifteen_percent_are_a_tie_and_twenty_five_are_none() {
    let against = |more: f64| {
        let times = [10.0, 20.0, 40.0, 80.0, 160.0];
        let report = hold(&[("heap4/slab", times), ("ladder/slab", times.map(|ns| ns * more))]);
        lines(&[report]).remove(0)
    };
    // The default wins a tie.
    assert!(against(1.15).ends_with(": 1 to 1M timers ladder/slab, 12 to 184 ns"), "{}", against(1.15));
    assert!(against(1.25).ends_with(": 1 to 1M timers heap4/slab, 10 to 160 ns"), "{}", against(1.25));
    // Another project's structure is named if it is faster by more than the same margin.
    let beside = |rival: f64| {
        let report = hold(&[("heap4/slab", [100.0; 5]), ("binary-heap", [rival; 5])]);
        lines(&[report]).remove(0).contains("binary-heap of others")
    };
    assert!(!beside(100.0 / 1.15) && beside(100.0 / 1.25));
}

#[test]
fn a_structure_that_is_late_is_advised_for_that_question_alone() {
    let report = hold(&[
        ("heap4/slab", [10.0, 40.0, 80.0, 200.0, 400.0]),
        ("wheel/hook", [10.0, 40.0, 80.0, 200.0, 400.0]),
        ("coarse/slab", [9.0, 20.0, 79.0, 50.0, 60.0]),
        ("coarse/hook", [9.0, 19.0, 79.0, 52.0, 61.0]),
    ]);
    let lines = lines(&[report]);
    assert_eq!(lines[0], "in a queue that owns its timers: 1 to 1M timers heap4/slab, 10 to 400 ns");
    assert_eq!(
        lines[1],
        "in your own structs, without an allocator: 1 to 1M timers wheel/hook, 10 to 400 ns"
    );
    assert_eq!(
        lines[2],
        "where 8/63 of the delay late is fine: 16 timers coarse/hook, 19 ns; \
         100k to 1M timers coarse/slab, 50 to 60 ns"
    );
    assert_eq!(lines.len(), 3);
}

#[test]
fn time_outs_are_advised_on_from_their_own_report_and_only_then() {
    let hold = hold(&[("heap4/slab", [10.0; 5])]);
    let n = [1000, 100_000];
    let mut network =
        bench("bench network", "network", n, &[("wheel/hook", [10.0, 20.0]), ("heap4/slab", [90.0; 2])]);
    let one_delay = bench(
        "bench network",
        "one-delay",
        n,
        &[("fixed-delay/slab", [8.0, 9.0]), ("wheel/hook", [20.0; 2])],
    );
    network.series.extend(one_delay.series);
    assert_eq!(
        lines(&[hold.clone(), network])[1..],
        [
            "time-outs, mostly moved or cancelled: 1k to 100k timers wheel/hook, 10 to 20 ns",
            "the same, all of one delay: 1k to 100k timers fixed-delay/slab, 8.0 to 9.0 ns",
        ]
    );
    assert_eq!(lines(&[hold]).len(), 1, "without the report there is no such advice");
}

#[test]
fn nothing_measured_says_nothing() {
    assert_eq!(lines(&[]), Vec::<String>::new());
    assert_eq!(lines(&[report("bench hold")]), Vec::<String>::new());
    // If a report has only other projects' structures, there is no advice.
    assert_eq!(lines(&[hold(&[("orx-4ary", [1.0; 5])])]), Vec::<String>::new());
}

/// Returns advice in which every population has a different winner, so that the advice is as long
/// as possible.
pub(in crate::tour) fn longest() -> Vec<Advice> {
    let n = [1, 4, 16, 64, 256, 1000, 10_000, 100_000, 1_000_000];
    let slabs = ["flat/slab", "fixed-delay/slab", "ladder/slab", "wheel/slab"];
    let hooks = ["flat/hook", "fixed-delay/hook", "rb-cached/hook", "wheel/hook"];
    let mut rows = vec![("orx-4ary", [100.0; 9]), ("coarse/slab", [0.0; 9])];
    for (at, id) in slabs.into_iter().chain(hooks).enumerate() {
        let time = |n: usize| if n % 4 == at % 4 { 1234.0 } else { 2345.0 };
        rows.push((id, core::array::from_fn(time)));
    }
    rows[1].1 = core::array::from_fn(|n| if n % 2 == 0 { 1000.0 } else { 9999.0 });
    let hold = bench("bench hold", "hold-exp-sparse", n, &rows);
    let two = [1000, 100_000];
    let rows =
        [("fixed-delay/slab", [1234.0, 2345.0]), ("ladder/slab", [2345.0, 1234.0]), ("orx-4ary", [100.0; 2])];
    let mut network = bench("bench network", "network", two, &rows);
    network.series.extend(bench("bench network", "one-delay", two, &rows).series);
    let all = advice(&[hold, network]);
    assert_eq!(all.len(), 5);
    all
}
