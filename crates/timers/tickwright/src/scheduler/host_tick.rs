//! The host tick: one timer that waits while more urgent work runs.
//!
//! # What Xenomai does, and where this differs
//!
//! Xenomai's Cobalt kernel holds the tick of Linux as a timer of the lowest priority. If the tick
//! is the head of the queue while a real-time thread runs or is about to run, the kernel programs
//! the hardware for the second timer, and notes that the tick is deferred. It delivers the tick
//! when Linux gets the processor back. This module does the same, with four differences:
//!
//! - Here, each structure has an operation that finds the second timer. In Xenomai, from 2009 to
//!   2015, the second timer was the element that the iterator returned after the head. For a list
//!   this is right. For a heap it is the next cell of the array, which can be the later of the
//!   head's children. With heaps the kernel therefore programmed timers too late (fixed by
//!   f7572f693).
//! - Here, [`take`](TimerSet::take) runs the host tick last among the timers of its own tick. In
//!   Xenomai a priority in the sort key should put it last. The heap compared this priority as an
//!   unsigned number, and the tree still does, so the least urgent of several equal timers comes
//!   first.
//! - In Xenomai the tick's handler only sets a flag, and can run at the same time as the handler of
//!   another timer. Here the callback itself is deferred, so the timer's policy for missed periods
//!   applies: `Skip` gives one run and the number of overruns, and `Burst` gives one run for each
//!   period.
//! - If no other timer is pending, no alarm is set until the urgent work ends.

use core::fmt;
use core::time::Duration;

use tickwright_core::{Key, Tick};

use super::lock::{Access, Shared};
use super::results::{HostTick, Refusal};
use super::scheduler::Scheduler;
use super::table::TimerId;
use super::timer::State;
use super::timer_set::{Host, TimerSet};

impl<P> TimerSet<P> {
    /// Makes a timer the [host tick](HostTick). Among timers that are due in the same tick it runs
    /// last, and it waits while [urgent work](Self::begin_urgent) runs. The timer stays the host
    /// tick until it is removed, even if its callback or another caller arms it again. The counts
    /// of the host tick begin at 0.
    ///
    /// # Errors
    /// [`Refusal::NotFound`] if the id is stale. [`Refusal::HostTaken`] if another timer is the
    /// host tick. In both cases nothing is changed.
    pub fn set_host(&mut self, id: TimerId) -> Result<(), Refusal> {
        let (key, _) = self.table.find(id).ok_or(Refusal::NotFound)?;
        match &self.host {
            Some(host) if host.key == key => Ok(()),
            Some(_) => Err(Refusal::HostTaken),
            None => {
                let latest = Duration::ZERO;
                let tick = HostTick { id, waits: false, runs: 0, deferred: 0, late: 0, latest };
                self.host = Some(Host { key, held: None, tick });
                self.end_pass();
                Ok(())
            }
        }
    }

    /// Returns the host tick, if there is one.
    #[must_use]
    pub fn host(&self) -> Option<HostTick> {
        let mut tick = self.host.as_ref()?.tick;
        tick.waits |= self.is_urgent() && self.host_is_due();
        Some(tick)
    }

    /// Begins urgent work: from now on the host tick waits, and no alarm is set for it. Calls can
    /// be nested. If an alarm is set, the call reads the queue's first and second timer once.
    pub fn begin_urgent(&mut self) {
        self.urgent = self.urgent.saturating_add(1);
        if self.urgent == 1 && self.host.is_some() {
            self.end_pass();
        }
    }

    /// Ends urgent work. When all urgent work has ended, the host tick no longer waits: if it is
    /// due, the alarm is set for now. A call without a matching
    /// [`begin_urgent`](Self::begin_urgent) does nothing.
    pub fn end_urgent(&mut self) {
        let was = self.urgent;
        self.urgent = was.saturating_sub(1);
        if was != 1 || self.host.is_none() {
            return;
        }
        if self.host_is_due() {
            self.host.iter_mut().for_each(Host::note_deferred);
        }
        self.end_pass();
    }

    /// Returns whether urgent work runs.
    #[must_use]
    pub fn is_urgent(&self) -> bool {
        self.urgent > 0
    }

    /// Returns whether `key` is the key of the host tick.
    pub(super) fn is_host(&self, key: Key) -> bool {
        self.host.as_ref().is_some_and(|host| host.key == key)
    }

    /// Returns the expiry of the host tick while it is put aside, outside of the queue.
    pub(super) fn held(&self) -> Option<Tick> {
        self.host.as_ref()?.held
    }

    /// Returns the expiry of the first timer, or of the second timer if the first one is the host
    /// tick.
    pub(super) fn first_but_host(&self) -> Option<Tick> {
        let queue = self.table.queue();
        let head = queue.peek()?;
        if self.is_host(head.key) { Some(queue.second()?.expiry) } else { Some(head.expiry) }
    }

    fn host_is_due(&self) -> bool {
        self.held().is_some()
            || self.host_expiry().is_some_and(|expiry| expiry <= self.ticks.now(self.clock.now()))
    }

    /// Returns the expiry of the host tick while it is in the queue.
    pub(super) fn host_expiry(&self) -> Option<Tick> {
        self.table.queue().expiry(self.host.as_ref()?.key)
    }

    /// Does the work of [`next_key`](Self::next_key) for a timer set with a host tick. When the
    /// host tick leaves the queue, it is first put aside. The function returns it when no other
    /// timer of its tick is left and no urgent work runs.
    pub(super) fn next_beside_host(&mut self, moves: &mut usize) -> Option<Key> {
        loop {
            if let Some(tick) = self.held()
                && self.ahead.is_none()
                && self.table.queue().next_expiry().is_none_or(|next| next > tick)
                && let Some(key) = self.release_host()
            {
                return Some(key);
            }
            let expiry = self.host_expiry();
            let Some(key) = self.ahead.take().or_else(|| self.pop(moves)) else {
                // If no moves are left, the queue can still hold other timers that are due at the
                // same tick as the host tick.
                return if *moves > 0 { self.release_host() } else { None };
            };
            let Some(host) = self.host.as_mut().filter(|host| host.key == key) else { return Some(key) };
            host.held = Some(expiry.unwrap_or(self.cutoff));
            if self.urgent > 0 {
                host.note_deferred();
            }
        }
    }

    /// Takes the host tick that was put aside, if it can run in this pass.
    pub(super) fn release_host(&mut self) -> Option<Key> {
        let host = self.host.as_mut().filter(|host| host.held.is_some() && self.urgent == 0)?;
        if self.table.entry(host.key).pass == self.pass {
            return None;
        }
        host.held = None;
        Some(host.key)
    }

    /// Notes that the timer with this key, which was pending, is no longer put aside.
    pub(super) fn drop_aside(&mut self, key: Key) {
        if self.ahead == Some(key) {
            self.ahead = None;
        }
        if let Some(host) = self.host.as_mut().filter(|host| host.key == key) {
            host.let_go();
        }
    }

    /// Returns how many pending timers are put aside and not in the queue.
    pub(super) fn aside(&self) -> usize {
        usize::from(self.ahead.is_some()) + usize::from(self.held().is_some())
    }

    /// Returns whether the invariants of the host tick's state hold.
    pub(super) fn host_is_right(&self) -> bool {
        let Some(host) = &self.host else { return true };
        let Some(entry) = self.table.queue().get(host.key) else { return false };
        let aside = entry.state == State::Pending && self.host_expiry().is_none();
        aside || host.held.is_none()
    }
}

/// A guard: the host tick of its scheduler waits while the guard exists. Any thread can hold one or
/// more guards.
#[must_use = "dropped at once, it holds nothing back"]
pub struct Urgent<'a, C, L: Access = Shared>(&'a Scheduler<C, L>);

impl<C, L: Access> Scheduler<C, L> {
    /// Makes a timer the [host tick](HostTick). Among timers that are due in the same
    /// tick the host tick runs last. While [urgent work](Self::urgent) runs, the host tick waits.
    ///
    /// # Errors
    /// [`Refusal::NotFound`], [`Refusal::HostTaken`].
    pub fn set_host(&self, id: TimerId) -> Result<(), Refusal> {
        self.lock().timers.set_host(id)
    }

    /// Returns the host tick, if there is one.
    #[must_use]
    pub fn host(&self) -> Option<HostTick> {
        self.lock().timers.host()
    }

    /// Begins urgent work, which ends when the guard is dropped. While the guard exists, the host
    /// tick waits, and the alarm is set for the earliest other timer.
    pub fn urgent(&self) -> Urgent<'_, C, L> {
        self.lock().timers.begin_urgent();
        Urgent(self)
    }
}

impl<C, L: Access> Drop for Urgent<'_, C, L> {
    fn drop(&mut self) {
        self.0.lock().timers.end_urgent();
    }
}

impl<C, L: Access> fmt::Debug for Urgent<'_, C, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Urgent")
    }
}

#[cfg(test)]
mod tests;
