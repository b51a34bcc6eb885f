//! A shared timer that records its operations.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tickwright_core::Tick;

use super::recorder::QueueRecorder;
use crate::shard::{ArmError, Cancelled, Firing, Shard, SharedTimer, Was, WheelGeometry, WouldDeadlock};

/// A shared timer that records the operations on it. A clone is a handle to the same timer.
///
/// Each timer has a lock, which keeps its events in the order of its operations. A timer that is
/// armed while it begins to fire may have the arm in the trace before that expiry.
#[derive(Clone, Debug)]
pub struct RecordedTimer<G: WheelGeometry> {
    timer: SharedTimer<G>,
    log: Arc<Log>,
}

/// Where a timer records its events.
#[derive(Debug)]
struct Log {
    recorder: QueueRecorder,
    /// Whether the timer is pending by its last event. The lock is held from an operation until its
    /// event is recorded.
    pending: Mutex<bool>,
}

/// The log ends with the last handle and the shards. A timer that is pending then never fires.
impl Drop for Log {
    fn drop(&mut self) {
        if *self.pending.get_mut().unwrap_or_else(PoisonError::into_inner) {
            self.recorder.cancel(self.identity());
        }
    }
}

impl Log {
    fn hold(&self) -> MutexGuard<'_, bool> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[track_caller]
    fn armed(&self, held: &mut bool, was: Was, deadline: Tick, now: Tick) {
        *held = true;
        let delay = deadline.saturating_sub(now);
        match was {
            Was::Idle => self.recorder.arm(self.identity(), delay),
            Was::Pending => self.recorder.rearm(self.identity(), delay),
        }
    }

    /// The identity is the address: a timer keeps it for as long as the timer lives.
    fn identity(&self) -> u64 {
        core::ptr::from_ref(self).addr() as u64
    }
}

impl<G: WheelGeometry> RecordedTimer<G> {
    /// A timer that belongs to `shard`, is not pending, and records. See [`Shard::timer`]. The
    /// callback gets the recorded timer, to arm it again. [`Firing::timer`] returns the plain
    /// timer, which does not record.
    #[must_use]
    pub fn new(
        shard: &Shard<'_, G>,
        recorder: &QueueRecorder,
        callback: impl Fn(&Firing<'_, G>, &Self) + Send + Sync + 'static,
    ) -> Self {
        let log = Arc::new(Log { recorder: recorder.clone(), pending: Mutex::new(false) });
        let fired = Arc::clone(&log);
        let timer = shard.timer(move |firing| {
            let mut held = fired.hold();
            *held = false;
            fired.recorder.fire(fired.identity());
            drop(held);
            callback(firing, &Self { timer: firing.timer().clone(), log: Arc::clone(&fired) });
        });
        Self { timer, log }
    }

    /// See [`SharedTimer::add`]. `now` is the time in ticks of the shard; the delay in the trace
    /// counts from it.
    ///
    /// # Errors
    /// The errors of that call.
    #[track_caller]
    pub fn add(&self, deadline: Tick, now: Tick) -> Result<(), ArmError> {
        self.arm(deadline, now, || self.timer.add(deadline).map(|()| Was::Idle)).map(|_| ())
    }

    /// See [`SharedTimer::add_on`].
    ///
    /// # Errors
    /// The errors of that call.
    #[track_caller]
    pub fn add_on(&self, shard: usize, deadline: Tick, now: Tick) -> Result<(), ArmError> {
        self.arm(deadline, now, || self.timer.add_on(shard, deadline).map(|()| Was::Idle)).map(|_| ())
    }

    /// See [`SharedTimer::modify_at`].
    ///
    /// # Errors
    /// The errors of that call.
    #[track_caller]
    pub fn modify_at(&self, deadline: Tick, now: Tick) -> Result<Was, ArmError> {
        self.arm(deadline, now, || self.timer.modify_at(deadline, now))
    }

    /// See [`SharedTimer::modify_on`].
    ///
    /// # Errors
    /// The errors of that call.
    #[track_caller]
    pub fn modify_on(&self, shard: usize, deadline: Tick, now: Tick) -> Result<Was, ArmError> {
        self.arm(deadline, now, || self.timer.modify_on(shard, deadline))
    }

    /// See [`SharedTimer::modify_pending_at`].
    ///
    /// # Errors
    /// The errors of that call.
    #[track_caller]
    pub fn modify_pending(&self, deadline: Tick, now: Tick) -> Result<Was, ArmError> {
        let mut held = self.log.hold();
        let was = self.timer.modify_pending_at(deadline, now)?;
        if was.is_pending() {
            self.log.armed(&mut held, was, deadline, now);
        }
        Ok(was)
    }

    /// See [`SharedTimer::reduce_at`].
    ///
    /// # Errors
    /// The errors of that call.
    #[track_caller]
    pub fn reduce(&self, deadline: Tick, now: Tick) -> Result<Was, ArmError> {
        let mut held = self.log.hold();
        let before = self.timer.deadline();
        let was = self.timer.reduce_at(deadline, now)?;
        // A later deadline leaves the timer as it is.
        if !was.is_pending() || before.is_none_or(|before| deadline < before) {
            self.log.armed(&mut held, was, deadline, now);
        }
        Ok(was)
    }

    /// See [`SharedTimer::cancel`].
    #[track_caller]
    pub fn cancel(&self) -> Was {
        let mut held = self.log.hold();
        let was = self.timer.cancel();
        self.cancelled(&mut held, was)
    }

    /// See [`SharedTimer::try_cancel`].
    #[track_caller]
    pub fn try_cancel(&self) -> Cancelled {
        let mut held = self.log.hold();
        let cancelled = self.timer.try_cancel();
        if cancelled == Cancelled::Removed {
            self.cancelled(&mut held, Was::Pending);
        }
        cancelled
    }

    /// See [`SharedTimer::cancel_sync`]. This call may wait for the callback. So its event may
    /// follow that of an arm by another thread.
    ///
    /// # Errors
    /// The errors of that call.
    #[track_caller]
    pub fn cancel_sync(&self) -> Result<Was, WouldDeadlock> {
        self.timer.cancel_sync().map(|was| self.cancelled(&mut self.log.hold(), was))
    }

    /// See [`SharedTimer::shutdown`].
    #[track_caller]
    pub fn shutdown(&self) -> Was {
        let mut held = self.log.hold();
        let was = self.timer.shutdown();
        self.cancelled(&mut held, was)
    }

    /// See [`SharedTimer::shutdown_sync`]. For its event, see [`cancel_sync`](Self::cancel_sync).
    ///
    /// # Errors
    /// The errors of that call.
    #[track_caller]
    pub fn shutdown_sync(&self) -> Result<Was, WouldDeadlock> {
        self.timer.shutdown_sync().map(|was| self.cancelled(&mut self.log.hold(), was))
    }

    /// See [`SharedTimer::is_pending`].
    #[must_use]
    pub fn is_pending(&self) -> bool {
        self.timer.is_pending()
    }

    /// See [`SharedTimer::is_running`].
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.timer.is_running()
    }

    /// See [`SharedTimer::is_shut_down`].
    #[must_use]
    pub fn is_shut_down(&self) -> bool {
        self.timer.is_shut_down()
    }

    /// See [`SharedTimer::deadline`].
    #[must_use]
    pub fn deadline(&self) -> Option<Tick> {
        self.timer.deadline()
    }

    /// See [`SharedTimer::shard`].
    #[must_use]
    pub fn shard(&self) -> usize {
        self.timer.shard()
    }

    #[track_caller]
    fn arm(
        &self,
        deadline: Tick,
        now: Tick,
        operation: impl FnOnce() -> Result<Was, ArmError>,
    ) -> Result<Was, ArmError> {
        let mut held = self.log.hold();
        let was = operation()?;
        self.log.armed(&mut held, was, deadline, now);
        Ok(was)
    }

    #[track_caller]
    fn cancelled(&self, held: &mut bool, was: Was) -> Was {
        if was.is_pending() {
            *held = false;
            self.log.recorder.cancel(self.log.identity());
        }
        was
    }
}
