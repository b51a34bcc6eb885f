//! Loom models of the remote queue, and of a worker that sleeps and takes records from it, in all
//! schedules.

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

use super::{Links, RemoteQueue};
use crate::many::sleep::{IdleWorkers, Sleep, SleepState};
use crate::primitive::AtomicU32;

struct Small {
    remote_queue: RemoteQueue,
    sleep: SleepState,
    idle_workers: IdleWorkers,
    links: Vec<AtomicU32>,
    letters: Vec<UnsafeCell<u32>>,
}

impl Links for Vec<AtomicU32> {
    fn link(&self, number: u32) -> Option<&AtomicU32> {
        self.get(number as usize)
    }
}

fn small(records: u32) -> Arc<Small> {
    Arc::new(Small {
        remote_queue: RemoteQueue::new(),
        sleep: SleepState::new(),
        idle_workers: IdleWorkers::new(),
        links: (0..records).map(|_| AtomicU32::new(u32::MAX)).collect(),
        letters: (0..records).map(|_| UnsafeCell::new(0)).collect(),
    })
}

fn put(small: &Small, number: u32) {
    // SAFETY: loom checks this, and reports a second access at the same time.
    small.letters[number as usize].with_mut(|letter| unsafe { *letter = number + 1 });
    small.remote_queue.push(&small.links, number);
}

fn take(small: &Small, taken: &mut Vec<u32>) {
    small.remote_queue.take_all(&small.links, |number| {
        // SAFETY: as above.
        assert_eq!(small.letters[number as usize].with(|letter| unsafe { *letter }), number + 1);
        taken.push(number);
    });
}

/// Runs a model in all schedules with at most three preemptions.
fn model(body: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(body);
}

#[test]
fn all_are_taken_once_in_order_with_what_was_written() {
    model(|| {
        let small = small(3);
        let other = thread::spawn({
            let small = Arc::clone(&small);
            move || {
                put(&small, 0);
                put(&small, 1);
            }
        });
        let third = thread::spawn({
            let small = Arc::clone(&small);
            move || put(&small, 2)
        });
        let mut taken = Vec::new();
        take(&small, &mut taken);
        other.join().unwrap();
        third.join().unwrap();
        take(&small, &mut taken);
        let of_one: Vec<_> = taken.iter().copied().filter(|&number| number < 2).collect();
        assert_eq!((taken.len(), of_one), (3, vec![0, 1]));
    });
}

#[test]
fn nobody_sleeps_on_what_was_handed_over() {
    model(|| {
        let small = small(2);
        let worker = thread::current();
        let others = [0, 1].map(|number| {
            let (small, worker) = (Arc::clone(&small), worker.clone());
            thread::spawn(move || {
                put(&small, number);
                if let Some(how) = small.sleep.notify() {
                    assert_eq!(how, Sleep::Parked);
                    worker.unpark();
                }
            })
        });
        let mut taken = Vec::new();
        while taken.len() < 2 {
            take(&small, &mut taken);
            if taken.len() < 2 {
                let has_work = || !small.remote_queue.is_empty();
                small.sleep.sleep_once(
                    &small.idle_workers,
                    Sleep::Parked,
                    false,
                    has_work,
                    || false,
                    thread::park,
                );
            }
        }
        for other in others {
            other.join().unwrap();
        }
    });
}
