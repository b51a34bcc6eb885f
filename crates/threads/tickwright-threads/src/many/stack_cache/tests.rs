//! Tests that stacks of every size are reused.

use std::sync::Arc;

use super::super::pool::WorkerPool;
use super::super::sleepers;
use super::*;
use crate::attributes::Attributes;
use crate::many::ManyToMany;
use crate::primitive::Ordering;
use crate::stack::page;
use crate::threads::{Threads as _, Wait};

fn start(settings: &ManyToMany) -> Arc<WorkerPool> {
    WorkerPool::start(settings, 1, sleepers::structure("heap4").unwrap()).unwrap()
}

/// Returns the number of stacks that exist while a thread with these attributes runs.
fn while_one_runs(pool: &Arc<WorkerPool>, attributes: &Attributes) -> usize {
    let stacks = Arc::clone(&pool.stacks);
    let id = pool.create(attributes, Box::new(move || stacks.load(Ordering::SeqCst))).unwrap();
    pool.join(id, Wait::Forever).unwrap()
}

/// After the first thread of each size, the number of stacks must be constant. If the stack of an
/// ended thread were unmapped, the number would fall. If a second stack of the same size were
/// mapped, the number would rise.
#[test]
fn stacks_of_every_size_are_used_again() {
    let pool = start(&ManyToMany::new());
    let plain = Attributes::new;
    let sizes = [
        plain(),
        plain().stack(128 << 10),
        plain().stack(256 << 10),
        plain().guard(0),
        plain().stack(1 << 20).guard(8 << 10),
    ];
    for (before, attributes) in sizes.iter().enumerate() {
        for _ in 0..20 {
            assert_eq!(while_one_runs(&pool, attributes), before + 1, "{attributes:?}");
            assert_eq!(pool.stacks.load(Ordering::SeqCst), before + 1, "{attributes:?}");
        }
    }
    // The sizes alternate.
    for attributes in sizes.iter().cycle().take(50) {
        assert_eq!(while_one_runs(&pool, attributes), sizes.len());
    }
    pool.close();
}

#[test]
fn no_more_is_kept_than_is_asked_for() {
    let pool = start(&ManyToMany::new().keep(3));
    for pages in 0..100 {
        while_one_runs(&pool, &Attributes::new().stack((128 << 10) + pages % 30 * page()));
        assert!(pool.stacks.load(Ordering::SeqCst) <= 3);
    }
    // This stack is larger than three stacks of the runtime's usual size.
    while_one_runs(&pool, &Attributes::new().stack(16 << 20));
    assert!(pool.stacks.load(Ordering::SeqCst) <= 3);
    pool.close();

    let pool = start(&ManyToMany::new().keep(0));
    while_one_runs(&pool, &Attributes::new().stack(128 << 10));
    assert_eq!(pool.stacks.load(Ordering::SeqCst), 0);
    pool.close();
}

fn mapping(pages: usize) -> Mapping {
    Mapping::new(pages * page(), page()).unwrap()
}

fn held(classes: &StackCache) -> (usize, usize) {
    let all = || classes.classes.iter().flat_map(|class| &class.mappings);
    (all().count(), all().map(|mapping| bytes_of(size(mapping))).sum())
}

#[test]
fn each_size_has_its_own_and_bounds_hold() {
    let mut classes = StackCache::default();
    let (most, most_bytes) = (10, 60 * page());
    for round in 0..500 {
        let pages = 1 + round * 7919 % 20;
        if round % 3 == 0 {
            let taken = classes.take(pages * page(), page());
            assert!(taken.is_none_or(|taken| taken.stack().len() == pages * page()));
        }
        drop(classes.keep(mapping(pages), most, most_bytes));
        let (count, bytes) = held(&classes);
        assert_eq!((classes.count, classes.bytes), (count, bytes));
        assert!(count <= most && bytes <= most_bytes && classes.classes.len() <= MOST_SIZES);
    }
    assert!(classes.count > 0);
    while classes.take_any().is_some() {}
    assert_eq!((classes.count, classes.bytes), (0, 0));
}

#[test]
fn a_size_that_is_used_drives_out_one_that_is_not() {
    let mut classes = StackCache::default();
    for _ in 0..4 {
        drop(classes.keep(mapping(1), 4, usize::MAX));
    }
    for _ in 0..4 {
        drop(classes.keep(mapping(2), 4, usize::MAX));
    }
    assert!(classes.take(page(), page()).is_none());
    assert!((0..4).all(|_| classes.take(2 * page(), page()).is_some()));
    // If the bound is 0, no stack is cached.
    assert!(classes.keep(mapping(1), 0, usize::MAX)[1].is_some());
    assert!(classes.keep(mapping(2), 4, page())[1].is_some());
}
