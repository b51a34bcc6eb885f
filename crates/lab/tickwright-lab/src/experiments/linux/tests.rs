use core::time::Duration;

use super::LinuxArgs;
use super::cost::{self, Cost};
use super::counts::Counts;
use super::network::{Carried, Kind, Network, Run, Share, Traffic, simulate};
use super::oracle::{Did, Model, Way, end, level};
use super::run::Data;
use super::simple::{Real, STEP_MS, Virtual, Workload};
use super::subject::{Column, Outcome};
use crate::experiment::Experiment;
use crate::experiments::request;
use crate::render;
use crate::result::Finding;
use crate::stats::Verdict;

fn workload() -> Workload {
    Workload { timers: 200, hz: 1000, delay_ms: 1000, step_ms: STEP_MS, seed: 3 }
}

#[test]
fn levels_begin_where_linux_says() {
    for (delay, expected) in [(0, 0), (62, 0), (63, 1), (503, 1), (504, 2), (4031, 2), (4032, 3), (32_256, 4)]
    {
        assert_eq!(level(delay), expected, "{delay}");
    }
    assert_eq!((end(5, 0), end(1000, 2), end(1023, 2), end(1024, 2)), (6, 1024, 1024, 1088));
}

#[test]
fn the_model_by_hand() {
    let mut timer = Model::default();
    assert_eq!(timer.arm(Way::Bucket, 0, 1000), Did::Start);
    assert_eq!(timer.arm(Way::Bucket, 20, 1003), Did::Match, "1023 is in the granule that ends at 1024");
    assert_eq!(timer.arm(Way::Bucket, 21, 1003), Did::Requeue, "1024 is not");
    assert_eq!(timer.arm(Way::Bucket, 1020, 10), Did::Requeue, "a finer level");
    assert_eq!(timer.arm(Way::Bucket, 1031, 10), Did::Start, "it fired at 1031");
    let mut timer = Model::default();
    assert_eq!(timer.arm(Way::Equal, 0, 1000), Did::Start);
    assert_eq!(timer.arm(Way::Equal, 0, 1000), Did::Match);
    assert_eq!(timer.arm(Way::Equal, 1, 1000), Did::Requeue);
}

/// The library's counts equal the oracle's, and both counts agree with the formulas.
#[test]
fn virtual_time_gives_the_rates_of_the_formulas() {
    let work = workload();
    let (before, after) = work.expected();
    assert!((before - 5.5).abs() < 0.1 && (after - 86.3).abs() < 0.1, "{before} {after}");
    for column in Column::ALL {
        let counts = Virtual { work: &work, column, rearms: 40_000 }.run().unwrap();
        let matched = counts.match_percent().unwrap();
        let expected = if column == Column::Before { before } else { after };
        assert!((matched - expected).abs() < 1.0, "{column:?}: {matched}, not {expected}");
        let bound = counts.locks + counts.matched;
        match column {
            Column::Ours | Column::After => assert_eq!(bound, counts.rearms(), "none for a match"),
            Column::Before | Column::Locked => assert!(counts.locks >= counts.requeued),
        }
        assert_eq!(counts.recalculated, 0, "the clock stands still during a call");
    }
}

/// Covers every level of the wheel, and expiry. The tested code itself compares the counts with the
/// oracle's counts.
#[test]
fn every_delay_agrees_with_the_oracle() {
    for delay_ms in [1, 5, 62, 63, 503, 504, 4031, 4032, 100_000, 16_515_072, 200_000_000] {
        for column in Column::ALL {
            let work = Workload { delay_ms, timers: 20, step_ms: 40.0, ..workload() };
            let counts = Virtual { work: &work, column, rearms: 3000 }.run().unwrap();
            assert_eq!(counts.calls(), 3000, "{column:?} {delay_ms}");
        }
    }
}

#[test]
fn real_time_counts_every_rearm() {
    let work = Workload { delay_ms: 3_600_000, ..workload() };
    for column in Column::ALL {
        let outcome = Real { work: &work, column, lasts: Duration::from_millis(30) }.run().unwrap();
        assert!(outcome.counts.rearms() > 0);
        assert_eq!((outcome.counts.started, outcome.fired), (0, 0), "an hour is not over");
        if column != Column::After {
            assert_eq!(outcome.counts.recalculated, 0);
        }
    }
}

fn traffic() -> Traffic {
    Traffic { connections: 3, response: 100_000, pause_ms: 0, line_mbits: 100_000, hz: 1000, seed: 5 }
}

const MINUTE: Duration = Duration::from_secs(60);

fn run(traffic: &Traffic, column: Column, most: u64) -> Run {
    Network { traffic, column, lasts: MINUTE, most }.run().unwrap()
}

#[test]
fn the_line_carries_what_an_ethernet_does() {
    let gigabit = Traffic { line_mbits: 1000, ..traffic() };
    assert!((gigabit.acknowledgements_per_tick() - 40.64).abs() < 0.01);
    let slower = Traffic { hz: 250, ..gigabit };
    assert!((slower.acknowledgements_per_tick() - 162.5).abs() < 0.1);
    for (hz, delays) in [(1000, [60_000, 201, 40]), (250, [15_000, 51, 10]), (100, [6000, 21, 4])] {
        assert_eq!(Kind::ALL.map(|kind| kind.delay(hz)), delays, "{hz}");
    }
}

/// The tested code itself compares the counts with the oracle's counts, and this test compares them
/// with the traffic.
#[test]
fn segments_rearm_their_timers() {
    for column in Column::ALL {
        let run = run(&traffic(), column, 12);
        assert_eq!(run.carried.exchanges, 12);
        // A response has 70 segments and therefore 35 acknowledgements. The last acknowledgement
        // arms no timer, but the first segment also arms the timer. A request is one segment. At
        // the end, two other exchanges are in progress.
        for (end, kind, each) in [
            (1, Kind::Idle, 1),
            (1, Kind::Retransmit, 35),
            (1, Kind::DelayedAck, 1),
            (0, Kind::Idle, 1),
            (0, Kind::Retransmit, 1),
            (0, Kind::DelayedAck, 35),
        ] {
            let seen = run.kinds[end][kind as usize].calls();
            assert!((12 * each..=14 * each).contains(&seen), "{end} {kind:?}: {seen}");
        }
        let carried = run.carried;
        assert!(carried.busy_ns > 0 && carried.shared_by().is_some_and(|by| (1.0..=3.0).contains(&by)));
        let [server, both] = Share::ALL.map(|share| run.counts(share).calls());
        assert_eq!(server, run.server.counts.calls());
        assert!(both > 2 * server - 40, "{server} {both}");
    }
}

/// One response at a time fills the line, so the rates can be computed by hand.
#[test]
fn a_stream_has_the_rates_of_its_line() {
    let traffic =
        Traffic { connections: 1, response: 100_000_000, pause_ms: 0, line_mbits: 1000, hz: 1000, seed: 1 };
    for (column, expected) in [(Column::Before, 97.5), (Column::Ours, 99.7)] {
        let run = Network { traffic: &traffic, column, lasts: Duration::from_secs(5), most: u64::MAX }.run();
        let run = run.unwrap();
        let matched = run.kinds[1][Kind::Retransmit as usize].match_percent().unwrap();
        assert!((matched - expected).abs() < 0.1, "{column:?}: {matched}, not {expected}");
        assert!(run.carried.busy_ns as f64 > 0.99 * run.carried.elapsed_ns as f64, "{:?}", run.carried);
    }
}

#[test]
fn the_same_traffic_causes_the_same_rearms() {
    let log = |seed| {
        let mut log = Vec::new();
        let traffic = Traffic { connections: 20, pause_ms: 3, seed, ..traffic() };
        let carried = simulate(&traffic, MINUTE, 100, &mut |rearm| {
            log.push((rearm.now, rearm.deadline, rearm.connection));
            Ok(())
        });
        (carried.unwrap(), log)
    };
    assert_eq!(log(1), log(1));
    assert_ne!(log(1), log(2));
    assert!(log(1).1.is_sorted_by_key(|rearm| rearm.0));
}

/// The tested code itself compares the counters with the calls.
#[test]
fn the_cost_is_that_of_what_it_says() {
    let costs = cost::run(2, 3, 1).unwrap();
    assert_eq!(costs.len(), 8);
    assert!(costs.iter().all(|cost| cost.samples.len() == 2));
}

fn outcome(column: Column, matched: u64) -> Outcome {
    let counts = Counts { matched, requeued: 1000 - matched, locks: 10, ..Counts::default() };
    Outcome { column, counts, fired: 0, late: 0 }
}

/// Returns outcomes with the given numbers of matches per thousand re-arms.
fn outcomes(matched: [u64; 4]) -> Vec<Outcome> {
    Column::ALL.into_iter().zip(matched).map(|(column, matched)| outcome(column, matched)).collect()
}

fn data() -> Data {
    let simple = outcomes([60, 866, 866, 866]);
    let of = |server: Outcome| Run {
        kinds: [[server.counts; Kind::ALL.len()]; 2],
        server,
        carried: Carried { exchanges: 5, elapsed_ns: 1_000_000_000, ..Carried::default() },
    };
    let network = outcomes([966, 993, 993, 993]).into_iter().map(of).collect();
    let cost = |threads, column: Column| {
        let ns = if column == Column::Ours { 5.0 } else { 10.0 };
        Cost { column, threads, samples: vec![ns, ns + 1.0, ns - 1.0, ns, ns, ns + 2.0] }
    };
    let costs = [1, 2].into_iter().flat_map(|threads| Column::ALL.map(|column| cost(threads, column)));
    Data { simple, network, costs: costs.collect() }
}

#[test]
fn the_report_shows_published_and_own_figures() {
    let args: LinuxArgs = request::words(&[]).unwrap();
    let (plan, data) = (args.plan().unwrap(), data());
    let findings = args.findings(&plan, &data);
    insta::assert_snapshot!(render::sections(&args.sections(&plan, &data, &findings)));
    let Finding { published, here, verdict, .. } = &findings[0];
    assert_eq!(published.as_deref(), Some("5.5 to 86.6 % (simple), 97.8 to 99.7 % (network)"));
    assert_eq!(here, "6.0 to 86.6 % (simple), 96.6 to 99.3 % (network)");
    assert_eq!(*verdict, Verdict::Held);
    let series = args.series(&plan, &data);
    // For each way of re-arming, there are 8 series of the simple test, 7 series for each end and
    // kind of timer, 1 of the exchanges, and 2 of the cost.
    assert_eq!(series.len(), 4 * (8 + 6 * 7 + 1 + 2));
}

/// Checks the findings for a busy host, for a rate that does not rise, and for a rate of 100 %.
#[test]
fn conclusions_are_drawn_from_what_was_seen() {
    let args: LinuxArgs = request::words(&["--only", "simple"]).unwrap();
    let plan = args.plan().unwrap();
    let findings = |matched, late| {
        let mut simple = outcomes(matched);
        simple[1].late = late;
        args.findings(&plan, &Data { simple, ..Data::default() })
    };
    let change = |matched, late| {
        let [headline, change, ..] = &findings(matched, late)[..] else { panic!("the test was run") };
        assert_eq!(headline.verdict, change.verdict);
        (change.here.clone(), change.verdict)
    };
    let says = |(here, verdict): (String, Verdict), words: &str, expected: Verdict| {
        assert!(here.contains(words) && verdict == expected, "{here}: {verdict:?}");
    };
    let good = [60, 866, 866, 866];
    says(change(good, 0), "6.0 to 86.6 %, requeues to 1/7.0", Verdict::Held);
    says(change(good, 11), "the host was busy", Verdict::NotShown);
    says(change([60, 60, 60, 60], 0), "it did not rise", Verdict::Missed);
    says(change([60, 1000, 1000, 1000], 0), "requeues to none", Verdict::NotShown);
    says(change([60, 200, 200, 200], 0), "another size", Verdict::Missed);
    assert_eq!(findings([60, 866, 866, 865], 0)[2].verdict, Verdict::Missed, "ours matches less often");
    let mut short = data();
    short.network.iter_mut().for_each(|run| run.kinds[1][0].requeued += 60);
    let network: LinuxArgs = request::words(&["--only", "network"]).unwrap();
    let change = &network.findings(&network.plan().unwrap(), &short)[1];
    says((change.here.clone(), change.verdict), "another size, in a short run", Verdict::NotShown);
    let none = args.findings(&plan, &Data::default());
    assert_eq!((none[0].here.as_str(), none[0].verdict), ("not measured (simple)", Verdict::NotShown));
}
