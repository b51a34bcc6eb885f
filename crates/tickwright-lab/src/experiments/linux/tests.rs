use core::time::Duration;

use super::cost::{self, Cost};
use super::counts::Counts;
use super::network::{Kind, Line, Live, Replay, Run, Share, Traffic};
use super::oracle::{Did, Model, Way, end, level};
use super::outcome::{Column, Outcome};
use super::published::{NETWORK, SIMPLE};
use super::report::{Network, Replayed, Report, Simple};
use super::simple::{Real, STEP_MS, Virtual, Workload};
use super::sweep::Point;
use crate::clock::{OsClock, calibrate};
use crate::host::Host;

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

/// The library counts what the oracle counts, and both what the formulas say.
#[test]
fn virtual_time_gives_the_rates_of_the_formulas() {
    let work = workload();
    let (before, after) = work.expected();
    assert!((before - 5.5).abs() < 0.1 && (after - 86.3).abs() < 0.1, "{before} {after}");
    for column in Column::ALL {
        let counts = column.run(Virtual { work: &work, column, rearms: 40_000 }).unwrap();
        let matched = counts.percent(counts.matched).unwrap();
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

/// Every level of the wheel, through expiry too: the counts are compared inside.
#[test]
fn every_delay_agrees_with_the_oracle() {
    for delay_ms in [1, 5, 62, 63, 503, 504, 4031, 4032, 100_000, 16_515_072, 200_000_000] {
        for column in Column::ALL {
            let work = Workload { delay_ms, timers: 20, step_ms: 40.0, ..workload() };
            let counts = column.run(Virtual { work: &work, column, rearms: 3000 }).unwrap();
            assert_eq!(counts.rearms() + counts.started, 3000, "{column:?} {delay_ms}");
        }
    }
}

#[test]
fn real_time_counts_every_rearm() {
    let work = Workload { delay_ms: 3_600_000, ..workload() };
    for column in Column::ALL {
        let outcome = column.run(Real { work: &work, column, lasts: Duration::from_millis(30) }).unwrap();
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

fn live(traffic: &Traffic, column: Column, most: u64, notes: usize) -> Run {
    column.run(Live { traffic, column, lasts: Duration::from_secs(60), most, notes }).unwrap()
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

/// Real sockets. The counts are compared with what was asked for inside; here with the traffic.
#[test]
fn segments_rearm_their_timers() {
    for column in Column::ALL {
        let run = live(&traffic(), column, 12, usize::MAX);
        assert!(run.exchanges >= 12);
        let calls: u64 = run.kinds.iter().flatten().map(|counts| counts.rearms() + counts.started).sum();
        assert_eq!(run.log.len() as u64, calls);
        for entry in &run.log {
            assert_eq!(entry.deadline - entry.now, [60_000, 201, 40][entry.kind as usize]);
        }
        // A response is 70 segments: of 35 acknowledgements the last ends it, but the first segment
        // arms too. A request is one. What was under way at the end, one end may have counted
        // alone.
        let of =
            |server, kind| run.log.iter().filter(|e| e.server == server && e.kind == kind).count() as u64;
        let [least, most] = [run.exchanges, run.exchanges + traffic().connections as u64];
        for (server, kind, each) in [
            (true, Kind::Idle, 1),
            (true, Kind::Retransmit, 35),
            (true, Kind::DelayedAck, 1),
            (false, Kind::Idle, 1),
            (false, Kind::Retransmit, 1),
            (false, Kind::DelayedAck, 35),
        ] {
            let seen = of(server, kind);
            assert!((least * each..=most * each).contains(&seen), "{server} {kind:?}: {seen} in {least}");
        }
        assert!(run.line.busy_ns > 0 && run.line.shared_by().is_some_and(|by| (1.0..=3.0).contains(&by)));
    }
}

/// Every way of re-arming on the same traffic: the answers are compared with the oracle inside.
#[test]
fn a_log_is_replayed() {
    let run = live(&traffic(), Column::Ours, 12, 300);
    assert_eq!(run.log.len(), 600, "no more than was asked for");
    for column in Column::ALL {
        let counts = |share| {
            let counts = column.run(Replay { log: &run.log, column, share }).unwrap();
            counts.rearms() + counts.started
        };
        assert_eq!(Share::ALL.map(counts)[0], 300);
        assert_eq!(counts(Share::Both), 600);
        assert!(counts(Share::ServerCalls) < 150, "a call moves many segments");
    }
}

/// The counters are compared inside.
#[test]
fn the_cost_is_that_of_what_it_says() {
    let costs = cost::run(&OsClock::start(), 2, 3, 1).unwrap();
    assert_eq!(costs.len(), 8);
    assert!(costs.iter().all(|cost| cost.samples.len() == 2));
}

#[test]
fn the_report_shows_published_and_own_figures() {
    let outcome = |column, matched| Outcome {
        column,
        counts: Counts { matched, requeued: 1000 - matched, locks: 10, ..Counts::default() },
        elapsed_ns: 1_000_000_000,
        fired: 0,
        late: 0,
    };
    let outcomes = [(0, 60), (1, 866), (2, 866), (3, 866)];
    let outcomes: Vec<Outcome> =
        outcomes.into_iter().map(|(at, matched)| outcome(Column::ALL[at as usize], matched)).collect();
    let replays = outcomes
        .iter()
        .map(|&Outcome { column, counts, .. }| Replayed {
            column,
            server: counts,
            server_calls: counts,
            both: counts,
        })
        .collect();
    let runs = outcomes
        .iter()
        .map(|server| Run {
            server: server.clone(),
            kinds: [[server.counts; Kind::ALL.len()]; 2],
            exchanges: 5,
            line: Line::default(),
            log: Vec::new(),
        })
        .collect();
    let mut report = Report::new(Host::default(), calibrate(&OsClock::start()));
    report.simple = Some(Simple { published: SIMPLE, workload: workload(), outcomes });
    report.network = Some(Network { published: NETWORK, traffic: traffic(), runs, replays });
    let samples = vec![10.0, 11.0, 9.0, 10.0, 10.0, 12.0];
    report.costs = [1, 2]
        .into_iter()
        .flat_map(|threads| {
            let samples = samples.clone();
            Column::ALL.map(move |column| Cost { column, threads, samples: samples.clone() })
        })
        .collect();
    report.sweep.push(Point {
        hz: 1000,
        delay_ms: 1000,
        step_ms: STEP_MS,
        level: 2,
        before: 5.8,
        ours: 86.5,
    });
    let text = report.text();
    for part in [
        "5.5",
        "86.6",
        "97.8",
        "99.7",
        "<0.001",
        "and the size: requeues fell to 1/7.0, published 1/7.1",
        "requeues fell to 1/7.0, published 1/7.3",
        "1.00x",
        "5.8>86.5*",
        "1 of 1 points",
        "server, retransmit, 200 ms",
        "both ends under one kernel",
    ] {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
    assert_eq!(report.lines().len(), 4 + 4 * 7);
}

/// What is shown for a host that could not keep up, for no change, and for all that can be had.
#[test]
fn conclusions_are_drawn_from_what_was_seen() {
    let outcome = |(column, matched): (Column, u64)| Outcome {
        column,
        counts: Counts { matched, requeued: 1000 - matched, ..Counts::default() },
        elapsed_ns: 1,
        fired: 0,
        late: 0,
    };
    let text = |matched: [u64; 4], late| {
        let mut outcomes: Vec<Outcome> = Column::ALL.into_iter().zip(matched).map(outcome).collect();
        outcomes[1].late = late;
        let mut report = Report::new(Host::default(), calibrate(&OsClock::start()));
        report.simple = Some(Simple { published: SIMPLE, workload: workload(), outcomes });
        report.text()
    };
    assert!(text([60, 866, 866, 866], 11).contains("No conclusion: the host was busy"));
    assert!(text([60, 60, 60, 60], 0).contains("NOT reproduced"));
    assert!(text([60, 1000, 1000, 1000], 0).contains("fell to none"));
    assert!(text([60, 200, 200, 200], 0).contains("but NOT the size"));
    assert!(text([60, 866, 866, 865], 0).contains("LESS often than"));
}
