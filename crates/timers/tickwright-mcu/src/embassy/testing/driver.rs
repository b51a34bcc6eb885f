//! Time drivers of the tests. Their clocks are virtual.

use std::boxed::Box;
use std::vec::Vec;

use super::{Log, Task, Timers, tasks, woken};

/// What a driver does beside keeping timers in its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The same as Embassy's mock driver: it has no alarm. After each timer, and each time that its
    /// clock is advanced, it wakes what is due.
    Mock,
    /// The same as Embassy's drivers of hardware. If the queue reports a timer, the driver sets its
    /// alarm to what the queue returns as the next expiration.
    Hardware,
    /// As esp-hal before its pull request 4212. If the queue reports a timer, the driver sets its
    /// alarm to the deadline of that timer.
    Overwriting,
}

/// A time driver with tasks, which it names by their numbers.
pub(crate) struct Driver {
    kind: Kind,
    now: u64,
    /// The tick of the alarm, `u64::MAX` for none.
    alarm: u64,
    queue: Box<dyn Timers>,
    tasks: Vec<Task>,
    log: Log,
    /// The wake-ups so far. Each has the time on the driver's clock and the number of the task.
    seen: Vec<(u64, usize)>,
}

impl Driver {
    /// A driver over that queue, with `n` tasks. Its clock starts at 0.
    pub(crate) fn new(kind: Kind, queue: Box<dyn Timers>, n: usize) -> Self {
        let (tasks, log) = tasks(n);
        Self { kind, now: 0, alarm: u64::MAX, queue, tasks, log, seen: Vec::new() }
    }

    pub(crate) fn now(&self) -> u64 {
        self.now
    }

    /// All wake-ups so far.
    pub(crate) fn seen(&self) -> &[(u64, usize)] {
        &self.seen
    }

    /// Wakes what is due, and sets the alarm.
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

    /// Advances the clock. Drivers of hardware stop at each alarm.
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

    /// Clears the alarm and wakes nothing. In Embassy's issue 3758 an interrupt did so: it cleared
    /// the flag of an alarm that was set while the interrupt ran.
    pub(crate) fn lose_alarm(&mut self) {
        self.alarm = u64::MAX;
    }

    /// Writes that queue over the old one and sets the clock to 0, as a reset of Embassy's mock
    /// driver does. The tasks stay.
    pub(crate) fn reset(&mut self, queue: Box<dyn Timers>) {
        self.queue = queue;
        self.now = 0;
        self.alarm = u64::MAX;
    }
}
