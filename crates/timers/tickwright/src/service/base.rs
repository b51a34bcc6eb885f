//! The fields of a service.

use core::fmt;
use std::sync::Arc;

use tickwright_core::Tick;
use tickwright_nodes::arena::{Full, Idx};

use super::held::Host;
use super::int::IntIds;
use super::settings::Settings;
use super::site::Sites;
use super::structure::Structure;
use super::table::Table;
use super::words::{Refusal, Statistics};
use crate::sync::no_memory;
use crate::time::{Alarm, Clock, Instant, Lateness, Source, Ticks};

/// The timers of one thread, on a clock. See the [module](super).
pub struct Service<P> {
    pub(super) clock: Source,
    pub(super) structure: Structure,
    pub(super) ticks: Ticks,
    pub(super) table: Table<P>,
    pub(super) ints: Option<IntIds>,
    pub(super) sites: Sites,
    /// A timer that was popped already and is the first of the next pass. It was armed in the pass
    /// that popped it.
    pub(super) ahead: Option<Idx>,
    pub(super) host: Option<Host>,
    /// How many callers say that urgent work runs.
    pub(super) urgent: usize,
    pub(super) pass: u16,
    pub(super) cutoff: Tick,
    /// The number of pending timers of the wall clock. Next: the offset by which the queue has
    /// them, and the time of the last step.
    pub(super) walls: usize,
    pub(super) wall_offset: i64,
    pub(super) stepped_at: u64,
    pub(super) alarm: Option<Arc<dyn Alarm>>,
    pub(super) alarm_at: Option<Instant>,
    pub(super) statistics: Statistics,
}

impl<P> Service<P> {
    /// An empty service. If there is no memory for [`Settings::capacity`], the service starts
    /// without that capacity.
    ///
    /// # Panics
    /// If there is no memory for an empty service, the process ends, as at every allocation of the
    /// standard library. [`try_new`](Self::try_new) returns an error instead.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        let capacity = settings.capacity;
        let settings = settings.capacity(0);
        let mut service = Self::try_new(settings).unwrap_or_else(|_| no_memory::<Self>());
        let _ = service.reserve(capacity);
        service
    }

    /// Makes an empty service with [`Settings::capacity`].
    ///
    /// # Errors
    /// [`Refusal::Full`] if there is no memory for the capacity.
    pub fn try_new(settings: Settings) -> Result<Self, Refusal> {
        let ticks = settings.tick.unwrap_or(settings.structure.default_tick());
        let queue = settings.structure.build().ok_or(Refusal::Full)?;
        #[cfg(feature = "record")]
        let queue = super::recorded::recorded(queue, settings.recorder, ticks);
        let Settings { structure, clock, int_ids, capacity, .. } = settings;
        let mut table = Table::new(queue);
        table.queue_mut().touch(ticks.now(clock.now()));
        let mut service = Self {
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
                fired: 0,
                cancelled: 0,
                overruns: 0,
                passes: 0,
                steps: 0,
                lateness: Lateness::new(),
            },
        };
        service.reserve(capacity)?;
        Ok(service)
    }

    /// Makes room for `additional` more timers: that many adds then allocate nothing.
    ///
    /// # Errors
    /// [`Refusal::Full`] if there is no memory for them.
    pub fn reserve(&mut self, additional: usize) -> Result<(), Refusal> {
        if let Some(ints) = &mut self.ints {
            ints.reserve(additional).ok_or(Refusal::Full)?;
        }
        self.table.reserve(additional).map_err(|Full| Refusal::Full)
    }

    /// The clock's time.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.clock.now()
    }

    /// The clock.
    #[must_use]
    pub fn clock(&self) -> &dyn Clock {
        self.clock.get()
    }

    pub(crate) fn shared_clock(&self) -> Arc<dyn Clock> {
        self.clock.shared()
    }

    /// The structure underneath.
    #[must_use]
    pub fn structure(&self) -> Structure {
        self.structure
    }

    /// The length of a tick.
    #[must_use]
    pub fn ticks(&self) -> Ticks {
        self.ticks
    }
}

/// The drop wakes the thread that waits at the alarm; that thread then finds the service gone.
impl<P> Drop for Service<P> {
    fn drop(&mut self) {
        if let Some(alarm) = &self.alarm {
            alarm.set(Some(Instant::ZERO));
        }
    }
}

impl<P> fmt::Debug for Service<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service")
            .field("structure", &self.structure)
            .field("ticks", &self.ticks)
            .field("timers", &self.table.live())
            .field("pending", &self.table.queue().len())
            .finish_non_exhaustive()
    }
}
