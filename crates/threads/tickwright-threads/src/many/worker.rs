//! A worker: a kernel thread that runs the stacks that have begun on it, one at a time.
//!
//! # Invariants
//! 1. A stack is resumed only by the worker on which it began. References to thread-local variables
//!    that the compiler or a library keeps across a pause therefore stay valid.
//! 2. A waiting thread is in no list of ready threads. However many notifications there are, it is
//!    inserted into a list only once (`wake_flags`).
//! 3. There are at least as many spare stacks as spawned threads without their own stack, so a
//!    thread that was created successfully can always begin later.
//! 4. No borrow of a cell is alive while a stack is resumed or user code runs.

mod asks;
mod host;
mod idle;
mod testing;

use core::cell::{Cell, RefCell};
use core::panic::AssertUnwindSafe;
use core::time::Duration;
use std::collections::VecDeque;
use std::panic::catch_unwind;
use std::sync::Arc;

use super::context::{self, Context, Pause, Way};
use super::descriptors::Descriptors;
use super::pool::WorkerPool;
use super::remote::{Remote, Spawned};
use super::saved_state::{Panics, Places};
use super::sleepers::Sleepers;
use crate::error::CreateError;
use crate::id::ThreadId;
use crate::local;
use crate::local::drop_quietly;
use crate::mapping::{Mapping, Span};
use crate::memory::{self, try_room};
use crate::overflow::{Running, SignalStack};
use crate::primitive::Ordering;
use crate::process;
use crate::record::{NONE, Record};
use crate::registry::Registered;
use crate::threads::Body;
use crate::wake_flags::Wakeup;

/// The maximum number of spawned threads that begin in a row before a ready thread continues.
const ROW: u32 = 16;
/// The number of switches after which the worker checks the clock and the descriptors. It is a
/// power of two.
const LOOK: u32 = 32;
/// How long a worker waits before it tries again to start a kernel thread.
const RETRY: Duration = Duration::from_millis(1);

/// A thread that has begun.
struct Fiber {
    context: Context,
    span: Span,
    /// Whether the stack was created for this thread, and is not a spare stack of the worker.
    brought: bool,
    /// The thread's index in `parked` while it waits.
    place: u32,
    id: Option<ThreadId>,
    registered: Option<Registered>,
}

/// A stack that no thread uses.
enum Spare {
    /// A stack that has run threads. When it is resumed, it runs the next thread.
    Warm(Box<Fiber>),
    /// A stack on which nothing has run.
    Cold(Mapping),
}

pub(crate) struct Worker {
    pub(crate) pool: Arc<WorkerPool>,
    pub(super) index: usize,
    /// Threads that wait for a notification. A thread's index is the `place` in its record.
    parked: RefCell<Vec<Option<Box<Fiber>>>>,
    vacant: RefCell<Vec<u32>>,
    /// Spare stacks. The warm stacks are at the back, and are used first.
    spare: RefCell<VecDeque<Spare>>,
    /// Threads that have begun and can continue.
    ready: RefCell<VecDeque<Box<Fiber>>>,
    /// Threads that wait for a time of the runtime's clock.
    sleepers: RefCell<Box<dyn Sleepers>>,
    /// Threads that wait for a time of the machine's clock, which can be another clock than the
    /// runtime's.
    by_the_machine: RefCell<Box<dyn Sleepers>>,
    descriptors: RefCell<Descriptors>,
    /// The body that the next stack runs.
    next_body: Cell<Option<Body>>,
    /// The running thread and its stack. The overflow handler, which runs on this kernel thread,
    /// reads them.
    pub(super) running: Running,
    /// Threads that have ended while their record was still in the remote queue.
    lingering: RefCell<Vec<(ThreadId, Registered)>>,
    /// Whether no knob for NGPT's ways is on, so that a switch need not check the knobs.
    plain: bool,
    /// The addresses of the state that is saved for a thread when it leaves its stack.
    places: Places,
    way: Cell<Way>,
    switches: Cell<u32>,
    /// The number of switches at the time when a budget of calls was last used up. If the number is
    /// the same when the next budget is used up, one thread has made all calls of that budget, and
    /// yields.
    spent_at: Cell<u32>,
    row: Cell<u32>,
    /// For each other worker, how many threads it had begun when this worker last checked after a
    /// search.
    seen: RefCell<Vec<u64>>,
    /// The total number of threads that the other workers had begun when this worker last had
    /// nothing to do.
    began: Cell<u64>,
    /// Whether there are several processors, so that another worker can run while this worker looks
    /// for work.
    spins: bool,
    /// The number of spins in a row that found no work.
    spun: Cell<u32>,
}

/// The memory with which a worker begins. The worker's creator allocates it, because the worker's
/// own kernel thread could not report a lack of memory.
pub(super) struct Outfit {
    seen: Vec<u64>,
    sleepers: Box<dyn Sleepers>,
    by_the_machine: Box<dyn Sleepers>,
    descriptors: Descriptors,
    /// The number of processors.
    processors: usize,
}

impl Outfit {
    pub(super) fn new(pool: &WorkerPool, processors: usize) -> Self {
        Self {
            seen: vec![0; pool.remotes().len()],
            sleepers: (pool.structure)(),
            by_the_machine: (pool.structure)(),
            descriptors: Descriptors::new(),
            processors,
        }
    }
}

/// If this is a forked child whose only thread has ended, ends the process.
#[inline]
fn end_if_forked() {
    if crate::host::shared_host().is_null() && process::is_child() {
        process::end_the_child();
    }
}

impl Worker {
    /// Creates a worker without allocating memory.
    pub(super) fn new(pool: Arc<WorkerPool>, index: usize, outfit: Outfit) -> Self {
        let Outfit { seen, sleepers, by_the_machine, descriptors, processors } = outfit;
        let running = Running::new(Arc::clone(&pool) as _);
        let plain = !pool.settings.portable
            && !pool.settings.ways().sigmask_per_switch
            && !pool.settings.ways().global_queue;
        // This runs on the worker's own kernel thread. Portable contexts are kernel threads, so
        // each already has its own copy of this state.
        let places = if pool.settings.portable { Places::NONE } else { Places::current() };
        let spins =
            plain && pool.remotes().len() > 2 && processors > 1 && !pool.keeper.clock().stands_still();
        Self {
            pool,
            index,
            parked: RefCell::default(),
            vacant: RefCell::default(),
            spare: RefCell::default(),
            ready: RefCell::default(),
            sleepers: RefCell::new(sleepers),
            by_the_machine: RefCell::new(by_the_machine),
            descriptors: RefCell::new(descriptors),
            next_body: Cell::new(None),
            running,
            lingering: RefCell::default(),
            plain,
            places,
            way: Cell::new(core::ptr::null()),
            switches: Cell::new(0),
            spent_at: Cell::new(0),
            row: Cell::new(0),
            seen: RefCell::new(seen),
            began: Cell::new(0),
            spins,
            spun: Cell::new(0),
        }
    }

    fn remote(&self) -> &Remote {
        &self.pool.remotes()[self.index]
    }

    /// Returns the running thread.
    #[inline]
    pub(crate) fn current(&self) -> Option<ThreadId> {
        self.running.id.get()
    }

    /// Runs threads until the runtime ends.
    pub(super) fn work(&self) {
        loop {
            if !self.run_next() {
                // The runtime stops only when no thread is left, so no thread is ready here.
                if self.pool.is_stopped() {
                    break;
                }
                self.idle();
            }
        }
        // All threads have ended, so only spare stacks are left.
        for spare in self.spare.take() {
            self.discard(spare);
        }
    }

    // ---- what is next

    /// Runs the next thread until it pauses. Returns false if no thread can run.
    #[inline]
    fn run_next(&self) -> bool {
        let switches = self.switches.get().wrapping_add(1);
        self.switches.set(switches);
        if switches & (LOOK - 1) == 0 {
            self.look();
        }
        if !self.plain && self.pool.settings.ways().global_queue {
            return self.run_next_of_all();
        }
        let remote = self.remote();
        if !remote.remote_queue.is_empty() {
            self.drain_remote_queue(remote);
        }
        if remote.spawned() > 0 {
            if self.row.get() < ROW {
                self.row.set(self.row.get() + 1);
                return self.begin_next(remote);
            }
            self.row.set(0);
        }
        let ready = self.ready.borrow_mut().pop_front();
        match ready {
            Some(fiber) => {
                self.resume(fiber);
                true
            }
            None => remote.spawned() > 0 && self.begin_next(remote),
        }
    }

    /// Takes the threads that other workers have pushed to the remote queue, and appends them to
    /// the ready threads.
    #[cold]
    fn drain_remote_queue(&self, remote: &Remote) {
        remote.remote_queue.take_all(self.pool.roster.table(), |number| {
            if let Some(fiber) = self.receive(number) {
                self.ready.borrow_mut().push_back(fiber);
            }
        });
    }

    /// Begins the thread that has been in the spawn queue longest, unless another worker has taken
    /// it.
    fn begin_next(&self, remote: &Remote) -> bool {
        let Some(spawned) = remote.locked(|locked| remote.pop(&mut locked.own)) else { return false };
        remote.begun.store(remote.begun.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        self.begin(spawned);
        true
    }

    /// Notifies a thread of this worker, on this worker. Returns false if the thread belongs to
    /// another worker, or if it must be pushed to the queue that all workers share.
    #[inline]
    pub(super) fn notify_local(&self, record: &Record<()>, wakeup: Wakeup) -> bool {
        if (!self.plain && self.pool.settings.ways().global_queue)
            || record.owner.load(Ordering::Relaxed) != self.index as u32
        {
            return false;
        }
        record.wake_flags.notify_local(wakeup);
        if let Some(fiber) = self.unpark_fiber(record) {
            self.ready.borrow_mut().push_back(fiber);
        }
        true
    }

    /// Wakes a thread of the runtime. Does nothing if the thread does not exist.
    pub(super) fn wake_thread(&self, id: ThreadId) {
        if let Ok(record) = self.pool.roster.table().find(id)
            && record.join.exists(id.generation())
            && !self.notify_local(record, Wakeup::Wake)
        {
            self.pool.notify_remote(id.record(), record, Wakeup::Wake);
        }
    }

    /// Called after a record was taken from the remote queue. Returns its thread if the thread is
    /// parked.
    fn receive(&self, number: u32) -> Option<Box<Fiber>> {
        let record = self.pool.roster.table().get(number)?;
        if record.wake_flags.receive() {
            return self.unpark_fiber(record);
        }
        let mut lingering = self.lingering.borrow_mut();
        let place = lingering.iter().position(|(id, _)| id.record() == number)?;
        let (id, registered) = lingering.swap_remove(place);
        drop(lingering);
        self.leave(id, registered, record);
        None
    }

    #[inline]
    fn unpark_fiber(&self, record: &Record<()>) -> Option<Box<Fiber>> {
        let place = record.place.load(Ordering::Relaxed);
        self.parked.borrow_mut().get_mut(place as usize)?.take()
    }

    #[inline]
    fn park_fiber(&self, fiber: Box<Fiber>) {
        let mut parked = self.parked.borrow_mut();
        if let Some(slot) = parked.get_mut(fiber.place as usize) {
            *slot = Some(fiber);
        }
    }

    // ---- switching

    #[inline(never)]
    fn begin(&self, spawned: Spawned) {
        let Some(place) = self.place() else { return self.requeue(spawned) };
        let Spawned { id, registered, body, mapping } = spawned;
        let brought = mapping.is_some();
        let spare = match mapping {
            Some(mapping) => Some(Spare::Cold(mapping)),
            None => self.take_spare(),
        };
        let fiber = match spare {
            Some(Spare::Warm(fiber)) => Ok(fiber),
            Some(Spare::Cold(mapping)) => self.fiber(mapping).map_err(Some),
            // This does not happen, because of invariant 3.
            None => Err(None),
        };
        let mut fiber = match fiber {
            Ok(fiber) => fiber,
            Err(mapping) => {
                self.vacant.borrow_mut().push(place);
                let mapping =
                    if brought { mapping } else { mapping.and_then(|mapping| self.keep_spare(mapping)) };
                return self.requeue(Spawned { id, registered, body, mapping });
            }
        };
        fiber.brought = brought;
        fiber.id = Some(id);
        fiber.registered = Some(registered);
        fiber.place = place;
        if let Some(record) = self.pool.roster.table().get(id.record()) {
            // Invariant 5 of `wake_flags.rs` holds: until now, all notifications of this thread
            // used the word that all threads write.
            debug_assert_eq!(record.owner.load(Ordering::Relaxed), NONE, "an owner before the beginning");
            record.place.store(fiber.place, Ordering::Relaxed);
            record.owner.store(self.index as u32, Ordering::Relaxed);
        }
        self.next_body.set(Some(body));
        self.resume(fiber);
    }

    /// Returns a place for one more begun thread, and ensures that each list has room for all begun
    /// threads. Returns `None` if there is no memory.
    #[inline]
    fn place(&self) -> Option<u32> {
        let vacant = self.vacant.borrow_mut().pop();
        vacant.or_else(|| self.another_place())
    }

    #[cold]
    fn another_place(&self) -> Option<u32> {
        let mut parked = self.parked.borrow_mut();
        let place = u32::try_from(parked.len()).ok()?;
        let all = parked.len() + 1;
        parked.try_reserve(1).ok()?;
        let mut vacant = self.vacant.borrow_mut();
        let more = all - vacant.len();
        vacant.try_reserve(more).ok()?;
        let mut ready = self.ready.borrow_mut();
        let more = all.saturating_sub(ready.len());
        ready.try_reserve(more).ok()?;
        let mut lingering = self.lingering.borrow_mut();
        let more = all.saturating_sub(lingering.len());
        lingering.try_reserve(more).ok()?;
        if self.pool.settings.ways().global_queue
            && !self.pool.queue(self.index).locked(|locked| locked.own.make_room_for_ready(self.index, all))
        {
            return None;
        }
        parked.push(None);
        Some(place)
    }

    /// Puts a new thread back into the spawn queue, because there is no memory to begin it, and
    /// lets other threads run.
    #[cold]
    fn requeue(&self, spawned: Spawned) {
        let remote = self.pool.queue(self.index);
        remote.locked(|locked| remote.push(&mut locked.own, spawned));
        std::thread::yield_now();
    }

    /// Adds a stack to the spare stacks, for new threads without their own stack. Returns the stack
    /// if there is no memory.
    #[cold]
    fn keep_spare(&self, mapping: Mapping) -> Option<Mapping> {
        let mut spare = self.spare.borrow_mut();
        if spare.try_reserve(1).is_err() {
            return Some(mapping);
        }
        spare.push_front(Spare::Cold(mapping));
        None
    }

    #[inline]
    fn resume(&self, mut fiber: Box<Fiber>) {
        self.running.id.set(fiber.id);
        self.running.span.set(fiber.span);
        if !self.plain {
            self.before_a_switch();
        }
        let paused = fiber.context.resume();
        self.running.id.set(None);
        end_if_forked();
        match paused {
            Some(Pause::Yielded) if self.plain || !self.pool.settings.ways().global_queue => {
                self.ready.borrow_mut().push_back(fiber);
            }
            Some(Pause::Parked) => self.park_fiber(fiber),
            Some(Pause::Yielded) => self.yield_to_all(fiber),
            Some(Pause::Ended) => self.end(fiber, true),
            // The stack is portable, and no kernel thread could be started for it, so it has run
            // nothing.
            None => self.end(fiber, false),
        }
    }

    /// Pauses the calling thread until its stack is resumed.
    #[inline(always)]
    fn pause(&self, why: Pause) {
        if std::thread::panicking() && !self.pool.settings.portable {
            return self.pause_in_a_panic(why);
        }
        self.switch(why);
    }

    /// Like `pause`, but for a thread that unwinds. While other threads run on the worker, the
    /// worker's count of panics is 0.
    #[cold]
    #[inline(never)]
    fn pause_in_a_panic(&self, why: Pause) {
        loop {
            if let Some(panics) = Panics::save() {
                self.switch(why);
                return panics.restore();
            }
            // The platform cannot start a kernel thread, so the count of panics cannot be saved,
            // and other threads must not run. Unless this is only a yield, the worker waits and
            // tries again.
            if why == Pause::Yielded {
                return std::thread::yield_now();
            }
            std::thread::sleep(RETRY);
        }
    }

    #[inline(always)]
    fn switch(&self, why: Pause) {
        let way = self.way.get();
        let mut portable = false;
        if !self.plain {
            self.before_a_switch();
            portable = self.pool.settings.portable;
        }
        let own = self.places.save();
        // SAFETY: 1. The thread that runs on this worker has set `way`, when it began or after its
        // last pause; the caller is that thread. 2. All stacks of a runtime are portable, or none
        // is; a plain worker has no portable stacks.
        unsafe { context::pause(way, portable, why) };
        self.places.restore(&own);
        self.way.set(way);
    }

    /// Creates a fiber on a stack. Returns the stack if there is no memory.
    fn fiber(&self, mapping: Mapping) -> Result<Box<Fiber>, Mapping> {
        /// An upper bound on what the portable back end allocates for a kernel thread, in bytes.
        const KERNEL_THREAD: usize = 16 << 10;
        let Some(room) = try_room() else { return Err(mapping) };
        if self.pool.settings.portable && !memory::is_there(KERNEL_THREAD) {
            return Err(mapping);
        }
        let span = mapping.span();
        let worker: *const Self = self;
        let context = Context::new(mapping, self.pool.settings.portable, move |way| {
            // SAFETY: 1. The worker outlives its fibers, which it drops itself, and does not move
            // while it works. 2. Only shared references to it are used, on its own kernel thread.
            let worker = unsafe { &*worker };
            // SAFETY: 1. As above; the kernel thread ends or leaves the host before the worker
            // ends.
            unsafe { crate::host::enter(worker) };
            // A portable stack belongs to a separate kernel thread, and was allocated by the
            // platform.
            let signal_stack =
                worker.pool.settings.portable.then(|| SignalStack::of_thread(context::PORTABLE_STACK));
            if let Some(stack) = signal_stack.flatten().as_ref() {
                stack.is_of(&worker.running);
                return worker.run(way);
            }
            worker.run(way);
        });
        Ok(Box::write(room, Fiber { context, span, brought: false, place: 0, id: None, registered: None }))
    }

    /// The code that runs on each stack. It runs one body after the other.
    fn run(&self, way: Way) {
        self.way.set(way);
        while let Some(body) = self.next_body.take() {
            self.places.reset();
            let outcome = catch_unwind(AssertUnwindSafe(body));
            if process::is_child() {
                // The body has forked, and this thread continues in the child, where locks of the
                // runtime can be locked forever.
                process::child_has_ended(outcome.is_err());
                drop_quietly(outcome);
                if self.pool.settings.portable {
                    // In the child, this portable stack's worker does not exist.
                    process::end_the_child();
                }
                // The handlers of `exit` need a large stack. Therefore they run on the worker's own
                // stack: the worker ends the child, and does not resume this stack.
                loop {
                    self.pause(Pause::Ended);
                }
            }
            let id = self.running.id.get();
            local::end(id);
            if let Some(record) = id.and_then(|id| self.pool.roster.table().get(id.record())) {
                let panicked = outcome.is_err();
                record.leave(outcome);
                // No thread will take the panic, so it is dropped here. On this stack the drop can
                // wait, whereas on the worker's own stack it might block the worker.
                if panicked && !id.is_some_and(|id| record.join.settle(id.generation())) {
                    drop_quietly(record.slow(|slow| slow.panic.take()));
                }
            }
            self.pause(Pause::Ended);
        }
    }

    /// Called when a thread has ended and no longer uses its stack.
    #[inline(never)]
    fn end(&self, mut fiber: Box<Fiber>, began: bool) {
        self.vacant.borrow_mut().push(fiber.place);
        let (id, registered) = (fiber.id.take(), fiber.registered.take());
        if began {
            self.recycle(fiber);
        } else {
            drop(fiber.context.into_mapping());
        }
        let Some((id, registered)) = id.zip(registered) else { return };
        let Some(record) = self.pool.roster.table().get(id.record()) else { return };
        record.place.store(NONE, Ordering::Relaxed);
        if let Some(body) = self.next_body.take() {
            // The body never began. An outcome is stored here, so that the joiner does not get the
            // outcome of an earlier thread of the record.
            record.leave(
                catch_unwind(AssertUnwindSafe(|| drop(body)))
                    .and(Err(Box::new("no kernel thread to begin on"))),
            );
        }
        if record.wake_flags.close() {
            self.leave(id, registered, record);
        } else {
            self.lingering.borrow_mut().push((id, registered));
        }
    }

    /// Finishes an ended thread whose record is in no remote queue.
    #[inline]
    fn leave(&self, id: ThreadId, registered: Registered, record: &Record<()>) {
        record.owner.store(NONE, Ordering::Relaxed);
        self.pool.roster.unregister(id, registered);
        self.pool.roster.finish(id, record, |joiner| self.wake_thread(joiner));
        self.pool.has_ended();
    }

    // ---- stacks

    /// Caches the stack of a thread that has ended, or unmaps it.
    #[inline]
    fn recycle(&self, fiber: Box<Fiber>) {
        let pool = &*self.pool;
        // Every stack of another size came with its thread.
        let for_all = fiber.brought || pool.keeps_for_all();
        let mut spare = self.spare.borrow_mut();
        if !for_all && spare.len() < pool.settings.keep && spare.try_reserve(1).is_ok() {
            spare.push_back(Spare::Warm(fiber));
            return;
        }
        drop(spare);
        let mapping = self.finish(fiber);
        if for_all {
            pool.keep_for_all(mapping);
        }
    }

    fn take_spare(&self) -> Option<Spare> {
        let spare = self.spare.borrow_mut().pop_back();
        spare.or_else(|| self.pool.map_usual().ok().map(Spare::Cold))
    }

    fn discard(&self, spare: Spare) {
        drop(match spare {
            Spare::Warm(fiber) => self.finish(fiber),
            Spare::Cold(mapping) => mapping,
        });
    }

    /// Resumes a stack whose thread has ended. The code on the stack finds no next body and
    /// returns.
    #[expect(clippy::boxed_local, reason = "it is in a box wherever it is")]
    fn finish(&self, mut fiber: Box<Fiber>) -> Mapping {
        while fiber.context.resume().is_some() {}
        fiber.context.into_mapping()
    }

    /// Makes sure that there are at least `owed + 1` spare stacks.
    #[inline]
    fn reserve(&self, owed: usize) -> Result<(), CreateError> {
        if self.spare.borrow().len() > owed {
            return Ok(());
        }
        let mapping = self.pool.map_usual()?;
        match self.keep_spare(mapping) {
            None => Ok(()),
            Some(_) => Err(CreateError::OutOfMemory),
        }
    }
}
