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
            let (_, ends, _) = pass(subject, work, OsClock::start()).unwrap();
            assert!(ends.armed > 5_000 && ends.fired > 0 && ends.cancelled > 0, "{ends:?}");
        }
    }
    let (_, exact, _) = pass(Subject::LockedWheel, &work.merged(), OsClock::start()).unwrap();
    let (_, heap, _) = pass(Subject::LockedHeap, &work.merged(), OsClock::start()).unwrap();
    assert_eq!(exact, heap, "both are exact");
}

/// A mistake of a structure on each hundredth operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    /// It reports an arm and drops the timer.
    Loses,
    /// It arms, and reports a refusal.
    Refuses,
    /// It never delivers after its first thousand deadlines.
    IsLate,
    /// It counts a firing twice.
    FiresTwice,
    /// It reports a cancel and keeps the timer.
    KeepsCancelled,
}

/// A structure with a fault.
struct Faulty {
    run: Box<dyn Run>,
    fault: Fault,
}

impl Run for Faulty {
    fn advance(&self, lane: usize, now: u64) -> bool {
        (self.fault == Fault::IsLate && now > 1000) || self.run.advance(lane, now)
    }

    fn operate(&self, lane: usize, op: &Op) -> Did {
        let hundredth = op.at.is_multiple_of(100);
        match (self.fault, op.deadline) {
            (Fault::Loses, Some(_)) if hundredth => Did::Armed,
            (Fault::Refuses, Some(_)) if hundredth => {
                self.run.operate(lane, op);
                Did::Refused
            }
            (Fault::KeepsCancelled, None) if hundredth => Did::Cancelled,
            _ => self.run.operate(lane, op),
        }
    }

    fn lateness(&self, deadline: u64) -> u64 {
        self.run.lateness(deadline)
    }

    fn fired(&self) -> u64 {
        self.run.fired() + u64::from(self.fault == Fault::FiresTwice)
    }

    fn pending(&self) -> u64 {
        self.run.pending()
    }
}

#[test]
fn a_timer_that_is_lost_late_refused_or_fires_twice_is_seen() {
    let work = divide(&two_threads(5_000), 1_000_000, 2).unwrap();
    let judged = |subject: Subject, fault| {
        let run = Faulty { run: subject.make(work.lanes, work.timers), fault };
        pass_on(&run, &work, OsClock::start()).1.judge(subject.name())
    };
    for subject in Subject::ALL {
        let right = judged(subject, Fault::None);
        assert!(right.is_ok(), "{right:?}");
        let faults = [Fault::Loses, Fault::Refuses, Fault::IsLate, Fault::FiresTwice, Fault::KeepsCancelled];
        for fault in faults {
            assert!(judged(subject, fault).is_err(), "{}: {fault:?} is not seen", subject.name());
        }
    }
}

#[test]
fn one_processor_measures_each_structure_once() {
    assert_eq!(rows_of(1), Subject::ALL.map(|subject| (subject, 1)));
    assert_eq!(rows_of(2).len(), 6);
}

#[test]
fn the_time_limit_of_the_request_is_kept() {
    let args: ReplayArgs =
        request::words(&["sample:unbound", "--threads", "--within", "2ms", "--rounds", "1000"]).unwrap();
    let plan = OnThreads(&args).plan().unwrap();
    assert_eq!(plan.within, Duration::from_millis(2));
    let meter = OsClock::start();
    let mut lab = Lab { meter: &meter, notes: Vec::new(), interrupted: false };
    let data = OnThreads(&args).run(&plan, &mut lab).unwrap();
    // A round takes milliseconds. Six rounds are taken at least.
    assert!(data.rows.iter().all(|row| (6..1000).contains(&row.ns.len())), "{:?}", data.rows);
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
