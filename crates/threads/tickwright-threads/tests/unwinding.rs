//! Tests in which threads wait in a drop while they unwind. During that wait, `panicking` must be
//! false in all other threads.
#![cfg(unix)]

mod common;

use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};

use common::Gate;
use tickwright_threads::{Attributes, JoinError, Runtime, io, sync, this_thread};

for_each_model!(
    a_yield,
    a_sleep,
    a_park,
    a_join,
    a_lock,
    a_mailbox,
    a_descriptor,
    a_panic_in_a_panic,
    several_at_a_time,
);

const PLAIN: Attributes = Attributes::new();

/// A value that calls a function when it is dropped.
struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Counts how often `panicking` was true in a thread that does not panic.
#[derive(Default)]
struct Seen(AtomicUsize);

/// Thread A panics, and calls `wait` in a drop during the unwinding. Thread B of the same runtime
/// calls `rouse` until A has finished its wait. B also takes a lock of the standard library from
/// time to time, and checks whether `panicking` is true in B.
fn beside(runtime: &Runtime, wait: impl FnOnce() + Send + 'static, mut rouse: impl FnMut() + Send + 'static) {
    let (seen, lock) = (Arc::new(Seen::default()), Arc::new(Mutex::new(())));
    let (waits, done) = (Arc::new(Gate::default()), Arc::new(Gate::default()));
    let (entered, left) = (Arc::clone(&waits), Arc::clone(&done));
    let both = Arc::new(Gate::default());
    let begin = Arc::clone(&both);
    let a = runtime
        .create(&PLAIN, move || -> usize {
            begin.wait();
            let mut wait = Some(wait);
            let _waits = OnDrop(move || {
                assert!(std::thread::panicking());
                entered.open();
                (wait.take().expect("dropped once"))();
                let still = std::thread::panicking();
                left.open();
                assert!(still, "it panics still");
            });
            std::panic::resume_unwind(Box::new("A's"))
        })
        .unwrap();
    let (told, held, over) = (Arc::clone(&seen), Arc::clone(&lock), Arc::clone(&done));
    let b = runtime
        .create(&PLAIN, move || {
            both.open();
            waits.wait();
            loop {
                if std::thread::panicking() {
                    told.0.fetch_add(1, Ordering::SeqCst);
                }
                drop(held.lock());
                if over.is_open() {
                    return 7;
                }
                rouse();
                this_thread::yield_now();
            }
        })
        .unwrap();
    match runtime.join(a) {
        Err(JoinError::Panicked(panic)) => assert_eq!(panic.downcast_ref::<&str>(), Some(&"A's")),
        other => panic!("{other:?}"),
    }
    assert_eq!(runtime.join(b).unwrap(), 7);
    assert_eq!(seen.0.load(Ordering::SeqCst), 0, "taken for panicking");
    assert!(!lock.is_poisoned());
    // Afterwards every worker's count of panics is 0.
    for _ in 0..8 {
        assert!(!runtime.run(std::thread::panicking).unwrap());
    }
}

fn a_yield(runtime: &Runtime) {
    beside(runtime, || (0..50).for_each(|_| this_thread::yield_now()), || ());
}

fn a_sleep(runtime: &Runtime) {
    beside(runtime, || this_thread::sleep(Duration::from_millis(2)), || ());
}

fn a_park(runtime: &Runtime) {
    let (gate, opened) = (Arc::new(Gate::default()), Arc::new(Gate::default()));
    let id = Arc::new(Mutex::new(None));
    let (own, seen, tell, handle) =
        (Arc::clone(&id), Arc::clone(&gate), Arc::clone(&opened), runtime.handle());
    beside(
        runtime,
        move || {
            *own.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = this_thread::current();
            gate.open();
            while !opened.is_open() {
                this_thread::park();
            }
        },
        move || {
            if seen.is_open() {
                tell.open();
                let id = *id.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                let _ = handle.unpark(id.expect("set"));
            }
        },
    );
}

fn a_join(runtime: &Runtime) {
    let (handle, gate) = (runtime.handle(), Arc::new(Gate::default()));
    let behind = Arc::clone(&gate);
    let other = runtime
        .create(&PLAIN, move || {
            behind.wait();
            3
        })
        .unwrap();
    beside(runtime, move || assert_eq!(handle.join(other).unwrap(), 3), move || gate.open());
}

/// In models with workers, the thread that holds the lock is on the same worker.
fn a_lock(runtime: &Runtime) {
    let lock = Arc::new(sync::Mutex::new(0));
    let (held, gate, wanted) = (Arc::new(Gate::default()), Arc::new(Gate::default()), Arc::clone(&lock));
    let (has, behind) = (Arc::clone(&held), Arc::clone(&gate));
    let holder = runtime
        .create(&PLAIN, move || {
            let mut guard = lock.lock();
            has.open();
            behind.wait();
            *guard = 5;
            0
        })
        .unwrap();
    held.wait();
    beside(runtime, move || assert_eq!(*wanted.lock(), 5), move || gate.open());
    runtime.join(holder).unwrap();
}

fn a_mailbox(runtime: &Runtime) {
    let (send, receive) = sync::bounded::<u32>(1);
    beside(runtime, move || assert_eq!(receive.recv(), Ok(9)), move || drop(send.try_send(9)));
}

fn a_descriptor(runtime: &Runtime) {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let send = move || {
        let _ = theirs.write(b"x");
    };
    beside(runtime, move || io::readable(&ours).unwrap(), send);
}

/// The drop causes and catches a second panic, and during the second unwinding another drop waits,
/// too.
fn a_panic_in_a_panic(runtime: &Runtime) {
    let wait = || {
        let inner = std::panic::catch_unwind(|| {
            let _waits = OnDrop(|| {
                for _ in 0..20 {
                    assert!(std::thread::panicking());
                    this_thread::yield_now();
                }
            });
            std::panic::resume_unwind(Box::new("A's second"));
        });
        assert!(inner.is_err());
        this_thread::yield_now();
    };
    beside(runtime, wait, || ());
}

/// Threads that unwind wait for one another.
fn several_at_a_time(runtime: &Runtime) {
    let count = Arc::new(AtomicUsize::new(0));
    let body = || {
        let count = Arc::clone(&count);
        move || -> usize {
            let _waits = OnDrop(move || {
                count.fetch_add(1, Ordering::SeqCst);
                while count.load(Ordering::SeqCst) < 5 {
                    assert!(std::thread::panicking());
                    this_thread::yield_now();
                }
            });
            std::panic::resume_unwind(Box::new(()))
        }
    };
    let all: Vec<_> = (0..5).map(|_| runtime.create(&PLAIN, body()).unwrap()).collect();
    for id in all {
        assert!(matches!(runtime.join(id), Err(JoinError::Panicked(_))));
    }
    assert!(!runtime.run(std::thread::panicking).unwrap());
}
