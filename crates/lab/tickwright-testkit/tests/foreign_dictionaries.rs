//! Compares foreign dictionaries with the sorted vector, for the operations that they offer. The
//! dictionaries refuse the other operations with an error.

use core::ops::Bound;

use proptest::collection::vec;
use proptest::prelude::*;
use tickwright_collections::{By, DictError, Dictionary, RedBlack, Seek};
use tickwright_core::Violation;
use tickwright_testkit::dictionary::{AsObject, ByKey, OBJECTS, Object, Op, Ours, run};
use tickwright_testkit::foreign::dictionaries::{BTreeDict, HashDict, IntrusiveDict, Node};

mod scripts;

fn run_btree(script: &[Op]) -> Result<(), String> {
    let script: Vec<Op> = script.iter().filter(|op| !matches!(op, Op::Rekey(..))).cloned().collect();
    let dictionary = BTreeDict::<_, Object>::new(ByKey);
    run(&mut Ours::new(dictionary, Object::new), &script).map_err(|what| format!("BTreeMap: {what}"))
}

fn run_intrusive(script: &[Op]) -> Result<(), String> {
    let nodes: Vec<Node<u64, Object>> =
        (0..OBJECTS).map(|number| Node::new(Object::new(number, 0))).collect();
    let make = |number: usize, key| {
        nodes[number].object.key.set(key);
        &nodes[number]
    };
    run(&mut Ours::new(IntrusiveDict::new(ByKey), make), script).map_err(|what| format!("intrusive: {what}"))
}

proptest! {
    #![proptest_config(scripts::config("proptest-regressions/foreign_dictionaries.txt"))]

    #[test]
    fn ordered_ones_agree_with_a_sorted_vector(script in vec(scripts::op(), 0..160)) {
        run_btree(&script).map_err(TestCaseError::fail)?;
        run_intrusive(&script).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn a_hash_map_agrees_with_a_map(script in vec((0u64..12, 0..3), 0..100)) {
        let mut dictionary = HashDict::new(By(|&(key, _): &(u64, usize)| key));
        let mut model = std::collections::BTreeMap::new();
        for (at, (key, what)) in script.into_iter().enumerate() {
            let known = model.contains_key(&key);
            match what {
                0 => prop_assert_eq!(dictionary.remove(key).ok(), model.remove(&key).map(|at| (key, at))),
                _ => match dictionary.insert((key, at)) {
                    Ok(_) => prop_assert_eq!(model.insert(key, at), None),
                    Err(refused) => prop_assert_eq!((refused.reason, known), (DictError::NotOffered, true)),
                },
            }
            prop_assert_eq!((dictionary.len(), dictionary.check()), (model.len(), Ok(())));
            for key in 0..12 {
                let found = dictionary.find(&key).map(|entry| dictionary.get(entry).unwrap().1);
                prop_assert_eq!(found, model.get(&key).copied());
            }
        }
    }
}

#[test]
fn a_hash_map_offers_no_order() {
    let mut dictionary = HashDict::new(By(|&n: &u64| n));
    let entry = dictionary.insert(4).unwrap();
    assert_eq!(dictionary.append(9).unwrap_err().reason, DictError::NotOffered);
    assert_eq!(dictionary.prepend(1).unwrap_err().reason, DictError::NotOffered);
    assert_eq!(
        (dictionary.next(entry), dictionary.prev(entry)),
        (Err(DictError::NotOffered), Err(DictError::NotOffered))
    );
    assert_eq!(
        (dictionary.next(5), dictionary.rekeyed(entry)),
        (Err(DictError::Stale), Err(DictError::NotOffered))
    );
    for seek in [Seek::Geq, Seek::Gt, Seek::Leq, Seek::Lt] {
        assert_eq!(dictionary.seek(seek, &4, None), Err(DictError::NotOffered));
    }
    assert_eq!((dictionary.first(), dictionary.iter().count()), (None, 0));
    assert_eq!(dictionary.range(Bound::Included(&4), Bound::Unbounded).count(), 0);
}

#[test]
fn what_they_can_see_of_misuse_is_refused() {
    let nodes = [1, 2].map(|number| Node::new(Object::<RedBlack>::new(number, 3)));
    let (mut one, mut two) = (IntrusiveDict::new(ByKey), IntrusiveDict::new(ByKey));
    let entry = one.insert(&nodes[0]).unwrap();
    assert_eq!(one.insert(&nodes[0]).unwrap_err().reason, DictError::AlreadyLinked);
    assert_eq!(two.insert(&nodes[0]).unwrap_err().reason, DictError::WrongDictionary);
    assert_eq!(two.insert_near(Some(entry), &nodes[1]).unwrap_err().reason, DictError::WrongDictionary);
    assert_eq!(
        (two.next(entry), two.remove(entry).map(|node| node.object().number)),
        (Err(DictError::WrongDictionary), Err(DictError::WrongDictionary))
    );
    nodes[0].object.key.set(4);
    assert_eq!(one.check(), Err(Violation::Order));

    let mut tree = BTreeDict::<_, Object>::new(ByKey);
    let entry = tree.insert(Object::new(0, 3)).unwrap();
    assert_eq!(tree.rekeyed(entry), Err(DictError::NotOffered));
    tree.get(entry).unwrap().key.set(9);
    assert_eq!(tree.check(), Err(Violation::Order));
    tree.remove(entry).unwrap();
    assert_eq!((tree.rekeyed(entry), tree.check()), (Err(DictError::Stale), Ok(())));
}
