use core::cell::RefCell;

use super::cell::Cell;
use super::run::Trial;
use super::*;
use crate::allocator;
use crate::clock::FakeMeter;
use crate::experiment::conduct_plan;
use crate::models::live::Live;
use crate::models::sampler::{Empty, Sampler};
use crate::models::scenario::{Measure, Within};
use crate::models::verify::Judge;
use crate::models::verify::faulty::{Fault, Faulty};
use crate::progress::Progress;
use crate::result::{Block, Report, Table, labels};
use crate::stats::{FEWEST_ROUNDS, Verdict};
use crate::structures::candidate::Dead;

fn asks(words: &[&str]) -> Result<Bench, LabError> {
    request::words(words).and_then(Bench::new)
}

pub(super) fn bench(words: &[&str]) -> Bench {
    asks(words).unwrap()
}

/// Returns the plan that a user requests with these words.
pub(super) fn planned(words: &[&str]) -> Plan {
    bench(words).plan().unwrap()
}

/// Runs what a user requests, with a clock that advances by `step` ns at each reading.
pub(super) fn report(words: &[&str], step: u64) -> Report {
    let bench = bench(words);
    conduct_plan(&bench, &bench.plan().unwrap(), &FakeMeter::steady(step)).unwrap()
}

/// Returns the words that a user would type for a scenario, for seven rounds of 50 operations, and
/// for the arguments in `more`.
fn asked<'w>(scenario: &'w str, more: &[&'w str]) -> Vec<&'w str> {
    let counted: &[&str] = if scenario == "expire" { &[] } else { &["--operations", "50"] };
    let rounds: &[&str] = if more.contains(&"--rounds") { &[] } else { &["--rounds", "7"] };
    let alone: &[&str] = if scenario == "network" { &["!one-delay"] } else { &[] };
    [&[scenario], alone, rounds, counted, more].concat()
}

fn cells(words: &[&str], step: u64) -> Vec<Cell> {
    let bench = bench(words);
    let meter = FakeMeter::steady(step);
    let mut lab = Lab { meter: &meter, notes: Vec::new(), interrupted: false };
    bench.run(&bench.plan().unwrap(), &mut lab).unwrap().cells
}

#[track_caller]
fn refused(words: &[&str]) -> String {
    let error = asks(words).and_then(|bench| bench.plan()).unwrap_err();
    assert_eq!(error.code(), 2);
    error.to_string()
}

#[test]
fn every_structure_answers_as_the_oracle_in_every_measure() {
    for name in [
        "hold-exp-dense",
        "periodic",
        "network",
        "one-shots-2k",
        "request-timeout",
        "expire",
        "idle",
        "reads",
    ] {
        for cell in cells(&asked(name, &["--structures", "*", "--n", "1,2,37"]), 100) {
            assert!(cell.rows.iter().all(|row| row.samples.len() == 7 || row.skipped.is_some()));
        }
    }
}

#[test]
fn equal_times_show_no_difference() {
    // A reading advances the clock by 100 ns, so each of 50 operations takes 2 ns, regardless of
    // the structure.
    let asked = asked("hold-exp-sparse", &["--structures", "list/*,btree-map", "--n", "2"]);
    let cell = &cells(&asked, 100)[0];
    assert_eq!(cell.baseline, Some("btree-map"));
    let row = cell.row("list/slab").unwrap();
    assert_eq!((row.summary.unwrap().median, cell.ratio(row).unwrap().median), (2.0, 1.0));
    let findings = report(&asked, 100).findings;
    assert_eq!(findings[0].here, "list/slab at n=2");
    assert_eq!(findings[1].verdict, Verdict::NoDifferenceShown);
}

/// A line below each table says which structures were left out, and why.
#[cfg(feature = "rivals")]
#[test]
fn a_report_of_each_model() {
    for (scenario, n) in [
        ("hold-exp-sparse", "2,16,2000"),
        ("periodic", "2"),
        ("network", "2"),
        ("request-timeout", "2,16"),
        ("expire", "3,30"),
        ("reads", "2,16"),
    ] {
        let more = ["--structures", "list/slab,btree-map,timer-queue", "--n", n, "--baseline", "btree-map"];
        let bare = ["reads", "periodic"].contains(&scenario);
        let asked = asked(scenario, if bare { &more[..4] } else { &more });
        insta::assert_snapshot!(scenario, crate::render::sections(&report(&asked, 100).sections));
    }
}

#[cfg(feature = "rivals")]
#[test]
fn what_is_left_out_has_no_row() {
    let heads = asked("periodic", &["--structures", "list/slab,timer-queue,btree-map", "--n", "2"]);
    let ran: Vec<_> =
        cells(&heads, 1).iter().map(|cell| (cell.measure, cell.row("timer-queue").is_some())).collect();
    assert!(ran.contains(&(Measure::Head, false)) && ran.contains(&(Measure::Hold, true)), "{ran:?}");
    let asked = asked("hold-exp-sparse", &["--structures", "list/slab,btree-map", "--n", "2,2000"]);
    assert!(cells(&asked, 1)[1].row("list/slab").is_none());
}

#[test]
fn a_baseline_that_was_not_chosen_runs_all_the_same() {
    fn with<'w>(baseline: &'w str, n: &'w str) -> Vec<&'w str> {
        asked("hold-exp-sparse", &["--structures", "list/slab", "--n", n, "--baseline", baseline])
    }
    assert_eq!(cells(&with("orx-4ary", "2"), 1)[0].baseline, Some("orx-4ary"));
    let message = refused(&with("list/slab", "2000"));
    assert!(message.contains("'list/slab' cannot run at n=2k: insertion is O(n)"), "{message}");
    assert!(refused(&with("orx", "2")).contains("'orx-4ary'"));
}

#[test]
fn a_time_limit_stops_rounds_but_leaves_enough_for_an_interval() {
    let words = ["--structures", "list/slab", "--n", "2", "--rounds", "100", "--within", "1ms"];
    // A reading advances the clock by a millisecond.
    let cells = cells(&asked("hold-exp-sparse", &words), 1_000_000);
    assert_eq!(cells[0].rows[0].samples.len() as u64, FEWEST_ROUNDS);
}

#[test]
fn quick_keeps_to_small_populations_and_few_rounds() {
    // Without a scenario, `bench` is quick.
    for (words, scenarios) in [(&["--quick", "hold"][..], 5), (&[], 2)] {
        let parts = planned(words).timed.parts;
        assert!(parts.iter().all(|part| part.population <= 10_000 && part.rounds == 9));
        assert!(parts.len() > 3 && parts.iter().all(|part| part.operations == 10_000));
        let names: std::collections::BTreeSet<_> = parts.iter().map(|part| &part.scenario.name).collect();
        assert_eq!(names.len(), scenarios);
    }
    // `--quick` sets an upper limit for the file's own numbers. `expire` has one operation per
    // timer.
    let mut own = Scenario::find("idle").unwrap();
    own.run.rounds = Rounds::parse("7").unwrap();
    own.run.operations = Some(Operations::parse("5").unwrap());
    let short = Bench::of(own, request::words(&["--quick", "--n", "3"]).unwrap()).plan().unwrap().timed;
    assert_eq!((short.parts[0].rounds, short.parts[0].operations), (7, 5));
    let expire = planned(&["expire", "--quick", "--n", "20k"]).timed;
    assert_eq!(expire.parts[0].operations, 20_000);
    assert_eq!(planned(&["idle", "--quick", "--operations", "50k"]).timed.parts[0].operations, 50_000);
    let said = expire.parameters()["expire n=20000"].to_string();
    assert_eq!(said, "9 rounds of 20000 operations, one for each timer");
}

#[test]
fn words_name_scenarios_models_and_files_and_the_result_is_named_after_the_model() {
    let of = |words: &[&str]| {
        let bench = bench(words);
        let What::Times(scenarios) = &bench.what else { panic!("{words:?}") };
        (scenarios.iter().map(|one| one.name.clone()).collect::<Vec<_>>().join(" "), bench.name())
    };
    let hold = "hold-exp-sparse hold-exp-dense hold-uniform-sparse hold-uniform-dense periodic";
    for (words, scenarios, name) in [
        (&["hold"][..], hold, "bench hold"),
        (&["network"], "network one-delay", "bench network"),
        (&["network", "!one-delay"], "network", "bench network"),
        (&["!one-delay", "network"], "network", "bench network"),
        (&["!hold", "!network", "!one-shot", "!idle"], "expire reads", "bench"),
        (&["one-delay"], "one-delay", "bench network"),
        (&["one-shot", "!one-shots-15k"], "one-shots-2k one-shots-50k request-timeout", "bench one-shot"),
        (&["idle", "expire", "idle"], "idle expire", "bench"),
        (&["../../../scenarios/reads.toml", "reads"], "reads", "bench reads"),
        (&[], "hold-exp-sparse network", "bench"),
    ] {
        assert_eq!(of(words), (scenarios.to_owned(), name.to_owned()));
    }
    let names = [&["--memory"][..], &["--worst"], &["--matrix"]].map(|words| bench(words).name());
    assert_eq!(names, ["bench memory", "bench adversary", "bench matrix"]);
}

#[test]
fn what_cannot_be_measured_together_is_refused_with_a_remedy() {
    for (words, parts) in [
        (&["memory"][..], &["'memory'", "tickwright bench --memory"][..]),
        (&["adversary"], &["tickwright bench --worst"]),
        (&["hold-exp-spars"], &["'hold-exp-sparse'", "a file ends in .toml"]),
        (&["!idle", "idle"], &["takes away every scenario"]),
        (&["idle", "!idle"], &["takes away every scenario"]),
        (&["expire", "hold", "--operations", "5"], &["--operations", "'expire'", "leave out"]),
        (&["--memory", "hold"], &["--memory", "leave 'hold' out"]),
        (&["--matrix", "hold", "idle"], &["--matrix", "leave 'hold idle' out"]),
        (
            &["../../../scenarios/adversary.toml"],
            &["is a file of attacks", "--worst ../../../scenarios/adversary.toml"],
        ),
        (&["--memory", "--worst"], &["--memory", "--worst"]),
        (&["--memory", "--rounds", "6"], &["--memory", "--rounds"]),
        (&["--worst", "hold"], &["--worst", "leave 'hold' out", "list --scenario adversary"]),
        (&["--worst", "--within", "1s"], &["--worst", "--within"]),
        (&["--matrix", "--n", "2"], &["--matrix", "--n"]),
        (&["hold", "--budget", "3"], &["--worst"]),
        (&["hold", "--pattern", "later"], &["--worst"]),
        (&["hold", "--only", "calls"], &["--matrix"]),
    ] {
        let message = refused(words);
        assert!(parts.iter().all(|part| message.contains(part)), "{words:?}: {message}");
    }
}

#[test]
fn the_workload_is_the_scenario_and_not_how_it_is_called() {
    let of = |edit: fn(&mut Scenario), n: &str| {
        let mut scenario = Scenario::find("network").unwrap();
        edit(&mut scenario);
        let args = request::words(&["--n", n, "--operations", "5"]).unwrap();
        let bench = Bench::of(scenario, args);
        bench.workload(&bench.plan().unwrap())
    };
    let own = of(|_| {}, "3");
    let timeouts = r#"{"shortest":200,"longest":60000,"revisit":773,"anew_one_in":8}"#;
    assert_eq!(own, format!("[\"network\",[\"exchange\"],null,{timeouts},null] n=3 operations=5 seed=1\n"));
    assert_eq!(own, of(|scenario| scenario.name = "mine".into(), "3"));
    assert_ne!(
        own,
        of(|scenario| scenario.timeouts.as_mut().unwrap().revisit = Within::parse("9").unwrap(), "3")
    );
}

/// Runs the first cells of a request on an incorrect queue that is named `list/slab`. Returns the
/// error, and how many times the structure was measured.
fn wrong(words: &[&str], queue: impl crate::structures::candidate::Timed) -> (String, usize) {
    let plan = planned(words).timed;
    let queue = RefCell::new(queue);
    let sampler = Sampler::new(0, &queue);
    let structure = registry::find("list/slab").unwrap();
    let live = [Live { structure, sampler: &sampler, inline: 0, nodes: 0 }];
    let (progress, meter) = (Progress::steps(1, "test"), FakeMeter::steady(1));
    let mut trial = Trial { part: &plan.parts[0], live: &live, meter: &meter, judge: Judge::default() };
    let mut cells = plan.parts[0].empty_cells();
    let message = trial.run(None, &progress, &mut cells).unwrap_err();
    assert!(message.contains("no time of this run counts"), "{message}");
    (message, cells[0].rows[0].samples.len())
}

#[test]
fn a_structure_that_answers_wrongly_fails_the_run() {
    let words = asked("hold-exp-sparse", &["--structures", "list/slab", "--n", "2"]);
    let (message, times) = wrong(&words, Empty::new(2));
    assert!(message.contains("list/slab answered wrongly in round 0") && times == 0, "{message}");
    // None of the 1000 timers becomes due in a poll, so no round shows that a timer was lost.
    let idle = ["idle", "--structures", "list/slab", "--n", "1000", "--rounds", "1", "--operations", "1"];
    let (message, _) = wrong(&idle, Faulty::new(Fault::LosesFirst));
    let when = "list/slab answered wrongly before the first sample or after the last: 999 of 1000";
    assert!(message.contains(when), "{message}");
}

#[cfg(feature = "rivals")]
#[test]
fn a_baseline_that_cannot_be_measured_is_refused() {
    let more = ["--structures", "list/slab", "--n", "2", "--baseline", "timer-queue"];
    planned(&asked("hold-exp-sparse", &more));
    for scenario in ["periodic", "reads"] {
        let message = refused(&asked(scenario, &more));
        assert!(
            message.contains("'timer-queue' cannot be measured in") && message.contains("lower bound"),
            "{message}"
        );
    }
}

#[cfg(feature = "rivals")]
#[test]
fn wheels_are_compared_with_the_fastest_wheel_too() {
    let more = ["--structures", "list/slab,btree-map,timer-queue", "--n", "2", "--baseline", "btree-map"];
    let asked = asked("network", &more);
    let cell = &cells(&asked, 100)[0];
    assert_eq!(cell.baseline, Some("btree-map"));
    let findings = report(&asked, 100).findings;
    assert_eq!(findings[2].about, "network, exchange, n=2, the fastest wheel");
    assert_eq!(findings[2].here, "list/slab 2.0 ns, timer-queue 2.0 ns");
    assert_eq!(findings[2].figure.unwrap().median, 1.0);
}

#[cfg(feature = "rivals")]
#[test]
fn a_question_is_priced_by_what_it_adds_round_by_round() {
    let asked = asked("reads", &["--structures", "list/slab,timer-queue", "--n", "2"]);
    let cells = cells(&asked, 100);
    let prices: Vec<_> =
        cells.iter().map(|cell| cell::price(&cells, cell, "list/slab").map(|q| q.median)).collect();
    assert_eq!(prices, [None, Some(0.0), Some(0.0), Some(0.0)]);
    // A structure that knows only a lower bound of its head is measured on the wake-up, but not on
    // the head.
    let asked_for: Vec<_> = cells.iter().map(|cell| cell.row("timer-queue").is_some()).collect();
    assert_eq!(asked_for, [true, true, false, false]);
}

#[test]
fn a_sample_of_expiries_is_as_long_as_there_are_timers() {
    let cells = cells(&asked("expire", &["--structures", "list/*", "--n", "3"]), 30);
    let measured: Vec<_> = cells.iter().map(|cell| cell.measure).collect();
    assert_eq!(measured, [Measure::Insert, Measure::Expire]);
    assert_eq!(cells[1].row("list/hook").unwrap().summary.unwrap().median, 10.0);
}

#[test]
fn a_line_is_drawn_where_there_are_enough_populations() {
    let plots = |n: &str| {
        let report =
            report(&asked("hold-exp-sparse", &["--structures", "list/*,heap4/*,rb/*", "--n", n]), 100);
        report.plots().map(|plot| (plot.has_course(), plot.is_rows())).collect::<Vec<_>>()
    };
    assert_eq!(plots("2,3,4"), [(true, false)]);
    // With fewer than three populations, a plot has no course. A single population is drawn as
    // rows.
    assert_eq!(plots("2,3"), [(false, false)]);
    assert_eq!(plots("2"), [(false, true)]);
}

#[test]
fn a_row_says_whether_its_structure_took_the_hints_of_the_caller() {
    let args = ["--structures", "ladder/slab,orx-4ary", "--n", "20"];
    let report = report(&asked("one-delay", &args), 100);
    let names = |table: &Table| table.rows.iter().map(|row| row[0].clone()).collect::<Vec<_>>();
    let tables: Vec<_> = report.sections.iter().flat_map(|section| &section.blocks).collect();
    let named = |name: &str| {
        tables.iter().any(|block| matches!(block, Block::Table(table) if names(table).contains(&name.into())))
    };
    assert!(named("ladder/slab") && named("ladder/slab + hints"));
    assert!(named("orx-4ary") && !named("orx-4ary + hints"), "its library has no table to fetch from");
    let of = labels([("structure", "ladder/slab".into())]);
    assert!(report.find("exchange", &of).is_some() && report.find("with hints", &of).is_some());
}

/// A queue that keeps every entry until its tick, like a heap that has no handles and never sweeps.
#[derive(Debug)]
struct Hoard {
    entries: std::collections::BTreeMap<(u64, u64), u32>,
    arrivals: u64,
    deadlines: Vec<u64>,
}

impl crate::structures::candidate::Timed for Hoard {}

impl crate::structures::candidate::BenchQueue for Hoard {
    fn dead(&self) -> Dead {
        Dead::Stay
    }

    fn insert(&mut self, id: u32, deadline: u64) {
        self.arrivals += 1;
        self.deadlines[id as usize] = deadline;
        self.entries.insert((deadline, self.arrivals), id);
    }
    fn remove(&mut self, id: u32) {
        self.deadlines[id as usize] = 0;
    }
    fn reschedule(&mut self, id: u32, deadline: u64) {
        self.insert(id, deadline);
    }
    fn head(&mut self) -> Option<u64> {
        None
    }
    fn pop_expired(&mut self, now: u64) -> Option<(u32, u64)> {
        while let Some(first) = self.entries.first_entry().filter(|first| first.key().0 <= now) {
            let ((deadline, _), id) = first.remove_entry();
            if self.deadlines[id as usize] == deadline {
                self.deadlines[id as usize] = 0;
                return Some((id, deadline));
            }
        }
        None
    }
    fn dead_entries(&self) -> Option<usize> {
        Some(self.entries.len() - self.deadlines.iter().filter(|deadline| **deadline > 0).count())
    }
}

#[test]
fn as_many_dead_entries_leave_as_come_from_the_first_sample_on() {
    // The third figure is the number of dead entries for each timer. For *network*, it is the
    // number of exchanges in a mean delay, minus the exchange that armed the timer. For *one-shot*,
    // it is the mean remaining delay of a cancelled timer, divided by the mean life of a timer.
    for (name, n, a_timer) in [
        ("network", 300_usize, 37.9),
        ("one-delay", 1000, 3.6),
        ("one-shots-2k", 2000, 0.82),
        ("request-timeout", 2000, 3.3),
    ] {
        let scenario = Scenario::find(name).unwrap();
        let mut source = scenario.source(n, 3 * n, 1);
        let hoard = Hoard { entries: std::collections::BTreeMap::new(), arrivals: 0, deadlines: vec![0; n] };
        let (before, queue) = (allocator::live_bytes(), RefCell::new(hoard));
        let runner = Sampler::new(before, &queue);
        let (meter, fold) = (FakeMeter::steady(0), crate::models::witness::Evidence::Fold);
        runner.fill_aged(&source.deadlines(), &|most, each| source.past(most, each));
        let dead = || runner.held().dead.unwrap() as f64 / n as f64;
        let (begin, sure) = (dead(), 0.06 * dead() + 0.02);
        assert!((begin - a_timer).abs() < sure, "{name}: {begin}");
        for _ in 0..4 {
            runner.sample(&source.next(scenario.measures[0]), fold, &meter);
            assert!((dead() - begin).abs() < sure, "{name}: {begin}, then {}", dead());
        }
        assert!(runner.held().bytes > 0);
    }
}

#[test]
fn a_lazy_structure_is_aged_and_its_answers_stay_right() {
    let asked = asked("network", &["--structures", "binary-heap,btree-map,ladder", "--n", "300"]);
    let cell = &cells(&asked, 100)[0];
    let held = |id: &str| cell.row(id).unwrap().held.unwrap();
    // The heap sweeps when more than half of its entries are dead.
    assert!(held("binary-heap").iter().all(|held| (1..=300).contains(&held.dead.unwrap())));
    assert!(held("btree-map").iter().all(|held| held.dead == Some(0) && held.bytes > 300 * 20));
    assert!(held("ladder/slab").iter().all(|held| held.dead.is_none()));
    assert_eq!(cell.memory().len(), 5);
    assert!(cell.samples(cell::FLOOR).len() == 7 && cell.row(cell::FLOOR).is_none());
}
