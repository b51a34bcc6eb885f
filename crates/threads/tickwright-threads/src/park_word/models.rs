//! Loom models of the park word, in all schedules.

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;

use super::ParkWord;

struct Small {
    word: ParkWord,
    news: UnsafeCell<u32>,
    handed: AtomicUsize,
}

/// Parks like a thread whose worker resumes it after it was queued.
fn park(small: &Small) {
    if small.word.park() {
        while small.handed.load(Ordering::Acquire) == 0 {
            thread::yield_now();
        }
        small.handed.fetch_sub(1, Ordering::Relaxed);
        small.word.end_park();
    }
}

fn notify(small: &Small) {
    if small.word.unpark() {
        assert_eq!(small.handed.fetch_add(1, Ordering::Release), 0, "queued twice");
    }
}

#[test]
fn a_wake_up_is_not_lost_and_brings_the_news() {
    loom::model(|| {
        let small =
            Arc::new(Small { word: ParkWord::new(), news: UnsafeCell::new(0), handed: AtomicUsize::new(0) });
        let notifier = thread::spawn({
            let small = Arc::clone(&small);
            move || {
                // SAFETY: loom checks this, and reports a second access at the same time.
                small.news.with_mut(|news| unsafe { *news = 1 });
                notify(&small);
            }
        });
        park(&small);
        // SAFETY: as above.
        assert_eq!(small.news.with(|news| unsafe { *news }), 1);
        notifier.join().unwrap();
    });
}

/// A wait that ends by a time-out consumes a wake-up that came at the same time, and then sees
/// everything that was written before the wake-up.
#[test]
fn a_time_out_that_takes_a_wake_up_brings_the_news() {
    loom::model(|| {
        let small =
            Arc::new(Small { word: ParkWord::new(), news: UnsafeCell::new(0), handed: AtomicUsize::new(0) });
        let notifier = thread::spawn({
            let small = Arc::clone(&small);
            move || {
                // SAFETY: loom checks this, and reports a second access at the same time.
                small.news.with_mut(|news| unsafe { *news = 1 });
                small.word.unpark();
            }
        });
        if !small.word.park() || small.word.end_park() {
            // SAFETY: as above.
            assert_eq!(small.news.with(|news| unsafe { *news }), 1);
        }
        notifier.join().unwrap();
    });
}

#[test]
fn of_two_who_tell_one_hands_over() {
    loom::model(|| {
        let small =
            Arc::new(Small { word: ParkWord::new(), news: UnsafeCell::new(0), handed: AtomicUsize::new(0) });
        let notifiers = [(); 2].map(|()| {
            let small = Arc::clone(&small);
            thread::spawn(move || notify(&small))
        });
        park(&small);
        for notifier in notifiers {
            notifier.join().unwrap();
        }
        // The other thread's wake-up is either stored, or is the one that was consumed.
        assert!(small.handed.load(Ordering::Relaxed) == 0);
        assert!(small.word.park() || !small.word.end_park());
    });
}
