//! The fork handlers, registered once.

use core::sync::atomic::{AtomicU32, Ordering};

/// Whether the handlers are registered with the platform. The value is 0 at first, then the number
/// of the process whose thread is registering them, and `u32::MAX` when they are registered.
///
/// If a fork is in progress, the platform makes a registration wait for it. If the registering
/// thread held a lock or a `Once` during that fork, the lock would stay locked forever in the
/// child. Therefore the thread stores the number of its process instead of taking a lock. A child
/// has another number, and registers again.
#[derive(Debug, Default)]
pub struct Registration(AtomicU32);

const DONE: u32 = u32::MAX;

impl Registration {
    /// Creates the state in which no handlers are registered.
    #[must_use]
    pub const fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// Calls `register` unless the handlers are registered. Returns whether they are registered
    /// now. Waits while another thread of this process is registering them.
    pub fn ensure(&self, register: impl FnOnce() -> bool) -> bool {
        loop {
            let found = self.0.load(Ordering::Acquire);
            if found == DONE {
                return true;
            }
            let process = std::process::id();
            if found == process {
                std::thread::yield_now();
            } else if self.0.compare_exchange(found, process, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
                let done = register();
                self.0.store(if done { DONE } else { 0 }, Ordering::Release);
                return done;
            }
        }
    }

    /// The child's fork handler calls this. That the handler runs proves that it is registered, but
    /// the fork might have happened before the registering thread stored `DONE`.
    pub fn is_done(&self) {
        self.0.store(DONE, Ordering::Release);
    }
}
