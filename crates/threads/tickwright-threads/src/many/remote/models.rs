//! Loom models of workers without work and of threads that wait to begin, in all schedules with at
//! most three preemptions. If no worker begins such a thread, a worker sleeps forever, which loom
//! reports.

use loom::thread;
use std::sync::Arc;

use super::super::sleep::{IdleWorkers, Sleep};
use super::{Remote, Spawned, wake_one};
use crate::kernel_thread::KernelThread;
use crate::primitive::{AtomicU32, Ordering};
use crate::registry::RegistryKind;
use crate::roster::Roster;

fn model(preemptions: usize, body: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(body);
}

/// The parts of workers that other threads use. The first worker is always busy with a thread that
/// creates others.
struct Workers<const N: usize> {
    roster: Roster<Remote, ()>,
    idle_workers: IdleWorkers,
    /// For each worker, whether another worker has notified one of its threads.
    work: [AtomicU32; N],
}

impl<const N: usize> Workers<N> {
    fn new() -> Arc<Self> {
        let roster = Roster::new((0..N).map(|at| Remote::new(at, RegistryKind::None, None)).collect());
        let work = core::array::from_fn(|_| AtomicU32::new(0));
        Arc::new(Self { roster, idle_workers: IdleWorkers::new(), work })
    }

    /// The same as `WorkerPool::notify_remote`.
    fn notify(&self, to: usize) {
        self.work[to].store(1, Ordering::Relaxed);
        self.roster.places()[to].wake();
    }

    /// Starts the worker `own`.
    fn start(self: &Arc<Self>, own: usize, how: Sleep) -> thread::JoinHandle<bool> {
        let workers = Arc::clone(self);
        thread::spawn(move || workers.idle(own, how))
    }

    /// The same as `Worker::create`.
    fn create(&self, at: usize) {
        self.roster.places()[at].locked(|locked| {
            let (id, registered) = self.roster.register(locked, false, |_| true).unwrap();
            self.roster.places()[at]
                .push(&mut locked.own, Spawned { id, registered, body: Box::new(|| 0), mapping: None });
        });
        self.notify_idle(at);
    }

    /// The same as `WorkerPool::notify_idle`.
    fn notify_idle(&self, from: usize) {
        if self.idle_workers.any() {
            wake_one((1..N).map(|step| &self.roster.places()[(from + step) % N]));
        }
    }

    fn others_wait(&self, own: usize) -> bool {
        (1..N).any(|step| self.roster.places()[(own + step) % N].spawned() > 0)
    }

    /// Does what `Worker::idle` does if the other workers begin no thread. Returns whether the
    /// worker took a thread. If it did not, it has other work.
    fn idle(&self, own: usize, how: Sleep) -> bool {
        let _ = self.roster.places()[own].thread.set(KernelThread::current());
        let has_work = || self.work[own].load(Ordering::Relaxed) != 0;
        let mut searched = false;
        loop {
            let taken = searched
                && (1..N).any(|step| {
                    let remote = &self.roster.places()[(own + step) % N];
                    remote.spawned() > 0 && remote.locked(|locked| remote.pop(&mut locked.own)).is_some()
                });
            if taken {
                self.notify_next(own);
                return true;
            }
            let search = self.others_wait(own);
            self.roster.places()[own].sleep.sleep_once(
                &self.idle_workers,
                how,
                search,
                has_work,
                || self.others_wait(own),
                || if search { thread::yield_now() } else { KernelThread::park() },
            );
            if has_work() {
                self.notify_next(own);
                return false;
            }
            searched = search;
        }
    }

    /// The same as `Worker::notify_next`.
    fn notify_next(&self, own: usize) {
        if self.roster.places()[own].spawned() > 1 || self.others_wait(own) {
            self.notify_idle(own);
        }
    }
}

#[test]
fn a_thread_behind_a_busy_worker_is_seen_by_one_without_work() {
    model(3, || {
        let workers = Workers::<2>::new();
        let idle = workers.start(1, Sleep::Parked);
        workers.create(0);
        assert!(idle.join().unwrap());
    });
}

/// Each worker takes one thread, although the worker that is notified first can see both.
#[test]
fn two_threads_find_two_workers_without_work() {
    model(2, || {
        let workers = Workers::<3>::new();
        let idle = [1, 2].map(|own| workers.start(own, Sleep::Parked));
        workers.create(0);
        workers.create(0);
        for each in idle {
            assert!(each.join().unwrap());
        }
    });
}

/// A worker that is notified of a new thread but already has other work leaves the thread to the
/// second worker.
#[test]
fn a_worker_that_has_other_work_leaves_the_thread_to_another() {
    model(3, || {
        let workers = Workers::<3>::new();
        let [first, second] = [1, 2].map(|own| workers.start(own, Sleep::Parked));
        workers.notify(1);
        workers.create(0);
        if first.join().unwrap() {
            workers.notify(2);
            second.join().unwrap();
        } else {
            assert!(second.join().unwrap());
        }
    });
}

/// A worker that is notified finds other work in its last check. The worker does not sleep, so only
/// the notification makes the new thread visible to it. In loom, waking a parked thread orders more
/// memory accesses than on the platform. Therefore this worker sleeps in a pipe, which the model
/// does not contain.
#[test]
fn a_call_shows_the_thread_to_a_worker_that_does_not_sleep() {
    model(3, || {
        let workers = Workers::<3>::new();
        workers.work[1].store(1, Ordering::Relaxed);
        let (busy, idle) = (workers.start(1, Sleep::InPipe), workers.start(2, Sleep::Parked));
        workers.create(0);
        assert!(!busy.join().unwrap());
        assert!(idle.join().unwrap());
    });
}
