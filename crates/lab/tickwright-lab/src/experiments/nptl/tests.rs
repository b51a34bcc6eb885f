mod parts;
#[cfg(feature = "rivals")]
mod shown;

use std::sync::{Arc, Mutex};

use super::args::{NptlArgs, Threads};
use super::column::{Cell, Column};
use super::manager::Manager;
use super::model::{self, Knobs, Model};
use super::published::{FILE, Published, model_of};
use super::rules::{Bodies, Maker, Ring, Share, at_once, shares, whole};
use super::table::{self, By, Measured, Table};
use super::verify;
use crate::clock::OsClock;
use crate::experiments::{request, row};

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

/// Runs a body when the thread is created, and logs creations and joins.
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
    let published: Published = row::published(FILE).unwrap();
    let [first, second, both] = published.ratios.as_slice() else { panic!("{:?}", published.ratios) };
    assert!((first.times * second.times - both.times).abs() < 1e-9);
    assert_eq!((&first.slow, &first.fast, &second.fast), (&both.slow, &second.slow, &both.fast));
    assert_eq!(model_of("NPTL"), Some(Model::OneToOne));
    assert_eq!(model_of("NGPT"), Some(Model::Ngpt));
    assert_eq!(model_of("GNU Pth"), None);
    assert!(published.ratios.iter().all(|ratio| ratio.models().is_some()));
    if cfg!(feature = "rivals") {
        assert!(published.targets.iter().all(|target| target.columns().is_some()));
    }
}

/// Parses arguments from one line.
pub(super) fn args(line: &str) -> NptlArgs {
    request::words(&line.split_whitespace().collect::<Vec<_>>()).unwrap()
}

#[test]
fn every_column_runs_in_every_cell() {
    let plan = args("--toplevel 1,3 --children 1,2 --starts 20 --rounds 2").to_plan().unwrap();
    let table = table::run(&plan, OsClock::start()).unwrap();
    assert_eq!((table.cells.len(), table.columns.len()), (4, Column::all().len()));
    for cell in &table.cells {
        assert!(cell.ns.iter().all(|ns| ns.len() == 2 && ns.iter().all(|ns| *ns > 0.0)), "{cell:?}");
    }
    assert_eq!(table.verified, 4 * 4 * 20, "each model in each corner");
}

#[test]
fn threads_of_every_model_look_at_themselves() {
    for &model in Model::ALL {
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

/// Returns a table of two columns, one of which takes `factor` times as long.
pub(super) fn made_up(rounds: u32, factor: f64) -> Table {
    let cell = |(toplevel, children, ns): (usize, usize, f64)| {
        let fast: Vec<f64> = (1..=rounds).map(|round| ns + f64::from(round)).collect();
        let slow = fast.iter().map(|ns| ns * factor).collect();
        Measured { toplevel, children, ns: vec![fast, slow] }
    };
    Table {
        columns: vec![Column::Ours(Model::OneToOne), Column::Std],
        toplevel: vec![1, 2],
        children: vec![1, 2],
        starts: 1,
        verified: 0,
        cells: [(1, 1, 8000.0), (1, 2, 2000.0), (2, 1, 4000.0), (2, 2, 6000.0)].map(cell).to_vec(),
    }
}

#[test]
fn summaries_take_the_least_over_the_other_dimension() {
    let table = made_up(1, 3.0);
    let fast = Column::Ours(Model::OneToOne);
    assert_eq!([1, 2].map(|p| table.least(fast, By::Toplevel, p)), [Some(2001.0), Some(4001.0)]);
    assert_eq!([1, 2].map(|c| table.least(fast, By::Children, c)), [Some(4001.0), Some(2001.0)]);
    assert_eq!(table.least(Column::May, By::Children, 1), None);
}

#[test]
fn ratios_are_of_complete_rounds() {
    let mut table = made_up(6, 3.0);
    let (fast, slow) = (Column::Ours(Model::OneToOne), Column::Std);
    let ratio = table.ratio(slow, fast).unwrap();
    assert!((ratio.median - 3.0).abs() < 1e-9 && ratio.samples == 6);
    table.cells[3].ns.iter_mut().for_each(|ns| ns.truncate(5));
    assert_eq!(table.ratio(slow, fast).unwrap().samples, 5, "an interrupted round says nothing");
    assert_eq!(table.ratio(Column::May, fast), None);
    assert!((table.cell_ratio(slow, fast, (1, 1)).unwrap().median - 3.0).abs() < 1e-9);
    table.cells[3].ns.iter_mut().for_each(Vec::clear);
    assert_eq!(table.ratio(slow, fast), None, "no round is complete");
}

#[test]
fn numbers_of_threads_are_read_and_refused() {
    let read = |text| Threads::parse(text).map(|threads| threads.0);
    assert_eq!(read("3"), Ok(vec![3]));
    assert_eq!(read("1..4"), Ok(vec![1, 2, 3, 4]));
    assert_eq!(read("5,1..2,5"), Ok(vec![1, 2, 5]));
    for wrong in ["", "0", "-1", "1..", "4..2", "1..1001", "a", "1,,2", "1..2..3"] {
        assert!(read(wrong).unwrap_err().contains("from 1 to 1000"), "{wrong}");
    }
    assert!(Column::parse("pth").unwrap_err().contains("one-to-one"));
    if cfg!(feature = "rivals") {
        assert_eq!(Column::parse("tokio"), Ok(Column::Tokio));
    } else {
        assert!(Column::parse("tokio").unwrap_err().contains("--features rivals"));
    }
    let many = Ok(Column::Ours(Model::ManyToMany));
    assert_eq!((Column::parse("mn"), Column::parse("m:n")), (many.clone(), many));
}

/// The manager ends after its threads, and if a body panics, the join returns an error.
#[test]
fn a_manager_creates_joins_and_ends() {
    let manager = Manager::start(model::start(Model::Manager, &Knobs::default()).unwrap()).unwrap();
    let maker = manager.maker();
    for i in 0..20 {
        let inner = maker.clone();
        let thread = maker.create(move || inner.join(inner.create(move || i).unwrap()).unwrap()).unwrap();
        assert_eq!(maker.join(thread), Ok(i));
        // Nobody joins this thread.
        drop(maker.create(|| 0).unwrap());
    }
    let thread = maker.create(|| std::panic::resume_unwind(Box::new(()))).unwrap();
    assert_eq!(maker.join(thread), Err("a thread of the manager panicked".to_owned()));
    drop(manager);
}
