//! Loom models of the join word, in all schedules.

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;

use super::{Claim, Detached, JoinWord, Leaves};
use crate::error::JoinError;

/// A record with only a few fields: the word, the outcome, the thread to wake, and how often the
/// record was released.
struct Small {
    word: JoinWord,
    outcome: UnsafeCell<u32>,
    joiner: UnsafeCell<Option<thread::Thread>>,
    released: AtomicUsize,
}

impl Small {
    fn new() -> (Arc<Self>, u32) {
        let small = Self {
            word: JoinWord::new(),
            outcome: UnsafeCell::new(0),
            joiner: UnsafeCell::new(None),
            released: AtomicUsize::new(0),
        };
        let generation = small.word.issue(false).unwrap();
        (Arc::new(small), generation)
    }

    fn release(&self) {
        assert_eq!(self.released.fetch_add(1, Ordering::Relaxed), 0, "released twice");
    }

    /// The steps of a thread that ends.
    fn end(&self) {
        // SAFETY: loom checks this, and reports a second access at the same time.
        self.outcome.with_mut(|outcome| unsafe { *outcome = 7 });
        match self.word.finish() {
            Leaves::ToJoiner => {}
            Leaves::Detached => self.release(),
            // SAFETY: as above.
            Leaves::Waited => self.joiner.with(|joiner| unsafe {
                if let Some(joiner) = &*joiner {
                    joiner.unpark();
                }
            }),
        }
    }

    fn take(&self) -> u32 {
        // SAFETY: as above.
        let outcome = self.outcome.with(|outcome| unsafe { *outcome });
        self.release();
        outcome
    }

    /// The steps of a joiner.
    fn join(&self, generation: u32, patient: bool) -> Result<u32, JoinError> {
        if self.word.claim(generation, false)? == Claim::Finished {
            return Ok(self.take());
        }
        // SAFETY: as above.
        self.joiner.with_mut(|joiner| unsafe { *joiner = Some(thread::current()) });
        if self.word.expect(generation) == Claim::Running {
            if !patient && self.word.withdraw(generation) == Claim::Running {
                return Err(JoinError::TimedOut);
            }
            while !self.word.is_finished(generation) {
                thread::park();
            }
        }
        Ok(self.take())
    }
}

#[test]
fn who_waits_is_woken_and_sees_the_outcome() {
    loom::model(|| {
        let (small, generation) = Small::new();
        let thread = thread::spawn({
            let small = Arc::clone(&small);
            move || small.end()
        });
        assert_eq!(small.join(generation, true).ok(), Some(7));
        thread.join().unwrap();
    });
}

#[test]
fn of_two_joiners_one_joins() {
    loom::model(|| {
        let (small, generation) = Small::new();
        let other = thread::spawn({
            let small = Arc::clone(&small);
            move || small.word.claim(generation, true).map(|_| small.take()).is_ok()
        });
        let thread = thread::spawn({
            let small = Arc::clone(&small);
            move || small.end()
        });
        let first = small.word.claim(generation, true).map(|_| small.take()).is_ok();
        let second = other.join().unwrap();
        thread.join().unwrap();
        assert!(!(first && second));
        if !first && !second {
            assert_eq!(small.join(generation, true).ok(), Some(7));
        }
    });
}

#[test]
fn a_detached_record_is_released_once() {
    loom::model(|| {
        let (small, generation) = Small::new();
        let thread = thread::spawn({
            let small = Arc::clone(&small);
            move || small.end()
        });
        if small.word.detach(generation).unwrap() == Detached::Finished {
            small.take();
        }
        thread.join().unwrap();
        assert_eq!(small.released.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn who_gives_up_leaves_it_to_others_or_has_it() {
    loom::model(|| {
        let (small, generation) = Small::new();
        let thread = thread::spawn({
            let small = Arc::clone(&small);
            move || small.end()
        });
        let joined = small.join(generation, false);
        thread.join().unwrap();
        match joined {
            Ok(outcome) => assert_eq!(outcome, 7),
            Err(JoinError::TimedOut) => assert_eq!(small.join(generation, true).ok(), Some(7)),
            Err(other) => panic!("{other:?}"),
        }
    });
}

#[test]
fn an_old_id_does_nothing_to_the_next_thread() {
    loom::model(|| {
        let (small, old) = Small::new();
        small.word.finish();
        assert_eq!(small.word.claim(old, false).ok(), Some(Claim::Finished));
        let other = thread::spawn({
            let small = Arc::clone(&small);
            move || {
                let joined = small.word.claim(old, false);
                assert!(matches!(joined, Err(JoinError::NoSuchThread | JoinError::NotJoinable)));
                let detached = small.word.detach(old);
                assert!(matches!(detached, Err(JoinError::NoSuchThread | JoinError::NotJoinable)));
            }
        });
        small.word.release();
        let new = small.word.issue(false).unwrap();
        other.join().unwrap();
        assert_eq!(small.word.claim(new, false).ok(), Some(Claim::Running), "nobody has claimed it");
    });
}

/// A thread panics while another thread detaches it. One of these two threads takes the panic, and
/// never the worker. One of the two releases the record.
#[test]
fn a_panic_of_a_detached_thread_is_taken_once_and_not_by_the_worker() {
    loom::model(|| {
        let (small, generation) = Small::new();
        let left = Arc::new(UnsafeCell::new(None));
        let (own, panic) = (Arc::clone(&small), Arc::clone(&left));
        let thread = thread::spawn(move || {
            // SAFETY: loom checks this, and reports a second access at the same time.
            panic.with_mut(|panic| unsafe { *panic = Some(7) });
            if !own.word.settle(generation) {
                // SAFETY: as above.
                assert_eq!(panic.with_mut(|panic| unsafe { (*panic).take() }), Some(7));
            }
            // From here on the code runs on the worker.
            if own.word.finish() == Leaves::Detached {
                // SAFETY: as above.
                assert_eq!(panic.with(|panic| unsafe { *panic }), None, "dropped on the worker");
                own.release();
            }
        });
        match small.word.detach(generation).unwrap() {
            Detached::Running => {}
            Detached::Finished => small.release(),
            Detached::Left => {
                // SAFETY: as above.
                assert_eq!(left.with_mut(|panic| unsafe { (*panic).take() }), Some(7));
                if small.word.taken() {
                    small.release();
                }
            }
        }
        thread.join().unwrap();
        assert_eq!(small.released.load(Ordering::Relaxed), 1);
    });
}
