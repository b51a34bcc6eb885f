//! Deadlines at and next to every power of two, with clocks at and before every power of two. All
//! our structures run these scripts.

use tickwright_testkit::registry::ours;
use tickwright_testkit::script::{Op, When};

const ALL: usize = usize::MAX;

/// Each script has a clock at 2^j - d and three timers around 2^k. Every other script has one more
/// timer, at the end of time.
fn scripts() -> impl Iterator<Item = Vec<Op>> {
    let edges = (0..64).flat_map(|j| (j..64).flat_map(move |k| [0, 1, 65].map(|d| (j, k, d))));
    edges.flat_map(|(j, k, d)| {
        [false, true].map(|far| {
            let (start, edge) = ((1u64 << j).saturating_sub(d), 1u64 << k);
            let mut script = vec![Op::Advance(When::At(start), ALL)];
            script.extend(far.then_some(Op::Insert(When::At(u64::MAX))));
            script.extend([edge, edge - 1, edge + 1].map(|tick| Op::Insert(When::At(tick))));
            script.extend([Op::Advance(When::JustBefore(0), ALL), Op::Advance(When::Like(0), ALL)].repeat(4));
            script
        })
    })
}

#[test]
fn every_power_of_two_from_every_other() {
    for kind in ours() {
        match (kind.run_all)(&mut scripts()) {
            Ok(count) => assert_eq!(count, 64 * 65 / 2 * 3 * 2, "{}", kind.name),
            Err(failure) => panic!("{}: {failure}", kind.name),
        }
    }
}

/// Granular queues are also compared between the steps.
#[test]
fn every_power_of_two_with_a_look_after_each_step() {
    for kind in ours().iter().filter(|kind| kind.lateness.is_some()) {
        for script in scripts() {
            if let Err(mismatch) = (kind.run)(&script) {
                panic!("{}: {mismatch}\n{script:?}", kind.name);
            }
        }
    }
}
