//! A clock for tests: it stands still, moves by command, and moves by itself when all threads wait.

use core::fmt;
use core::future::Future;
use core::pin::pin;
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::sync::{PoisonError, Weak};
use std::task::Wake as Wakes;

use tickwright::time::{Clock, ClockHold, Instant, VirtualClock, VirtualHost, Watcher};

use crate::coop;
use crate::node::Core;
use crate::settings::TimerSettings;
use crate::sync::{Arc, Condvar, Mutex, lock};
use crate::time::{machine, nanos};
use crate::timers::Timers;

/// A clock for tests. The clock stands still until it is moved. All clones of a clock share its
/// time.
///
/// - [`advance`](Self::advance) moves it, and fires what comes due on the way.
/// - Inside of [`block_on`](Self::block_on) the clock moves by itself. When all threads in
///   `block_on` wait, it goes to the next deadline. A [`hold`](Self::hold) keeps it from moving by
///   itself.
/// - [`resume`](Self::resume) lets it run with the time of the machine, and
///   [`pause`](Self::pause) stops it again.
///
/// It is the monotonic clock of a [virtual machine](Self::host). The other clocks of that machine
/// are for the schedulers and drivers of the same test.
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
    clock: VirtualClock,
    state: Mutex<State>,
    /// Signaled when a thread in `block_on` can continue.
    called: Condvar,
    /// The timers that use this clock.
    timers: Mutex<Vec<Weak<Core>>>,
}

#[derive(Default)]
struct State {
    /// The number of threads in `block_on`. The next two fields count those of them that wait, and
    /// the threads that fire timers.
    active: usize,
    parked: usize,
    firing: usize,
    /// How often the clock was moved or a timer was filed that is earlier than all others. A
    /// waiting thread looks again when this count has changed.
    changes: u64,
    /// The value of `changes` when a waiting thread last fired the due timers.
    seen: u64,
}

impl TestClock {
    /// Creates a clock that stands still.
    #[must_use]
    pub fn new() -> Self {
        // The clock starts on a whole tick of every resolution.
        let host = VirtualHost::starting_at(Instant::from_nanos(machine() >> 30 << 30), 0);
        let shared = Arc::new(Shared {
            clock: host.monotonic(),
            state: Mutex::default(),
            called: Condvar::new(),
            timers: Mutex::default(),
        });
        let watcher: Arc<dyn Watcher> = Arc::clone(&shared) as _;
        shared.clock.watch(&Arc::downgrade(&watcher));
        let timers = shared.timers(TimerSettings::new().fine());
        Self { shared, timers }
    }

    /// Returns timers that use this clock, with a resolution of 8 ns. Each call returns a handle to
    /// the same timers.
    #[must_use]
    pub fn timers(&self) -> Timers {
        self.timers.clone()
    }

    /// Creates more timers that use this clock, with the given settings.
    #[must_use]
    pub fn timers_with(&self, settings: TimerSettings) -> Timers {
        self.shared.timers(settings.fine())
    }

    /// Returns the virtual machine whose monotonic clock this is.
    #[must_use]
    pub fn host(&self) -> &VirtualHost {
        self.shared.clock.host()
    }

    /// Stops the clock. A call on a clock that stands still does nothing.
    pub fn pause(&self) {
        self.host().pause();
    }

    /// Lets the clock run with the time of the machine. Timers fire in [`block_on`](Self::block_on)
    /// and [`advance`](Self::advance).
    pub fn resume(&self) {
        self.host().resume();
    }

    /// Returns whether the clock stands still.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.host().is_paused()
    }

    /// Moves the clock by `span`. Concurrent calls from several threads add up. The clock stops at
    /// each deadline on the way and fires the due timers, so wakers are called in the order of the
    /// deadlines. Tasks run when their executor runs them.
    ///
    /// # Panics
    /// Resumes the panic of a waker.
    pub fn advance(&self, span: Duration) {
        coop::begin_turn_by_hand();
        let mut left = nanos(span).min(u64::MAX - self.shared.now());
        loop {
            let step = self.shared.next().saturating_sub(self.shared.now()).min(left);
            self.host().advance(Duration::from_nanos(step));
            self.shared.run();
            left -= step;
            if left == 0 {
                return;
            }
        }
    }

    /// Runs a future on this thread, with the timers of this clock entered. A sleep that is created
    /// before the call, for example in an argument, belongs to the timers that were entered at that
    /// time. Pass an `async` block to avoid this.
    ///
    /// A paused clock moves by itself here: when each thread in `block_on` waits, the clock goes to
    /// the next deadline. A test that waits for hours therefore ends at once, on one thread and on
    /// several. If the future waits for something other than a timer, the call waits in real time.
    ///
    /// # Panics
    /// Resumes the panic of the future or of a waker.
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        let _entered = self.timers.enter();
        let _inside = coop::InBlockOn::new();
        let shared = Arc::clone(&self.shared);
        let waiter = Arc::new(Waiter { shared, state: Mutex::default() });
        lock(&self.shared.state).active += 1;
        let _moves = self.host().move_by_itself();
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
        self.host().hold()
    }
}

impl Shared {
    fn timers(self: &Arc<Self>, settings: TimerSettings) -> Timers {
        let shared = Arc::downgrade(self);
        let earlier = move || {
            if let Some(shared) = shared.upgrade() {
                shared.clock_moved();
            }
        };
        let timers = settings.test_clock(Arc::new(self.clock.clone())).driven(earlier);
        lock(&self.timers).push(Arc::downgrade(&timers.core));
        timers
    }

    /// Returns the cores of all timers that use this clock. No lock is held afterwards.
    fn cores(&self) -> Vec<Arc<Core>> {
        let mut timers = lock(&self.timers);
        timers.retain(|core| core.strong_count() > 0);
        timers.iter().filter_map(Weak::upgrade).collect()
    }

    fn run(&self) {
        lock(&self.state).firing += 1;
        // A waker may panic.
        let _firing = Firing(self);
        for core in self.cores() {
            core.pass().0.end();
        }
    }

    fn now(&self) -> u64 {
        self.clock.now().as_nanos()
    }

    /// Returns the time of the first filed timer, or [`u64::MAX`] if no timer is filed.
    fn next(&self) -> u64 {
        self.cores().into_iter().map(|core| core.time.start(core.next())).min().unwrap_or(u64::MAX)
    }

    /// Returns how long a thread can sleep before it must look again, if the clock runs.
    fn left(&self) -> Option<Duration> {
        let next = Instant::from_nanos(self.next());
        (!self.clock.stands_still() && next < Instant::MAX).then(|| next.duration_since(self.clock.now()))
    }
}

impl Watcher for Shared {
    /// Wakes the threads in `block_on`, which fire what is due.
    fn clock_moved(&self) {
        lock(&self.state).changes += 1;
        self.called.notify_all();
    }

    fn awaited(&self) -> Option<Instant> {
        let state = lock(&self.state);
        // If no thread is in `block_on`, no thread fires the timers.
        if state.active == 0 {
            return Some(Instant::MAX);
        }
        let all_wait = state.parked == state.active && state.firing == 0 && state.seen == state.changes;
        drop(state);
        all_wait.then(|| Instant::from_nanos(self.next()))
    }
}

/// A thread in `block_on`.
struct Waiter {
    shared: Arc<Shared>,
    state: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    notified: bool,
    parked: bool,
}

impl Waiter {
    /// Waits until the waker is called. The last thread that starts to wait moves the clock.
    fn wait(&self) {
        let shared = &self.shared;
        loop {
            let changes = {
                let mut state = lock(&shared.state);
                let mut mine = lock(&self.state);
                if core::mem::take(&mut mine.notified) {
                    // The thread that notified this thread has already counted it as not parked.
                    return;
                }
                if !core::mem::replace(&mut mine.parked, true) {
                    state.parked += 1;
                }
                state.changes
            };
            shared.run();
            {
                let mut state = lock(&shared.state);
                state.seen = state.seen.max(changes);
            }
            shared.clock.idle();
            let left = shared.left();
            let state = lock(&shared.state);
            // Nothing for which this thread waits has happened since the count was read.
            if state.changes == changes && !lock(&self.state).notified {
                let called = &shared.called;
                match left {
                    Some(left) => {
                        drop(called.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner))
                    }
                    None => drop(called.wait(state).unwrap_or_else(PoisonError::into_inner)),
                }
            }
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

/// Counts a thread that fires timers while this guard lives.
struct Firing<'a>(&'a Shared);

impl Drop for Firing<'_> {
    fn drop(&mut self) {
        lock(&self.0.state).firing -= 1;
    }
}

/// Counts a thread as in `block_on` while this guard lives.
struct Active<'a>(&'a Waiter);

impl Drop for Active<'_> {
    fn drop(&mut self) {
        let shared = &self.0.shared;
        let mut state = lock(&shared.state);
        state.active -= 1;
        // A waker can panic while the thread fires the due timers, and the thread then leaves by
        // that panic.
        if core::mem::take(&mut lock(&self.0.state).parked) {
            state.parked -= 1;
        }
        drop(state);
        // All other threads may wait now.
        shared.clock_moved();
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
            .field("now", &Duration::from_nanos(self.shared.now()))
            .field("is_paused", &self.is_paused())
            .field("threads", &state.active)
            .field("waiting", &state.parked)
            .finish_non_exhaustive()
    }
}
