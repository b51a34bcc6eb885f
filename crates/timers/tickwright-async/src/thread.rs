//! The driver thread. It sleeps until a timer is due, and ends when no handle and no timer is left.

use std::io;
use std::thread::Builder;

use tickwright::time::{DriverThread, Instant, Parker, SystemClock};

use crate::driver::Driver;
use crate::node::{Core, Taken};
use crate::pace::Load;
use crate::sync::{Arc, Ordering};

impl Core {
    /// Notifies the driver that a timer is filed for `tick`, which is earlier than the driver's
    /// next check. The caller holds no lock. Returns false if there is no driver and no thread
    /// could be started.
    #[cold]
    pub(crate) fn call_driver(self: &Arc<Self>, tick: u64) -> bool {
        if let Driver::Hook(hook) = &self.driver {
            hook();
        }
        // A thread that has ended is started again, because timers can outlive all handles.
        self.call_thread(Some(tick)).is_ok()
    }

    /// Starts the thread if there is none, and makes it check the timers at `tick` or earlier.
    pub(crate) fn call_thread(self: &Arc<Self>, tick: Option<u64>) -> io::Result<()> {
        let Driver::Thread(place) = &self.driver else { return Ok(()) };
        place.call(
            || self.start_thread(),
            |thread| {
                if let Some(tick) = tick {
                    self.look_at(thread.parker(), tick);
                }
            },
        )
    }

    /// The pool calls this when it has freed a timer that outlived all handles. If that was the
    /// last timer, the driver ends.
    pub(crate) fn call_driver_to_end(&self) {
        match &self.driver {
            Driver::Hook(hook) => hook(),
            Driver::Thread(place) => place.call_if_any(|thread| self.look_at(thread.parker(), 0)),
        }
    }

    /// Fires the due timers at the driver's pace. Returns the fired timers and the time of the next
    /// pass.
    pub(crate) fn turn(&self, load: &mut Load) -> (Taken, u64) {
        let now = self.time.now();
        let (fired, next) = self.pass();
        let next = self.pace.next(load, now, fired.woken as u64, self.time.start(next));
        (fired, next)
    }

    /// Brings the alarm forward to a tick, or to the end of the driver's rest if that is later.
    fn look_at(&self, alarm: &Parker<SystemClock>, tick: u64) {
        let at = self.time.start(tick);
        self.bring_forward(alarm, if at < u64::MAX { self.pace.after_rest(at) } else { at });
    }

    /// Brings the alarm forward, unless no clock ever reaches that time.
    fn bring_forward(&self, alarm: &Parker<SystemClock>, at: u64) {
        if at < u64::MAX {
            alarm.bring_forward(Instant::from_nanos(at));
        }
    }

    fn start_thread(self: &Arc<Self>) -> io::Result<DriverThread<SystemClock>> {
        #[cfg(all(test, not(loom)))]
        tests::refuse()?;
        let parker = Parker::try_new(SystemClock::Monotonic).ok_or(io::ErrorKind::OutOfMemory)?;
        // Several threads can have filed timers since the last check by the previous driver thread,
        // and each of them knows only its own timer. Therefore the new thread first checks all
        // shards, even if the previous thread was resting.
        self.bring_forward(&parker, 0);
        let (core, alarm, mut load) = (Arc::clone(self), Arc::clone(&parker), Load::default());
        let drive = move || {
            let (fired, next) = core.turn(&mut load);
            if !(core.handles.load(Ordering::Acquire) == 0 && core.sweep() && core.leave()) {
                core.bring_forward(&alarm, next);
            }
            fired.end();
        };
        DriverThread::spawn_by(parker, drive, |work| {
            let precise = move || {
                be_precise();
                work();
            };
            let thread = Builder::new().name("tickwright".into()).spawn(precise)?;
            Ok(Box::new(|| thread.join()))
        })
    }

    /// Ends the calling driver thread, unless a timer was filed since its last check.
    fn leave(&self) -> bool {
        let Driver::Thread(place) = &self.driver else { return false };
        place.leave(|| self.sweep())
    }
}

/// Requests precise wake-ups from the kernel. By default the kernel can wake a thread up to 50 us
/// late to save wake-ups, which is not needed here, because this thread already coalesces its
/// wake-ups.
fn be_precise() {
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::set_current_timer_slack(core::num::NonZeroU64::new(1));
}

#[cfg(all(test, not(loom)))]
mod tests;
