//! The M:N model: workers, which are kernel threads, run many stacks.
//!
//! A creator registers a thread and queues its body with a worker; the worker, or another one that has nothing to do, begins it on a stack to spare. From
//! then on it stays: a thread that went on elsewhere would find the thread-local variables of another kernel thread behind references
//! that it holds to its first one's, and the switch (`corosensei`) asks that all on a stack be `Send` before it may move.
//! Waiting leaves the stack: for threads, times, locks and descriptors no worker is blocked.

mod asleep;
mod context;
mod descriptors;
pub(crate) mod here;
mod host;
mod inbox;
pub(crate) mod overflow;
mod own;
mod post;
mod settings;
mod shelves;
mod sleepers;
mod wake;
pub(crate) mod worker;

use core::fmt;
use core::sync::atomic::{AtomicBool, AtomicUsize};
use std::io::{self, Write as _};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle as KernelThread;

use crate::attributes::Attributes;
use crate::clock::Timed;
use crate::error::{CreateError, JoinError, RuntimeError};
use crate::id::ThreadId;
use crate::join_word::{Claim, Detached};
use crate::mail::News;
use crate::memory::try_text;
use crate::primitive::{AtomicU32, Latch, Ordering, fence, lock};
use crate::process::Process;
use crate::quiet::drop_quietly;
use crate::record::{MOST_SHARDS, NONE, Record, Table};
use crate::registry::Registered;
use crate::stack::{Mapping, in_pages, why_none};
use crate::threads::{Body, Threads, Wait};
use crate::waiter::{Waiter, Waiters};

use asleep::Drowsy;
use inbox::Links;
use post::{Fresh, Home, Post};
use sleepers::Structure;
use wake::Pipe;
use worker::Worker;

pub use settings::{Knobs, ManyToMany};

impl Links for Table {
    #[inline]
    fn link(&self, number: u32) -> Option<&AtomicU32> {
        if number == NONE { None } else { self.get(number).map(|record| &record.next) }
    }
}

/// The guard of a stack. Compilers that do not probe step over one page with a frame of two, into the neighbor's stack.
pub(crate) const GUARD: usize = 64 << 10;

/// The least that is mapped for a stack. The program's signal handlers run on whatever stack runs, and need room of their own.
const LEAST_MAPPED: usize = 64 << 10;

/// A stack of so many bytes for its thread, with room for handlers, in whole pages.
fn with_room(stack: usize) -> usize {
    in_pages(stack.max(LEAST_MAPPED))
}

/// A runtime of stacks.
pub(crate) struct Shared {
    pub(crate) table: Table,
    /// One for each worker, and the last one for creators from outside.
    posts: Box<[Post]>,
    knobs: Knobs,
    stack: usize,
    guard: usize,
    keep: usize,
    portable: bool,
    most_stacks: usize,
    stacks: Arc<AtomicUsize>,
    structure: Structure,
    pub(crate) timed: Timed,
    drowsy: Drowsy,
    turn: AtomicU32,
    closing: AtomicBool,
    stopped: AtomicBool,
    closers: Waiters,
    workers: Mutex<Vec<KernelThread<()>>>,
    process: Process,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("workers", &(self.posts.len() - 1)).finish_non_exhaustive()
    }
}

/// False: there is no memory for the name.
fn keep_name(record: &Record, name: &str) -> bool {
    let kept = try_text(name);
    let is_kept = kept.is_some();
    record.slow(|slow| slow.name = kept);
    is_kept
}

/// What `swapcontext` asks for at every switch.
#[cold]
fn ask_for_the_signal_mask() {
    let mut mask = core::mem::MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: 1. No new mask, and a place for the old one.
    unsafe {
        libc::pthread_sigmask(libc::SIG_SETMASK, core::ptr::null(), mask.as_mut_ptr());
    }
}

impl Shared {
    fn start(settings: &ManyToMany, workers: usize, structure: Structure) -> Result<Arc<Self>, RuntimeError> {
        let knobs = settings.knobs;
        overflow::notice();
        host::notice();
        let post = |at| {
            let pipe = if knobs.pipe_wake { Some(Pipe::new()?) } else { None };
            Ok(Post::new(at, settings.dictionary, pipe))
        };
        let posts: io::Result<Box<[Post]>> = (0..=workers).map(post).collect();
        let posts = posts.map_err(|error| RuntimeError::Start { what: "pipe", error })?;
        if let (true, Some(post)) = (knobs.global_queue, posts.first()) {
            post.home(|home| home.ready.resize_with(workers, Default::default));
        }
        let shared = Arc::new(Self {
            table: Table::new(workers + 1),
            posts,
            knobs,
            stack: with_room(settings.stack),
            guard: if knobs.guard { in_pages(settings.guard) } else { 0 },
            keep: settings.keep,
            portable: settings.portable,
            most_stacks: settings.most_stacks,
            stacks: Arc::default(),
            structure,
            timed: Timed::by(Arc::clone(&settings.clock)),
            drowsy: Drowsy::new(),
            turn: AtomicU32::new(0),
            closing: AtomicBool::new(false),
            stopped: AtomicBool::new(false),
            closers: Waiters::new(),
            workers: Mutex::new(Vec::new()),
            process: Process::this(),
        });
        let up = Arc::new(Latch::default());
        for index in 0..workers {
            let (own, told) = (Arc::clone(&shared), Arc::clone(&up));
            let started = std::thread::Builder::new().name(format!("worker-{index}")).spawn(move || {
                let _ = own.posts[index].thread.set(crate::kernel_thread::KernelThread::current());
                let worker = Worker::new(own, index);
                let stack = overflow::SignalStack::of_worker();
                if let Some(stack) = &stack {
                    stack.is_of(&worker);
                }
                told.arrive();
                drop(told);
                here::work_as(&worker);
            });
            match started {
                Ok(worker) => lock(&shared.workers).push(worker),
                Err(error) => {
                    shared.stop();
                    return Err(RuntimeError::Start { what: "worker", error });
                }
            }
        }
        up.wait_for(workers);
        Ok(shared)
    }

    pub(crate) fn now(&self) -> u64 {
        self.timed.keeper.now()
    }

    /// All posts; in a forked child, where somebody may hold their locks for ever, none.
    fn posts(&self) -> &[Post] {
        if self.process.is_this() { &self.posts } else { &[] }
    }

    /// The record of a thread that this process may have.
    #[inline]
    fn find(&self, id: ThreadId) -> Result<&Record, JoinError> {
        if self.process.is_this() { self.table.find(id) } else { Err(JoinError::NoSuchThread) }
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Where that worker's new threads, records and registry are.
    #[inline]
    fn queue(&self, worker: usize) -> &Post {
        &self.posts[if self.knobs.global_queue { 0 } else { worker }]
    }

    /// Where stacks are kept of threads that brought their own; with a bound, all: what one worker keeps to itself no other creator could use, and
    /// none would be free though nobody runs.
    fn pool(&self) -> &Post {
        self.queue(self.posts.len() - 1)
    }

    // ---- threads come

    /// Whether they ask for the stack that is kept.
    fn is_usual(&self, attributes: &Attributes) -> bool {
        attributes.stack.is_none_or(|stack| with_room(stack) == self.stack)
            && attributes.guard.is_none_or(|guard| in_pages(guard) == self.guard)
    }

    fn map(&self, stack: usize, guard: usize) -> Result<Mapping, CreateError> {
        // Not counted beyond the bound, not even for a moment: another creator could be refused for it.
        let more = |have| if have < self.most_stacks { Some(have + 1) } else { None };
        let have = loop {
            match self.stacks.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more) {
                Ok(have) => break have,
                // One that nobody uses makes room.
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

    /// A stack of the usual size.
    fn map_usual(&self) -> Result<Mapping, CreateError> {
        self.map(self.stack, self.guard)
    }

    /// An id for a thread, registered.
    fn enroll(
        &self,
        home: &mut Home,
        attributes: &Attributes,
    ) -> Result<(ThreadId, Registered), CreateError> {
        loop {
            let (number, record) = home.free.take(&self.table)?;
            // A record whose generations are used up names nobody ever again.
            let Some(generation) = record.join.issue(attributes.detached) else { continue };
            let Some(id) = ThreadId::new(number, generation) else { continue };
            match home.registry.insert(id) {
                Ok(registered) if self.give_name(record, id, attributes) => return Ok((id, registered)),
                refused => {
                    let error = match refused {
                        Ok(registered) => {
                            home.registry.remove(registered);
                            CreateError::OutOfMemory
                        }
                        Err(error) => error,
                    };
                    record.release();
                    home.free.give(number, record);
                    return Err(error);
                }
            }
        }
    }

    #[inline]
    fn give_name(&self, record: &Record, id: ThreadId, attributes: &Attributes) -> bool {
        if let Some(name) = &attributes.name {
            return keep_name(record, name.as_str());
        }
        if self.knobs.format_names {
            let since =
                std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
            let mut text = [0; 64];
            let room = text.len();
            let mut rest = &mut text[..];
            // Two numbers fit.
            let _ = write!(rest, "unnamed.{}@{}", id.to_bits(), since.as_secs());
            let len = room - rest.len();
            return keep_name(
                record,
                core::str::from_utf8(text.get(..len).unwrap_or_default()).unwrap_or(""),
            );
        }
        true
    }

    /// Creates a thread with a stack of its own. `from`: whose registry; `to`: which worker, otherwise the next in turn.
    fn create_at(
        &self,
        from: usize,
        to: Option<usize>,
        attributes: &Attributes,
        body: Body,
    ) -> Result<ThreadId, CreateError> {
        let workers = self.posts.len() - 1;
        let to = to.unwrap_or_else(|| self.turn.fetch_add(1, Ordering::Relaxed) as usize % workers);
        let stack = attributes.stack.map_or(self.stack, with_room);
        let guard = attributes.guard.map_or(self.guard, in_pages);
        let kept = self.pool().home(|home| home.stacks.take(stack, guard));
        let mapping = match kept {
            Some(mapping) => mapping,
            None => self.map(stack, guard)?,
        };
        let queue = self.queue(to);
        let (id, registered) = self.queue(from).home(|home| self.enroll(home, attributes))?;
        // After the registration: who closes sees it, or is seen. Threads of a runtime that closes may create more.
        if self.closing.load(Ordering::SeqCst) && from == workers {
            self.withdraw(id, registered);
            return Err(CreateError::Closed);
        }
        let fresh = Fresh { id, registered, body, mapping: Some(mapping) };
        let refused = queue.home(|home| {
            if home.make_room(self.posts.len()) {
                queue.push(home, fresh);
                None
            } else {
                Some(fresh)
            }
        });
        if let Some(fresh) = refused {
            self.withdraw(id, registered);
            drop(fresh);
            return Err(CreateError::OutOfMemory);
        }
        self.posts[to].wake();
        self.call_for_help(to);
        Ok(id)
    }

    /// Whether stacks are kept for all, not by each worker for itself.
    #[inline]
    fn keeps_for_all(&self) -> bool {
        self.most_stacks < usize::MAX
    }

    /// Gives a stack back to the platform that is kept for all. False: there is none.
    fn give_one_back(&self) -> bool {
        self.pool().home(|home| home.stacks.take_any()).is_some()
    }

    /// Keeps a stack for all: as many as a worker keeps, and no more memory than those have.
    fn keep_for_all(&self, mapping: Mapping) {
        let most_bytes = self.keep.saturating_mul(self.stack + self.guard);
        drop(self.pool().home(|home| home.stacks.keep(mapping, self.keep, most_bytes)));
    }

    /// After a creation: a worker without work shall watch whether `from` begins the thread. A watcher that gets work itself calls for help, too.
    #[inline]
    fn call_for_help(&self, from: usize) {
        if self.drowsy.any() {
            self.wake_a_drowsy_one(from);
        }
    }

    #[cold]
    fn wake_a_drowsy_one(&self, from: usize) {
        let workers = self.posts.len() - 1;
        post::wake_one((1..workers).map(|step| &self.posts[(from + step) % workers]));
    }

    /// A thread that was enrolled is not created.
    #[cold]
    fn withdraw(&self, id: ThreadId, registered: Registered) {
        self.strike(id, registered);
        if let Some(record) = self.table.get(id.record()) {
            self.release(id, record);
        }
        self.has_ended();
    }

    // ---- threads go

    fn strike(&self, id: ThreadId, registered: Registered) {
        self.queue(Table::home(id.record())).home(|home| home.registry.remove(registered));
    }

    #[inline]
    fn release(&self, id: ThreadId, record: &Record) {
        record.release();
        self.queue(Table::home(id.record())).home(|home| home.free.give(id.record(), record));
    }

    /// One thread less: whoever closes the runtime looks again.
    #[inline]
    fn has_ended(&self) {
        if self.closing.load(Ordering::SeqCst) {
            self.look_for_the_end();
        }
    }

    #[cold]
    fn look_for_the_end(&self) {
        if self.live() == 0 {
            self.stop();
            self.closers.wake_all();
        }
    }

    fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        for post in &self.posts {
            post.wake();
        }
    }

    // ---- threads wait

    /// Wakes the thread, if it exists.
    pub(crate) fn tell(&self, id: ThreadId) {
        if let Ok(record) = self.table.find(id)
            && record.join.exists(id.generation())
        {
            self.tell_record(id.record(), record, News::Wake);
        }
    }

    #[inline]
    fn tell_record(&self, number: u32, record: &Record, news: News) {
        if here::on(self, |worker| worker.tell_own(record, news)) != Some(true) {
            self.tell_elsewhere(number, record, news);
        }
    }

    fn tell_elsewhere(&self, number: u32, record: &Record, news: News) {
        if !record.mail.tell(news) {
            return;
        }
        // Its thread has begun, and ends only after it was taken out again.
        let owner = record.owner.load(Ordering::Relaxed) as usize;
        let Some(post) = self.posts.get(owner) else { return };
        if self.knobs.global_queue {
            self.queue(owner).home(|home| home.push_ready(owner, number));
        } else {
            post.inbox.put(&self.table, number);
        }
        post.wake();
    }

    fn wake_joiner(&self, record: &Record) {
        match ThreadId::from_bits(record.joiner.load(Ordering::Relaxed)) {
            Some(joiner) => self.tell(joiner),
            // A copy: if the joiner has seen the end by itself, the record may be another thread's by now, and so what is in it.
            None => {
                if let Some(joiner) = record.slow(|slow| slow.joiner.clone()) {
                    joiner.wake();
                }
            }
        }
    }

    /// Waits from outside for a thread that the caller has claimed.
    fn wait_outside(&self, id: ThreadId, record: &Record, wait: Wait) -> Result<(), JoinError> {
        record.slow(|slow| slow.joiner = Some(Waiter::current()));
        // One that gave up may have left its name.
        record.joiner.store(0, Ordering::Relaxed);
        crate::waiter::wait_for_end(&record.join, id.generation(), &self.timed.keeper, wait)
    }
}

impl Threads for Shared {
    fn model(&self) -> &'static str {
        "m:n"
    }

    fn create(&self, attributes: &Attributes, body: Body) -> Result<ThreadId, CreateError> {
        attributes.check()?;
        let mut body = Some(body);
        let inside = here::with_of(self, |worker| body.take().map(|body| worker.create(attributes, body)));
        match (inside, body) {
            (Some(Some(created)), _) => created,
            (_, Some(_)) if !self.process.is_this() => Err(CreateError::Forked),
            (_, Some(body)) => self.create_at(self.posts.len() - 1, None, attributes, body),
            (_, None) => Err(CreateError::Closed),
        }
    }

    fn join(&self, id: ThreadId, wait: Wait) -> Result<usize, JoinError> {
        let record = self.find(id)?;
        let me = here::with_of(self, Worker::current).flatten();
        if me == Some(id) {
            return Err(JoinError::Deadlock);
        }
        if record.join.claim(id.generation(), wait == Wait::No)? == Claim::Running {
            match here::with_of(self, |worker| worker.join(id, record, wait)) {
                Some(joined) => joined?,
                None => self.wait_outside(id, record, wait)?,
            }
        }
        let outcome = record.outcome();
        self.release(id, record);
        outcome
    }

    fn detach(&self, id: ThreadId) -> Result<(), JoinError> {
        let record = self.find(id)?;
        let released = match record.join.detach(id.generation())? {
            Detached::Running => false,
            Detached::Finished => true,
            // Dropped here: on its worker's own stack the drop might stop the worker.
            Detached::Left => {
                let panic = record.slow(|slow| slow.panic.take());
                let released = record.join.taken();
                drop_quietly(panic);
                released
            }
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
        self.tell_record(id.record(), record, News::Unpark);
        Ok(())
    }

    fn name(&self, id: ThreadId) -> Option<String> {
        let record = self.find(id).ok()?;
        let name = record.slow(|slow| slow.name.as_deref().map(str::to_owned));
        name.filter(|_| record.join.exists(id.generation()))
    }

    fn is_registered(&self, id: ThreadId) -> bool {
        let home = self.posts().get(Table::home(id.record()));
        home.is_some_and(|post| post.home(|home| home.registry.contains(id)))
    }

    fn threads(&self) -> Vec<ThreadId> {
        let mut all = Vec::new();
        for post in self.posts() {
            post.home(|home| home.registry.list(&mut all));
        }
        all
    }

    fn live(&self) -> usize {
        // All at once: a thread that ends may have created one that another post has, which is counted before it or with it.
        let mut homes = [const { None }; MOST_SHARDS];
        for (home, post) in homes.iter_mut().zip(self.posts()) {
            *home = Some(post.lock());
        }
        homes.iter().flatten().map(|home| home.registry.len()).sum()
    }

    fn now(&self) -> u64 {
        self.now()
    }

    fn close(&self) {
        self.closing.store(true, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        if !self.process.is_this() {
            return;
        }
        self.look_for_the_end();
        // The worker itself neither, which drops what is left to nobody.
        if here::on(self, |_| ()).is_some() {
            return;
        }
        self.closers.wait_while(|| !self.is_stopped());
        for worker in core::mem::take(&mut *lock(&self.workers)) {
            // A worker does not panic; if it did, its threads are gone, and nothing is left to do.
            let _ = worker.join();
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
