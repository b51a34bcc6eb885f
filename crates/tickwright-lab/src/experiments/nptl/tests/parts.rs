//! Results and texts of the parts other than the table.

use tickwright_threads::{Dictionary, LEAST_STACK};

use super::args;
use crate::clock::OsClock;
use crate::experiment::{Experiment, conduct};
use crate::experiments::nptl::alive::{self, Order, Outcome, Row};
use crate::experiments::nptl::column::{Cell, Column};
use crate::experiments::nptl::echo::{self, Load, Wire};
use crate::experiments::nptl::knobs::{self, Settings};
use crate::experiments::nptl::ladder::{self, Ladder};
use crate::experiments::nptl::lanes::{self, time};
use crate::experiments::nptl::model::{Knobs, Model};
use crate::experiments::nptl::published::published;
use crate::experiments::nptl::syscalls::{self, Counted};
use crate::experiments::nptl::turns::Turns;
use crate::experiments::nptl::work::{self, Work};
use crate::limits::Limit;
use crate::render;
use crate::result::Section;
use crate::stats::Verdict;

const TURNS: Turns = Turns { what: "test", rounds: 2, seed: 1 };
const CELL: Cell = Cell { toplevel: 2, children: 3, starts: 20 };

fn shown(section: Section) -> String {
    render::sections(&[section])
}

#[test]
fn turns_take_each_lane_once_a_round_and_drop_the_first() {
    let mut count = [0; 3];
    let names = ["a", "b", "c"].map(str::to_owned);
    let samples = TURNS
        .run(&names, |lane| {
            count[lane] += 1;
            Ok((lane, count[lane]))
        })
        .unwrap();
    assert_eq!(samples, [[(0, 2), (0, 3)], [(1, 2), (1, 3)], [(2, 2), (2, 3)]]);
    let once = Turns { rounds: 1, ..TURNS }.run(&names, Ok).unwrap();
    assert_eq!(once, [[0], [1], [2]], "one round is kept");
}

#[test]
fn the_ladder_goes_from_ngpt_to_ours() {
    let lanes = ladder::lanes(Knobs::default());
    let many: Vec<_> = lanes[1..].iter().map(|lane| lane.knobs.many.unwrap()).collect();
    assert_eq!(many.first(), Some(&tickwright_threads::Knobs::ngpt()));
    assert_eq!(many.last(), Some(&tickwright_threads::Knobs::ours()));
    assert!(many.windows(2).all(|pair| pair[0] != pair[1]), "each step turns something");
}

/// A ladder whose M:N steps take `times` as long as one-to-one.
pub(super) fn made_up(times: [f64; 7]) -> Ladder {
    let mut lanes = ladder::lanes(Knobs::default());
    for (lane, times) in lanes.iter_mut().zip([1.0].into_iter().chain(times)) {
        lane.ns = (0..6).map(|round| times * (1000.0 + f64::from(round))).collect();
    }
    Ladder { cell: Cell { toplevel: 1, children: 10, starts: 100 }, lanes }
}

#[test]
fn the_ladder_names_the_step_that_flips_the_order() {
    let said = |ladder: &Ladder| shown(ladder.section(4.0)).replace('\n', " ");
    let cases = [
        ([4.0, 3.0, 2.0, 0.9, 0.5, 0.1, 0.1], Some(3), "flips at step 3: no name formatted."),
        ([4.0, 0.9, 2.0, 0.9, 0.5, 0.1, 0.1], Some(3), "flips at step 3"),
        ([0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3], Some(0), "from the start: all of NGPT's ways"),
        ([0.9, 2.0, 0.9, 0.9, 0.5, 0.1, 0.1], Some(2), "then behind, and for good at step 2"),
        ([4.0, 0.9, 0.9, 0.9, 0.5, 0.1, 1.5], None, "behind at the last step."),
        ([4.0; 7], None, "does not flip: at no step M:N is ahead of one-to-one."),
    ];
    for (times, flips, words) in cases {
        let ladder = made_up(times);
        assert_eq!(ladder.flips(), flips, "{times:?}");
        assert!(said(&ladder).contains(words), "{times:?}: {}", said(&ladder));
    }
    let tied = said(&made_up([1.0; 7]));
    assert!(tied.contains("at no step") && tied.contains("no difference shown"), "{tied}");
    assert!(!tied.contains("saves most"), "{tied}");
    let mut none = made_up([4.0; 7]);
    none.lanes.iter_mut().for_each(|lane| lane.ns.clear());
    assert!(said(&none).contains("Interrupted") && none.finding().is_none());
}

#[test]
fn the_ladder_and_the_knobs_run_in_every_model() {
    let clock = OsClock::start();
    let mut steps = ladder::lanes(Knobs::default());
    time(&mut steps, CELL, &TURNS, clock).unwrap();
    assert!(steps.len() == 8 && steps.iter().all(|step| step.ns.len() == 2), "{steps:?}");
    let settings = Settings {
        guard: vec![true, false],
        stack: vec![16 << 10],
        cache: vec![false],
        registry: vec![Dictionary::Avl, Dictionary::None],
    };
    let mut lanes = settings.lanes(&Model::ALL, Knobs::default());
    time(&mut lanes, CELL, &TURNS, clock).unwrap();
    assert!(lanes.iter().all(|lane| lane.ns.len() == 2), "{lanes:?}");
    for model in Model::ALL {
        let of = lanes.iter().filter(|lane| lane.column == Column::Ours(model));
        let settings: Vec<&str> = of.map(|lane| lane.name.as_str()).collect();
        assert_eq!(settings[..4], ["as it is", "guard on", "guard off", "stack 16k"]);
        assert_eq!(settings.contains(&"stack cache off"), model.has_cache());
        assert!(settings.ends_with(&["registry avl", "registry none"]), "{settings:?}");
    }
    assert_eq!(
        lanes::findings(&lanes, knobs::own).len(),
        lanes.len() - Model::ALL.len(),
        "but those as they are"
    );
}

#[test]
fn work_comes_to_one_result_in_every_model() {
    let work = Work { workload: 100, workcost: 3, draws: 4 };
    let outcome = work::run(work, &Column::all(), &Knobs::default(), CELL, &TURNS, OsClock::start()).unwrap();
    let alone = (0..CELL.toplevel)
        .flat_map(|toplevel| (0..10).map(move |start| work.thread(toplevel, start, || unreachable!())));
    assert_eq!(outcome.result, alone.fold(0u32, u32::wrapping_add));
    assert!(outcome.lanes.iter().all(|lane| lane.column != Column::Tokio && lane.ns.len() == 2));
}

#[test]
fn a_draw_computes_or_sleeps() {
    let work = Work { workload: 75, workcost: 1, draws: 10 };
    let mut sleeps = 0;
    for start in 0..1000 {
        work.thread(0, start, || sleeps += 1);
    }
    assert!((2000..3000).contains(&sleeps), "a quarter of 10,000 draws: {sleeps}");
    let idle = Work { workload: 0, ..work };
    assert_eq!(idle.thread(0, 1, || ()), 0, "nothing is added");
}

const STRACE: &str = "\
strace: Process 12 attached
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 60.00    0.000300           3       100         2 futex
 40.00    0.000200           2        90           clone3
  0.00    0.000000           0         7           mmap
------ ----------- ----------- --------- --------- ----------------
100.00    0.000500           2       197         2 total
";

#[test]
fn the_table_of_strace_is_read() {
    let calls = syscalls::parse(STRACE);
    let read: Vec<(&str, u64)> = calls.iter().map(|(name, count)| (name.as_str(), *count)).collect();
    assert_eq!(read, [("clone3", 90), ("futex", 100), ("mmap", 7)]);
    let more = syscalls::parse(&STRACE.replace(" 90 ", " 190 ").replace(" 100 ", " 104 "));
    let each = syscalls::per_creation(&calls, &more, 100);
    assert_eq!(each.len(), 1, "four futex calls in a hundred creations are noise: {each:?}");
    assert!((each["clone3"] - 1.0).abs() < 1e-9);
    assert!(syscalls::parse("strace: not found").is_empty());
    assert!(shown(Counted::Skipped("no strace".into()).section()).contains("not counted: no strace"));
}

#[test]
fn threads_of_every_model_are_alive_together() {
    for model in Model::ALL {
        for guard in [false, true] {
            let order = Order { model, threads: 40, stack: LEAST_STACK, guard, workers: None };
            let outcome = alive::here(&order, |_| ());
            assert_eq!((outcome.alive, outcome.stopped), (40, None), "{model:?}");
        }
    }
}

#[test]
fn every_message_comes_back_in_every_model() {
    let load = |wire, connections, in_flight| Load { wire, connections, in_flight, messages: 30 };
    let loads =
        [load(Wire::Pipe, 1, 1), load(Wire::Pipe, 5, 40), load(Wire::Socket, 1, 7), load(Wire::Socket, 6, 3)];
    let rows = echo::run(&Column::all(), &Knobs::default(), &loads, &TURNS, OsClock::start()).unwrap();
    assert_eq!(rows.len(), 4 * (Model::ALL.len() + 1), "std, and each model");
    for row in &rows {
        assert!(
            row.samples.len() == 2 && row.samples.iter().all(|sample| sample.p50 <= sample.p99),
            "{row:?}"
        );
    }
    assert_eq!(echo::findings(&rows).len(), 4);
}

#[test]
fn a_limit_is_part_of_the_outcome() {
    let order = Order { model: Model::OneToOne, threads: 20, stack: 1, guard: false, workers: None };
    let outcome = alive::here(&order, |_| ());
    assert!(outcome.stopped.unwrap().contains("16384"), "a stack of one byte");
    let limit = Limit { name: "pid_max".into(), used: 10, most: 10, raise: "more".into() };
    let stopped = |why: &str, limits| {
        let outcome = Outcome { alive: 10, stopped: Some(why.into()), limits, ..Outcome::default() };
        shown(alive::section(&[Row { order, outcome }], &published().unwrap().alive))
    };
    let said = stopped("killed", Vec::new());
    assert!(said.contains("after 10 of 20 or more: killed") && !said.contains("met"), "{said}");
    let said = stopped("EAGAIN", vec![limit]);
    assert!(
        said.contains("stopped at 10 of 20: EAGAIN") && said.contains("pid_max is met (10 of 10)"),
        "{said}"
    );
}

#[test]
fn the_goal_is_on_a_hundred_thousand_threads_without_guards() {
    let goal = &published().unwrap().alive;
    let order =
        Order { model: Model::ManyToMany, threads: 100_000, stack: LEAST_STACK, guard: false, workers: None };
    let all = Outcome { alive: 100_000, start_ns: 499_999_999, resident: 1 << 29, ..Outcome::default() };
    let verdicts = |order, outcome: &Outcome| -> Vec<Verdict> {
        let findings = alive::findings(&[Row { order, outcome: outcome.clone() }], goal);
        findings.iter().map(|finding| finding.verdict).collect()
    };
    assert_eq!(verdicts(order, &all), [Verdict::Held]);
    assert_eq!(verdicts(order, &Outcome { start_ns: 500_000_000, ..all.clone() }), [Verdict::Missed]);
    assert_eq!(verdicts(order, &Outcome { alive: 99_999, ..all.clone() }), [Verdict::Missed]);
    assert_eq!(verdicts(Order { guard: true, ..order }, &all), [], "it says nothing with guards");
}

#[test]
fn a_report_has_every_part_that_was_asked_for() {
    let args =
        args("--only work,table --models one-to-one,std --toplevel 2 --children 1 --starts 4 --workload 100");
    let report = conduct(&args).unwrap();
    let names: Vec<&str> = report.series.iter().map(|series| series.name.as_str()).collect();
    assert_eq!(names, ["create and join", "create and join", "work", "work"]);
    let plan = args.plan().unwrap();
    assert_eq!(report.parameters, args.parameters(&plan));
    assert_eq!(report.parameters["starts of table"], 4u64.into());
}
