//! Tests that no thread waits forever, however often other threads take a resource first.

mod common;

use core::time::Duration;
use std::sync::Arc;
use std::time::Instant;

use common::Gate;
use tickwright_threads::sync::{Mutex, bounded, unbounded};
use tickwright_threads::{Attributes, Runtime, this_thread};

for_each_model!(
    a_lock_that_one_takes_again_and_again,
    a_mailbox_that_one_empties_again_and_again,
    a_mailbox_that_one_fills_again_and_again,
);

const PLAIN: Attributes = Attributes::new();
/// Far more rounds than are needed if the lock is fair.
const ROUNDS: usize = 200_000;
/// Far longer than the operating system preempts a worker that is about to run the waiter.
const PREEMPTED: Duration = Duration::from_secs(20);

/// Calls `round` until the waiter has had its turn. Returns whether it had its turn within `ROUNDS`
/// rounds. If its worker is preempted, more rounds are allowed.
fn until(had: &Gate, mut round: impl FnMut()) -> bool {
    let (mut rounds, begun) = (0, Instant::now());
    while !had.is_open() && (rounds < ROUNDS || begun.elapsed() < PREEMPTED) {
        round();
        rounds += 1;
    }
    had.is_open()
}

fn a_lock_that_one_takes_again_and_again(runtime: &Runtime) {
    let (lock, had) = (Arc::new(Mutex::new(())), Arc::new(Gate::default()));
    let (wanted, told, waits) = (Arc::clone(&lock), Arc::clone(&had), Arc::new(Gate::default()));
    let begun = Arc::clone(&waits);
    let handle = runtime.handle();
    let had = runtime.run(move || {
        let guard = lock.lock();
        let waiter = handle.create(&PLAIN, move || {
            begun.open();
            let _guard = wanted.lock();
            told.open();
            0
        });
        waits.wait();
        this_thread::yield_now();
        drop(guard);
        let had = until(&had, || {
            let _guard = lock.lock();
            this_thread::yield_now();
        });
        handle.join(waiter.unwrap()).unwrap();
        had
    });
    assert!(had.unwrap(), "it waits for ever");
}

fn a_mailbox_that_one_empties_again_and_again(runtime: &Runtime) {
    let (send, receive) = unbounded::<usize>();
    let (had, waits) = (Arc::new(Gate::default()), Arc::new(Gate::default()));
    let (told, begun, theirs) = (Arc::clone(&had), Arc::clone(&waits), receive.clone());
    let waiter = runtime
        .create(&PLAIN, move || {
            begun.open();
            let got = theirs.recv().unwrap();
            told.open();
            got
        })
        .unwrap();
    let had = runtime.run(move || {
        waits.wait();
        this_thread::yield_now();
        let had = until(&had, || {
            send.send(1).unwrap();
            let _ = receive.try_recv();
            this_thread::yield_now();
        });
        // If the test has failed, this letter lets the waiter end.
        send.send(1).unwrap();
        had
    });
    assert_eq!(runtime.join(waiter).unwrap(), 1);
    assert!(had.unwrap(), "it waits for ever");
}

fn a_mailbox_that_one_fills_again_and_again(runtime: &Runtime) {
    let (send, receive) = bounded::<usize>(1);
    let (had, waits) = (Arc::new(Gate::default()), Arc::new(Gate::default()));
    let (told, begun, theirs) = (Arc::clone(&had), Arc::clone(&waits), send.clone());
    send.send(0).unwrap();
    let waiter = runtime
        .create(&PLAIN, move || {
            begun.open();
            theirs.send(1).unwrap();
            told.open();
            1
        })
        .unwrap();
    let had = runtime.run(move || {
        waits.wait();
        this_thread::yield_now();
        let had = until(&had, || {
            let _ = receive.try_recv();
            let _ = send.try_send(0);
            this_thread::yield_now();
        });
        let _ = receive.try_recv();
        (had, receive)
    });
    assert_eq!(runtime.join(waiter).unwrap(), 1);
    assert!(had.unwrap().0, "it waits for ever");
}
