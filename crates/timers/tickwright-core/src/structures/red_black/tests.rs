use super::super::testing::against_sorted_vec;
use super::super::timer_tree::tests::{SIZES, Subject};
use tickwright_nodes::tree::Color;

use super::{RbTree, RbTreeCached};
use crate::contract::Violation;

#[test]
fn uncached_agrees_with_a_sorted_vec() {
    against_sorted_vec::<RbTree>();
}

#[test]
fn cached_agrees_with_a_sorted_vec() {
    against_sorted_vec::<RbTreeCached>();
}

#[test]
fn a_wrong_colour_is_named() {
    for n in SIZES {
        let mut subject = Subject::<true>::of(n);
        for p in 0..n {
            let links = *subject.links(p);
            let red = |subject: &mut Subject<true>, p: Option<usize>| {
                p.is_some_and(|p| subject.links(p).mark == Color::Red)
            };
            let beside_red = links.child.iter().chain([&links.up]).any(|&p| red(&mut subject, p));
            let (wrong, expected) = match links.mark {
                Color::Red => (Color::Black, Violation::BlackHeight),
                Color::Black if beside_red || links.up.is_none() => (Color::Red, Violation::RedRed),
                Color::Black => (Color::Red, Violation::BlackHeight),
            };
            assert_eq!(subject.with_links(p, |links| links.mark = wrong), Err(expected), "{p} of {n}");
        }
    }
}

#[test]
fn a_black_node_with_one_black_child_is_named() {
    let mut subject = Subject::<true>::with_expiries([10, 20]);
    assert_eq!(subject.with_links(1, |links| links.mark = Color::Black), Err(Violation::BlackHeight));
}
