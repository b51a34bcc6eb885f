//! Tests that the payload of a panic is never dropped on a worker's own stack, because its drop is
//! allowed to wait.
#![cfg(unix)]

mod common;

use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread;

use common::start;
use tickwright_threads::{Attributes, this_thread};

static ON_WORKER: AtomicUsize = AtomicUsize::new(0);
static DROPS: AtomicUsize = AtomicUsize::new(0);

struct Payload(thread::ThreadId);

impl Drop for Payload {
    fn drop(&mut self) {
        DROPS.fetch_add(1, Ordering::SeqCst);
        if this_thread::current().is_none() && thread::current().id() == self.0 {
            ON_WORKER.fetch_add(1, Ordering::SeqCst);
        }
    }
}

/// A panic and a detach of the same thread happen at nearly the same time, with all differences of
/// up to some microseconds.
#[test]
fn a_thread_panics_and_is_detached_meanwhile() {
    const ROUNDS: u64 = 500;
    let runtime = start(common::one_worker());
    for round in 0..ROUNDS {
        let go = Arc::new(AtomicU64::new(0));
        let told = Arc::clone(&go);
        let body = move || {
            told.store(1, Ordering::Release);
            while told.load(Ordering::Acquire) < 2 {
                core::hint::spin_loop();
            }
            resume_unwind(Box::new(Payload(thread::current().id())))
        };
        let id = runtime.create(&Attributes::new(), body).unwrap();
        while go.load(Ordering::Acquire) == 0 {
            thread::yield_now();
        }
        go.store(2, Ordering::Release);
        for _ in 0..round * 7919 % 30_011 {
            core::hint::black_box(round);
        }
        runtime.detach(id).unwrap();
        while runtime.live() > 0 {
            thread::yield_now();
        }
    }
    drop(runtime);
    assert_eq!(DROPS.load(Ordering::SeqCst) as u64, ROUNDS);
    assert_eq!(ON_WORKER.load(Ordering::SeqCst), 0);
}
