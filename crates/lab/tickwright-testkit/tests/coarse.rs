//! Coarse wheels of unusual sizes. The levels and far buckets are a few ticks wide, so short
//! scripts reach all levels and all far buckets.

use tickwright_core::CoarseWheel;
use tickwright_testkit::clauses::{NAMES, Tools};
use tickwright_testkit::ours::{Hook, Slab};
use tickwright_testkit::registry::Kind;
use tickwright_testkit::script::{Op, When, Whom, decode, gust, noise};

const ALL: usize = usize::MAX;

fn pairs() -> Vec<[Kind; 2]> {
    macro_rules! pairs {
        ($($family:ty),+) => { vec![$([Kind::of::<Slab<$family>>(), Kind::of::<Hook<$family>>()]),+] };
    }
    pairs![
        CoarseWheel<2, 1, 2>,
        CoarseWheel<4, 1, 2>,
        CoarseWheel<8, 2, 4>,
        CoarseWheel<16, 4, 3>,
        CoarseWheel<64, 3, 8>
    ]
}

#[test]
fn every_clause_is_kept() {
    for kind in pairs().iter().flatten() {
        for (name, verdict) in NAMES.iter().zip((kind.verdicts)(&Tools::default())) {
            assert!(!verdict.is_broken(), "{} {name}: {verdict}", kind.name);
        }
    }
}

#[test]
fn both_storages_give_one_event_log() {
    for [slab, hook] in pairs() {
        for script in (0..60).flat_map(|seed| [decode(&noise(seed, 4 * 250)), gust(seed)]) {
            let log = (slab.run)(&script).unwrap_or_else(|mismatch| panic!("{}: {mismatch}", slab.name));
            assert_eq!((hook.run)(&script), Ok(log), "{}", hook.name);
        }
    }
}

/// All scripts over a few letters. Each script begins with three timers: near, at the edge of a
/// level, far.
#[test]
fn all_short_scripts() {
    const LENGTH: u32 = 4;
    let letters = [
        Op::Insert(When::After(1)),
        Op::Insert(When::After(9)),
        Op::Insert(When::Like(0)),
        Op::Remove(Whom::Live(0)),
        Op::Remove(Whom::Live(1)),
        Op::Reschedule(Whom::Live(0), When::After(3)),
        Op::Reschedule(Whom::Live(1), When::Like(0)),
        Op::Reschedule(Whom::Live(2), When::JustBefore(0)),
        Op::Pop(When::Like(0)),
        Op::Advance(When::After(1), 1),
        Op::Advance(When::After(7), 1),
        Op::Advance(When::After(3), ALL),
        Op::Rearm(When::Like(0), 2),
    ];
    let words = |length: u32| {
        (0..letters.len().pow(length)).map(move |number| {
            let digit = |at| letters[number / letters.len().pow(at) % letters.len()];
            (0..length).map(digit).collect::<Vec<Op>>()
        })
    };
    let beginnings =
        [[1, 5, 12], [12, 12, 40], [6, 6, 6]].map(|spans| spans.map(|span| Op::Insert(When::After(span))));
    for kind in pairs().iter().take(2).flatten() {
        let mut scripts = beginnings.iter().flat_map(|beginning| {
            (0..=LENGTH).flat_map(words).map(|word| [beginning.as_slice(), &word].concat())
        });
        match (kind.run_all)(&mut scripts) {
            Ok(count) => assert!(count > 80_000, "{count}"),
            Err(failure) => panic!("{}: {failure}", kind.name),
        }
    }
}
