//! Timers and the clock that they go by, whatever drives them.
//!
//! The clock of three drivers is virtual: it moves when the scene advances it, and what a look shows
//! is exact. The driver thread goes by the clock of the machine:
//!
//! - A wake-up that must come is waited for. If it does not come within [`PATIENCE`], it is lost.
//! - A test may look too late to see that a timer is still pending. Such a look shows nothing, so
//!   the behaviour is played again, with a longer unit of time.
#![allow(unreachable_pub, reason = "a module of a test binary")]

use core::any::Any;
use core::cell::Cell;
use core::fmt::Debug;
use core::future::Future;
use core::panic::AssertUnwindSafe;
use core::pin::{Pin, pin};
use core::sync::atomic::{AtomicBool, Ordering};
use core::task::Poll;
use core::time::Duration;
use std::panic::{catch_unwind, resume_unwind};
#[cfg(feature = "tokio")]
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use tickwright::clock::VirtualHost;
use tickwright_async::{Settings, TestClock, Timers};

use crate::common::{Counter, Unpark};

/// No test waits so long for a wake-up, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(60);

/// The unit of the first play by the clock of the machine. It doubles with each play.
const UNIT: Duration = Duration::from_micros(500);

/// How often a behaviour is played at most.
const PLAYS: u32 = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Under a `TestClock`.
    TestClock,
    /// A loop of the caller's calls `run`, and sleeps for `poll_timeout`.
    Driven,
    /// One sleep of tokio, whose clock is paused.
    #[cfg(feature = "tokio")]
    Tokio,
    /// A thread, by the clock of the machine.
    Thread,
}

enum Driver {
    TestClock(TestClock),
    Driven(Loop),
    /// The thread has entered the runtime: outside of it tokio shows the time of the machine.
    #[cfg(feature = "tokio")]
    Tokio(Rc<tokio::runtime::Runtime>),
    Thread,
}

/// A loop that knows the next deadline only from the last pass, and looks again when it is called.
struct Loop {
    host: VirtualHost,
    is_called: Arc<AtomicBool>,
    next: Cell<Option<Instant>>,
}

/// The payload of a play that shows nothing, since the machine was late.
struct Late;

/// Plays a behaviour, again if the machine was too late to see it.
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
    /// How far the scene has come.
    elapsed: Cell<Duration>,
    /// A look came later than the scene says.
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
                let (host, is_called) = (VirtualHost::new(), Arc::new(AtomicBool::new(false)));
                let called = Arc::clone(&is_called);
                let settings = exact().clock(Arc::new(host.monotonic()));
                let timers = settings.driven(move || called.store(true, Ordering::SeqCst));
                (timers, Driver::Driven(Loop { host, is_called, next: Cell::new(None) }))
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

    /// Other timers, with a driver of the same kind. On tokio they share the runtime.
    pub fn another(&self) -> Self {
        match &self.driver {
            #[cfg(feature = "tokio")]
            Driver::Tokio(runtime) => Self::on_tokio(Rc::clone(runtime)),
            _ => Self::new(self.kind, self.unit),
        }
    }

    /// Whether the clock moves without the scene.
    pub fn is_real(&self) -> bool {
        self.kind == Kind::Thread
    }

    /// `n` units: milliseconds, if the clock is virtual.
    pub fn span(&self, n: u32) -> Duration {
        self.unit * n
    }

    /// The instant `n` units after the start.
    pub fn at(&self, n: u32) -> Instant {
        self.start + self.span(n)
    }

    /// The instant `n` units from where the scene is.
    pub fn ahead(&self, n: u32) -> Instant {
        self.start + self.elapsed.get() + self.span(n)
    }

    /// How many units after the start an instant is, rounded down.
    pub fn units(&self, at: Instant) -> u128 {
        at.duration_since(self.start).as_nanos() / self.unit.as_nanos()
    }

    /// Goes on by `n` units, and fires what is due on the way.
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

    /// Lets the driver do what it was called for.
    pub fn settle(&self) {
        match &self.driver {
            Driver::TestClock(clock) => clock.advance(Duration::ZERO),
            Driver::Driven(host) => host.go_to(&self.timers, self.timers.now()),
            #[cfg(feature = "tokio")]
            Driver::Tokio(runtime) => runtime.block_on(turn()),
            Driver::Thread => {}
        }
    }

    /// Runs a future with the timers of the scene entered. A virtual clock moves by itself.
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

    /// Whether something has happened. By the clock of the machine it is waited for.
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

    /// Fails, unless `holds` or the look came too late.
    #[track_caller]
    pub fn require(&self, holds: bool, what: &str) {
        let is_late = self.is_real() && self.timers.now() >= self.ahead(1);
        self.is_late.set(self.is_late.get() || is_late);
        if !holds && self.is_late.get() {
            resume_unwind(Box::new(Late));
        }
        assert!(holds, "{:?}, {} units from the start: {what}", self.kind, self.units(self.ahead(0)));
    }

    /// A task of this scene.
    pub fn task(&self) -> Task<'_> {
        Task { scene: self, counter: Counter::new(), seen: Cell::new(0) }
    }
}

/// Settings by which a virtual clock is exact.
fn exact() -> Settings {
    Settings::new().resolution(Duration::from_nanos(8))
}

impl Loop {
    /// When the loop has to call `run`.
    fn next(&self, timers: &Timers) -> Option<Instant> {
        if self.is_called.swap(false, Ordering::SeqCst) {
            self.next.set(timers.next_deadline());
        }
        self.next.get()
    }

    fn go_to(&self, timers: &Timers, target: Instant) {
        loop {
            let next = self.next(timers).filter(|&at| at <= target);
            self.host.advance(next.unwrap_or(target).saturating_duration_since(timers.now()));
            if next.is_none() {
                return;
            }
            timers.run();
            self.next.set(timers.next_deadline());
        }
    }

    fn block_on<F: Future>(&self, timers: &Timers, future: F) -> F::Output {
        let (task, mut future) = (Counter::new(), pin!(future));
        loop {
            let before = task.count();
            if let Poll::Ready(output) = task.poll(future.as_mut()) {
                return output;
            }
            while task.count() == before {
                let next = self.next(timers).expect("a timer is pending, or the loop sleeps for ever");
                self.go_to(timers, next);
            }
        }
    }
}

/// Lets the driver's task run.
#[cfg(feature = "tokio")]
async fn turn() {
    for _ in 0..8 {
        tokio::task::yield_now().await;
    }
}

/// A task that looks when the test says so. Wait for a wake-up before you poll for what it brings,
/// or the wake-up comes when the task seems to be asleep.
pub struct Task<'a> {
    scene: &'a Scene,
    counter: Counter,
    /// How many wake-ups the test has seen.
    seen: Cell<usize>,
}

impl Task<'_> {
    /// Requires that the future is pending.
    #[track_caller]
    pub fn pending<F: Future<Output: Debug>>(&self, future: Pin<&mut F>) {
        let polled = self.counter.poll(future);
        self.scene.require(polled.is_pending(), &format!("not pending: {polled:?}"));
    }

    /// Requires that the first poll is ready.
    #[track_caller]
    pub fn ready_at_once<F: Future>(&self, future: Pin<&mut F>) -> F::Output {
        match self.counter.poll(future) {
            Poll::Ready(output) => output,
            Poll::Pending => panic!("{:?}: not ready at once", self.scene.kind),
        }
    }

    /// Requires that the future is ready.
    #[track_caller]
    pub fn ready<F: Future>(&self, mut future: Pin<&mut F>) -> F::Output {
        let mut output = None;
        let is_ready = self.scene.comes(|| {
            if let Poll::Ready(value) = self.counter.poll(future.as_mut()) {
                output = Some(value);
            }
            output.is_some()
        });
        assert!(is_ready, "{:?}: not ready", self.scene.kind);
        output.unwrap()
    }

    /// Requires that the task was woken since the last look.
    #[track_caller]
    pub fn woken(&self) {
        let is_woken = self.scene.comes(|| self.counter.count() > self.seen.get());
        assert!(is_woken, "{:?}: a wake-up is lost", self.scene.kind);
        self.seen.set(self.counter.count());
    }

    /// Requires that the task was not woken since the last look.
    #[track_caller]
    pub fn asleep(&self) {
        self.scene.settle();
        self.scene.require(self.counter.count() == self.seen.get(), "woken early, or twice");
    }

    /// Takes the wake-ups until now as seen.
    pub fn forget(&self) {
        self.scene.settle();
        self.seen.set(self.counter.count());
    }
}
