//! The other ways to re-arm, in all schedules: two that hold, and two specimens that must fail. See `loom_rearm.rs`.
#![cfg(loom)]

mod loom_common;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use loom_common::{Logged, advance, explore, settle, together};
use tickwright::shard::specimen::{AsPosted, IndexUnderLock};
use tickwright::shard::{AlwaysRequeue, Shards, UnderLock, Variant};

/// One timer in the bucket that ends at 72; re-armed against its expiry.
fn against_expiry<V: Variant>(deadline: u64) {
    explore(None, move || {
        let shards = Arc::new(Shards::<V>::new(1));
        let timer = Logged::armed(&shards, 0, 70);
        let (t, s) = (timer.clone(), shards.clone());
        let was_pending = together!(move || t.publish(1, deadline), move || advance(&s, 0, 72));
        settle(&shards, &[&timer]);
        if was_pending {
            let log = timer.log();
            assert_eq!(
                (log.len(), log[0].0, log[0].2),
                (1, deadline, 1),
                "one firing that sees what was published"
            );
        }
    });
}

/// Two timers in one bucket; the second is due and not yet taken while the first one's callback runs.
fn in_the_detached_window<V: Variant>(
    at: u64,
    deadline: u64,
    judge: impl Fn(&Shards<V>, [&Logged<V>; 2]) + Send + Sync + 'static,
) {
    explore(Some(3), move || {
        let shards = Arc::new(Shards::<V>::new(1));
        let first = Logged::armed(&shards, 0, at);
        let second = Logged::armed(&shards, 0, at);
        let (t, s) = (second.clone(), shards.clone());
        together!(move || t.publish(1, deadline), move || advance(&s, 0, at + 9));
        judge(&shards, [&first, &second]);
    });
}

/// Three threads at one timer.
fn against_cancel_and_expiry<V: Variant>() {
    explore(Some(3), || {
        let shards = Arc::new(Shards::<V>::new(2));
        let timer = Logged::armed(&shards, 0, 70);
        let (t, c, s) = (timer.clone(), timer.clone(), shards.clone());
        together!(
            move || t.publish(1, 66),
            move || {
                c.timer.cancel_sync().unwrap();
                c.timer.modify_on(1, 70).unwrap();
            },
            move || advance(&s, 0, 72)
        );
        settle(&shards, &[&timer]);
    });
}

fn holds<V: Variant>() {
    for deadline in [66, 70, 71, 300, 582] {
        against_expiry::<V>(deadline);
    }
    in_the_detached_window::<V>(5, 69, |shards, timers| settle(shards, &timers));
    in_the_detached_window::<V>(70, 582, |shards, timers| settle(shards, &timers));
    against_cancel_and_expiry::<V>();
}

#[test]
fn always_requeue_holds() {
    holds::<AlwaysRequeue<64, 3, 3>>();
}

#[test]
fn compared_under_the_lock_by_bucket_expiry_holds() {
    holds::<UnderLock<64, 3, 3>>();
}

/// All that goes wrong in the detached window, over all schedules.
fn complaints<V: Variant>(at: u64, deadline: u64) -> Vec<String> {
    let found = Arc::new(Mutex::new(BTreeSet::new()));
    let noted = found.clone();
    in_the_detached_window::<V>(at, deadline, move |_, timers| {
        noted.lock().unwrap().extend(timers.iter().filter_map(|logged| logged.timer.verdict().err()));
    });
    let found = found.lock().unwrap();
    found.iter().cloned().collect()
}

/// Between its look at the timer and its write of the deadline the timer fires: the re-arm is reported, and lost. And the index
/// of a timer that is due and not yet taken means the next rotation's bucket.
#[test]
fn the_patch_as_posted_fails() {
    for (at, deadline, early) in [(5, 69, "EARLY: 69 at 14"), (70, 582, "EARLY: 582 at 79")] {
        let complaints = complaints::<AsPosted<64, 3, 3>>(at, deadline);
        for expected in [early, "LOST: an idle timer is reported re-armed"] {
            assert!(complaints.iter().any(|complaint| complaint == expected), "{complaints:?}");
        }
    }
}

/// Under the lock nothing is lost; the index is as wrong as before.
#[test]
fn indices_compared_under_the_lock_fail() {
    assert_eq!(complaints::<IndexUnderLock<64, 3, 3>>(5, 69), ["EARLY: 69 at 14"]);
    assert_eq!(complaints::<IndexUnderLock<64, 3, 3>>(70, 582), ["EARLY: 582 at 79"]);
}
