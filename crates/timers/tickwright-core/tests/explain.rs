//! Tests, in every family and both storages, that `explain` returns where a timer is, and that its
//! predictions come true.
#![cfg(feature = "alloc")]

use tickwright_core::Whereabouts;
use tickwright_core::{
    BoundedHeap, CoarseWheel, DaryHeap, Family, FixedDelay, HookQueue, KeyError, RbTree, RbTreeCached,
    SlabQueue, SortedList, Timer, Wheel,
};

/// Inserts timers for `deadlines` at `now`. Returns the explanation of each timer in both storages.
fn lines<F: Family>(now: u64, deadlines: &[u64]) -> Vec<String> {
    let mut slab: SlabQueue<F, ()> = SlabQueue::new();
    assert!(slab.pop_expired(now).is_none());
    let keys: Vec<_> = deadlines.iter().map(|&at| slab.insert_at(at, (), 0).unwrap()).collect();
    let by_key: Vec<String> = keys.iter().map(|&key| slab.explain(key).unwrap().to_string()).collect();
    let timers: Vec<Timer<F, ()>> = deadlines.iter().map(|_| Timer::new(())).collect();
    let mut hook: HookQueue<'_, F, ()> = HookQueue::new();
    assert!(hook.pop_expired(now).is_none());
    for (&deadline, timer) in deadlines.iter().zip(&timers) {
        hook.insert_at(deadline, timer, 0).unwrap();
    }
    let by_hook: Vec<String> = timers.iter().map(|timer| hook.explain(timer).unwrap().to_string()).collect();
    assert_eq!(by_key, by_hook);
    by_key
}

#[test]
fn lists_and_trees_say_when_it_is_due() {
    let expected = ["due at 70000; fires as soon as the clock reaches it"];
    assert_eq!(lines::<SortedList>(0, &[70_000]), expected);
    assert_eq!(lines::<RbTree>(0, &[70_000]), expected);
    assert_eq!(lines::<RbTreeCached>(0, &[70_000]), expected);
}

#[test]
fn heaps_say_the_position() {
    let ascending: Vec<u64> = (1..=40).collect();
    let in_two = lines::<DaryHeap<2>>(0, &ascending);
    let in_four = lines::<DaryHeap<4>>(0, &ascending);
    let bounded = lines::<BoundedHeap<4, 40>>(0, &ascending);
    for at in 0..40 {
        let position = at + 1;
        assert_eq!(in_two[at], format!("due at {position}; in a 2-ary heap at position {position} of 40"));
        assert_eq!(in_four[at], format!("due at {position}; in a 4-ary heap at position {position} of 40"));
        assert_eq!(bounded[at], in_four[at]);
    }
    // A pop leaves a hole at the root. The hole is still counted as a position in use.
    let mut queue: SlabQueue<DaryHeap<4>, ()> = SlabQueue::new();
    let keys: Vec<_> = (1..=3).map(|at| queue.insert(at, ()).unwrap()).collect();
    assert!(queue.pop_expired(1).is_some());
    let line = queue.explain(keys[2]).unwrap().to_string();
    assert_eq!(line, "due at 3; in a 4-ary heap at position 3 of 3");
}

#[test]
fn a_list_of_a_delay_says_the_delay() {
    let expected = [
        "due at 1500; in a 4-ary heap at position 1 of 2",
        "due at 1500; in the list of delay 500, behind another timer",
        "due at 2000; in a 4-ary heap at position 2 of 2",
    ];
    assert_eq!(lines::<FixedDelay>(1000, &[1500, 1500, 2000]), expected);
}

#[test]
fn the_wheel_says_the_bucket() {
    let expected = [
        "due at 1000; level 0, bucket 40 [1000, 1001); leaves from there",
        "due at 70000; level 2, bucket 17 [69632, 73728); moves down at 69700",
        "due at 69700; level 2, bucket 17 [69632, 73728); moves down at 69700",
        "due at 18446744073709551615; level 10, bucket 15 [17293822569102704640, 18446744073709551616); \
         alone there, so it leaves from there",
    ];
    assert_eq!(lines::<Wheel>(1000, &[5, 70_000, 69_700, u64::MAX]), expected);
}

/// The budget is used up in the middle of a bucket. For the timers that are still in the bucket,
/// `explain` returns that they move at the current tick.
#[test]
fn the_wheel_says_that_a_cascade_is_half_done() {
    let mut queue: SlabQueue<Wheel, ()> = SlabQueue::new();
    let keys = [70, 71, 72, 73].map(|at| queue.insert(at, ()).unwrap());
    let mut budget = 3;
    assert!(queue.pop_expired_within(72, &mut budget).is_none());
    assert_eq!(queue.check(), Ok(()));
    assert_eq!(
        keys.map(|key| queue.explain(key).unwrap().to_string()),
        [
            "due at 70; level 0, bucket 6 [70, 71); leaves from there",
            "due at 71; level 0, bucket 7 [71, 72); leaves from there",
            "due at 72; level 0, bucket 8 [72, 73); leaves from there",
            "due at 73; level 1, bucket 1 [64, 128); moves down at 70",
        ]
    );
}

#[test]
fn the_coarse_wheel_says_how_late() {
    let expected = [
        "due at 1000; in the due list; leaves at the next advance",
        "deadline 1005, due at 1006 (1 tick late); level 0, bucket 46 [1005, 1006); leaves at its end",
        "deadline 1100, due at 1104 (4 ticks late); level 1, bucket 10 [1096, 1104); leaves at its end",
        "deadline 70000, due at 73728 (3728 ticks late); level 4, bucket 18 [69632, 73728); leaves at its end",
        "deadline 1099511627777, due at 1099528404992 (16777215 ticks late); far bucket 40; \
         inserted again at 1099511627776",
        "due at 18446744073709551615; far bucket 63; inserted again at 9223372036854775808",
    ];
    let deadlines = [3, 1005, 1100, 70_000, (1 << 40) + 1, u64::MAX];
    assert_eq!(lines::<CoarseWheel>(1000, &deadlines), expected);
}

#[test]
fn a_timer_that_is_not_pending_has_no_explanation() {
    let mut slab: SlabQueue<Wheel, ()> = SlabQueue::new();
    let key = slab.insert(5, ()).unwrap();
    let gone = slab.insert(9, ()).unwrap();
    slab.remove(gone).unwrap();
    assert_eq!(slab.explain(gone), Err(KeyError::Stale));
    let other: SlabQueue<CoarseWheel, ()> = SlabQueue::new();
    assert_eq!(other.explain(key), Err(KeyError::Stale), "beyond its slots");
    let (timer, never) = (Timer::<DaryHeap<4>, ()>::new(()), Timer::new(()));
    let (mut mine, mut theirs) = (HookQueue::new(), HookQueue::new());
    mine.insert(5, &timer).unwrap();
    theirs.insert(5, &never).unwrap();
    assert_eq!(theirs.explain(&timer), Err(KeyError::WrongQueue));
    let node = theirs.remove(theirs.peek().unwrap().key).unwrap();
    assert_eq!(theirs.explain(node), Err(KeyError::Stale));
}

/// A timer stays where it is until the tick that `explain` names. At that tick the timer moves to a
/// lower level or leaves.
#[test]
fn what_the_wheel_says_comes_true() {
    let mut seed = 7u64;
    let mut random = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        seed >> 33
    };
    for round in 0..40 {
        let mut queue: SlabQueue<Wheel, ()> = SlabQueue::new();
        let keys: Vec<_> = (0..12).map(|_| queue.insert(random() % 300_000, ()).unwrap()).collect();
        let followed = keys[round % 12];
        let mut moves = 0;
        loop {
            let before = queue.explain(followed).unwrap();
            let Whereabouts::Bucket { level, moves_at, first, last, .. } = before.whereabouts else {
                panic!("{before}");
            };
            assert!((first..=last).contains(&before.expiry), "{before}");
            let next = moves_at.unwrap_or(before.expiry);
            let _ = queue.advance(next - 1, drop);
            if moves_at.is_some() {
                assert_eq!(queue.explain(followed), Ok(before), "it has not moved yet");
            }
            let _ = queue.advance(next, drop);
            match queue.explain(followed) {
                Ok(after) => {
                    assert!(next < after.expiry && moves_at.is_some(), "{before}");
                    let Whereabouts::Bucket { level: lower, .. } = after.whereabouts else {
                        panic!("{after}");
                    };
                    assert!(lower < level, "{before}, then {after}");
                }
                Err(error) => {
                    assert_eq!((error, next), (KeyError::Stale, before.expiry), "{before}");
                    break;
                }
            }
            moves += 1;
            assert!(moves < 11);
        }
    }
}

/// A timer of the coarse wheel leaves at the tick that `explain` names, whether it is in a bucket,
/// in a far bucket or in the due list.
#[test]
fn what_the_coarse_wheel_says_comes_true() {
    for shift in 0..50 {
        let mut queue: SlabQueue<CoarseWheel, ()> = SlabQueue::new();
        assert!(queue.pop_expired(12_345).is_none());
        let deadline = 12_345 + (1 << shift);
        let key = queue.insert_at(deadline, (), 0).unwrap();
        let said = queue.explain(key).unwrap();
        assert_eq!((said.deadline, said.lateness() > 0), (deadline, true));
        if let Whereabouts::FarBucket { reinserted_at, .. } = said.whereabouts {
            assert!(queue.pop_expired(reinserted_at - 1).is_none());
            assert_eq!(queue.explain(key), Ok(said));
            assert!(queue.pop_expired(reinserted_at).is_none());
            assert_ne!(queue.explain(key).unwrap().whereabouts, said.whereabouts);
        }
        assert!(queue.pop_expired(said.expiry - 1).is_none());
        assert_eq!(
            queue.pop_expired(said.expiry).map(|t| (t.deadline, t.expiry)),
            Some((deadline, said.expiry))
        );
    }
}
