//! The workload reproduces the published counts.

use core::cell::Cell;

use super::super::instrument::{Op, Samples, Stats};
use super::super::verdict::{Acceptance, Prediction};
use super::*;
use crate::stats::Verdict;
use crate::structures::baseline::btree_map::StdBTreeMap;

#[test]
fn the_model_predicts_the_published_counts() {
    let prediction = Prediction::of(&params());
    assert!((prediction.head_to_insert - 2.83).abs() < 0.01, "{prediction:?}");
    assert!((prediction.ticks_per_second / 12_861.0 - 1.0).abs() < 0.01, "{prediction:?}");
    assert!((prediction.population - 500.0).abs() < f64::EPSILON);
    // The Xplained board has no host tick in its queue; 283.8 M head reads divided by 113.0 M
    // inserts are 2.510.
    let xplained = Prediction::of(&Params { host_tick_ns: None, ..params() });
    assert!((xplained.head_to_insert - 2.8).abs() < 1e-9);
    assert!((xplained.head_to_insert_at(0.82) - 2.510).abs() < 0.01);
    let published: Published = row::published(FILE).expect("the file is right");
    assert!((published.machines[0].structures[0].per_tick() - 418.8).abs() < 0.1);
}

#[test]
fn virtual_time_keeps_the_model() {
    let (slice, _, verdict) = judged::<StdBTreeMap, _>(4 * SECOND, &mut Virtual::default());
    assert!(slice.agrees_with(&verdict.expect("std is right")));
    let count = |op: Op| slice.counts[op as usize] as f64;
    let ratio = count(Op::Head) / count(Op::Insert);
    assert!((ratio / 2.83 - 1.0).abs() < 0.01, "{ratio}");
    let population = slice.armed as f64 / slice.wakes as f64;
    assert!((population / 500.0 - 1.0).abs() < 0.05, "{population}");
    let seconds_per_second = count(Op::Second) / 4.0;
    assert!((seconds_per_second / 420.4 - 1.0).abs() < 0.02, "{seconds_per_second}");
    assert!((slice.ticks as f64 / 4.0 / 12_861.0 - 1.0).abs() < 0.03, "{}", slice.ticks);
    assert!((count(Op::Insert) - count(Op::Remove)).abs() < 100.0);
}

struct EventsOf(u64);

impl Visitor for EventsOf {
    type Out = Vec<Event>;

    fn visit<C: Candidate>(self, structure: &'static Structure) -> Vec<Event> {
        let (_, events, verdict) = judged::<C, _>(self.0, &mut Virtual::default());
        assert_eq!(verdict.err(), None, "{}", structure.id);
        events
    }
}

#[test]
fn one_seed_is_one_event_log_in_every_structure() {
    let mut fifo = STRUCTURES.iter().filter(|structure| structure.ties == Ties::Fifo);
    let first = registry::visit(fifo.next().expect("there are structures"), EventsOf(SECOND / 2));
    for structure in fifo {
        assert!(registry::visit(structure, EventsOf(SECOND / 2)) == first, "{}", structure.id);
    }
}

#[test]
fn the_workload_is_the_scenario_in_a_stable_form() {
    let (args, plan) = asked(&[]);
    let numbers = r#"{"timers":1000,"period_mean_ns":41000000,"period_spread":0.25,"#;
    let words = args.workload(&plan);
    assert!(words.starts_with(numbers) && words.contains(r#""host_tick_ns":2378000,"seed":0}"#), "{words}");
}

#[test]
fn seeds_differ() {
    let of = |seed| Workload::new(&Params { seed, ..params() }).timers()[0].period;
    assert_ne!(of(1), of(2));
}

#[test]
fn a_run_lasts_as_planned_and_is_accepted() {
    let (_, plan) = asked(&["--duration", "1s", "--instrument", "--structures", "list/slab"]);
    let lanes = ran(&plan, 10);
    let lane = &lanes[0];
    assert_eq!(lane.total.elapsed_ns, SECOND);
    assert_eq!(lane.per_tick.len(), 8);
    let acceptance = Acceptance::of(lane, &Prediction::of(&plan.params), plan.mode);
    assert!(acceptance.keeps_up && acceptance.verdict() == Verdict::Held, "{acceptance:?}");
    let stats = lane.stats.as_ref().expect("it was instrumented");
    assert_eq!(stats.of(Op::Insert).running().count(), lane.total.counts[Op::Insert as usize]);
    assert_eq!(stats.overall().running().count(), lane.total.counts.iter().sum::<u64>());
    assert!(lane.means.iter().flatten().all(|mean| *mean == 10.0), "each operation reads the clock once");
}

#[test]
fn a_run_that_never_toggles_is_not_the_experiment() {
    let (args, mut plan) = asked(&["--duration", "1s", "--structures", "list/slab"]);
    plan.params.toggle_probability = 0.0;
    let lanes = ran(&plan, 0);
    let acceptance = Acceptance::of(&lanes[0], &Prediction::of(&params()), plan.mode);
    assert_eq!(acceptance.verdict(), Verdict::Missed, "{acceptance:?}");
    // The findings compare the run with the plan, and this run did not follow the plan.
    plan.params.toggle_probability = 0.5;
    let findings = args.findings(&plan, &lanes);
    assert_eq!(findings[0].verdict, Verdict::NotShown, "{findings:?}");
    assert_eq!(findings[0].here, "no conclusion: list/slab ran something else");
}

#[test]
fn an_interrupt_keeps_what_was_measured() {
    let asked = Cell::new(0);
    let stop = || {
        asked.set(asked.get() + 1);
        asked.get() > 100
    };
    let (slice, _, verdict) = judged_until::<StdBTreeMap, _>(10 * SECOND, &mut Virtual::default(), &stop);
    assert!(slice.ticks > 0 && slice.ticks < 12_000, "{}", slice.ticks);
    assert!(slice.agrees_with(&verdict.expect("std is right")));
}

#[test]
fn a_full_log_ends_a_slice_and_loses_nothing() {
    let mut work = Workload::new(&params());
    let mut log = Log::new(1000, 1001);
    let mut elapsed = 0;
    for _ in 0..20 {
        log.clear();
        let oracle = Oracle::filled(&work, Ties::Fifo);
        let kernel = Kernel { work: &mut work, probe: Probe::default(), log: &mut log };
        let (mut queue, meter) = (StdBTreeMap::queue(&(), 1001), FakeMeter::steady(0));
        let slice = drive(&mut queue, kernel, SECOND, &mut Virtual::default(), &meter, &|| false);
        assert!(slice.elapsed_ns < SECOND);
        elapsed += slice.elapsed_ns;
        oracle.verify(log.events()).expect("std is right");
    }
    assert_eq!(work.now, elapsed);
}

#[test]
fn samples_carry_their_operation_and_saturate() {
    let meter = FakeMeter::scripted([0, 7, 0, u64::MAX]);
    let mut samples = Samples::new(10, 1);
    let mut timing = Probe::timing(&meter, &mut samples);
    for op in [Op::Second, Op::Remove] {
        let before = timing.begin();
        timing.end(op, before);
    }
    assert_eq!(timing.counts(), [0, 1, 0, 1]);
    let mut stats = Stats::new();
    samples.drain_into(&mut stats);
    assert_eq!(stats.of(Op::Second).running().max(), 7);
    assert_eq!(stats.of(Op::Remove).running().max(), (1 << 30) - 1);
    assert_eq!(stats.overall().running().count(), 2);
}

#[test]
fn an_odd_number_of_timers_that_nothing_toggles_is_expected_as_it_is() {
    let still = Params { timers: 3, toggle_probability: 0.0, ..params() };
    assert_eq!(Prediction::of(&still).population, 1.0);
    assert_eq!(Prediction::of(&Params { toggle_probability: 0.1, ..still }).population, 1.5);
}

/// A timer with a period of 20 s ticks only in a few of the slices, which last 250 ms.
#[test]
fn a_slice_without_ticks_takes_its_round_away() {
    let (_, plan) = asked(&["--duration", "30s", "--structures", "list/slab,heap2/slab"]);
    let slow =
        Params { timers: 2, period_mean_ns: 20 * SECOND, period_spread: 0.0, host_tick_ns: None, ..params() };
    let lanes = ran(&Plan { params: slow, ..plan }, 0);
    let rounds = lanes[0].per_tick.len();
    assert!((1..10).contains(&rounds), "{rounds}");
    assert!(lanes.iter().all(|lane| lane.per_tick.len() == rounds));
}
