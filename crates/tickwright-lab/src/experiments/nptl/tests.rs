mod parts;

use std::sync::{Arc, Mutex};

use super::cli::Threads;
use super::column::{Cell, Column};
use super::figures::times;
use super::model::{Knobs, Model};
use super::plot::{self, Panel, Series};
use super::published::{self, RATIOS};
use super::report::Report;
use super::rules::{Bodies, Maker, Ring, Share, at_once, shares, whole};
use super::table::{self, By, Plan, Sample, Table};
use super::verify;
use crate::clock::{Calibration, OsClock};
use crate::host::Host;
use crate::stats;

#[test]
fn starts_and_threads_are_divided_by_what_is_left() {
    let share = |starts, slots| Share { starts, slots };
    assert_eq!(shares(10, 4, 4), [share(2, 1), share(2, 1), share(3, 1), share(3, 1)]);
    assert_eq!(shares(100_000, 30, 3), [share(33_333, 10), share(33_333, 10), share(33_334, 10)]);
    assert_eq!(shares(5, 2, 7), [share(2, 1), share(3, 1)], "no more toplevel threads than threads");
    assert_eq!(shares(1, 3, 3), [share(0, 1), share(0, 1), share(1, 1)], "some have nothing to start");
    assert_eq!(shares(5, 0, 0), [share(5, 1)]);
    for (starts, threads, toplevel) in [(100_000, 200, 20), (99_999, 201, 19), (7, 13, 5)] {
        let all = shares(starts, threads, toplevel);
        assert_eq!(all.iter().map(|share| share.starts).sum::<u64>(), starts);
        assert_eq!(all.iter().map(|share| share.slots).sum::<usize>(), threads);
    }
}

#[test]
fn a_ring_gives_back_in_the_order_of_creation() {
    let mut ring = Ring::new(3);
    let mut out = Vec::new();
    for thread in 0..8 {
        out.extend(ring.leave());
        ring.enter(thread);
    }
    assert_eq!(out, [0, 1, 2, 3, 4]);
    assert_eq!(ring.rest().collect::<Vec<_>>(), [5, 6, 7], "from the current slot on");
    let mut ring = Ring::new(5);
    ring.enter('a');
    ring.enter('b');
    assert_eq!(ring.rest().collect::<String>(), "ab", "not all slots used");
}

/// Runs a body where it is created, and writes down creations and joins.
#[derive(Debug, Clone, Default)]
struct Logged(Arc<Mutex<Log>>);

#[derive(Debug, Default)]
struct Log {
    lines: Vec<String>,
    created: usize,
    refuse_from: Option<usize>,
}

impl Maker for Logged {
    type Thread = (usize, usize);

    fn create<B: FnOnce() -> usize + Send + 'static>(&self, body: B) -> Result<Self::Thread, String> {
        let thread = {
            let mut log = self.0.lock().unwrap();
            let thread = log.created;
            if log.refuse_from.is_some_and(|from| thread >= from) {
                return Err("no more threads".into());
            }
            log.created += 1;
            log.lines.push(format!("+{thread}"));
            thread
        };
        Ok((thread, body()))
    }

    fn join(&self, (thread, value): Self::Thread) -> Result<usize, String> {
        self.0.lock().unwrap().lines.push(format!("-{thread}"));
        Ok(value)
    }
}

#[test]
fn a_toplevel_thread_joins_before_it_reuses_a_slot() {
    let maker = Logged::default();
    assert_eq!(whole(&maker, &shares(5, 2, 1), &at_once), Ok(5));
    // Thread 0 is the toplevel thread.
    assert_eq!(maker.0.lock().unwrap().lines.join(" "), "+0 +1 +2 -1 +3 -2 +4 -3 +5 -4 -5 -0");
}

#[test]
fn the_main_thread_joins_the_toplevel_ones_in_order() {
    let maker = Logged::default();
    assert_eq!(whole(&maker, &shares(3, 2, 2), &at_once), Ok(3));
    assert_eq!(maker.0.lock().unwrap().lines.join(" "), "+0 +1 -1 +2 +3 -3 +4 -4 -0 -2");
}

#[test]
fn when_no_thread_is_left_those_that_exist_are_joined() {
    let maker = Logged::default();
    maker.0.lock().unwrap().refuse_from = Some(4);
    assert_eq!(whole(&maker, &shares(9, 2, 1), &at_once), Err("no more threads".into()));
    assert_eq!(maker.0.lock().unwrap().lines.join(" "), "+0 +1 +2 -1 +3 -2 -3 -0");
}

#[test]
fn what_was_published_agrees_with_itself() {
    let [first, second, both] = RATIOS;
    assert!((first.times * second.times - both.times).abs() < 1e-9);
    assert_eq!((first.slow, first.fast, second.fast), (both.slow, second.slow, both.fast));
    assert_eq!(published::model_of("NPTL"), Some(Model::OneToOne));
    assert_eq!(published::model_of("NGPT"), Some(Model::Ngpt));
    assert_eq!(published::model_of("GNU Pth"), None);
}

fn small() -> Plan {
    Plan {
        columns: Column::all(),
        toplevel: vec![1, 3],
        children: vec![1, 2],
        starts: 20,
        rounds: 2,
        knobs: Knobs::default(),
        seed: 1,
    }
}

#[test]
fn every_column_runs_in_every_cell() {
    let plan = small();
    let table = table::run(&plan, OsClock::start()).unwrap();
    assert_eq!(table.samples.len(), plan.columns.len() * 2 * 2 * 2);
    for &column in &plan.columns {
        for (p, c) in [(1, 1), (1, 2), (3, 1), (3, 2)] {
            assert!(table.cell(column, p, c).is_some_and(|ns| ns > 0.0), "{}", column.name());
        }
    }
}

#[test]
fn threads_of_every_model_look_at_themselves() {
    for model in Model::ALL {
        for (toplevel, children) in [(1, 1), (1, 10), (3, 4)] {
            let cell = Cell { toplevel, children, starts: 60 };
            assert_eq!(verify::run(model, &Knobs::default(), cell, OsClock::start()), Ok(60), "{model:?}");
        }
    }
}

#[test]
fn a_stack_that_is_not_ones_own_is_seen() {
    assert_eq!(verify::stands(15, &(10..20), &(20..30)), Ok(()));
    assert_eq!(verify::stands(20, &(10..20), &(30..40)), Err("does not stand on its own stack"));
    assert_eq!(verify::stands(15, &(10..20), &(0..11)), Err("shares its creator's stack"));
    assert_eq!(verify::stands(15, &(10..20), &(10..20)), Err("shares its creator's stack"));
}

#[test]
fn a_thread_that_returns_something_else_is_an_error() {
    fn two(_: usize, _: u64) -> fn() -> usize {
        || 2
    }
    let cell = Cell { toplevel: 1, children: 1, starts: 3 };
    for column in Column::all() {
        let (sum, _) = column.run(&Knobs::default(), cell, &two, OsClock::start()).unwrap();
        assert_eq!(sum, 6, "{}", column.name());
    }
    assert_eq!(two.body(0, 0)(), 2);
}

/// Two columns, one of which takes `factor` times as long.
fn made_up(rounds: usize, factor: u64) -> Table {
    let (fast, slow) = (Column::Ours(Model::OneToOne), Column::Std);
    let mut samples = Vec::new();
    for round in 1..=rounds {
        for (toplevel, children, ns) in [(1, 1, 8000), (1, 2, 2000), (2, 1, 4000), (2, 2, 6000)] {
            let noise = round as u64;
            samples.push(Sample { round, column: fast, toplevel, children, ns: ns + noise });
            samples.push(Sample { round, column: slow, toplevel, children, ns: (ns + noise) * factor });
        }
    }
    let (toplevel, children) = (vec![1, 2], vec![1, 2]);
    Table { columns: vec![fast, slow], toplevel, children, starts: 1, rounds, samples }
}

#[test]
fn summaries_take_the_least_over_the_other_dimension() {
    let table = made_up(1, 3);
    let fast = Column::Ours(Model::OneToOne);
    assert_eq!(table.summary(fast, By::Toplevel), [Some(2001.0), Some(4001.0)]);
    assert_eq!(table.summary(fast, By::Children), [Some(4001.0), Some(2001.0)]);
    assert_eq!(table.summary(Column::May, By::Children), [None, None]);
}

#[test]
fn ratios_are_of_complete_rounds() {
    let mut table = made_up(6, 3);
    let (fast, slow) = (Column::Ours(Model::OneToOne), Column::Std);
    let ratio = table.ratio(slow, fast).unwrap();
    assert!((ratio.median - 3.0).abs() < 1e-9 && ratio.samples == 6);
    assert_eq!(times(&ratio), "3.00x (3.00 to 3.00)");
    table.samples.pop();
    let ratio = table.ratio(slow, fast).unwrap();
    assert_eq!(ratio.samples, 5, "an interrupted round says nothing");
    assert_eq!(times(&ratio), "3.00x (range 3.00 to 3.00)");
    assert_eq!(table.ratio(Column::May, fast), None);
}

#[test]
fn ranges_of_threads_are_read_and_refused() {
    let read = |text| Threads::parse(text).map(|threads| threads.0);
    assert_eq!(read("3"), Ok(vec![3]));
    assert_eq!(read("1..4"), Ok(vec![1, 2, 3, 4]));
    assert_eq!(read("5,1..2,5"), Ok(vec![1, 2, 5]));
    for wrong in ["", "0", "-1", "1..", "4..2", "1..1001", "a", "1,,2", "1..2..3"] {
        assert!(read(wrong).unwrap_err().contains("from 1 to 1000"), "{wrong}");
    }
    assert_eq!(Threads(vec![1, 2, 3]).to_string(), "1..3");
    assert_eq!(Threads(vec![1, 3]).to_string(), "1,3");
    assert_eq!(Threads(vec![4]).to_string(), "4");
    assert!(Column::parse("pth").unwrap_err().contains("one-to-one"));
    assert_eq!(Column::parse("tokio"), Ok(Column::Tokio));
    assert_eq!(
        (Column::parse("mn"), Column::parse("m:n")),
        (Ok(Column::Ours(Model::ManyToMany)), Ok(Column::Ours(Model::ManyToMany)))
    );
}

fn report(table: Table) -> Report {
    let clock = Calibration { cost_ns: 20.0, cost_p99_ns: 30, resolution_ns: 1 };
    let mut report = Report::new(Host::default(), clock, 1);
    report.table = Some(table);
    report
}

#[test]
fn a_report_shows_cells_summaries_and_ratios() {
    let shown = report(made_up(1, 3)).text();
    for words in ["C=1", "P=2", "2.00", "Least time over C", "Least time over P", "a one-to-one   b std"] {
        assert!(shown.contains(words), "{words} is missing in:\n{shown}");
    }
    assert_eq!(report(made_up(1, 3)).lines().len(), 8);
}

#[test]
fn plots_have_a_point_for_each_figure() {
    let series =
        |name: &str, figures: [Option<f64>; 3]| Series { name: name.into(), figures: figures.to_vec() };
    let all =
        [series("x", [Some(0.1), Some(1.0), None]), series("<y>", [Some(10.0), Some(10.0), Some(100.0)])];
    let text = plot::text(&all, &[1, 2, 3], "us");
    assert_eq!(text.matches('a').count(), 3, "two points and the legend:\n{text}");
    assert!(text.starts_with("  100 us |        b"), "{text}");
    let panel = Panel { title: "t".into(), across: "k".into(), keys: vec![1, 2, 3], series: all.to_vec() };
    let svg = plot::svg(&[panel], "us");
    assert_eq!((svg.matches("<polyline").count(), svg.matches("<circle").count()), (2, 5));
    assert!(svg.contains("&lt;y&gt;") && !svg.contains("NaN"));
    assert_eq!(plot::text(&[], &[], "us"), "");
    assert!(
        !plot::svg(
            &[Panel { title: String::new(), across: String::new(), keys: vec![], series: vec![] }],
            "us"
        )
        .contains("NaN")
    );
}

#[test]
fn one_round_has_no_interval() {
    let one = stats::ratios(&[4.0], &[2.0]).unwrap();
    assert_eq!(times(&one), "2.00x (range 2.00 to 2.00)");
}
