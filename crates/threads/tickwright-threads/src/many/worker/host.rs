//! The worker as the host of the thread that runs on it.

use core::ops::Range;
use core::time::Duration;
use std::io;
use std::sync::Arc;

use tickwright::time::{Clock, Instant};

use super::Worker;
use crate::host::{self, Host};
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

    fn budget_is_spent(&self) {
        let switches = self.switches.get();
        if self.spent_at.replace(switches) == switches {
            self.make_way();
        }
    }

    fn make_way(&self) {
        if !self.own().is_some_and(|own| own.section.postpones()) {
            self.yield_now();
        }
    }

    fn forbid_yields(&self) {
        if let Some(own) = self.own() {
            own.section.begin();
        }
    }

    fn allow_yields(&self) {
        // An unwinding thread does not yield.
        if self.own().is_some_and(|own| own.section.end()) && !std::thread::panicking() {
            self.yield_now();
        }
    }

    fn wait(&self) {
        self.wait();
    }

    fn wait_for(&self, most: Duration) {
        let now = host::machine_now();
        self.wait_among(&self.by_the_machine, now, now + most);
    }

    fn wait_until(&self, at: Instant) -> bool {
        let now = self.pool.now();
        if now >= at {
            return false;
        }
        self.wait_among(&self.sleepers, now, at);
        true
    }

    fn park(&self, until: Option<Instant>) {
        let Some(at) = until else { return self.park() };
        let Some(own) = self.own() else { return };
        if own.wake_flags.is_unparked() || !self.wait_until(at) {
            host::count_call();
        }
        own.wake_flags.end_park();
    }

    fn stack(&self) -> Option<Range<usize>> {
        // A portable stack is the stack of a kernel thread.
        if self.pool.settings.portable { own_stack() } else { Some(self.running.span.get().stack()) }
    }

    fn wait_for_descriptor(&self, fd: i32, writable: bool) -> Option<io::Result<()>> {
        let me = self.current()?;
        if let Err(error) = self.descriptors.borrow_mut().add(self.remote(), fd, writable, me) {
            return Some(Err(error));
        }
        while self.descriptors.borrow().waits(fd, writable, me) {
            self.wait();
        }
        Some(Ok(()))
    }
}
