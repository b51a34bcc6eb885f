//! For each part of `check`, deliberately breaks a link, a key or a count.

use std::vec::Vec;

use super::*;

/// The leaves of the cells 1 to n.
struct Leaves(Vec<Option<Idx>>);

impl Home for Leaves {
    fn leaf(&self, cell: Idx) -> Option<Idx> {
        self.0[cell.at()]
    }

    fn set_leaf(&mut self, cell: Idx, leaf: Idx) {
        self.0[cell.at()] = Some(leaf);
    }
}

impl<K: Copy + Ord> Tree<K> {
    /// Returns the level and the length of each node, level by level from the root down, and from
    /// left to right.
    pub(in super::super) fn shape(&self) -> Vec<(u16, usize)> {
        let (mut shape, mut open) = (Vec::new(), Vec::from_iter(self.root));
        while let Some(p) = open.pop() {
            let node = self.node(p);
            shape.push((node.level, node.len()));
            if node.level > 0 {
                open.extend((0..node.len()).rev().filter_map(|at| node.below(at)));
            }
        }
        shape
    }
}

const CELLS: usize = 40;

/// Returns a tree with the keys 0, 10, 20, ..., 390 in the cells 1 to 40. Four more keys were
/// inserted and removed, so that some nodes are free.
fn tree() -> (Tree<u64>, Leaves) {
    let mut leaves = Leaves(std::vec![None; CELLS + 5]);
    let mut tree = Tree::new();
    let cell = |n: usize| Idx::of(n + 1).unwrap();
    for n in (0..CELLS).rev().chain(CELLS..CELLS + 4) {
        let key = n as u64 * 10;
        let spot = tree.spot(&key, true);
        assert!(tree.make_room(spot));
        tree.insert(&mut leaves, spot, key, cell(n));
    }
    for n in (CELLS..CELLS + 4).rev() {
        let leaf = leaves.leaf(cell(n)).unwrap();
        let spot = tree.spot_of(leaf, cell(n)).unwrap();
        tree.remove(&mut leaves, spot);
    }
    assert!(tree.spare > 0 && tree.node(tree.root.unwrap()).level >= 2);
    assert_eq!(check(&tree), Ok(()));
    (tree, leaves)
}

fn check(tree: &Tree<u64>) -> Result<(), Violation> {
    tree.check(CELLS, |_, _, _| Ok(()))
}

/// Returns what `check` returns after `how` has changed the tree.
fn broken(how: impl FnOnce(&mut Tree<u64>)) -> Result<(), Violation> {
    let (mut tree, _) = tree();
    how(&mut tree);
    check(&tree)
}

/// Returns an inner node below the root, and the second leaf below it.
fn inside(tree: &Tree<u64>) -> (Idx, Idx) {
    let mut p = tree.node(tree.root.unwrap()).below(1).unwrap();
    while tree.node(p).level > 1 {
        p = tree.node(p).below(1).unwrap();
    }
    (p, tree.node(p).below(1).unwrap())
}

#[test]
fn links() {
    let root = |tree: &Tree<u64>| tree.root.unwrap();
    assert_eq!(broken(|tree| tree.root = None), Err(Violation::Head));
    assert_eq!(broken(|tree| tree.first = tree.last), Err(Violation::Head));
    assert_eq!(broken(|tree| tree.last = tree.first), Err(Violation::Head));
    let up = |tree: &mut Tree<u64>| {
        let root = root(tree);
        tree.node_mut(root).up = Some(root);
    };
    assert_eq!(broken(up), Err(Violation::Head));
    let each = |set: fn(&mut Node<u64>, Option<Idx>)| {
        for wrong in [None, Idx::of(1)] {
            let answer = broken(|tree| {
                let (_, leaf) = inside(tree);
                set(tree.node_mut(leaf), wrong);
            });
            assert_eq!(answer, Err(Violation::BackLink));
            let answer = broken(|tree| {
                let (inner, _) = inside(tree);
                set(tree.node_mut(inner), wrong);
            });
            assert_eq!(answer, Err(Violation::BackLink));
        }
    };
    each(|node, wrong| node.up = wrong);
    each(|node, wrong| node.prev = wrong);
    each(|node, wrong| node.next = wrong);
    let beyond = |tree: &mut Tree<u64>| {
        let last = tree.last.unwrap();
        tree.node_mut(last).next = tree.first;
    };
    assert_eq!(broken(beyond), Err(Violation::BackLink));
    let missing = |tree: &mut Tree<u64>| {
        let (inner, _) = inside(tree);
        tree.node_mut(inner).down[1] = None;
    };
    assert_eq!(broken(missing), Err(Violation::UnusedCell));
    let astray = |tree: &mut Tree<u64>| {
        let (inner, _) = inside(tree);
        tree.node_mut(inner).down[1] = Idx::of(1000);
    };
    assert_eq!(broken(astray), Err(Violation::Storage));
}

#[test]
fn keys_and_fences() {
    for wrong in [0, 999] {
        let leaf = |tree: &mut Tree<u64>| {
            let (_, leaf) = inside(tree);
            tree.node_mut(leaf).keys[1] = wrong;
        };
        assert_eq!(broken(leaf), Err(Violation::Order));
        let fence = |tree: &mut Tree<u64>| {
            let (inner, _) = inside(tree);
            tree.node_mut(inner).keys[1] = wrong;
        };
        assert_eq!(broken(fence), Err(Violation::Order));
        let first = |tree: &mut Tree<u64>| {
            let (inner, _) = inside(tree);
            tree.node_mut(inner).keys[0] = wrong;
        };
        assert_eq!(broken(first), Ok(()), "an inner node's first key is not asked for");
    }
    // The fence is set to one more than the first key to its right, while the leaves on both sides
    // are in order.
    let fence = |tree: &mut Tree<u64>| {
        let (inner, leaf) = inside(tree);
        tree.node_mut(inner).keys[1] = tree.node(leaf).keys[0] + 1;
    };
    assert_eq!(broken(fence), Err(Violation::Order));
    let swapped = |tree: &mut Tree<u64>| {
        let (_, leaf) = inside(tree);
        tree.node_mut(leaf).keys.swap(0, 1);
    };
    assert_eq!(broken(swapped), Err(Violation::Order), "between the fences");
    let (tree, _) = tree();
    assert_eq!(
        tree.check(CELLS, |key, _, _| if key == 70 { Err(Violation::Owner) } else { Ok(()) }),
        Err(Violation::Owner)
    );
}

#[test]
fn fill_levels_and_count() {
    let few = |tree: &mut Tree<u64>| {
        let (_, leaf) = inside(tree);
        tree.node_mut(leaf).len = 1;
    };
    assert_eq!(broken(few), Err(Violation::Balance));
    let deep = |tree: &mut Tree<u64>| {
        let (_, leaf) = inside(tree);
        tree.node_mut(leaf).level = 1;
    };
    assert_eq!(broken(deep), Err(Violation::Balance));
    let deeper = |tree: &mut Tree<u64>| {
        let root = tree.root.unwrap();
        tree.node_mut(root).level = 200;
    };
    assert_eq!(broken(deeper), Err(Violation::Balance));
    let (tree, _) = tree();
    for len in [CELLS - 1, CELLS + 1] {
        assert_eq!(tree.check(len, |_, _, _| Ok(())), Err(Violation::Count));
    }
}

#[test]
fn the_pool() {
    assert_eq!(broken(|tree| tree.free = None), Err(Violation::Storage));
    assert_eq!(broken(|tree| tree.free = tree.root), Err(Violation::Storage));
    assert_eq!(broken(|tree| tree.spare += 1), Err(Violation::Storage));
    assert_eq!(broken(|tree| tree.spare -= 1), Err(Violation::Storage));
    assert_eq!(broken(|tree| tree.limit = 3), Err(Violation::Storage));
    let circle = |tree: &mut Tree<u64>| {
        let free = tree.free.unwrap();
        tree.node_mut(free).next = Some(free);
    };
    assert_eq!(broken(circle), Err(Violation::Storage));
    let lost = |tree: &mut Tree<u64>| {
        let free = tree.free.unwrap();
        tree.free = tree.node(free).next;
        tree.spare -= 1;
    };
    assert_eq!(broken(lost), Err(Violation::Storage));
}
