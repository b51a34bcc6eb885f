//! A timer of a shard that records.

use core::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tickwright_core::Tick;

use super::recorder::QueueRecorder;
use crate::shard::{ArmError, Firing, Shard, SharedTimer, Was, WheelGeometry, WouldDeadlock};

/// A shared timer that records what is done with it. Calls that only read go to the timer itself.
///
/// A lock of its own keeps the events of one timer in the order of its operations. One that is
/// armed while it begins to fire may be in the trace before that expiry.
#[derive(Debug)]
pub struct RecordedTimer<G: WheelGeometry> {
    timer: SharedTimer<G>,
    log: Arc<Log>,
}

/// Where a timer notes what happened.
#[derive(Debug)]
struct Log {
    recorder: QueueRecorder,
    /// Held from an operation to its event.
    order: Mutex<()>,
}

impl Log {
    fn hold(&self) -> MutexGuard<'_, ()> {
        self.order.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The address: one timer has it as long as it lives.
    fn identity(&self) -> u64 {
        core::ptr::from_ref(self).addr() as u64
    }
}

impl<G: WheelGeometry> RecordedTimer<G> {
    /// A timer that belongs to `shard`, is not pending, and records. See [`Shard::timer`].
    #[must_use]
    pub fn new(
        shard: &Shard<'_, G>,
        recorder: &QueueRecorder,
        callback: impl Fn(&Firing<'_, G>) + Send + Sync + 'static,
    ) -> Self {
        let log = Arc::new(Log { recorder: recorder.clone(), order: Mutex::new(()) });
        let fired = Arc::clone(&log);
        let timer = shard.timer(move |firing| {
            let held = fired.hold();
            fired.recorder.fire(fired.identity());
            drop(held);
            callback(firing);
        });
        Self { timer, log }
    }

    /// See [`SharedTimer::add`]. `now` is the time in ticks of the shard: the delay in the trace
    /// counts from it.
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    pub fn add(&self, deadline: Tick, now: Tick) -> Result<(), ArmError> {
        self.arm(deadline, now, || self.timer.add(deadline).map(|()| Was::Idle)).map(|_| ())
    }

    /// See [`SharedTimer::modify_at`].
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    pub fn modify_at(&self, deadline: Tick, now: Tick) -> Result<Was, ArmError> {
        self.arm(deadline, now, || self.timer.modify_at(deadline, now))
    }

    /// See [`SharedTimer::cancel`].
    #[track_caller]
    pub fn cancel(&self) -> Was {
        let _held = self.log.hold();
        self.cancelled(self.timer.cancel())
    }

    /// See [`SharedTimer::cancel_sync`]. It may wait for the callback, so its event may come after
    /// that of an arm by another thread.
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    pub fn cancel_sync(&self) -> Result<Was, WouldDeadlock> {
        self.timer.cancel_sync().map(|was| self.cancelled(was))
    }

    /// See [`SharedTimer::shutdown`].
    #[track_caller]
    pub fn shutdown(&self) -> Was {
        let _held = self.log.hold();
        self.cancelled(self.timer.shutdown())
    }

    #[track_caller]
    fn arm(
        &self,
        deadline: Tick,
        now: Tick,
        operation: impl FnOnce() -> Result<Was, ArmError>,
    ) -> Result<Was, ArmError> {
        let log = &self.log;
        let _held = log.hold();
        let was = operation()?;
        let delay = deadline.saturating_sub(now);
        match was {
            Was::Idle => log.recorder.arm(log.identity(), delay),
            Was::Pending => log.recorder.rearm(log.identity(), delay),
        }
        Ok(was)
    }

    #[track_caller]
    fn cancelled(&self, was: Was) -> Was {
        if was.is_pending() {
            self.log.recorder.cancel(self.log.identity());
        }
        was
    }
}

impl<G: WheelGeometry> Deref for RecordedTimer<G> {
    type Target = SharedTimer<G>;

    fn deref(&self) -> &SharedTimer<G> {
        &self.timer
    }
}
