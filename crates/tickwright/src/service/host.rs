//! The host tick: one timer that waits while more urgent work runs.
//!
//! A kernel may emulate the timer of another kernel: a real-time kernel under which Linux runs, or
//! a hypervisor. It then has the other kernel's tick in its own queue. It is the least urgent timer
//! there is: to interrupt urgent work for it is waste. So while the caller says that [such work
//! runs](super::Service::begin_urgent) and the host tick heads the queue, the alarm is set for the
//! *second* timer. The tick is deferred, and run late: as soon as the urgent work has ended. It is
//! never lost.
//!
//! ```
//! use core::time::Duration;
//! use tickwright::clock::{Instant, VirtualHost};
//! use tickwright::service::{Missed, Next, Service, Settings, Site, Timing};
//!
//! let machine = VirtualHost::new();
//! let mut service = Service::new(Settings::new().clock(machine.monotonic()));
//! let grid = Timing::after(Duration::from_nanos(10)).every(Duration::from_nanos(10)).missed(Missed::Skip);
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
//! head the queue while a real-time thread runs or is about to. Then the hardware is programmed for
//! the second timer and a mark is left. The tick is passed on when Linux gets the processor back.
//! The same here, but:
//!
//! - *Second* is an operation of each structure. There, from 2009 to 2015, it was whatever the
//!   iterator returned after the head. For a list that is right. For a heap it is the next cell of
//!   the array, which may be the later child. With heaps, timers were then programmed too late
//!   (fixed by f7572f693).
//! - Lowest among those of its own tick is what [`take`](super::Service::take) sees to. There it is
//!   a priority in the sort key. The heap compared it as an unsigned number, and the tree still
//!   does, so that the least urgent of equals comes first.
//! - There, the handler of the tick may run beside another timer's and leaves a flag. Here the
//!   callback itself waits. So the code that waits for the tick sees what the policy for missed
//!   periods says. Skip gives one run and the overruns. Burst gives a run for each period.
//! - With nothing else pending, no alarm is set at all until the urgent work ends.

use core::time::Duration;

use tickwright_core::Tick;
use tickwright_nodes::arena::Idx;

use super::base::Service;
use super::entry::{Flag, State};
use super::held::{Host, HostTick};
use super::table::TimerId;
use super::words::Refusal;

impl<P> Service<P> {
    /// Makes a timer the host tick: of those due in its tick it runs last, and while
    /// [urgent work](Self::begin_urgent) runs it waits. It is that until it is gone; to be armed
    /// again, by its callback or by others, does not change it. Its counts begin at 0.
    ///
    /// # Errors
    /// [`Refusal::NotFound`]; [`Refusal::HostTaken`] if another timer is the host tick. Nothing is
    /// changed.
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

    /// Urgent work begins: from now on the host tick waits, and no alarm is set for it. Calls nest.
    /// One look at the queue's head and second if an alarm is set.
    pub fn begin_urgent(&mut self) {
        self.urgent = self.urgent.saturating_add(1);
        if self.urgent == 1 && self.host.is_some() {
            self.end_pass();
        }
    }

    /// Urgent work has ended; when all has, the host tick waits no longer: if it is due, the alarm
    /// is set for now. Without a [`begin_urgent`](Self::begin_urgent), nothing happens.
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

    /// Whether that is the slot of the host tick.
    pub(super) fn is_host(&self, slot: Idx) -> bool {
        self.host.as_ref().is_some_and(|host| host.slot == slot)
    }

    /// The expiry of the host tick while it is put aside.
    pub(super) fn held(&self) -> Option<Tick> {
        self.host.as_ref()?.held
    }

    /// The expiry of the head, or that of the second if the head is the host tick.
    pub(super) fn first_but_host(&self) -> Option<Tick> {
        let queue = self.table.queue();
        let head = queue.head()?;
        let first = if self.linked_host() == Some(head) { queue.second()? } else { head };
        Some(queue.expiry(first))
    }

    /// Its slot while it is in the queue.
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

    /// [`next_slot`](Self::next_slot) where there is a host tick. The host tick is put aside. It is
    /// taken when nothing of its tick is left and nothing urgent runs.
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
                // With no moves left, others of its tick may still be there.
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

    /// A pending timer that is kept beside the queue is not any more.
    pub(super) fn drop_aside(&mut self, slot: Idx) {
        if self.ahead == Some(slot) {
            self.ahead = None;
        }
        if let Some(host) = self.host.as_mut().filter(|host| host.slot == slot) {
            host.let_go();
        }
    }

    /// How many timers are pending beside the queue.
    pub(super) fn aside(&self) -> usize {
        usize::from(self.ahead.is_some()) + usize::from(self.held().is_some())
    }

    /// Whether what is noted of the host tick is true.
    pub(super) fn host_is_right(&self) -> bool {
        let Some(host) = &self.host else { return true };
        let Some(entry) = self.table.get(host.slot) else { return false };
        let aside = entry.state == State::Pending && !entry.is(Flag::Linked);
        aside || host.held.is_none()
    }
}

#[cfg(test)]
mod tests;
