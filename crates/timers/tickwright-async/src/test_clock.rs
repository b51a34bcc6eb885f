//! A clock for tests: it stands still, moves by command, and moves by itself when all threads wait.

use core::fmt;
use core::future::Future;
use core::pin::pin;
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::sync::Weak;
use std::task::Wake as Wakes;
use std::time::Instant;

use tickwright::time::{self, Clock};

use crate::coop;
use crate::node::Core;
use crate::settings::Settings;
use crate::sync::{Arc, AtomicU64, Condvar, Mutex, MutexGuard, Ordering, lock};
use crate::time::{machine, nanos};
use crate::timers::Timers;

/// A clock for tests. The clock stands still until it is moved. Clones are the same clock.
///
/// - [`advance`](Self::advance) moves it, and fires what comes due on the way.
/// - Inside of [`block_on`](Self::block_on) the clock moves by itself. When all threads in
///   `block_on` wait, it goes to the next deadline. A [`hold`](Self::hold) keeps it from moving by
///   itself.
/// - [`resume`](Self::resume) lets it run with the time of the machine, and
///   [`pause`](Self::pause) stops it again.
///
/// ```
/// use core::time::Duration;
/// use tickwright_async::TestClock;
///
/// let clock = TestClock::new();
/// let timers = clock.timers();
/// let mut tea = std::pin::pin!(timers.sleep(Duration::from_secs(300)));
/// clock.advance(Duration::from_secs(299));
/// assert!(!clock.is_ready(tea.as_mut()));
/// clock.advance(Duration::from_secs(1));
/// assert!(clock.is_ready(tea.as_mut()));
/// ```
#[derive(Clone)]
pub struct TestClock {
    shared: Arc<Shared>,
    timers: Timers,
}

struct Shared {
    /// The time while the clock stands still, so that a read takes no lock; [`u64::MAX`] while it
    /// runs. Written under the lock of `state`.
    still: AtomicU64,
    state: Mutex<State>,
    /// Signaled when a thread in `block_on` may go on.
    called: Condvar,
    /// Timers that go by this clock.
    timers: Mutex<Vec<Weak<Core>>>,
}

struct State {
    /// The time while the clock stands still, or the time when it was resumed.
    shown: u64,
    resumed: Option<Instant>,
    /// Three counts: threads in `block_on`, those of them that wait, and guards that stop the
    /// clock.
    active: usize,
    parked: usize,
    holds: usize,
    /// Whether one of the threads moves the clock now.
    moving: bool,
    /// How often the clock was set, stopped or resumed, or got a timer that is earlier than all
    /// others. A thread that waits looks again when this count has changed.
    changes: u64,
}

impl State {
    fn now(&self) -> u64 {
        self.resumed.map_or(self.shown, |at| self.shown.saturating_add(nanos(at.elapsed())))
    }

    /// Whether the clock may move by itself.
    fn all_wait(&self) -> bool {
        self.parked == self.active && self.holds == 0
    }

    /// Moves the clock to `at`, and never back.
    fn go_to(&mut self, at: u64) {
        let ahead = at.saturating_sub(self.now());
        self.shown = self.shown.saturating_add(ahead);
    }
}

impl Clock for Shared {
    fn now(&self) -> time::Instant {
        // Acquire: a thread that reads a time sees all writes before the clock was moved to it.
        let still = self.still.load(Ordering::Acquire);
        time::Instant::from_nanos(if still < u64::MAX { still } else { lock(&self.state).now() })
    }
}

impl TestClock {
    /// Creates a clock that stands still.
    #[must_use]
    pub fn new() -> Self {
        // It starts on a whole tick of every resolution.
        let shown = machine() >> 30 << 30;
        let state = State { shown, resumed: None, active: 0, parked: 0, holds: 0, moving: false, changes: 0 };
        let shared = Arc::new(Shared {
            still: AtomicU64::new(shown),
            state: Mutex::new(state),
            called: Condvar::new(),
            timers: Mutex::new(Vec::new()),
        });
        let timers = shared.timers(Settings::new().fine());
        Self { shared, timers }
    }

    /// Timers that go by this clock, exact to 8 ns. Each call returns a handle to the same timers.
    #[must_use]
    pub fn timers(&self) -> Timers {
        self.timers.clone()
    }

    /// Creates more timers that go by this clock, with settings of their own.
    #[must_use]
    pub fn timers_with(&self, settings: Settings) -> Timers {
        self.shared.timers(settings.fine())
    }

    /// Stops the clock. A call on a clock that stands still does nothing.
    pub fn pause(&self) {
        self.shared.change(|state| {
            state.shown = state.now();
            state.resumed = None;
        });
    }

    /// Lets the clock run with the time of the machine. Timers fire in [`block_on`](Self::block_on)
    /// and [`advance`](Self::advance).
    pub fn resume(&self) {
        self.shared.change(|state| {
            state.resumed.get_or_insert_with(Instant::now);
        });
    }

    /// Whether the clock stands still.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        lock(&self.shared.state).resumed.is_none()
    }

    /// Moves the clock by `span`. Advances of several threads add up. The clock stops at each
    /// deadline on the way and fires what is due, so wakers are called in the order of the
    /// deadlines. Tasks run when their executor does.
    ///
    /// # Panics
    /// Resumes the panic of a waker.
    pub fn advance(&self, span: Duration) {
        coop::begin_turn_by_hand();
        let mut left = nanos(span);
        loop {
            let next = self.shared.next().unwrap_or(u64::MAX);
            self.shared.change(|state| {
                // Another thread may have moved the clock since `next` was read.
                let now = state.now();
                left = left.min(u64::MAX - now);
                let step = next.saturating_sub(now).min(left);
                state.shown = state.shown.saturating_add(step);
                left -= step;
            });
            self.shared.run();
            if left == 0 {
                return;
            }
        }
    }

    /// Runs a future on this thread, with the timers of this clock entered. A sleep that is made
    /// before the call, for example in an argument, belongs to the timers that were entered then.
    /// So pass an `async` block.
    ///
    /// A paused clock moves by itself here: when each thread in `block_on` waits, the clock goes to
    /// the next deadline. So a test that waits for hours ends at once, on one thread and on
    /// several. If the future waits for something other than a timer, the call waits in real time.
    ///
    /// # Panics
    /// Resumes the panic of the future or of a waker.
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        let _entered = self.timers.enter();
        let _inside = coop::InBlockOn::new();
        let waiter = Arc::new(Waiter {
            shared: Arc::clone(&self.shared),
            state: Mutex::new(Waiting { notified: false, parked: false }),
        });
        lock(&self.shared.state).active += 1;
        let _active = Active(&waiter);
        let waker = Waker::from(Arc::clone(&waiter));
        let mut cx = Context::from_waker(&waker);
        let mut future = pin!(future);
        loop {
            self.shared.run();
            coop::begin_turn();
            if let Poll::Ready(output) = future.as_mut().poll(&mut cx) {
                return output;
            }
            waiter.wait();
        }
    }

    /// Polls a future once, with a waker that does nothing. Use it in tests of one future.
    pub fn is_ready<F: Future>(&self, future: core::pin::Pin<&mut F>) -> bool {
        future.poll(&mut Context::from_waker(Waker::noop())).is_ready()
    }

    /// Keeps the clock from moving by itself, until the guard is dropped. Use it while a thread
    /// outside of [`block_on`](Self::block_on) works.
    pub fn hold(&self) -> ClockHold {
        lock(&self.shared.state).holds += 1;
        ClockHold { shared: Arc::clone(&self.shared) }
    }
}

impl Shared {
    fn timers(self: &Arc<Self>, settings: Settings) -> Timers {
        let shared = Arc::downgrade(self);
        let earlier = move || {
            if let Some(shared) = shared.upgrade() {
                shared.change(|_| {});
            }
        };
        let timers = settings.test_clock(Arc::clone(self) as Arc<dyn Clock>).driven(earlier);
        lock(&self.timers).push(Arc::downgrade(&timers.core));
        timers
    }

    /// All timers that go by this clock, with no lock held.
    fn cores(&self) -> Vec<Arc<Core>> {
        let mut timers = lock(&self.timers);
        timers.retain(|core| core.strong_count() > 0);
        timers.iter().filter_map(Weak::upgrade).collect()
    }

    fn run(&self) {
        for core in self.cores() {
            core.pass().0.end();
        }
    }

    /// When the next timer is filed.
    fn next(&self) -> Option<u64> {
        let next = |core: Arc<Core>| core.time.start(core.next());
        self.cores().into_iter().map(next).min().filter(|&at| at < u64::MAX)
    }

    /// Stores the time for threads that read it without the lock.
    fn show(&self, state: &State) {
        let still = if state.resumed.is_none() { state.shown } else { u64::MAX };
        self.still.store(still, Ordering::Release);
    }

    /// Changes the state that the threads in `block_on` wait for, and wakes them.
    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = lock(&self.state);
        change(&mut state);
        state.changes += 1;
        self.show(&state);
        self.called.notify_all();
    }
}

/// A thread in `block_on`.
struct Waiter {
    shared: Arc<Shared>,
    state: Mutex<Waiting>,
}

struct Waiting {
    notified: bool,
    parked: bool,
}

impl Waiter {
    /// Waits until the waker is called. The last thread that starts to wait moves the clock.
    fn wait(&self) {
        let mut state = lock(&self.shared.state);
        loop {
            {
                let mut mine = lock(&self.state);
                if core::mem::take(&mut mine.notified) {
                    // The thread that notified has counted this one as not parked.
                    mine.parked = false;
                    return;
                }
                if !core::mem::replace(&mut mine.parked, true) {
                    state.parked += 1;
                }
            }
            if state.moving || !state.all_wait() {
                state = self.sleep(state, Duration::MAX);
                continue;
            }
            state.moving = true;
            let changes = state.changes;
            drop(state);
            let mut moving = Moving { shared: &self.shared, moved: true };
            let left = self.move_clock();
            moving.moved = left.is_none();
            drop(moving);
            state = lock(&self.shared.state);
            if let Some(left) = left
                && state.changes == changes
            {
                state = self.sleep(state, left);
            }
        }
    }

    /// Moves the clock to the next deadline, and fires what is due. `Some`: nothing was due; the
    /// value is the time to wait before the next look.
    fn move_clock(&self) -> Option<Duration> {
        let Some(next) = self.shared.next() else { return Some(Duration::MAX) };
        {
            let mut state = lock(&self.shared.state);
            let left = next.saturating_sub(state.now());
            if state.resumed.is_some() && left > 0 {
                return Some(Duration::from_nanos(left));
            }
            // A hold or another thread may have come since the look.
            if !state.all_wait() {
                return None;
            }
            state.go_to(next);
            self.shared.show(&state);
        }
        self.shared.run();
        None
    }

    fn sleep<'a>(&self, state: MutexGuard<'a, State>, most: Duration) -> MutexGuard<'a, State> {
        use std::sync::PoisonError;
        let called = &self.shared.called;
        if lock(&self.state).notified {
            return state;
        }
        if most < Duration::MAX {
            called.wait_timeout(state, most).unwrap_or_else(PoisonError::into_inner).0
        } else {
            called.wait(state).unwrap_or_else(PoisonError::into_inner)
        }
    }
}

impl Wakes for Waiter {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let mut state = lock(&self.shared.state);
        let mut mine = lock(&self.state);
        mine.notified = true;
        if core::mem::replace(&mut mine.parked, false) {
            state.parked -= 1;
            self.shared.called.notify_all();
        }
    }
}

/// Counts a thread as in `block_on` while this guard lives.
struct Active<'a>(&'a Waiter);

impl Drop for Active<'_> {
    fn drop(&mut self) {
        let shared = &self.0.shared;
        let mut state = lock(&shared.state);
        state.active -= 1;
        // The thread may leave by a panic of a waker, while it moves the clock.
        if core::mem::take(&mut lock(&self.0.state).parked) {
            state.parked -= 1;
        }
        // All other threads may wait now.
        shared.called.notify_all();
    }
}

/// One thread moves the clock. The other threads look again if the clock moved, or if this thread
/// has panicked. If the clock did not move, they must not: they would wake one another for ever.
struct Moving<'a> {
    shared: &'a Shared,
    moved: bool,
}

impl Drop for Moving<'_> {
    fn drop(&mut self) {
        lock(&self.shared.state).moving = false;
        if self.moved {
            self.shared.called.notify_all();
        }
    }
}

/// While this guard lives, its [`TestClock`] does not move by itself.
#[must_use = "the clock moves again when this is dropped"]
pub struct ClockHold {
    shared: Arc<Shared>,
}

impl Drop for ClockHold {
    fn drop(&mut self) {
        lock(&self.shared.state).holds -= 1;
        self.shared.called.notify_all();
    }
}

impl Default for TestClock {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for TestClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = lock(&self.shared.state);
        f.debug_struct("TestClock")
            .field("now", &Duration::from_nanos(state.now()))
            .field("is_paused", &state.resumed.is_none())
            .field("threads", &state.active)
            .field("waiting", &state.parked)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for ClockHold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClockHold")
    }
}
