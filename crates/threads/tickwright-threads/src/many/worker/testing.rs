//! NGPT's ways in a worker: one queue for all workers, and a system call at every switch.

use std::collections::VecDeque;

use super::{Fiber, ROW, Worker};
use crate::id::ThreadId;
use crate::wake_flags::Wakeup;

impl Worker {
    /// Like `run_next`, but takes the thread from the queue that all workers share, under its lock.
    pub(super) fn run_next_of_all(&self) -> bool {
        let remote = self.pool.queue(self.index);
        let (spawned, ready) = remote.locked(|locked| {
            let queue = &mut locked.own;
            let row = self.row.replace(0);
            if row < ROW
                && let Some(spawned) = remote.pop(queue)
            {
                self.row.set(row + 1);
                return (Some(spawned), None);
            }
            match queue.ready.get_mut(self.index).and_then(VecDeque::pop_front) {
                Some(number) => (None, Some(number)),
                None => (remote.pop(queue), None),
            }
        });
        if let Some(number) = ready {
            if let Some(fiber) = self.receive(number) {
                self.resume(fiber);
            }
            return true;
        }
        spawned.map(|spawned| self.begin(spawned)).is_some()
    }

    /// Inserts a thread that has yielded into the queue that all workers share.
    pub(super) fn yield_to_all(&self, fiber: Box<Fiber>) {
        let number = fiber.id.map(ThreadId::record);
        self.park_fiber(fiber);
        if let Some(number) = number
            && let Some(record) = self.pool.roster.table().get(number)
        {
            record.wake_flags.yielded();
            self.pool.notify_remote(number, record, Wakeup::Yielded);
        }
    }

    #[cold]
    pub(super) fn before_a_switch(&self) {
        if self.pool.settings.ways().sigmask_per_switch {
            // `swapcontext` asks for the signal mask at every switch.
            // SAFETY: 1. The call changes nothing and writes nothing.
            unsafe {
                libc::pthread_sigmask(libc::SIG_BLOCK, core::ptr::null(), core::ptr::null_mut());
            }
        }
    }
}
