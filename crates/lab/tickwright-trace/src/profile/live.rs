//! The timers that are pending, and some of the timers that have ended.

use std::collections::HashMap;

use crate::event::{Event, Ns, UNKNOWN};

/// A timer that was armed.
#[derive(Clone, Copy, Debug)]
struct Timer {
    /// The time of the last arm.
    armed: Ns,
    deadline: Ns,
    delay: u64,
    period: u64,
    thread: u32,
    is_pending: bool,
    /// How often the timer expired and was armed again at once with the same delay.
    repeats: u8,
    /// The deadline of the timer's last expiry. The expiry itself can be late, or a little early.
    fired: Ns,
}

/// A timer at the end of its wait.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    pub(super) deadline: Ns,
    /// 0 if the timer is not periodic.
    pub(super) period: u64,
    armed: Ns,
    delay: u64,
    thread: u32,
}

impl Ended {
    /// Returns the time since the last arm.
    pub(super) fn age(&self, now: Ns) -> u64 {
        u64::try_from(now.saturating_sub(self.armed)).unwrap_or(0)
    }

    /// Returns the percentage of the delay that was left, or `None` if the deadline is unknown.
    pub(super) fn left_percent(&self, now: Ns) -> Option<u64> {
        let left = u64::try_from(self.deadline.saturating_sub(now)).unwrap_or(0);
        let percent = left.saturating_mul(100).checked_div(self.delay).unwrap_or(0).min(100);
        (self.deadline != UNKNOWN).then_some(percent)
    }

    /// Returns whether another known thread armed the timer.
    pub(super) fn is_foreign(&self, thread: u32) -> bool {
        thread != 0 && self.thread != 0 && thread != self.thread
    }
}

/// All timers that are pending. Some ended timers are kept too, because a timer that is armed
/// repeatedly counts as periodic.
#[derive(Debug, Default)]
pub(super) struct Live {
    timers: HashMap<u64, Timer>,
    pending: usize,
}

/// A timer that is armed this many times in a row with the same delay is periodic.
const REPEATS: u8 = 3;

/// Timers that are not pending are removed when there are more timers than twice the pending timers
/// plus this number.
const KEPT: usize = 4096;

impl Live {
    pub(super) fn pending(&self) -> usize {
        self.pending
    }

    /// Arms a timer. Returns the timer as it was before, if it was pending.
    pub(super) fn arm(&mut self, event: &Event, deadline: Ns, delay: u64, period: u64) -> Option<Ended> {
        let before = self.timers.get(&event.timer).copied();
        // The timer was armed again with the same delay, at its last deadline plus or minus a tenth
        // of the delay. A loop that counts from the time at which it woke expires timers a little
        // early, so the arm can precede the deadline.
        let again = |old: &Timer| {
            !old.is_pending && is_same(old.delay, delay) && event.time.abs_diff(old.fired) <= delay / 10
        };
        let repeats = before.filter(again).map_or(0, |old| old.repeats.saturating_add(1));
        let was_pending = before.filter(|old| old.is_pending);
        if was_pending.is_none() {
            self.make_room();
            self.pending += 1;
        }
        let thread = event.thread;
        let timer =
            Timer { armed: event.time, deadline, delay, period, thread, is_pending: true, repeats, fired: 0 };
        self.timers.insert(event.timer, timer);
        was_pending.map(|old| old.ended())
    }

    /// Cancels a timer. Returns the timer as it was, if it was pending.
    pub(super) fn cancel(&mut self, timer: u64) -> Option<Ended> {
        let pending = self.timers.get(&timer).is_some_and(|timer| timer.is_pending);
        if !pending {
            return None;
        }
        self.pending -= 1;
        self.timers.remove(&timer).map(|timer| timer.ended())
    }

    /// Notes that a timer expired. Returns the timer that ended, if it was pending. A timer with a
    /// period stays pending.
    pub(super) fn fire(&mut self, timer: u64, now: Ns) -> Option<Ended> {
        let timer = self.timers.get_mut(&timer).filter(|timer| timer.is_pending)?;
        let ended = timer.ended();
        timer.fired = timer.deadline;
        if timer.period > 0 {
            // Some programs count the next period from the last deadline, and other programs count
            // it from the expiry.
            let period = i64::try_from(timer.period).unwrap_or(i64::MAX);
            let late = now.saturating_sub(timer.deadline);
            let from = if late.unsigned_abs() <= timer.period / 20 { timer.deadline } else { now };
            timer.deadline = from.saturating_add(period);
        } else {
            timer.is_pending = false;
            self.pending -= 1;
        }
        Some(ended)
    }

    /// Removes the timers that are not pending, if they have become too many.
    fn make_room(&mut self) {
        if self.timers.len() > 2 * self.pending + KEPT {
            self.timers.retain(|_, timer| timer.is_pending);
        }
    }
}

impl Timer {
    fn ended(&self) -> Ended {
        let period = match self.period {
            0 if self.repeats >= REPEATS => self.delay,
            period => period,
        };
        Ended { armed: self.armed, deadline: self.deadline, period, delay: self.delay, thread: self.thread }
    }
}

/// Returns whether two delays differ by less than a hundredth.
fn is_same(one: u64, other: u64) -> bool {
    one.abs_diff(other) <= one.max(other) / 100
}
