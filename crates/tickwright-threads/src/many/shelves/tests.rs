//! Stacks are used again, whatever their size is.

use std::sync::Arc;

use super::super::pool::Shared;
use super::super::sleepers;
use super::*;
use crate::attributes::Attributes;
use crate::many::{Knobs, ManyToMany};
use crate::primitive::Ordering;
use crate::stack::page;
use crate::threads::{Threads as _, Wait};

fn start(settings: &ManyToMany) -> Arc<Shared> {
    Shared::start(settings, 1, sleepers::structure("heap4").unwrap()).unwrap()
}

/// Stacks that exist while a thread of that kind runs.
fn while_one_runs(shared: &Arc<Shared>, attributes: &Attributes) -> usize {
    let stacks = Arc::clone(&shared.stacks);
    let id = shared.create(attributes, Box::new(move || stacks.load(Ordering::SeqCst))).unwrap();
    shared.join(id, Wait::Forever).unwrap()
}

/// Each size is mapped once: the number of stacks stays what it was after the first thread of that size. A stack that was given back at
/// the end of its thread would be missing, one that was mapped beside it would be one more.
#[test]
fn stacks_of_every_size_are_used_again() {
    let shared = start(&ManyToMany::new());
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
            assert_eq!(while_one_runs(&shared, attributes), before + 1, "{attributes:?}");
            assert_eq!(shared.stacks.load(Ordering::SeqCst), before + 1, "{attributes:?}");
        }
    }
    // In turn.
    for attributes in sizes.iter().cycle().take(50) {
        assert_eq!(while_one_runs(&shared, attributes), sizes.len());
    }
    shared.close();
}

#[test]
fn no_more_is_kept_than_is_asked_for() {
    let shared = start(&ManyToMany::new().keep(3));
    for pages in 0..100 {
        while_one_runs(&shared, &Attributes::new().stack((128 << 10) + pages % 30 * page()));
        assert!(shared.stacks.load(Ordering::SeqCst) <= 3);
    }
    // Larger than three of the runtime's own.
    while_one_runs(&shared, &Attributes::new().stack(16 << 20));
    assert!(shared.stacks.load(Ordering::SeqCst) <= 3);
    shared.close();

    let shared = start(&ManyToMany::new().knobs(Knobs { recycle_stacks: false, ..Knobs::ours() }));
    while_one_runs(&shared, &Attributes::new().stack(128 << 10));
    assert_eq!(shared.stacks.load(Ordering::SeqCst), 0);
    shared.close();
}

fn mapping(pages: usize) -> Mapping {
    Mapping::new(pages * page(), page()).unwrap()
}

fn held(shelves: &Shelves) -> (usize, usize) {
    let all = || shelves.shelves.iter().flat_map(|shelf| &shelf.mappings);
    (all().count(), all().map(|mapping| bytes_of(size(mapping))).sum())
}

#[test]
fn each_size_has_its_own_and_bounds_hold() {
    let mut shelves = Shelves::default();
    let (most, most_bytes) = (10, 60 * page());
    for round in 0..500 {
        let pages = 1 + round * 7919 % 20;
        if round % 3 == 0 {
            let taken = shelves.take(pages * page(), page());
            assert!(taken.is_none_or(|taken| taken.stack().len() == pages * page()));
        }
        drop(shelves.keep(mapping(pages), most, most_bytes));
        let (count, bytes) = held(&shelves);
        assert_eq!((shelves.count, shelves.bytes), (count, bytes));
        assert!(count <= most && bytes <= most_bytes && shelves.shelves.len() <= MOST_SIZES);
    }
    assert!(shelves.count > 0);
    while shelves.take_any().is_some() {}
    assert_eq!((shelves.count, shelves.bytes), (0, 0));
}

#[test]
fn a_size_that_is_used_drives_out_one_that_is_not() {
    let mut shelves = Shelves::default();
    for _ in 0..4 {
        drop(shelves.keep(mapping(1), 4, usize::MAX));
    }
    for _ in 0..4 {
        drop(shelves.keep(mapping(2), 4, usize::MAX));
    }
    assert!(shelves.take(page(), page()).is_none());
    assert!((0..4).all(|_| shelves.take(2 * page(), page()).is_some()));
    // None is kept where none may be.
    assert!(shelves.keep(mapping(1), 0, usize::MAX)[1].is_some());
    assert!(shelves.keep(mapping(2), 4, page())[1].is_some());
}
