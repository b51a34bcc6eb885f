//! Tests in which creators hold locks of the standard library, and new threads take these locks. No
//! model is allowed to hold a lock of its own while it waits for a lock of the user.

mod common;

use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tickwright_threads::{Attributes, Runtime};

for_each_model!(creating_under_a_lock, hand_over_hand, a_body_that_is_not_run_is_dropped_without_a_lock);

const PLAIN: Attributes = Attributes::new();

/// The new thread at once waits for a lock that its creator holds. The creation must not wait for
/// the thread.
fn creating_under_a_lock(runtime: &Runtime) {
    let door = Arc::new(Mutex::new(0));
    for round in 0..20 {
        let mut inside = door.lock().unwrap();
        let behind = Arc::clone(&door);
        let id = runtime.create(&PLAIN, move || *behind.lock().unwrap()).unwrap();
        *inside = round;
        drop(inside);
        assert_eq!(runtime.join(id).unwrap(), round);
    }
}

/// Each of twenty threads waits for its own lock, which is released when the previous thread has
/// ended.
fn hand_over_hand(runtime: &Runtime) {
    let order = Arc::new(AtomicUsize::new(0));
    let doors: Vec<_> = (0..20).map(|_| Arc::new(Mutex::new(()))).collect();
    let held: Vec<_> = doors.iter().map(|door| door.lock().unwrap()).collect();
    // A thread that waits for a lock of the standard library blocks its worker, and there are few
    // workers. Therefore only one thread at a time waits for such a lock.
    for (i, guard) in held.into_iter().enumerate() {
        let (door, order) = (Arc::clone(&doors[i]), Arc::clone(&order));
        let id = runtime
            .create(&PLAIN, move || {
                let _inside = door.lock().unwrap();
                order.fetch_add(1, Ordering::SeqCst)
            })
            .unwrap();
        drop(guard);
        assert_eq!(runtime.join(id).unwrap(), i);
    }
}

struct Notes(Runtime, Arc<AtomicUsize>);

impl Drop for Notes {
    fn drop(&mut self) {
        // A drop is allowed to call any function of a runtime.
        let id = self.0.create(&PLAIN, || 1).unwrap();
        self.1.fetch_add(self.0.join(id).unwrap(), Ordering::SeqCst);
    }
}

fn a_body_that_is_not_run_is_dropped_without_a_lock(runtime: &Runtime) {
    let dropped = Arc::new(AtomicUsize::new(0));
    let notes = Notes(common::start(common::another()), Arc::clone(&dropped));
    let refused = runtime.create(&PLAIN.stack(0), move || {
        drop(notes);
        0
    });
    assert!(refused.is_err());
    assert_eq!(dropped.load(Ordering::SeqCst), 1);
    // The thread also drops its body after it has run.
    let notes = Notes(common::start(common::one_to_one()), Arc::clone(&dropped));
    let id = runtime
        .create(&PLAIN, move || {
            drop(notes);
            0
        })
        .unwrap();
    runtime.join(id).unwrap();
    assert_eq!(dropped.load(Ordering::SeqCst), 2);
}
