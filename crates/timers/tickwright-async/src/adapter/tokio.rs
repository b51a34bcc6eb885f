//! The adapter for tokio. A single sleep of tokio drives all our timers.

use core::future::{Future, poll_fn};
use core::panic::AssertUnwindSafe;
use core::pin::{Pin, pin};
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::panic::catch_unwind;
use std::sync::{OnceLock, Weak};

use tickwright::time::{Clock, Instant};
use tokio::runtime::{Handle, TryCurrentError};
use tokio::time;

use crate::node::Core;
use crate::settings::TimerSettings;
use crate::sync::{Arc, Mutex, Ordering, lock};
use crate::timers::Timers;

/// The clock of a tokio runtime, which a test can pause.
struct TokioClock(time::Instant);

impl Clock for TokioClock {
    fn now(&self) -> Instant {
        Instant::ZERO + self.0.elapsed()
    }
}

/// The state with which a thread wakes or starts the task that runs the timers.
struct Driver {
    runtime: Handle,
    /// The instant at which the timers' clock shows 0.
    epoch: time::Instant,
    /// The core of the timers. It is set once, directly after the timers are created.
    core: OnceLock<Weak<Core>>,
    state: Mutex<State>,
}

/// What the lock of a driver protects.
#[derive(Default)]
struct State {
    /// The task's waker. It is `None` from a call of `call` until the task checks the timers.
    waker: Option<Waker>,
    /// Whether the task has ended, because no handle and no timer was left.
    gone: bool,
}

impl TimerSettings {
    /// Creates timers that a task of the current tokio runtime runs, with one sleep of tokio for
    /// all of them. The timers use the clock of the runtime, so `tokio::time::pause` and `advance`
    /// affect them, and they stop when the runtime shuts down. tokio rounds a sleep up to the next
    /// millisecond. These timers are rounded in the same way, so they fire together with tokio's
    /// timers. If the [`TimerSettings`] have a clock, it is ignored. A panic of a waker does not
    /// end the task.
    ///
    /// To use the timers on a single thread, for example in a test with `current_thread`, call
    /// [`enter`](Timers::enter). For a runtime with several workers, use [`Timers::set_global`].
    ///
    /// ```
    /// use core::time::Duration;
    /// use tickwright_async::{TimerSettings, sleep, timeout};
    /// use tokio::time::Instant;
    ///
    /// // A test of a program: its clock is paused, so an hour takes no time.
    /// #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// async fn main() -> Result<(), Box<dyn core::error::Error>> {
    ///     let _entered = TimerSettings::new().on_tokio()?.enter();
    ///     let (start, hour) = (Instant::now(), Duration::from_secs(3600));
    ///     // A sleep of tokio ends first, then ours: both go by one clock.
    ///     assert!(timeout(hour, tokio::time::sleep(hour / 2)).await.is_ok());
    ///     sleep(hour / 2).await;
    ///     assert_eq!(start.elapsed(), hour);
    ///     Ok(())
    /// }
    /// ```
    ///
    /// On a thread that has not entered the runtime, the timers use the time of the machine, as
    /// tokio's `Instant` does. Therefore use the timers only inside of the runtime while the
    /// runtime's clock is paused. After the runtime has ended, a pending sleep stays pending and
    /// nothing wakes its task, whereas a sleep of tokio becomes ready.
    ///
    /// # Errors
    /// The error of tokio if the caller is outside of a runtime.
    ///
    /// # Panics
    /// tokio panics if the runtime's time driver is not enabled. See
    /// `tokio::runtime::Builder::enable_time`.
    pub fn on_tokio(self) -> Result<Timers, TryCurrentError> {
        let runtime = Handle::try_current()?;
        let epoch = time::Instant::now();
        // If the runtime's time driver is not enabled, this call panics here, because a panic in
        // the task would not be noticed.
        drop(time::sleep_until(epoch));
        let (core, state) = (OnceLock::new(), Mutex::default());
        let driver = Arc::new(Driver { runtime, epoch, core, state });
        let called = Arc::clone(&driver);
        let timers = self.fine().clock(Arc::new(TokioClock(epoch))).driven(move || called.call());
        let _ = driver.core.set(Arc::downgrade(&timers.core));
        driver.start();
        Ok(timers)
    }
}

impl Driver {
    /// Starts the task. After the runtime has ended, this call does nothing.
    fn start(self: Arc<Self>) {
        let runtime = self.runtime.clone();
        runtime.spawn(async move {
            let mut sleep = pin!(time::sleep_until(self.epoch));
            poll_fn(|cx| self.poll(sleep.as_mut(), cx)).await;
        });
    }

    /// Makes the task check the timers at once. If the task has ended, starts it again, because
    /// timers can outlive all handles.
    fn call(self: &Arc<Self>) {
        let mut state = lock(&self.state);
        let waker = state.waker.take();
        let gone = state.gone;
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
        if gone && self.has_timers() && core::mem::replace(&mut lock(&self.state).gone, false) {
            Arc::clone(self).start();
        }
    }

    fn core(&self) -> Option<Arc<Core>> {
        self.core.get()?.upgrade()
    }

    fn has_timers(&self) -> bool {
        self.core().is_some_and(|core| core.next() < u64::MAX)
    }

    /// Ends the task, unless a timer was filed since the task's last check. In that case, either
    /// the thread that filed the timer has started another task, or this task continues.
    fn end(&self) -> bool {
        // The waker is removed under the same lock, because after the lock is released it can
        // belong to another task.
        let mut state = lock(&self.state);
        state.gone = true;
        let waker = state.waker.take();
        drop(state);
        drop(waker);
        !self.has_timers() || !core::mem::replace(&mut lock(&self.state).gone, false)
    }

    /// Fires the due timers, and arms the sleep for the next timer. Returns ready if no handle and
    /// no timer is left.
    fn poll(&self, mut sleep: Pin<&mut time::Sleep>, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            let Some(core) = self.core() else { return Poll::Ready(()) };
            // The waker is stored before the timers are checked, so that a timer that is filed from
            // now on wakes this task.
            lock(&self.state).waker = Some(cx.waker().clone());
            let (fired, next) = core.pass();
            // Neither a panic of a waker nor a panic in the drop of that panic's payload ends the
            // task.
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| fired.end())) {
                let _ = catch_unwind(AssertUnwindSafe(|| drop(panic))).map_err(core::mem::forget);
            }
            if core.handles.load(Ordering::Acquire) == 0 && core.sweep() {
                if self.end() {
                    return Poll::Ready(());
                }
                continue;
            }
            let at = Duration::from_nanos(core.time.convert_back(core.time.start(next)));
            // If there is no such instant, the next timer is beyond the range of tokio's clock.
            let Some(at) = (next < u64::MAX).then(|| self.epoch.checked_add(at)).flatten() else {
                return Poll::Pending;
            };
            if sleep.deadline() != at {
                sleep.as_mut().reset(at);
            }
            if sleep.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            if core.time.tick(core.time.now()) < next {
                // tokio's sleep ended a little before its deadline.
                sleep.as_mut().reset(time::Instant::now() + Duration::from_millis(1));
            }
        }
    }
}

/// Warns once, on standard error, if timers that sleep in real time are used while tokio's clock is
/// paused. tokio has no function that returns whether its clock is paused. Therefore this function
/// reads the clock twice: a paused clock shows the same time twice while the machine's clock
/// advances.
#[cfg(debug_assertions)]
pub(crate) fn tell_of_paused_clock() {
    use std::io::Write;

    static TOLD: std::sync::Once = std::sync::Once::new();
    if TOLD.is_completed() || Handle::try_current().is_err() {
        return;
    }
    let (before, machine) = (time::Instant::now(), std::time::Instant::now());
    while machine.elapsed().is_zero() {
        core::hint::spin_loop();
    }
    if time::Instant::now() == before {
        TOLD.call_once(|| {
            // The result is ignored, because a closed standard error must not end the program.
            let _ = writeln!(
                std::io::stderr(),
                "tickwright-async: the clock of this tokio runtime is paused, but the timers of the process \
                 sleep in real time: enter `TimerSettings::new().on_tokio()?` in the test"
            );
        });
    }
}
