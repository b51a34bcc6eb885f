//! The arming calls. `rearm.rs` does the work.

use tickwright_core::Tick;

use super::base::SharedTimer;
use super::geometry::WheelGeometry;
use super::rearm::Arm;
use super::result::{ArmError, Was};

/// Arming. Deadlines are in ticks of the shard. [`Shard::set_clock`](super::Shard::set_clock) sets
/// the length of a tick, and [`Ticks`](crate::clock::Ticks) converts.
impl<G: WheelGeometry> SharedTimer<G> {
    /// Arms a timer that is not pending, on the shard that it belongs to. The deadline is in ticks
    /// of the shard.
    ///
    /// A deadline at or before the shard's clock fires at the next advance. While a pass over this
    /// shard is under way, the timer fires at the next tick. `u64::MAX` has no next tick, so there
    /// it fires in the next pass. Costs one lock.
    ///
    /// # Errors
    /// [`ArmError::AlreadyPending`], [`ArmError::ShutDown`], [`ArmError::ShardsGone`].
    pub fn add(&self, deadline: Tick) -> Result<(), ArmError> {
        self.arm_locked(Arm::Add, deadline, None, false).map(|_| ())
    }

    /// Like [`add`](Self::add), but on another shard; the timer then belongs to that shard. While
    /// its callback runs, the timer stays on the shard of that callback. Takes two locks.
    ///
    /// # Errors
    /// The errors of [`add`](Self::add), and [`ArmError::NoSuchShard`].
    pub fn add_on(&self, shard: usize, deadline: Tick) -> Result<(), ArmError> {
        let shard = self.target(shard)?;
        self.arm_locked(Arm::Add, deadline, Some(shard), false).map(|_| ())
    }

    /// Arms the timer for `deadline`, in ticks of the shard, whether it is pending or not. Returns
    /// whether the timer was pending. If it was pending, the callback sees everything that the
    /// caller wrote before this call.
    ///
    /// The call is one compare-exchange, without a lock, if two conditions hold. First, the
    /// deadline falls into the bucket that holds the timer. Second, a timer armed now would not get
    /// a finer level, by the time of the shard's last advance or arm under the lock. The timer then
    /// stays on its shard and keeps its place in the bucket. If the shard's driver sleeps, that
    /// time may be hours old, and a timer that is armed for a shorter delay stays in a bucket that
    /// is too wide. Then call [`modify_at`](Self::modify_at), which takes the time.
    ///
    /// # Errors
    /// [`ArmError::ShutDown`], [`ArmError::ShardsGone`].
    #[inline]
    pub fn modify(&self, deadline: Tick) -> Result<Was, ArmError> {
        self.arm(Arm::Modify, deadline, 0)
    }

    /// Like [`modify`](Self::modify), for a caller that knows the time, in the shard's ticks.
    ///
    /// The unlocked path then uses `now` if it is later than the shard's time. This matters under a
    /// driver that sleeps. A time-out that is shortened then leaves a bucket that is much wider
    /// than its delay. A wrong `now` costs precision or a lock, but never correctness.
    ///
    /// If the shard has a clock ([`Shard::set_clock`](super::Shard::set_clock), or a
    /// [`ShardDriver`](crate::driver::ShardDriver)), the timer is late by at most 8/63 of
    /// `deadline - now` or by one tick, after any uptime and any sleep. One exception: a timer that
    /// is pending for this very deadline stays in its bucket.
    ///
    /// # Errors
    /// As [`modify`](Self::modify).
    #[inline]
    pub fn modify_at(&self, deadline: Tick, now: Tick) -> Result<Was, ArmError> {
        self.arm(Arm::Modify, deadline, now)
    }

    /// Like [`modify`](Self::modify), but on another shard. Takes both locks. While the timer's
    /// callback runs, the timer stays on the shard of that callback.
    ///
    /// # Errors
    /// The errors of [`modify`](Self::modify), and [`ArmError::NoSuchShard`].
    pub fn modify_on(&self, shard: usize, deadline: Tick) -> Result<Was, ArmError> {
        let shard = self.target(shard)?;
        self.arm_locked(Arm::Modify, deadline, Some(shard), false)
    }

    /// Like [`modify`](Self::modify), but a timer that is not pending stays idle: [`Was::Idle`]
    /// then means that nothing happened.
    ///
    /// # Errors
    /// As [`modify`](Self::modify).
    #[inline]
    pub fn modify_pending(&self, deadline: Tick) -> Result<Was, ArmError> {
        self.arm(Arm::PendingOnly, deadline, 0)
    }

    /// Like [`modify_pending`](Self::modify_pending), for a caller that knows the time, as
    /// [`modify_at`](Self::modify_at) takes it.
    ///
    /// # Errors
    /// As [`modify`](Self::modify).
    #[inline]
    pub fn modify_pending_at(&self, deadline: Tick, now: Tick) -> Result<Was, ArmError> {
        self.arm(Arm::PendingOnly, deadline, now)
    }

    /// Like [`modify`](Self::modify), but a pending timer only ever moves to an earlier deadline.
    ///
    /// # Errors
    /// As [`modify`](Self::modify).
    #[inline]
    pub fn reduce(&self, deadline: Tick) -> Result<Was, ArmError> {
        self.arm(Arm::Reduce, deadline, 0)
    }

    /// Like [`reduce`](Self::reduce), for a caller that knows the time, as
    /// [`modify_at`](Self::modify_at) takes it. A deadline that is reduced is often near, so its
    /// bucket is narrow by the true time and wide by an old one.
    ///
    /// # Errors
    /// As [`modify`](Self::modify).
    #[inline]
    pub fn reduce_at(&self, deadline: Tick, now: Tick) -> Result<Was, ArmError> {
        self.arm(Arm::Reduce, deadline, now)
    }

    fn target(&self, shard: usize) -> Result<u32, ArmError> {
        self.node.set.shard(shard).map(|(number, _)| number).ok_or(ArmError::NoSuchShard)
    }
}
