use super::judge::{agree, each_agrees, same_timers};
use super::ledger::Follower;
use super::*;
use crate::models::scenario::{Measure, Scenario};
use crate::models::tape::{Step, Tape, run};
use crate::models::verify::faulty::{Fault, Faulty};
use crate::models::verify::oracle::Oracle;
use crate::models::witness::{Answer, Delivery, Evidence, Fold, Log, Witness};
use crate::structures::candidate::BenchQueue;
use crate::structures::registry::{STRUCTURES, Structure, Ties};

/// The bound is an eighth of the delay, rounded up to a multiple of eight.
fn eighth(delay: u64) -> u64 {
    (delay / 8).next_multiple_of(8)
}

/// A granular structure for tests: the first row of the registry, but with a promised lateness.
fn granular() -> &'static Structure {
    static GRANULAR: std::sync::LazyLock<Structure> =
        std::sync::LazyLock::new(|| Structure { ties: Ties::Granular, ..STRUCTURES[0] });
    &GRANULAR
}

/// The id, the expiry and the tick of a delivery.
type Told = (u32, u64, u64);

fn delivered(told: &[Told]) -> Log {
    let deliveries = told.iter().map(|&(id, expiry, now)| Delivery { id, expiry, now }).collect();
    Log { deliveries, reads: Vec::new() }
}

fn read(answers: &[Option<u64>]) -> Log {
    Log { deliveries: Vec::new(), reads: answers.to_vec() }
}

fn fill(deadlines: &[u64]) -> Tape {
    Tape::over(Step::Fill, deadlines.to_vec())
}

fn drain(now: u64) -> Tape {
    Tape::of([Step::Deliver { now }])
}

/// Arms timers for 100 and 200, drains the queue at 300, and judges the deliveries in `notes`.
#[track_caller]
fn drained(notes: &[Told]) -> Result<(), String> {
    let mut follower = Follower::new(eighth);
    follower.follow(&fill(&[100, 200]), &Log::default()).unwrap();
    follower.follow(&drain(300), &delivered(notes))
}

#[test]
fn a_granular_structure_may_be_late_within_its_bound_and_in_its_own_order() {
    assert_eq!(drained(&[(1, 224, 300), (0, 116, 300)]), Ok(()));
}

#[test]
fn a_bound_counts_from_the_time_that_the_structure_was_told() {
    let told = [Step::Clock { at: 100 }, Step::Insert { id: 0, deadline: 140 }, Step::Advance { now: 300 }];
    let due = |expiry| {
        let log = Log { reads: vec![None], ..delivered(&[(0, expiry, 300)]) };
        Follower::new(eighth).follow(&Tape::of(told), &log)
    };
    assert_eq!(due(148), Ok(()));
    assert!(due(149).unwrap_err().contains("later than its bound, 148"));
}

#[test]
fn early_late_lost_and_twice_are_found() {
    let cases: [(&[Told], &str); 5] = [
        (&[(0, 99, 300), (1, 200, 300)], "early"),
        (&[(0, 117, 300), (1, 200, 300)], "later than its bound, 116"),
        (&[(0, 100, 300)], "timer 1, due at 232 at the latest, was not delivered by 300"),
        (&[(0, 100, 300), (0, 100, 300), (1, 200, 300)], "not armed"),
        (&[(0, 100, 300), (1, 200, 301)], "was not delivered by 300"),
    ];
    for (notes, word) in cases {
        let message = drained(notes).unwrap_err();
        assert!(message.contains(word), "{message}");
    }
}

#[test]
fn the_mistakes_of_the_hold_model_are_found_too() {
    let held = |notes: &[Told]| {
        let mut follower = Follower::new(eighth);
        follower.follow(&fill(&[100, 200]), &Log::default()).unwrap();
        follower.follow(&Tape::over(Step::Hold, vec![10, 10]), &delivered(notes))
    };
    // At 104, the timer was armed again for 114. Its bound is at least one bucket of 8 ticks.
    assert_eq!(held(&[(0, 104, 104), (0, 122, 122)]), Ok(()));
    assert!(held(&[(0, 104, 104), (0, 110, 110)]).unwrap_err().contains("early"));
    assert!(held(&[(0, 104, 104)]).unwrap_err().contains("a timer is armed, and none was found"));
    assert!(held(&[(0, 104, 104), (0, 122, 122), (1, 200, 200)]).unwrap_err().contains("too many"));
}

#[test]
fn a_wake_up_may_be_early_and_never_late_and_the_head_is_exact() {
    let judge = |measure, answer: Option<u64>| {
        let mut judge = Judge::default();
        let mut source = Scenario::find("reads").unwrap().source(1, 1, 1);
        let mut queue = Oracle::default();
        for work in [fill(&source.deadlines()), source.next(measure)] {
            let expected = judge.expect(&work, Evidence::Log);
            let mut log = Log::of(work.notes());
            run(&work, &mut queue, &mut log);
            // The queue has one timer, and is asked one question at the end.
            let head = queue.head().unwrap();
            log.reads.iter_mut().for_each(|read| *read = answer.map(|early| head - early));
            judge.judge(&STRUCTURES[0], &work, &Answer::Logged(log), &expected)?;
        }
        Ok::<(), String>(())
    };
    assert_eq!(judge(Measure::Wake, Some(0)), Ok(()));
    assert_eq!(judge(Measure::Wake, Some(40)), Ok(()));
    assert_eq!(judge(Measure::Expiry, Some(0)), Ok(()));
    assert!(judge(Measure::Expiry, Some(1)).unwrap_err().contains("where the head is"));
    assert!(judge(Measure::Wake, None).is_err());
    let late = each_agrees(&read(&[Some(101)]), &read(&[Some(100)]), Ties::Fifo, true);
    assert!(late.unwrap_err().contains("answer 0 is Some(101)"));
    assert!(each_agrees(&delivered(&[(1, 5, 5)]), &delivered(&[(2, 5, 5)]), Ties::Fifo, true).is_err());
    assert!(each_agrees(&delivered(&[(1, 5, 5)]), &delivered(&[(2, 5, 5)]), Ties::AnyOrder, true).is_ok());
    assert!(each_agrees(&delivered(&[(1, 6, 6)]), &delivered(&[(1, 5, 5)]), Ties::AnyOrder, true).is_err());
}

#[test]
fn a_read_that_is_missing_or_late_is_found_in_a_granular_structure() {
    let head = |log: Log| {
        let mut follower = Follower::new(eighth);
        follower.follow(&fill(&[100]), &Log::default()).unwrap();
        follower.follow(&Tape::of([Step::Head { count: 1 }]), &log)
    };
    assert_eq!(head(read(&[Some(116)])), Ok(()));
    assert!(head(read(&[Some(117)])).unwrap_err().contains("must come by Some(116)"));
    assert!(head(Log::default()).unwrap_err().contains("missing"));
}

/// Returns the fold of three deliveries: two timers of one expiry, in the given order, and then
/// another timer.
fn folded(ids: [u32; 2], last: u64) -> Fold {
    let mut fold = Fold::default();
    ids.iter().for_each(|id| fold.delivered(*id, 7, 7));
    fold.delivered(9, last, last);
    fold
}

#[test]
fn a_fold_with_swapped_ids_agrees_only_if_equal_deadlines_may_come_in_any_order() {
    let right = folded([1, 2], 8);
    for (found, fifo, any_order) in
        [(right, true, true), (folded([2, 1], 8), false, true), (folded([1, 2], 9), false, false)]
    {
        assert_eq!(agree(&found, &right, Ties::Fifo).is_ok(), fifo, "{found:?}");
        assert_eq!(agree(&found, &right, Ties::AnyOrder).is_ok(), any_order, "{found:?}");
    }
    let mut shorter = Fold::default();
    shorter.delivered(1, 7, 7);
    assert!(agree(&shorter, &right, Ties::AnyOrder).is_err());
}

#[test]
fn the_timers_of_an_expiry_are_the_same_in_any_order() {
    let right = delivered(&[(1, 5, 5), (2, 5, 5), (3, 6, 6)]);
    let swapped = delivered(&[(2, 5, 5), (1, 5, 5), (3, 6, 6)]);
    assert!(each_agrees(&swapped, &right, Ties::Fifo, true).is_err());
    assert!(each_agrees(&swapped, &right, Ties::AnyOrder, true).is_ok());
    assert_eq!(same_timers(&swapped, &right), Ok(()));
    let other = delivered(&[(1, 5, 5), (3, 5, 5), (2, 6, 6)]);
    assert!(each_agrees(&other, &right, Ties::AnyOrder, true).is_ok());
    let wrong = same_timers(&other, &right).unwrap_err();
    assert_eq!(wrong, "timer 3 at expiry 5, where the oracle has timer 2");
}

#[test]
fn what_is_kept_follows_from_what_is_promised() {
    assert_eq!(Evidence::of(&STRUCTURES[0], None), Evidence::Fold);
    assert_eq!(Evidence::of(&STRUCTURES[0], Some(Measure::Wake)), Evidence::Log);
    assert_eq!(Evidence::of(granular(), Some(Measure::Hold)), Evidence::Log);
    let mut judge = Judge::default();
    let expected = judge.expect(&Tape::default(), Evidence::Fold);
    let folded = Answer::Folded(Fold::default());
    assert!(judge.judge(granular(), &Tape::default(), &folded, &expected).is_err());
}

/// Returns the judgment of [`Fault::Eights`] in a scenario, with the promised bound `lateness`.
fn eights(scenario: &Scenario, lateness: fn(u64) -> u64) -> Result<(), String> {
    let (mut queue, mut follower) = (Faulty::new(Fault::Eights), Follower::new(lateness));
    let mut source = scenario.source(50, 400, 1);
    let mut works = vec![fill(&source.deadlines())];
    for _ in 0..3 {
        works.extend(scenario.measures.iter().map(|measure| source.next(*measure)));
    }
    works.extend(source.end().map(drain));
    for work in works {
        let mut log = Log::default();
        run(&work, &mut queue, &mut log);
        follower.follow(&work, &log)?;
    }
    Ok(())
}

#[test]
fn a_granular_structure_is_followed_through_every_scenario() {
    for scenario in Scenario::built_in().unwrap() {
        assert_eq!(eights(&scenario, |_| 7), Ok(()), "{}", scenario.name);
        assert!(eights(&scenario, |_| 6).is_err(), "{}", scenario.name);
    }
}
