use super::super::testing::against_sorted_vec;
use super::super::timer_tree::tests::{SIZES, Subject};
use super::{Avl, AvlTree};
use crate::contract::{Tick, Violation};

#[test]
fn agrees_with_a_sorted_vec() {
    against_sorted_vec::<AvlTree>();
}

#[test]
fn a_wrong_difference_is_named() {
    for n in SIZES {
        let mut subject = Subject::<Avl, true>::of(n);
        for p in 0..n {
            let right = subject.links(p).mark;
            for wrong in [-128, -2, -1, 0, 1, 2, 127].into_iter().filter(|&wrong| wrong != right) {
                let result = subject.with_links(p, |links| links.mark = wrong);
                assert_eq!(result, Err(Violation::Balance), "{wrong} at {p} of {n}");
            }
        }
    }
}

#[test]
fn a_true_difference_of_two_is_named() {
    let mut subject = Subject::<Avl, true>::with_expiries([10, 20]);
    subject.nodes.0.push(crate::storage::Record::IDLE);
    subject.nodes.0[2].expiry = 30;
    subject.nodes.0[2].links.up = Some(1);
    subject.links(1).child[1] = Some(2);
    subject.links(1).mark = 1;
    subject.links(0).mark = 2;
    subject.len += 1;
    assert_eq!(subject.check(), Err(Violation::Balance));
}

/// The rotations that an insertion forces: the third node unbalances the root by two, and the
/// middle node comes to the top.
#[test]
fn insertions_turn_left_left_left_right_right_left_and_right_right() {
    for expiries in [[30, 20, 10], [30, 10, 20], [10, 30, 20], [10, 20, 30]] {
        let mut subject = Subject::<Avl, true>::with_expiries(expiries);
        let root = subject.tree.root.unwrap();
        assert_eq!(subject.nodes.0[root].expiry, 20, "{expiries:?}");
        assert_eq!(subject.links(root).mark, 0);
    }
}

/// A case: expiries in the order of insertion, the expiry to remove, and the root and its balance
/// afterwards.
type Removal = (&'static [Tick], Tick, Tick, i8);

#[test]
fn removals_turn_in_all_ways() {
    let removals: [Removal; 6] = [
        (&[30, 20, 40, 10], 40, 20, 0),
        (&[30, 10, 40, 20], 40, 20, 0),
        (&[20, 10, 40, 30], 10, 30, 0),
        (&[20, 10, 30, 40], 10, 30, 0),
        // The child's balance is 0: the height stays.
        (&[30, 20, 40, 10, 25], 40, 20, 1),
        (&[20, 10, 30, 25, 40], 10, 30, -1),
    ];
    for (expiries, remove, top, difference) in removals {
        let mut subject = Subject::<Avl, true>::with_expiries(expiries.iter().copied());
        subject.remove(expiries.iter().position(|&expiry| expiry == remove).unwrap());
        assert_eq!(subject.check(), Ok(()));
        let root = subject.tree.root.unwrap();
        assert_eq!(subject.nodes.0[root].expiry, top, "{expiries:?} without {remove}");
        assert_eq!(subject.links(root).mark, difference);
    }
}

/// A removal at the shallow side of the sparsest tree rotates at every level.
#[test]
fn a_removal_turns_up_to_the_root() {
    // Each root has a higher right side: trees of Fibonacci size, inserted level by level.
    let mut subject =
        Subject::<Avl, true>::with_expiries([50, 20, 80, 10, 30, 70, 100, 40, 60, 90, 110, 120]);
    assert_eq!(subject.nodes.0[subject.tree.root.unwrap()].expiry, 50);
    subject.remove(3);
    assert_eq!(subject.check(), Ok(()));
    assert_eq!(subject.nodes.0[subject.tree.root.unwrap()].expiry, 80);
}
