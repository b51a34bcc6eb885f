//! Tests a registry over slabs. The example in the documentation of `Registry` uses hooks, so this
//! file tests only misuse with hooks.

use core::cell::Cell;
use core::cmp::Ordering;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::vec::Vec;

use super::*;
use crate::{Avl, Balance, By, HookDict, Link, Membership, RedBlack, SlabDict};

#[derive(Debug)]
struct Task<B: Balance> {
    id: u64,
    address: Cell<usize>,
    links: [Link<B>; 2],
}

impl<B: Balance> Task<B> {
    fn new(id: u64, address: usize) -> Self {
        Self { id, address: Cell::new(address), links: [Link::new(), Link::new()] }
    }
}

struct ById;
struct ByAddress;

macro_rules! order {
    ($order:ident, $key:ty, $of:expr, $link:literal) => {
        impl<B: Balance> KeyOrder<Task<B>> for $order {
            type Key<'k> = $key;
            fn key<'k>(&'k self, task: &'k Task<B>) -> $key {
                $of(task)
            }
            fn compare(&self, a: &$key, b: &$key) -> Ordering {
                a.cmp(b)
            }
        }
        impl<B: Balance> Membership<Task<B>, B> for $order {
            fn link<'t>(&self, task: &'t Task<B>) -> &'t Link<B> {
                &task.links[$link]
            }
        }
    };
}
order!(ById, u64, |task: &Task<B>| task.id, 0);
order!(ByAddress, usize, |task: &Task<B>| task.address.get(), 1);

fn over_hooks<B: Balance>() {
    let twins = [Task::new(3, 5), Task::new(77, 1010), Task::new(78, 5)];
    let tasks: Vec<Task<B>> = (0..20).map(|n| Task::new(n * 7 % 20, 1000 + 10 * n as usize)).collect();
    let mut registry =
        Registry::new(HookDict::<_, _, B>::balanced(ById), HookDict::<_, _, B>::balanced(ByAddress));
    for task in &tasks {
        registry.register(task).unwrap();
        assert_eq!(registry.register(task), Err(RegistryError::IdTaken));
        assert_eq!(registry.check(), Ok(()));
    }
    assert_eq!(registry.register(&twins[0]), Err(RegistryError::IdTaken));
    assert_eq!(registry.register(&twins[1]), Err(RegistryError::AddressTaken));
    assert!(twins.iter().all(|task| task.links.iter().all(|link| !link.is_linked())), "in both or in none");

    let mut other =
        Registry::new(HookDict::<_, _, B>::balanced(ById), HookDict::<_, _, B>::balanced(ByAddress));
    other.register(&twins[2]).unwrap();
    assert_eq!(registry.register(&twins[2]), Err(RegistryError::Refused(DictError::WrongDictionary)));

    assert_eq!(registry.around(&1019).map(|task| task.address.get()), Some(1010));
    assert_eq!(registry.around(&999).map(|task| task.id), None);
    assert_eq!(
        (registry.by_address(&1020).map(|task| task.id), registry.by_id(&20).map(|task| task.id)),
        (Some(14), None)
    );
    assert!(registry.iter().map(|task| task.id).eq(0..20));

    // An address changes while the object is registered. `check` reports the change, and a call
    // that would lose a link is refused.
    tasks[4].address.set(7);
    assert_eq!(registry.check(), Err(Violation::Order));
    assert_eq!(registry.unregister(&tasks[4].id).unwrap_err(), RegistryError::Refused(DictError::Stale));
    assert_eq!(registry.len(), 20);
    tasks[4].address.set(1040);
    for task in &tasks {
        assert_eq!(registry.unregister(&task.id).map(|task| task.id), Ok(task.id));
        assert_eq!(registry.unregister(&task.id).unwrap_err(), RegistryError::Unknown);
        assert_eq!(registry.check(), Ok(()));
    }
    registry.register(&tasks[0]).unwrap();
    registry.clear();
    assert!(registry.is_empty() && !tasks[0].links[1].is_linked());
}

#[test]
fn over_hooks_of_each_balance() {
    over_hooks::<RedBlack>();
    over_hooks::<Avl>();
}

#[test]
fn over_slabs_it_agrees_with_two_maps() {
    let by_id = SlabDict::new(By(|task: &Rc<(u64, usize)>| task.0));
    let by_address = SlabDict::<_, _, Avl>::balanced(By(|task: &Rc<(u64, usize)>| task.1));
    let mut registry = Registry::new(by_id, by_address);
    let (mut ids, mut addresses) = (BTreeMap::new(), BTreeMap::new());
    let mut state = 88_172_645_u64;
    let mut random = |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    for _ in 0..if cfg!(miri) { 60 } else { 2000 } {
        let (id, address) = (random(20), random(20) as usize);
        if random(2) == 0 {
            let expected = match (ids.contains_key(&id), addresses.contains_key(&address)) {
                (true, _) => Err(RegistryError::IdTaken),
                (_, true) => Err(RegistryError::AddressTaken),
                _ => Ok(()),
            };
            assert_eq!(registry.register(Rc::new((id, address))), expected);
            if expected.is_ok() {
                ids.insert(id, address);
                addresses.insert(address, id);
            }
        } else {
            let expected = ids.remove(&id).ok_or(RegistryError::Unknown);
            assert_eq!(registry.unregister(&id).map(|task| task.1), expected);
            expected.map(|address| addresses.remove(&address)).ok();
        }
        assert_eq!((registry.check(), registry.len()), (Ok(()), ids.len()));
        assert!((0..20).all(|id| registry.by_id(&id).map(|task| task.1) == ids.get(&id).copied()));
        for address in 0..20 {
            assert_eq!(registry.by_address(&address).map(|task| task.0), addresses.get(&address).copied());
            let around = addresses.range(..=address).next_back().map(|(_, &id)| id);
            assert_eq!(registry.around(&address).map(|task| task.0), around);
        }
    }
}

#[test]
fn a_full_dictionary_leaves_the_other_as_it_was() {
    let by_id = SlabDict::new(By(|&(id, _): &(u64, u64)| id));
    let by_address = SlabDict::<_, _>::bounded(By(|&(_, address): &(u64, u64)| address), 2).unwrap();
    let mut registry = Registry::new(by_id, by_address);
    registry.register((1, 10)).unwrap();
    registry.register((2, 20)).unwrap();
    assert_eq!(registry.register((3, 30)), Err(RegistryError::Refused(DictError::Full)));
    assert_eq!((registry.len(), registry.ids().len(), registry.addresses().len()), (2, 2, 2));
    assert_eq!(registry.check(), Ok(()));
}

#[test]
fn check_names_what_is_broken() {
    let registry = || {
        let by_id = SlabDict::new(By(|&(id, _): &(u64, u64)| id));
        let mut registry = Registry::new(by_id, SlabDict::new(By(|&(_, address): &(u64, u64)| address)));
        for n in 1..5 {
            registry.register((n, 10 * n)).unwrap();
        }
        assert_eq!(registry.check(), Ok(()));
        registry
    };
    let mut broken = registry();
    broken.by_address.append((5, 50)).unwrap();
    assert_eq!(broken.check(), Err(Violation::Count));

    let mut broken = registry();
    let first = broken.by_id.first().unwrap();
    broken.by_id.get_mut(first).unwrap().0 = 9;
    assert_eq!(broken.check(), Err(Violation::Order));

    let mut broken = registry();
    let last = broken.by_address.last().unwrap();
    broken.by_address.get_mut(last).unwrap().1 = 41;
    assert_eq!(broken.check(), Err(Violation::Order), "4 is not found by its address");
}
