//! Records whether and how each worker sleeps, in one atomic word for each worker and one word for
//! all workers.
//!
//! A worker without work first *searches*: it sleeps with a time limit, and then checks whether
//! spawned threads wait at other workers. If it finds no such thread, it becomes *idle*: it sleeps
//! without a time limit, until it is notified.
//!
//! # Invariants
//! 1. A thread first hands work to a worker, and then notifies the worker. A worker first announces
//!    its sleep, and then checks for work once more. Either the thread sees the announcement or the
//!    worker sees the work, so a worker that has work does not stay asleep.
//! 2. If several threads notify a worker, exactly one of them wakes it.
//! 3. A creator first queues a thread, and then checks whether a worker is idle. A worker first
//!    becomes idle, and then checks for queued threads. Therefore, if a thread waits to begin while
//!    every worker without work is idle, one of these workers has been notified.
//! 4. If a creator's notification finds the worker awake, the creator tries the next worker. If a
//!    notified worker has other work when it wakes, it sees that threads wait to begin, and
//!    notifies another worker.

use crate::primitive::{AtomicU32, Ordering, fence};

const AWAKE: u32 = 0;

/// How a worker sleeps, which determines how it is woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sleep {
    /// Parked like a kernel thread.
    Parked = 1,
    /// Waiting for descriptors.
    Polling = 2,
    /// Waiting for its pipe.
    InPipe = 3,
}

pub(super) struct SleepState(AtomicU32);

impl SleepState {
    pub(super) fn new() -> Self {
        Self(AtomicU32::new(AWAKE))
    }

    /// Sleeps once, unless a last check finds work. If `searches` is true, the sleep has a time
    /// limit, and threads that wait at other workers do not prevent it.
    pub(super) fn sleep_once(
        &self,
        idle_workers: &IdleWorkers,
        how: Sleep,
        searches: bool,
        has_work: impl FnOnce() -> bool,
        others_wait: impl FnOnce() -> bool,
        sleep: impl FnOnce(),
    ) {
        if !searches {
            idle_workers.0.fetch_add(1, Ordering::Relaxed);
        }
        self.announce(how);
        // Both words are written at this point. From now on, a thread that hands over work wakes
        // this worker, and a creator notifies it if it is idle. The check below sees all work that
        // was handed over before.
        if !has_work() && (searches || !others_wait()) {
            sleep();
        }
        self.awake();
        if !searches {
            idle_workers.0.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Announces that the worker will sleep, unless it finds work in the check that follows.
    fn announce(&self, how: Sleep) {
        self.0.swap(how as u32, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Ends the worker's sleep. If a notification found it asleep, the worker now sees everything
    /// from before that notification.
    fn awake(&self) {
        self.0.swap(AWAKE, Ordering::Acquire);
    }

    /// Called after work was handed over. If the worker sleeps and no other thread wakes it,
    /// returns how to wake it.
    #[inline]
    pub(super) fn notify(&self) -> Option<Sleep> {
        fence(Ordering::SeqCst);
        if self.0.load(Ordering::Relaxed) == AWAKE { None } else { self.wake_up() }
    }

    #[cold]
    fn wake_up(&self) -> Option<Sleep> {
        let word = self.0.swap(AWAKE, Ordering::Release);
        [Sleep::Parked, Sleep::Polling, Sleep::InPipe].into_iter().find(|how| *how as u32 == word)
    }
}

/// The number of idle workers.
pub(super) struct IdleWorkers(AtomicU32);

impl IdleWorkers {
    pub(super) fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// Returns whether a worker is idle. A creator calls this after it has queued a thread. The
    /// fence pairs with the fence in `announce`.
    #[inline]
    pub(super) fn any(&self) -> bool {
        fence(Ordering::SeqCst);
        self.0.load(Ordering::Relaxed) > 0
    }
}
