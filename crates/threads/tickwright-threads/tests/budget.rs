//! Tests that a thread that makes counted calls in a loop, and never has to wait, lets the other
//! threads of its worker and their timers run.
#![cfg(unix)]

mod common;

use core::cell::Cell;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use std::panic::catch_unwind;
use std::sync::Arc;

use common::Jumping;
use tickwright_threads::sync::{Condvar, Mutex, bounded, unbounded};
use tickwright_threads::{Attributes, Knobs, ManyToMany, Model, Runtime, RuntimeHandle, this_thread};

const PLAIN: Attributes = Attributes::new();
/// Far more calls than a thread can make before its worker checks the clock.
const CALLS: u32 = 1 << 20;
const NAP: Duration = Duration::from_millis(1);

/// Runs `test` with several M:N runtimes that have one worker.
fn with_one_worker(settings: ManyToMany, test: impl Fn(&Runtime, &Jumping)) {
    let knobs = [Knobs::ours(), Knobs::ngpt()];
    let all = knobs.map(|knobs| settings.clone().knobs(knobs)).into_iter().chain([settings.portable(true)]);
    for settings in all {
        let clock = Jumping::default();
        let settings = settings.workers(1).clock(clock.clone());
        test(&Runtime::new(Model::ManyToMany(settings)).unwrap(), &clock);
    }
}

/// A thread sleeps. When its time has come, another thread of the same worker repeats a call until
/// the sleeper has woken, or until the sleeper has starved for very long.
fn wakes_beside<C: FnMut(&RuntimeHandle)>(prepare: impl Fn(&RuntimeHandle) -> C + Send + Copy + 'static) {
    with_one_worker(ManyToMany::new(), |runtime, clock| {
        let (handle, clock) = (runtime.handle(), clock.clone());
        let woken = runtime.run(move || {
            let (asleep, woken) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
            let (falls, wakes) = (Arc::clone(&asleep), Arc::clone(&woken));
            let sleeper = handle.create(&PLAIN, move || {
                falls.store(true, Ordering::SeqCst);
                this_thread::sleep(NAP);
                wakes.store(true, Ordering::SeqCst);
                0
            });
            let mut call = prepare(&handle);
            while !asleep.load(Ordering::SeqCst) {
                this_thread::yield_now();
            }
            // The leap is longer than the nap, because sleepers wake only at the ticks of their
            // timer queue.
            clock.leap(2 * NAP);
            let starved = (0..CALLS).all(|_| {
                call(&handle);
                !woken.load(Ordering::SeqCst)
            });
            handle.join(sleeper.unwrap()).unwrap();
            !starved
        });
        assert!(woken.unwrap(), "the sleeper starves");
    });
}

#[test]
fn locks() {
    wakes_beside(|_| {
        let lock = Mutex::new(0);
        move |_| *lock.lock() += 1
    });
    wakes_beside(|_| {
        let lock = Mutex::new(());
        move |_| drop(lock.try_lock())
    });
    // Another thread holds this lock forever, so `try_lock` fails again and again.
    wakes_beside(|_| {
        let lock: &'static Mutex<()> = Box::leak(Box::default());
        core::mem::forget(lock.lock());
        move |_| assert!(lock.try_lock().is_none())
    });
    wakes_beside(|_| {
        let lock = Mutex::new(());
        move |_| drop(lock.lock_timeout(NAP))
    });
}

#[test]
fn conditions() {
    wakes_beside(|_| {
        let (lock, changed) = (Mutex::new(()), Condvar::new());
        move |_| {
            let _guard = lock.lock();
            changed.notify_all();
        }
    });
    wakes_beside(|_| {
        let changed = Condvar::new();
        move |_| changed.notify_one()
    });
}

#[test]
fn mailboxes() {
    wakes_beside(|_| {
        let (send, receive) = bounded(1);
        move |_| {
            send.send(1).unwrap();
            receive.recv().unwrap();
        }
    });
    wakes_beside(|_| {
        let (send, receive) = unbounded();
        move |_| {
            send.try_send(1).unwrap();
            receive.try_recv().unwrap();
        }
    });
    wakes_beside(|_| {
        let (send, receive) = unbounded::<()>();
        move |_| assert!(receive.try_recv().is_err(), "nothing was sent by {send:?}")
    });
}

#[test]
fn calls_about_threads() {
    // The first round joins the thread. In all later rounds its id is stale.
    wakes_beside(|handle| {
        let ended = handle.create(&PLAIN, || 0).unwrap();
        move |handle| drop(handle.join(ended))
    });
    wakes_beside(|_| {
        let me = this_thread::current().unwrap();
        move |handle| assert!(handle.try_join(me).is_err())
    });
    wakes_beside(|_| {
        let me = this_thread::current().unwrap();
        move |handle| handle.unpark(me).unwrap()
    });
    wakes_beside(|_| |_| this_thread::sleep(Duration::ZERO));
    wakes_beside(|_| {
        let created = Cell::new(None);
        move |handle| {
            if let Some(id) = created.replace(handle.create(&PLAIN, || 0).ok()) {
                let _ = handle.detach(id);
            }
        }
    });
}

#[test]
fn a_creation_that_is_repeated_until_it_succeeds() {
    with_one_worker(ManyToMany::new().most_stacks(2), |runtime, _| {
        let handle = runtime.handle();
        let refused = runtime.run(move || {
            let first = handle.create(&PLAIN, || 0).unwrap();
            handle.detach(first).unwrap();
            (0..CALLS).all(|_| match handle.create(&PLAIN, || 0) {
                Ok(id) => handle.join(id).is_err(),
                Err(_) => true,
            })
        });
        assert!(!refused.unwrap(), "the first thread cannot end");
    });
}

/// A thread that waits from time to time does not yield between its waits.
#[test]
fn threads_that_take_turns_are_not_interrupted() {
    const ROUND: u64 = 60;
    with_one_worker(ManyToMany::new(), |runtime, _| {
        let together = runtime.run(|| {
            let lock = Arc::new((Mutex::new(()), AtomicU64::new(0)));
            let handle = this_thread::handle().unwrap();
            let threads = [(); 2].map(|()| {
                let lock = Arc::clone(&lock);
                handle.create(&PLAIN, move || {
                    let mut alone = true;
                    for _ in 0..100 {
                        let before = lock.1.load(Ordering::SeqCst);
                        for _ in 0..ROUND {
                            drop(lock.0.lock());
                            lock.1.fetch_add(1, Ordering::SeqCst);
                        }
                        alone &= lock.1.load(Ordering::SeqCst) == before + ROUND;
                        this_thread::yield_now();
                    }
                    usize::from(alone)
                })
            });
            threads.map(|thread| handle.join(thread.unwrap()).unwrap()) == [1, 1]
        });
        assert!(together.unwrap());
    });
}

/// One thread holds a lock of the standard library, for which another thread of its worker will
/// wait. In a section without yields, the first thread makes many more calls than the budget
/// allows. They are calls that never have to wait according to the documentation.
fn keeps_its_lock<C: FnMut(&RuntimeHandle)>(prepare: impl Fn(&RuntimeHandle) -> C + Send + Copy + 'static) {
    with_one_worker(ManyToMany::new().most_stacks(8), |runtime, _| {
        let handle = runtime.handle();
        let free = runtime.run(move || {
            let lock = Arc::new(std::sync::Mutex::new(()));
            let wanted = Arc::clone(&lock);
            let mut call = prepare(&handle);
            let other = handle.create(&PLAIN, move || usize::from(wanted.try_lock().is_ok())).unwrap();
            this_thread::without_yields(|| {
                let _held = lock.lock().unwrap();
                for _ in 0..1000 {
                    this_thread::without_yields(|| call(&handle));
                }
            });
            handle.join(other).unwrap()
        });
        assert_eq!(free.unwrap(), 1, "the other thread ran in the section");
    });
}

#[test]
fn a_section_without_yields() {
    keeps_its_lock(|_| {
        let me = this_thread::current().unwrap();
        move |handle| handle.unpark(me).unwrap()
    });
    keeps_its_lock(|_| {
        let changed = Condvar::new();
        move |_| changed.notify_one()
    });
    keeps_its_lock(|_| {
        let (send, receive) = unbounded();
        move |_| {
            send.send(1).unwrap();
            receive.try_recv().unwrap();
        }
    });
    // The first creations succeed, and the other ones fail.
    keeps_its_lock(|_| |handle| drop(handle.spawn(&PLAIN, || ())));
    keeps_its_lock(|_| |_| this_thread::sleep(Duration::ZERO));
}

/// A yield that a section postpones happens at the end of the section.
#[test]
fn sections_in_a_loop() {
    wakes_beside(|_| {
        let me = this_thread::current().unwrap();
        move |handle| {
            this_thread::without_yields(|| this_thread::without_yields(|| handle.unpark(me).unwrap()));
        }
    });
    wakes_beside(|_| |_| this_thread::without_yields(|| this_thread::sleep(Duration::ZERO)));
}

#[test]
fn a_section_that_panics() {
    wakes_beside(|_| {
        let me = this_thread::current().unwrap();
        let panicked = catch_unwind(|| {
            this_thread::without_yields(|| {
                let handle = this_thread::handle().unwrap();
                (0..1000).for_each(|_| handle.unpark(me).unwrap());
                std::panic::resume_unwind(Box::new(()));
            });
        });
        assert!(panicked.is_err());
        move |handle| handle.unpark(me).unwrap()
    });
}

/// A section belongs to its thread. While that thread waits in the section, the other threads yield
/// as usual.
#[test]
fn a_wait_in_a_section() {
    wakes_beside(|_| {
        let (send, receive) = bounded::<()>(1);
        let waits = this_thread::handle().unwrap().spawn(&PLAIN, move || {
            this_thread::without_yields(|| receive.recv().is_err());
        });
        // After this yield the other thread waits, or will wait as soon as it runs.
        this_thread::yield_now();
        let me = this_thread::current().unwrap();
        move |handle| {
            let _ = (&send, &waits);
            handle.unpark(me).unwrap();
        }
    });
}
