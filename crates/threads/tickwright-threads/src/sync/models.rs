//! Loom models of threads that wait for locks and letters, in all schedules with at most the stated
//! number of preemptions. If a wake-up is lost, a thread never ends, which loom reports.

use loom::thread;
use std::sync::Arc;

use tickwright::time::Instant;

use super::{Mutex, bounded, unbounded};

fn model(preemptions: usize, body: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(body);
}

#[test]
fn all_get_the_lock() {
    model(4, || {
        let count = Arc::new(Mutex::new(0));
        let held = count.lock();
        let others = [(); 2].map(|()| {
            let count = Arc::clone(&count);
            thread::spawn(move || *count.lock() += 1)
        });
        // In some schedules the other threads reach the lock first.
        thread::yield_now();
        drop(held);
        for other in others {
            other.join().unwrap();
        }
        assert_eq!(*count.lock(), 2);
    });
}

#[test]
fn each_letter_finds_a_receiver() {
    model(4, || {
        let (sender, receiver) = unbounded();
        let others = [(); 2].map(|()| {
            let receiver = receiver.clone();
            thread::spawn(move || receiver.recv().unwrap())
        });
        sender.send(1).unwrap();
        sender.send(2).unwrap();
        let got: u32 = others.into_iter().map(|other| other.join().unwrap()).sum();
        assert_eq!(got, 3);
    });
}

#[test]
fn each_place_finds_a_sender() {
    model(3, || {
        let (sender, receiver) = bounded(1);
        sender.send(0).unwrap();
        let others = [1, 2].map(|letter| {
            let sender = sender.clone();
            thread::spawn(move || sender.send(letter).unwrap())
        });
        let got: u32 = (0..3).map(|_| receiver.recv().unwrap()).sum();
        for other in others {
            other.join().unwrap();
        }
        assert_eq!(got, 3);
    });
}

/// One thread gives up its wait at an arbitrary moment. A letter must not stay in the mailbox while
/// another thread waits for a letter.
#[test]
fn who_gives_up_takes_no_wake_up_along() {
    model(4, || {
        let (sender, receiver) = unbounded();
        let hasty = thread::spawn({
            let receiver = receiver.clone();
            move || receiver.recv_until(Instant::ZERO).is_ok()
        });
        let patient = thread::spawn(move || receiver.recv().is_ok());
        sender.send(1).unwrap();
        if hasty.join().unwrap() {
            sender.send(2).unwrap();
        }
        assert!(patient.join().unwrap());
    });
}

/// One thread takes the lock again and again. Another thread that was woken and still did not get
/// the lock has it reserved, and no wake-up is lost.
#[test]
fn a_hot_lock_is_had_by_the_others() {
    model(3, || {
        let lock = Arc::new(Mutex::new(0));
        let held = lock.lock();
        let others = [(); 2].map(|()| {
            let lock = Arc::clone(&lock);
            thread::spawn(move || *lock.lock() += 1)
        });
        thread::yield_now();
        drop(held);
        for _ in 0..2 {
            *lock.lock() += 1;
        }
        for other in others {
            other.join().unwrap();
        }
        assert_eq!(*lock.lock(), 4);
    });
}

/// A thread that did not wait takes letters for which two waiting threads were woken. The sender is
/// dropped at the same time, and no thread waits forever.
#[test]
fn a_passer_by_takes_letters() {
    model(3, || {
        let (sender, receiver) = unbounded();
        let others = [(); 2].map(|()| {
            let receiver = receiver.clone();
            thread::spawn(move || u32::from(receiver.recv().is_ok()))
        });
        let mut got = 0;
        for _ in 0..2 {
            sender.send(1).unwrap();
            got += u32::from(receiver.try_recv().is_ok());
        }
        drop(sender);
        got += others.into_iter().map(|other| other.join().unwrap()).sum::<u32>();
        assert_eq!(got + u32::from(receiver.try_recv().is_ok()), 2);
    });
}
