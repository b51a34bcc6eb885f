//! Tests of locks, condition variables, mailboxes and thread-local values, in every model.

mod common;

use core::cell::{Cell, RefCell};
use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::sync::Arc;

use common::Gate;
use tickwright_threads::sync::{Condvar, Mutex, TryRecvError, TrySendError, bounded, unbounded};
use tickwright_threads::{Attributes, JoinError, Runtime, ThreadLocal, this_thread};

for_each_model!(
    a_lock_is_given_up_when_its_time_is_over,
    twenty_hand_a_lock_over,
    a_lock_counts_right,
    a_panic_does_not_poison,
    an_event_wakes_one_and_all,
    an_event_that_does_not_come,
    letters_keep_their_order,
    a_full_mailbox_waits,
    closed_mailboxes,
    a_letter_that_does_not_come,
    inside_and_outside_meet,
    a_wait_takes_no_unpark,
    values_of_ones_own,
    values_that_make_values,
    philosophers,
);

const PLAIN: Attributes = Attributes::new();

/// Each of twenty threads waits for its own lock, which the previous thread releases.
fn twenty_hand_a_lock_over(runtime: &Runtime) {
    let turns: Arc<Vec<(Mutex<bool>, Condvar)>> =
        Arc::new((0..=20).map(|_| (Mutex::new(false), Condvar::new())).collect());
    let order = Arc::new(Mutex::new(Vec::new()));
    let ids: Vec<_> = (0..20)
        .map(|i| {
            let (turns, order) = (Arc::clone(&turns), Arc::clone(&order));
            runtime
                .create(&PLAIN, move || {
                    let (mine, told) = &turns[i];
                    let mut open = mine.lock();
                    while !*open {
                        open = told.wait(open);
                    }
                    order.lock().push(i);
                    *turns[i + 1].0.lock() = true;
                    turns[i + 1].1.notify_one();
                    i
                })
                .unwrap()
        })
        .collect();
    *turns[0].0.lock() = true;
    turns[0].1.notify_all();
    for (i, id) in ids.into_iter().enumerate() {
        assert_eq!(runtime.join(id).unwrap(), i);
    }
    assert_eq!(*order.lock(), (0..20).collect::<Vec<_>>());
}

fn a_lock_counts_right(runtime: &Runtime) {
    let count = Arc::new(Mutex::new(0));
    let ids: Vec<_> = (0..4)
        .map(|_| {
            let count = Arc::clone(&count);
            runtime
                .create(&PLAIN, move || {
                    for _ in 0..200 {
                        let mut count = count.lock();
                        let seen = *count;
                        this_thread::yield_now();
                        *count = seen + 1;
                    }
                    0
                })
                .unwrap()
        })
        .collect();
    for id in ids {
        runtime.join(id).unwrap();
    }
    assert_eq!(*count.lock(), 800);
}

fn a_panic_does_not_poison(runtime: &Runtime) {
    let lock = Arc::new(Mutex::new(3));
    let held = Arc::clone(&lock);
    let id = runtime
        .create(&PLAIN, move || {
            let _guard = held.lock();
            std::panic::resume_unwind(Box::new(()))
        })
        .unwrap();
    assert!(matches!(runtime.join(id), Err(JoinError::Panicked(_))));
    assert_eq!(*lock.lock(), 3);
}

fn an_event_wakes_one_and_all(runtime: &Runtime) {
    let shared = Arc::new((Mutex::new((0, 0)), Condvar::new(), Condvar::new()));
    let ids: Vec<_> = (0..5)
        .map(|_| {
            let shared = Arc::clone(&shared);
            runtime
                .create(&PLAIN, move || {
                    let (state, told, arrived) = &*shared;
                    let mut now = state.lock();
                    now.0 += 1;
                    arrived.notify_one();
                    while now.1 == 0 {
                        now = told.wait(now);
                    }
                    now.1 -= 1;
                    0
                })
                .unwrap()
        })
        .collect();
    let (state, told, arrived) = &*shared;
    let mut now = state.lock();
    while now.0 < 5 {
        now = arrived.wait(now);
    }
    now.1 = 1;
    told.notify_one();
    drop(now);
    while state.lock().1 > 0 {
        this_thread::yield_now();
    }
    state.lock().1 = 4;
    told.notify_all();
    for id in ids {
        runtime.join(id).unwrap();
    }
}

fn an_event_that_does_not_come(runtime: &Runtime) {
    let id = runtime
        .create(&PLAIN, || {
            let (lock, event) = (Mutex::new(()), Condvar::new());
            let (guard, told) = event.wait_until(lock.lock(), this_thread::now() + Duration::from_micros(30));
            drop(guard);
            usize::from(told)
        })
        .unwrap();
    assert_eq!(runtime.join(id).unwrap(), 0);
}

fn letters_keep_their_order(runtime: &Runtime) {
    let (to, from) = unbounded();
    let id = runtime
        .create(&PLAIN, move || {
            for i in 0..500 {
                to.send(i).unwrap();
            }
            0
        })
        .unwrap();
    for i in 0..500 {
        assert_eq!(from.recv(), Ok(i));
    }
    runtime.join(id).unwrap();
    assert!(from.recv().is_err(), "the sender is gone");
}

fn a_full_mailbox_waits(runtime: &Runtime) {
    let (to, from) = bounded(2);
    let first = to.clone();
    let sender = runtime.create(&PLAIN, move || (0..100).filter(|&i| first.send(i).is_ok()).count()).unwrap();
    let receiver =
        runtime.create(&PLAIN, move || (0..100).filter(|&i| from.recv() == Ok(i)).count()).unwrap();
    drop(to);
    assert_eq!(runtime.join(sender).unwrap(), 100);
    assert_eq!(runtime.join(receiver).unwrap(), 100);
}

fn closed_mailboxes(runtime: &Runtime) {
    let (to, from) = bounded(1);
    to.try_send(1).unwrap();
    assert!(matches!(to.try_send(2), Err(TrySendError::Full(2))));
    let waiting = runtime.create(&PLAIN, move || to.send(3).map_or_else(|letter| letter.0, |()| 0)).unwrap();
    drop(from);
    assert_eq!(runtime.join(waiting).unwrap(), 3, "given back");

    let (to, from) = unbounded::<()>();
    let waiting = runtime.create(&PLAIN, move || usize::from(from.recv().is_err())).unwrap();
    drop(to);
    assert_eq!(runtime.join(waiting).unwrap(), 1);
}

fn a_letter_that_does_not_come(runtime: &Runtime) {
    let (to, from) = unbounded::<()>();
    let id = runtime
        .create(&PLAIN, move || {
            usize::from(
                from.recv_until(this_thread::now() + Duration::from_micros(30)) == Err(TryRecvError::Empty),
            )
        })
        .unwrap();
    assert_eq!(runtime.join(id).unwrap(), 1);
    drop(to);
}

/// A thread of this model, a thread of another model, and a thread that belongs to no runtime send
/// letters to each other.
fn inside_and_outside_meet(runtime: &Runtime) {
    let other = common::start(common::another());
    let (to_first, first) = unbounded::<usize>();
    let (to_second, second) = bounded::<usize>(1);
    let (to_us, us) = unbounded::<usize>();
    let one = runtime.create(&PLAIN, move || first_hops(&first, &to_second)).unwrap();
    let two = other.create(&PLAIN, move || second_hops(&second, &to_us)).unwrap();
    for i in 0..50 {
        to_first.send(i).unwrap();
        assert_eq!(us.recv(), Ok(i + 2));
    }
    drop(to_first);
    assert_eq!(runtime.join(one).unwrap(), 50);
    assert_eq!(other.join(two).unwrap(), 50);
    // A thread of the other runtime joins a thread of this runtime.
    let handle = runtime.handle();
    let id = runtime.create(&PLAIN, || 6).unwrap();
    assert_eq!(other.run(move || handle.join(id).unwrap()).unwrap(), 6);
}

fn first_hops(
    from: &tickwright_threads::sync::Receiver<usize>,
    to: &tickwright_threads::sync::Sender<usize>,
) -> usize {
    let mut hops = 0;
    while let Ok(letter) = from.recv() {
        to.send(letter + 1).unwrap();
        hops += 1;
    }
    hops
}

use first_hops as second_hops;

/// Only `park` consumes a wake-up by `unpark`. Other waits in between do not.
fn a_wait_takes_no_unpark(runtime: &Runtime) {
    let (to, from) = unbounded::<()>();
    let gate = Arc::new(Gate::default());
    let opened = Arc::clone(&gate);
    let id = runtime
        .create(&PLAIN, move || {
            opened.open();
            from.recv().unwrap();
            this_thread::park();
            1
        })
        .unwrap();
    gate.wait();
    runtime.unpark(id).unwrap();
    to.send(()).unwrap();
    assert_eq!(runtime.join(id).unwrap(), 1);
}

/// A value that counts how often it is dropped.
struct Noticed(Arc<AtomicUsize>);

impl Drop for Noticed {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn values_of_ones_own(runtime: &Runtime) {
    let count: Arc<ThreadLocal<Cell<usize>>> = Arc::new(ThreadLocal::new(|| Cell::new(0)));
    let held: Arc<ThreadLocal<RefCell<Vec<Noticed>>>> = Arc::new(ThreadLocal::new(RefCell::default));
    let dropped = Arc::new(AtomicUsize::new(0));
    let ids: Vec<_> = (0..8)
        .map(|i| {
            let (count, held, dropped) = (Arc::clone(&count), Arc::clone(&held), Arc::clone(&dropped));
            runtime
                .create(&PLAIN, move || {
                    held.with(|held| held.borrow_mut().push(Noticed(dropped)));
                    for _ in 0..i {
                        count.with(|count| count.set(count.get() + 1));
                        this_thread::yield_now();
                    }
                    count.with(Cell::get)
                })
                .unwrap()
        })
        .collect();
    for (i, id) in ids.into_iter().enumerate() {
        assert_eq!(runtime.join(id).unwrap(), i);
    }
    assert_eq!(dropped.load(Ordering::SeqCst), 8, "each with its thread, before it was joined");
    assert!(!count.is_set(), "nobody's is ours");
}

fn values_that_make_values(runtime: &Runtime) {
    struct Again(Arc<ThreadLocal<RefCell<Option<Again>>>>, Arc<AtomicUsize>);
    impl Drop for Again {
        fn drop(&mut self) {
            if self.1.fetch_add(1, Ordering::SeqCst) < 2 {
                let next = Again(Arc::clone(&self.0), Arc::clone(&self.1));
                self.0.with(|value| *value.borrow_mut() = Some(next));
            } else {
                std::panic::resume_unwind(Box::new("in a drop"));
            }
        }
    }
    let drops = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&drops);
    let id = runtime
        .create(&PLAIN, move || {
            let local = Arc::new(ThreadLocal::new(|| RefCell::new(None)));
            let first = Again(Arc::clone(&local), counted);
            local.with(|value| *value.borrow_mut() = Some(first));
            4
        })
        .unwrap();
    assert_eq!(runtime.join(id).unwrap(), 4, "the panic of a drop ends there");
    assert_eq!(drops.load(Ordering::SeqCst), 3);
}

fn philosophers(runtime: &Runtime) {
    let forks: Arc<Vec<Mutex<usize>>> = Arc::new((0..5).map(|_| Mutex::new(0)).collect());
    let ids: Vec<_> = (0..5)
        .map(|i: usize| {
            let forks = Arc::clone(&forks);
            runtime
                .create(&PLAIN, move || {
                    let (first, second) = (i.min((i + 1) % 5), i.max((i + 1) % 5));
                    for _ in 0..50 {
                        let mut left = forks[first].lock();
                        this_thread::yield_now();
                        let mut right = forks[second].lock();
                        *left += 1;
                        *right += 1;
                    }
                    0
                })
                .unwrap()
        })
        .collect();
    for id in ids {
        runtime.join(id).unwrap();
    }
    assert!(forks.iter().all(|fork| *fork.lock() == 100));
}

/// Waiters that give up do not consume a wake-up, so the other waiters get the lock.
fn a_lock_is_given_up_when_its_time_is_over(runtime: &Runtime) {
    const SHORT: Duration = Duration::from_micros(20);
    let lock = Arc::new(Mutex::new(0_usize));
    assert!(lock.lock_timeout(SHORT).is_some());
    let guard = lock.lock();
    let theirs = Arc::clone(&lock);
    let late = runtime.create(&PLAIN, move || usize::from(theirs.lock_timeout(SHORT).is_none())).unwrap();
    assert_eq!(runtime.join(late).unwrap(), 1);
    drop(guard);
    let threads: Vec<_> = (0..6)
        .map(|kind| {
            let lock = Arc::clone(&lock);
            let body = move || {
                for _ in 0..200 {
                    // Threads with an even number wait without a limit. Threads with an odd number
                    // wait for a short time again and again.
                    let mut guard = if kind % 2 == 0 {
                        lock.lock()
                    } else {
                        core::iter::repeat_with(|| lock.lock_timeout(SHORT)).flatten().next().unwrap()
                    };
                    let before = *guard;
                    this_thread::yield_now();
                    *guard = before + 1;
                }
                0
            };
            runtime.create(&PLAIN, body).unwrap()
        })
        .collect();
    for thread in threads {
        runtime.join(thread).unwrap();
    }
    assert_eq!(*lock.lock(), 1200);
}
