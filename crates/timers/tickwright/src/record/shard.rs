//! A shared timer that records its operations.

use std::sync::PoisonError;

use tickwright_core::Tick;

use super::recorder::QueueRecorder;
use crate::shard::{
    ArmError, Shard, SharedFiring, SharedTimer, Step, TryCancel, Was, WheelGeometry, WouldDeadlock,
};
use crate::sync::{Arc, Mutex, MutexGuard, lock};

/// A shared timer that records its own operations. A clone is another handle to the same timer.
///
/// Each timer has a lock, so that its events are recorded in the order of its operations.
#[derive(Clone, Debug)]
pub struct RecordedTimer<G: WheelGeometry> {
    timer: SharedTimer<G>,
    log: Arc<Log>,
}

/// The state that a timer needs for recording its events.
#[derive(Debug)]
struct Log {
    recorder: QueueRecorder,
    /// The lock is held from an operation until its event is recorded.
    state: Mutex<State>,
}

/// The state of the timer according to the trace.
#[derive(Debug, Default)]
struct State {
    /// Whether the timer is pending after its last event.
    pending: bool,
    /// Whether the trace already contains the expiry that the shard has begun.
    fire_recorded: bool,
}

/// The log is dropped after the last handle and the shards. A timer that is still pending will
/// never fire.
impl Drop for Log {
    fn drop(&mut self) {
        if self.state.get_mut().unwrap_or_else(PoisonError::into_inner).pending {
            self.recorder.cancel(self.identity());
        }
    }
}

impl Log {
    fn hold(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    #[track_caller]
    fn armed(&self, held: &mut State, was: Was, is_running: impl FnOnce() -> bool, delay: Tick) {
        match was {
            Was::Idle => {
                // The shard has taken the timer to fire it, and its callback waits for this lock.
                if held.pending && is_running() {
                    held.fire_recorded = true;
                    self.recorder.fire(self.identity());
                }
                self.recorder.arm(self.identity(), delay);
            }
            Was::Pending => self.recorder.rearm(self.identity(), delay),
        }
        held.pending = true;
    }

    /// Records the expiry when the callback begins.
    fn fired(&self) {
        let mut held = self.hold();
        if !core::mem::take(&mut held.fire_recorded) {
            held.pending = false;
            self.recorder.fire(self.identity());
        }
    }

    /// Returns the timer's number in the trace: its address, which never changes.
    fn identity(&self) -> u64 {
        core::ptr::from_ref(self).addr() as u64
    }
}

impl<G: WheelGeometry> RecordedTimer<G> {
    /// Creates a recording timer that belongs to `shard` and is not pending. See [`Shard::timer`].
    /// The callback gets the recorded timer, so that it can arm the timer again.
    /// [`SharedFiring::timer`] returns the plain timer, which does not record.
    #[must_use]
    pub fn new(
        shard: &Shard<'_, G>,
        recorder: &QueueRecorder,
        callback: impl Fn(&SharedFiring<'_, G>, &Self) + Send + Sync + 'static,
    ) -> Self {
        let log = Arc::new(Log { recorder: recorder.clone(), state: Mutex::new(State::default()) });
        let fired = Arc::clone(&log);
        let timer = shard.timer(move |firing| {
            fired.fired();
            callback(firing, &Self { timer: firing.timer().clone(), log: Arc::clone(&fired) });
        });
        Self { timer, log }
    }

    /// See [`SharedTimer::add`]. `now` is the shard's time in ticks. The delay in the trace counts
    /// from `now`.
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
            self.armed(&mut held, was, deadline, now);
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
        // If the new deadline is later, the timer keeps its old deadline.
        if !was.is_pending() || before.is_none_or(|before| deadline < before) {
            self.armed(&mut held, was, deadline, now);
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
    pub fn try_cancel(&self) -> TryCancel {
        let mut held = self.log.hold();
        let cancelled = self.timer.try_cancel();
        if cancelled == TryCancel::Removed {
            self.cancelled(&mut held, Was::Pending);
        }
        cancelled
    }

    /// See [`SharedTimer::cancel_sync`].
    ///
    /// # Errors
    /// The errors of that call.
    #[track_caller]
    pub fn cancel_sync(&self) -> Result<Was, WouldDeadlock> {
        self.withdraw(SharedTimer::cancel_step)
    }

    /// See [`SharedTimer::shutdown`].
    #[track_caller]
    pub fn shutdown(&self) -> Was {
        let mut held = self.log.hold();
        let was = self.timer.shutdown();
        self.cancelled(&mut held, was)
    }

    /// See [`SharedTimer::shutdown_sync`].
    ///
    /// # Errors
    /// The errors of that call.
    #[track_caller]
    pub fn shutdown_sync(&self) -> Result<Was, WouldDeadlock> {
        self.withdraw(SharedTimer::shutdown_step)
    }

    /// Returns the plain timer, for reading its state. Operations on the plain timer are not
    /// recorded.
    #[must_use]
    pub fn timer(&self) -> &SharedTimer<G> {
        &self.timer
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
        self.armed(&mut held, was, deadline, now);
        Ok(was)
    }

    #[track_caller]
    fn armed(&self, held: &mut State, was: Was, deadline: Tick, now: Tick) {
        self.log.armed(held, was, || self.timer.is_running(), deadline.saturating_sub(now));
    }

    /// Withdraws the timer step by step, and waits between the steps. Each step and its event
    /// happen under the lock. The waits happen without the lock, so that the callback can record
    /// its events.
    #[track_caller]
    fn withdraw(
        &self,
        step: impl Fn(&SharedTimer<G>) -> Result<Step, WouldDeadlock>,
    ) -> Result<Was, WouldDeadlock> {
        let mut result = Was::Idle;
        loop {
            let mut held = self.log.hold();
            let step = step(&self.timer)?;
            if self.cancelled(&mut held, step.was).is_pending() {
                result = Was::Pending;
            }
            drop(held);
            if !step.runs {
                return Ok(result);
            }
            self.timer.wait_for_an_end();
        }
    }

    #[track_caller]
    fn cancelled(&self, held: &mut State, was: Was) -> Was {
        if was.is_pending() {
            held.pending = false;
            self.log.recorder.cancel(self.log.identity());
        }
        was
    }
}
