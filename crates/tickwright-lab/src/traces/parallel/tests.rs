use tickwright_trace::{Event, What};

use super::divide::Op;
use super::*;
use crate::render;

const MS: i64 = 1_000_000;

fn event(ms: i64, timer: u64, thread: u32, what: What) -> Event {
    Event { thread, ..Event::new(ms * MS, timer, what) }
}

fn arm(ms: i64) -> What {
    What::Arm { deadline: ms * MS, period: 0 }
}

/// Two threads with timers of their own, and some that one arms and the other cancels.
fn two_threads(steps: i64) -> Input {
    let mut events = Vec::new();
    for at in 0..steps {
        let timer = at as u64 % 50;
        events.push(event(at, timer, 1, arm(at + 30)));
        events.push(event(at, 100 + timer, 2, arm(at + 5 + at % 70)));
        if at % 3 == 0 {
            events.push(event(at, timer, 2, What::Cancel));
        }
        events.push(event(at, 7, 1, What::Fire));
    }
    Input::Made(events)
}

#[test]
fn a_timer_belongs_to_one_lane_in_a_window() {
    let work = divide(&two_threads(10_000), 1_000_000, 8).unwrap();
    assert_eq!((work.lanes, work.threads, work.timers), (2, 2, 100));
    assert_eq!(work.operations, 20_000 + 3_334);
    assert!(work.windows.len() > 3 && !work.is_cut);
    for window in &work.windows {
        for timer in 0..100 {
            let touches = |lane: &&Vec<Op>| lane.iter().any(|op| op.timer == timer);
            assert!(window.lanes.iter().filter(touches).count() <= 1);
        }
        for lane in &window.lanes {
            assert!(lane.is_sorted_by_key(|op| op.at));
            assert!(lane.iter().all(|op| op.deadline.is_none_or(|deadline| deadline > op.at)));
        }
    }
    let alone = work.merged();
    let count =
        |work: &Work| -> usize { work.windows.iter().flat_map(|window| &window.lanes).map(Vec::len).sum() };
    assert_eq!((count(&alone), count(&work)), (work.operations, work.operations));
}

/// Three lanes: a cancel finds nothing, and each arm has one end.
#[test]
fn each_timer_ends_once_on_every_structure() {
    let work = divide(&two_threads(5_000), 1_000_000, 2).unwrap();
    for subject in Subject::ALL {
        for work in [&work, &work.merged()] {
            let (_, ends) = pass(subject, work, OsClock::start()).unwrap();
            assert!(ends.armed > 5_000 && ends.fired > 0 && ends.cancelled > 0, "{ends:?}");
        }
    }
    let (_, exact) = pass(Subject::LockedWheel, &work.merged(), OsClock::start()).unwrap();
    let (_, heap) = pass(Subject::LockedHeap, &work.merged(), OsClock::start()).unwrap();
    assert_eq!(exact, heap, "both are exact");
}

#[test]
fn the_report_names_the_threads_and_the_share_without_a_lock() {
    let args: ReplayArgs = request::words(&["sample:unbound", "--threads"]).unwrap();
    let plan = OnThreads(&args).plan().unwrap();
    let row = |(subject, lanes, ns): (Subject, usize, f64)| Row {
        subject,
        lanes,
        ns: (0..9).map(|round| ns + f64::from(round) / 10.0).collect(),
        unlocked: (subject == Subject::Shards).then_some(88.0),
    };
    let rows = [
        (Subject::Shards, 1, 20.0),
        (Subject::LockedHeap, 1, 40.0),
        (Subject::Shards, 2, 12.0),
        (Subject::LockedHeap, 2, 150.0),
    ];
    let data = Data { threads: 5, operations: 30_000, rows: rows.map(row).into() };
    let findings = OnThreads(&args).findings(&plan, &data);
    insta::assert_snapshot!(render::sections(&OnThreads(&args).sections(&plan, &data, &findings)));
}
