//! The type [`TimerSet`]: its fields, and the functions that create it.

use core::fmt;
use core::time::Duration;
use std::sync::Arc;

use tickwright_core::{Key, Tick};

use super::int_ids::IntIds;
#[cfg(feature = "record")]
use super::recorded::Recording;
use super::results::{HostTick, Refusal, Statistics};
use super::settings::Settings;
use super::site::Sites;
use super::structure::Structure;
use super::table::Table;
use crate::sync::no_memory;
use crate::time::{Alarm, Clock, DelayCounts, Instant, Lateness, Source, Ticks};

/// The host tick: its timer and its state.
pub(super) struct Host {
    pub(super) key: Key,
    /// The expiry of the host tick while it is put aside. The host tick has become due and has left
    /// the queue, but is still pending.
    pub(super) held: Option<Tick>,
    /// The counts. When the tick is counted as deferred, `waits` becomes true.
    pub(super) tick: HostTick,
}

impl Host {
    /// Notes that the host tick is no longer pending, or is due at another time.
    pub(super) fn let_go(&mut self) {
        (self.held, self.tick.waits) = (None, false);
    }

    /// Counts a run of the host tick.
    pub(super) fn note_run(&mut self, late_ns: u64) {
        self.tick.runs += 1;
        if self.tick.waits {
            self.tick.late += 1;
            self.tick.latest = self.tick.latest.max(Duration::from_nanos(late_ns));
        }
        self.let_go();
    }

    pub(super) fn note_deferred(&mut self) {
        if !self.tick.waits {
            self.tick.waits = true;
            self.tick.deferred += 1;
        }
    }
}

/// The timers of one thread, with payloads instead of callbacks. A [`Scheduler`](super::Scheduler)
/// is built on a timer set. Use a set directly in a loop that handles payloads itself.
///
/// [`take`](Self::take) returns the payload of a timer that is due, and marks the timer as running.
/// [`finish`](Self::finish) decides what happens to the timer afterwards. Between `take` and
/// `finish` the caller runs its own code.
///
/// ```
/// use tickwright::scheduler::{Missed, Next, Refused, Settings, Site, TimerSet, Timing};
/// use tickwright::time::{Instant, VirtualHost};
/// # use core::time::Duration;
///
/// let host = VirtualHost::new();
/// let mut timers = TimerSet::new(Settings::new().clock(host.monotonic()));
/// let period = Duration::from_millis(10);
/// let beat = Timing::after(period).every(period).missed(Missed::Skip);
/// timers.add(beat, &Site::here("beat"), "payload")?;
/// assert_eq!(timers.timeout(), Some(Duration::from_millis(10)));
///
/// host.advance(Duration::from_millis(47));
/// timers.begin_pass();
/// let due = timers.take().expect("it is late");
/// assert_eq!(due.due, Instant::ZERO + Duration::from_millis(40));
/// assert_eq!((due.payload, due.overruns), ("payload", 3));
/// timers.finish(due.id, due.payload, Next::Again);
/// assert_eq!(timers.timeout(), Some(Duration::from_millis(3)), "on the grid");
/// # Ok::<(), Refused<&str>>(())
/// ```
///
/// A poll loop sleeps for [`timeout`](Self::timeout) between two passes.
/// [`end_pass`](Self::end_pass) sets the alarm, or does nothing if there is no alarm.
pub struct TimerSet<P> {
    pub(super) clock: Source,
    pub(super) structure: Structure,
    pub(super) ticks: Ticks,
    pub(super) table: Table<P>,
    pub(super) ints: Option<IntIds>,
    pub(super) sites: Sites,
    /// A timer that the last pass popped but did not take, because it was armed during that pass.
    /// It is the first timer of the next pass.
    pub(super) ahead: Option<Key>,
    pub(super) host: Option<Host>,
    /// How many declarations of urgent work have not ended.
    pub(super) urgent: usize,
    pub(super) pass: u16,
    pub(super) cutoff: Tick,
    /// The number of pending timers that follow the wall clock. The next two fields are the clock's
    /// offset with which they were inserted into the queue, and the time of the last step.
    pub(super) walls: usize,
    pub(super) wall_offset: i64,
    pub(super) stepped_at: u64,
    pub(super) alarm: Option<Arc<dyn Alarm>>,
    pub(super) alarm_at: Option<Instant>,
    /// The counts so far. The fields `timers`, `pending` and `armed` are computed only when the
    /// statistics are read.
    pub(super) statistics: Statistics,
}

impl<P> TimerSet<P> {
    /// Creates an empty set. If there is no memory for [`Settings::capacity`], the set starts
    /// without that capacity.
    ///
    /// # Panics
    /// If there is no memory for an empty set, the process ends, as for every allocation of the
    /// standard library. [`try_new`](Self::try_new) returns an error instead.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        let capacity = settings.capacity;
        let settings = settings.capacity(0);
        let mut set = Self::try_new(settings).unwrap_or_else(|_| no_memory::<Self>());
        let _ = set.reserve(capacity);
        set
    }

    /// Like [`new`](Self::new), but returns an error if there is no memory for
    /// [`Settings::capacity`].
    ///
    /// # Errors
    /// [`Refusal::Full`] if there is no memory for the set with this capacity.
    pub fn try_new(settings: Settings) -> Result<Self, Refusal> {
        let ticks = settings.tick.unwrap_or(settings.structure.default_tick());
        #[cfg(feature = "record")]
        let queue = match &settings.recorder {
            Some(recorder) => settings.structure.build_recorded(Recording::new(recorder, ticks)),
            None => settings.structure.build(),
        };
        #[cfg(not(feature = "record"))]
        let queue = settings.structure.build();
        let Settings { structure, clock, int_ids, capacity, .. } = settings;
        let mut table = Table::new(queue.ok_or(Refusal::Full)?);
        table.queue_mut().update_now(ticks.now(clock.now()));
        let mut set = Self {
            clock,
            structure,
            ticks,
            table,
            ints: int_ids.then(IntIds::default),
            sites: Sites::new().ok_or(Refusal::Full)?,
            ahead: None,
            host: None,
            urgent: 0,
            pass: 0,
            cutoff: 0,
            walls: 0,
            wall_offset: 0,
            stepped_at: 0,
            alarm: None,
            alarm_at: None,
            statistics: Statistics {
                timers: 0,
                pending: 0,
                high_water: 0,
                armed: 0,
                rearmed: 0,
                fired: 0,
                cancelled: 0,
                overruns: 0,
                passes: 0,
                steps: 0,
                lateness: Lateness::new(),
                delays: DelayCounts::new(),
            },
        };
        set.reserve(capacity)?;
        Ok(set)
    }

    /// Makes room for `additional` more timers, so that the next `additional` adds allocate
    /// nothing.
    ///
    /// # Errors
    /// [`Refusal::Full`] if there is no memory for these timers.
    pub fn reserve(&mut self, additional: usize) -> Result<(), Refusal> {
        if let Some(ints) = &mut self.ints {
            ints.reserve(additional).ok_or(Refusal::Full)?;
        }
        self.table.reserve(additional).ok_or(Refusal::Full)
    }

    /// Returns the clock's time.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.clock.now()
    }

    /// Returns the clock.
    #[must_use]
    pub fn clock(&self) -> &dyn Clock {
        self.clock.get()
    }

    pub(crate) fn shared_clock(&self) -> Arc<dyn Clock> {
        self.clock.shared()
    }
}

/// Dropping the set wakes the thread that waits at the alarm. The thread then notices that the set
/// no longer exists.
impl<P> Drop for TimerSet<P> {
    fn drop(&mut self) {
        if let Some(alarm) = &self.alarm {
            alarm.set(Some(Instant::ZERO));
        }
    }
}

impl<P> fmt::Debug for TimerSet<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TimerSet")
            .field("structure", &self.structure)
            .field("ticks", &self.ticks)
            .field("timers", &self.table.live())
            .field("pending", &self.table.queue().len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
