//! Loom models of the wake flags, in all schedules. The remote queue has room for one record.

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;

use super::{WakeFlags, Wakeup};

struct Small {
    wake_flags: WakeFlags,
    wakeup: UnsafeCell<u32>,
    remote_queue: AtomicUsize,
    /// Whether another list uses the record.
    gone: AtomicUsize,
}

fn small() -> Arc<Small> {
    Arc::new(Small {
        wake_flags: WakeFlags::new(),
        wakeup: UnsafeCell::new(0),
        remote_queue: AtomicUsize::new(0),
        gone: AtomicUsize::new(0),
    })
}

fn notify(small: &Small, wakeup: Wakeup) {
    if small.wake_flags.notify(wakeup) {
        assert_eq!(small.gone.load(Ordering::Acquire), 0, "put in when another list has it");
        assert_eq!(small.remote_queue.fetch_add(1, Ordering::Release), 0, "put in twice");
    }
}

/// Takes the record out of the queue, as the worker does. Returns false if the thread has ended and
/// can be unregistered.
fn take(small: &Small) -> bool {
    while small.remote_queue.load(Ordering::Acquire) == 0 {
        thread::yield_now();
    }
    small.remote_queue.fetch_sub(1, Ordering::Relaxed);
    small.wake_flags.receive()
}

fn wait(small: &Small) {
    if small.wake_flags.begin_wait() {
        assert!(take(small));
        small.wake_flags.end_wait();
    }
}

fn end(small: &Small) {
    if !small.wake_flags.close() {
        assert!(!take(small));
    }
    assert_eq!(small.remote_queue.load(Ordering::Acquire), 0, "left when it is still in the inbox");
    small.gone.store(1, Ordering::Release);
}

#[test]
fn a_wake_up_is_not_lost_and_brings_the_news() {
    loom::model(|| {
        let small = small();
        let notifier = thread::spawn({
            let small = Arc::clone(&small);
            move || {
                // SAFETY: loom checks this, and reports a second access at the same time.
                small.wakeup.with_mut(|wakeup| unsafe { *wakeup = 1 });
                notify(&small, Wakeup::Wake);
            }
        });
        wait(&small);
        // SAFETY: as above.
        assert_eq!(small.wakeup.with(|wakeup| unsafe { *wakeup }), 1);
        end(&small);
        notifier.join().unwrap();
    });
}

#[test]
fn an_unpark_is_kept_over_another_wait() {
    loom::model(|| {
        let small = small();
        let notifiers = [Wakeup::Unpark, Wakeup::Wake].map(|wakeup| {
            let small = Arc::clone(&small);
            thread::spawn(move || notify(&small, wakeup))
        });
        while !small.wake_flags.is_unparked() {
            wait(&small);
        }
        small.wake_flags.end_park();
        assert!(!small.wake_flags.is_unparked());
        end(&small);
        for notifier in notifiers {
            notifier.join().unwrap();
        }
    });
}

#[test]
fn who_ends_is_in_no_inbox() {
    loom::model(|| {
        let small = small();
        // The flags are opened at the thread's first wait, which a notification on the same worker
        // ends.
        small.wake_flags.notify_local(Wakeup::Wake);
        assert!(!small.wake_flags.begin_wait());
        let notifiers = [Wakeup::Unpark, Wakeup::Wake].map(|wakeup| {
            let small = Arc::clone(&small);
            thread::spawn(move || notify(&small, wakeup))
        });
        end(&small);
        for notifier in notifiers {
            notifier.join().unwrap();
        }
        assert_eq!(small.remote_queue.load(Ordering::Relaxed), 0);
    });
}
