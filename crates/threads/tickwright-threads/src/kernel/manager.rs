//! One thread manages all others: the design of `LinuxThreads`, which Linux had until 2003.
//!
//! | step | who | what |
//! |---|---|---|
//! | create | creator | reads its signal mask, writes to the manager's pipe, is suspended |
//! | | manager | polls, reads; maps a stack with a guard, starts the thread, wakes the creator |
//! | end | thread | wakes its joiner, writes that it ends |
//! | | manager | polls, reads; waits for the platform's thread to be gone |
//! | join | joiner | waits for the end, writes that the stack is free |
//! | | manager | polls, reads; unmaps the stack |
//!
//! So every thread costs three writes, three polls, three reads, and at least four switches. It
//! also costs one mapping, which is made, protected and unmapped. The manager caches no stacks.
//!
//! The facts about the original are from glibc 2.3, `linuxthreads/manager.c`, `pthread.c` and
//! `join.c`. Three things differ from the original. A thread itself reports its end; in the
//! original the kernel sent the manager a signal. The manager finds threads by number; the original
//! walked through lists. The original also checked all threads every two seconds; this manager does
//! so only while a thread is ending.

#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex};

use tickwright::time::Clock;

use super::one_to_one::OneToOne;
use super::pthread::{Joinable, OWN_STACK, Pthread, Refused, Run, start_own};
use super::request_pipe::RequestPipe;
use super::runtime::Kernel;
use super::starter::{Started, Starter};
use crate::attributes::Attributes;
use crate::attributes::setters;
use crate::countdown::Countdown;
use crate::error::RuntimeError;
use crate::mask::Mask;
use crate::overflow::SignalStack;
use crate::primitive::lock;
use crate::registry::RegistryKind;
use crate::threads::Threads;

/// Settings of the manager model. Each thread is one of the platform's. One manager thread, which
/// reads requests from a pipe, starts each thread and frees its stack.
///
/// The model exists to be measured: [`OneToOne`] does the same without the detour through a
/// manager. Apart from speed there are these differences. A thread inherits only the signal mask
/// from its creator. It inherits its processor affinity and its scheduling from the manager, which
/// inherited them from the thread that started the runtime. A join waits for the body to end, and
/// not for the destructors of `thread_local!` after it. A creator that is an M:N thread of another
/// runtime blocks its worker while it is suspended.
///
/// The manager ends when it cannot read its pipe any more. It also ends when it reads a request
/// that none of its threads has written, because then other code uses its descriptor. Creations are
/// then refused with [`CreateError::NoManager`](crate::CreateError::NoManager). Running threads
/// continue and can be joined, and the end of the runtime frees all stacks.
///
/// ```
/// use tickwright_threads::{Attributes, Manager, Model, Runtime};
///
/// let runtime = Runtime::new(Model::Manager(Manager::new()))?;
/// let thread = runtime.create(&Attributes::new(), || 42)?;
/// assert_eq!(runtime.join(thread).ok(), Some(42));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Manager(OneToOne);

impl Manager {
    /// The defaults: stacks of 2 MiB with a guard of one page, a red-black tree, and the monotonic
    /// clock.
    #[must_use]
    pub fn new() -> Self {
        Self(OneToOne::new())
    }

    setters! {
        /// The default size of a thread's stack, in bytes.
        stack(self, bytes: usize) { self.0 = self.0.stack(bytes) }

        /// The default size of a stack's guard, in bytes; with 0 there is no guard.
        guard(self, bytes: usize) { self.0 = self.0.guard(bytes) }

        /// The dictionary in which threads are registered.
        dictionary(self, dictionary: RegistryKind) { self.0 = self.0.dictionary(dictionary) }

        /// The clock by which the runtime's threads sleep.
        clock(self, clock: impl Clock + 'static) { self.0 = self.0.clock(clock) }
    }

    pub(crate) fn start(self) -> Result<Arc<dyn Threads>, RuntimeError> {
        let (pthread, dictionary, keeper) = self.0.parts()?;
        Ok(Kernel::new(Box::new(Funnel::new(pthread)?), dictionary, keeper))
    }
}

const NAME: &str = "tw-manager";

/// The manager starts the thread.
struct Funnel {
    pthread: Pthread,
    requests: Arc<RequestPipe>,
    manager: Mutex<Option<Joinable>>,
}

impl Funnel {
    fn new(pthread: Pthread) -> Result<Self, RuntimeError> {
        let requests = RequestPipe::new().map_err(|error| RuntimeError::Start { what: "pipe", error })?;
        let requests = Arc::new(requests);
        let own = Arc::clone(&requests);
        let begun = Countdown::new(1);
        let mine = Arc::clone(&begun);
        let manager = move || {
            // Handlers of the program's signals run in its own threads.
            Mask::block_all();
            let watched = SignalStack::of_thread(OWN_STACK);
            if let Some(stack) = &watched {
                stack.is_called(Some(NAME), None);
            }
            mine.count();
            own.serve();
        };
        let manager = Mutex::new(Some(start_own("manager", NAME, Box::new(manager))?));
        begun.wait();
        Ok(Self { pthread, requests, manager })
    }
}

impl Starter for Funnel {
    fn model(&self) -> &'static str {
        "manager"
    }

    fn stack(&self, attributes: &Attributes) -> usize {
        self.pthread.sizes(attributes).0
    }

    fn start(&self, attributes: &Attributes, run: Run) -> Result<Option<Started>, Refused> {
        let lease =
            RequestPipe::create(&self.requests, self.pthread.sizes(attributes), attributes.detached, run)?;
        Ok(lease.map(Started::Managed))
    }

    fn reap_waits(&self) -> bool {
        false
    }

    fn closed(&self) {
        self.requests.close();
        let manager = lock(&self.manager).take();
        if let Some(manager) = manager
            && self.requests.is_ours()
        {
            // If the caller is an M:N thread, this wait does not block its worker. The manager may
            // wait for threads that in turn wait for other threads of that worker.
            manager.join();
        }
        self.requests.clear();
    }
}

impl Drop for Funnel {
    fn drop(&mut self) {
        // The caller may be a thread for whose end the manager waits. So this does not wait: the
        // manager ends by itself afterwards.
        if let Some(manager) = lock(&self.manager).take() {
            self.requests.close();
            if !self.requests.is_ours() {
                // A forked child has no manager thread, so the handle is forgotten.
                core::mem::forget(manager);
            }
        }
    }
}
