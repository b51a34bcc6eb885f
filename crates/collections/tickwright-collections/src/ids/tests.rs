//! Compares the allocator with a set of taken ids, and tests cases that occur only through misuse
//! or lack of memory.

use std::collections::BTreeSet;
use std::vec::Vec;

use super::*;
use crate::dict::Dictionary as _;
use crate::{Avl, Balance, RedBlack, SlabDict};

type Slab<B> = SlabDict<ByFirst, FreeRange, B>;

fn ids<B: Balance>(all: RangeInclusive<u64>) -> Ids<Slab<B>> {
    Ids::new(SlabDict::balanced(ByFirst), all).unwrap()
}

/// Draws a pseudo-random number. Every run of the tests draws the same numbers.
fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

fn agrees_with_a_set<B: Balance>(last: u64, steps: u32) {
    let mut ids = ids::<B>(1..=last);
    let mut taken = BTreeSet::new();
    let mut state = 88_172_645 + last;
    for _ in 0..steps {
        let (what, id, count) =
            (random(&mut state) % 6, random(&mut state) % (last + 2), random(&mut state) % 5);
        let free = |count: u64| {
            (1..=last).find(|&first| {
                first + (count - 1) <= last && (first..first + count).all(|id| !taken.contains(&id))
            })
        };
        match what {
            0 | 1 => {
                let expected = free(1).ok_or(IdError::Exhausted);
                assert_eq!(ids.take(), expected);
                taken.extend(expected.ok());
            }
            2 => {
                let expected = match count {
                    0 => Err(IdError::OutOfRange),
                    count => free(count).map(|id| id..=id + count - 1).ok_or(IdError::Exhausted),
                };
                assert_eq!(ids.take_range(count), expected);
                taken.extend(expected.into_iter().flatten());
            }
            3 => {
                let inside = (1..=last).contains(&id);
                let expected = match taken.contains(&id) {
                    _ if !inside => Err(IdError::OutOfRange),
                    true => Err(IdError::Taken),
                    false => Ok(()),
                };
                assert_eq!(ids.claim(id), expected);
                taken.extend(expected.ok().map(|()| id));
            }
            _ => {
                let range = id..=id + count % 3;
                let expected = match range.clone().all(|id| taken.contains(&id)) {
                    _ if id == 0 || *range.end() > last => Err(IdError::OutOfRange),
                    true => Ok(()),
                    false => Err(IdError::NotTaken),
                };
                assert_eq!(ids.give_range(range.clone()), expected);
                if expected.is_ok() {
                    taken.retain(|id| !range.contains(id));
                }
            }
        }
        assert_eq!((ids.check(), ids.taken()), (Ok(()), taken.len() as u64));
        assert!((0..=last + 1).all(|id| ids.is_taken(id) == taken.contains(&id)));
    }
}

#[test]
fn ids_agree_with_a_set_of_them() {
    let steps = if cfg!(miri) { 60 } else { 1500 };
    for last in [1, 2, 9, 40] {
        agrees_with_a_set::<RedBlack>(last, steps);
        agrees_with_a_set::<Avl>(last, steps);
    }
}

#[test]
fn a_released_range_joins_its_neighbours() {
    let mut ids = ids::<RedBlack>(1..=9);
    assert_eq!(ids.take_range(9), Ok(1..=9));
    assert_eq!((ids.free_ranges(), ids.take()), (0, Err(IdError::Exhausted)));
    for (id, ranges) in [(2, 1), (4, 2), (6, 3), (5, 2), (3, 1), (9, 2), (1, 2), (7, 2), (8, 1)] {
        assert_eq!(ids.give(id), Ok(()));
        assert_eq!((ids.free_ranges(), ids.check()), (ranges, Ok(())), "after {id}");
        assert_eq!(ids.give(id), Err(IdError::NotTaken));
    }
    assert_eq!(ids.taken(), 0);
}

#[test]
fn both_ends_of_all_numbers_are_ordinary_ids() {
    let mut ids = ids::<Avl>(1..=u64::MAX);
    assert_eq!(ids.claim(u64::MAX), Ok(()));
    assert_eq!(ids.claim(u64::MAX), Err(IdError::Taken));
    assert_eq!(ids.take_range(u64::MAX), Err(IdError::Exhausted));
    assert_eq!(ids.take_range(u64::MAX - 1), Ok(1..=u64::MAX - 1));
    assert_eq!((ids.taken(), ids.take(), ids.check()), (u64::MAX, Err(IdError::Exhausted), Ok(())));
    assert_eq!(ids.give_range(1..=u64::MAX), Ok(()));
    assert_eq!((ids.take(), ids.free_ranges()), (Ok(1), 1));
    for wrong in [0..=3, RangeInclusive::new(5, 4)] {
        assert_eq!(ids.give_range(wrong), Err(IdError::OutOfRange));
    }
    assert!(!ids.is_taken(0));
}

#[test]
fn ranges_that_are_none_are_refused() {
    for wrong in [0..=9, RangeInclusive::new(9, 8)] {
        assert_eq!(Ids::new(Slab::<RedBlack>::balanced(ByFirst), wrong).unwrap_err(), IdError::OutOfRange);
    }
    let mut used = Slab::<RedBlack>::balanced(ByFirst);
    used.insert(FreeRange { first: 4, last: 4 }).unwrap();
    assert_eq!(Ids::new(used, 1..=9).unwrap_err(), IdError::Broken);
}

#[test]
fn what_was_taken_can_be_given_back_without_memory() {
    let mut ids = Ids::new(Slab::<RedBlack>::bounded(ByFirst, 12).unwrap(), 1..=1000).unwrap();
    let mut given = Vec::new();
    // A dictionary with n entries is enough for n - 2 grants, as the documentation of `Ids::new`
    // states.
    for _ in 0..10 {
        given.push(ids.take().unwrap());
    }
    assert_eq!(ids.take(), Err(IdError::Full));
    assert_eq!((ids.claim(500), ids.take_range(2)), (Err(IdError::Full), Err(IdError::Full)));
    assert_eq!((ids.taken(), ids.check()), (10, Ok(())));
    for id in given.iter().step_by(2).chain(given.iter().skip(1).step_by(2)) {
        assert_eq!((ids.give(*id), ids.check()), (Ok(()), Ok(())));
    }
    assert_eq!((ids.free_ranges(), ids.taken()), (1, 0));
}

#[test]
fn parts_given_back_are_refused_where_memory_ends() {
    let mut ids = Ids::new(Slab::<RedBlack>::bounded(ByFirst, 4).unwrap(), 1..=100).unwrap();
    assert_eq!(ids.take_range(50), Ok(1..=50));
    let answers: Vec<_> = (1..25).map(|n| ids.give(2 * n)).collect();
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 3);
    assert!(answers[3..].iter().all(|&answer| answer == Err(IdError::Full)));
    assert_eq!((ids.taken(), ids.check()), (47, Ok(())));
}

#[test]
fn check_names_what_is_broken() {
    let broken = |ranges: &[(u64, u64)], taken| {
        let mut ids = ids::<RedBlack>(1..=20);
        ids.free.clear();
        for &(first, last) in ranges {
            ids.free.insert(FreeRange { first, last }).unwrap();
        }
        ids.taken = taken;
        ids.check()
    };
    assert_eq!(broken(&[(1, 4), (6, 20)], 1), Ok(()));
    assert_eq!(broken(&[(1, 4), (6, 20)], 2), Err(Violation::Count));
    assert_eq!(broken(&[(1, 5), (6, 20)], 0), Err(Violation::Order));
    assert_eq!(broken(&[(1, 9), (6, 20)], 0), Err(Violation::Order));
    assert_eq!(broken(&[(0, 9)], 11), Err(Violation::Order));
    assert_eq!(broken(&[(6, 21)], 5), Err(Violation::Order));
    assert_eq!(broken(&[(6, 5)], 20), Err(Violation::Order));
}
