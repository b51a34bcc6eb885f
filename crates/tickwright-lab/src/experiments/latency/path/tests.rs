//! The path, its counts and its tables, without a clock.

use super::counted::{cells, total};
use super::sample::{Cell, Plan, Row, Ticks};
use super::slice::{Cost, Lane, Slice, Timers, Watch, expected, trimmed_mean};
use super::*;
use crate::experiments::crossover::Sampled;
use crate::render;
use crate::stats::Verdict;
use crate::structures::registry;

fn lane(id: &str) -> Lane {
    Lane::Of(registry::find(id).unwrap())
}

fn plan(ids: &[&str]) -> Plan {
    let lanes = [Lane::Loop].into_iter().chain(ids.iter().map(|id| lane(id))).collect();
    Plan {
        lanes,
        sizes: vec![1, 2, 40],
        rounds: 3,
        ticks: 100,
        seed: 7,
        instructions: false,
        notes: Vec::new(),
    }
}

#[test]
fn every_structure_ticks_in_the_oracles_order() {
    let told = super::check().unwrap();
    assert!(told.ends_with("ticks in the oracle's order"), "{told}");
}

#[test]
fn one_that_ticks_in_another_order_is_named() {
    // A wheel that rounds up cannot take part in the path.
    let told = plan(&["list/hook", "coarse/slab"]).verify().unwrap_err().to_string();
    assert!(told.contains("coarse/slab"), "{told}");
}

#[derive(Default)]
struct Steps(String);

impl Watch for Steps {
    fn entry(&mut self) {
        self.0.push('e');
    }
    fn callback(&mut self) {
        self.0.push('c');
    }
    fn exit(&mut self) {
        self.0.push('x');
    }
}

#[test]
fn a_tick_is_entered_calls_back_and_is_left() {
    let timers = Timers::new(2, 1);
    let mut steps = Steps::default();
    let mut around = 0;
    let slice = Slice {
        timers: &timers,
        ticks: 3,
        watch: &mut steps,
        around: &mut |run| {
            around += 1;
            run();
        },
    };
    assert_eq!(lane("rb/slab").run(slice), expected(&timers, 3));
    assert_eq!((steps.0.as_str(), around), ("ecxecxecx", 1), "the warm-up is not watched");
    assert_ne!(expected(&timers, 3), expected(&Timers::new(2, 2), 3), "rounds differ");
}

#[test]
fn the_loop_runs_with_any_population() {
    for population in [1, 2, 9] {
        let timers = Timers::new(population, 1);
        let slice = Slice { timers: &timers, ticks: 5, watch: &mut (), around: &mut |run| run() };
        assert!(Lane::Loop.run(slice).is_some());
    }
}

#[test]
fn interruptions_do_not_count() {
    let mut counts: Vec<u64> = vec![10; 15];
    counts.push(1_000_000);
    assert_eq!(trimmed_mean(&mut counts), 10.0);
    assert_eq!(trimmed_mean(&mut [4, 6]), 5.0);
    assert_eq!(trimmed_mean(&mut []), 0.0);
}

#[test]
fn the_loop_is_taken_off_round_by_round() {
    let plan = plan(&["list/hook"]);
    let cost = |to_callback, tick| Cost { to_callback: Some(to_callback), tick };
    let samples = vec![vec![cost(10.0, 20.0), cost(11.0, 22.0)], vec![cost(15.0, 30.0), cost(10.5, 33.0)]];
    let cell = plan.cell(&Sampled { n: 2, samples }, Unit::Ns).unwrap();
    assert_eq!(cell.overhead.tick, [20.0, 22.0]);
    assert_eq!(cell.rows[0].tick, [10.0, 11.0]);
    assert_eq!(cell.rows[0].to_callback, [5.0, 0.1], "never nothing");
    assert_eq!(series(&cell).len(), 4);
}

#[test]
fn counts_are_told_apart_by_population_round_and_structure() {
    let plan = Plan { sizes: vec![1, 2], rounds: 2, ..plan(&["list/hook", "heap2/hook"]) };
    // The loop counts 10 instructions. The list counts 1 to 4 more than the loop, one more in each
    // round. The heap always counts 5 more than the loop.
    let counts = [10.0, 11.0, 15.0, 10.0, 12.0, 15.0, 10.0, 13.0, 15.0, 10.0, 14.0, 15.0];
    let found = cells(&plan, &counts);
    let ticks: Vec<_> = found.iter().map(|cell| (cell.population, cell.rows[0].tick.clone())).collect();
    assert_eq!(ticks, [(1, vec![1.0, 2.0]), (2, vec![3.0, 4.0])]);
    assert!(found.iter().all(|cell| cell.rows[1].tick == [5.0, 5.0] && cell.rows[1].to_callback.is_empty()));
}

#[test]
fn callgrinds_files_are_read() {
    assert_eq!(total("events: Ir\nfn=(1) x\n5 7\n\ntotals: 1234\n"), Some(1234));
    assert_eq!(total("summary: 77 3\n"), Some(77));
    assert_eq!((total(""), total("totals: x")), (None, None));
}

fn made_up(population: usize, unit: Unit, ticks: &[(&'static str, f64)]) -> Cell {
    let noise = |tick: f64| (0..21).map(|round| tick + f64::from(round % 3) / 100.0).collect::<Vec<_>>();
    let row = |&(structure, tick): &(&'static str, f64)| Row {
        structure,
        to_callback: if unit == Unit::Ns { noise(tick / 2.0) } else { Vec::new() },
        tick: noise(tick),
    };
    let rows = ticks.iter().map(row).collect();
    Cell { population, unit, overhead: row(&("the loop", 9.0)), rows }
}

fn four(population: usize, unit: Unit, ticks: [f64; 4]) -> Cell {
    let ids = ["list/slab", "heap2/slab", "rb/slab", "rb-cached/slab"];
    made_up(population, unit, &ids.into_iter().zip(ticks).collect::<Vec<_>>())
}

fn ticks(cells: Vec<Cell>) -> Ticks {
    let counter = crate::counter::Calibrated { source: "system clock", ns_per_count: 1.0, reading_ns: 25.0 };
    Ticks { counter, verified: 4096, cells }
}

#[test]
fn the_published_order_is_found_or_not() {
    let verdicts = |ticks| -> Vec<Verdict> {
        tables::path_findings(&[four(2, Unit::Ns, ticks)]).iter().map(|finding| finding.verdict).collect()
    };
    assert_eq!(verdicts([5.0, 7.0, 10.0, 14.0]), [Verdict::Held; 2], "the tick, and to the callback");
    assert_eq!(verdicts([5.0; 4])[0], Verdict::NoDifferenceShown);
    assert_eq!(verdicts([9.0, 6.0, 7.0, 8.0])[0], Verdict::Missed);
    let three = [("list/slab", 1.0), ("rb/slab", 2.0), ("heap2/slab", 3.0)];
    assert_eq!(tables::path_findings(&[made_up(1, Unit::Ns, &three)])[0].verdict, Verdict::Stated);
}

#[test]
fn the_path_is_shown_with_the_published_order() {
    let args: PathArgs = request::words(&[]).unwrap();
    let plan = args.plan().unwrap();
    let ticks = ticks(vec![
        four(1, Unit::Ns, [5.0, 6.0, 7.0, 8.0]),
        four(2, Unit::Ns, [6.0, 9.0, 12.0, 16.0]),
        four(2, Unit::Instructions, [60.0, 90.0, 100.0, 80.0]),
    ]);
    let findings = args.findings(&plan, &ticks);
    let first = &findings[0];
    assert_eq!((first.about.as_str(), first.verdict), ("tick by slab, 2 timers, ns", Verdict::Held));
    assert_eq!(args.series(&plan, &ticks).len(), 25);
    insta::assert_snapshot!(render::sections(&args.sections(&plan, &ticks, &findings)));
}

#[test]
fn each_rival_meets_the_list_of_its_storage() {
    let cell = |n: usize, list: f64| {
        let ticks = [("list/hook", list), ("heap4/hook", 20.0), ("list/slab", 50.0), ("heap4/slab", 20.0)];
        made_up(n, Unit::Ns, &ticks)
    };
    let args: CrossoverArgs = request::words(&["--structures", "heap4"]).unwrap();
    let plan = args.plan().unwrap();
    let ids: Vec<&str> = plan.lanes.iter().map(|lane| lane.id()).collect();
    assert_eq!(ids, ["the loop", "list/slab", "list/hook", "heap4/slab", "heap4/hook"], "the list joins");
    let ticks = ticks(vec![cell(1, 10.0), cell(4, 15.0), cell(8, 30.0)]);
    let findings = args.findings(&plan, &ticks);
    assert_eq!(findings[0].here, "N = 1: heap4/slab by ns overtakes list/slab");
    assert_eq!(findings[1].here, "slower from N = 8 on");
    insta::assert_snapshot!(render::sections(&args.sections(&plan, &ticks, &findings)));
    assert_eq!(tables::crossover_findings(&[])[0].here, "no structure is shown to overtake the list");
}

#[test]
fn a_crossover_of_others_alone_is_refused() {
    let args: CrossoverArgs = request::words(&["--structures", "btree-map"]).unwrap();
    let error = args.plan().unwrap_err().to_string();
    assert!(error.contains("there is no list of its storage"), "{error}");
}
