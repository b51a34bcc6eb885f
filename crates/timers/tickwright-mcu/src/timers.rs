//! The timer service: one queue, a clock that does not wrap, and the alarm of the chip.

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

/// What differs from chip to chip: a counter that runs freely, and an alarm. Both count the same
/// ticks.
///
/// A counter of 16 bits, whose alarm compares for equality:
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
    /// Ticks a second.
    const HZ: u64;
    /// Bits of the counter, 2 to 32. Use all bits that it has: each half turn costs one interrupt.
    const COUNTER_BITS: u32;
    /// The longest that [`alarm_in`](Self::alarm_in) can wait, in ticks.
    const LONGEST_ALARM: Tick = Tick::MAX;

    /// The counter. It counts up and wraps; the bits above [`COUNTER_BITS`](Self::COUNTER_BITS) do
    /// not matter.
    fn count(&mut self) -> u32;

    /// Lets the alarm interrupt in `ticks` ticks, in the place of an alarm that was set before:
    /// from 1 to [`LONGEST_ALARM`](Self::LONGEST_ALARM), and at most half a turn of the counter. An
    /// interrupt while nothing is due does no harm.
    ///
    /// The alarm must also come when this tick passes while it is being set. An alarm that compares
    /// for equality is set at least as far ahead as setting it takes.
    fn alarm_in(&mut self, ticks: Tick);
}

/// The timers of a program, as a static: the alarm and the main program share them in the critical
/// section that the program provides. [`SlotTimers`] and [`HookTimers`] are its two forms.
pub struct FirmwareTimers<C, S: Store>(Mutex<RefCell<Service<C, S>>>);

/// Timers that lie in `N` slots of the static itself. A timer is a value that is delivered: a
/// function, a message, a waker.
pub type SlotTimers<C, T, const N: usize, F = SortedList> = FirmwareTimers<C, InlineSlots<F, T, N>>;

/// Timers that lie in the program's own structs, each a static or in one. There is no bound.
pub type HookTimers<C, T, F = SortedList> = FirmwareTimers<C, Hooks<'static, F, T>>;

/// What the alarm and the main program share: [`FirmwareTimers::with`] lends it.
pub struct Service<C, S: Store> {
    queue: Queue<S>,
    /// The clock, when it was last read.
    last: Tick,
    /// The chip, from `start` on.
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

    /// The ticks of `ms` milliseconds, rounded up.
    #[must_use]
    pub const fn ms(&self, ms: u64) -> Tick {
        ms.saturating_mul(C::HZ).div_ceil(1_000)
    }

    /// Runs `work` with interrupts masked. `work` must not call `with` again: that panics, because
    /// the service is borrowed there.
    pub fn with<R>(&self, work: impl FnOnce(&mut Service<C, S>) -> R) -> R {
        critical_section::with(|cs| work(&mut self.0.borrow_ref_mut(cs)))
    }

    /// The work of the alarm's interrupt: takes each due timer in a critical section of its own,
    /// calls `fire` with its value and its expiry, and sets the alarm again. `fire` runs with
    /// interrupts unmasked, and may arm, move and cancel timers.
    ///
    /// `period` says in how many ticks a timer is due again; 0 means that it is over. A periodic
    /// timer stays on its own grid, so its lateness does not add up; periods that have passed
    /// altogether are left out. It is pending again before `fire` runs, so `fire` may move or
    /// cancel it.
    pub fn on_alarm(&self, period: impl Fn(&S::Value) -> Tick, mut fire: impl FnMut(S::Value, Tick))
    where
        S::Value: Copy,
    {
        // A timer that becomes due later fires at the next alarm, so work that arms its own timer
        // for now cannot keep the interrupt busy.
        let now = self.with(Service::now);
        while let Some((value, expiry)) = self.with(|service| service.take_due(now, &period)) {
            fire(value, expiry);
        }
        self.with(Service::set_alarm);
    }
}

impl<C: Chip, S: Store<Family: Exact>> Service<C, S> {
    /// Takes the chip, whose counter runs, and sets the alarm. Timers that were armed before are
    /// kept; their ticks count from 0.
    pub fn start(&mut self, chip: C) {
        self.chip = Some(chip);
        self.set_alarm();
    }

    /// The ticks since the counter was 0. Before [`start`](Self::start) it is 0.
    pub fn now(&mut self) -> Tick {
        if let Some(chip) = &mut self.chip {
            self.last = widen(self.last, chip.count(), const { mask(C::COUNTER_BITS) });
        }
        self.last
    }

    /// Makes a timer pending until `ticks` from now.
    ///
    /// # Errors
    /// As [`at`](Self::at).
    pub fn after(&mut self, ticks: Tick, value: S::Value) -> Result<S::Key, Rejected<S::Value>> {
        let deadline = self.now().saturating_add(ticks);
        self.at(deadline, value)
    }

    /// Makes a timer pending until the tick `deadline`.
    ///
    /// # Errors
    /// [`Rejected`] with the value: no slot is free, or the timer is pending already.
    pub fn at(&mut self, deadline: Tick, value: S::Value) -> Result<S::Key, Rejected<S::Value>> {
        let (key, change) = self.queue.driven().insert(deadline, value)?;
        self.follow(change.is_changed());
        Ok(key)
    }

    /// Moves a pending timer to `ticks` from now. `false`: it is not pending, because it has fired
    /// or was cancelled.
    pub fn postpone(&mut self, timer: impl Into<S::Key>, ticks: Tick) -> bool {
        let deadline = self.now().saturating_add(ticks);
        self.move_to(timer.into(), deadline).is_ok()
    }

    /// Cancels a pending timer and returns its value. `None`: it has fired or was cancelled. In an
    /// interrupt of a higher priority than the alarm, `None` does not mean that its work has run:
    /// the alarm may have taken the timer and not yet run its work.
    pub fn cancel(&mut self, timer: impl Into<S::Key>) -> Option<S::Value> {
        let (value, change) = self.queue.driven().remove(timer.into()).ok()?;
        self.follow(change.is_changed());
        Some(value)
    }

    /// Takes one timer that is due now, for a program that does not call
    /// [`FirmwareTimers::on_alarm`]. If there is none, sets the alarm: the handler of the alarm
    /// takes timers until there is none.
    pub fn pop_due(&mut self) -> Option<Expired<S::Key, S::Value>> {
        let now = self.now();
        let due = self.queue.pop_expired(now);
        if due.is_none() {
            self.set_alarm();
        }
        due
    }

    /// The queue, to look at.
    #[must_use]
    pub fn queue(&self) -> &Queue<S> {
        &self.queue
    }

    /// The greatest lateness so far of a timer that [`FirmwareTimers::on_alarm`] took, in ticks.
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
            // Periods that have passed altogether are left out: for a tick in the past the queue
            // would begin a new grid at `now`.
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

    /// Sets the alarm for the next wake-up, or for half a turn of the counter if that is sooner. In
    /// the second case nothing is due when it goes off, and the alarm is set again. What is due
    /// already comes in one tick.
    // Flash is dearer than a call here.
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
    /// Arms a timer `ticks` from now, or moves it there if it is pending.
    ///
    /// # Errors
    /// As [`arm_at`](Self::arm_at).
    pub fn arm(&mut self, timer: &'static Timer<F, T>, ticks: Tick) -> Result<(), Reject> {
        let deadline = self.now().saturating_add(ticks);
        self.arm_at(timer, deadline)
    }

    /// Arms a timer for the tick `deadline`, or moves it there if it is pending.
    ///
    /// # Errors
    /// [`Reject::WrongQueue`] if it is pending in another queue.
    pub fn arm_at(&mut self, timer: &'static Timer<F, T>, deadline: Tick) -> Result<(), Reject> {
        match self.move_to(TimerRef::from(timer), deadline) {
            Ok(()) => Ok(()),
            Err(_) => Ok(self.at(deadline, timer).map(drop)?),
        }
    }
}

impl<C: Chip, F: Family + Exact, T, const N: usize> Service<C, InlineSlots<F, T, N>> {
    /// The value of a pending timer, for changes.
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
