//! Models in which each thread is one of the platform's: ids, joins and waits are common, how one is started and ended differs.

pub(crate) mod here;
mod manager;
mod one_to_one;
mod pthread;

use core::fmt;
use core::panic::AssertUnwindSafe;
use core::sync::atomic::AtomicBool;
use std::panic::catch_unwind;
use std::sync::{Arc, Mutex, Weak};

use crate::attributes::{Attributes, Name};
use crate::clock::{Timed, Timekeeper};
use crate::error::{CreateError, JoinError};
use crate::id::ThreadId;
use crate::join_word::{Claim, Detached, Leaves};
use crate::local;
use crate::many::overflow::{self, SignalStack};
use crate::memory::{try_box, try_text};
use crate::primitive::{Ordering, lock};
use crate::process::{self, Process};
use crate::quiet::drop_quietly;
use crate::record::{FreeList, Record, Table};
use crate::registry::{Dictionary, Registered, Registry};
use crate::threads::{Body, Threads, Wait};
use crate::waiter::{Waiter, Waiters, wait_for_end};

pub(crate) use pthread::{after_a_fork, before_a_fork};

pub use manager::Manager;
pub use one_to_one::{OneToOne, Stacks};

/// A thread that was started, for who joins it. Dropped instead, it is let go.
#[derive(Debug)]
pub(crate) enum Started {
    /// The creator's.
    Own(pthread::Started),
    /// The manager's.
    #[expect(dead_code, reason = "its drop is its use")]
    Managed(manager::Ticket),
}

/// What a thread of the platform runs.
pub(crate) type Run = Box<dyn FnOnce() + Send>;

/// Why a thread was not started, and what it would have run: it is the user's, and dropped where no lock is held.
pub(crate) type Refused = (CreateError, Run);

/// How a model starts and ends the platform's threads.
pub(crate) trait Starter: Send + Sync + fmt::Debug {
    /// The model in a word.
    fn model(&self) -> &'static str;

    /// The bytes of such a thread's stack.
    fn stack(&self, attributes: &Attributes) -> usize;

    /// Starts a thread that calls `run`. What comes back is for `reap`; of a detached thread, which nobody reaps, nothing.
    fn start(&self, attributes: &Attributes, run: Run) -> Result<Option<Started>, Refused>;

    /// Whether `reap` waits for a thread that runs.
    fn reap_waits(&self) -> bool {
        true
    }

    /// The thread, whose body has ended, is joined: waits until it is gone and frees its stack, or has another do so.
    fn reap(&self, started: Started);

    /// Called by each thread as the last thing that it does.
    fn leaving(&self) {}

    /// All threads have ended.
    fn closed(&self) {}
}

/// How many registries a runtime of kernel threads has: who creates at the same time should not meet.
const SHARDS: usize = 16;

#[derive(Debug)]
struct Shard {
    state: Mutex<ShardState>,
}

#[derive(Debug)]
struct ShardState {
    free: FreeList,
    registry: Registry,
}

/// A runtime of kernel threads.
#[derive(Debug)]
pub(crate) struct Kernel {
    table: Table,
    shards: Box<[Shard]>,
    starter: Box<dyn Starter>,
    timed: Timed,
    closing: AtomicBool,
    /// Who waits until no thread is left.
    closers: Waiters,
    /// A forked child has our memory, but none of our threads, and perhaps our locks, held for ever.
    process: Process,
    me: Weak<Self>,
}

impl Kernel {
    pub(crate) fn new(starter: Box<dyn Starter>, dictionary: Dictionary, timed: Timed) -> Arc<Self> {
        overflow::notice();
        let shard = |at| Shard {
            state: Mutex::new(ShardState { free: FreeList::new(at), registry: Registry::new(dictionary) }),
        };
        Arc::new_cyclic(|me| Self {
            table: Table::new(SHARDS),
            shards: (0..SHARDS).map(shard).collect(),
            starter,
            timed,
            closing: AtomicBool::new(false),
            closers: Waiters::new(),
            process: Process::this(),
            me: Weak::clone(me),
        })
    }

    pub(crate) fn timekeeper(&self) -> &Arc<Timekeeper> {
        &self.timed.keeper
    }

    /// All shards; in a forked child none.
    fn shards(&self) -> &[Shard] {
        if self.process.is_this() { &self.shards } else { &[] }
    }

    fn shard(&self, number: u32) -> Option<&Shard> {
        self.shards().get(Table::home(number))
    }

    /// A record and an id for a thread, registered.
    fn enroll(&self, detached: bool) -> Result<(ThreadId, &Record, Registered), CreateError> {
        let shard = self.shards.get(here::shard() % SHARDS).ok_or(CreateError::OutOfMemory)?;
        let mut state = lock(&shard.state);
        loop {
            let (number, record) = state.free.take(&self.table)?;
            // A record whose generations are used up names nobody ever again.
            let Some(generation) = record.join.issue(detached) else { continue };
            let registered = ThreadId::new(number, generation)
                .ok_or(CreateError::OutOfMemory)
                .and_then(|id| Ok((id, state.registry.insert(id)?)));
            return match registered {
                Ok((id, registered)) => Ok((id, record, registered)),
                Err(error) => {
                    record.release();
                    state.free.give(number, record);
                    Err(error)
                }
            };
        }
    }

    /// The body of this thread has ended, or it was never started.
    fn strike(&self, id: ThreadId, registered: Registered) {
        if let Some(shard) = self.shard(id.record()) {
            lock(&shard.state).registry.remove(registered);
            if self.closing.load(Ordering::SeqCst) {
                self.closers.wake_all();
            }
        }
    }

    /// The record is free for another thread.
    fn release(&self, id: ThreadId, record: &Record) {
        record.release();
        if let Some(shard) = self.shard(id.record()) {
            lock(&shard.state).free.give(id.record(), record);
        }
    }

    /// What each thread runs.
    fn run(self: Arc<Self>, id: ThreadId, registered: Registered, body: Body) {
        here::enter(&self, id);
        let outcome = catch_unwind(AssertUnwindSafe(body));
        if !self.process.is_this() {
            // The body has forked, and this is the child. Locks of the runtime may be held for ever.
            process::child_has_ended(outcome.is_err());
            drop_quietly(outcome);
            process::end_the_child();
        }
        local::end(Some(id));
        here::leave();
        self.strike(id, registered);
        if let Ok(record) = self.table.find(id) {
            record.leave(outcome);
            match record.join.finish() {
                Leaves::Detached => self.release(id, record),
                Leaves::Waited => {
                    // A copy: if the joiner has seen the end by itself, the record may be another thread's by now, and so what is in it.
                    if let Some(joiner) = record.slow(|slow| slow.joiner.clone()) {
                        joiner.wake();
                    }
                }
                Leaves::ToJoiner => {}
            }
        }
        self.starter.leaving();
    }

    /// The record of a thread that this process may have.
    fn find(&self, id: ThreadId) -> Result<&Record, JoinError> {
        if self.process.is_this() { self.table.find(id) } else { Err(JoinError::NoSuchThread) }
    }

    /// Waits for a thread that the caller has claimed.
    fn wait(&self, id: ThreadId, record: &Record, wait: Wait) -> Result<(), JoinError> {
        record.slow(|slow| slow.joiner = Some(Waiter::current()));
        wait_for_end(&record.join, id.generation(), self.timekeeper(), wait)
    }

    /// The same without end: the platform's own join does it at once.
    fn wait_for_end(&self, id: ThreadId, record: &Record) -> Result<(), JoinError> {
        if let Some(started) = record.slow(|slow| slow.started.take()) {
            self.starter.reap(started);
        }
        // It has finished, unless whoever closes the runtime was faster.
        if record.join.is_finished(id.generation()) { Ok(()) } else { self.wait(id, record, Wait::Forever) }
    }

    /// Takes what a finished thread has left. By the claimant.
    fn collect(&self, id: ThreadId, record: &Record) -> Result<usize, JoinError> {
        if let Some(started) = record.slow(|slow| slow.started.take()) {
            self.starter.reap(started);
        }
        let outcome = record.outcome();
        self.release(id, record);
        outcome
    }
}

impl Threads for Kernel {
    fn model(&self) -> &'static str {
        self.starter.model()
    }

    fn create(&self, attributes: &Attributes, body: Body) -> Result<ThreadId, CreateError> {
        attributes.check()?;
        if !self.process.is_this() {
            return Err(CreateError::Forked);
        }
        let me = self.me.upgrade().ok_or(CreateError::Closed)?;
        let name = attributes.name.as_ref().map(Name::as_str);
        let kept_name = name.map(|name| try_text(name).ok_or(CreateError::OutOfMemory)).transpose()?;
        // The handler of overflows reads one of its own, without the record's lock.
        let called = name.map(|name| try_text(name).ok_or(CreateError::OutOfMemory)).transpose()?;
        let inside = here::is_of(self);
        let (id, record, registered) = self.enroll(attributes.detached)?;
        // After the registration: who closes sees it, or is seen.
        if self.closing.load(Ordering::SeqCst) && !inside {
            self.strike(id, registered);
            self.release(id, record);
            return Err(CreateError::Closed);
        }
        let shown = name.map(pthread::shown_name);
        let stack = self.starter.stack(attributes);
        let run = try_box(move || {
            if let Some(name) = shown {
                pthread::show_name(name);
            }
            let watched = SignalStack::of_thread(stack);
            if let Some(stack) = &watched {
                stack.is_called(called.as_deref(), Some(id));
            }
            me.run(id, registered, body);
            // Before the name.
            drop(watched);
        });
        let run = match run {
            Ok(run) => run,
            Err(run) => {
                self.strike(id, registered);
                self.release(id, record);
                drop(run);
                return Err(CreateError::OutOfMemory);
            }
        };
        // Under the lock, so that whoever joins it before we return finds what it needs.
        let started = record.slow(|slow| {
            slow.name = kept_name;
            let started = self.starter.start(attributes, run)?;
            slow.started = started;
            Ok(())
        });
        match started {
            Ok(()) => Ok(id),
            Err((error, run)) => {
                self.strike(id, registered);
                self.release(id, record);
                drop(run);
                Err(error)
            }
        }
    }

    fn join(&self, id: ThreadId, wait: Wait) -> Result<usize, JoinError> {
        let record = self.find(id)?;
        let me = here::current().filter(|_| here::is_of(self));
        if me == Some(id) {
            return Err(JoinError::Deadlock);
        }
        if record.join.claim(id.generation(), wait == Wait::No)? == Claim::Running {
            let own = me.and_then(|me| Some((me, self.table.find(me).ok()?)));
            if let Some((me, own)) = own {
                own.joins(Some(id));
                if self.table.circle(me, id) && record.join.withdraw(id.generation()) == Claim::Running {
                    own.joins(None);
                    return Err(JoinError::Deadlock);
                }
            }
            let waited = match wait {
                // Not for a caller of the M:N model: the platform's join would block its worker.
                Wait::Forever if self.starter.reap_waits() && crate::many::here::with(|_| ()).is_none() => {
                    self.wait_for_end(id, record)
                }
                _ => self.wait(id, record, wait),
            };
            if let Some((_, own)) = own {
                own.joins(None);
            }
            waited?;
        }
        self.collect(id, record)
    }

    fn detach(&self, id: ThreadId) -> Result<(), JoinError> {
        let record = self.find(id)?;
        // What it was started with stays in the record, and is let go with that.
        let released = match record.join.detach(id.generation())? {
            Detached::Running => false,
            Detached::Finished => true,
            // These threads do not say so: each drops what it leaves itself.
            Detached::Left => record.join.taken(),
        };
        if released {
            self.release(id, record);
        }
        Ok(())
    }

    fn unpark(&self, id: ThreadId) -> Result<(), JoinError> {
        let record = self.find(id)?;
        if !record.join.exists(id.generation()) {
            return Err(JoinError::NoSuchThread);
        }
        if record.park.tell()
            && let Some(thread) = record.slow(|slow| slow.thread.clone())
        {
            thread.unpark();
        }
        Ok(())
    }

    fn name(&self, id: ThreadId) -> Option<String> {
        let record = self.find(id).ok()?;
        let name = record.slow(|slow| slow.name.as_deref().map(str::to_owned));
        name.filter(|_| record.join.exists(id.generation()))
    }

    fn is_registered(&self, id: ThreadId) -> bool {
        self.shard(id.record()).is_some_and(|shard| lock(&shard.state).registry.contains(id))
    }

    fn threads(&self) -> Vec<ThreadId> {
        let mut all = Vec::new();
        for shard in self.shards() {
            lock(&shard.state).registry.list(&mut all);
        }
        all
    }

    fn live(&self) -> usize {
        // All at once: a thread that ends may have created one in another shard, which is counted before it or with it.
        let mut states = [const { None }; SHARDS];
        for (state, shard) in states.iter_mut().zip(self.shards()) {
            *state = Some(lock(&shard.state));
        }
        states.iter().flatten().map(|state| state.registry.len()).sum()
    }

    fn now(&self) -> u64 {
        self.timekeeper().now()
    }

    fn close(&self) {
        if !self.process.is_this() {
            // Nothing of it is given back: its threads are the parent's.
            core::mem::forget(self.me.upgrade());
            return;
        }
        self.closing.store(true, Ordering::SeqCst);
        if here::is_of(self) {
            return;
        }
        self.closers.wait_while(|| self.live() > 0);
        // Threads that nobody joined have ended.
        for record in self.table.iter() {
            if let Some(started) = record.slow(|slow| slow.started.take()) {
                self.starter.reap(started);
            }
        }
        self.starter.closed();
    }
}
