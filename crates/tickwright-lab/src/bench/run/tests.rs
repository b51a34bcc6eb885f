use super::*;
use crate::bench::report;
use crate::clock::FakeMeter;
use crate::stats::Verdict;

fn options(structures: &[&str], populations: &[usize]) -> Options {
    Options {
        structures: Some(structures.iter().map(|s| (*s).to_owned()).collect()),
        populations: Some(populations.to_vec()),
        rounds: Some(7),
        operations: Some(50),
        ..Options::default()
    }
}

fn scenario(name: &str) -> Vec<Scenario> {
    vec![Scenario::find(name).unwrap()]
}

#[test]
fn every_structure_answers_as_the_oracle_in_every_measure() {
    for name in ["hold-exp-dense", "periodic", "network", "expire", "reads"] {
        let report = run(&scenario(name), &options(&["*"], &[1, 2, 37]), &FakeMeter::steady(100)).unwrap();
        assert!(!report.interrupted);
        for cell in &report.cells {
            assert!(cell.rows.iter().all(|row| row.samples.len() == 7 || row.skipped.is_some()));
        }
    }
}

#[test]
fn equal_times_show_no_difference() {
    // A reading moves the clock by 100 ns: 50 operations take 2 ns each, whatever the structure.
    let report = run(
        &scenario("hold-exp-sparse"),
        &options(&["list/*", "btree-map"], &[2, 16]),
        &FakeMeter::steady(100),
    )
    .unwrap();
    let cell = &report.cells[0];
    assert_eq!(cell.baseline, Some("btree-map"));
    let row = cell.row("list/slab").unwrap();
    assert_eq!(row.summary.unwrap().median, 2.0);
    assert_eq!(row.ratio.unwrap().median, 1.0);
    assert_eq!(row.verdict, Some(Verdict::NoDifferenceShown));
    let text = report::show(&report);
    let tables = text.split_once("\n\n").unwrap().1;
    assert_eq!(
        tables,
        "\
hold-exp-sparse, pop and insert: median ns per operation; x: its ratio to the baseline of the column, taken round by round, the median of these
                        n=2       n=16
 list/slab        2.0 1.00x  2.0 1.00x
 list/hook        2.0 1.00x  2.0 1.00x
 btree-map        2.0  base  2.0  base
 (harness alone)  2.0        2.0
 n=2     best of ours list/slab 2.0 ns, against btree-map 2.0 ns: 1.00x, 98 % interval 1.00..1.00: no difference shown (under 20 %)
 n=16    best of ours list/slab 2.0 ns, against btree-map 2.0 ns: 1.00x, 98 % interval 1.00..1.00: no difference shown (under 20 %)
"
    );
}

#[test]
fn a_head_that_is_a_lower_bound_is_not_measured_and_the_table_says_why() {
    let mut scenarios = scenario("hold-exp-sparse");
    scenarios[0].measures = vec![Measure::Head, Measure::Hold];
    let options = options(&["list/slab", "timer-queue", "btree-map"], &[2]);
    let report = run(&scenarios, &options, &FakeMeter::steady(1)).unwrap();
    let ran: Vec<_> = report.cells.iter().map(|cell| cell.row("timer-queue").is_some()).collect();
    assert_eq!(ran, [false, true]);
    assert!(report::show(&report).contains("timer-queue not run at n=2: its head is a lower bound"));
}

#[test]
fn a_structure_is_left_out_where_it_makes_no_sense_and_the_table_says_why() {
    let report = run(
        &scenario("hold-exp-sparse"),
        &options(&["list/slab", "btree-map"], &[2000]),
        &FakeMeter::steady(1),
    )
    .unwrap();
    assert!(report.cells[0].row("list/slab").is_none());
    assert!(report::show(&report).contains("list/slab not run at n=2k: insertion is O(n)"));
}

#[test]
fn a_baseline_that_was_not_chosen_runs_all_the_same() {
    let options = Options { baseline: Some("orx-4ary".into()), ..options(&["list/slab"], &[2]) };
    let report = run(&scenario("hold-exp-sparse"), &options, &FakeMeter::steady(1)).unwrap();
    assert_eq!(report.cells[0].baseline, Some("orx-4ary"));
    let large =
        Options { baseline: Some("list/slab".into()), populations: Some(vec![2000]), ..options.clone() };
    let error = run(&scenario("hold-exp-sparse"), &large, &FakeMeter::steady(1)).unwrap_err();
    assert_eq!(error.code(), 2);
    let message = error.to_string();
    assert!(message.contains("'list/slab' cannot run at n=2k: insertion is O(n)"), "{message}");
    let unknown = Options { baseline: Some("orx".into()), ..options };
    assert!(run(&scenario("hold-exp-sparse"), &unknown, &FakeMeter::steady(1)).is_err());
}

#[test]
fn a_time_limit_stops_rounds_but_leaves_enough_for_an_interval() {
    let options =
        Options { within: Some(Duration::from_nanos(1)), rounds: Some(100), ..options(&["list/slab"], &[2]) };
    let report = run(&scenario("hold-exp-sparse"), &options, &FakeMeter::steady(100)).unwrap();
    assert_eq!(report.cells[0].rows[0].samples.len() as u64, stats::FEWEST_ROUNDS);
}

#[test]
fn raw_samples_are_one_row_each() {
    let report =
        run(&scenario("hold-exp-sparse"), &options(&["list/*"], &[2]), &FakeMeter::steady(100)).unwrap();
    assert_eq!(report::raw(&report).count(), 2 * 7);
}

#[test]
fn a_structure_that_answers_wrongly_fails_the_run() {
    let scenarios = scenario("hold-exp-sparse");
    let plan = plan(&scenarios, &options(&["list/slab"], &[2])).unwrap();
    // No queue at all, under the name of one.
    let wrong = Runner::new(Empty::new(2));
    let live = [Live { structure: registry::find("list/slab").unwrap(), sampler: &wrong }];
    let mut cells = plan[0].empty_cells();
    let progress = Progress::steps(1, "test");
    let meter = FakeMeter::steady(1);
    let mut rounds = Rounds { part: &plan[0], live: &live, meter: &meter, judge: Judge::default() };
    let message = rounds.run(None, &progress, &mut cells).unwrap_err();
    assert!(message.contains("list/slab answered wrongly in round 0"), "{message}");
    assert!(cells[0].rows[0].samples.is_empty(), "no time counts");
}

#[test]
fn a_timer_that_is_lost_and_never_missed_in_a_round_is_missed_at_the_end() {
    /// Forgets the first timer that it is given.
    #[derive(Default)]
    struct Forgets(crate::verify::oracle::Oracle, bool);
    impl crate::candidate::BenchQueue for Forgets {
        fn insert(&mut self, id: u32, deadline: u64) {
            if self.1 {
                self.0.insert(id, deadline);
            }
            self.1 = true;
        }
        fn remove(&mut self, id: u32) {
            self.0.remove(id);
        }
        fn reschedule(&mut self, _: u32, _: u64) {}
        fn head(&mut self) -> Option<u64> {
            self.0.head()
        }
        fn second(&mut self) -> Option<u64> {
            self.0.second()
        }
        fn pop_expired(&mut self, now: u64) -> Option<(u32, u64)> {
            self.0.pop_expired(now)
        }
    }
    let scenarios = scenario("network");
    // One exchange a round: no time passes in which one of a thousand timers could be due.
    let options = Options { operations: Some(1), rounds: Some(1), ..options(&["list/slab"], &[1000]) };
    let plan = plan(&scenarios, &options).unwrap();
    let wrong = Runner::new(Forgets::default());
    let live = [Live { structure: registry::find("list/slab").unwrap(), sampler: &wrong }];
    let (progress, meter) = (Progress::steps(1, "test"), FakeMeter::steady(1));
    let mut rounds = Rounds { part: &plan[0], live: &live, meter: &meter, judge: Judge::default() };
    let message = rounds.run(None, &progress, &mut plan[0].empty_cells()).unwrap_err();
    assert!(message.contains("list/slab answered wrongly at the begin or the end: 999 of 1000"), "{message}");
}

#[test]
fn a_baseline_that_cannot_be_measured_is_refused() {
    let options = Options { baseline: Some("timer-queue".into()), ..options(&["list/slab"], &[2]) };
    assert!(run(&scenario("hold-exp-sparse"), &options, &FakeMeter::steady(1)).is_ok());
    for name in ["periodic", "reads"] {
        let error = run(&scenario(name), &options, &FakeMeter::steady(1)).unwrap_err();
        assert_eq!(error.code(), 2);
        let message = error.to_string();
        assert!(
            message.contains("'timer-queue' cannot be measured in") && message.contains("lower bound"),
            "{message}"
        );
    }
}

#[test]
fn wheels_are_compared_with_the_fastest_wheel_too() {
    let names = ["list/slab", "btree-map", "timer-queue"];
    let options = Options { baseline: Some("btree-map".into()), ..options(&names, &[2]) };
    let report = run(&scenario("network"), &options, &FakeMeter::steady(100)).unwrap();
    let cell = &report.cells[0];
    assert_eq!((cell.baseline, cell.wheel), (Some("btree-map"), Some("timer-queue")));
    assert_eq!(cell.row("list/slab").unwrap().to_wheel.unwrap().median, 1.0);
    let text = report::show(&report);
    let line = "         list/slab 2.0 ns, against the fastest wheel timer-queue 2.0 ns: 1.00x, 98 % interval 1.00..1.00: no difference shown";
    assert!(text.contains(line), "{text}");
}

#[test]
fn a_question_is_priced_by_what_it_adds_round_by_round() {
    let report =
        run(&scenario("reads"), &options(&["list/slab", "timer-queue"], &[2]), &FakeMeter::steady(100))
            .unwrap();
    let prices: Vec<_> =
        report.cells.iter().map(|cell| cell.row("list/slab").unwrap().question.map(|q| q.median)).collect();
    assert_eq!(prices, [None, Some(0.0), Some(0.0), Some(0.0)]);
    // A lower bound can be asked for, and not taken for the head.
    let asked: Vec<_> = report.cells.iter().map(|cell| cell.row("timer-queue").is_some()).collect();
    assert_eq!(asked, [true, true, false, false]);
    let text = report::show(&report);
    assert!(text.contains("the question alone, ns more than the exchange"), "{text}");
}

#[test]
fn a_row_is_found_by_its_name_in_every_column() {
    let mut report = run(
        &scenario("hold-exp-sparse"),
        &options(&["list/slab", "btree-map"], &[2, 2000]),
        &FakeMeter::steady(100),
    )
    .unwrap();
    report.cells[1].rows.reverse();
    let text = report::show(&report);
    assert!(text.contains(" list/slab        2.0 1.00x          -\n"), "{text}");
    assert!(text.contains("list/slab not run at n=2k: insertion is O(n)"), "{text}");
}

#[test]
fn a_sample_of_expiries_is_as_long_as_there_are_timers() {
    let report = run(&scenario("expire"), &options(&["list/*"], &[3]), &FakeMeter::steady(30)).unwrap();
    let measured: Vec<_> = report.cells.iter().map(|cell| (cell.measure, cell.operations)).collect();
    assert_eq!(measured, [(Measure::Insert, 3), (Measure::Expire, 3)]);
    assert_eq!(report.cells[1].row("list/hook").unwrap().summary.unwrap().median, 10.0);
}
