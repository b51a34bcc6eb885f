//! The driver that is a thread. It sleeps until a timer is due, and ends when no handle and no
//! timer is left.

use core::panic::AssertUnwindSafe;
use core::time::Duration;
use std::panic::catch_unwind;

use crate::base::Core;
use crate::sync::{Arc, Ordering};
use crate::wake::Wake;

impl Core {
    /// Tells the driver that a timer is filed for `tick`, which is earlier than the driver's next
    /// look. No lock is held. False: there is no driver, and no thread could be started.
    #[cold]
    pub(crate) fn call_driver(self: &Arc<Self>, tick: u64) -> bool {
        match &self.wake {
            Wake::Hook(hook) => {
                hook();
                true
            }
            // A thread that has ended is started again, for timers that outlive all handles.
            Wake::Thread(sleeper) => !sleeper.call(tick) || self.start_thread().is_ok(),
        }
    }

    /// Starts the thread. The sleeper has told the caller to do so.
    pub(crate) fn start_thread(self: &Arc<Self>) -> std::io::Result<()> {
        let Wake::Thread(sleeper) = &self.wake else { return Ok(()) };
        let core = Arc::clone(self);
        let started = start(move || core.drive());
        if started.is_err() {
            sleeper.give_up();
        }
        started
    }

    /// The pool calls this when it has freed a timer that outlived all handles. If it was the last
    /// timer, the driver ends.
    pub(crate) fn call_driver_to_end(&self) {
        match &self.wake {
            Wake::Hook(hook) => hook(),
            Wake::Thread(sleeper) => sleeper.call_now(),
        }
    }

    /// Fires the due timers, and catches the panic of a waker so that the driver goes on. Returns
    /// the tick at which to look again.
    pub(crate) fn run_on(&self, note_panic: impl FnOnce()) -> u64 {
        match catch_unwind(AssertUnwindSafe(|| self.run())) {
            Ok((_, next)) => next,
            // The pass has called each waker. The next due tick is not known, so the driver looks
            // again.
            Err(panic) => {
                note_panic();
                // The drop of the payload is foreign code too.
                if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
                    core::mem::forget(panic);
                }
                0
            }
        }
    }

    fn drive(&self) {
        let Wake::Thread(sleeper) = &self.wake else { return };
        be_precise();
        loop {
            sleeper.begin();
            let next = self.run_on(|| sleeper.note_panic());
            if self.handles.load(Ordering::Acquire) == 0 && self.sweep() && sleeper.end(|| self.sweep()) {
                return;
            }
            sleeper.sleep(next, |tick| {
                let left = self.scale.start(tick).saturating_sub(self.time.now());
                (left > 0).then(|| Duration::from_nanos(left))
            });
        }
    }
}

/// The kernel may wake a thread 50 us late, to save wake-ups. This thread coalesces wake-ups by
/// itself.
fn be_precise() {
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::set_current_timer_slack(core::num::NonZeroU64::new(1));
}

fn start(drive: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    #[cfg(all(test, not(loom)))]
    tests::refuse()?;
    std::thread::Builder::new().name("tickwright".into()).spawn(drive).map(drop)
}

#[cfg(all(test, not(loom)))]
mod tests;
