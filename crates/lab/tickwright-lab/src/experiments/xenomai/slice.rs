//! A slice of one structure's run: a fresh queue is filled with the armed timers and driven for a
//! given time.

use core::time::Duration;

use super::handler::{Handled, Kernel};
use super::instrument::Counts;
use super::machine::Machine;
use super::oracle::Verified;
use crate::clock::Meter;

/// Counts and times of a slice.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Slice {
    /// Timers that ticked, including the host tick.
    pub(crate) ticks: u64,
    /// Number of wake-ups, which are calls of the handler.
    pub(crate) wakes: u64,
    /// The sum, over all wake-ups, of the number of armed timers.
    pub(crate) armed: u64,
    pub(crate) counts: Counts,
    /// Time from the first sleep to the end.
    pub(crate) wall: Duration,
    /// Time that passed on the structure's clock, in ns.
    pub(crate) elapsed_ns: u64,
}

impl Slice {
    pub(crate) fn add(&mut self, other: &Self) {
        self.ticks += other.ticks;
        self.wakes += other.wakes;
        self.armed += other.armed;
        self.counts.iter_mut().zip(other.counts).for_each(|(sum, count)| *sum += count);
        self.wall += other.wall;
        self.elapsed_ns += other.elapsed_ns;
    }

    /// Returns whether the log and the driver have the same counts.
    pub(crate) fn agrees_with(&self, verified: &Verified) -> bool {
        self.ticks == verified.ticks && self.wakes == verified.wakes
    }
}

/// Number of wake-ups between two calls of `stop`.
const STOP_EVERY: u64 = 64;

/// Fills an empty queue and drives it for `length` ns of the structure's clock. Ends early if the
/// log or the probe is full, or if `stop` returns true.
pub(crate) fn drive<M: Machine + ?Sized>(
    queue: &mut dyn Handled,
    mut kernel: Kernel<'_>,
    length: u64,
    machine: &mut M,
    meter: &dyn Meter,
    stop: &dyn Fn() -> bool,
) -> Slice {
    // Timers are inserted in the order of their numbers, as in the oracle.
    for (id, timer) in (0..).zip(kernel.work.timers()).filter(|(_, timer)| timer.armed) {
        queue.insert(id, timer.expected);
    }
    let begin = kernel.work.now;
    let end = begin.saturating_add(length);
    let mut slice = Slice::default();
    let mut shot = queue.head();
    let started = meter.now();
    machine.start(begin);
    let now = loop {
        machine.sleep_until(shot.unwrap_or(end).min(end));
        let now = machine.now();
        if now >= end
            || kernel.log.is_full()
            || kernel.probe.is_full()
            || (slice.wakes % STOP_EVERY == 0 && stop())
        {
            break now.min(end);
        }
        let woken = queue.handle(&mut kernel, now);
        slice.ticks += u64::from(woken.ticks);
        slice.wakes += 1;
        slice.armed += u64::from(kernel.work.armed());
        shot = woken.shot;
    };
    slice.wall = Duration::from_nanos(meter.now().saturating_sub(started));
    slice.counts = kernel.probe.counts();
    slice.elapsed_ns = now.saturating_sub(begin);
    kernel.work.now = now;
    slice
}
