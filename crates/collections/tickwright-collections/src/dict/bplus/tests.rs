//! Compares the dictionary with a sorted vector, with many entries, with a used-up pool, and with
//! keys whose comparisons contradict each other. The nodes are narrow, so that there are many
//! levels.

use core::cell::Cell as Mutable;
use core::cmp::Ordering;
use std::collections::{BTreeSet, VecDeque};
use std::vec::Vec;

use super::*;
use crate::{By, ByFirst, Ids};

type Object = (u64, u32);
type Key = By<fn(&Object) -> u64>;
type Dict = BPlusDict<Key, Object>;
const KEY: Key = By(|&(key, _)| key);

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }
}

fn walk(dictionary: &Dict) -> Vec<Object> {
    dictionary.iter().map(|entry| *dictionary.get(entry).unwrap()).collect()
}

fn seeks(dictionary: &Dict, model: &[(Object, EntryKey)], key: u64) {
    let lower = model.partition_point(|&((other, _), _)| other < key);
    let upper = model.partition_point(|&((other, _), _)| other <= key);
    let at = |at: Option<usize>| Some(model.get(at?)?.1);
    let some = upper > lower;
    assert_eq!(dictionary.find(&key), at(some.then_some(lower)));
    assert_eq!(dictionary.find_last(&key), at(upper.checked_sub(1).filter(|_| some)));
    assert_eq!(dictionary.find_geq(&key), at(Some(lower)));
    assert_eq!(dictionary.find_gt(&key), at(Some(upper)));
    assert_eq!(dictionary.find_leq(&key), at(upper.checked_sub(1)));
    assert_eq!(dictionary.find_lt(&key), at(lower.checked_sub(1)));
}

/// Runs random operations: the dictionary repeatedly grows to `most` entries and then shrinks until
/// it is empty.
fn agrees(mut dictionary: Dict, keys: usize, most: usize, steps: usize) -> usize {
    let mut random = Random(88_172_645 + keys as u64);
    let mut model: Vec<(Object, EntryKey)> = Vec::new();
    let (mut growing, mut full, mut number) = (true, 0, 0);
    for _ in 0..steps {
        growing = if growing { model.len() < most } else { model.is_empty() };
        let key = random.below(keys) as u64;
        let place =
            |model: &[(Object, EntryKey)], key| model.partition_point(|&((other, _), _)| other <= key);
        match random.below(10) {
            0..=1 if !model.is_empty() => {
                let at = random.below(model.len());
                let ((old, n), entry) = model.remove(at);
                let to = place(&model, key);
                dictionary.get_mut(entry).unwrap().0 = key;
                match dictionary.rekeyed(entry) {
                    Ok(moved) => {
                        assert_eq!(moved, to != at, "{old} became {key}");
                        model.insert(to, ((key, n), entry));
                    }
                    Err(reason) => {
                        assert_eq!(reason, DictError::Full);
                        // A move after the other entries with an equal key also returns `true`.
                        let checked = if key == old { Ok(()) } else { Err(Violation::Order) };
                        assert_eq!(dictionary.check(), checked);
                        full += 1;
                        dictionary.get_mut(entry).unwrap().0 = old;
                        model.insert(at, ((old, n), entry));
                    }
                }
            }
            what if what < 8 && growing || model.is_empty() => {
                let object = (key, number);
                number += 1;
                let inserted = match (what, model.first(), model.last()) {
                    (7, Some(&((first, _), _)), _) if key < first => dictionary.prepend(object),
                    (6, _, Some(&((last, _), _))) if key >= last => dictionary.append(object),
                    _ => dictionary.insert(object),
                };
                match inserted {
                    Ok(entry) => model.insert(place(&model, key), (object, entry)),
                    Err(refused) => {
                        assert_eq!((refused.reason, refused.value), (DictError::Full, object));
                        full += 1;
                        growing = false;
                    }
                }
            }
            _ => {
                let (object, entry) = model.remove(random.below(model.len()));
                assert_eq!(dictionary.remove(entry), Ok(object));
                assert_eq!(dictionary.remove(entry), Err(DictError::Stale));
            }
        }
        assert_eq!((dictionary.check(), dictionary.len()), (Ok(()), model.len()));
        seeks(&dictionary, &model, key);
        seeks(&dictionary, &model, random.below(keys) as u64);
        if number % 16 == 0 {
            assert!(walk(&dictionary).iter().eq(model.iter().map(|(object, _)| object)));
            let back = dictionary.iter().rev();
            assert!(back.eq(model.iter().rev().map(|&(_, entry)| entry)));
        }
    }
    full
}

const STEPS: usize = if cfg!(miri) { 150 } else { 12_000 };

#[test]
fn many_levels_agree_with_a_sorted_vector() {
    for (keys, most) in [(7, 60), (90, 150), (1 << (usize::BITS / 8 * 5), 150)] {
        assert_eq!(agrees(Dict::new(KEY), keys, most, STEPS), 0);
    }
}

#[test]
fn an_exhausted_pool_refuses_and_nothing_is_half_linked() {
    for nodes in [1, 2, 3, 4, 7, 20, 40] {
        let dictionary = Dict::pooled(KEY, nodes).unwrap();
        let full = agrees(dictionary, 50, 1000, STEPS / 4);
        assert!(full > 5, "{nodes} nodes");
    }
    assert_eq!(Dict::pooled(KEY, 0).unwrap().insert((1, 1)).unwrap_err().reason, DictError::Full);
}

#[test]
fn a_pool_of_the_size_advised_is_never_exhausted() {
    for entries in [1, 4, 5, 9, 30, 120] {
        let mut dictionary = Dict::pooled(KEY, Dict::nodes_for(entries)).unwrap();
        let bytes = dictionary.heap_bytes();
        let mut random = Random(entries as u64);
        let mut live = Vec::new();
        for n in 0..STEPS / 8 {
            // Fills the pool, and then removes half of the entries so that the nodes become as
            // empty as possible.
            let phase = n / entries % 2;
            if phase == 0 && live.len() < entries {
                let key = if n % 3 == 0 { n } else { random.below(1000) } as u64;
                live.push(dictionary.insert((key, 0)).unwrap());
            } else if live.len() > entries / 2 {
                dictionary.remove(live.swap_remove(random.below(live.len()))).unwrap();
            }
        }
        assert_eq!((dictionary.check(), dictionary.heap_bytes()), (Ok(()), bytes));
    }
}

/// One step of a script. Its arguments are ranks, which are positions in the order of the present
/// entries.
#[derive(Clone, Copy, Debug)]
enum Step {
    Insert(usize),
    Remove(usize),
    /// Moves the entry at the first rank so that it has the second rank among the other entries.
    Move(usize, usize),
}

/// Returns a key whose entry would have this rank.
fn key_at(live: &[(u128, EntryKey)], rank: usize) -> u128 {
    let below = rank.checked_sub(1).map_or(0, |at| live[at].0);
    let above = live.get(rank).map_or(u128::MAX, |&(key, _)| key);
    below.midpoint(above)
}

type Wide = BPlusDict<By<fn(&u128) -> u128>, u128>;

/// Runs a script in a pool of [`nodes_for`](BPlusDict::nodes_for) nodes, which must refuse no step.
fn run(entries: usize, script: &[Step]) -> (Wide, usize) {
    let mut dictionary = Wide::pooled(By(|&key| key), Wide::nodes_for(entries)).unwrap();
    let mut live: Vec<(u128, EntryKey)> = Vec::new();
    for &step in script {
        match step {
            Step::Insert(rank) => {
                let key = key_at(&live, rank);
                live.insert(rank, (key, dictionary.insert(key).expect("the pool is large enough")));
            }
            Step::Remove(rank) => {
                let (key, entry) = live.remove(rank);
                assert_eq!(dictionary.remove(entry), Ok(key));
            }
            Step::Move(from, to) => {
                let (_, entry) = live.remove(from);
                let key = key_at(&live, to);
                live.insert(to, (key, entry));
                let moved = dictionary.update(entry, |object| *object = key);
                assert_eq!(moved, Ok(from != to), "{entries} entries, {script:?}");
            }
        }
    }
    assert_eq!(dictionary.check(), Ok(()), "{entries} entries, {script:?}");
    let keys = dictionary.iter().map(|entry| *dictionary.get(entry).unwrap());
    assert!(keys.eq(live.iter().map(|&(key, _)| key)), "{entries} entries, {script:?}");
    (dictionary, live.len())
}

/// For every shape that a tree of at most n entries can have, runs every insert, removal and move.
#[test]
fn a_pool_of_the_size_advised_is_enough_for_every_step_from_every_shape() {
    for entries in 1..=if cfg!(miri) { 5 } else { 13 } {
        let mut seen = BTreeSet::new();
        let mut scripts = VecDeque::from([Vec::new()]);
        // The search is breadth-first, so the first script that leads to a shape is the shortest.
        while let Some(mut script) = scripts.pop_front() {
            let (dictionary, len) = run(entries, &script);
            if !seen.insert(dictionary.index.tree.shape()) {
                continue;
            }
            let moves = (0..len).flat_map(|from| (0..len).map(move |to| Step::Move(from, to)));
            let removals = (0..len).map(Step::Remove);
            let inserts = (0..=len).filter(|_| len < entries).map(Step::Insert);
            for step in moves.chain(removals).chain(inserts) {
                script.push(step);
                if !seen.contains(&run(entries, &script).0.index.tree.shape()) {
                    scripts.push_back(script.clone());
                }
                script.pop();
            }
        }
        assert!(seen.len() > entries, "{entries} entries");
    }
}

/// Ascending inserts leave each node as empty as allowed, except the last node of each level.
#[test]
fn no_smaller_pool_than_the_one_advised_would_be_enough() {
    for entries in [1, 7, 15, 31, 63, 127, 255] {
        let fill = |nodes| {
            let mut dictionary = Dict::pooled(KEY, nodes).unwrap();
            let all = (0..entries as u64).try_for_each(|n| dictionary.insert((n, 0)).map(drop));
            all.map_err(|refused| refused.reason)
        };
        assert_eq!(fill(Dict::nodes_for(entries)), Ok(()), "{entries} entries");
        assert_eq!(fill(Dict::nodes_for(entries) - 1), Err(DictError::Full), "{entries} entries");
    }
}

/// The pools are too small for the entries that are inserted. A move first removes the entry, and
/// is then refused. Sometimes the removal merges two nodes and thereby frees one node, but the move
/// needs two.
#[test]
fn a_refused_move_leaves_the_entry_where_it_was() {
    let (mut refused, mut merged) = (0, 0);
    for nodes in [3, 4, 5, 8, 11, 16, 24] {
        let mut random = Random(88_172_645 + nodes as u64);
        let mut dictionary = Dict::pooled(KEY, nodes).unwrap();
        let mut live: Vec<EntryKey> = Vec::new();
        for number in 0..if cfg!(miri) { 300 } else { 40_000 } {
            let key = random.below(1000) as u64;
            match random.below(20) {
                0..=8 => live.extend(dictionary.insert((key, number))),
                what if what <= 13 && !live.is_empty() => {
                    dictionary.remove(live.swap_remove(random.below(live.len()))).unwrap();
                }
                _ if !live.is_empty() => {
                    let entry = live[random.below(live.len())];
                    let (old, shape, before) =
                        (dictionary.get(entry).unwrap().0, dictionary.index.tree.shape(), walk(&dictionary));
                    if dictionary.update(entry, |object| object.0 = key) == Err(DictError::Full) {
                        refused += 1;
                        merged += usize::from(dictionary.index.tree.shape().len() < shape.len());
                        assert_eq!(dictionary.check(), Err(Violation::Order));
                        dictionary.get_mut(entry).unwrap().0 = old;
                        assert_eq!((dictionary.check(), walk(&dictionary)), (Ok(()), before));
                    }
                }
                _ => {}
            }
        }
        assert_eq!((dictionary.check(), dictionary.len()), (Ok(()), live.len()));
    }
    assert!(cfg!(miri) || refused > 100 && merged > 10, "{refused} refused, {merged} of them merged");
}

#[test]
fn ids_and_reserve_work_over_it() {
    let mut ids = Ids::new(BPlusDict::new(ByFirst), 1..=300).unwrap();
    let all: Vec<u64> = core::iter::from_fn(|| ids.take().ok()).collect();
    assert!(all.iter().copied().eq(1..=300));
    for id in all.iter().step_by(2).chain(all.iter().skip(1).step_by(2)) {
        ids.give(*id).unwrap();
        assert_eq!(ids.check(), Ok(()));
    }
    let mut pooled = Dict::pooled(KEY, 5).unwrap();
    assert_eq!((pooled.reserve(4), pooled.reserve(1000)), (Ok(()), Err(DictError::Full)));
}

#[test]
fn entries_of_others_are_refused() {
    let (mut one, mut two) = (Dict::new(KEY), Dict::new(KEY));
    let removed = one.insert((1, 1)).unwrap();
    one.remove(removed).unwrap();
    let there = two.insert((1, 1)).unwrap();
    for (wrong, reason) in [(removed, DictError::Stale), (there, DictError::WrongDictionary)] {
        assert_eq!(one.insert_near(Some(wrong), (2, 2)).unwrap_err().reason, reason);
        assert_eq!((one.remove(wrong), one.rekeyed(wrong)), (Err(reason), Err(reason)));
        assert_eq!((one.next(wrong), one.prev(wrong)), (Err(reason), Err(reason)));
        assert_eq!(one.seek(Seek::Leq, &1, Some(wrong)), Err(reason));
        assert_eq!(one.update(wrong, |_| unreachable!()), Err(reason));
        assert_eq!(one.get(wrong), Err(reason));
    }
    assert_eq!((one.len(), one.check()), (0, Ok(())));
}

#[test]
fn a_key_that_changed_in_secret_is_named_and_mended() {
    let mut dictionary = Dict::new(KEY);
    let entries: Vec<_> = (0..60).map(|n| dictionary.insert((n, 0)).unwrap()).collect();
    for (at, to) in [(30, 100), (3, 4), (59, 0), (0, 7)] {
        dictionary.get_mut(entries[at]).unwrap().0 = to;
        assert_eq!(dictionary.check(), Err(Violation::Order));
        assert!(dictionary.rekeyed(entries[at]).unwrap());
        assert_eq!(dictionary.check(), Ok(()));
    }
    assert_eq!(dictionary.update(entries[10], |object| object.0 = 10), Ok(false));
    dictionary.clear();
    assert_eq!((dictionary.len(), dictionary.first(), dictionary.check()), (0, None, Ok(())));
    assert_eq!(dictionary.get(entries[5]), Err(DictError::Stale));
    dictionary.insert((1, 1)).unwrap();
}

std::thread_local! {
    /// The number of comparisons until a comparison panics, and whether comparisons return random
    /// results.
    static MOOD: Mutable<(Option<u32>, bool)> = const { Mutable::new((None, false)) };
    static STATE: Mutable<u64> = const { Mutable::new(88_172_645) };
}

/// A number whose comparisons panic or contradict each other, as `MOOD` demands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Moody(u32);

impl PartialOrd for Moody {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Moody {
    fn cmp(&self, other: &Self) -> Ordering {
        let (calls, random) = MOOD.get();
        if calls == Some(0) {
            std::panic::resume_unwind(std::boxed::Box::new("the user's code panics"));
        }
        MOOD.set((calls.map(|calls| calls - 1), random));
        if random {
            let mut random = Random(STATE.get());
            let answer = [Ordering::Less, Ordering::Equal, Ordering::Greater][random.below(3)];
            STATE.set(random.0);
            return answer;
        }
        self.0.cmp(&other.0)
    }
}

type Moodies = BPlusDict<By<fn(&Moody) -> Moody>, Moody>;

fn moodies(dictionary: &Moodies) -> Vec<u32> {
    dictionary.iter().map(|entry| dictionary.get(entry).unwrap().0).collect()
}

#[test]
#[cfg_attr(not(panic = "unwind"), ignore = "catches a panic")]
fn a_panic_in_the_order_leaves_a_whole_dictionary() {
    for op in 0..5 {
        let mut panics = 0;
        for call in 0..30 {
            let mut dictionary = Moodies::new(By(|&key| key));
            for n in 0..20 {
                dictionary.insert(Moody(n * 2)).unwrap();
            }
            let entry = dictionary.iter().nth(9).unwrap();
            if op == 3 {
                dictionary.get_mut(entry).unwrap().0 = 31;
            }
            let before = moodies(&dictionary);
            MOOD.set((Some(call), false));
            let run = std::panic::catch_unwind(core::panic::AssertUnwindSafe(|| match op {
                0 => drop(dictionary.insert(Moody(11))),
                1 => drop(dictionary.append(Moody(99))),
                2 => drop(dictionary.seek(Seek::Lt, &Moody(11), None)),
                3 => drop(dictionary.rekeyed(entry)),
                _ => drop(dictionary.prepend(Moody(0))),
            }));
            MOOD.set((None, false));
            if run.is_err() {
                panics += 1;
                assert_eq!(moodies(&dictionary), before);
            }
            dictionary.rekeyed(entry).unwrap();
            assert_eq!(dictionary.check(), Ok(()), "op {op}, call {call}");
        }
        assert!(panics > 0, "op {op} asks no order");
    }
}

#[test]
fn an_order_that_contradicts_itself_is_contained() {
    let mut dictionary = Moodies::new(By(|&key| key));
    let mut random = Random(7);
    let mut entries = Vec::new();
    MOOD.set((None, true));
    for n in 0..if cfg!(miri) { 100 } else { 4000 } {
        match random.below(6) {
            0 | 1 => entries.extend(dictionary.insert(Moody(n))),
            2 => entries.extend(
                dictionary.append(Moody(n)).ok().into_iter().chain(dictionary.prepend(Moody(n)).ok()),
            ),
            3 if !entries.is_empty() => {
                dictionary.rekeyed(entries[random.below(entries.len())]).unwrap();
            }
            4 if !entries.is_empty() && entries.len() > 80 => {
                dictionary.remove(entries.swap_remove(random.below(entries.len()))).unwrap();
            }
            _ => {
                dictionary.find_lt(&Moody(n));
                dictionary.find(&Moody(n));
            }
        }
        assert_eq!((dictionary.len(), dictionary.iter().count()), (entries.len(), entries.len()));
        assert!(matches!(dictionary.check(), Ok(()) | Err(Violation::Order)));
    }
    MOOD.set((None, false));
    assert!(entries.len() > 50);
    for entry in entries {
        dictionary.remove(entry).unwrap();
        assert!(matches!(dictionary.check(), Ok(()) | Err(Violation::Order)));
    }
    assert_eq!((dictionary.len(), dictionary.check()), (0, Ok(())));
}

#[test]
fn a_cell_that_names_another_leaf_or_is_free_is_named() {
    let mut dictionary = Dict::new(KEY);
    let entries: Vec<_> = (0..20).map(|n| dictionary.insert((n, 0)).unwrap()).collect();
    let (one, other) = (entries[0].slot.index.at(), entries[19].slot.index.at());
    let away = dictionary.index.nodes.arena.columns.0[other].record.0;
    let own = core::mem::replace(&mut dictionary.index.nodes.arena.columns.0[one].record.0, away);
    assert_eq!(dictionary.check(), Err(Violation::Position));
    dictionary.index.nodes.arena.columns.0[one].record.0 = own;
    assert_eq!(dictionary.check(), Ok(()));
    // A linked cell is free, and an unlinked cell is live, so all counts agree. The check of the
    // free list finds this damage.
    let spare = dictionary.insert((30, 0)).unwrap();
    dictionary.remove(spare).unwrap();
    dictionary.index.nodes.arena.columns.0.swap(one, spare.slot.index.at());
    dictionary.index.nodes.arena.free = Some(entries[0].slot.index);
    assert_eq!(dictionary.check(), Err(Violation::Storage));
}
