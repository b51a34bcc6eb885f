//! Tests of the specimens: their counts, and how two of them fail. `loom_specimens.rs` tests them
//! in all schedules.
#![cfg(not(loom))]

#[path = "specimens/shard.rs"]
mod shard;

/// The atomics and locks that `shard` uses.
mod sync {
    pub(super) use core::sync::atomic::{AtomicU32, AtomicU64};
    pub(super) use std::sync::{Mutex, MutexGuard};
}

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

use shard::{AlwaysRequeue, AsPosted, IndexUnderLock, Rearm, Shard, Statistics, Timer, UnderLock};

/// Makes the same six calls for each way to re-arm, and returns the counts.
fn counted<W: Rearm>() -> Statistics {
    let shard = Shard::<W>::new();
    let timer = shard.timer(|_, _| {}).unwrap();
    let calls = [70, 70, 71, 300, 301, 310].map(|deadline| timer.modify(deadline));
    assert_eq!(calls, [false, true, true, true, true, true]);
    assert_eq!(shard.check(), Ok(()));
    shard.statistics()
}

fn statistics([matched, requeued, started]: [u64; 3], locks: u64) -> Statistics {
    Statistics { matched, requeued, started, locks, ..Statistics::default() }
}

#[test]
fn statistics_tell_the_ways_apart() {
    assert_eq!(counted::<AlwaysRequeue>(), statistics([1, 4, 1], 5));
    assert_eq!(counted::<UnderLock>(), statistics([3, 2, 1], 5));
    assert_eq!(counted::<AsPosted>(), statistics([3, 2, 1], 3));
    assert_eq!(counted::<IndexUnderLock>(), statistics([3, 2, 1], 5));
}

/// Two timers are due at `at`. The callback of the first timer re-arms the second timer for
/// `deadline`, while the second timer is due and not yet taken. Returns the times at which the
/// second timer fires, and its deadlines then.
fn in_the_detached_window<W: Rearm>(at: u64, deadline: u64) -> Vec<(u64, u64)> {
    let shard = Shard::<W>::new();
    let log = Arc::new(Mutex::new(Vec::new()));
    let second: Arc<Mutex<Option<Timer<W>>>> = Arc::default();
    let (target, noted) = (Arc::clone(&second), Arc::clone(&log));
    let first =
        shard.timer(move |_, _| assert!(target.lock().unwrap().as_ref().unwrap().modify(deadline))).unwrap();
    let timer = shard.timer(move |deadline, now| noted.lock().unwrap().push((deadline, now))).unwrap();
    first.modify(at);
    timer.modify(at);
    *second.lock().unwrap() = Some(timer);
    shard.advance(at + 9);
    assert_eq!(shard.check(), Ok(()));
    shard.advance(100_000);
    let log = log.lock().unwrap().clone();
    drop(second.lock().unwrap().take());
    log
}

#[test]
fn a_timer_that_is_due_is_re_armed_by_two_ways_and_fires_early_by_two() {
    for (at, deadline) in [(5, 69), (70, 582)] {
        let right = [(deadline, 100_000)];
        assert_eq!(in_the_detached_window::<AlwaysRequeue>(at, deadline), right);
        assert_eq!(in_the_detached_window::<UnderLock>(at, deadline), right);
        let early = [(deadline, at + 9)];
        assert_eq!(in_the_detached_window::<AsPosted>(at, deadline), early);
        assert_eq!(in_the_detached_window::<IndexUnderLock>(at, deadline), early);
    }
}

/// Some threads re-arm and cancel timers while another thread advances the shard. Every timer that
/// was started must have fired, been canceled, or be pending.
fn the_books_balance<W: Rearm>() {
    const TIMERS: usize = 8;
    const OPERATIONS: u64 = 20_000;
    let shard = Shard::<W>::new();
    let fired = Arc::new(AtomicU64::new(0));
    let timers: Vec<Timer<W>> = (0..TIMERS)
        .map(|_| {
            let fired = Arc::clone(&fired);
            let count = move |deadline, now| {
                assert!(deadline <= now, "early");
                fired.fetch_add(1, Ordering::Relaxed);
            };
            shard.timer(count).unwrap()
        })
        .collect();
    let (started, withdrawn) = (AtomicU64::new(0), AtomicU64::new(0));
    let (now, done, begin) = (AtomicU64::new(0), AtomicBool::new(false), Barrier::new(3));
    thread::scope(|scope| {
        let worker = |seed: u64| {
            let (shared, begin) = ((&timers, &started, &withdrawn, &now), &begin);
            move || {
                let (timers, started, withdrawn, now) = shared;
                let mut random = seed;
                begin.wait();
                for _ in 0..OPERATIONS {
                    random ^= random << 13;
                    random ^= random >> 7;
                    random ^= random << 17;
                    let timer = &timers[(random >> 40) as usize % TIMERS];
                    if random >> 60 == 0 {
                        withdrawn.fetch_add(u64::from(timer.cancel()), Ordering::Relaxed);
                    } else {
                        let delay = 1 << ((random >> 20) % 12);
                        let deadline = now.load(Ordering::Relaxed) + delay;
                        started.fetch_add(u64::from(!timer.modify(deadline)), Ordering::Relaxed);
                    }
                }
            }
        };
        let workers = [scope.spawn(worker(88_172_645_463_325_252)), scope.spawn(worker(0x9E37_79B9))];
        scope.spawn(|| {
            begin.wait();
            while !done.load(Ordering::Relaxed) {
                shard.advance(now.fetch_add(1, Ordering::Relaxed));
                thread::yield_now();
            }
        });
        for worker in workers {
            worker.join().unwrap();
        }
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(shard.check(), Ok(()));
    shard.advance(u64::MAX / 4);
    let gone = fired.load(Ordering::Relaxed) + withdrawn.load(Ordering::Relaxed);
    assert_eq!(started.load(Ordering::Relaxed), gone, "lost or doubled");
    let counted = shard.statistics();
    let calls = counted.matched + counted.requeued + counted.started;
    assert!(calls <= 2 * OPERATIONS && counted.started == gone, "{counted:?}");
}

#[test]
fn the_books_of_the_two_right_ways_balance() {
    the_books_balance::<AlwaysRequeue>();
    the_books_balance::<UnderLock>();
}
