//! Structures whose sequence numbers are nearly used up from the start. These structures renumber
//! within a few inserts, and their behavior is otherwise unchanged.

use tickwright_core::{DaryHeap, FixedDelay};
use tickwright_testkit::clauses::{Tools, Verdict};
use tickwright_testkit::ours::{Hook, Slab, Worn};
use tickwright_testkit::registry::{Kind, ours};
use tickwright_testkit::script::{decode, noise};
use tickwright_testkit::subject::{Make, Subject};

/// The counter starts this many inserts before its end.
const AT_ONCE: u32 = u32::MAX;
const SOON: u32 = u32::MAX - 3;
const LATER: u32 = u32::MAX - 40;

fn worn() -> Vec<Kind> {
    vec![
        Kind::of::<Slab<DaryHeap<2>, Worn<AT_ONCE>>>(),
        Kind::of::<Slab<DaryHeap<4>, Worn<LATER>>>(),
        Kind::of::<Hook<DaryHeap<2>, Worn<LATER>>>(),
        Kind::of::<Hook<DaryHeap<4>, Worn<SOON>>>(),
        Kind::of::<Slab<FixedDelay, Worn<SOON>>>(),
        Kind::of::<Hook<FixedDelay, Worn<LATER>>>(),
    ]
}

#[test]
fn a_queue_that_renumbers_keeps_every_clause() {
    for kind in worn() {
        for clause in &kind.clauses {
            let verdict = (clause.verdict)(&Tools::default());
            assert!(!verdict.is_broken(), "{} {}: {verdict}", kind.name, clause.name);
            assert!(verdict != Verdict::NotOffered || kind.name.ends_with("/hook"), "{}", clause.name);
        }
    }
}

#[test]
fn a_queue_that_renumbers_gives_the_same_event_log() {
    let list = &ours()[0];
    for seed in 0..60 {
        let script = decode(&noise(seed, 800));
        let expected = (list.run)(&script);
        assert!(expected.is_ok());
        for kind in worn() {
            assert_eq!((kind.run)(&script), expected, "{}", kind.name);
        }
    }
}

/// Timers with equal deadlines keep the order of their arrival across the renumbering.
fn equals_keep_their_order<M: Make>() {
    const MANY: u32 = 100;
    let arena = M::arena(2 * MANY as usize);
    let mut queue = M::make(&arena, MANY as usize);
    for value in 0..MANY {
        queue.insert(7, value).expect("room");
    }
    for value in 0..MANY / 2 {
        assert_eq!(queue.pop_expired(7).map(|fired| fired.value), Some(value), "{}", M::name());
        queue.insert(7, MANY + value).expect("room");
        assert_eq!(queue.check(), Ok(()), "{}", M::name());
    }
    let mut left = Vec::new();
    let _ = queue.advance(7, usize::MAX, &mut |fired| left.push(fired.value));
    assert!(left.iter().copied().eq(MANY / 2..MANY + MANY / 2), "{}: {left:?}", M::name());
}

#[test]
fn equal_deadlines_stay_first_in_first_out() {
    equals_keep_their_order::<Slab<DaryHeap<2>, Worn<LATER>>>();
    equals_keep_their_order::<Slab<DaryHeap<4>, Worn<LATER>>>();
    equals_keep_their_order::<Slab<DaryHeap<4>, Worn<SOON>>>();
    equals_keep_their_order::<Hook<DaryHeap<2>, Worn<SOON>>>();
    equals_keep_their_order::<Hook<DaryHeap<4>, Worn<LATER>>>();
    equals_keep_their_order::<Slab<FixedDelay, Worn<AT_ONCE>>>();
    equals_keep_their_order::<Hook<FixedDelay, Worn<LATER>>>();
}
