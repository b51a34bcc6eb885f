//! The settings of timers: resolution, slack, gathering, shards, clock and recorder.

use core::fmt;
use core::time::Duration;

use tickwright::time::{Clock, DelayCounts, Lateness};
use tickwright_core::SlabQueue;

use crate::coop;
use crate::counts::Totals;
use crate::driver::Driver;
use crate::node::{Core, Locked, Shard};
use crate::pace::Pace;
use crate::sync::{Arc, AtomicUsize, Mutex};
use crate::time::Time;

/// The settings of timers: resolution, slack, gathering, shards, clock and recorder.
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
    /// The resolution, or `None` for the driver's default.
    resolution: Option<Duration>,
    slack: Duration,
    gather: Duration,
    shards: usize,
    pub(crate) clock: Option<Arc<dyn Clock>>,
    /// Whether the clock is a [`TestClock`](crate::TestClock). When it was created, such a clock
    /// showed the time of the machine's clock.
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

    /// Sets the precision of deadlines: a timer fires up to `resolution` after its deadline, and
    /// never before it. Without this call the resolution is 16.4 us, or 8 ns with the clock of
    /// tokio or of a test. The value is rounded down to a power of two in nanoseconds, from 8 ns to
    /// 1.07 s.
    #[must_use]
    pub fn resolution(self, resolution: Duration) -> Self {
        Self { resolution: Some(resolution), ..self }
    }

    /// Records the timers' events as a trace for `tickwright recommend`. See
    /// [`tickwright::record`]. If a later time-out reuses a timer, the timer keeps its number in
    /// the trace.
    #[cfg(feature = "record")]
    #[must_use]
    pub fn recorded(self, recorder: tickwright::record::QueueRecorder) -> Self {
        Self { recorder: Some(recorder), ..self }
    }

    /// Sets how much later than its deadline a timer is allowed to fire, so that several timers can
    /// fire together with one wake-up of the driver. A timer can be late by the sum of the slack
    /// and the resolution.
    #[must_use]
    pub fn slack(self, slack: Duration) -> Self {
        Self { slack, ..self }
    }

    /// Sets how long the thread of [`start`](Self::start) rests after each wake-up while many
    /// timers fire. The next wake-up then fires all timers that came due during the rest, so a
    /// timer is up to this much later. Without this call the time is 400 us. A time of more than 10
    /// ms is treated as 10 ms. With a time of zero the thread never gathers timers in this way.
    ///
    /// The thread counts its wake-ups that fire a timer, and reduces the count by 2,000 per second,
    /// down to 0. It begins to gather when the count reaches 1,000. At 10,000 wake-ups per second
    /// this takes 1/8 s. If at most 1,000 timers fire in any second, the thread never gathers,
    /// however the timers are grouped. While the thread gathers, it counts timers instead of
    /// wake-ups, up to a count of 1,000. It stops gathering when the count is 0. This takes half a
    /// second if no timers fire, and a second if 1,000 timers fire per second.
    #[must_use]
    pub fn gather(self, gather: Duration) -> Self {
        Self { gather, ..self }
    }

    /// Sets the number of shards, at most 256. Each shard has a lock and a wheel of 17 KB. With 0
    /// there is one shard for each processor.
    #[must_use]
    pub fn shards(self, shards: usize) -> Self {
        Self { shards, ..self }
    }

    /// Sets a clock other than the monotonic clock of the machine. Use it only for
    /// [`driven`](Self::driven) timers, because a thread cannot sleep by a clock that stands still.
    /// A [`TestClock`](crate::TestClock) calls it for its timers.
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

    /// Creates the core of timers with these settings. The core's count of handles is 1.
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
                high_water: 0,
                totals: Totals::default(),
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
