//! The public arming calls. `rearm.rs` implements them.

use tickwright_core::Tick;

use super::geometry::WheelGeometry;
use super::node::SharedTimer;
use super::rearm::Arm;
use super::results::{ArmError, Was};

/// Arming. Deadlines are in ticks of the shard. [`Shard::set_clock`](super::Shard::set_clock) sets
/// the length of a tick, and [`Ticks`](crate::time::Ticks) converts between ticks and instants.
///
/// After each of these calls, a pending timer is late by at most 8/63 of its delay, or by one tick
/// if that is more. This holds for Linux's geometry, and
/// [`Geometry::lateness`](crate::structures::Geometry::lateness) has the bound for other
/// geometries. The delay counts from the shard's clock at the call, however long the driver sleeps.
/// If the shard has no clock, the delay counts from the last advance.
impl<G: WheelGeometry> SharedTimer<G> {
    /// Arms a timer that is not pending, on the shard that it belongs to. The deadline is in ticks
    /// of the shard.
    ///
    /// A timer whose deadline is at or before the shard's clock fires at the next advance. If a
    /// pass over this shard is in progress, the timer fires at the next tick, or in the next pass
    /// if the clock is at `u64::MAX`, which has no next tick. Takes one lock.
    ///
    /// # Errors
    /// [`ArmError::AlreadyPending`], [`ArmError::ShutDown`] or [`ArmError::ShardsGone`].
    pub fn add(&self, deadline: Tick) -> Result<(), ArmError> {
        self.arm_locked(Arm::Add, deadline, None).map(|_| ())
    }

    /// Like [`add`](Self::add), but arms the timer on another shard, to which it then belongs.
    /// While its callback runs, the timer stays on the shard of that callback. Takes two locks.
    ///
    /// # Errors
    /// The errors of [`add`](Self::add), and [`ArmError::NoSuchShard`].
    pub fn add_on(&self, shard: usize, deadline: Tick) -> Result<(), ArmError> {
        let shard = self.target(shard)?;
        self.arm_locked(Arm::Add, deadline, Some(shard)).map(|_| ())
    }

    /// Arms the timer for `deadline`, in ticks of the shard, whether it is pending or not. Returns
    /// whether the timer was pending. If it was pending, the callback sees everything that the
    /// caller wrote before this call.
    ///
    /// The call is one compare-exchange, without a lock, if three conditions hold. First, the
    /// deadline falls into the bucket that holds the timer. Second, a timer armed now would not get
    /// a finer level. Third, a thread can read the shard's clock without the lock: the shard has no
    /// clock, or one with a [`timeline`](crate::time::Clock::timeline), such as
    /// [`SystemClock`](crate::time::SystemClock). In this case the timer stays on its shard and
    /// keeps its position in the bucket.
    ///
    /// Reading the clock costs about 20 ns. A caller that has just read the clock to compute the
    /// deadline saves this time if it calls [`modify_at`](Self::modify_at) with the result.
    ///
    /// # Errors
    /// [`ArmError::ShutDown`] or [`ArmError::ShardsGone`].
    #[inline]
    pub fn modify(&self, deadline: Tick) -> Result<Was, ArmError> {
        self.arm(Arm::Modify, deadline, None)
    }

    /// Like [`modify`](Self::modify), for a caller that knows the current time. `now` is that time
    /// in the shard's ticks.
    ///
    /// The unlocked path uses `now` instead of reading the clock, so the type of the shard's clock
    /// does not matter. With a wrong `now`, a timer can be later, or the call can take the lock
    /// needlessly, but no timer is early or lost. The path under the lock does not use `now`, and
    /// reads the shard's clock. A shard without a clock gets its time only from
    /// [`advance`](super::Shard::advance).
    ///
    /// # Errors
    /// The same as for [`modify`](Self::modify).
    #[inline]
    pub fn modify_at(&self, deadline: Tick, now: Tick) -> Result<Was, ArmError> {
        self.arm(Arm::Modify, deadline, Some(now))
    }

    /// Like [`modify`](Self::modify), but arms the timer on another shard. Takes the locks of both
    /// shards. While the timer's callback runs, the timer stays on the shard of that callback.
    ///
    /// # Errors
    /// The errors of [`modify`](Self::modify), and [`ArmError::NoSuchShard`].
    pub fn modify_on(&self, shard: usize, deadline: Tick) -> Result<Was, ArmError> {
        let shard = self.target(shard)?;
        self.arm_locked(Arm::Modify, deadline, Some(shard))
    }

    /// Like [`modify`](Self::modify), but a timer that is not pending stays idle. In this case the
    /// result is [`Was::Idle`], and nothing has changed.
    ///
    /// # Errors
    /// The same as for [`modify`](Self::modify).
    #[inline]
    pub fn modify_pending(&self, deadline: Tick) -> Result<Was, ArmError> {
        self.arm(Arm::PendingOnly, deadline, None)
    }

    /// Like [`modify_pending`](Self::modify_pending), for a caller that knows the current time.
    /// `now` is used as in [`modify_at`](Self::modify_at).
    ///
    /// # Errors
    /// The same as for [`modify`](Self::modify).
    #[inline]
    pub fn modify_pending_at(&self, deadline: Tick, now: Tick) -> Result<Was, ArmError> {
        self.arm(Arm::PendingOnly, deadline, Some(now))
    }

    /// Like [`modify`](Self::modify), but a pending timer moves only to an earlier deadline. A
    /// timer that keeps its deadline is still moved to another bucket if its bucket is too wide for
    /// the remaining delay.
    ///
    /// # Errors
    /// The same as for [`modify`](Self::modify).
    #[inline]
    pub fn reduce(&self, deadline: Tick) -> Result<Was, ArmError> {
        self.arm(Arm::Reduce, deadline, None)
    }

    /// Like [`reduce`](Self::reduce), for a caller that knows the current time. `now` is used as in
    /// [`modify_at`](Self::modify_at).
    ///
    /// # Errors
    /// The same as for [`modify`](Self::modify).
    #[inline]
    pub fn reduce_at(&self, deadline: Tick, now: Tick) -> Result<Was, ArmError> {
        self.arm(Arm::Reduce, deadline, Some(now))
    }

    fn target(&self, shard: usize) -> Result<u32, ArmError> {
        self.node.set.shard(shard).map(|(number, _)| number).ok_or(ArmError::NoSuchShard)
    }
}
