//! Loom models in which threads claim stripes, in all schedules.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;

use super::{Claims, SHARED};

claims!(AtomicU64);

/// Starts a thread that claims a stripe, counts once and ends.
fn count_once(claims: &Claims<AtomicU64>, counters: &[AtomicU64; 2]) {
    let mine = claims.claim();
    assert!(mine < 2, "a stripe is free for each thread");
    Claims::<AtomicU64>::add_one(&counters[mine], mine);
    claims.release(mine);
}

#[test]
fn the_next_owner_adds_to_what_the_last_one_counted() {
    loom::model(|| {
        let shared = Arc::new((Claims(AtomicU64::new(1 << SHARED)), [AtomicU64::new(0), AtomicU64::new(0)]));
        let other = thread::spawn({
            let shared = Arc::clone(&shared);
            move || count_once(&shared.0, &shared.1)
        });
        count_once(&shared.0, &shared.1);
        other.join().unwrap();
        let sum: u64 = shared.1.iter().map(|counter| counter.load(Ordering::Relaxed)).sum();
        assert_eq!(sum, 2);
    });
}

#[test]
fn threads_that_share_a_stripe_lose_no_count() {
    loom::model(|| {
        let counter = Arc::new(AtomicU64::new(0));
        let other = thread::spawn({
            let counter = Arc::clone(&counter);
            move || Claims::<AtomicU64>::add_one(&counter, SHARED)
        });
        Claims::<AtomicU64>::add_one(&counter, SHARED);
        other.join().unwrap();
        assert_eq!(counter.load(Ordering::Relaxed), 2);
    });
}
