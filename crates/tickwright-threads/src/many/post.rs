//! What others reach of a worker: its new threads, its registry, its inbox, and how it is woken.

use std::collections::VecDeque;
use std::sync::OnceLock;

use super::asleep::{Asleep, Sleep};
use super::inbox::Inbox;
use super::pipe::Pipe;
use super::shelves::Shelves;
use crate::id::ThreadId;
use crate::kernel_thread::KernelThread;
use crate::primitive::{AtomicU32, AtomicU64, Ordering};
use crate::registry::{Dictionary, Registered};
use crate::roster::{HasShard, Locked, Shard};
use crate::stack::Mapping;
use crate::threads::Body;

#[cfg(all(test, loom))]
mod models;

/// A thread that has not begun: it belongs to no worker yet.
pub(super) struct Fresh {
    pub(super) id: ThreadId,
    pub(super) registered: Registered,
    pub(super) body: Body,
    /// A stack of its own; `None`: one of its worker's, which has as many to spare as such threads.
    pub(super) mapping: Option<Mapping>,
}

/// What is under the worker's own lock, beside its shard of the roster. Others take the lock rarely.
#[derive(Default)]
pub(super) struct Home {
    pub(super) fresh: VecDeque<Fresh>,
    /// How many of these have no stack of their own.
    pub(super) owed: usize,
    /// With one queue for all: who is ready, by worker, and stacks that nobody uses.
    pub(super) ready: Vec<VecDeque<u32>>,
    pub(super) stacks: Shelves,
}

impl Home {
    pub(super) fn push_ready(&mut self, worker: usize, number: u32) {
        if let Some(ready) = self.ready.get_mut(worker) {
            ready.push_back(number);
        }
    }

    /// Sees to room for so many in the list of a worker. False: there is no memory.
    pub(super) fn make_room_for_ready(&mut self, worker: usize, all: usize) -> bool {
        self.ready.get_mut(worker).is_some_and(|ready| {
            let more = all.saturating_sub(ready.len());
            ready.try_reserve(more).is_ok()
        })
    }

    pub(super) fn has_ready(&self, worker: usize) -> bool {
        self.ready.get(worker).is_some_and(|ready| !ready.is_empty())
    }

    /// Sees to room for one new thread more, and for those that `takers` have just taken and may put back. False: there is no memory.
    #[inline]
    pub(super) fn make_room(&mut self, takers: usize) -> bool {
        self.fresh.try_reserve(1 + takers).is_ok()
    }
}

pub(super) struct Post {
    shard: Shard<Home>,
    /// How many threads are in `fresh`. Written under the lock.
    fresh: AtomicU32,
    /// How many of its new threads the worker has begun.
    pub(super) begun: AtomicU64,
    pub(super) inbox: Inbox,
    pub(super) asleep: Asleep,
    pub(super) thread: OnceLock<KernelThread>,
    pub(super) poller: OnceLock<polling::Poller>,
    pub(super) pipe: Option<Pipe>,
}

impl HasShard for Post {
    type Own = Home;

    #[inline]
    fn shard(&self) -> &Shard<Home> {
        &self.shard
    }
}

impl Post {
    pub(super) fn new(at: usize, dictionary: Dictionary, pipe: Option<Pipe>) -> Self {
        Self {
            shard: Shard::new(at, dictionary, Home::default()),
            fresh: AtomicU32::new(0),
            begun: AtomicU64::new(0),
            inbox: Inbox::new(),
            asleep: Asleep::new(),
            thread: OnceLock::new(),
            poller: OnceLock::new(),
            pipe,
        }
    }

    /// Uses what is under the lock.
    #[inline]
    pub(super) fn locked<R>(&self, use_it: impl FnOnce(&mut Locked<Home>) -> R) -> R {
        self.shard.locked(use_it)
    }

    /// How many threads wait here to begin. A hint, unless the caller is the only one to take.
    #[inline]
    pub(super) fn fresh(&self) -> u32 {
        self.fresh.load(Ordering::Relaxed)
    }

    /// Queues a new thread, under the lock. There is room: [`Home::make_room`].
    #[inline]
    pub(super) fn push(&self, home: &mut Home, fresh: Fresh) {
        home.owed += usize::from(fresh.mapping.is_none());
        home.fresh.push_back(fresh);
        self.fresh.store(home.fresh.len() as u32, Ordering::Relaxed);
    }

    /// The new thread that has waited longest.
    #[inline]
    pub(super) fn pop(&self, home: &mut Home) -> Option<Fresh> {
        let fresh = home.fresh.pop_front()?;
        home.owed -= usize::from(fresh.mapping.is_none());
        self.fresh.store(home.fresh.len() as u32, Ordering::Relaxed);
        Some(fresh)
    }

    /// Wakes the worker if it sleeps. After what it shall find. False: it was awake, or somebody else wakes it.
    #[inline]
    pub(super) fn wake(&self) -> bool {
        let how = self.asleep.call();
        if let Some(how) = how {
            self.rouse(how);
        }
        how.is_some()
    }

    #[cold]
    fn rouse(&self, how: Sleep) {
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

/// Wakes the first worker that sleeps. One that gets up meanwhile is passed over: it may have work of its own.
pub(super) fn wake_one<'p>(mut posts: impl Iterator<Item = &'p Post>) -> bool {
    posts.any(Post::wake)
}
