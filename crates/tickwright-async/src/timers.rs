//! The handle to a set of timers.

use core::fmt;
use core::time::Duration;
use std::time::Instant;

use crate::base::Core;
use crate::report::{Lateness, Report};
use crate::sync::{Arc, Ordering, lock};
use crate::time::instant;
use crate::wake::Wake;
use crate::word::State;

/// A handle to timers: what sleeps, time-outs and slots are made from. Clones are handles to the
/// same timers.
///
/// Timers made by [`new`](Self::new) fire on a thread of their own, which sleeps until a timer is
/// due. Those made by [`Settings::driven`](crate::Settings::driven) fire when the caller's loop calls [`run`](Self::run).
///
/// When the last handle is dropped, what is pending still fires. The thread ends after the last
/// timer.
///
/// ```
/// use core::time::Duration;
/// use tickwright_async::{TestClock, Timers};
///
/// let clock = TestClock::new();
/// let timers = clock.timers();
/// let started = timers.now();
/// clock.block_on(async {
///     timers.sleep(Duration::from_secs(60)).await;
/// });
/// assert_eq!(timers.now() - started, Duration::from_secs(60), "and it took no time");
/// ```
pub struct Timers {
    pub(crate) core: Arc<Core>,
}

<<<<<<< HEAD
/// How timers are to be: resolution, slack, shards and clock.
///
/// ```
/// use core::time::Duration;
/// use tickwright_async::Settings;
///
/// // Time-outs of a proxy: up to 10 ms late is early enough, and saves wake-ups.
/// let timers = Settings::new().slack(Duration::from_millis(10)).start()?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone)]
pub struct Settings {
    resolution: Duration,
    slack: Duration,
    shards: usize,
    clock: Option<Arc<dyn Clock>>,
    /// The clock shows the nanoseconds that the machine's showed when it was made.
    aligned: bool,
}

impl Settings {
    /// A resolution of 16.4 us, no slack, a shard for each processor, the monotonic clock.
    #[must_use]
    pub fn new() -> Self {
        let resolution = Duration::from_nanos(1 << 14);
        Self { resolution, slack: Duration::ZERO, shards: 0, clock: None, aligned: false }
    }

    /// How precise a deadline is: a timer fires up to that much after it, and never before. It is
    /// rounded down to a power of two of a nanosecond, from 8 ns to 1.07 s.
    #[must_use]
    pub fn resolution(self, resolution: Duration) -> Self {
        Self { resolution, ..self }
    }

    /// How late a timer may be on purpose. Timers that are due within this time fire together, with
    /// one wake-up of the driver. It counts beside the resolution.
    #[must_use]
    pub fn slack(self, slack: Duration) -> Self {
        Self { slack, ..self }
    }

    /// How many shards there are, each with a lock and 17 KB for its wheel. 0: as many as
    /// processors. At most 256.
    #[must_use]
    pub fn shards(self, shards: usize) -> Self {
        Self { shards, ..self }
    }

    /// Another clock than the monotonic one of the machine. For [`driven`](Self::driven) timers: a
    /// thread cannot sleep by a clock that stands still. [`TestClock`](crate::TestClock) sets it.
    #[must_use]
    pub fn clock(self, clock: Arc<dyn Clock>) -> Self {
        Self { clock: Some(clock), aligned: false, ..self }
    }

    /// As [`clock`](Self::clock), for a clock that began with the time of the machine.
    pub(crate) fn aligned_clock(self, clock: Arc<dyn Clock>) -> Self {
        Self { clock: Some(clock), aligned: true, ..self }
    }

    /// Creates timers and starts their thread.
    ///
    /// # Errors
    /// That of the platform, if it starts no thread; `InvalidInput` if a clock is set.
    pub fn start(self) -> io::Result<Timers> {
        if self.clock.is_some() {
            let why = "a thread cannot sleep by a clock of the caller's: make driven timers, and call run";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        let timers = self.start_or_retry();
        match &timers.core.wake {
            // Still without a thread. This attempt reports why.
            Wake::Thread(sleeper) if sleeper.call(u64::MAX) => timers.core.start_thread()?,
            _ => {}
        }
        Ok(timers)
    }

    /// As [`start`](Self::start), without a clock; if no thread can be started now, the next timer
    /// that is armed tries again.
    pub(crate) fn start_or_retry(self) -> Timers {
        let timers = Self { clock: None, ..self }.make(Wake::Thread(Sleeper::default()));
        timers.core.call_driver(u64::MAX);
        timers
    }

    /// Creates timers that fire when the caller calls [`Timers::run`]. `earlier` is called when a
    /// timer is armed that is due before [`Timers::poll_timeout`] said, and when the last handle is
    /// dropped, or a timer after it: wake the loop there. It is called on any thread, with no lock
    /// held. A loop on the only thread needs nothing there.
    ///
    /// ```
    /// use core::time::Duration;
    /// use std::pin::pin;
    /// use tickwright_async::Settings;
    ///
    /// let timers = Settings::new().driven(|| {});
    /// let mut sleep = pin!(timers.sleep(Duration::from_millis(1)));
    /// let mut cx = core::task::Context::from_waker(core::task::Waker::noop());
    /// while sleep.as_mut().poll(&mut cx).is_pending() {
    ///     // A loop with descriptors waits for those, with this time-out.
    ///     std::thread::sleep(timers.poll_timeout().unwrap_or_default());
    ///     timers.run();
    /// }
    /// # use core::future::Future;
    /// ```
    #[must_use]
    pub fn driven(self, earlier: impl Fn() + Send + Sync + 'static) -> Timers {
        self.make(Wake::Hook(Box::new(earlier)))
    }

    fn make(self, wake: Wake) -> Timers {
        let shards = match self.shards {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            shards => shards,
        };
        let shard = || Shard {
            state: Mutex::new(Locked {
                queue: SlabQueue::new(),
                alarm: u64::MAX,
                locked: 0,
                lateness: Lateness::NONE,
            }),
        };
        let scale = Scale::new(self.resolution, self.slack);
        let core = Core {
            shards: core::iter::repeat_with(shard).take(shards.clamp(1, 256)).collect(),
            time: self.clock.map_or(Time::Machine, |clock| Time::other(clock, self.aligned, scale)),
            scale,
            wake,
            handles: AtomicUsize::new(1),
        };
        Timers { core: Arc::new(core) }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("resolution", &self.resolution)
            .field("slack", &self.slack)
            .field("shards", &self.shards)
            .finish_non_exhaustive()
    }
}

=======
>>>>>>> async
impl Timers {
    /// The time by the clock of these timers, as an instant of the standard library. With the clock
    /// of the machine it is [`Instant::now`], to 100 ns.
    #[must_use]
    pub fn now(&self) -> Instant {
        instant(self.core.time.now())
    }

    /// Fires what is due, on this thread. Returns how many timers fired. For
    /// [`driven`](crate::Settings::driven) timers; others need no call.
    ///
    /// # Panics
    /// With the first panic of a waker, when all wakers were called.
    pub fn run(&self) -> usize {
        self.core.run().0
    }

    /// How long the caller's loop may sleep before it calls [`run`](Self::run); zero if something
    /// is due, `None` if nothing is pending. Timers that were dropped since may make it shorter
    /// than necessary.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Duration> {
        let next = self.core.next();
        let left = || self.core.scale.start(next).saturating_sub(self.core.time.now());
        (next < u64::MAX).then(|| Duration::from_nanos(left()))
    }

    /// When [`run`](Self::run) is to be called next; `None` if nothing is pending.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        let next = self.core.next();
        (next < u64::MAX).then(|| instant(self.core.scale.start(next)))
    }

    /// The longest time that a timer may be late by rounding.
    #[must_use]
    pub fn resolution(&self) -> Duration {
        self.core.scale.resolution()
    }

    /// Counts timers and looks at how late they fired. O(timers), with one shard locked at a time.
    #[must_use]
    pub fn report(&self) -> Report {
        let (mut live, mut vacant, mut locks, mut lateness) = (0, 0, 0, Lateness::NONE);
        for shard in &self.core.shards {
            let state = lock(&shard.state);
            for (_, node) in state.queue.iter_unordered() {
                match node.state(Ordering::Relaxed) {
                    State::Vacant => vacant += 1,
                    _ => live += 1,
                }
            }
            locks += state.locked;
            lateness.add(&state.lateness);
        }
        let (wakeups, panics) = match &self.core.wake {
            Wake::Thread(sleeper) => sleeper.counts(),
            Wake::Hook(_) => (0, 0),
        };
        Report { live, vacant, locks, lateness, wakeups, panics }
    }

    /// Where the live timers were made, and how many at each place, the most first. O(timers), with
    /// one shard locked at a time.
    #[cfg(feature = "sites")]
    #[must_use]
    pub fn sites(&self) -> Vec<(&'static core::panic::Location<'static>, usize)> {
        let mut counts = std::collections::HashMap::new();
        for shard in &self.core.shards {
            for (_, node) in lock(&shard.state).queue.iter_unordered() {
                let is_live = node.state(Ordering::Relaxed) != State::Vacant;
                if let (true, Some(site)) = (is_live, *lock(&node.site)) {
                    *counts.entry(site).or_insert(0) += 1;
                }
            }
        }
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort_by(|(a, n), (b, m)| m.cmp(n).then_with(|| a.cmp(b)));
        counts
    }

    /// Whether both are handles to the same timers.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.core, &other.core)
    }
}

impl Clone for Timers {
    fn clone(&self) -> Self {
        self.core.handles.fetch_add(1, Ordering::Relaxed);
        Self { core: Arc::clone(&self.core) }
    }
}

impl Drop for Timers {
    fn drop(&mut self) {
        // Release and Acquire: the driver that sees 0 sees all that was armed by handles.
        if self.core.handles.fetch_sub(1, Ordering::AcqRel) == 1 {
            // What is vacant would keep the core, and the driver too.
            self.core.sweep();
            self.core.call_driver_to_end();
        }
    }
}

impl fmt::Debug for Timers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timers").field("resolution", &self.resolution()).finish_non_exhaustive()
    }
}
