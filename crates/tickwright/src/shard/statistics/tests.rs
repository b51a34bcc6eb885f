use std::sync::Barrier;
use std::thread;

use super::{SHARED, Stripes};

#[test]
fn threads_that_find_no_stripe_share_one_and_lose_nothing() {
    let stripes = Stripes::new();
    let (held, done) = (Barrier::new(SHARED + 1), Barrier::new(SHARED + 1));
    let begin = Barrier::new(4);
    let (more, each) = (4, if cfg!(miri) { 100 } else { 2_000_000 });
    thread::scope(|scope| {
        for _ in 0..SHARED {
            scope.spawn(|| {
                stripes.count_match();
                held.wait();
                done.wait();
            });
        }
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
    });
    assert_eq!(stripes.sum().matched, SHARED as u64 + more * each);
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
