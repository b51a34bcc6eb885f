//! Workers without work: who watches the threads that wait to begin, and what an ended wait leaves
//! behind.

mod common;

use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::sync::Arc;
use std::time::Instant;

use tickwright::clock::VirtualHost;
use tickwright_threads::{Attributes, ManyToMany, Model, this_thread};

const PLAIN: Attributes = Attributes::new();
/// Longer than a test may take: it fails then instead of spinning for ever.
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

/// Three workers. A thread that never yields creates two, the second when the first worker that was
/// called watches. That one takes the first of them, which never yields either: the third worker
/// takes the second.
#[test]
fn a_helper_that_has_work_leaves_the_rest_to_another() {
    let runtime = common::start(Model::ManyToMany(ManyToMany::new().workers(3)));
    for pause in (0..40).map(|round| Duration::from_micros(10 * round)) {
        // Longer than an idle worker watches: all but one sleep without a limit, if the round shall
        // be a hard one.
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

/// A thread is woken before its time-out. When that time comes, the thread parks again without a
/// limit, and its old time-out does not end this park.
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
    // Each of these runs on the same worker, behind the one that parks, so that it has parked when
    // they have ended.
    let after_it = || runtime.join(runtime.create(&PLAIN, || 0).unwrap()).unwrap();
    after_it();
    runtime.unpark(parks).unwrap();
    while step.load(Ordering::SeqCst) < 2 {
        after_it();
    }
    let sleeps = runtime.create(&PLAIN, || {
        this_thread::sleep_until(tickwright::clock::Instant::ZERO + Duration::from_secs(2));
        0
    });
    host.advance(Duration::from_secs(3));
    // The worker looks at all times at once: this one is later.
    runtime.join(sleeps.unwrap()).unwrap();
    assert_eq!(step.load(Ordering::SeqCst), 2, "ended by an old time-out");
    runtime.unpark(parks).unwrap();
    runtime.join(parks).unwrap();
}
