//! A worker as all that waits sees it: the host of the thread that runs on it.

use core::ops::Range;
use core::time::Duration;
use std::io;
use std::sync::Arc;

use tickwright::clock::{Clock, Instant};

use super::Worker;
use crate::here::Host;
use crate::id::ThreadId;
use crate::kernel_thread::KernelThread;
use crate::stack::own_stack;
use crate::threads::Threads;
use crate::wake::Waiter;

impl Host for Worker {
    fn current(&self) -> Option<ThreadId> {
        self.current()
    }

    fn threads(&self) -> Arc<dyn Threads> {
        Arc::clone(&self.pool) as _
    }

    fn runtime(&self) -> *const () {
        Arc::as_ptr(&self.pool).cast()
    }

    fn clock(&self) -> &Arc<dyn Clock> {
        self.pool.keeper.clock()
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn waiter(&self) -> Waiter {
        match self.current() {
            Some(id) => Waiter::Of(Arc::clone(&self.pool) as _, id),
            None => Waiter::Kernel(KernelThread::current()),
        }
    }

    fn yield_now(&self) {
        self.yield_now();
    }

    fn wait(&self) {
        self.wait();
    }

    fn wait_for(&self, most: Duration) {
        self.wait_for(most);
    }

    fn wait_until(&self, at: Instant) -> bool {
        self.wait_until(at)
    }

    fn park(&self, until: Option<Instant>) {
        match until {
            None => self.park(),
            Some(at) => self.park_until(at),
        }
    }

    fn stack(&self) -> Option<Range<usize>> {
        // A portable stack is the platform's.
        self.stack().or_else(own_stack)
    }

    fn wait_for_descriptor(&self, fd: i32, writable: bool) -> Option<io::Result<()>> {
        Some(self.wait_for_descriptor(fd, writable))
    }
}
