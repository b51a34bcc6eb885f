//! The public handle of one shard.

use core::fmt;
use std::sync::Weak;

use tickwright_core::{Advance, Tick};
use tickwright_nodes::error_texts;

use super::expire::{self, BUSY, Busy};
use super::geometry::{Linux, WheelGeometry};
use super::node::{Base, Set, SharedFiring, SharedTimer, lock_both};
use super::results::NO_SUCH_SHARD;
use crate::sync::{Arc, Ordering, lock};
use crate::time::{Alarm, Clock, Ticks};

/// The error that no shard has the requested number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NoSuchShard;

error_texts! { NoSuchShard: Self => NO_SUCH_SHARD }

/// The reason why a shard was not drained. In this case nothing is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DrainError {
    /// A pass over the shard is already in progress, either on another thread or around the
    /// callback that makes the call.
    Busy,
    /// There is no shard with the target's number.
    NoSuchShard,
}

error_texts! { DrainError: Self::Busy => BUSY, Self::NoSuchShard => NO_SUCH_SHARD }

/// One shard of a [`Shards`](super::Shards). [`Shards::shard`](super::Shards::shard) returns it.
pub struct Shard<'a, G: WheelGeometry = Linux> {
    set: &'a Arc<Set<G>>,
    base: &'a Base<G>,
    number: u32,
}

impl<'a, G: WheelGeometry> Shard<'a, G> {
    pub(super) fn of(set: &'a Arc<Set<G>>, number: usize) -> Result<Self, NoSuchShard> {
        let (number, base) = set.shard(number).ok_or(NoSuchShard)?;
        Ok(Self { set, base, number })
    }

    /// Returns the number of the shard, counted from 0.
    #[must_use]
    pub fn number(&self) -> usize {
        self.number as usize
    }

    /// Creates a timer that belongs to this shard and is not pending. It makes one allocation,
    /// which also holds the callback.
    ///
    /// The callback runs on the thread that advances the shard, with no lock held. The callback of
    /// one timer never runs twice at the same time. The callback can do anything with any timer,
    /// including its own timer, except wait for its own end.
    #[must_use]
    pub fn timer(&self, callback: impl Fn(&SharedFiring<'_, G>) + Send + Sync + 'static) -> SharedTimer<G> {
        SharedTimer::new(self.set, self.number, false, callback)
    }

    /// Creates a timer that wakes no driver, because [`next_wake`](Self::next_wake) and
    /// [`next_expiry`](Self::next_expiry) ignore it. If the timer is due, it fires when the shard
    /// is next advanced for another reason.
    #[must_use]
    pub fn deferrable_timer(
        &self,
        callback: impl Fn(&SharedFiring<'_, G>) + Send + Sync + 'static,
    ) -> SharedTimer<G> {
        SharedTimer::new(self.set, self.number, true, callback)
    }

    /// Advances the clock to tick `now`, unless it is already later, and runs the callbacks of due
    /// timers on this thread, with no lock held. Returns the number of fired timers.
    ///
    /// If a callback arms a timer for a tick that has passed, the timer fires at the next tick. If
    /// a callback panics, the panic propagates to the caller. The shard stays consistent, and the
    /// next advance fires the other due timers.
    ///
    /// # Errors
    /// [`Busy`] while another pass over this shard is in progress. In this case the clock is not
    /// advanced.
    pub fn advance(&self, now: Tick) -> Result<usize, Busy> {
        self.advance_within(now, usize::MAX).map(|advance| advance.delivered)
    }

    /// Like [`advance`](Self::advance), but stops when the number of timers fired plus the number
    /// of timers moved inside the wheels reaches `budget`.
    ///
    /// # Errors
    /// [`Busy`], as for [`advance`](Self::advance).
    pub fn advance_within(&self, now: Tick, budget: usize) -> Result<Advance, Busy> {
        expire::advance(self.base, self.number(), now, budget)
    }

    /// Returns the shard's time in ticks, as it was a moment ago.
    #[must_use]
    pub fn now(&self) -> Tick {
        self.base.clock.load(Ordering::Relaxed)
    }

    /// Returns the tick at which the shard must next be advanced, in O(levels). The tick is not
    /// later than [`next_expiry`](Self::next_expiry). Returns `None` if no timer that wakes a
    /// driver is pending.
    ///
    /// The result depends only on the ends of buckets, so a re-arm in the same bucket does not
    /// change it. Another thread can arm a timer for an earlier tick at any time. Therefore a loop
    /// that sleeps must set an [alarm](Self::set_alarm), and this value is only for reports and
    /// tests.
    #[must_use]
    pub fn next_wake(&self) -> Option<Tick> {
        lock(&self.base.state).next_wake()
    }

    /// Returns the end of the bucket of the first timer that is not deferrable, or `None` if there
    /// is no such timer.
    #[must_use]
    pub fn next_expiry(&self) -> Option<Tick> {
        lock(&self.base.state).next_expiry()
    }

    /// Returns the number of pending timers, including deferrable timers.
    #[must_use]
    pub fn pending(&self) -> usize {
        lock(&self.base.state).len()
    }

    /// Sets the alarm that goes off when the shard must be advanced. `None` means no alarm. The
    /// shard sets the alarm to the instant at which the tick of the next wake-up begins.
    /// [`set_clock`](Self::set_clock) sets the length of a tick.
    ///
    /// The shard sets the alarm at once, after every advance, and whenever the next wake-up becomes
    /// earlier than the alarm. The alarm is therefore never later than the first expiry, and a
    /// thread that waits at the alarm need not poll. Deferrable timers never set the alarm.
    ///
    /// The shard sets the alarm under its own lock, so the alarm must not wait, panic or call the
    /// shards. A re-arm in the same bucket never sets the alarm, because wake-ups are at the ends
    /// of buckets. If there is no alarm, the check for an alarm costs each locked path one branch.
    /// `set_alarm` drops the previous alarm without changing the time to which it was set.
    pub fn set_alarm(&self, alarm: Option<Arc<dyn Alarm>>) {
        let mut state = lock(&self.base.state);
        let before = core::mem::replace(&mut state.outside.alarm, alarm);
        state.set_alarm();
        drop(state);
        // The previous alarm is dropped with no lock held, because the drop can run the caller's
        // code.
        drop(before);
    }

    /// Sets the clock that the shard reads whenever a timer is armed, and the length of the shard's
    /// tick. A re-arm can read the clock without the lock only if the clock is a
    /// [`SystemClock`](crate::time::SystemClock). Without a clock, the shard's time is the time of
    /// its last advance.
    ///
    /// Tick 0 begins at the clock's origin. The alarm uses the same ticks. Before this call a tick
    /// is 1 ns. Choose the length before the first advance and the first timer, because the shard's
    /// time and deadlines keep their values in ticks. Timers that move to another shard also keep
    /// their deadlines in ticks, so use the same length for all shards. If a
    /// [`ShardDriver`](crate::shard::ShardDriver) drives the shard, leave the clock to the driver.
    ///
    /// A shard needs a clock if its driver sleeps until a timer is due. The shard chooses a timer's
    /// bucket by the delay from the shard's time to the deadline. If the shard's time had not
    /// advanced for an hour, a timer for the next millisecond would get the bucket for a delay of
    /// one hour, which is minutes wide. No timer is early with or without a clock. A program that
    /// sets no clock must call [`advance_within`](Self::advance_within) with its time and a budget
    /// of 0 before it arms a timer. That call moves the shard's time, and fires nothing.
    ///
    /// The shard can read the clock under its own lock, so the clock must not call the shards.
    pub fn set_clock(&self, clock: Arc<dyn Clock>, ticks: Ticks) {
        let mut state = lock(&self.base.state);
        let before = state.outside.clock.replace(clock);
        if core::mem::replace(&mut state.outside.ticks, ticks) != ticks {
            state.set_alarm();
        }
        // The clock is user code, so it is called while the shard is consistent.
        state.publish_clock(self.base);
        state.read_clock(self.base);
        drop(state);
        drop(before);
    }

    /// Removes the clock. The shard's time is again the time of the last advance, and the length of
    /// a tick is kept.
    pub fn remove_clock(&self) {
        let mut state = lock(&self.base.state);
        let before = state.outside.clock.take();
        state.publish_clock(self.base);
        drop(state);
        // The previous clock is dropped with no lock held, because the drop can run the caller's
        // code.
        drop(before);
    }

    /// Removes an alarm and a clock if the shard still has them.
    pub(crate) fn take_away(&self, alarm: &Weak<dyn Alarm>, clock: &Weak<dyn Clock>) {
        let mut state = lock(&self.base.state);
        let outside = &mut state.outside;
        let alarm = outside.alarm.take_if(|set| Weak::ptr_eq(&Arc::downgrade(set), alarm));
        let clock = outside.clock.take_if(|set| Weak::ptr_eq(&Arc::downgrade(set), clock));
        state.publish_clock(self.base);
        drop(state);
        // Both are dropped with no lock held, because the drops can run the caller's code.
        drop((alarm, clock));
    }

    /// Moves every pending timer to shard number `target`. The timers keep their deadlines. Returns
    /// how many timers were moved.
    ///
    /// Call this for a shard that no thread will advance again. It does not move idle timers, and
    /// timers can still be armed on this shard later. Takes O(timers), with both locks held.
    ///
    /// # Errors
    /// [`DrainError::Busy`] while a pass over this shard is in progress.
    /// [`DrainError::NoSuchShard`] for a wrong `target`.
    pub fn drain_to(&self, target: usize) -> Result<usize, DrainError> {
        let (number, to) = self.set.shard(target).ok_or(DrainError::NoSuchShard)?;
        if number == self.number {
            return Ok(0);
        }
        let in_order = self.number < number;
        let (mut source, mut target) = lock_both(&self.base.state, &to.state, in_order);
        if source.expiring {
            return Err(DrainError::Busy);
        }
        target.read_clock(to);
        let mut moved = 0;
        while source.hand_one_over(&mut target, number) {
            moved += 1;
        }
        target.set_alarm_earlier(0);
        Ok(moved)
    }
}

impl<G: WheelGeometry> Clone for Shard<'_, G> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<G: WheelGeometry> Copy for Shard<'_, G> {}

impl<G: WheelGeometry> fmt::Debug for Shard<'_, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shard").field("number", &self.number).finish_non_exhaustive()
    }
}
