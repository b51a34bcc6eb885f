//! tokio: all our timers stand on one of its sleeps.

use core::future::{Future, poll_fn};
use core::panic::AssertUnwindSafe;
use core::pin::{Pin, pin};
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::io::Write;
use std::panic::catch_unwind;
use std::sync::{OnceLock, Weak};

use tickwright::time::{Clock, Instant};
use tokio::runtime::{Handle, TryCurrentError};
use tokio::time;

use crate::node::Core;
use crate::settings::TimerSettings;
use crate::sync::{Arc, Mutex, Ordering, lock};
use crate::timers::Timers;

/// The clock of a runtime, which a test may pause.
struct TokioClock(time::Instant);

impl Clock for TokioClock {
    fn now(&self) -> Instant {
        Instant::ZERO + self.0.elapsed()
    }
}

/// How the task that runs the timers is reached.
struct Driver {
    runtime: Handle,
    /// The zero of the timers' clock.
    epoch: time::Instant,
    /// Set once, directly after the timers were made.
    core: OnceLock<Weak<Core>>,
    state: Mutex<State>,
}

/// What the lock of a driver protects.
#[derive(Default)]
struct State {
    /// The task's waker. `None` after a call, until the task looks.
    waker: Option<Waker>,
    /// The task has ended, because no handle and no timer was left.
    gone: bool,
}

impl TimerSettings {
    /// Creates timers that a task of the current tokio runtime runs, with one sleep of tokio for
    /// all of them. The timers go by the clock of the runtime, so `tokio::time::pause` and
    /// `advance` move them, and a runtime that shuts down ends them. A sleep of tokio is rounded up
    /// to the next millisecond, and so are these timers: they fire when tokio's own do. A clock
    /// that [`TimerSettings`] set is ignored. A panic of a waker does not end the task.
    ///
    /// [`enter`](Timers::enter) is for one thread, as a test with `current_thread` has. A runtime
    /// with several workers takes [`Timers::set_global`].
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
        // In the task, a panic would be lost.
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
    /// Starts the task. After the runtime has ended this does nothing.
    fn start(self: Arc<Self>) {
        let runtime = self.runtime.clone();
        runtime.spawn(async move {
            let mut sleep = pin!(time::sleep_until(self.epoch));
            poll_fn(|cx| self.poll(sleep.as_mut(), cx)).await;
        });
    }

    /// The task looks at the timers at once. A task that has ended is started again, for timers
    /// that outlive all handles.
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

    /// Ends the task, unless a timer was filed meanwhile. Then either the thread that filed it has
    /// started another task, or this task goes on.
    fn end(&self) -> bool {
        // The waker goes under the same lock: afterwards it may be another task's.
        let mut state = lock(&self.state);
        state.gone = true;
        let waker = state.waker.take();
        drop(state);
        drop(waker);
        !self.has_timers() || !core::mem::replace(&mut lock(&self.state).gone, false)
    }

    /// Fires the timers that are due, and arms the sleep for the next one. Ready: no handle and no
    /// timer is left.
    fn poll(&self, mut sleep: Pin<&mut time::Sleep>, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            let Some(core) = self.core() else { return Poll::Ready(()) };
            // The waker is stored before the look, so that a timer that is filed from now on wakes
            // this task.
            lock(&self.state).waker = Some(cx.waker().clone());
            let (fired, next) = core.pass();
            // A panic of a waker does not end the task, nor does one of the drop of its payload.
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
            // `None`: the instant is after the end of tokio's clock.
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
                // tokio's sleep has ended a little before its deadline.
                sleep.as_mut().reset(time::Instant::now() + Duration::from_millis(1));
            }
        }
    }
}

/// Says once, on standard error, that timers which sleep in real time are used under a paused
/// clock. A program cannot ask tokio whether its clock is paused. A paused clock shows the same
/// time twice, though the machine's moves.
#[cfg(debug_assertions)]
pub(crate) fn tell_of_paused_clock() {
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
            // A standard error that is closed must not end the program.
            let _ = writeln!(
                std::io::stderr(),
                "tickwright-async: the clock of this tokio runtime is paused, but the timers of the process \
                 sleep in real time: enter `TimerSettings::new().on_tokio()?` in the test"
            );
        });
    }
}
