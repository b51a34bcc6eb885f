//! Each test breaks one link, mark, key, end or count of a valid dictionary and requires `check` to
//! name the violation. Other tests run every search from every hint. The dictionaries are small
//! enough to try all cases.

use core::fmt::Debug;
use std::vec::Vec;

use super::super::{By, Objects, Position, RedBlack, Seek, Sorted};
use super::*;
use crate::Avl;
use tickwright_nodes::testing::{Random, shuffled};
use tickwright_nodes::tree::Color;

const SIZES: [usize; 6] = [1, 2, 3, 4, 12, 50];
type ByValue = By<fn(&u32) -> u32>;
const KEY: ByValue = By(|&key| key);

/// Records and keys in a vector. A node is named by its index.
struct Store<B: Balance>(Vec<(DictRecord<usize, B>, u32)>);

impl<B: Balance> Nodes<usize, DictRecord<usize, B>> for Store<B> {
    fn record(&self, p: usize) -> &DictRecord<usize, B> {
        &self.0[p].0
    }

    fn record_mut(&mut self, p: usize) -> &mut DictRecord<usize, B> {
        &mut self.0[p].0
    }
}

impl<B: Balance> Objects<usize, B> for Store<B> {
    type Object = u32;

    fn object(&self, p: usize) -> &u32 {
        &self.0[p].1
    }
}

struct Subject<B: Balance> {
    sorted: Sorted<usize, B, ByValue, Store<B>>,
    len: usize,
}

impl<B: Balance> Subject<B> {
    fn with_keys(keys: impl IntoIterator<Item = u32>) -> Self {
        let mut subject = Self { sorted: Sorted::new(KEY, Store(Vec::new())), len: 0 };
        for key in keys {
            subject.sorted.nodes.0.push((DictRecord::IDLE, key));
            let place = subject.sorted.place_of(Position::Sorted(None), &key).unwrap();
            subject.sorted.tree.link(&mut subject.sorted.nodes, subject.len, place);
            subject.len += 1;
            assert_eq!(subject.check(), Ok(()));
        }
        subject
    }

    /// Creates a tree of `n` nodes with the keys 10, 20, ..., which are inserted in random order.
    fn of(n: usize) -> Self {
        let order = shuffled(u32::try_from(n).unwrap(), &mut Random::new(n as u64));
        Self::with_keys(order.into_iter().map(|at| 10 + 10 * at))
    }

    fn check(&self) -> Result<(), Violation> {
        self.sorted.check(self.len, |_| Ok(()))
    }

    fn remove(&mut self, p: usize) {
        self.sorted.tree.unlink(&mut self.sorted.nodes, p);
        self.len -= 1;
        assert_eq!(self.check(), Ok(()));
    }

    fn in_order(&self) -> Vec<usize> {
        core::iter::successors(self.sorted.first(), |&p| self.sorted.next(p).ok()?).collect()
    }

    fn with(&mut self, p: usize, change: impl FnOnce(&mut DictRecord<usize, B>)) -> Result<(), Violation> {
        let record = &mut self.sorted.nodes.0[p].0;
        let before = DictRecord { tree: record.tree, list: record.list };
        change(record);
        let result = self.check();
        self.sorted.nodes.0[p].0 = before;
        result
    }
}

/// Returns every node and `None`, except `right`.
fn wrongs(n: usize, right: Option<usize>) -> impl Iterator<Item = Option<usize>> {
    (0..n).map(Some).chain([None]).filter(move |&wrong| wrong != right)
}

fn keys<B: Balance>() {
    for n in SIZES {
        let mut subject = Subject::<B>::of(n);
        for pair in subject.in_order().windows(2) {
            let (early, late) = (subject.sorted.nodes.0[pair[0]].1, subject.sorted.nodes.0[pair[1]].1);
            subject.sorted.nodes.0[pair[0]].1 = late + 1;
            assert_eq!(subject.check(), Err(Violation::Order));
            subject.sorted.nodes.0[pair[0]].1 = late;
            assert_eq!(subject.check(), Ok(()), "equals are in order");
            subject.sorted.nodes.0[pair[0]].1 = early;
        }
    }
}

fn links_up_and_down<B: Balance>() {
    for n in SIZES {
        let mut subject = Subject::<B>::of(n);
        for p in 0..n {
            let root = subject.sorted.tree.root == Some(p);
            for wrong in wrongs(n, subject.sorted.nodes.0[p].0.tree.up) {
                let expected = if root { Violation::Head } else { Violation::BackLink };
                assert_eq!(subject.with(p, |record| record.tree.up = wrong), Err(expected));
            }
            for side in [Left, Right] {
                for wrong in wrongs(n, subject.sorted.nodes.0[p].0.tree.at(side)) {
                    let expected = if wrong.is_some() { Violation::BackLink } else { Violation::Count };
                    assert_eq!(subject.with(p, |record| record.tree.set(side, wrong)), Err(expected));
                }
            }
        }
    }
}

fn list_links<B: Balance>() {
    for n in SIZES {
        let mut subject = Subject::<B>::of(n);
        let (first, last) = (subject.sorted.first(), subject.sorted.last());
        for p in 0..n {
            for wrong in wrongs(n, subject.sorted.nodes.0[p].0.list.next) {
                let expected = if last == Some(p) { Violation::Head } else { Violation::BackLink };
                assert_eq!(
                    subject.with(p, |record| record.list.next = wrong),
                    Err(expected),
                    "{p} {wrong:?}"
                );
            }
            for wrong in wrongs(n, subject.sorted.nodes.0[p].0.list.prev) {
                let expected = if first == Some(p) { Violation::Head } else { Violation::BackLink };
                assert_eq!(
                    subject.with(p, |record| record.list.prev = wrong),
                    Err(expected),
                    "{p} {wrong:?}"
                );
            }
        }
    }
}

fn ends_root_and_count<B: Balance>() {
    for n in SIZES {
        let mut subject = Subject::<B>::of(n);
        let (root, list) = (subject.sorted.tree.root, subject.sorted.tree.list);
        for wrong in wrongs(n, list.head) {
            subject.sorted.tree.list.head = wrong;
            assert_eq!(subject.check(), Err(Violation::Head));
            subject.sorted.tree.list = list;
        }
        for wrong in wrongs(n, list.tail) {
            subject.sorted.tree.list.tail = wrong;
            assert_eq!(subject.check(), Err(Violation::Head));
            subject.sorted.tree.list = list;
        }
        for wrong in wrongs(n, root) {
            subject.sorted.tree.root = wrong;
            let expected = if wrong.is_some() { Violation::Head } else { Violation::Count };
            assert_eq!(subject.check(), Err(expected));
            subject.sorted.tree.root = root;
        }
        for wrong in [0, n - 1, n + 1, usize::MAX] {
            subject.len = wrong;
            assert_eq!(subject.check(), Err(Violation::Count));
            subject.len = n;
        }
    }
    let mut empty = Subject::<B>::of(0);
    empty.sorted.tree.list.tail = Some(0);
    assert_eq!(empty.check(), Err(Violation::Head));
}

/// Sets the mark of one node at a time to each wrong value. `check` must find each of these faults.
fn marks<B: Balance>(all: &[B::Mark], expected: &[Violation])
where
    B::Mark: Debug,
{
    let mut seen = Vec::new();
    for n in SIZES {
        let mut subject = Subject::<B>::of(n);
        for p in 0..n {
            let right = subject.sorted.nodes.0[p].0.tree.mark;
            for &wrong in all.iter().filter(|&&wrong| wrong != right) {
                let broken = subject.with(p, |record| record.tree.mark = wrong).unwrap_err();
                assert!(expected.contains(&broken), "{broken:?}");
                seen.push(broken);
            }
        }
    }
    assert!(expected.iter().all(|violation| seen.contains(violation)), "{seen:?}");
}

#[test]
fn colours() {
    marks::<RedBlack>(&[Color::Red, Color::Black], &[Violation::RedRed, Violation::BlackHeight]);
    // A black node has a single child, which is also black. Only a check that also visits missing
    // children finds this fault.
    let mut subject = Subject::<RedBlack>::with_keys([10, 20]);
    assert_eq!(subject.with(1, |record| record.tree.mark = Color::Black), Err(Violation::BlackHeight));
}

#[test]
fn differences() {
    marks::<Avl>(&[-2, -1, 0, 1, 2, i8::MIN, i8::MAX], &[Violation::Balance]);
}

/// In an AVL tree the right side is higher by two than the left side, and the marks say so
/// correctly.
#[test]
fn a_true_difference_of_two_is_named() {
    let mut subject = Subject::<Avl>::with_keys([10, 20, 30]);
    let record = |up, right, mark| bst::Links { up, child: [None, right], mark };
    for (p, links) in [record(None, Some(1), 2), record(Some(0), Some(2), 1), record(Some(1), None, 0)]
        .into_iter()
        .enumerate()
    {
        subject.sorted.nodes.0[p].0.tree = links;
    }
    subject.sorted.tree.root = Some(0);
    assert_eq!(subject.check(), Err(Violation::Balance));
}

/// Returns the key and the mark of the root.
fn top(subject: &Subject<Avl>) -> (u32, i8) {
    let (record, key) = &subject.sorted.nodes.0[subject.sorted.tree.root.unwrap()];
    (*key, record.tree.mark)
}

/// Tests each rotation that an insertion causes: the third node makes one side of the root too high
/// by two, and the middle node becomes the root.
#[test]
fn insertions_turn_left_left_left_right_right_left_and_right_right() {
    for keys in [[30, 20, 10], [30, 10, 20], [10, 30, 20], [10, 20, 30]] {
        assert_eq!(top(&Subject::with_keys(keys)), (20, 0), "{keys:?}");
    }
}

/// A case: the keys in the order of insertion, the key to remove, and the key and the mark of the
/// root afterwards.
type Removal = (&'static [u32], u32, (u32, i8));

#[test]
fn removals_turn_in_all_ways() {
    let removals: [Removal; 7] = [
        (&[30, 20, 40, 10], 40, (20, 0)),
        (&[30, 10, 40, 20], 40, (20, 0)),
        (&[20, 10, 40, 30], 10, (30, 0)),
        (&[20, 10, 30, 40], 10, (30, 0)),
        // The child's mark is 0, so the height of the tree stays the same.
        (&[30, 20, 40, 10, 25], 40, (20, 1)),
        (&[20, 10, 30, 25, 40], 10, (30, -1)),
        // A removal from the lower side of the AVL tree with the fewest nodes rotates at every
        // level. In this tree, each subtree is higher on its right side, and the sizes of the
        // subtrees are Fibonacci numbers minus one.
        (&[50, 20, 80, 10, 30, 70, 100, 40, 60, 90, 110, 120], 10, (80, 0)),
    ];
    for (keys, remove, expected) in removals {
        let mut subject = Subject::with_keys(keys.iter().copied());
        assert_eq!(top(&subject).0, keys[0]);
        subject.remove(keys.iter().position(|&key| key == remove).unwrap());
        assert_eq!(top(&subject), expected, "{keys:?} without {remove}");
    }
}

fn too_deep<B: Balance>() {
    let n = 200;
    let mut subject = Subject::<B>::of(n);
    let order = subject.in_order();
    for (at, &p) in order.iter().enumerate() {
        let links = &mut subject.sorted.nodes.0[p].0.tree;
        *links = bst::Links::leaf(at.checked_sub(1).map(|before| order[before]), B::LEAF);
        links.set(Right, order.get(at + 1).copied());
    }
    subject.sorted.tree.root = Some(order[0]);
    assert_eq!(subject.check(), Err(B::TOO_DEEP));
}

fn removing_the_root_until_empty<B: Balance>() {
    for n in SIZES {
        let mut subject = Subject::<B>::of(n);
        while let Some(root) = subject.sorted.tree.root {
            subject.remove(root);
        }
        assert_eq!(subject.len, 0);
    }
}

fn storage_is_asked_of_each_node<B: Balance>() {
    let subject = Subject::<B>::of(12);
    for foreign in 0..12 {
        let own = |p| if p == foreign { Err(Violation::Owner) } else { Ok(()) };
        assert_eq!(subject.sorted.check(12, own), Err(Violation::Owner));
    }
}

/// Each key occurs three times. Searches from every hint look for keys that are present, absent, or
/// beyond an end.
fn every_search_from_every_hint<B: Balance>() {
    let most = if cfg!(miri) { 8 } else { 30 };
    for n in 0..most {
        let order = shuffled(n, &mut Random::new(u64::from(n)));
        let subject = Subject::<B>::with_keys(order.iter().map(|at| 2 * (at / 3) + 1));
        let model = subject.in_order();
        let at = |p: usize| subject.sorted.nodes.0[p].1;
        for key in 0..2 * (n / 3) + 4 {
            let lower = model.partition_point(|&p| at(p) < key);
            let upper = model.partition_point(|&p| at(p) <= key);
            let found = |place: Option<usize>| place.and_then(|place| model.get(place).copied());
            let expected = |seek| match seek {
                Seek::Equal => found(Some(lower)).filter(|&p| at(p) == key),
                Seek::LastEqual => found(upper.checked_sub(1)).filter(|&p| at(p) == key),
                Seek::Geq => found(Some(lower)),
                Seek::Gt => found(Some(upper)),
                Seek::Leq => found(upper.checked_sub(1)),
                Seek::Lt => found(lower.checked_sub(1)),
            };
            for hint in (0..n as usize).map(Some).chain([None]) {
                for seek in [Seek::Equal, Seek::LastEqual, Seek::Geq, Seek::Gt, Seek::Leq, Seek::Lt] {
                    let answer = subject.sorted.seek(seek, &key, hint);
                    assert_eq!(answer, expected(seek), "{seek:?} {key} from {hint:?} of {n}");
                }
            }
        }
    }
}

/// A search from a hint finds a neighbor in two comparisons. To find an entry at distance d takes
/// about 2 log d comparisons on average, and never more than the number of nodes on two paths from
/// the root.
fn hints_save_comparisons<B: Balance>() {
    let n: u32 = if cfg!(miri) { 64 } else { 1024 };
    let subject = Subject::<B>::with_keys(0..n);
    let count = |hint: u32, key: u32| {
        let mut comparisons = 0;
        let _ = subject.sorted.tree.place(&subject.sorted.nodes, Some(hint as usize), |p| {
            comparisons += 1;
            key >= subject.sorted.nodes.0[p].1
        });
        comparisons
    };
    let path = 2 * (n + 1).ilog2();
    for hint in 1..n - 1 {
        assert!(count(hint, hint) <= 2, "behind the hint");
        assert!(count(hint, hint - 1) <= 2, "before the hint");
        assert!((0..n).all(|key| count(hint, key) <= 4 + 2 * path));
    }
    for distance in [1, 2, 3, 5, 8, 13, 21] {
        let up: u32 = (0..n - distance).map(|hint| count(hint, hint + distance)).sum();
        let down: u32 = (distance..n).map(|hint| count(hint, hint - distance)).sum();
        let most = (n - distance) * (4 + 2 * (distance + 1).ilog2());
        assert!(up <= most && down <= most, "{distance} off: {up} and {down} of {most}");
    }
}

/// A search ends at a place where a leaf can be linked, whatever the rule returns.
fn a_rule_that_contradicts_itself_is_contained<B: Balance>() {
    let mut random = Random::new(7);
    for n in SIZES {
        let mut subject = Subject::<B>::of(n);
        for more in n..n + 40 {
            let hint = Some(random.below(u32::try_from(more).unwrap()) as usize).filter(|p| p % 3 > 0);
            let place = subject.sorted.tree.place(&subject.sorted.nodes, hint, |_| random.below(2) == 0);
            subject.sorted.nodes.0.push((DictRecord::IDLE, 0));
            subject.sorted.tree.link(&mut subject.sorted.nodes, more, place);
            subject.len += 1;
            assert_eq!(subject.sorted.tree.check(&subject.sorted.nodes, subject.len, |_, _| Ok(())), Ok(()));
        }
    }
}

fn ends_take_what_belongs_there<B: Balance>() {
    let subject = Subject::<B>::with_keys([20, 10, 20]);
    let fits = |end, key| subject.sorted.place_of(end, &key).is_ok();
    assert!(fits(Position::First, 9) && !fits(Position::First, 10) && !fits(Position::First, 11));
    assert!(fits(Position::Last, 21) && fits(Position::Last, 20) && !fits(Position::Last, 19));
    let empty = Subject::<B>::of(0);
    for end in [Position::First, Position::Last] {
        assert_eq!(empty.sorted.place_of(end, &1), Ok(None));
    }
}

macro_rules! for_each_balance {
    ($($test:ident)+) => {
        mod red_black {
            $(#[test] fn $test() { super::$test::<super::RedBlack>(); })+
        }
        mod avl {
            $(#[test] fn $test() { super::$test::<super::Avl>(); })+
        }
    };
}

for_each_balance! {
    keys links_up_and_down list_links ends_root_and_count storage_is_asked_of_each_node every_search_from_every_hint
    hints_save_comparisons too_deep removing_the_root_until_empty a_rule_that_contradicts_itself_is_contained ends_take_what_belongs_there
}
