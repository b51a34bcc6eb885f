//! A runtime of kernel threads, and the host of one of its threads.

use core::cell::Cell;
use core::ops::Range;
use core::panic::AssertUnwindSafe;
use core::sync::atomic::{AtomicBool, AtomicUsize};
use core::time::Duration;
use std::panic::catch_unwind;
use std::sync::{Arc, Weak};

use tickwright::time::{Clock, Instant};

use super::pthread::{self, Joinable, Pthread};
use crate::attributes::{Attributes, Name};
use crate::clock::Timekeeper;
use crate::error::{CreateError, JoinError};
use crate::host::{self, Host};
use crate::id::ThreadId;
use crate::kernel_thread::KernelThread;
use crate::local;
use crate::local::drop_quietly;
use crate::memory::{try_box, try_text};
use crate::overflow::{self, SignalStack};
use crate::primitive::Ordering;
use crate::process;
use crate::record::Record as AnyRecord;
use crate::registry::{Registered, RegistryKind};
use crate::roster::{Roster, Shard, answers_of_roster};
use crate::stack::own_stack;
use crate::threads::{Body, Threads, Wait};
use crate::waiters::Waiters;
use crate::wake::Waiter;

type Record = AnyRecord<Joinable>;

/// The number of shards in the roster of a runtime of kernel threads. With several shards, threads
/// that create threads at the same time rarely wait for the same lock.
const SHARDS: usize = 16;

/// Returns the number of the caller's shard, modulo [`SHARDS`]. As long as there are at most as
/// many creators as shards, each creator has its own shard.
fn own_shard() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static OWN: Cell<Option<usize>> = const { Cell::new(None) };
    }
    OWN.get().unwrap_or_else(|| {
        let shard = NEXT.fetch_add(1, Ordering::Relaxed);
        OWN.set(Some(shard));
        shard
    })
}

/// A runtime of kernel threads.
pub(crate) struct Kernel {
    roster: Roster<Shard<()>, Joinable>,
    pthread: Pthread,
    keeper: Timekeeper,
    closing: AtomicBool,
    /// The threads that wait until the runtime has no threads.
    closers: Waiters,
    me: Weak<Self>,
}

impl Kernel {
    pub(crate) fn new(pthread: Pthread, dictionary: RegistryKind, keeper: Timekeeper) -> Arc<Self> {
        overflow::notice();
        Arc::new_cyclic(|me| Self {
            roster: Roster::new((0..SHARDS).map(|at| Shard::new(at, dictionary, ())).collect()),
            pthread,
            keeper,
            closing: AtomicBool::new(false),
            closers: Waiters::new(),
            me: Weak::clone(me),
        })
    }

    /// Returns whether the caller is a thread of this runtime.
    fn is_callers(&self) -> bool {
        host::with(|host| host.runtime()) == Some(core::ptr::from_ref(self).cast())
    }

    /// Removes a thread from the registry, after its body has ended or if it was not started.
    fn unregister(&self, id: ThreadId, registered: Registered) {
        self.roster.unregister(id, registered);
        if self.closing.load(Ordering::SeqCst) {
            self.closers.wake_all();
        }
    }

    /// Undoes the registration of a thread that was not started.
    fn withdraw(&self, id: ThreadId, record: &Record, registered: Registered) {
        self.unregister(id, registered);
        self.roster.release(id, record);
    }

    /// Runs a thread from its beginning to its end.
    fn run(self: Arc<Self>, id: ThreadId, registered: Registered, body: Body) {
        let member = Member { runtime: Arc::clone(&self), id, has_parked: Cell::new(false) };
        // SAFETY: 1. The host is left before this function returns, and no panic can leave the
        // function earlier.
        unsafe { host::enter(&member) };
        let outcome = catch_unwind(AssertUnwindSafe(body));
        if !self.roster.is_here() {
            // The body has forked, and this thread continues in the child, where locks of the
            // runtime can be locked forever.
            process::child_has_ended(outcome.is_err());
            drop_quietly(outcome);
            process::end_the_child();
        }
        local::end(Some(id));
        host::leave();
        self.unregister(id, registered);
        if let Ok(record) = self.roster.table().find(id) {
            record.leave(outcome);
            // The joiner of a kernel thread stores a handle and not its id, so `wake` has nothing
            // to do.
            self.roster.finish(id, record, |_| ());
        }
    }

    /// Waits until the platform's thread has exited, unless another thread has already waited for
    /// it.
    fn reap(&self, record: &Record) {
        if let Some(thread) = record.slow(|slow| slow.started.take()) {
            thread.join();
        }
    }
}

impl Threads for Kernel {
    fn model(&self) -> &'static str {
        "one-to-one"
    }

    fn create(&self, attributes: &Attributes, body: Body) -> Result<ThreadId, CreateError> {
        attributes.check()?;
        if !self.roster.is_here() {
            return Err(CreateError::Forked);
        }
        let me = self.me.upgrade().ok_or(CreateError::Closed)?;
        let name = attributes.name.as_ref().map(Name::as_str);
        let kept_name = name.map(|name| try_text(name).ok_or(CreateError::OutOfMemory)).transpose()?;
        // This is a second copy of the name, which the overflow handler reads without the record's
        // lock.
        let called = name.map(|name| try_text(name).ok_or(CreateError::OutOfMemory)).transpose()?;
        let inside = self.is_callers();
        let shard = self.roster.places().get(own_shard() % SHARDS).ok_or(CreateError::OutOfMemory)?;
        let registered = shard.locked(|locked| self.roster.register(locked, attributes.detached, |_| true));
        let (id, registered) = registered?;
        let record = self.roster.table().find(id).map_err(|_| CreateError::OutOfMemory)?;
        // This check comes after the registration. Therefore either the thread that closes the
        // runtime sees the new thread, or this check finds that the runtime is closing.
        if self.closing.load(Ordering::SeqCst) && !inside {
            self.withdraw(id, record, registered);
            return Err(CreateError::Closed);
        }
        let shown = name.map(pthread::shown_name);
        let (stack, _) = self.pthread.sizes(attributes);
        let run = try_box(move || {
            if let Some(name) = shown {
                pthread::show_name(name);
            }
            let watched = SignalStack::of_thread(stack);
            if let Some(stack) = &watched {
                stack.is_called(called.as_deref(), Some(id));
            }
            // `watched` is dropped before the name, which belongs to the closure.
            me.run(id, registered, body);
        });
        let run = match run {
            Ok(run) => run,
            Err(run) => {
                self.withdraw(id, record, registered);
                drop(run);
                return Err(CreateError::OutOfMemory);
            }
        };
        // The lock is held during the start, so that a joiner that comes before this function
        // returns finds `started`, which it needs to join the thread.
        let started = record.slow(|slow| {
            slow.name = kept_name;
            slow.started = self.pthread.start(attributes, run)?;
            Ok(())
        });
        match started {
            Ok(()) => Ok(id),
            Err((error, run)) => {
                self.withdraw(id, record, registered);
                drop(run);
                Err(error)
            }
        }
    }

    fn join(&self, id: ThreadId, wait: Wait) -> Result<usize, JoinError> {
        let me = host::current().filter(|_| self.is_callers());
        let record = self.roster.join(me, id, wait, |record| {
            // The platform's join waits without polling, but it would block the worker of an M:N
            // thread.
            if wait == Wait::Forever && !host::is_shared() {
                self.reap(record);
                // The thread is joined now, unless a thread that closes the runtime has joined it
                // first.
                if record.join.is_finished(id.generation()) {
                    return Ok(());
                }
            }
            record.wait_for_end(id, wait, &self.keeper)
        })?;
        self.reap(record);
        let outcome = record.outcome();
        self.roster.release(id, record);
        outcome
    }

    fn unpark(&self, id: ThreadId) -> Result<(), JoinError> {
        let record = self.roster.existing(id)?;
        if record.park.unpark()
            && let Some(thread) = record.slow(|slow| slow.thread.clone())
        {
            thread.unpark();
        }
        Ok(())
    }

    answers_of_roster!();

    fn close(&self) {
        if !self.roster.is_here() {
            // A forked child frees nothing of the runtime, because the runtime's threads belong to
            // the parent.
            core::mem::forget(self.me.upgrade());
            return;
        }
        self.closing.store(true, Ordering::SeqCst);
        if self.is_callers() {
            return;
        }
        self.closers.wait_while(|| self.live() > 0);
        // All threads have ended, but some of them were not joined.
        for record in self.roster.table().iter() {
            self.reap(record);
        }
        self.pthread.clear();
    }
}

/// The host of a kernel thread, on which only one thread of the runtime runs.
struct Member {
    runtime: Arc<Kernel>,
    id: ThreadId,
    /// Whether the thread has parked, so that its record holds the handle to wake it.
    has_parked: Cell<bool>,
}

impl Host for Member {
    fn current(&self) -> Option<ThreadId> {
        Some(self.id)
    }

    fn threads(&self) -> Arc<dyn Threads> {
        Arc::clone(&self.runtime) as _
    }

    fn runtime(&self) -> *const () {
        Arc::as_ptr(&self.runtime).cast()
    }

    fn clock(&self) -> &Arc<dyn Clock> {
        self.runtime.keeper.clock()
    }

    fn is_shared(&self) -> bool {
        false
    }

    fn waiter(&self) -> Waiter {
        Waiter::Kernel(KernelThread::current())
    }

    fn yield_now(&self) {
        std::thread::yield_now();
    }

    fn wait(&self) {
        KernelThread::park();
    }

    fn wait_for(&self, most: Duration) {
        KernelThread::park_timeout(most);
    }

    fn wait_until(&self, at: Instant) -> bool {
        self.runtime.keeper.park_until(at)
    }

    fn park(&self, until: Option<Instant>) {
        let Ok(record) = self.runtime.roster.table().find(self.id) else { return };
        if !self.has_parked.replace(true) {
            record.slow(|slow| slow.thread = Some(KernelThread::current()));
        }
        if record.park.park() {
            match until {
                None => self.wait(),
                Some(at) => drop(self.wait_until(at)),
            }
            record.park.end_park();
        }
    }

    fn stack(&self) -> Option<Range<usize>> {
        own_stack()
    }
}
