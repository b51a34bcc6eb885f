//! The handlers of forks, registered once.

use core::sync::atomic::{AtomicU32, Ordering};

/// Whether handlers are registered with the platform: 0, the process in which a thread registers
/// them, or `u32::MAX` when it is done.
///
/// The platform lets a registration wait for a fork that is under way. A lock, or a `Once`, that is
/// held meanwhile would stay locked in the child for ever. So the thread that registers leaves the
/// number of its process: a child has another number, and registers again.
#[derive(Debug, Default)]
pub struct Registration(AtomicU32);

const DONE: u32 = u32::MAX;

impl Registration {
    /// Not yet.
    #[must_use]
    pub const fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// Calls `register` unless that was done; whether they are registered now. Waits while another
    /// thread of this process registers.
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

    /// The handler of the child calls it. That the handler runs shows that it is registered, even
    /// if the thread that registered it had not noted that yet.
    pub fn is_done(&self) {
        self.0.store(DONE, Ordering::Release);
    }
}
