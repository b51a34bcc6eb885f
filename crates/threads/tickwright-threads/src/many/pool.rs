//! The state that the workers of one runtime share: its threads, settings and stacks, and the
//! number of idle workers.
//!
//! The pool does not depend on how a worker runs threads. It only passes threads to workers and
//! wakes workers.

use core::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Mutex};

use tickwright::time::Instant;

use super::remote::{self, Remote, SpawnQueue, Spawned};
use super::remote_queue::Links;
use super::settings::ManyToMany;
use super::sleep::IdleWorkers;
use super::sleepers::Structure;
use crate::attributes::Attributes;
use crate::clock::Timekeeper;
use crate::error::CreateError;
use crate::id::ThreadId;
use crate::kernel::Joinable;
use crate::mapping::{Mapping, why_none};
use crate::memory::try_text;
use crate::primitive::{AtomicU32, Ordering};
use crate::record::{NONE, Record, Table};
use crate::registry::Registered;
use crate::roster::{Locked, Roster};
use crate::stack::in_pages;
use crate::threads::Body;
use crate::waiters::Waiters;
use crate::wake_flags::Wakeup;

impl Links for Table<()> {
    #[inline]
    fn link(&self, number: u32) -> Option<&AtomicU32> {
        if number == NONE { None } else { self.get(number).map(|record| &record.next) }
    }
}

/// The smallest number of bytes that is mapped for a stack. The program's signal handlers run on
/// the stack that they interrupt, and need room there.
const LEAST_MAPPED: usize = 64 << 10;

/// Returns the size to map for a stack of `stack` bytes, with room for signal handlers and rounded
/// up to whole pages.
pub(super) fn with_room(stack: usize) -> usize {
    in_pages(stack.max(LEAST_MAPPED))
}

/// The state that the workers of one runtime share.
pub(crate) struct WorkerPool {
    /// All threads. The roster has one place for each worker, and one more for creators outside of
    /// the runtime.
    pub(super) roster: Roster<Remote, ()>,
    /// The settings, with sizes in whole pages.
    pub(super) settings: ManyToMany,
    pub(super) stacks: Arc<AtomicUsize>,
    pub(super) structure: Structure,
    pub(super) keeper: Timekeeper,
    pub(super) idle_workers: IdleWorkers,
    /// The worker that gets the next thread with [`Place::Spread`](crate::Place::Spread).
    pub(super) turn: AtomicU32,
    /// Whether creations from outside of the runtime are refused.
    pub(super) closing: AtomicBool,
    /// Whether no thread is left, so that the workers end.
    pub(super) stopped: AtomicBool,
    /// Threads that wait until the runtime has no threads.
    pub(super) closers: Waiters,
    pub(super) workers: Mutex<Vec<Joinable>>,
}

/// Stores the name in the record. Returns false if there is no memory for it.
fn keep_name(record: &Record<()>, name: &str) -> bool {
    let kept = try_text(name);
    let is_kept = kept.is_some();
    record.slow(|slow| slow.name = kept);
    is_kept
}

impl WorkerPool {
    pub(super) fn now(&self) -> Instant {
        self.keeper.now()
    }

    /// Returns the parts of the workers that other threads use. The last part is for creators
    /// outside of the runtime.
    #[inline]
    pub(super) fn remotes(&self) -> &[Remote] {
        self.roster.places()
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Returns the part that holds the worker's new threads, records and registry.
    #[inline]
    pub(super) fn queue(&self, worker: usize) -> &Remote {
        &self.remotes()[if self.settings.ways().global_queue { 0 } else { worker }]
    }

    /// Returns the part that holds the shared cache, for stacks that came with their threads. If
    /// the number of stacks is bounded, the shared cache holds all free stacks. Otherwise a creator
    /// could not use the stacks that other workers have cached, and a creation could fail although
    /// no thread runs.
    pub(super) fn cache(&self) -> &Remote {
        self.queue(self.remotes().len() - 1)
    }

    // ---- threads come

    /// Returns whether the attributes request a stack of the usual size, which is cached.
    pub(super) fn is_usual(&self, attributes: &Attributes) -> bool {
        attributes.stack.is_none_or(|stack| with_room(stack) == self.settings.stack)
            && attributes.guard.is_none_or(|guard| in_pages(guard) == self.settings.guard)
    }

    pub(super) fn map(&self, stack: usize, guard: usize) -> Result<Mapping, CreateError> {
        // The count must not exceed the bound even for a moment, because another creator could be
        // refused at that moment.
        let more = |have| if have < self.settings.most_stacks { Some(have + 1) } else { None };
        let have = loop {
            match self.stacks.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more) {
                Ok(have) => break have,
                // A cached stack was unmapped, so there is room for the new stack.
                Err(_) if self.give_one_back() => {}
                Err(have) => return Err(CreateError::OutOfStacks { have, error: None }),
            }
        };
        let mapping = loop {
            match Mapping::new(stack, guard) {
                Err(_) if self.give_one_back() => {}
                mapping => break mapping,
            }
        };
        match mapping {
            Ok(mapping) => Ok(mapping.counted(Arc::clone(&self.stacks))),
            Err(error) => {
                self.stacks.fetch_sub(1, Ordering::Relaxed);
                Err(why_none(error, |error| CreateError::OutOfStacks { have, error: Some(error) }))
            }
        }
    }

    /// Returns a stack of the usual size.
    pub(super) fn map_usual(&self) -> Result<Mapping, CreateError> {
        self.map(self.settings.stack, self.settings.guard)
    }

    /// Registers a new thread with its name, and returns its id.
    #[inline]
    pub(super) fn register(
        &self,
        locked: &mut Locked<SpawnQueue>,
        attributes: &Attributes,
    ) -> Result<(ThreadId, Registered), CreateError> {
        self.roster.register(locked, attributes.detached, |record| {
            attributes.name.as_ref().is_none_or(|name| keep_name(record, name.as_str()))
        })
    }

    /// Creates a thread with its own stack. `from` is the place in whose registry the thread is
    /// registered. `to` is its worker, or `None` for the next worker in turn.
    pub(super) fn create_at(
        &self,
        from: usize,
        to: Option<usize>,
        attributes: &Attributes,
        body: Body,
    ) -> Result<ThreadId, CreateError> {
        let workers = self.remotes().len() - 1;
        let to = to.unwrap_or_else(|| self.turn.fetch_add(1, Ordering::Relaxed) as usize % workers);
        let stack = attributes.stack.map_or(self.settings.stack, with_room);
        let guard = attributes.guard.map_or(self.settings.guard, in_pages);
        let kept = self.cache().locked(|locked| locked.own.stacks.take(stack, guard));
        let mapping = match kept {
            Some(mapping) => mapping,
            None => self.map(stack, guard)?,
        };
        let queue = self.queue(to);
        let (id, registered) = self.queue(from).locked(|locked| self.register(locked, attributes))?;
        // This check comes after the registration. Therefore either the thread that closes the
        // runtime sees the new thread, or this check finds that the runtime is closing. Threads of
        // a closing runtime can still create threads.
        if self.closing.load(Ordering::SeqCst) && from == workers {
            self.withdraw(id, registered);
            return Err(CreateError::Closed);
        }
        let spawned = Spawned { id, registered, body, mapping: Some(mapping) };
        let refused = queue.locked(|locked| {
            if locked.own.make_room(self.remotes().len()) {
                queue.push(&mut locked.own, spawned);
                None
            } else {
                Some(spawned)
            }
        });
        if let Some(spawned) = refused {
            self.withdraw(id, registered);
            drop(spawned);
            return Err(CreateError::OutOfMemory);
        }
        self.remotes()[to].wake();
        self.notify_idle(to);
        Ok(id)
    }

    /// Returns whether all workers share one cache of free stacks, instead of one cache for each
    /// worker.
    #[inline]
    pub(super) fn keeps_for_all(&self) -> bool {
        self.settings.most_stacks < usize::MAX
    }

    /// Unmaps a stack of the shared cache. Returns false if the cache is empty.
    pub(super) fn give_one_back(&self) -> bool {
        self.cache().locked(|locked| locked.own.stacks.take_any()).is_some()
    }

    /// Adds a stack to the shared cache. This cache is limited to the number of stacks and the
    /// amount of memory that the cache of one worker can hold.
    pub(super) fn keep_for_all(&self, mapping: Mapping) {
        let most_bytes = self.settings.keep.saturating_mul(self.settings.stack + self.settings.guard);
        drop(self.cache().locked(|locked| locked.own.stacks.keep(mapping, self.settings.keep, most_bytes)));
    }

    /// Called after a creation, and by a worker that gets work while it searches. Notifies an idle
    /// worker, which begins the new thread if the worker `from` does not.
    #[inline]
    pub(super) fn notify_idle(&self, from: usize) {
        if self.idle_workers.any() {
            self.wake_idle(from);
        }
    }

    #[cold]
    pub(super) fn wake_idle(&self, from: usize) {
        let workers = self.remotes().len() - 1;
        remote::wake_one((1..workers).map(|step| &self.remotes()[(from + step) % workers]));
    }

    /// Undoes the registration of a thread whose creation failed.
    #[cold]
    pub(super) fn withdraw(&self, id: ThreadId, registered: Registered) {
        self.roster.unregister(id, registered);
        if let Some(record) = self.roster.table().get(id.record()) {
            self.roster.release(id, record);
        }
        self.has_ended();
    }

    // ---- threads go

    /// Called when a thread has ended. Wakes the threads that wait to close the runtime, so that
    /// they check again.
    #[inline]
    pub(super) fn has_ended(&self) {
        if self.closing.load(Ordering::SeqCst) {
            self.look_for_the_end();
        }
    }

    #[cold]
    pub(super) fn look_for_the_end(&self) {
        if self.roster.live() == 0 {
            self.stop();
            self.closers.wake_all();
        }
    }

    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        for remote in self.remotes() {
            remote.wake();
        }
    }

    pub(super) fn notify_remote(&self, number: u32, record: &Record<()>, wakeup: Wakeup) {
        if !record.wake_flags.notify(wakeup) {
            return;
        }
        // The thread of this record has begun, and it cannot end before its worker has received the
        // record. Therefore the owner is valid here.
        let owner = record.owner.load(Ordering::Relaxed) as usize;
        let Some(remote) = self.remotes().get(owner) else { return };
        if self.settings.ways().global_queue {
            self.queue(owner).locked(|locked| locked.own.push_ready(owner, number));
        } else {
            remote.remote_queue.push(self.roster.table(), number);
        }
        remote.wake();
    }
}
