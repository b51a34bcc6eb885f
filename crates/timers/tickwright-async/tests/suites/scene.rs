//! A scene: timers and their clock, with the same interface for each driver.
//!
//! Three drivers have a virtual clock, which moves only when the scene advances it, so each check
//! is exact. The driver thread uses the clock of the machine, with two consequences:
//!
//! - The scene waits for a wake-up that must come. If the wake-up does not come within
//!   [`PATIENCE`], the test fails.
//! - A test can be too late to see that a timer is still pending. Such a check proves nothing, so
//!   the scene runs the behavior again with a longer unit of time.
#![allow(unreachable_pub, reason = "a module of a test binary")]

mod callers_loop;
mod task;

use core::any::Any;
use core::cell::Cell;
use core::future::Future;
use core::panic::AssertUnwindSafe;
use core::time::Duration;
use std::panic::{catch_unwind, resume_unwind};
#[cfg(feature = "tokio")]
use std::rc::Rc;
use std::time::Instant;

use tickwright_async::{TestClock, TimerSettings, Timers};

pub use task::Task;

use crate::common::Unpark;
use callers_loop::CallersLoop;

/// A wake-up that is not lost comes within this time, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(60);

/// The unit of time in the first run with the clock of the machine. It is doubled for each further
/// run.
const UNIT: Duration = Duration::from_micros(500);

/// The largest number of runs of a behavior.
const PLAYS: u32 = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The timers of a `TestClock`.
    TestClock,
    /// The caller's loop calls `run`, and sleeps for `poll_timeout`.
    Driven,
    /// A single sleep of tokio, whose clock is paused.
    #[cfg(feature = "tokio")]
    Tokio,
    /// A thread with the clock of the machine.
    Thread,
}

enum Driver {
    TestClock(TestClock),
    Driven(CallersLoop),
    /// The runtime, which the thread has entered, because outside of a runtime tokio uses the time
    /// of the machine.
    #[cfg(feature = "tokio")]
    Tokio(Rc<tokio::runtime::Runtime>),
    Thread,
}

/// The panic payload of a run that proves nothing, because the machine was late.
struct Late;

/// Runs a behavior, and runs it again if the machine was too late for one of its checks.
pub fn play(kind: Kind, behaviour: fn(&Scene)) {
    for number in 0..PLAYS {
        let unit = if kind == Kind::Thread { UNIT * 2_u32.pow(number) } else { Duration::from_millis(1) };
        let play = || match kind {
            #[cfg(feature = "tokio")]
            Kind::Tokio => {
                let mut builder = tokio::runtime::Builder::new_current_thread();
                let runtime = Rc::new(builder.enable_time().start_paused(true).build().unwrap());
                let _entered = runtime.enter();
                behaviour(&Scene::on_tokio(Rc::clone(&runtime)));
            }
            _ => behaviour(&Scene::new(kind, unit)),
        };
        match catch_unwind(AssertUnwindSafe(play)) {
            Ok(()) => return,
            Err(payload) if <dyn Any>::is::<Late>(&*payload) => {}
            Err(payload) => resume_unwind(payload),
        }
    }
    panic!("{kind:?}: the machine was late in each of {PLAYS} plays");
}

pub struct Scene {
    pub timers: Timers,
    kind: Kind,
    driver: Driver,
    start: Instant,
    unit: Duration,
    /// How far the scene has advanced.
    elapsed: Cell<Duration>,
    /// Whether a check came later than the scene's time.
    is_late: Cell<bool>,
}

impl Scene {
    fn new(kind: Kind, unit: Duration) -> Self {
        let (timers, driver) = match kind {
            Kind::TestClock => {
                let clock = TestClock::new();
                (clock.timers(), Driver::TestClock(clock))
            }
            Kind::Driven => {
                let (timers, driver) = CallersLoop::start(exact());
                (timers, Driver::Driven(driver))
            }
            #[cfg(feature = "tokio")]
            Kind::Tokio => unreachable!("it takes a runtime"),
            Kind::Thread => (Timers::new().unwrap(), Driver::Thread),
        };
        Self::of(kind, timers, driver, unit)
    }

    #[cfg(feature = "tokio")]
    fn on_tokio(runtime: Rc<tokio::runtime::Runtime>) -> Self {
        let timers = exact().on_tokio().unwrap();
        Self::of(Kind::Tokio, timers, Driver::Tokio(runtime), Duration::from_millis(1))
    }

    fn of(kind: Kind, timers: Timers, driver: Driver, unit: Duration) -> Self {
        let start = timers.now();
        let (elapsed, is_late) = (Cell::new(Duration::ZERO), Cell::new(false));
        Self { timers, kind, driver, start, unit, elapsed, is_late }
    }

    /// Creates another scene with a driver of the same kind. With tokio, both scenes share the
    /// runtime.
    pub fn another(&self) -> Self {
        match &self.driver {
            #[cfg(feature = "tokio")]
            Driver::Tokio(runtime) => Self::on_tokio(Rc::clone(runtime)),
            _ => Self::new(self.kind, self.unit),
        }
    }

    /// Returns whether the clock advances by itself.
    pub fn is_real(&self) -> bool {
        self.kind == Kind::Thread
    }

    /// Returns a duration of `n` units. A unit is a millisecond if the clock is virtual.
    pub fn span(&self, n: u32) -> Duration {
        self.unit * n
    }

    /// Returns the instant `n` units after the start.
    pub fn at(&self, n: u32) -> Instant {
        self.start + self.span(n)
    }

    /// Returns the instant `n` units after the scene's current time.
    pub fn ahead(&self, n: u32) -> Instant {
        self.start + self.elapsed.get() + self.span(n)
    }

    /// Returns how many units after the start an instant is, rounded down.
    pub fn units(&self, at: Instant) -> u128 {
        at.duration_since(self.start).as_nanos() / self.unit.as_nanos()
    }

    /// Advances the clock by `n` units, and fires the timers that come due on the way.
    pub fn advance(&self, n: u32) {
        self.advance_by(self.span(n));
    }

    pub fn advance_by(&self, span: Duration) {
        self.elapsed.set(self.elapsed.get() + span);
        let target = self.start + self.elapsed.get();
        match &self.driver {
            Driver::TestClock(clock) => clock.advance(span),
            Driver::Driven(host) => host.go_to(&self.timers, target),
            #[cfg(feature = "tokio")]
            Driver::Tokio(runtime) => runtime.block_on(async {
                turn().await;
                tokio::time::advance(span).await;
                turn().await;
            }),
            Driver::Thread => {
                while let Some(left) = target.checked_duration_since(Instant::now()).filter(|d| !d.is_zero())
                {
                    std::thread::sleep(left);
                }
            }
        }
    }

    /// Lets the driver do the work for which it was called.
    pub fn settle(&self) {
        match &self.driver {
            Driver::TestClock(clock) => clock.advance(Duration::ZERO),
            Driver::Driven(host) => host.go_to(&self.timers, self.timers.now()),
            #[cfg(feature = "tokio")]
            Driver::Tokio(runtime) => runtime.block_on(turn()),
            Driver::Thread => {}
        }
    }

    /// Enters the timers of the scene and runs a future. During the call, a virtual clock moves by
    /// itself.
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        let _entered = self.timers.enter();
        let output = match &self.driver {
            Driver::TestClock(clock) => clock.block_on(future),
            Driver::Driven(host) => host.block_on(&self.timers, future),
            #[cfg(feature = "tokio")]
            Driver::Tokio(runtime) => runtime.block_on(future),
            Driver::Thread => Unpark::block_on(future),
        };
        self.elapsed.set(self.timers.now() - self.start);
        output
    }

    /// Returns whether an event has happened. With the clock of the machine, this call waits for
    /// the event.
    pub fn comes(&self, mut has_come: impl FnMut() -> bool) -> bool {
        self.settle();
        let began = Instant::now();
        while !has_come() {
            if !self.is_real() || began.elapsed() > PATIENCE {
                return false;
            }
            std::thread::sleep(Duration::from_micros(50));
        }
        true
    }

    /// Fails if `holds` is false, unless the check came too late.
    #[track_caller]
    pub fn require(&self, holds: bool, what: &str) {
        let is_late = self.is_real() && self.timers.now() >= self.ahead(1);
        self.is_late.set(self.is_late.get() || is_late);
        if !holds && self.is_late.get() {
            resume_unwind(Box::new(Late));
        }
        assert!(holds, "{:?}, {} units from the start: {what}", self.kind, self.units(self.ahead(0)));
    }

    /// Creates a task of this scene.
    pub fn task(&self) -> Task<'_> {
        Task::new(self)
    }
}

/// Returns settings with which timers are exact under a virtual clock.
fn exact() -> TimerSettings {
    TimerSettings::new().resolution(Duration::from_nanos(8))
}

/// Lets the driver's task run.
#[cfg(feature = "tokio")]
async fn turn() {
    for _ in 0..8 {
        tokio::task::yield_now().await;
    }
}
