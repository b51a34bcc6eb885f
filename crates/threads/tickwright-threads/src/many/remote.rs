//! The part of a worker that other threads use: its spawn queue, its shard of the roster, its
//! remote run queue, and its wake-up.
#![expect(clippy::disallowed_types, reason = "no child enters its parent's workers")]

use std::collections::VecDeque;
use std::sync::OnceLock;

use super::pipe::Pipe;
use super::remote_queue::RemoteQueue;
use super::sleep::{Sleep, SleepState};
use super::stack_cache::StackCache;
use super::wake_cost::WakeCost;
use crate::host;
use crate::id::ThreadId;
use crate::kernel_thread::KernelThread;
use crate::mapping::Mapping;
use crate::primitive::{AtomicU32, AtomicU64, Ordering};
use crate::registry::{Registered, RegistryKind};
use crate::roster::{HasShard, Locked, Shard};
use crate::threads::Body;

#[cfg(all(test, loom))]
mod models;

/// A thread that was spawned and has not begun, so that it belongs to no worker yet.
pub(super) struct Spawned {
    pub(super) id: ThreadId,
    pub(super) registered: Registered,
    pub(super) body: Body,
    /// The thread's own stack. If it is `None`, the thread gets a spare stack of its worker, which
    /// has reserved one for each such thread.
    pub(super) mapping: Option<Mapping>,
}

/// The data under a worker's lock, in addition to the worker's shard of the roster. Other threads
/// rarely take this lock.
#[derive(Default)]
pub(super) struct SpawnQueue {
    pub(super) spawned: VecDeque<Spawned>,
    /// The number of spawned threads without a stack of their own.
    pub(super) owed: usize,
    /// The ready threads of each worker, if all workers share one queue.
    pub(super) ready: Vec<VecDeque<u32>>,
    /// Free stacks for all workers.
    pub(super) stacks: StackCache,
}

impl SpawnQueue {
    pub(super) fn push_ready(&mut self, worker: usize, number: u32) {
        if let Some(ready) = self.ready.get_mut(worker) {
            ready.push_back(number);
        }
    }

    /// Makes room for `all` threads in the ready list of a worker. Returns false if there is no
    /// memory.
    pub(super) fn make_room_for_ready(&mut self, worker: usize, all: usize) -> bool {
        self.ready.get_mut(worker).is_some_and(|ready| {
            let more = all.saturating_sub(ready.len());
            ready.try_reserve(more).is_ok()
        })
    }

    pub(super) fn has_ready(&self, worker: usize) -> bool {
        self.ready.get(worker).is_some_and(|ready| !ready.is_empty())
    }

    /// Makes room for one more thread, plus one thread for each of `takers` workers, which can
    /// requeue a thread that it has taken. Returns false if there is no memory.
    #[inline]
    pub(super) fn make_room(&mut self, takers: usize) -> bool {
        self.spawned.try_reserve(1 + takers).is_ok()
    }
}

/// The part of a worker that other threads use. The worker itself stays on its kernel thread.
pub(super) struct Remote {
    shard: Shard<SpawnQueue>,
    /// The number of threads in the spawn queue. Written under the lock.
    spawned: AtomicU32,
    /// The number of new threads that the worker has begun.
    pub(super) begun: AtomicU64,
    pub(super) remote_queue: RemoteQueue,
    pub(super) sleep: SleepState,
    pub(super) wake_cost: WakeCost,
    pub(super) thread: OnceLock<KernelThread>,
    pub(super) poller: OnceLock<polling::Poller>,
    pub(super) pipe: Option<Pipe>,
}

impl HasShard for Remote {
    type Own = SpawnQueue;

    #[inline]
    fn shard(&self) -> &Shard<SpawnQueue> {
        &self.shard
    }
}

impl Remote {
    pub(super) fn new(at: usize, dictionary: RegistryKind, pipe: Option<Pipe>) -> Self {
        Self {
            shard: Shard::new(at, dictionary, SpawnQueue::default()),
            spawned: AtomicU32::new(0),
            begun: AtomicU64::new(0),
            remote_queue: RemoteQueue::new(),
            sleep: SleepState::new(),
            wake_cost: WakeCost::new(),
            thread: OnceLock::new(),
            poller: OnceLock::new(),
            pipe,
        }
    }

    /// Calls `use_it` with the data under the lock.
    #[inline]
    pub(super) fn locked<R>(&self, use_it: impl FnOnce(&mut Locked<SpawnQueue>) -> R) -> R {
        self.shard.locked(use_it)
    }

    /// Returns the number of threads in the spawn queue. The number is only a hint, unless the
    /// caller is the only one that takes threads.
    #[inline]
    pub(super) fn spawned(&self) -> u32 {
        self.spawned.load(Ordering::Relaxed)
    }

    /// Queues a new thread, under the lock. The caller has made room with
    /// [`SpawnQueue::make_room`].
    #[inline]
    pub(super) fn push(&self, queue: &mut SpawnQueue, spawned: Spawned) {
        queue.owed += usize::from(spawned.mapping.is_none());
        queue.spawned.push_back(spawned);
        self.spawned.store(queue.spawned.len() as u32, Ordering::Relaxed);
    }

    /// Takes the thread that has been in the spawn queue longest.
    #[inline]
    pub(super) fn pop(&self, queue: &mut SpawnQueue) -> Option<Spawned> {
        let spawned = queue.spawned.pop_front()?;
        queue.owed -= usize::from(spawned.mapping.is_none());
        self.spawned.store(queue.spawned.len() as u32, Ordering::Relaxed);
        Some(spawned)
    }

    /// Wakes the worker if it sleeps. The caller must make the change that the worker must see
    /// before this call. Returns false if the worker is awake, or another thread is already waking
    /// it.
    #[inline]
    pub(super) fn wake(&self) -> bool {
        let how = self.sleep.notify();
        if let Some(how) = how {
            self.wake_up(how);
        }
        how.is_some()
    }

    #[cold]
    fn wake_up(&self, how: Sleep) {
        self.wake_cost.notified(host::machine_now().as_nanos());
        match how {
            Sleep::Parked => {
                if let Some(thread) = self.thread.get() {
                    thread.unpark();
                }
            }
            Sleep::Polling => {
                if let Some(poller) = self.poller.get() {
                    let _ = poller.notify();
                }
            }
            Sleep::InPipe => {
                if let Some(pipe) = &self.pipe {
                    pipe.write();
                }
            }
        }
    }
}

/// Wakes the first worker that sleeps, and returns whether there was one. A worker that another
/// thread is already waking is skipped, because it can have found other work.
pub(super) fn wake_one<'p>(mut remotes: impl Iterator<Item = &'p Remote>) -> bool {
    remotes.any(Remote::wake)
}
