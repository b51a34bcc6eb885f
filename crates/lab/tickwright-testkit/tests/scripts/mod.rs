//! Random scripts for dictionaries.

use core::ops::Bound;

use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use tickwright_testkit::dictionary::{OBJECTS, Op};

/// Generates a key: either a key at an end of the range, or one of a few other keys, so that many
/// keys are equal.
fn key() -> impl Strategy<Value = u64> {
    prop_oneof![12 => 0u64..10, 1 => Just(u64::MAX), 1 => Just(u64::MAX - 1), 2 => any::<u64>()]
}

fn bound() -> impl Strategy<Value = Bound<u64>> {
    prop_oneof![3 => key().prop_map(Bound::Included), 3 => key().prop_map(Bound::Excluded), 1 => Just(Bound::Unbounded)]
}

/// Generates one step of a script.
pub(crate) fn op() -> impl Strategy<Value = Op> {
    let number = || 0..OBJECTS;
    let hint = || proptest::option::of(0..OBJECTS);
    prop_oneof![
        10 => (number(), key(), hint()).prop_map(|(number, key, hint)| Op::Insert(number, key, hint)),
        1 => (number(), key()).prop_map(|(number, key)| Op::Append(number, key)),
        1 => (number(), key()).prop_map(|(number, key)| Op::Prepend(number, key)),
        4 => number().prop_map(Op::Remove),
        4 => (number(), key()).prop_map(|(number, key)| Op::Rekey(number, key)),
        4 => (key(), hint()).prop_map(|(key, hint)| Op::Seek(key, hint)),
        2 => (bound(), bound()).prop_map(|(from, to)| Op::Range(from, to)),
        1 => Just(Op::RemoveFirst),
    ]
}

/// Returns how many scripts a test runs, and where it keeps the scripts that failed.
pub(crate) fn config(seeds: &'static str) -> ProptestConfig {
    let seeds = FileFailurePersistence::Direct(seeds);
    ProptestConfig {
        cases: if cfg!(miri) { 4 } else { 256 },
        max_shrink_iters: 20_000,
        failure_persistence: Some(Box::new(seeds)),
        ..ProptestConfig::default()
    }
}
