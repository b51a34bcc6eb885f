//! The timer service: one queue, a clock that does not wrap, and the alarm of the chip.

use core::cell::RefCell;

use cortex_m::peripheral::SYST;
use cortex_m_rt::exception;
use critical_section::Mutex;
use tickwright_core::{HookQueue, Reject, SortedList, Tick, TimerRef};

use crate::chip;
use crate::event::Event;
use crate::widen::Widened;

/// A timer with an event. The timer lies in a struct of yours, and the struct in a static.
pub type Timer = tickwright_core::Timer<SortedList, Event>;

/// The ticks of `ms` milliseconds.
pub const fn ms(ms: u64) -> Tick {
    ms * (chip::HZ / 1_000)
}

/// What the alarm and the main program share.
pub struct Service {
    queue: HookQueue<'static, SortedList, Event>,
    clock: Widened<{ chip::COUNTER_BITS }>,
    /// The alarm, from `start` on.
    alarm: Option<SYST>,
    /// The greatest lateness of a timer so far, in ticks.
    pub latest: Tick,
}

static SERVICE: Mutex<RefCell<Service>> = Mutex::new(RefCell::new(Service {
    queue: HookQueue::new(),
    clock: Widened::new(),
    alarm: None,
    latest: 0,
}));

/// Runs `work` with interrupts masked. Do not call `with` inside `work`: the service is borrowed
/// there.
pub fn with<R>(work: impl FnOnce(&mut Service) -> R) -> R {
    critical_section::with(|cs| work(&mut SERVICE.borrow_ref_mut(cs)))
}

impl Service {
    /// Starts the clock at 0 and takes the alarm. Timers that were armed before are kept.
    pub fn start(&mut self, mut systick: SYST) {
        chip::start(&mut systick);
        self.alarm = Some(systick);
        self.set_alarm();
    }

    /// Ticks since `start`.
    pub fn now(&mut self) -> Tick {
        self.clock.read(chip::count())
    }

    /// Arms a timer `ticks` from now, or moves it there if it is pending.
    ///
    /// # Errors
    /// `Reject::WrongQueue` if it is pending in another queue.
    pub fn arm(&mut self, timer: &'static Timer, ticks: Tick) -> Result<(), Reject> {
        let deadline = self.now().saturating_add(ticks);
        let change = match self.queue.driven().reschedule(TimerRef::from(timer), deadline) {
            Ok(change) => change,
            Err(_) => self.queue.driven().insert(deadline, timer)?.1,
        };
        if change.is_changed() {
            self.set_alarm();
        }
        Ok(())
    }

    /// Moves a pending timer to `ticks` from now. `false`: it has fired or was cancelled.
    pub fn postpone(&mut self, timer: &'static Timer, ticks: Tick) -> bool {
        let deadline = self.now().saturating_add(ticks);
        let Ok(change) = self.queue.driven().reschedule(TimerRef::from(timer), deadline) else {
            return false;
        };
        if change.is_changed() {
            self.set_alarm();
        }
        true
    }

    /// Cancels a pending timer. `false`: it has fired or was cancelled.
    pub fn cancel(&mut self, timer: &'static Timer) -> bool {
        let Ok((_, change)) = self.queue.driven().remove(TimerRef::from(timer)) else { return false };
        if change.is_changed() {
            self.set_alarm();
        }
        true
    }

    /// Takes one timer that is due at `now`: its event, and the tick for which it was armed. A
    /// periodic one is armed again on its own grid, so its lateness does not add up.
    fn take_due(&mut self, now: Tick) -> Option<(&'static Event, Tick)> {
        let event = &self.queue.peek()?.key.get().payload;
        let expiry = match event.period() {
            0 => self.queue.pop_expired(now)?.expiry,
            period => self.queue.pop_and_reinsert(now, |expiry, _| expiry.saturating_add(period))?.expiry,
        };
        self.latest = self.latest.max(self.now().saturating_sub(expiry));
        Some((event, expiry))
    }

    /// Sets the alarm for the next wake-up, or for half a turn of the counter if that is sooner. In
    /// the second case nothing is due when it goes off, and the alarm is set again.
    fn set_alarm(&mut self) {
        let now = self.now();
        let next = self.queue.next_wake().unwrap_or(Tick::MAX);
        let longest = Widened::<{ chip::COUNTER_BITS }>::HALF_TURN.min(chip::LONGEST_ALARM);
        if let Some(systick) = &mut self.alarm {
            chip::alarm_in(systick, next.saturating_sub(now).clamp(1, longest));
        }
    }
}

/// The alarm. Each due timer is taken in a critical section of its own. Its event fires after
/// that, with interrupts unmasked, and may arm, move and cancel timers.
#[exception]
fn SysTick() {
    // A timer that becomes due later fires at the next alarm.
    let now = with(|service| service.now());
    while let Some((event, expiry)) = with(|service| service.take_due(now)) {
        event.fire(expiry);
    }
    with(Service::set_alarm);
}
