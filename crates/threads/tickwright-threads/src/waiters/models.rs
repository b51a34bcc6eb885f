//! Models of the list of waiters, in all schedules. After a lost wake-up a thread never ends, which
//! loom reports.

use loom::thread;
use std::sync::Arc;

use super::Waiters;
use crate::host;
use crate::primitive::{AtomicU32, Ordering};

/// A door, and the threads that wait for it. A thread that tries loom's lock always sees its
/// present state. The platform's lock may show an earlier state, as this word does.
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

    /// Waits like `Mutex::lock`, with one look after the thread has entered the list.
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
