//! Loom models of the word on which a thread sleeps, in all schedules. If a wake-up is lost, a
//! thread never ends, which loom reports.

use core::time::Duration;

use loom::cell::UnsafeCell;
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;

use super::{Ordering, WAITS, Word};

/// Replaces the kernel in the models. Another thread cannot wake the sleeper between the sleeper's
/// check of the word and its sleep.
#[derive(Debug)]
pub(super) struct Bed {
    lock: Mutex<()>,
    roused: Condvar,
}

impl Bed {
    pub(super) fn new() -> Self {
        Self { lock: Mutex::new(()), roused: Condvar::new() }
    }
}

impl Word {
    pub(super) fn sleep(&self, _: Option<Duration>) {
        let lock = self.bed.lock.lock().unwrap();
        if self.word.load(Ordering::Relaxed) == WAITS {
            drop(self.bed.roused.wait(lock).unwrap());
        }
    }

    pub(super) fn wake(&self) {
        let _lock = self.bed.lock.lock().unwrap();
        self.bed.roused.notify_one();
    }
}

struct Letter {
    word: Word,
    text: UnsafeCell<u32>,
}

// SAFETY: loom checks this, and reports two accesses at the same time.
unsafe impl Sync for Letter {}
// SAFETY: as above.
unsafe impl Send for Letter {}

#[test]
fn who_is_told_goes_on_and_sees_what_was_before() {
    loom::model(|| {
        let letter = Arc::new(Letter { word: Word::new(), text: UnsafeCell::new(0) });
        let teller = thread::spawn({
            let letter = Arc::clone(&letter);
            move || {
                // SAFETY: as above.
                letter.text.with_mut(|text| unsafe { *text = 7 });
                letter.word.notify();
            }
        });
        letter.word.wait(None);
        // SAFETY: as above.
        assert_eq!(letter.text.with(|text| unsafe { *text }), 7);
        teller.join().unwrap();
    });
}

/// A notification is stored for the next wait, and two notifications count as one.
#[test]
fn each_notification_is_for_a_wait() {
    loom::model(|| {
        let word = Arc::new(Word::new());
        let tellers = [(); 2].map(|()| {
            let word = Arc::clone(&word);
            thread::spawn(move || word.notify())
        });
        word.wait(None);
        for teller in tellers {
            teller.join().unwrap();
        }
        // Either the earlier notification or the other thread's notification ends this wait.
        word.notify();
        word.wait(None);
    });
}
