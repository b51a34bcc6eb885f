//! The host tick: one timer that waits while more urgent work runs.
//!
//! A kernel may emulate the timer of another kernel: a real-time kernel under which Linux runs, or
//! a hypervisor. Its own queue then holds the other kernel's tick. That tick is the least urgent
//! timer of all: it is not worth an interrupt of urgent work. So while the caller says that [such
//! work runs](super::Service::begin_urgent) and the host tick heads the queue, the alarm is set for
//! the *second* timer. The tick is deferred, and runs late: as soon as the urgent work has ended.
//! It is never lost.
//!
//! ```
//! use core::time::Duration;
//! use tickwright::service::{Missed, Next, Service, Settings, Site, Timing};
//! use tickwright::time::{Instant, VirtualHost};
//!
//! let machine = VirtualHost::new();
//! let mut service = Service::new(Settings::new().clock(machine.monotonic()));
//! let period = Duration::from_nanos(10);
//! let grid = Timing::after(period).every(period).missed(Missed::Skip);
//! let tick = service.add(grid, &Site::here("host"), "host tick")?;
//! service.set_host(tick)?;
//! service.add(Timing::after(Duration::from_nanos(35)), &Site::here("motor"), "motor")?;
//!
//! service.begin_urgent();
//! assert_eq!(service.next_wake(), Some(Instant::from_nanos(35)), "the second");
//! machine.advance(Duration::from_nanos(37));
//! service.begin_pass();
//! assert_eq!(service.take().map(|due| due.payload), Some("motor"));
//! assert_eq!(service.take(), None, "deferred");
//!
//! service.end_urgent();
//! assert_eq!(service.next_wake(), Some(Instant::ZERO), "at once");
//! let due = service.take().expect("late, and not lost");
//! assert_eq!((due.payload, due.due, due.overruns), ("host tick", Instant::from_nanos(30), 2));
//! service.finish(due.id, due.payload, Next::Again);
//! let host = service.host().expect("it is kept");
//! assert_eq!((host.deferred, host.late, host.latest), (1, 1, Duration::from_nanos(7)));
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
//!
//! # What Xenomai does, and where this differs
//!
//! Xenomai's cobalt kernel keeps the tick of Linux as a timer of the lowest priority. The tick may
//! head the queue while a real-time thread runs or is about to. Then the kernel programs the
//! hardware for the second timer, and sets a mark. It passes the tick on when Linux gets the
//! processor back. This module does the same, with four differences:
//!
//! - Here, *second* is an operation of each structure. In Xenomai, from 2009 to 2015, *second* was
//!   whatever the iterator returned after the head. For a list that is the second timer. For a heap
//!   that is the next cell of the array, which may be the later child. So with heaps the kernel
//!   programmed timers too late (fixed by f7572f693).
//! - Here, [`take`](super::Service::take) runs the host tick last among the timers of its own tick.
//!   In Xenomai a priority in the sort key does that. The heap compared this priority as an
//!   unsigned number, and the tree still does. So among equals the least urgent timer comes first.
//! - In Xenomai the tick's handler may run beside that of another timer, and only sets a flag. Here
//!   the callback itself waits. So the code that waits for the tick gets what the policy for missed
//!   periods gives. Skip gives one run and the number of overruns. Burst gives one run for each
//!   period.
//! - If nothing else is pending, no alarm is set until the urgent work ends.

use core::time::Duration;

use tickwright_core::Tick;
use tickwright_nodes::arena::Idx;

use super::base::Service;
use super::entry::{Flag, State};
use super::held::{Host, HostTick};
use super::table::TimerId;
use super::words::Refusal;

impl<P> Service<P> {
    /// Makes a timer the host tick. Among timers that are due in the same tick it runs last, and
    /// while [urgent work](Self::begin_urgent) runs it waits. The timer stays the host tick until
    /// it is removed, even if its callback or another caller arms it again. Its counts begin at 0.
    ///
    /// # Errors
    /// [`Refusal::NotFound`] for a stale id; [`Refusal::HostTaken`] if another timer is the host
    /// tick. Nothing is changed.
    pub fn set_host(&mut self, id: TimerId) -> Result<(), Refusal> {
        let slot = self.table.find(id).ok_or(Refusal::NotFound)?;
        match &self.host {
            Some(host) if host.slot == slot => Ok(()),
            Some(_) => Err(Refusal::HostTaken),
            None => {
                let latest = Duration::ZERO;
                let tick = HostTick { id, waits: false, runs: 0, deferred: 0, late: 0, latest };
                self.host = Some(Host { slot, held: None, tick });
                self.end_pass();
                Ok(())
            }
        }
    }

    /// The host tick, if there is one.
    #[must_use]
    pub fn host(&self) -> Option<HostTick> {
        let mut tick = self.host.as_ref()?.tick;
        tick.waits |= self.is_urgent() && self.host_is_due();
        Some(tick)
    }

    /// Begins urgent work: from now on the host tick waits, and no alarm is set for it. Calls nest.
    /// If an alarm is set, this costs one look at the queue's head and second.
    pub fn begin_urgent(&mut self) {
        self.urgent = self.urgent.saturating_add(1);
        if self.urgent == 1 && self.host.is_some() {
            self.end_pass();
        }
    }

    /// Ends urgent work. When all of it has ended, the host tick waits no longer: if it is due, the
    /// alarm is set for now. Without a [`begin_urgent`](Self::begin_urgent) before it, this does
    /// nothing.
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

    /// Whether urgent work runs.
    #[must_use]
    pub fn is_urgent(&self) -> bool {
        self.urgent > 0
    }

    /// Whether `slot` is the host tick's.
    pub(super) fn is_host(&self, slot: Idx) -> bool {
        self.host.as_ref().is_some_and(|host| host.slot == slot)
    }

    /// The expiry of the host tick while it is put aside.
    pub(super) fn held(&self) -> Option<Tick> {
        self.host.as_ref()?.held
    }

    /// The expiry of the head, or the expiry of the second if the head is the host tick.
    pub(super) fn first_but_host(&self) -> Option<Tick> {
        let queue = self.table.queue();
        let head = queue.head()?;
        let first = if self.linked_host() == Some(head) { queue.second()? } else { head };
        Some(queue.expiry(first))
    }

    /// The slot of the host tick while it is in the queue.
    pub(super) fn linked_host(&self) -> Option<Idx> {
        let slot = self.host.as_ref()?.slot;
        self.table.get(slot).filter(|entry| entry.is(Flag::Linked)).map(|_| slot)
    }

    fn host_is_due(&self) -> bool {
        self.held().is_some()
            || self.host_expiry().is_some_and(|expiry| expiry <= self.ticks.now(self.clock.now()))
    }

    fn host_expiry(&self) -> Option<Tick> {
        Some(self.table.queue().expiry(self.linked_host()?))
    }

    /// [`next_slot`](Self::next_slot) of a service with a host tick. When the host tick leaves the
    /// queue, it is put aside. It is returned when no other timer of its tick is left and no urgent
    /// work runs.
    pub(super) fn next_beside_host(&mut self, moves: &mut usize) -> Option<Idx> {
        loop {
            if let Some(tick) = self.held()
                && self.ahead.is_none()
                && self.table.queue().next_expiry().is_none_or(|next| next > tick)
                && let Some(slot) = self.release_host()
            {
                return Some(slot);
            }
            let expiry = self.host_expiry();
            let Some(slot) = self.ahead.take().or_else(|| self.pop(moves)) else {
                // With no moves left, the queue may still hold other timers that are due at the
                // same tick as the host tick.
                return if *moves > 0 { self.release_host() } else { None };
            };
            let Some(host) = self.host.as_mut().filter(|host| host.slot == slot) else { return Some(slot) };
            host.held = Some(expiry.unwrap_or(self.cutoff));
            if self.urgent > 0 {
                host.note_deferred();
            }
        }
    }

    /// Takes the host tick that was put aside, if it may run in this pass.
    pub(super) fn release_host(&mut self) -> Option<Idx> {
        let host = self.host.as_mut().filter(|host| host.held.is_some() && self.urgent == 0)?;
        if self.table.entry(host.slot).pass == self.pass {
            return None;
        }
        host.held = None;
        Some(host.slot)
    }

    /// Notes that a pending timer is no longer beside the queue.
    pub(super) fn drop_aside(&mut self, slot: Idx) {
        if self.ahead == Some(slot) {
            self.ahead = None;
        }
        if let Some(host) = self.host.as_mut().filter(|host| host.slot == slot) {
            host.let_go();
        }
    }

    /// How many pending timers are beside the queue.
    pub(super) fn aside(&self) -> usize {
        usize::from(self.ahead.is_some()) + usize::from(self.held().is_some())
    }

    /// Whether the notes about the host tick are true.
    pub(super) fn host_is_right(&self) -> bool {
        let Some(host) = &self.host else { return true };
        let Some(entry) = self.table.get(host.slot) else { return false };
        let aside = entry.state == State::Pending && !entry.is(Flag::Linked);
        aside || host.held.is_none()
    }
}

#[cfg(test)]
mod tests;
