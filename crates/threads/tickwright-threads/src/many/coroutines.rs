//! Makes schedulers and shards recognize the threads of this model: each thread has its own
//! identity, and a thread that waits for a callback does not block its worker.

use core::num::NonZeroU64;
use core::task::Waker;
use std::sync::Arc;
use std::task::Wake;

use tickwright::coroutine::{Coroutines, register};

use super::on_worker;
use super::worker::Worker;
use crate::host;
use crate::wake::Waiter;

struct Stacks;

struct Telling(Waiter);

impl Wake for Telling {
    fn wake(self: Arc<Self>) {
        self.0.wake();
    }
}

impl Coroutines for Stacks {
    fn current(&self) -> Option<NonZeroU64> {
        let id = on_worker::with(Worker::current).flatten()?;
        NonZeroU64::new(id.to_bits())
    }

    fn waker(&self) -> Waker {
        Waker::from(Arc::new(Telling(host::waiter())))
    }

    fn wait(&self) {
        host::wait();
    }
}

/// Called when a runtime of this model starts.
pub(super) fn notice() {
    // The result is ignored. If it is false, another library or an earlier runtime of this model
    // has already registered.
    let _ = register(&Stacks);
}
