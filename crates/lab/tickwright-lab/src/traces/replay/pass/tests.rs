use core::cell::RefCell;

use super::*;
use crate::allocator;
use crate::clock::FakeMeter;
use crate::models::sampler::Sampler;
use crate::models::verify::faulty::{Fault, Faulty};

/// Three timers are armed, one is moved and one is cancelled. None is due while the trace lasts.
const STEPS: [Step; 5] = [
    Step::Insert { id: 0, deadline: 100 },
    Step::Insert { id: 1, deadline: 200 },
    Step::Insert { id: 2, deadline: 300 },
    Step::Reschedule { id: 1, deadline: 250 },
    Step::Remove { id: 2 },
];

/// Runs a pass over `steps`, in pieces of two.
fn pass(steps: &[Step], id: &str, fault: Fault, purpose: Purpose<'_>) -> Result<Passed, LabError> {
    let structure = registry::find(id)?;
    let chunks = pieces(steps);
    let feed = |take: &mut Take<'_>| chunks.iter().try_for_each(take);
    let meter = FakeMeter::steady(10);
    on(structure, fault, Pass { feed: &feed, capacity: 4, untimed: 0, purpose, meter: &meter })
}

/// Runs a pass on a queue with a fault, under the name of a structure.
fn on(structure: &'static Structure, fault: Fault, pass: Pass<'_>) -> Result<Passed, LabError> {
    let queue = RefCell::new(Faulty::new(fault));
    let sampler = &Sampler::new(allocator::live_bytes(), &queue);
    pass.on(Live { structure, sampler, inline: 0, nodes: 0 })
}

fn pieces(steps: &[Step]) -> Vec<Tape> {
    steps.chunks(2).map(Tape::of).collect()
}

/// Exact and granular structures of ours, and another crate's structure whose head is a lower
/// bound.
const WITNESSES: &[&str] = if cfg!(feature = "rivals") {
    &["heap4/slab", "timer-queue", "coarse/slab"]
} else {
    &["heap4/slab", "coarse/slab"]
};

/// Compares the queue with answers that are computed beforehand, and with answers that are computed
/// during the pass. Both comparisons must have the same result.
fn compared(steps: &[Step], id: &str, fault: Fault, end: u64) -> Result<Passed, LabError> {
    let known = Known::of(&pieces(steps), &|| Ok(()))?;
    let compare = |known| pass(steps, id, fault, Purpose::Verify(Compare { end, known, pieces: 1 }));
    let (by_known, on_the_way) = (compare(Some(&known)), compare(None));
    let said = |passed: &Result<Passed, LabError>| match passed {
        Ok(passed) => (format!("{:?}", passed.fold), passed.compared_to),
        Err(error) => (error.to_string(), None),
    };
    assert_eq!(said(&by_known), said(&on_the_way), "{id}: {fault:?}");
    by_known
}

fn verified(id: &str, fault: Fault, end: u64) -> Result<Passed, LabError> {
    compared(&STEPS, id, fault, end)
}

#[test]
fn a_trace_without_expiries_is_compared_at_its_end() {
    for &id in WITNESSES {
        let right = verified(id, Fault::None, u64::MAX).unwrap_or_else(|error| panic!("{id}: {error}"));
        assert_eq!((right.fold, right.compared_to), (Fold::default(), None), "{id}");
        for fault in [Fault::KeepsRemoved, Fault::LosesFirst, Fault::IgnoresMoves] {
            let wrong = verified(id, fault, u64::MAX).err().map(|error| error.to_string());
            let wrong = wrong.unwrap_or_else(|| panic!("{id}: {fault:?} is not seen"));
            assert!(wrong.contains("after the last operation"), "{id}: {fault:?}: {wrong}");
        }
    }
}

#[test]
fn a_comparison_that_is_cut_says_where() {
    let cut = verified("heap4/slab", Fault::None, 270).map(|passed| passed.compared_to);
    assert_eq!(cut.ok(), Some(Some(270)));
}

/// Two timers expire while the trace lasts, and another timer is pending at the end.
const EXPIRING: [Step; 6] = [
    Step::Insert { id: 0, deadline: 100 },
    Step::Insert { id: 1, deadline: 200 },
    Step::Insert { id: 2, deadline: 900 },
    Step::Advance { now: 200 },
    Step::Insert { id: 0, deadline: 400 },
    Step::Advance { now: 400 },
];

/// The queue is wrong only in the middle, and right at the end.
#[test]
fn a_wrong_timer_in_the_middle_of_a_trace_is_found() {
    for &id in WITNESSES {
        let right = compared(&EXPIRING, id, Fault::None, u64::MAX);
        let right = right.unwrap_or_else(|error| panic!("{id}: {error}"));
        assert_ne!(right.fold, right.first, "{id}");
        assert_eq!(right.first, Fold::default(), "the first piece has no answer");
        let wrong = compared(&EXPIRING, id, Fault::MisnamesFirst, u64::MAX).err();
        let wrong = wrong.unwrap_or_else(|| panic!("{id}: the wrong timer is not seen")).to_string();
        assert!(wrong.contains("answered wrongly"), "{id}: {wrong}");
        assert!(!wrong.contains("after the last operation"), "{id}: {wrong}");
    }
}

#[test]
fn a_wake_up_without_a_delivery_is_idle() {
    let idle = |fault| {
        let passed = pass(&EXPIRING, "heap4/slab", fault, Purpose::Wakes);
        passed.map(|passed| (passed.idle_wakes, passed.late_ticks)).unwrap_or_else(|error| panic!("{error}"))
    };
    assert_eq!(idle(Fault::None), (0, 0));
    // There is an idle wake-up shortly before each of the ticks 100, 200 and 400.
    assert_eq!(idle(Fault::WakesEarly), (3, 0));
}

/// A meter for a machine on which other programs use half of the time.
struct Shared(FakeMeter);

impl Meter for Shared {
    fn now(&self) -> u64 {
        self.0.now() + self.0.now()
    }

    fn cpu(&self) -> u64 {
        self.0.now()
    }
}

#[test]
fn the_time_of_other_programs_does_not_count() {
    let chunks = pieces(&EXPIRING);
    let feed = |take: &mut Take<'_>| chunks.iter().try_for_each(take);
    let structure = registry::find("heap4/slab").unwrap();
    for meter in [&Shared(FakeMeter::steady(10)) as &dyn Meter, &FakeMeter::steady(10)] {
        let pass = Pass { feed: &feed, capacity: 4, untimed: 2, purpose: Purpose::Time(0, &mut []), meter };
        let passed = on(structure, Fault::None, pass);
        // The first of three pieces is not timed, and each of the other two takes one reading.
        assert_eq!(passed.map(|passed| passed.ns).ok(), Some(20));
    }
}

/// A timer that is armed 900,000 ticks after the last delivery is late by only a tick, because its
/// own delay is short and the structure was told the time. The structure is told the time in each
/// kind of pass, so it gives the same answers.
#[test]
fn the_time_is_told_in_each_pass_and_is_not_timed_as_a_call() {
    let steps = [
        Step::Insert { id: 0, deadline: 1_000_000 },
        Step::Clock { at: 900_000 },
        Step::Insert { id: 1, deadline: 900_063 },
        Step::Advance { now: 900_072 },
    ];
    let chunks = [Tape::of(steps)];
    let feed = |take: &mut Take<'_>| chunks.iter().try_for_each(take);
    for id in ["coarse/slab", "coarse/hook"] {
        let run = |purpose| {
            let meter = FakeMeter::steady(10);
            let pass = Pass { feed: &feed, capacity: 4, untimed: 0, purpose, meter: &meter };
            pass.run(registry::find(id)?)
        };
        let run = |purpose| run(purpose).unwrap_or_else(|error| panic!("{id}: {error}"));
        let compared = run(Purpose::Verify(Compare { end: u64::MAX, known: None, pieces: 1 }));
        assert_ne!(compared.fold, Fold::default());
        assert_eq!(run(Purpose::Time(0, &mut [])).fold, compared.fold, "{id}");
        assert_eq!(run(Purpose::Wakes).late_ticks, 1, "{id}");
        assert_eq!(run(Purpose::Calls(0, &mut [])).fold, compared.fold, "{id}");
    }
    let chunks = [Tape::of([Step::Clock { at: 5 }, Step::Insert { id: 0, deadline: 9 }])];
    let feed = |take: &mut Take<'_>| chunks.iter().try_for_each(take);
    let mut waste = [0; 128];
    let (purpose, meter) = (Purpose::Calls(0, &mut waste), FakeMeter::steady(10));
    let pass = Pass { feed: &feed, capacity: 4, untimed: 0, purpose, meter: &meter };
    let passed = pass.run(registry::find("heap4/slab").unwrap()).unwrap();
    assert_eq!(passed.calls.map(|calls| calls.is_some()), [true, false, false, false]);
    // One byte of each cache line was written before the only piece.
    assert_eq!((waste[0], waste[64], waste.iter().sum::<u8>()), (1, 1, 2));
}
