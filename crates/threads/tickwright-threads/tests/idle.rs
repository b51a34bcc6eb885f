//! Tests of workers without work: which worker begins waiting threads, and that the time-out of an
//! earlier wait has no later effect.
#![cfg(unix)]

mod common;

use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::sync::Arc;
use std::time::Instant;

use tickwright::time::VirtualHost;
use tickwright_threads::{Attributes, ManyToMany, Model, this_thread};

const PLAIN: Attributes = Attributes::new();
/// After this time a test fails, instead of spinning forever.
const TOO_LONG: Duration = Duration::from_secs(10);

/// Spins without a switch until `is_so` returns true. Returns false if that took too long.
fn spin_until(is_so: impl Fn() -> bool) -> bool {
    let begun = Instant::now();
    while !is_so() {
        if begun.elapsed() > TOO_LONG {
            return false;
        }
        core::hint::spin_loop();
    }
    true
}

/// There are three workers. A thread that never yields creates two threads. It creates the second
/// thread while the worker that was notified of the first thread searches. That worker takes the
/// first new thread, which never yields either. Therefore the third worker must take the second new
/// thread.
#[test]
fn a_helper_that_has_work_leaves_the_rest_to_another() {
    let runtime = common::start(Model::ManyToMany(ManyToMany::new().workers(3)));
    for pause in (0..40).map(|round| Duration::from_micros(10 * round)) {
        // This is longer than the search of a worker without work. A round is a hard test if all
        // workers except one sleep without a limit.
        std::thread::sleep(Duration::from_millis(2));
        let (handle, begun) = (runtime.handle(), Arc::new(AtomicUsize::new(0)));
        let creator = runtime.create(&PLAIN, move || {
            for each in 0..2 {
                let now = Instant::now();
                while each > 0 && now.elapsed() < pause {
                    core::hint::spin_loop();
                }
                let begun = Arc::clone(&begun);
                let spinner = move || {
                    begun.fetch_add(1, Ordering::SeqCst);
                    usize::from(spin_until(|| begun.load(Ordering::SeqCst) == 2))
                };
                handle.create(&PLAIN.clone().detached(true), spinner).unwrap();
            }
            usize::from(spin_until(|| begun.load(Ordering::SeqCst) == 2))
        });
        assert_eq!(runtime.join(creator.unwrap()).unwrap(), 1, "after {pause:?}");
    }
}

/// A thread is woken before its time-out, and parks again without a limit. The old time-out must
/// not end the second park.
#[test]
fn an_old_time_out_ends_no_later_wait() {
    let host = VirtualHost::new();
    let settings = ManyToMany::new().workers(1).clock(host.monotonic());
    let runtime = common::start(Model::ManyToMany(settings));
    let step = Arc::new(AtomicUsize::new(0));
    let told = Arc::clone(&step);
    let parks = runtime
        .create(&PLAIN, move || {
            told.store(1, Ordering::SeqCst);
            this_thread::park_timeout(Duration::from_secs(1));
            told.store(2, Ordering::SeqCst);
            this_thread::park();
            told.store(3, Ordering::SeqCst);
            0
        })
        .unwrap();
    // Each of these threads runs on the same worker, after the thread that parks. When they have
    // ended, that thread has therefore parked.
    let after_it = || runtime.join(runtime.create(&PLAIN, || 0).unwrap()).unwrap();
    after_it();
    runtime.unpark(parks).unwrap();
    while step.load(Ordering::SeqCst) < 2 {
        after_it();
    }
    let sleeps = runtime.create(&PLAIN, || {
        this_thread::sleep_until(tickwright::time::Instant::ZERO + Duration::from_secs(2));
        0
    });
    host.advance(Duration::from_secs(3));
    // A worker wakes all sleepers whose time has come together, and this sleep ends later than the
    // old time-out.
    runtime.join(sleeps.unwrap()).unwrap();
    assert_eq!(step.load(Ordering::SeqCst), 2, "ended by an old time-out");
    runtime.unpark(parks).unwrap();
    runtime.join(parks).unwrap();
}
