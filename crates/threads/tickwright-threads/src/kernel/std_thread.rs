//! Kernel threads of the standard library, for platforms without pthreads.
//!
//! The platform chooses the address of a thread's stack, and its guard. If there is no memory for
//! the handle of a thread, the standard library ends the process.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{Builder, JoinHandle};

use super::{Refused, Run};
use crate::attributes::{Attributes, Stacks};
use crate::error::CreateError;
use crate::primitive::lock;
use crate::stack::in_pages;

/// Starts threads.
pub(crate) struct Pthread {
    stack: usize,
    guard: usize,
}

/// The data that a thread and its creator share.
struct Start {
    run: Mutex<Option<Run>>,
    /// The thread's [`own_address`], or 0 until the thread has begun.
    thread: AtomicUsize,
}

/// A started thread, to be joined once. If the value is dropped instead, the thread is released
/// without a join.
pub(crate) struct Joinable {
    thread: JoinHandle<()>,
    start: Arc<Start>,
}

/// Returns an address that no other thread has at the same time. Destructors can call this even if
/// the standard library has already forgotten the thread's handle.
fn own_address() -> usize {
    thread_local! {
        static OWN: u8 = const { 0 };
    }
    OWN.with(|own| core::ptr::from_ref(own).addr())
}

impl Joinable {
    /// Waits until the thread has exited. A thread can call this for itself, from a destructor of
    /// its thread-local variables. In this case the thread is only released, without a wait.
    pub(crate) fn join(self) {
        if self.start.thread.load(Ordering::Relaxed) != own_address() {
            let _ = self.thread.join();
        }
    }
}

impl Pthread {
    pub(crate) fn new(stack: usize, guard: usize, _: Stacks) -> Self {
        Self { stack: in_pages(stack), guard: in_pages(guard) }
    }

    /// Returns the sizes of a stack and its guard, in bytes, rounded up to whole pages.
    pub(crate) fn sizes(&self, attributes: &Attributes) -> (usize, usize) {
        (attributes.stack.map_or(self.stack, in_pages), attributes.guard.map_or(self.guard, in_pages))
    }

    pub(crate) fn start(&self, attributes: &Attributes, run: Run) -> Result<Option<Joinable>, Refused> {
        let mut builder = Builder::new().stack_size(self.sizes(attributes).0);
        if let Some(name) = &attributes.name {
            builder = builder.name(name.as_str().into());
        }
        let start = Arc::new(Start { run: Mutex::new(Some(run)), thread: AtomicUsize::new(0) });
        let own = Arc::clone(&start);
        let started = builder.spawn(move || {
            own.thread.store(own_address(), Ordering::Relaxed);
            let run = lock(&own.run).take();
            drop(own);
            if let Some(run) = run {
                run();
            }
        });
        match started {
            Ok(thread) => Ok((!attributes.detached).then_some(Joinable { thread, start })),
            Err(error) => {
                let run = lock(&start.run).take();
                Err((CreateError::TooMany { error: Some(error) }, run.unwrap_or_else(|| Box::new(|| ()))))
            }
        }
    }

    /// Does nothing, because a thread that has exited leaves nothing to free.
    pub(crate) fn clear(&self) {}
}

/// Returns nothing, because the standard library has already set the name.
pub(super) fn shown_name(_: &str) -> [u8; 0] {
    []
}

pub(super) fn show_name(_: [u8; 0]) {}
