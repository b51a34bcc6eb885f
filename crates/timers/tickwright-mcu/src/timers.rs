//! The timer service, which combines a queue, a clock that does not wrap, and the alarm of the
//! chip.

use core::cell::RefCell;
use core::fmt;

use critical_section::Mutex;
use tickwright_core::storage::Hooks;
use tickwright_core::storage::InlineSlots;
use tickwright_core::storage::Store;
use tickwright_core::{
    Exact, Expired, Family, HookQueue, InlineQueue, Key, KeyError, Queue, Reject, Rejected, SortedList, Tick,
    Timer, TimerRef,
};

use crate::widened::{mask, widen};

/// The interface to a chip, which consists of a free-running counter and an alarm. The counter and
/// the alarm count the same ticks.
///
/// Example: a counter of 16 bits, and an alarm that interrupts when the counter equals its compare
/// value:
///
/// ```
/// # mod registers {
/// #     pub fn count() -> u16 { 0 }
/// #     pub fn set_compare(_: u16) {}
/// #     pub fn clear_flag() {}
/// #     pub fn raise_flag() {}
/// # }
/// use tickwright_mcu::{Chip, Tick};
///
/// struct Board;
///
/// impl Chip for Board {
///     const HZ: u64 = 32_768;
///     const COUNTER_BITS: u32 = 16;
///
///     fn count(&mut self) -> u32 {
///         registers::count().into()
///     }
///
///     fn alarm_in(&mut self, ticks: Tick) {
///         let start = registers::count();
///         registers::clear_flag();
///         registers::set_compare(start.wrapping_add(ticks as u16));
///         if Tick::from(registers::count().wrapping_sub(start)) >= ticks {
///             registers::raise_flag(); // It passed while it was being set.
///         }
///     }
/// }
/// ```
pub trait Chip {
    /// Ticks per second.
    const HZ: u64;
    /// The number of bits of the counter, 2 to 32. Use all bits of the counter, because the alarm
    /// must interrupt at least once in each half turn of the counter.
    const COUNTER_BITS: u32;
    /// The longest time, in ticks, for which [`alarm_in`](Self::alarm_in) can wait.
    const LONGEST_ALARM: Tick = Tick::MAX;

    /// Reads the counter, which counts up and wraps. The bits above
    /// [`COUNTER_BITS`](Self::COUNTER_BITS) are ignored.
    fn count(&mut self) -> u32;

    /// Sets the alarm to interrupt in `ticks` ticks, and replaces an alarm that was set before.
    /// `ticks` is at least 1, and at most [`LONGEST_ALARM`](Self::LONGEST_ALARM) and half a turn of
    /// the counter. An interrupt at which no timer is due does no harm.
    ///
    /// The alarm must also interrupt if its tick passes while the alarm is being set. If the alarm
    /// interrupts only when the counter equals its compare value, either check this, as the example
    /// does, or set the alarm at least as many ticks ahead as setting it takes.
    fn alarm_in(&mut self, ticks: Tick);
}

/// The timers of a program, for use as a static. The alarm's interrupt and the main program share
/// them by means of the critical section that the program provides. The two forms are
/// [`SlotTimers`] and [`HookTimers`].
pub struct FirmwareTimers<C, S: Store>(Mutex<RefCell<Service<C, S>>>);

/// Timers in `N` slots that are part of the static. Each timer has a value, such as a function, a
/// message or a waker, which is delivered when the timer is due.
pub type SlotTimers<C, T, const N: usize, F = SortedList> = FirmwareTimers<C, InlineSlots<F, T, N>>;

/// Timers in the program's own structs. Each timer is a static or part of a static. The number of
/// timers is not bounded.
pub type HookTimers<C, T, F = SortedList> = FirmwareTimers<C, Hooks<'static, F, T>>;

/// The state that the alarm's interrupt and the main program share. [`FirmwareTimers::with`] gives
/// access to it.
pub struct Service<C, S: Store> {
    queue: Queue<S>,
    /// The time at which the clock was last read.
    last: Tick,
    /// The chip, or `None` before `start`.
    chip: Option<C>,
    latest: Tick,
}

impl<C: Chip, T, const N: usize, F: Family + Exact> SlotTimers<C, T, N, F> {
    /// No timers. All zeros, so a static of it takes no flash.
    #[must_use]
    pub const fn new() -> Self {
        Self::over(InlineQueue::new())
    }
}

impl<C: Chip, T, F: Family + Exact> HookTimers<C, T, F> {
    /// No timers. All zeros, so a static of it takes no flash.
    #[must_use]
    pub const fn new() -> Self {
        Self::over(HookQueue::new())
    }
}

impl<C: Chip, S: Store<Family: Exact>> FirmwareTimers<C, S> {
    const fn over(queue: Queue<S>) -> Self {
        Self(Mutex::new(RefCell::new(Service { queue, last: 0, chip: None, latest: 0 })))
    }

    /// Converts `ms` milliseconds to ticks, rounded up.
    #[must_use]
    pub const fn ms(&self, ms: u64) -> Tick {
        ms.saturating_mul(C::HZ).div_ceil(1_000)
    }

    /// Runs `work` with interrupts masked. `work` must not call `with` again, which panics because
    /// the service is already borrowed.
    pub fn with<R>(&self, work: impl FnOnce(&mut Service<C, S>) -> R) -> R {
        critical_section::with(|cs| work(&mut self.0.borrow_ref_mut(cs)))
    }

    /// Handles the alarm's interrupt: takes each due timer in a separate critical section, calls
    /// `fire` with the timer's value and expiry, and finally sets the alarm again. `fire` runs with
    /// interrupts unmasked, and can arm, move and cancel timers.
    ///
    /// `period` returns the number of ticks after which a timer is due again, or 0 for a timer that
    /// fires once. A periodic timer stays on a fixed grid, so its lateness does not accumulate. If
    /// whole periods have passed, they are skipped. The timer is pending again before `fire` runs,
    /// so `fire` can move or cancel it.
    pub fn on_alarm(&self, period: impl Fn(&S::Value) -> Tick, mut fire: impl FnMut(S::Value, Tick))
    where
        S::Value: Copy,
    {
        // The time is read only once. Timers that become due later fire at the next alarm, so that
        // work that arms its own timer again without a delay cannot keep the handler running
        // forever.
        let now = self.with(Service::now);
        while let Some((value, expiry)) = self.with(|service| service.take_due(now, &period)) {
            fire(value, expiry);
        }
        self.with(Service::set_alarm);
    }
}

impl<C: Chip, S: Store<Family: Exact>> Service<C, S> {
    /// Takes the chip, whose counter must be running, and sets the alarm. Timers that were armed
    /// before this call stay armed, and their delays count from tick 0 of the clock.
    pub fn start(&mut self, chip: C) {
        self.chip = Some(chip);
        self.set_alarm();
    }

    /// Returns the number of ticks since the counter was 0, or 0 before [`start`](Self::start).
    pub fn now(&mut self) -> Tick {
        if let Some(chip) = &mut self.chip {
            self.last = widen(self.last, chip.count(), const { mask(C::COUNTER_BITS) });
        }
        self.last
    }

    /// Arms a timer that is due `ticks` ticks from now.
    ///
    /// # Errors
    /// As [`at`](Self::at).
    pub fn after(&mut self, ticks: Tick, value: S::Value) -> Result<S::Key, Rejected<S::Value>> {
        let deadline = self.now().saturating_add(ticks);
        self.at(deadline, value)
    }

    /// Arms a timer that is due at the tick `deadline`.
    ///
    /// # Errors
    /// [`Rejected`] with the value if no slot is free or the timer is already pending.
    pub fn at(&mut self, deadline: Tick, value: S::Value) -> Result<S::Key, Rejected<S::Value>> {
        let (key, change) = self.queue.driven().insert(deadline, value)?;
        self.follow(change.is_changed());
        Ok(key)
    }

    /// Changes the deadline of a pending timer to `ticks` ticks from now. Returns `false` if the
    /// timer is not pending, because it has fired or was cancelled.
    pub fn postpone(&mut self, timer: impl Into<S::Key>, ticks: Tick) -> bool {
        let deadline = self.now().saturating_add(ticks);
        self.move_to(timer.into(), deadline).is_ok()
    }

    /// Cancels a pending timer and returns its value, or returns `None` if the timer has fired or
    /// was cancelled. In an interrupt of a higher priority than the alarm, `None` does not imply
    /// that the timer's work has run, because the alarm's handler might have taken the timer but
    /// not run its work yet.
    pub fn cancel(&mut self, timer: impl Into<S::Key>) -> Option<S::Value> {
        let (value, change) = self.queue.driven().remove(timer.into()).ok()?;
        self.follow(change.is_changed());
        Some(value)
    }

    /// Takes one timer that is due now, for a program that does not call
    /// [`FirmwareTimers::on_alarm`]. If no timer is due, sets the alarm and returns `None`. The
    /// handler of the alarm must therefore call this function until it returns `None`.
    pub fn pop_due(&mut self) -> Option<Expired<S::Key, S::Value>> {
        let now = self.now();
        let due = self.queue.pop_expired(now);
        if due.is_none() {
            self.set_alarm();
        }
        due
    }

    /// Returns the queue for inspection.
    #[must_use]
    pub fn queue(&self) -> &Queue<S> {
        &self.queue
    }

    /// Returns the greatest lateness so far, in ticks, of the timers that
    /// [`FirmwareTimers::on_alarm`] took.
    #[must_use]
    pub fn latest(&self) -> Tick {
        self.latest
    }

    fn move_to(&mut self, key: S::Key, deadline: Tick) -> Result<(), KeyError> {
        let change = self.queue.driven().reschedule(key, deadline)?;
        self.follow(change.is_changed());
        Ok(())
    }

    fn take_due(&mut self, now: Tick, period: impl Fn(&S::Value) -> Tick) -> Option<(S::Value, Tick)>
    where
        S::Value: Copy,
    {
        let mut value = None;
        let due = self.queue.pop_or_reinsert(now, |expiry, due| {
            value = Some(*due);
            let period = Some(period(due)).filter(|&period| period > 0)?;
            // Whole periods that have passed are skipped, because a tick in the past counts as
            // `now` in the queue, which would begin a new grid at `now`.
            let passed = now.saturating_sub(expiry) / period;
            Some(expiry.saturating_add(period.saturating_mul(passed.saturating_add(1))))
        });
        let expiry = due?.expiry;
        self.latest = self.latest.max(self.now().saturating_sub(expiry));
        Some((value?, expiry))
    }

    fn follow(&mut self, changed: bool) {
        if changed {
            self.set_alarm();
        }
    }

    /// Sets the alarm for the next wake-up, but at most half a turn of the counter ahead. If the
    /// limit applies, no timer is due at the alarm, and the alarm is set again. If a timer is
    /// already due, the alarm is set for the next tick.
    // Not inlined, because flash matters more than a call here.
    #[inline(never)]
    fn set_alarm(&mut self) {
        let now = self.now();
        let next = self.queue.next_wake().unwrap_or(Tick::MAX);
        let half_turn = const { (mask(C::COUNTER_BITS) >> 1) + 1 };
        if let Some(chip) = &mut self.chip {
            chip.alarm_in(next.saturating_sub(now).clamp(1, half_turn.min(C::LONGEST_ALARM)));
        }
    }
}

impl<C: Chip, F: Family + Exact, T> Service<C, Hooks<'static, F, T>> {
    /// Arms a timer that is due `ticks` ticks from now. If the timer is already pending, changes
    /// its deadline.
    ///
    /// # Errors
    /// As [`arm_at`](Self::arm_at).
    pub fn arm(&mut self, timer: &'static Timer<F, T>, ticks: Tick) -> Result<(), Reject> {
        let deadline = self.now().saturating_add(ticks);
        self.arm_at(timer, deadline)
    }

    /// Arms a timer that is due at the tick `deadline`. If the timer is already pending, changes
    /// its deadline.
    ///
    /// # Errors
    /// [`Reject::WrongQueue`] if the timer is pending in another queue.
    pub fn arm_at(&mut self, timer: &'static Timer<F, T>, deadline: Tick) -> Result<(), Reject> {
        match self.move_to(TimerRef::from(timer), deadline) {
            Ok(()) => Ok(()),
            Err(_) => Ok(self.at(deadline, timer).map(drop)?),
        }
    }
}

impl<C: Chip, F: Family + Exact, T, const N: usize> Service<C, InlineSlots<F, T, N>> {
    /// Returns a mutable reference to the value of a pending timer.
    pub fn get_mut(&mut self, timer: Key) -> Option<&mut T> {
        self.queue.get_mut(timer)
    }
}

impl<C: Chip, S: Store<Family: Exact>> Default for FirmwareTimers<C, S>
where
    Queue<S>: Default,
{
    fn default() -> Self {
        Self::over(Queue::default())
    }
}

impl<C, S: Store> fmt::Debug for FirmwareTimers<C, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FirmwareTimers").finish_non_exhaustive()
    }
}

impl<C, S: Store> fmt::Debug for Service<C, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service")
            .field("queue", &self.queue)
            .field("latest", &self.latest)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
