//! Time drivers for the tests. Their clocks are virtual.

use std::boxed::Box;
use std::vec::Vec;

use super::{Log, Task, Timers, tasks, woken};

/// How a driver uses its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Works like Embassy's mock driver, which has no alarm. The driver wakes the due tasks
    /// whenever a timer is armed or the clock is advanced.
    Mock,
    /// Works like Embassy's hardware drivers. If `schedule_wake` of the queue returns true, the
    /// driver sets its alarm to the next expiration that the queue returns.
    Hardware,
    /// Works like esp-hal before its pull request 4212. If `schedule_wake` of the queue returns
    /// true, the driver sets its alarm to the deadline of the armed timer.
    Overwriting,
}

/// A time driver, with tasks that are identified by numbers.
pub(crate) struct Driver {
    kind: Kind,
    now: u64,
    /// The tick of the alarm, or `u64::MAX` if no alarm is set.
    alarm: u64,
    queue: Box<dyn Timers>,
    tasks: Vec<Task>,
    log: Log,
    /// The wake-ups so far. Each wake-up has the time on the driver's clock and the number of the
    /// task.
    seen: Vec<(u64, usize)>,
}

impl Driver {
    /// Creates a driver with `queue` and `n` tasks. Its clock starts at 0.
    pub(crate) fn new(kind: Kind, queue: Box<dyn Timers>, n: usize) -> Self {
        let (tasks, log) = tasks(n);
        Self { kind, now: 0, alarm: u64::MAX, queue, tasks, log, seen: Vec::new() }
    }

    pub(crate) fn now(&self) -> u64 {
        self.now
    }

    /// Returns all wake-ups so far.
    pub(crate) fn seen(&self) -> &[(u64, usize)] {
        &self.seen
    }

    /// Wakes the due tasks, and sets the alarm.
    fn expire(&mut self) {
        self.alarm = self.queue.expire(self.now);
    }

    fn note(&mut self) {
        let now = self.now;
        self.seen.extend(woken(&self.log).into_iter().map(|task| (now, task)));
    }

    /// Arms the timer of a task.
    pub(crate) fn schedule_wake(&mut self, task: usize, at: u64) {
        let is_reported = self.queue.arm(&self.tasks[task], at);
        match self.kind {
            Kind::Mock => self.expire(),
            Kind::Hardware if is_reported => self.expire(),
            Kind::Overwriting if is_reported => self.alarm = at,
            Kind::Hardware | Kind::Overwriting => {}
        }
        self.note();
    }

    /// Advances the clock by `ticks`. A driver with an alarm stops at each alarm on the way.
    pub(crate) fn advance(&mut self, ticks: u64) {
        let end = self.now + ticks;
        while self.kind != Kind::Mock && self.alarm <= end {
            self.now = self.now.max(self.alarm);
            self.expire();
            self.note();
        }
        self.now = end;
        if self.kind == Kind::Mock {
            self.expire();
        }
        self.note();
    }

    /// Clears the alarm and wakes nothing. In Embassy's issue 3758 an interrupt handler did this:
    /// it cleared the flag of an alarm that was set while the handler ran.
    pub(crate) fn lose_alarm(&mut self) {
        self.alarm = u64::MAX;
    }

    /// Overwrites the old queue with `queue` and sets the clock to 0, as a reset of Embassy's mock
    /// driver does. The tasks stay the same.
    pub(crate) fn reset(&mut self, queue: Box<dyn Timers>) {
        self.queue = queue;
        self.now = 0;
        self.alarm = u64::MAX;
    }
}
