//! The mail in all schedules, with an inbox of one place.

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;

use super::{Mail, News};

struct Small {
    mail: Mail,
    news: UnsafeCell<u32>,
    inbox: AtomicUsize,
    /// The record is used by another list.
    gone: AtomicUsize,
}

fn small() -> Arc<Small> {
    Arc::new(Small {
        mail: Mail::new(),
        news: UnsafeCell::new(0),
        inbox: AtomicUsize::new(0),
        gone: AtomicUsize::new(0),
    })
}

fn tell(small: &Small, news: News) {
    if small.mail.tell(news) {
        assert_eq!(small.gone.load(Ordering::Acquire), 0, "put in when another list has it");
        assert_eq!(small.inbox.fetch_add(1, Ordering::Release), 0, "put in twice");
    }
}

/// The worker takes the record out. False: the thread that has ended leaves.
fn take(small: &Small) -> bool {
    while small.inbox.load(Ordering::Acquire) == 0 {
        thread::yield_now();
    }
    small.inbox.fetch_sub(1, Ordering::Relaxed);
    small.mail.take()
}

fn wait(small: &Small) {
    if small.mail.listen() {
        assert!(take(small));
        small.mail.heard();
    }
}

fn end(small: &Small) {
    if !small.mail.shut() {
        assert!(!take(small));
    }
    assert_eq!(small.inbox.load(Ordering::Acquire), 0, "left when it is still in the inbox");
    small.gone.store(1, Ordering::Release);
}

#[test]
fn a_wake_up_is_not_lost_and_brings_the_news() {
    loom::model(|| {
        let small = small();
        let teller = thread::spawn({
            let small = Arc::clone(&small);
            move || {
                // SAFETY: none but loom's, which reports a second access.
                small.news.with_mut(|news| unsafe { *news = 1 });
                tell(&small, News::Wake);
            }
        });
        wait(&small);
        // SAFETY: as above.
        assert_eq!(small.news.with(|news| unsafe { *news }), 1);
        end(&small);
        teller.join().unwrap();
    });
}

#[test]
fn an_unpark_is_kept_over_another_wait() {
    loom::model(|| {
        let small = small();
        let tellers = [News::Unpark, News::Wake].map(|news| {
            let small = Arc::clone(&small);
            thread::spawn(move || tell(&small, news))
        });
        while !small.mail.is_unparked() {
            wait(&small);
        }
        small.mail.unparked();
        assert!(!small.mail.is_unparked());
        end(&small);
        for teller in tellers {
            teller.join().unwrap();
        }
    });
}

#[test]
fn who_ends_is_in_no_inbox() {
    loom::model(|| {
        let small = small();
        // Opened by a wait that a teller on the same worker has ended.
        small.mail.tell_here(News::Wake);
        assert!(!small.mail.listen());
        let tellers = [News::Unpark, News::Wake].map(|news| {
            let small = Arc::clone(&small);
            thread::spawn(move || tell(&small, news))
        });
        end(&small);
        for teller in tellers {
            teller.join().unwrap();
        }
        assert_eq!(small.inbox.load(Ordering::Relaxed), 0);
    });
}
