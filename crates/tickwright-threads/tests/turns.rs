//! Nobody waits for ever, however often others come by.

mod common;

use std::sync::Arc;

use common::Gate;
use tickwright_threads::sync::{Mutex, bounded, unbounded};
use tickwright_threads::{Attributes, Runtime, this_thread};

for_each_model!(
    a_lock_that_one_takes_again_and_again,
    a_mailbox_that_one_empties_again_and_again,
    a_mailbox_that_one_fills_again_and_again,
);

const PLAIN: Attributes = Attributes::new();
/// Far more than a fair lock needs.
const ROUNDS: usize = 200_000;

fn a_lock_that_one_takes_again_and_again(runtime: &Runtime) {
    let (lock, had) = (Arc::new(Mutex::new(())), Arc::new(Gate::default()));
    let (wanted, told, waits) = (Arc::clone(&lock), Arc::clone(&had), Arc::new(Gate::default()));
    let begun = Arc::clone(&waits);
    let handle = runtime.handle();
    let rounds = runtime.run(move || {
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
        let rounds = (0..ROUNDS).take_while(|_| {
            let _guard = lock.lock();
            this_thread::yield_now();
            !had.is_open()
        });
        let rounds = rounds.count();
        handle.join(waiter.unwrap()).unwrap();
        rounds
    });
    assert!(rounds.unwrap() < ROUNDS, "it waits for ever");
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
    let rounds = runtime.run(move || {
        waits.wait();
        this_thread::yield_now();
        let rounds = (0..ROUNDS).take_while(|_| {
            send.send(1).unwrap();
            let _ = receive.try_recv();
            this_thread::yield_now();
            !had.is_open()
        });
        let rounds = rounds.count();
        // One for it where the test fails.
        send.send(1).unwrap();
        rounds
    });
    assert_eq!(runtime.join(waiter).unwrap(), 1);
    assert!(rounds.unwrap() < ROUNDS, "it waits for ever");
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
    let rounds = runtime.run(move || {
        waits.wait();
        this_thread::yield_now();
        let rounds = (0..ROUNDS).take_while(|_| {
            let _ = receive.try_recv();
            let _ = send.try_send(0);
            this_thread::yield_now();
            !had.is_open()
        });
        let rounds = rounds.count();
        let _ = receive.try_recv();
        (rounds, receive)
    });
    assert_eq!(runtime.join(waiter).unwrap(), 1);
    assert!(rounds.unwrap().0 < ROUNDS, "it waits for ever");
}
