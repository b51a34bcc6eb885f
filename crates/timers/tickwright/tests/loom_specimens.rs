//! Loom models of the specimens, in all schedules. The specimens are two correct ways to re-arm a
//! timer, and two wrong ways, which must fail. `loom_rearm.rs` has the models of the library's
//! protocol.
#![cfg(loom)]

mod loom_common;

#[path = "specimens/shard.rs"]
#[allow(dead_code, reason = "the models do not use all of it")]
mod shard;

/// The atomics and locks that `shard` uses.
mod sync {
    pub(super) use loom::sync::atomic::{AtomicU32, AtomicU64};
    pub(super) use loom::sync::{Mutex, MutexGuard};
}

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use loom::sync::atomic::{AtomicU64, Ordering};
use loom_common::{explore, together};
use shard::{AlwaysRequeue, AsPosted, IndexUnderLock, Rearm, Shard, Timer, UnderLock};

/// One firing: the deadline, the time, and the payload that the callback saw.
type Entry = (u64, u64, u64);

/// A timer whose callback logs, and the payload that a thread writes before a re-arm.
struct Logged<W> {
    timer: Timer<W>,
    payload: Arc<AtomicU64>,
    log: Arc<Mutex<Vec<Entry>>>,
}

impl<W: Rearm> Logged<W> {
    fn armed(shard: &Shard<W>, deadline: u64) -> Arc<Self> {
        let (payload, log) = (Arc::new(AtomicU64::new(0)), Arc::new(Mutex::new(Vec::new())));
        let (seen, written) = (Arc::clone(&payload), Arc::clone(&log));
        let callback = move |deadline, now| {
            // Relaxed, because only the timer must make the payload visible.
            written.lock().unwrap().push((deadline, now, seen.load(Ordering::Relaxed)));
        };
        let timer = shard.timer(callback).unwrap();
        assert!(!timer.modify(deadline));
        Arc::new(Self { timer, payload, log })
    }

    /// Writes the payload and re-arms the timer. Returns whether the timer was pending.
    fn publish(&self, payload: u64, deadline: u64) -> bool {
        self.payload.store(payload, Ordering::Relaxed);
        self.timer.modify(deadline)
    }

    fn log(&self) -> Vec<Entry> {
        self.log.lock().unwrap().clone()
    }
}

/// One timer is in the bucket that ends at 72. One thread re-arms it while another thread fires it.
fn against_expiry<W: Rearm>(deadline: u64) {
    explore(None, move || {
        let shard = Arc::new(Shard::<W>::new());
        let timer = Logged::armed(&shard, 70);
        let (t, s) = (Arc::clone(&timer), Arc::clone(&shard));
        let was_pending = together!(move || t.publish(1, deadline), move || s.advance(72));
        assert_eq!(shard.check(), Ok(()));
        shard.advance(100_000);
        let log = timer.log();
        if was_pending {
            assert_eq!(
                (log.len(), log[0].0, log[0].2),
                (1, deadline, 1),
                "it fires once and sees the payload"
            );
        } else {
            let deadlines: Vec<_> = log.iter().map(|entry| entry.0).collect();
            assert_eq!(deadlines, [70, deadline], "it fires, and again for the re-arm");
        }
        assert!(log.iter().all(|&(deadline, now, _)| deadline <= now), "early: {log:?}");
    });
}

/// Two timers in one bucket. The second timer is due and not yet taken while the callback of the
/// first timer runs, and another thread re-arms the second timer. Returns all errors that occur in
/// some schedule.
fn complaints<W: Rearm>(at: u64, deadline: u64) -> Vec<String> {
    let found = Arc::new(Mutex::new(BTreeSet::new()));
    let noted = Arc::clone(&found);
    explore(Some(3), move || {
        let shard = Arc::new(Shard::<W>::new());
        let _first = Logged::armed(&shard, at);
        let second = Logged::armed(&shard, at);
        let (t, s) = (Arc::clone(&second), Arc::clone(&shard));
        let was_pending = together!(move || t.publish(1, deadline), move || s.advance(at + 9));
        assert_eq!(shard.check(), Ok(()));
        shard.advance(100_000);
        let log = second.log();
        let mut found = noted.lock().unwrap();
        for (deadline, now, _) in &log {
            if deadline > now {
                found.insert(format!("EARLY: {deadline} at {now}"));
            }
        }
        let fired = log.iter().filter(|entry| entry.0 == deadline).count();
        if was_pending && (log.len(), fired) != (1, 1) {
            found.insert("LOST: an idle timer is reported re-armed".into());
        } else if !was_pending && (log.len(), fired) != (2, 1) {
            found.insert("LOST: a started timer does not fire".into());
        }
    });
    let found = found.lock().unwrap();
    found.iter().cloned().collect()
}

/// Three threads use one timer: one re-arms it, one cancels and starts it, and one advances to its
/// expiry.
fn against_cancel_and_expiry<W: Rearm>() {
    explore(Some(3), || {
        let shard = Arc::new(Shard::<W>::new());
        let timer = Logged::armed(&shard, 70);
        let (t, c, s) = (Arc::clone(&timer), Arc::clone(&timer), Arc::clone(&shard));
        let started = Arc::new(Mutex::new(1));
        let (one, two) = (Arc::clone(&started), Arc::clone(&started));
        together!(
            move || *one.lock().unwrap() += usize::from(!t.publish(1, 66)),
            move || {
                let canceled = usize::from(c.timer.cancel());
                let restarted = usize::from(!c.timer.modify(70));
                let mut started = two.lock().unwrap();
                *started = *started + restarted - canceled;
            },
            move || s.advance(72)
        );
        assert_eq!(shard.check(), Ok(()));
        shard.advance(100_000);
        let log = timer.log();
        assert_eq!(log.len(), *started.lock().unwrap(), "each start ends in a firing or a cancel");
        assert!(log.iter().all(|&(deadline, now, _)| deadline <= now), "early: {log:?}");
    });
}

fn holds<W: Rearm>() {
    for deadline in [66, 70, 71, 300, 582] {
        against_expiry::<W>(deadline);
    }
    for (at, deadline) in [(5, 69), (70, 582)] {
        assert_eq!(complaints::<W>(at, deadline), [""; 0]);
    }
    against_cancel_and_expiry::<W>();
}

#[test]
fn always_requeue_holds() {
    holds::<AlwaysRequeue>();
}

#[test]
fn compared_under_the_lock_by_bucket_expiry_holds() {
    holds::<UnderLock>();
}

/// The timer can fire after the re-arm has checked it and before the re-arm writes the deadline.
/// The re-arm then returns success, but is lost. The specimen also compares bucket indices. For a
/// timer that is due and not yet taken, an equal index means the bucket one turn of the wheel
/// later.
#[test]
fn the_patch_as_posted_fails() {
    for (at, deadline, early) in [(5, 69, "EARLY: 69 at 14"), (70, 582, "EARLY: 582 at 79")] {
        let complaints = complaints::<AsPosted>(at, deadline);
        for expected in [early, "LOST: an idle timer is reported re-armed"] {
            assert!(complaints.iter().any(|complaint| complaint == expected), "{complaints:?}");
        }
    }
}

/// Because the check is made under the lock, no re-arm is lost, but comparing indices is still
/// wrong.
#[test]
fn indices_compared_under_the_lock_fail() {
    assert_eq!(complaints::<IndexUnderLock>(5, 69), ["EARLY: 69 at 14"]);
    assert_eq!(complaints::<IndexUnderLock>(70, 582), ["EARLY: 582 at 79"]);
}
