//! tokio: all our timers stand on one of its sleeps.

use core::future::{Future, poll_fn};
use core::pin::{Pin, pin};
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::sync::{Mutex, Weak};

use tickwright::clock::{Clock, Instant};
use tokio::runtime::{Handle, TryCurrentError};
use tokio::time;

use crate::base::Core;
use crate::settings::Settings;
use crate::sync::{Arc, Ordering};
use crate::timers::Timers;

/// The clock of a runtime, which a test may pause.
struct TokioClock(time::Instant);

impl Clock for TokioClock {
    fn now(&self) -> Instant {
        Instant::ZERO + self.0.elapsed()
    }
}

/// The waker of the task that runs the timers.
type Driver = Mutex<Option<Waker>>;

impl Settings {
    /// Creates timers that a task of the current tokio runtime runs, with one sleep of tokio for
    /// all of them. The timers go by the clock of the runtime. So `tokio::time::pause` and
    /// `advance` move them, and a runtime that shuts down ends them. A sleep of tokio is rounded up
    /// to the next millisecond, and so are these timers. A clock that [`Settings`] set is ignored.
    /// A panic of a waker does not end the task.
    ///
    /// A thread that has not entered the runtime sees the time of the machine, as tokio's `Instant`
    /// does. So under a paused clock use the timers inside of the runtime. After the runtime has
    /// ended, a pending sleep stays pending and nothing wakes its task. A sleep of tokio becomes
    /// ready instead.
    ///
    /// # Errors
    /// tokio's error, if the caller is outside of a runtime.
    ///
    /// # Panics
    /// tokio panics if the runtime has no timer: see `tokio::runtime::Builder::enable_time`.
    pub fn on_tokio(self) -> Result<Timers, TryCurrentError> {
        let runtime = Handle::try_current()?;
        let epoch = time::Instant::now();
        let driver = Arc::new(Driver::default());
        let called = Arc::clone(&driver);
        let timers = self.clock(Arc::new(TokioClock(epoch))).driven(move || {
            if let Some(waker) = take(&called) {
                waker.wake();
            }
        });
        let core = Arc::downgrade(&timers.core);
        runtime.spawn(async move {
            let mut sleep = pin!(time::sleep_until(epoch));
            poll_fn(|cx| poll(&core, &driver, epoch, sleep.as_mut(), cx)).await;
        });
        Ok(timers)
    }
}

fn take(driver: &Driver) -> Option<Waker> {
    driver.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take()
}

/// Fires the timers that are due, and arms the sleep for the next one. Ready: no handle and no
/// timer is left.
fn poll(
    core: &Weak<Core>,
    driver: &Driver,
    epoch: time::Instant,
    mut sleep: Pin<&mut time::Sleep>,
    cx: &mut Context<'_>,
) -> Poll<()> {
    loop {
        let Some(core) = core.upgrade() else { return Poll::Ready(()) };
        // The waker is stored before the look, so that a timer that is filed from now on wakes this
        // task.
        *driver.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(cx.waker().clone());
        let next = core.run_on(|| {});
        if core.handles.load(Ordering::Acquire) == 0 && core.sweep() {
            return Poll::Ready(());
        }
        let at = Duration::from_nanos(core.time.convert_back(core.scale.start(next)));
        // `None`: the instant is after the end of tokio's clock.
        let Some(at) = (next < u64::MAX).then(|| epoch.checked_add(at)).flatten() else {
            return Poll::Pending;
        };
        if sleep.deadline() != at {
            sleep.as_mut().reset(at);
        }
        if sleep.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        if core.scale.now(core.time.now()) < next {
            // tokio's sleep has ended a little before its deadline.
            sleep.as_mut().reset(time::Instant::now() + Duration::from_millis(1));
        }
    }
}
