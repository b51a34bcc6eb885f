//! The settings of timers: resolution, slack, gathering, shards, clock and recorder.

use core::fmt;
use core::time::Duration;

use tickwright::time::{Clock, DelayCounts, Lateness};
use tickwright_core::SlabQueue;

use crate::coop;
use crate::driver::Driver;
use crate::node::{Core, Locked, Shard};
use crate::pace::Pace;
use crate::sync::{Arc, AtomicUsize, Mutex};
use crate::time::Time;

/// The settings of timers: resolution, slack, shards and clock.
///
/// ```
/// use core::time::Duration;
/// use tickwright_async::TimerSettings;
///
/// // Time-outs of a proxy: up to 10 ms late is early enough, and saves wake-ups.
/// let timers = TimerSettings::new().slack(Duration::from_millis(10)).start()?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone)]
pub struct TimerSettings {
    /// `None`: the driver's default.
    resolution: Option<Duration>,
    slack: Duration,
    gather: Duration,
    shards: usize,
    pub(crate) clock: Option<Arc<dyn Clock>>,
    /// The clock is a [`TestClock`](crate::TestClock), which started with the time that the
    /// machine's clock showed at its creation.
    is_test: bool,
    #[cfg(feature = "record")]
    recorder: Option<tickwright::record::QueueRecorder>,
}

impl TimerSettings {
    /// Creates the default settings: a resolution of 16.4 us, no slack, gathering of 400 us, a
    /// shard for each processor, and the monotonic clock.
    #[must_use]
    pub fn new() -> Self {
        Self {
            resolution: None,
            slack: Duration::ZERO,
            gather: Duration::from_micros(400),
            shards: 0,
            clock: None,
            is_test: false,
            #[cfg(feature = "record")]
            recorder: None,
        }
    }

    /// Sets how precise a deadline is: a timer fires up to `resolution` after its deadline, and
    /// never before. Without this call it is 16.4 us, or 8 ns on a clock of tokio or of a test. The
    /// value is rounded down to a power of two in nanoseconds, from 8 ns to 1.07 s.
    #[must_use]
    pub fn resolution(self, resolution: Duration) -> Self {
        Self { resolution: Some(resolution), ..self }
    }

    /// Records the timers' events as a trace for `tickwright recommend`. See
    /// [`tickwright::record`]. A timer that a later time-out reuses keeps its number in the trace.
    #[cfg(feature = "record")]
    #[must_use]
    pub fn recorded(self, recorder: tickwright::record::QueueRecorder) -> Self {
        Self { recorder: Some(recorder), ..self }
    }

    /// Sets how much later than necessary a timer is allowed to fire. Timers that are due within
    /// this time fire together, with one wake-up of the driver. A timer can be late by the sum of
    /// the slack and the resolution.
    #[must_use]
    pub fn slack(self, slack: Duration) -> Self {
        Self { slack, ..self }
    }

    /// Sets how long the thread of [`start`](Self::start) gathers due timers while many fire: 400
    /// us without this call, at most 10 ms (a longer time counts as 10 ms). While the thread
    /// gathers, it rests for this time after each wake-up, and the next wake-up fires all timers
    /// that came due meanwhile. Gathering delays a timer by at most this time. Zero: never gather.
    ///
    /// The thread counts its wake-ups that fire a timer, and reduces the count by 2,000 per second,
    /// down to 0. It begins to gather at a count of 1,000. At 10,000 wake-ups per second this takes
    /// 1/8 s. A load of at most 1,000 timers in any second never starts gathering, however the
    /// timers are grouped. While the thread gathers, it counts timers instead of wake-ups, up to
    /// 1,000, until the count is 0. Without timers this takes half a second, and with 1,000 timers
    /// per second it takes a second.
    #[must_use]
    pub fn gather(self, gather: Duration) -> Self {
        Self { gather, ..self }
    }

    /// Sets the number of shards, at most 256. Each shard has a lock and a wheel of 17 KB. 0: one
    /// shard for each processor.
    #[must_use]
    pub fn shards(self, shards: usize) -> Self {
        Self { shards, ..self }
    }

    /// Sets a clock other than the monotonic clock of the machine. Use it for
    /// [`driven`](Self::driven) timers only: a thread cannot sleep by a clock that stands still.
    /// [`TestClock`](crate::TestClock) sets it.
    #[must_use]
    pub fn clock(self, clock: Arc<dyn Clock>) -> Self {
        Self { clock: Some(clock), is_test: false, ..self }
    }

    /// Sets the finest resolution, unless a resolution was set.
    pub(crate) fn fine(self) -> Self {
        Self { resolution: self.resolution.or(Some(Duration::from_nanos(8))), ..self }
    }

    /// Like [`clock`](Self::clock), for a [`TestClock`](crate::TestClock).
    pub(crate) fn test_clock(self, clock: Arc<dyn Clock>) -> Self {
        Self { clock: Some(clock), is_test: true, ..self }
    }

    /// Creates the core of timers with these settings, with a count of one handle.
    pub(crate) fn core(self, driver: Driver) -> Arc<Core> {
        coop::begin_turn();
        let shards = match self.shards {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            shards => shards,
        };
        let shard = || Shard {
            state: Mutex::new(Locked {
                queue: SlabQueue::new(),
                alarm: u64::MAX,
                locked: 0,
                delays: DelayCounts::new(),
                lateness: Lateness::new(),
            }),
        };
        let resolution = self.resolution.unwrap_or(Duration::from_nanos(1 << 14));
        let core = Core {
            shards: core::iter::repeat_with(shard).take(shards.clamp(1, 256)).collect(),
            time: Time::new(resolution, self.slack, self.clock, self.is_test),
            driver,
            pace: Pace::new(crate::time::nanos(self.gather)),
            handles: AtomicUsize::new(1),
            #[cfg(feature = "record")]
            recorder: self.recorder,
        };
        Arc::new(core)
    }
}

impl Default for TimerSettings {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for TimerSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TimerSettings")
            .field("resolution", &self.resolution)
            .field("slack", &self.slack)
            .field("gather", &self.gather)
            .field("shards", &self.shards)
            .finish_non_exhaustive()
    }
}
