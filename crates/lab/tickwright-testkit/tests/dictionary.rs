//! Compares every dictionary with a sorted vector: on fixed sequences, on random sequences, and on
//! random scripts. Scripts that once failed are kept in `proptest-regressions/`.

use core::ops::Bound;

use proptest::collection::vec;
use proptest::prelude::*;
use tickwright_collections::{Avl, BPlusDict, Balance, By, Dictionary, HookDict, RedBlack, SlabDict};
use tickwright_testkit::dictionary::{ByKey, Object, Op, run_bplus, run_hook, run_slab};

mod scripts;

fn everywhere(script: &[Op]) -> Result<(), String> {
    run_bplus(script)?;
    run_slab::<RedBlack>(script).map_err(|what| format!("red-black {what}"))?;
    run_hook::<RedBlack>(script).map_err(|what| format!("red-black {what}"))?;
    run_slab::<Avl>(script).map_err(|what| format!("AVL {what}"))?;
    run_hook::<Avl>(script).map_err(|what| format!("AVL {what}"))
}

proptest! {
    #![proptest_config(scripts::config("proptest-regressions/dictionary.txt"))]

    #[test]
    fn every_dictionary_agrees_with_a_sorted_vector(script in vec(scripts::op(), 0..160)) {
        everywhere(&script).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn also_after_it_was_cleared(before in vec(scripts::op(), 0..40), after in vec(scripts::op(), 0..40)) {
        let script: Vec<Op> = before.into_iter().chain([Op::Clear]).chain(after).collect();
        everywhere(&script).map_err(TestCaseError::fail)?;
    }
}

/// Inserts keys in one of several orders, finds them, and removes them.
fn there_and_back<B: Balance>(keys: &[u64]) {
    let mut slab = SlabDict::<_, u64, B>::balanced(By(|&key: &u64| key));
    let objects: Vec<Object<B>> = keys.iter().enumerate().map(|(at, &key)| Object::new(at, key)).collect();
    let mut hook = HookDict::<_, _, B>::balanced(ByKey);
    let mut entries = Vec::new();
    let mut last = None;
    for object in &objects {
        // The hint is the entry that was inserted last. This hint is right for ascending keys, and
        // mostly wrong for other orders.
        entries.push(slab.insert_near(entries.last().copied(), object.key.get()).unwrap());
        last = Some(hook.insert_near(last, object).unwrap());
        assert_eq!((slab.check(), hook.check()), (Ok(()), Ok(())));
    }
    let mut sorted = keys.to_vec();
    sorted.sort_unstable();
    let walked: Vec<u64> = slab.iter().map(|entry| *slab.get(entry).unwrap()).collect();
    assert_eq!(walked, sorted);
    assert!(hook.iter().map(|object| object.key.get()).eq(sorted.iter().copied()));
    assert!(hook.iter().rev().map(|object| object.key.get()).eq(sorted.iter().rev().copied()));
    for key in keys {
        let equals = hook.range(Bound::Included(key), Bound::Included(key)).count();
        assert_eq!(equals, keys.iter().filter(|&other| other == key).count());
        assert_eq!(slab.find(key).map(|entry| *slab.get(entry).unwrap()), Some(*key));
    }
    // The slab dictionary removes its entries in the order of their inserts, and the hook
    // dictionary in ascending order of keys.
    for (entry, key) in entries.into_iter().zip(keys) {
        assert_eq!(slab.remove(entry), Ok(*key));
        assert_eq!(slab.check(), Ok(()));
    }
    for key in sorted {
        let first = hook.first().unwrap();
        assert_eq!((hook.remove(first).unwrap().key.get(), hook.check()), (key, Ok(())));
    }
    assert!(slab.is_empty() && hook.is_empty());
}

#[test]
fn ascending_descending_and_scattered_keys() {
    let scattered = core::iter::successors(Some(1), |x| Some(x * 1951 % 1_000_000));
    let sequences: [Vec<u64>; 5] = [
        (0..100).collect(),
        (0..100).rev().collect(),
        scattered.take(100).collect(),
        vec![60, 20, 25, 60, 0, 25, 20, 60, 0, 7, 300, 299, 298, 3, 6, 9, 12],
        vec![5; 40],
    ];
    for keys in &sequences {
        there_and_back::<RedBlack>(keys);
        there_and_back::<Avl>(keys);
    }
}

/// The suite's scripts have few entries, so this test makes wide nodes split, borrow and merge on
/// several levels.
#[test]
fn wide_nodes_on_several_levels() {
    let count = if cfg!(miri) { 400 } else { 6000 };
    let scattered = |n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) % 2048;
    let mut tree = BPlusDict::new(By(|&(key, _): &(u64, u64)| key));
    let mut entries: Vec<_> = (0..count).map(|n| tree.insert((scattered(n), n)).unwrap()).collect();
    assert_eq!(tree.check(), Ok(()));
    let mut sorted: Vec<_> = (0..count).map(|n| (scattered(n), n)).collect();
    sorted.sort_unstable();
    assert!(
        tree.iter().map(|entry| *tree.get(entry).unwrap()).eq(sorted.iter().copied()),
        "equals as they came"
    );
    for (n, &entry) in entries.iter().enumerate().step_by(3) {
        tree.update(entry, |object| object.0 = scattered(n as u64 * 7)).unwrap();
    }
    assert_eq!(tree.check(), Ok(()));
    for round in 0..count as usize / 2 {
        let at = (round * 7919 + 11) % entries.len();
        tree.remove(entries.swap_remove(at)).unwrap();
        if round % 64 == 0 {
            assert_eq!(tree.check(), Ok(()));
        }
    }
    for entry in entries.into_iter().rev() {
        tree.remove(entry).unwrap();
    }
    assert_eq!((tree.len(), tree.check()), (0, Ok(())));
}
