//! The arming calls. `rearm.rs` does the work.

use tickwright_core::Tick;

use super::geometry::WheelGeometry;
use super::node::SharedTimer;
use super::rearm::Arm;
use super::results::{ArmError, Was};

/// Arming. Deadlines are in ticks of the shard. [`Shard::set_clock`](super::Shard::set_clock) sets
/// the length of a tick, and [`Ticks`](crate::time::Ticks) converts.
///
/// After each of these calls, a pending timer is late by at most 8/63 of its delay or by one tick,
/// for Linux's geometry ([`Geometry::lateness`](crate::structures::Geometry::lateness)). The delay
/// counts from the time of the call by the shard's clock, whatever the uptime is and however long
/// the driver sleeps. If the shard has no clock, the delay counts from the last advance.
impl<G: WheelGeometry> SharedTimer<G> {
    /// Arms a timer that is not pending, on the shard that it belongs to. The deadline is in ticks
    /// of the shard.
    ///
    /// A timer whose deadline is at or before the shard's clock fires at the next advance. If a
    /// pass over this shard is in progress, the timer fires at the next tick, or in the next pass
    /// if the tick is `u64::MAX`, which has no next tick. Costs one lock.
    ///
    /// # Errors
    /// [`ArmError::AlreadyPending`], [`ArmError::ShutDown`], [`ArmError::ShardsGone`].
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
    /// a finer level. Third, the shard has no clock, or a clock with a
    /// [`timeline`](crate::time::Clock::timeline), such as
    /// [`SystemClock`](crate::time::SystemClock), because a thread without the lock cannot read
    /// other clocks. The timer then stays on its shard and keeps its place in the bucket.
    ///
    /// A reading of the clock costs about 20 ns. A caller that has just read the clock to compute
    /// the deadline passes the time instead: see [`modify_at`](Self::modify_at).
    ///
    /// # Errors
    /// [`ArmError::ShutDown`], [`ArmError::ShardsGone`].
    #[inline]
    pub fn modify(&self, deadline: Tick) -> Result<Was, ArmError> {
        self.arm(Arm::Modify, deadline, None)
    }

    /// Like [`modify`](Self::modify), for a caller that knows the time, in the shard's ticks.
    ///
    /// The unlocked path uses `now` instead of reading the clock, so it needs no lock whatever the
    /// shard's clock is. A wrong `now` costs precision or a lock, but never correctness. The path
    /// under the lock does not trust `now`, and reads the shard's clock. A shard without a clock
    /// gets its time only from [`advance`](super::Shard::advance).
    ///
    /// # Errors
    /// As [`modify`](Self::modify).
    #[inline]
    pub fn modify_at(&self, deadline: Tick, now: Tick) -> Result<Was, ArmError> {
        self.arm(Arm::Modify, deadline, Some(now))
    }

    /// Like [`modify`](Self::modify), but arms the timer on another shard. Takes both locks. While
    /// the timer's callback runs, the timer stays on the shard of that callback.
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
    /// As [`modify`](Self::modify).
    #[inline]
    pub fn modify_pending(&self, deadline: Tick) -> Result<Was, ArmError> {
        self.arm(Arm::PendingOnly, deadline, None)
    }

    /// Like [`modify_pending`](Self::modify_pending), for a caller that knows the time, as
    /// [`modify_at`](Self::modify_at) takes it.
    ///
    /// # Errors
    /// As [`modify`](Self::modify).
    #[inline]
    pub fn modify_pending_at(&self, deadline: Tick, now: Tick) -> Result<Was, ArmError> {
        self.arm(Arm::PendingOnly, deadline, Some(now))
    }

    /// Like [`modify`](Self::modify), but a pending timer moves only to an earlier deadline. A
    /// timer that keeps its deadline is still moved if its bucket is too wide for the remaining
    /// delay.
    ///
    /// # Errors
    /// As [`modify`](Self::modify).
    #[inline]
    pub fn reduce(&self, deadline: Tick) -> Result<Was, ArmError> {
        self.arm(Arm::Reduce, deadline, None)
    }

    /// Like [`reduce`](Self::reduce), for a caller that knows the time, as
    /// [`modify_at`](Self::modify_at) takes it.
    ///
    /// # Errors
    /// As [`modify`](Self::modify).
    #[inline]
    pub fn reduce_at(&self, deadline: Tick, now: Tick) -> Result<Was, ArmError> {
        self.arm(Arm::Reduce, deadline, Some(now))
    }

    fn target(&self, shard: usize) -> Result<u32, ArmError> {
        self.node.set.shard(shard).map(|(number, _)| number).ok_or(ArmError::NoSuchShard)
    }
}
