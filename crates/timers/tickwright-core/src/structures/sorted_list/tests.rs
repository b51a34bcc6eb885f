use std::vec::Vec;

use super::super::testing::{VecNodes, against_sorted_vec};
use super::{List, ListRecord, SortedList};
use crate::contract::{Tick, Violation};
use crate::structure::{Discipline, Record};

#[test]
fn agrees_with_a_sorted_vec() {
    against_sorted_vec::<SortedList>();
}

/// Returns a list of the nodes `0..n`, which are due at 10, 20, ..., so a node's number is its
/// position in the list.
fn list(n: usize) -> (List<usize>, VecNodes<ListRecord<usize>>) {
    let (mut list, mut nodes) = (List::NEW, VecNodes(Vec::new()));
    for p in 0..n {
        nodes.0.push(ListRecord::IDLE);
        let _ = list.insert(&mut nodes, p, 10 + 10 * p as Tick, 0);
    }
    assert_eq!(list.check(&nodes, n), Ok(()));
    (list, nodes)
}

const SIZES: [usize; 4] = [1, 2, 3, 50];

/// Returns every value of a link except the right value.
fn others(n: usize, right: Option<usize>) -> impl Iterator<Item = Option<usize>> {
    (0..n).map(Some).chain([None]).filter(move |&wrong| wrong != right)
}

#[test]
fn a_wrong_next_is_named() {
    for n in SIZES {
        let (list, mut nodes) = list(n);
        for p in 0..n {
            let right = nodes.0[p].next;
            for wrong in others(n, right) {
                nodes.0[p].next = wrong;
                let expected = match wrong {
                    None => Violation::Count,
                    // The walk has already visited all nodes.
                    Some(_) if p + 1 == n => Violation::Count,
                    Some(_) => Violation::BackLink,
                };
                assert_eq!(list.check(&nodes, n), Err(expected), "{p} -> {wrong:?} of {n}");
            }
            nodes.0[p].next = right;
        }
    }
}

#[test]
fn a_wrong_prev_is_named() {
    for n in SIZES {
        let (list, mut nodes) = list(n);
        for p in 0..n {
            let right = nodes.0[p].prev;
            for wrong in others(n, right) {
                nodes.0[p].prev = wrong;
                assert_eq!(list.check(&nodes, n), Err(Violation::BackLink), "{wrong:?} <- {p} of {n}");
            }
            nodes.0[p].prev = right;
        }
    }
}

#[test]
fn a_wrong_head_or_tail_is_named() {
    for n in SIZES {
        let (mut list, nodes) = list(n);
        for wrong in others(n, Some(0)) {
            list.head = wrong;
            let expected = if wrong.is_some() { Violation::BackLink } else { Violation::Count };
            assert_eq!(list.check(&nodes, n), Err(expected), "head {wrong:?} of {n}");
        }
        list.head = Some(0);
        for wrong in others(n, Some(n - 1)) {
            list.tail = wrong;
            assert_eq!(list.check(&nodes, n), Err(Violation::Head), "tail {wrong:?} of {n}");
        }
    }
}

#[test]
fn a_wrong_expiry_is_named() {
    for n in SIZES {
        let (list, mut nodes) = list(n);
        for p in 1..n {
            let right = nodes.0[p].expiry;
            nodes.0[p].expiry = nodes.0[p - 1].expiry - 1;
            assert_eq!(list.check(&nodes, n), Err(Violation::Order));
            nodes.0[p].expiry = nodes.0[p - 1].expiry;
            assert_eq!(list.check(&nodes, n), Ok(()), "equals are in order");
            nodes.0[p].expiry = right;
        }
    }
}

#[test]
fn a_wrong_count_is_named() {
    for n in SIZES {
        let (list, nodes) = list(n);
        for wrong in [0, n - 1, n + 1, usize::MAX] {
            // If the count is too small, the walk stops before it reaches the tail.
            assert_eq!(list.check(&nodes, wrong), Err(Violation::Count), "{wrong} instead of {n}");
        }
    }
}
