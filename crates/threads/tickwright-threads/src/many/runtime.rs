//! The runtime of M:N threads: starting its workers, and the interface of all models.

use core::num::NonZero;
use core::sync::atomic::AtomicBool;
use std::io::{self, Write as _};
use std::sync::{Arc, Mutex};

use tickwright::time::Instant;

use super::pipe::Pipe;
use super::pool::{WorkerPool, with_room};
use super::remote::Remote;
use super::settings::ManyToMany;
use super::sleep::IdleWorkers;
use super::sleepers::{self, Structure};
use super::worker::{Outfit, Worker};
use super::{coroutines, on_worker};
use crate::attributes::Attributes;
use crate::clock::Timekeeper;
use crate::countdown::Countdown;
use crate::error::{CreateError, JoinError, RuntimeError};
use crate::id::ThreadId;
use crate::kernel::{Joinable, start_worker};
use crate::kernel_thread::KernelThread;
use crate::memory::try_box;
use crate::overflow::{self, Names, SignalStack};
use crate::primitive::{AtomicU32, Ordering, fence, lock};
use crate::record::{MOST_SHARDS, Record};
use crate::roster::{Roster, answers_of_roster};
use crate::stack::in_pages;
use crate::threads::{Body, Threads, Wait};
use crate::waiters::Waiters;
use crate::wake::Wake;
use crate::wake_flags::Wakeup;

impl ManyToMany {
    pub(crate) fn start(self) -> Result<Arc<dyn Threads>, RuntimeError> {
        let workers = self.count();
        // The bound excludes `MOST_SHARDS`, because one shard of records is for creators from
        // outside.
        if !(1..MOST_SHARDS).contains(&workers) {
            return Err(RuntimeError::Workers(workers));
        }
        Attributes::new().stack(self.stack).guard(self.guard).check().map_err(RuntimeError::Attributes)?;
        let structure = sleepers::structure(&self.sleepers)
            .ok_or_else(|| RuntimeError::Structure(self.sleepers.clone()))?;
        WorkerPool::start(&self, workers, structure).map(|pool| pool as _)
    }
}

impl WorkerPool {
    pub(super) fn start(
        settings: &ManyToMany,
        workers: usize,
        structure: Structure,
    ) -> Result<Arc<Self>, RuntimeError> {
        let ways = settings.ways();
        overflow::notice();
        coroutines::notice();
        let remote = |at| {
            let pipe = if ways.pipe_wake { Some(Pipe::new()?) } else { None };
            Ok(Remote::new(at, settings.dictionary, pipe))
        };
        let remotes: io::Result<Box<[Remote]>> = (0..=workers).map(remote).collect();
        let remotes = remotes.map_err(|error| RuntimeError::Start { what: "pipe", error })?;
        if let (true, Some(remote)) = (ways.global_queue, remotes.first()) {
            remote.locked(|locked| locked.own.ready.resize_with(workers, Default::default));
        }
        let pool = Arc::new(Self {
            roster: Roster::new(remotes),
            settings: ManyToMany {
                stack: with_room(settings.stack),
                guard: in_pages(settings.guard),
                ..settings.clone()
            },
            stacks: Arc::default(),
            structure,
            keeper: Timekeeper::new(settings.clock.clone()),
            idle_workers: IdleWorkers::new(),
            turn: AtomicU32::new(0),
            closing: AtomicBool::new(false),
            stopped: AtomicBool::new(false),
            closers: Waiters::new(),
            workers: Mutex::new(Vec::with_capacity(workers)),
        });
        let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
        let begun = Countdown::new(workers);
        for index in 0..workers {
            match pool.start_worker(index, Outfit::new(&pool, processors), &begun) {
                Ok(worker) => lock(&pool.workers).push(worker),
                Err(error) => {
                    pool.stop();
                    pool.join_workers();
                    return Err(error);
                }
            }
        }
        begun.wait();
        Ok(pool)
    }

    fn start_worker(
        self: &Arc<Self>,
        index: usize,
        outfit: Outfit,
        begun: &Arc<Countdown>,
    ) -> Result<Joinable, RuntimeError> {
        let (own, begun) = (Arc::clone(self), Arc::clone(begun));
        let work = try_box(move || {
            let _ = own.remotes()[index].thread.set(KernelThread::current());
            let worker = Worker::new(own, index, outfit);
            let stack = SignalStack::of_worker();
            if let Some(stack) = &stack {
                stack.is_of(&worker.running);
            }
            begun.count();
            drop(begun);
            on_worker::work_as(&worker);
        });
        let work = work.map_err(|_| RuntimeError::of_worker(CreateError::OutOfMemory))?;
        let mut name = [0; 16];
        let mut rest = &mut name[..];
        // The name fits, because there are at most 255 workers.
        let _ = write!(rest, "worker-{index}");
        let room = rest.len();
        let name = core::str::from_utf8(&name[..16 - room]).unwrap_or_default();
        start_worker(name, work)
    }

    /// Waits until the workers have ended. Later calls do nothing.
    fn join_workers(&self) {
        for worker in core::mem::take(&mut *lock(&self.workers)) {
            worker.join();
        }
    }

    #[inline]
    fn notify(&self, number: u32, record: &Record<()>, wakeup: Wakeup) {
        if on_worker::on(self, |worker| worker.notify_local(record, wakeup)) != Some(true) {
            self.notify_remote(number, record, wakeup);
        }
    }
}

impl Wake for WorkerPool {
    fn wake(&self, id: ThreadId) {
        if let Ok(record) = self.roster.table().find(id)
            && record.join.exists(id.generation())
        {
            self.notify(id.record(), record, Wakeup::Wake);
        }
    }
}

impl Names for WorkerPool {
    fn with_name(&self, id: ThreadId, use_it: &mut dyn FnMut(&str)) {
        if let Some(record) = self.roster.table().get(id.record()) {
            record.try_name(use_it);
        }
    }
}

impl Threads for WorkerPool {
    fn model(&self) -> &'static str {
        "m:n"
    }

    fn create(&self, attributes: &Attributes, body: Body) -> Result<ThreadId, CreateError> {
        attributes.check()?;
        let mut body = Some(body);
        let inside =
            on_worker::with_of(self, |worker| body.take().map(|body| worker.create(attributes, body)));
        match (inside, body) {
            (Some(Some(created)), _) => created,
            (_, Some(_)) if !self.roster.is_here() => Err(CreateError::Forked),
            (_, Some(body)) => self.create_at(self.remotes().len() - 1, None, attributes, body),
            (_, None) => Err(CreateError::Closed),
        }
    }

    fn join(&self, id: ThreadId, wait: Wait) -> Result<usize, JoinError> {
        let me = on_worker::with_of(self, Worker::current).flatten();
        let record = self.roster.join(me, id, wait, |record| {
            on_worker::with_of(self, |worker| worker.wait_for_end(id, record, wait))
                .unwrap_or_else(|| record.wait_for_end(id, wait, &self.keeper))
        })?;
        let outcome = record.outcome();
        self.roster.release(id, record);
        outcome
    }

    fn unpark(&self, id: ThreadId) -> Result<(), JoinError> {
        let record = self.roster.existing(id)?;
        self.notify(id.record(), record, Wakeup::Unpark);
        Ok(())
    }

    answers_of_roster!();

    fn close(&self) {
        self.closing.store(true, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        if !self.roster.is_here() {
            return;
        }
        self.look_for_the_end();
        // If a worker's own code drops the last reference, it does not wait either.
        if on_worker::on(self, |_| ()).is_some() {
            return;
        }
        self.closers.wait_while(|| !self.is_stopped());
        self.join_workers();
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
