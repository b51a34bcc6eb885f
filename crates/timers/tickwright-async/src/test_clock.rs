//! A clock for tests. It stands still until a call moves it, and can move by itself when all
//! threads wait.

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
/// - [`advance`](Self::advance) moves the clock, and fires the timers that come due on the way.
/// - Inside of [`block_on`](Self::block_on) the clock moves by itself. When all threads in
///   `block_on` wait, it jumps to the next deadline. A [`hold`](Self::hold) prevents it from moving
///   by itself.
/// - [`resume`](Self::resume) lets the clock run with the machine's clock, and
///   [`pause`](Self::pause) stops it again.
///
/// The clock is the monotonic clock of a [simulated machine](Self::host). The schedulers and
/// drivers of the same test can use the other clocks of that machine.
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
    /// The number of threads in `block_on`. The next field counts those of them that wait, and the
    /// field after it counts the threads that fire timers.
    active: usize,
    parked: usize,
    firing: usize,
    /// How often the clock was moved, or a timer was filed that is earlier than all others. When
    /// this count has changed, a waiting thread checks the timers again.
    changes: u64,
    /// The value that `changes` had when a waiting thread last fired the due timers.
    seen: u64,
}

impl TestClock {
    /// Creates a clock that stands still.
    #[must_use]
    pub fn new() -> Self {
        // The clock starts at a time that is a whole number of ticks in every resolution.
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

    /// Returns the simulated machine whose monotonic clock this is.
    #[must_use]
    pub fn host(&self) -> &VirtualHost {
        self.shared.clock.host()
    }

    /// Stops the clock. If it already stands still, the call does nothing.
    pub fn pause(&self) {
        self.host().pause();
    }

    /// Lets the clock run with the machine's clock. Timers fire only in
    /// [`block_on`](Self::block_on) and [`advance`](Self::advance).
    pub fn resume(&self) {
        self.host().resume();
    }

    /// Returns whether the clock stands still.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.host().is_paused()
    }

    /// Moves the clock by `span`. If several threads call this at the same time, their spans add
    /// up. The clock stops at each deadline on the way and fires the due timers, so wakers are
    /// called in the order of the deadlines. The call does not run the woken tasks, which run when
    /// their executor runs them.
    ///
    /// # Panics
    /// If a waker panics, the call panics, too.
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
    /// In this call, a paused clock moves by itself: when every thread in `block_on` waits, the
    /// clock jumps to the next deadline. A test that waits for hours on one or several threads
    /// therefore ends at once. If the future waits for an event other than a timer, the call waits
    /// in real time.
    ///
    /// # Panics
    /// If the future or a waker panics, the call panics, too.
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

    /// Polls a future once, with a waker that does nothing. Use it in tests of a single future.
    pub fn is_ready<F: Future>(&self, future: core::pin::Pin<&mut F>) -> bool {
        future.poll(&mut Context::from_waker(Waker::noop())).is_ready()
    }

    /// Prevents the clock from moving by itself until the guard is dropped. Use it while a thread
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

    /// Returns the cores of all timers that use this clock. The lock is not held after the call.
    fn cores(&self) -> Vec<Arc<Core>> {
        let mut timers = lock(&self.timers);
        timers.retain(|core| core.strong_count() > 0);
        timers.iter().filter_map(Weak::upgrade).collect()
    }

    fn run(&self) {
        lock(&self.state).firing += 1;
        // This is a guard, because a waker can panic.
        let _firing = Firing(self);
        for core in self.cores() {
            core.pass().0.end();
        }
    }

    fn now(&self) -> u64 {
        self.clock.now().as_nanos()
    }

    /// Returns the time at which the first timer is filed, or [`u64::MAX`] if no timer is filed.
    fn next(&self) -> u64 {
        self.cores().into_iter().map(|core| core.time.start(core.next())).min().unwrap_or(u64::MAX)
    }

    /// If the clock runs, returns how long a thread can sleep before it must check the timers
    /// again.
    fn left(&self) -> Option<Duration> {
        let next = Instant::from_nanos(self.next());
        (!self.clock.stands_still() && next < Instant::MAX).then(|| next.duration_since(self.clock.now()))
    }
}

impl Watcher for Shared {
    /// Wakes the threads in `block_on`, which fire the due timers.
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
                    // The thread that notified this thread has already updated the count of parked
                    // threads.
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
            // The clock and the timers have not changed since the count was read, so this thread
            // waits.
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

/// A guard: the thread is counted as firing timers while the guard exists.
struct Firing<'a>(&'a Shared);

impl Drop for Firing<'_> {
    fn drop(&mut self) {
        lock(&self.0.state).firing -= 1;
    }
}

/// A guard: the thread is counted as being in `block_on` while the guard exists.
struct Active<'a>(&'a Waiter);

impl Drop for Active<'_> {
    fn drop(&mut self) {
        let shared = &self.0.shared;
        let mut state = lock(&shared.state);
        state.active -= 1;
        // If a waker panics while this thread fires the due timers, the thread is still counted as
        // parked.
        if core::mem::take(&mut lock(&self.0.state).parked) {
            state.parked -= 1;
        }
        drop(state);
        // Possibly all other threads wait now, so one of them must move the clock.
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
