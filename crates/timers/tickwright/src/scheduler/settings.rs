//! The settings of a scheduler: structure, tick, clock, capacity, `int` ids and recorder.

use core::time::Duration;

use super::structure::Structure;
use crate::time::{Clock, Source, Ticks, nanos};

/// The settings of a scheduler.
#[derive(Clone, Debug, Default)]
#[must_use = "settings do nothing by themselves"]
pub struct Settings {
    pub(super) structure: Structure,
    pub(super) tick: Option<Ticks>,
    pub(super) clock: Source,
    pub(super) int_ids: bool,
    pub(super) capacity: usize,
    #[cfg(feature = "record")]
    pub(super) recorder: Option<crate::record::QueueRecorder>,
}

impl Settings {
    /// Creates the default settings: the default structure ([`Structure::default`]) on the
    /// monotonic clock.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the structure that holds the pending timers.
    pub fn structure(mut self, structure: Structure) -> Self {
        self.structure = structure;
        self
    }

    /// Sets the length of a tick. 0 is treated as 1 ns. Timers that are due in the same tick run in
    /// the order in which they were armed.
    pub fn tick(mut self, tick: Duration) -> Self {
        self.tick = Some(Ticks::of(nanos(tick)));
        self
    }

    /// Sets the clock.
    pub fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.clock = Source::of(clock);
        self
    }

    /// Gives each timer an `int` id in addition to its [`TimerId`](super::TimerId), for C programs
    /// ([`TimerSet::int_id`](super::TimerSet::int_id)).
    #[doc(hidden)]
    pub fn int_ids(mut self) -> Self {
        self.int_ids = true;
        self
    }

    /// Records the operations on the timers. The recorder must use the same clock: see
    /// [`record`](crate::record).
    #[cfg(feature = "record")]
    pub fn recorded(mut self, recorder: crate::record::QueueRecorder) -> Self {
        self.recorder = Some(recorder);
        self
    }

    /// Makes room for `capacity` timers in advance. The scheduler allocates nothing while it has at
    /// most that many timers.
    pub fn capacity(mut self, capacity: usize) -> Self {
        self.capacity = capacity;
        self
    }
}
