//! Each test breaks one link, expiry, root or head of a valid tree and requires `check` to name the
//! violation. The tests of `red_black` break the colors.

use std::vec::Vec;

use super::super::testing::{Random, VecNodes, shuffled};
use super::{TimerTree, TreeRecord};
use crate::contract::{Tick, Violation};
use crate::structure::{Discipline, Ordered, Record};
use tickwright_nodes::tree::{Balance as _, Color, Left, Links, RedBlack, Right};

pub(in crate::structures) const SIZES: [usize; 6] = [1, 2, 3, 4, 12, 50];

/// A tree over nodes in a vector. Tests break parts of it and restore them.
pub(in crate::structures) struct Subject<const CACHED: bool> {
    pub(in crate::structures) tree: TimerTree<usize, CACHED>,
    pub(in crate::structures) nodes: VecNodes<TreeRecord<usize>>,
    pub(in crate::structures) len: usize,
}

impl<const CACHED: bool> Subject<CACHED> {
    pub(in crate::structures) fn with_expiries(expiries: impl IntoIterator<Item = Tick>) -> Self {
        let mut subject = Self { tree: TimerTree::NEW, nodes: VecNodes(Vec::new()), len: 0 };
        for expiry in expiries {
            subject.nodes.0.push(TreeRecord::IDLE);
            let _ = subject.tree.insert(&mut subject.nodes, subject.len, expiry, 0);
            subject.len += 1;
            assert_eq!(subject.check(), Ok(()));
        }
        subject
    }

    /// Creates a tree of `n` nodes, which are due at 10, 20, ... and are inserted in random order.
    pub(in crate::structures) fn of(n: usize) -> Self {
        let order = shuffled(u32::try_from(n).unwrap(), &mut Random::new(n as u64));
        Self::with_expiries(order.into_iter().map(|at| 10 + 10 * Tick::from(at)))
    }

    pub(in crate::structures) fn remove(&mut self, p: usize) {
        let _ = self.tree.remove(&mut self.nodes, p);
        self.len -= 1;
    }

    pub(in crate::structures) fn check(&self) -> Result<(), Violation> {
        self.tree.check(&self.nodes, self.len)
    }

    pub(in crate::structures) fn in_order(&self) -> Vec<usize> {
        let mut order = Vec::new();
        self.tree.for_each(&self.nodes, |p| order.push(p));
        order
    }

    pub(in crate::structures) fn links(&mut self, p: usize) -> &mut Links<usize, Color> {
        &mut self.nodes.0[p].links
    }

    /// Replaces the links of `p`, runs `check`, and restores the links.
    pub(in crate::structures) fn with_links(
        &mut self,
        p: usize,
        change: impl FnOnce(&mut Links<usize, Color>),
    ) -> Result<(), Violation> {
        let before = *self.links(p);
        change(self.links(p));
        let result = self.check();
        *self.links(p) = before;
        result
    }
}

fn expiries<const CACHED: bool>() {
    for n in SIZES {
        let mut subject = Subject::<CACHED>::of(n);
        let order = subject.in_order();
        for pair in order.windows(2) {
            let (early, late) = (subject.nodes.0[pair[0]].expiry, subject.nodes.0[pair[1]].expiry);
            subject.nodes.0[pair[0]].expiry = late + 1;
            assert_eq!(subject.check(), Err(Violation::Order));
            subject.nodes.0[pair[0]].expiry = late;
            assert_eq!(subject.check(), Ok(()), "equals are in order");
            subject.nodes.0[pair[0]].expiry = early;
            subject.nodes.0[pair[1]].expiry = early - 1;
            assert_eq!(subject.check(), Err(Violation::Order));
            subject.nodes.0[pair[1]].expiry = late;
        }
    }
}

fn links_up<const CACHED: bool>() {
    for n in SIZES {
        let mut subject = Subject::<CACHED>::of(n);
        for p in 0..n {
            let expected = if subject.tree.root == Some(p) { Violation::Head } else { Violation::BackLink };
            let before = subject.links(p).up;
            for wrong in (0..n).map(Some).chain([None]).filter(|&wrong| wrong != before) {
                assert_eq!(subject.with_links(p, |links| links.up = wrong), Err(expected), "{p} {wrong:?}");
            }
        }
    }
}

fn links_down<const CACHED: bool>() {
    for n in SIZES {
        let mut subject = Subject::<CACHED>::of(n);
        for p in 0..n {
            for side in [Left, Right] {
                let before = subject.links(p).at(side);
                for wrong in (0..n).filter(|&wrong| Some(wrong) != before) {
                    let result = subject.with_links(p, |links| links.set(side, Some(wrong)));
                    assert_eq!(result, Err(Violation::BackLink), "{p} {side:?} {wrong}");
                }
                if before.is_some() {
                    let result = subject.with_links(p, |links| links.set(side, None));
                    assert_eq!(result, Err(Violation::Count), "{p} {side:?}");
                }
            }
        }
    }
}

fn one_child_twice_among_equals<const CACHED: bool>() {
    let mut subject = Subject::<CACHED>::with_expiries([5, 5]);
    assert_eq!(subject.links(0).at(Right), Some(1));
    assert_eq!(subject.with_links(0, |links| links.set(Left, Some(1))), Err(Violation::BackLink));
}

fn root_and_head<const CACHED: bool>() {
    for n in SIZES {
        let mut subject = Subject::<CACHED>::of(n);
        let (root, head) = (subject.tree.root, subject.tree.head);
        assert_eq!(head, if CACHED { Some(subject.in_order()[0]) } else { None });
        for wrong in (0..n).map(Some).chain([None]) {
            if wrong != head {
                subject.tree.head = wrong;
                assert_eq!(subject.check(), Err(Violation::Head), "head {wrong:?}");
                subject.tree.head = head;
            }
            if wrong != root {
                subject.tree.root = wrong;
                let expected = if wrong.is_some() { Violation::Head } else { Violation::Count };
                assert_eq!(subject.check(), Err(expected), "root {wrong:?}");
                subject.tree.root = root;
            }
        }
    }
    let mut empty = Subject::<CACHED>::of(0);
    empty.tree.head = Some(0);
    assert_eq!(empty.check(), Err(Violation::Head));
}

fn counts<const CACHED: bool>() {
    for n in SIZES {
        let mut subject = Subject::<CACHED>::of(n);
        for wrong in [0, n - 1, n + 1, usize::MAX] {
            subject.len = wrong;
            assert_eq!(subject.check(), Err(Violation::Count), "{wrong} instead of {n}");
        }
    }
}

fn too_deep<const CACHED: bool>() {
    let n = 200;
    let mut subject = Subject::<CACHED>::of(n);
    for p in 0..n {
        subject.nodes.0[p].expiry = p as Tick;
        *subject.links(p) = Links::leaf(p.checked_sub(1), RedBlack::LEAF);
        subject.links(p).set(Right, (p + 1 < n).then_some(p + 1));
    }
    subject.tree.root = Some(0);
    assert_eq!(subject.check(), Err(RedBlack::TOO_DEEP));
}

fn next_walks_in_order<const CACHED: bool>() {
    let subject = Subject::<CACHED>::of(50);
    let order = subject.in_order();
    for pair in order.windows(2) {
        assert_eq!(subject.tree.next(&subject.nodes, pair[0]), Some(pair[1]));
    }
    assert_eq!(subject.tree.next(&subject.nodes, order[49]), None);
}

fn removing_the_root_until_empty<const CACHED: bool>() {
    for n in SIZES {
        let mut subject = Subject::<CACHED>::of(n);
        while let Some(root) = subject.tree.root {
            subject.remove(root);
            assert_eq!(subject.check(), Ok(()));
        }
        assert_eq!(subject.len, 0);
    }
}

macro_rules! for_each_tree {
    ($($test:ident)+) => {
        mod red_black {
            $(#[test] fn $test() { super::$test::<false>(); })+
        }
        mod red_black_cached {
            $(#[test] fn $test() { super::$test::<true>(); })+
        }
    };
}

for_each_tree! {
    expiries links_up links_down one_child_twice_among_equals root_and_head counts too_deep next_walks_in_order
    removing_the_root_until_empty
}
