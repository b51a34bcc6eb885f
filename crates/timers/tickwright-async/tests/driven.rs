//! Tests of when the hook is called, for timers that the caller's loop runs.

mod common;

use core::panic::AssertUnwindSafe;
use core::pin::pin;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::task::{Context, Waker};
use core::time::Duration;
use std::panic::catch_unwind;
use std::sync::Arc;

use tickwright_async::{TimerSettings, Timers};

fn counted() -> (Timers, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&calls);
    let hook = move || {
        counter.fetch_add(1, Ordering::Relaxed);
    };
    (TimerSettings::new().shards(1).driven(hook), calls)
}

fn is_pending(sleep: core::pin::Pin<&mut tickwright_async::Sleep>) -> bool {
    sleep.poll(&mut Context::from_waker(Waker::noop())).is_pending()
}

#[test]
fn the_loop_is_called_for_what_is_due_before_it_was_told() {
    let (timers, calls) = counted();
    let second = Duration::from_secs(1);
    // When a thread ends, it drops the timers of its pool.
    std::thread::spawn({
        let timers = timers.clone();
        move || {
            let mut sleep = pin!(timers.sleep(100 * second));
            assert!(is_pending(sleep.as_mut()));
            assert_eq!(timers.run(), 0);
        }
    })
    .join()
    .unwrap();
    assert_eq!(calls.load(Ordering::Relaxed), 1);
    assert_eq!(timers.poll_timeout(), None, "so the loop sleeps without an end");
    let mut sleep = pin!(timers.sleep(200 * second));
    assert!(is_pending(sleep.as_mut()));
    assert_eq!(calls.load(Ordering::Relaxed), 2);
}

#[test]
fn a_hook_that_panics_leaves_its_timer_to_be_dropped() {
    let timers = TimerSettings::new().shards(1).driven(|| panic!("of the hook, as the test wants it"));
    let mut sleep = Box::pin(timers.sleep(Duration::from_secs(1)));
    assert!(catch_unwind(AssertUnwindSafe(|| is_pending(sleep.as_mut()))).is_err());
    assert_eq!(timers.report().live, 1, "it is armed");
    drop(sleep);
    assert_eq!(timers.report().live, 0, "a dropped timer is not armed");
    let _ = catch_unwind(AssertUnwindSafe(|| drop(timers)));
}

#[test]
fn the_memory_goes_with_the_handles_and_the_threads() {
    let (timers, calls) = counted();
    std::thread::spawn(move || {
        for _ in 0..3 {
            let mut sleeps = [1, 2, 3].map(|span| Box::pin(timers.sleep(Duration::from_secs(span))));
            assert!(sleeps.iter_mut().all(|sleep| is_pending(sleep.as_mut())));
        }
    })
    .join()
    .unwrap();
    assert_eq!(Arc::strong_count(&calls), 1);
}
