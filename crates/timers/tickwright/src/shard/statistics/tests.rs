use std::sync::{Arc, Barrier, Mutex, PoisonError};
use std::thread;

use super::{MINE, SHARED, STRIPES, Stripes};

/// A test that claims every stripe, or needs a free stripe, holds this lock.
static ALONE: Mutex<()> = Mutex::new(());

#[test]
fn threads_that_find_no_stripe_share_one_and_lose_nothing() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let stripes = Stripes::new();
    let (held, done) = (Barrier::new(SHARED + 1), Barrier::new(SHARED + 1));
    let begin = Barrier::new(4);
    let (more, each) = (4, if cfg!(miri) { 100 } else { 2_000_000 });
    thread::scope(|scope| {
        let hold = || {
            stripes.count_match();
            held.wait();
            done.wait();
        };
        let holders: Vec<_> = (0..SHARED).map(|_| scope.spawn(hold)).collect();
        held.wait();
        thread::scope(|others| {
            for _ in 0..more {
                others.spawn(|| {
                    begin.wait();
                    (0..each).for_each(|_| stripes.count_match());
                });
            }
        });
        done.wait();
        // The threads are joined explicitly, because a join also waits for the destructors of
        // thread-local variables, and the end of a scope does not.
        holders.into_iter().for_each(|holder| holder.join().unwrap());
    });
    assert_eq!(stripes.sum().matched, SHARED as u64 + more * each);
}

#[test]
fn each_column_has_its_own_count() {
    let stripes = Stripes::new();
    stripes.count_match();
    (0..2).for_each(|_| stripes.count_no_op());
    (0..4).for_each(|_| stripes.count_lost_race());
    let sum = stripes.sum();
    assert_eq!((sum.matched, sum.no_op, sum.lost_races, sum.calls()), (1, 2, 4, 3));
}

#[test]
fn an_ended_threads_stripe_is_added_to() {
    let stripes = Stripes::new();
    for _ in 0..3 * SHARED {
        thread::scope(|scope| {
            scope.spawn(|| stripes.count_no_op());
        });
    }
    assert_eq!(stripes.sum().no_op, 3 * SHARED as u64);
}

#[test]
fn an_ended_thread_gives_its_stripe_back() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for _ in 0..2 * STRIPES {
        // Two threads run at the same time, so that one of them owns a stripe other than the first.
        let both = Arc::new(Barrier::new(2));
        let own = |both: Arc<Barrier>| {
            thread::spawn(move || {
                let stripe = MINE.with(|mine| mine.0);
                both.wait();
                stripe
            })
        };
        for thread in [own(Arc::clone(&both)), own(both)] {
            assert_ne!(thread.join().unwrap(), SHARED, "ended threads kept their stripes");
        }
    }
}
