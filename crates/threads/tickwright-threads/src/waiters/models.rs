//! Loom models of the list of waiters, in all schedules. If a wake-up is lost, a thread never ends,
//! which loom reports.

use loom::thread;
use std::sync::Arc;

use super::Waiters;
use crate::host;
use crate::primitive::{AtomicU32, Ordering};

/// A door, and the threads that wait until it opens. The door is an atomic word and not a lock of
/// loom, because `try_lock` of loom's lock always sees the current state. `try_lock` of the
/// platform's lock can see an earlier state, as a load of this word can.
struct Door {
    is_open: AtomicU32,
    waiters: Waiters,
}

impl Door {
    fn new() -> Arc<Self> {
        Arc::new(Self { is_open: AtomicU32::new(0), waiters: Waiters::new() })
    }

    fn is_shut(&self) -> bool {
        self.is_open.load(Ordering::Relaxed) == 0
    }

    /// Waits like `Mutex::lock`: the thread enters the list, checks the state once more, and waits.
    fn wait(&self) {
        while self.is_shut() {
            let ticket = self.waiters.enter();
            if !self.is_shut() {
                self.waiters.leave(ticket);
                return;
            }
            while !self.waiters.was_woken(ticket) {
                host::wait();
            }
        }
    }
}

#[test]
fn one_who_waits_sees_the_change_or_is_woken() {
    loom::model(|| {
        let door = Door::new();
        let waiter = thread::spawn({
            let door = Arc::clone(&door);
            move || door.wait()
        });
        door.is_open.store(1, Ordering::Relaxed);
        door.waiters.wake_one();
        waiter.join().unwrap();
    });
}

#[test]
fn all_who_wait_see_the_change_or_are_woken() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(|| {
        let door = Door::new();
        let waiter = thread::spawn({
            let door = Arc::clone(&door);
            move || door.wait()
        });
        let other = thread::spawn({
            let door = Arc::clone(&door);
            move || door.waiters.wait_while(|| door.is_shut())
        });
        door.is_open.store(1, Ordering::Relaxed);
        door.waiters.wake_all();
        waiter.join().unwrap();
        other.join().unwrap();
    });
}
