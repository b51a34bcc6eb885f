//! The report as a reader sees it.

use tickwright_threads::LEAST_STACK;

use super::args;
use super::parts::made_up;
use crate::experiment::Experiment;
use crate::experiments::nptl::Data;
use crate::experiments::nptl::alive::{Order, Outcome, Row};
use crate::experiments::nptl::column::{Cell, Column};
use crate::experiments::nptl::echo::{self, Load, Wire};
use crate::experiments::nptl::knobs::Settings;
use crate::experiments::nptl::lanes::Lane;
use crate::experiments::nptl::model::{Knobs, Model};
use crate::experiments::nptl::syscalls::{self, Counted};
use crate::experiments::nptl::table::{Measured, Table};
use crate::experiments::nptl::work::{Outcome as Worked, Work};
use crate::limits::Limit;
use crate::render;
use crate::stats::Verdict;

/// Six rounds with values around `ns`.
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

fn counted() -> Counted {
    let row = |model, calls: &[(&str, f64)]| syscalls::Row {
        column: Column::Ours(model),
        calls: calls.iter().map(|(name, calls)| ((*name).to_owned(), *calls)).collect(),
    };
    Counted::Rows(vec![
        row(Model::OneToOne, &[("futex", 3.0), ("clone3", 1.0), ("madvise", 1.0)]),
        row(Model::ManyToMany, &[]),
        row(
            Model::Manager,
            &[("futex", 6.0), ("clone3", 1.0), ("mmap", 1.0), ("munmap", 1.0), ("write", 2.0)],
        ),
    ])
}

fn echoed() -> Vec<echo::Row> {
    let load = Load { wire: Wire::Pipe, connections: 32, in_flight: 16, messages: 313 };
    let row = |(column, ns): (Column, u64)| {
        let sample = echo::Sample { ns: ns * 10_016, p50: 40 * ns, p99: 90 * ns, max: 300 * ns };
        echo::Row { column, load, samples: vec![sample; 6] }
    };
    [(Column::Ours(Model::ManyToMany), 900), (Column::Std, 2100)].map(row).to_vec()
}

fn alive() -> Vec<Row> {
    let order = |model, threads| Order { model, threads, stack: LEAST_STACK, guard: false, workers: None };
    let outcome = Outcome {
        alive: 100_000,
        start_ns: 576_000_000,
        end_ns: 2_043_000_000,
        resident: 447 << 20,
        mapped: 1876 << 20,
        ..Outcome::default()
    };
    let limit =
        Limit { name: "cgroup pids.max".into(), used: 9800, most: 9800, raise: "write N into it".into() };
    let stopped = Outcome {
        alive: 9764,
        stopped: Some("Resource temporarily unavailable".into()),
        limits: vec![limit],
        ..outcome.clone()
    };
    vec![
        Row { order: order(Model::ManyToMany, 100_000), outcome },
        Row { order: order(Model::OneToOne, 100_000), outcome: stopped },
    ]
}

fn data() -> Data {
    let cell = Cell { toplevel: 1, children: 10, starts: 200 };
    let settings = Settings { guard: vec![false], stack: vec![1 << 20], ..Settings::default() };
    let mut knobs = settings.lanes(&[Model::OneToOne, Model::ManyToMany], Knobs::default());
    for (lane, ns) in knobs.iter_mut().zip([18_000.0, 17_000.0, 18_100.0, 250.0, 180.0, 251.0]) {
        lane.ns = rounds(ns);
    }
    let lanes = [(Column::Ours(Model::OneToOne), 2_600_000.0), (Column::Std, 2_610_000.0)];
    let lane = |(column, ns)| Lane { ns: rounds(ns), ..Lane::new("with work", column, Knobs::default()) };
    Data {
        table: Some(table()),
        ladder: Some(made_up([0.67, 0.03, 0.028, 0.021, 0.012, 0.010, 0.011])),
        syscalls: Some(counted()),
        knobs,
        work: Some(Worked {
            work: Work { workload: 75, workcost: 20, draws: 10 },
            cell,
            result: 0x0bad_cafe,
            lanes: lanes.map(lane).to_vec(),
        }),
        io: echoed(),
        alive: alive(),
    }
}

#[test]
fn all_parts() {
    let args = args("--only table,ladder,syscalls,knobs,work,io,alive");
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
    assert_eq!(samples, 6 * 7 + 8 + 8 + 6 + 2 + 2 * 4 + 2 * 5);
}

/// Ctrl-C before the first sample.
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
