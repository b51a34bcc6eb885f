//! The report as a reader sees it.

use super::args;
use super::parts::made_up;
use crate::experiment::Experiment;
use crate::experiments::nptl::Data;
use crate::experiments::nptl::column::Column;
use crate::experiments::nptl::table::{Measured, Table};
use crate::render;
use crate::stats::Verdict;

/// Returns six rounds with values around `ns`.
fn rounds(ns: f64) -> Vec<f64> {
    (0..6).map(|round| ns * (1.0 + f64::from(round) / 100.0)).collect()
}

/// Times in ns, in the order of the columns.
const NS: [f64; 7] = [18_000.0, 250.0, 12_000.0, 62_000.0, 40_000.0, 1200.0, 450.0];

fn table() -> Table {
    let (toplevel, children) = (vec![1, 4, 20], vec![1, 10]);
    let cell = |p: usize, c: usize| {
        let grown = |ns: f64| rounds(ns * (1.0 + p as f64 / 20.0) * (1.0 + c as f64 / 50.0));
        Measured { toplevel: p, children: c, ns: NS.map(grown).to_vec() }
    };
    let cells = toplevel.iter().flat_map(|&p| children.iter().map(move |&c| cell(p, c))).collect();
    Table { columns: Column::all(), toplevel, children, starts: 1000, verified: 1600, cells }
}

fn data() -> Data {
    Data { table: Some(table()), ladder: Some(made_up([0.67, 0.03, 0.028, 0.021, 0.012, 0.010, 0.011])) }
}

#[test]
fn all_parts() {
    let args = args("");
    let (plan, data) = (args.plan().unwrap(), data());
    let findings = args.findings(&plan, &data);
    let sections = args.sections(&plan, &data, &findings);
    insta::assert_snapshot!(render::sections(&sections));
    let headline = &findings[0];
    assert_eq!(headline.about, "do M:N threads lose to kernel threads? (100,000 created and joined, 2002)");
    assert_eq!(headline.published.as_deref(), Some("NGPT took 4.00x as long as NPTL"));
    assert_eq!(headline.here, "NGPT's way takes 0.67x as long, m:n of today 0.014x");
    assert_eq!(headline.verdict, Verdict::Faster);
    assert!(findings.iter().all(|finding| finding.here.chars().count() <= 64), "{findings:?}");
    let samples = args.series(&plan, &data).len();
    assert_eq!(samples, 6 * 7 + 8);
}

/// Ctrl-C arrives before the first sample.
#[test]
fn nothing_measured_is_nothing_shown() {
    let args = args("");
    let plan = args.plan().unwrap();
    let mut table = table();
    table.cells.iter_mut().flat_map(|cell| &mut cell.ns).for_each(Vec::clear);
    let data = Data { table: Some(table), ..Data::default() };
    let findings = args.findings(&plan, &data);
    assert_eq!(findings, []);
    let text = render::sections(&args.sections(&plan, &data, &findings));
    assert!(!text.contains("Least") && !text.contains("NaN") && text.contains("its threads"), "{text}");
    assert!(args.series(&plan, &data).is_empty());
}
