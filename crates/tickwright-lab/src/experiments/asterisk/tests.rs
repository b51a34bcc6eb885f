use core::time::Duration;

use tickwright::service::Structure;

use super::column::{Column, Mode, Then};
use super::comparisons::{self, Sequence};
use super::power::Power;
use super::published::ROWS;
use super::report::{Report, span};
use super::sample::Sample;
use super::table::{Cell, Growth, Plan, Table, What};
use super::{table, verify};
use crate::clock::{Calibration, OsClock};
use crate::experiments::crossover::{Crossover, Point};
use crate::host::Host;

fn every_column() -> Vec<Column> {
    let mut columns = Column::THEN.to_vec();
    columns.extend(Structure::all().into_iter().map(Column::Ours));
    columns
}

#[test]
fn what_is_printed_of_2009_agrees_with_itself() {
    for row in ROWS {
        for times in [row.list, row.heap] {
            let off = (times.add + times.del - times.total).abs() / times.total;
            assert!(off < 0.02, "N = {}: {times:?}", row.n);
        }
        let percent = 100.0 * row.heap.total / row.list.total;
        assert!((percent - row.percent).abs() < 0.2, "N = {}: {percent}", row.n);
    }
}

#[test]
fn every_scheduler_runs_a_script_as_sorting_orders_it() {
    for n in [1, 2, 3, 50, 700] {
        for seed in 0..4 {
            verify::run(&every_column(), n, seed).unwrap();
        }
    }
}

#[test]
fn a_power_law_is_found_again() {
    let points: Vec<(usize, f64)> =
        [100, 1000, 5000, 10_000].into_iter().map(|n| (n, 3.0 * (n as f64).powf(1.7))).collect();
    let law = Power::fit(&points).unwrap();
    assert!((law.exponent - 1.7).abs() < 1e-9 && (law.factor / 3.0 - 1.0).abs() < 1e-9, "{law:?}");
    assert_eq!(law.on, [1000, 5000, 10_000], "small ones are left out");
    let at = 3.0 * 1e6f64.powf(1.7);
    assert!((law.at(1_000_000) / at - 1.0).abs() < 1e-9);
    let far = Power::fit(&[(10, 1.0), (1_000_000, 4.0)]).unwrap();
    assert_eq!(far.on, [10, 1_000_000], "two it takes in any case");
    assert_eq!(Power::fit(&[(10, 1.0), (10, 2.0)]), None);
    assert_eq!(Power::fit(&[]), None);
}

/// What does not fit is left to the power law, after trials alone too.
#[test]
fn a_budget_bounds_what_is_measured() {
    let columns = vec![Column::Then(Then::Heap), Column::Ours(Structure::default())];
    let plan =
        Plan { columns, sizes: vec![100, 8_000_000], rounds: 2, budget: Duration::from_millis(1), seed: 1 };
    let table = table::run(&plan, OsClock::start()).unwrap();
    for &column in &plan.columns {
        for what in What::ALL {
            assert!(!table.figure(column, 100, what).unwrap().extrapolated);
            let far = table.figure(column, 8_000_000, what).unwrap();
            assert!(far.extrapolated && far.ns > 0.0);
        }
        assert!(table.ratio(column, plan.columns[0], 8_000_000).is_none());
    }
    assert_eq!(table.growths.len(), 2);
}

#[test]
fn a_heap_keeps_its_bounds_and_a_list_has_none() {
    for n in [1, 2, 3, 1000] {
        let (add, del) = comparisons::heap_bounds(n);
        for row in comparisons::run(n) {
            match row.structure {
                "heap" => assert!(row.add.most <= add && row.del.most <= del, "{row:?}"),
                "list" => assert_eq!(row.del.most, 0, "it is unlinked"),
                // Twice the levels of a perfect tree, and the leaf.
                _ => assert!(row.add.most <= 2 * (u64::from(n) + 1).ilog2() as u64 + 1, "{row:?}"),
            }
        }
    }
    let rows = comparisons::run(1000);
    let worst = rows.iter().find(|row| row.structure == "list" && row.sequence == Sequence::Equal).unwrap();
    assert!(worst.add.most >= 999, "{worst:?}");
}

fn cell(column: Column, n: usize, totals: &[u64]) -> Cell {
    let samples = totals.iter().map(|&ns| Sample { add_ns: ns, del_ns: 0 }).collect();
    Cell { column, n, samples }
}

/// The list and the heap of 2009 at 100 and at 1000, and the list not at 100,000.
fn made_up(list: [&[u64]; 2], heap: [&[u64]; 2]) -> Table {
    let columns = vec![Column::Then(Then::List), Column::Then(Then::Heap)];
    let growth = |column| {
        let law = |exponent| Power { exponent, factor: 1.0, on: vec![100, 1000] };
        Growth { column, add: law(2.0), del: law(1.0) }
    };
    Table {
        sizes: vec![100, 1000, 100_000],
        cells: vec![
            cell(columns[0], 100, list[0]),
            cell(columns[1], 100, heap[0]),
            cell(columns[0], 1000, list[1]),
            cell(columns[1], 1000, heap[1]),
            cell(columns[0], 100_000, &[]),
            cell(columns[1], 100_000, &[1_000_000; 9]),
        ],
        growths: vec![growth(columns[0]), growth(columns[1])],
        columns,
    }
}

fn report() -> Report {
    let clock = Calibration { cost_ns: 20.0, cost_p99_ns: 30, resolution_ns: 1 };
    Report::new(Host::default(), clock, Duration::from_secs(10), 0)
}

fn text(table: Table) -> String {
    Report { table: Some(table), ..report() }.text()
}

#[test]
fn what_is_extrapolated_is_marked_and_its_exponent_said() {
    let same = [&[100; 9][..], &[100; 9]];
    let text = text(made_up(same, same));
    // 100,000 squared, and as much for the deletes: ns.
    assert!(text.contains("10.0 s~"), "{text}");
    assert!(text.contains("list as in 2009: add ~ N^2.00, del ~ N^1.00, fitted on N = 100, 1k"), "{text}");
    assert!(text.contains("would take more than --budget 10s"), "{text}");
    assert!(!text.contains("heap as in 2009: add ~"), "it was measured everywhere: {text}");
    assert!(text.contains("53.8 s") && text.contains("0.01"), "{text}");
}

#[test]
fn the_published_shape_is_judged_where_something_was_shown() {
    let [even, more, wild] = [&[100; 9][..], &[300; 9], &[50, 300, 60, 310, 70, 320, 80, 330, 90]];
    let verdict = |list, heap| {
        let text = text(made_up(list, heap));
        let from = text.find("The published shape").unwrap();
        text[from..].lines().next().unwrap().to_owned()
    };
    assert!(verdict([even, more], [even, even]).contains(" holds, faithful"));
    assert!(verdict([more, more], [even, even]).contains("does NOT hold"), "slower at 100");
    assert!(verdict([even, even], [even, more]).contains("does NOT hold"), "faster at 1000");
    assert!(verdict([even, wild], [even, even]).contains("is not shown"));
    let mut table = made_up([even, more], [even, even]);
    table.sizes = vec![1000];
    assert!(text(table).contains("needs an N up to 100"));
}

#[test]
fn the_crossover_is_told_in_words() {
    let [list, best] = [Column::Ours("list".parse().unwrap()), Column::Ours(Structure::default())];
    let point = Point::of(8, &[130.0; 7], &[(best, &[100.0; 7])]).unwrap();
    let text = Report { crossovers: vec![Crossover { list, points: vec![point] }], ..report() }.text();
    assert!(
        text.contains("nowhere shown to be faster than the best; it is behind from the smallest N on"),
        "{text}"
    );
}

#[test]
fn times_are_written_as_the_published_ones() {
    let written = [686.7e9, 149.8e6, 4.28e6, 0.334e3, 53.8e9].map(span);
    assert_eq!(written, ["686.7 s", "149.8 ms", "4.28 ms", "0.334 us", "53.8 s"]);
}

/// What goes into files: a line a sample, and one without a round for what was extrapolated.
#[test]
fn a_line_says_whether_it_was_measured() {
    let even = [&[100; 2][..], &[100; 2]];
    let report = Report { table: Some(made_up(even, even)), ..report() };
    let lines = serde_json::to_value(report.lines()).unwrap();
    let lines = lines.as_array().unwrap();
    assert_eq!(lines.len(), 4 * 2 + 1 + 9);
    let without: Vec<_> = lines.iter().filter(|line| line["round"].is_null()).collect();
    assert_eq!(
        (without.len(), &without[0]["structure"], &without[0]["n"]),
        (1, &"list".into(), &100_000.into())
    );
    assert_eq!(serde_json::to_value(Mode::Faithful).unwrap(), "faithful");
}
