//! For the same script, every exact structure produces the same event log in both storages.

use tickwright_testkit::machine::Event;
use tickwright_testkit::oracle::Oracle;
use tickwright_testkit::registry::{foreign, ours};
use tickwright_testkit::script::{Op, decode, encode, gust, noise};

fn scripts() -> impl Iterator<Item = Vec<Op>> {
    (0..40).map(|seed| decode(&noise(seed, 4 * 250)))
}

/// Removes the budgets from a script. A budget also pays for moves inside a structure, so with a
/// finite budget, one structure would deliver more timers than another.
fn without_budgets(script: Vec<Op>) -> Vec<Op> {
    let unlimited = |op| match op {
        Op::Advance(when, budget) if budget > 0 => Op::Advance(when, usize::MAX),
        op => op,
    };
    script.into_iter().map(unlimited).collect()
}

#[test]
fn all_exact_structures_give_one_event_log() {
    let ours = ours();
    for script in scripts().map(without_budgets) {
        let mut log: Option<(&str, Vec<Event>)> = None;
        for kind in ours.iter().filter(|kind| kind.exact) {
            let events = (kind.run)(&script).unwrap_or_else(|mismatch| panic!("{}: {mismatch}", kind.name));
            match &log {
                None => log = Some((&kind.name, events)),
                Some((first, expected)) => {
                    if let Some(at) =
                        (0..expected.len().max(events.len())).find(|&at| expected.get(at) != events.get(at))
                    {
                        panic!(
                            "event {at}: {first} {:?}, {} {:?}",
                            expected.get(at),
                            kind.name,
                            events.get(at)
                        );
                    }
                }
            }
        }
    }
}

/// Runs the same script on the slab queue and on the hook queue of each family. The slab queue,
/// whose accesses are checked, confirms the hook queue, which uses pointers.
#[test]
fn both_storages_of_a_family_agree() {
    let ours = ours();
    let of = |name: &str| ours.iter().find(|kind| kind.name == name);
    let hooks: Vec<_> = ours.iter().filter(|kind| kind.name.ends_with("/hook")).collect();
    assert!(!hooks.is_empty());
    for hook in hooks {
        let slab = of(&hook.name.replace("/hook", "/slab")).expect("each family works in slabs");
        for script in scripts().chain((0..40).map(gust)) {
            assert_eq!((slab.run)(&script), (hook.run)(&script), "{} and {}", slab.name, hook.name);
        }
    }
}

/// Timers arrive between advances that a budget has stopped.
#[test]
fn every_structure_agrees_with_the_oracle_in_gusts() {
    for kind in ours() {
        for seed in 0..200 {
            if let Err(mismatch) = (kind.run)(&gust(seed)) {
                panic!("{}: {mismatch}, gust {seed}", kind.name);
            }
        }
    }
}

/// A queue that is built from std's heap or tree with a sequence number is exact as well.
#[test]
fn exact_foreign_queues_agree_with_the_oracle() {
    for kind in foreign().iter().filter(|kind| kind.exact) {
        for script in scripts() {
            if let Err(mismatch) = (kind.run)(&script) {
                panic!("{}: {mismatch}", kind.name);
            }
        }
    }
}

/// The scripts cover enough, because each kind of event happens in them.
#[test]
fn scripts_are_lively() {
    let kind = &ours()[0];
    let mut counts = [0usize; 7];
    for script in scripts() {
        for event in (kind.run)(&script).unwrap_or_default() {
            counts[match event {
                Event::Inserted(_) => 0,
                Event::Refused(_) => 1,
                Event::Removed(_) => 2,
                Event::Rescheduled(_) => 3,
                Event::Delivered(..) => 4,
                Event::Rearmed(..) => 5,
                Event::Cleared => 6,
            }] += 1;
        }
    }
    let [inserted, refused, removed, rescheduled, delivered, rearmed, cleared] = counts;
    assert_eq!(refused, 0);
    assert!(inserted > 2000 && removed > 300 && rescheduled > 500, "{counts:?}");
    assert!(delivered > 800 && rearmed > 200 && cleared > 0, "{counts:?}");
}

#[test]
fn what_is_encoded_is_decoded_again() {
    for script in scripts().take(3) {
        for op in script {
            let word = encode(op).unwrap_or_else(|| panic!("{op:?} came out of the decoder"));
            assert_eq!(decode(&word), [op]);
        }
    }
    assert!(decode(&[1, 2, 3]).is_empty(), "what is cut short is left out");
}

/// The oracle's results equal values worked out by hand: no code of the library takes part.
#[test]
fn the_oracle_is_right_about_a_case_by_hand() {
    let mut oracle = Oracle::bounded(3);
    assert!(oracle.insert(5, 0) && oracle.insert(5, 1) && oracle.insert(u64::MAX, 2));
    assert!(!oracle.insert(1, 3), "full");
    assert!(oracle.reschedule(0, 5), "to the same tick: behind its equal");
    assert_eq!(oracle.second().map(|fired| fired.value), Some(0));
    let (left, complete) = oracle.advance(7, 1);
    assert_eq!((left[0].value, left[0].expiry, complete), (1, 5, false));
    assert_eq!(oracle.pop(3).map(|fired| fired.value), Some(0), "a smaller now is clamped to 7");
    assert!(oracle.insert(2, 4));
    assert_eq!(oracle.rearm(7, 1).map(|fired| (fired.value, fired.expiry)), Some((4, 7)));
    assert_eq!(oracle.expiry(4), Some(8));
    assert_eq!(oracle.advance(u64::MAX, usize::MAX).0.len(), 2);
    assert!(oracle.is_empty() && !oracle.remove(4) && oracle.now() == u64::MAX);
}
