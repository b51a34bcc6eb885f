//! The owner of a timer, which arms, re-arms and disarms it. Each timer has exactly one owner. The
//! owner takes a lock only if the timer is in no queue, or if the new deadline is before the filed
//! tick.

use core::task::{Context, Poll, Waker};

use crate::coop::{self, Candidate};
use crate::node::{Core, Node, State};
use crate::pool;
use crate::record;
use crate::sync::{Arc, Ordering};

/// The owner of a timer.
#[derive(Debug)]
pub(crate) struct Owner {
    /// The timer. It is `None` only while the owner is being dropped.
    node: Option<Arc<Node>>,
    /// Identifies the waker in the timer, by the addresses of its data and of its function table.
    /// While this waker is in the timer, no other waker has the same two addresses.
    waker: (usize, usize),
    /// The deadline in nanoseconds. An armed timer has the same deadline.
    deadline: u64,
    flags: Flags,
}

/// Several flags in one word. A future is moved a few times before it is polled, and the processor
/// stalls when it copies a word that was just written byte by byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Flags(u64);

impl Flags {
    /// The timer was armed. It has possibly fired since then.
    const ARMED: u64 = 1;
    /// The deadline has possibly passed, so the next poll reads the clock.
    const LOOK: u64 = 2;
    /// The last poll was ready.
    const OVER: u64 = 4;
    /// The timer was armed with a clock other than the machine's clock, so each poll reads that
    /// clock.
    const OTHER: u64 = 8;
    /// The unit of a count of successive polls that were held back. The count is at most three.
    const HELD: u64 = 16;

    #[inline]
    const fn of(look: bool) -> Self {
        Self((look as u64) << 1)
    }

    #[inline]
    const fn is_armed(self) -> bool {
        self.0 & Self::ARMED != 0
    }

    /// Returns whether the next poll of an armed timer reads the clock.
    #[inline]
    const fn is_look(self) -> bool {
        self.0 & (Self::LOOK | Self::OTHER) != 0
    }

    /// Sets whether the timer is armed. Returns whether it was.
    #[inline]
    const fn arm(&mut self, armed: bool) -> bool {
        let before = self.is_armed();
        self.0 = self.0 & !(Self::ARMED | Self::OVER) | armed as u64;
        before
    }

    /// Notes that the deadline was changed. `look` is true if the new deadline has possibly passed.
    #[inline]
    const fn reset(&mut self, look: bool) {
        self.0 = self.0 & !(Self::LOOK | Self::OVER) | ((look as u64) << 1);
    }

    /// Notes that the clock was read and that the deadline has not passed.
    #[inline]
    const fn looked(&mut self, is_machine: bool) {
        self.0 = self.0 & !(Self::LOOK | Self::OVER) | if is_machine { 0 } else { Self::OTHER };
    }

    /// Ends a poll that would be ready, or holds it back if the budget is spent.
    fn end(&mut self, units: u32, node: &Arc<Node>, waker: &Waker) -> Poll<()> {
        let held = self.0 / Self::HELD;
        let candidate = Candidate { timer: Arc::as_ptr(node).addr(), held: held as u32 };
        if coop::take(units, candidate, waker) {
            self.0 = (self.0 % Self::HELD) | Self::OVER;
            return Poll::Ready(());
        }
        self.0 = self.0 % Self::HELD + (held + 1).min(3) * Self::HELD;
        Poll::Pending
    }
}

impl Owner {
    /// Creates the owner of a timer that is not armed. `look` is true if the deadline has possibly
    /// passed.
    #[inline(always)]
    pub(crate) fn of(node: Arc<Node>, deadline: u64, look: bool) -> Self {
        Self { node: Some(node), waker: NONE, deadline, flags: Flags::of(look) }
    }

    /// Records the caller's line as the place where the sleep or slot was created. Without the
    /// feature `sites` it does nothing.
    #[inline]
    #[cfg_attr(feature = "sites", track_caller)]
    pub(crate) fn note_site(&self) {
        #[cfg(feature = "sites")]
        if let Some(node) = &self.node {
            *crate::sync::lock(&node.site) = Some(core::panic::Location::caller());
        }
    }

    /// Returns the core that the timer belongs to.
    #[inline]
    pub(crate) fn core(&self) -> Option<&Arc<Core>> {
        debug_assert!(self.node.is_some(), "an owner has a timer until its drop");
        self.node.as_ref().map(|node| &node.core)
    }

    /// Returns when the timer is due, in nanoseconds.
    #[inline]
    pub(crate) fn deadline(&self) -> u64 {
        self.deadline
    }

    /// Returns whether a poll was ready, or the timer has fired for its deadline.
    pub(crate) fn is_elapsed(&self) -> bool {
        if self.flags.0 & Flags::OVER != 0 {
            return true;
        }
        let Some(node) = &self.node else { return false };
        node.state(Ordering::Acquire) == State::Fired && has_fired_for(node, self.deadline)
    }

    /// Polls for the deadline. The poll is ready if the timer has fired, or if the clock is read
    /// and shows that the deadline has passed. The first call arms the timer. The timer wakes the
    /// task that made the last call.
    ///
    /// A test's clock is read at each poll, because the driver has possibly not run since the clock
    /// was moved. The machine's clock is read only if the deadline had possibly already passed when
    /// it was set. A read of the clock costs more than everything else in a poll, and is not
    /// necessary, because the driver fires the timer.
    ///
    /// A poll that would be ready is sometimes pending, so that other tasks run. See the module
    /// `coop`.
    #[inline]
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(node) = &self.node else { return Poll::Pending };
        let is_past = || node.core.time.now() >= self.deadline;
        let mut seen = node.state(Ordering::Acquire);
        loop {
            let exchanged = match seen {
                State::Armed if !self.flags.is_look() && self.waker == name(cx.waker()) => {
                    return Poll::Pending;
                }
                State::Armed if self.waker == name(cx.waker()) && !is_past() => {
                    self.flags.looked(node.core.time.is_machine());
                    return Poll::Pending;
                }
                // The deadline has passed, or another task waits now. The timer must be vacant
                // while its waker is replaced.
                State::Armed => node.exchange(seen, State::Vacant, Ordering::AcqRel),
                State::Vacant => {
                    let is_machine = node.core.time.is_machine();
                    if self.flags.is_look() || !is_machine {
                        if is_past() {
                            return over(node, &mut self.flags, cx.waker());
                        }
                        self.flags.looked(is_machine);
                    }
                    put_waker(node, &mut self.waker, cx.waker());
                    node.deadline.store(self.deadline, Ordering::Relaxed);
                    note_arm(node, &mut self.flags, self.deadline);
                    let armed = node.exchange(seen, State::Armed, Ordering::AcqRel);
                    if armed.is_ok() {
                        Core::hasten(node);
                        return Poll::Pending;
                    }
                    armed
                }
                State::Idle => {
                    // This path takes a lock anyway, so the cost of reading the clock does not
                    // matter.
                    let now = node.core.time.now();
                    if now >= self.deadline {
                        return over(node, &mut self.flags, cx.waker());
                    }
                    put_waker(node, &mut self.waker, cx.waker());
                    node.deadline.store(self.deadline, Ordering::Relaxed);
                    self.flags.looked(node.core.time.is_machine());
                    note_arm(node, &mut self.flags, self.deadline);
                    if Core::file(node, now).is_err() {
                        self.flags.arm(false);
                        record::cancel(node);
                        // The timer could not be filed. The task is woken, so that it tries again
                        // and the deadline is not lost.
                        cx.waker().wake_by_ref();
                    }
                    return Poll::Pending;
                }
                State::Fired if has_fired_for(node, self.deadline) => {
                    return self.flags.end(coop::FIRED, node, cx.waker());
                }
                // The timer fired for its earlier deadline while the owner stored a later one, or
                // it fired although no deadline had passed.
                State::Fired => {
                    self.waker = NONE;
                    self.flags.arm(false);
                    node.set_state(State::Idle, Ordering::Relaxed);
                    Err(State::Idle)
                }
                State::Firing => {
                    if is_past() {
                        // The flag `ARMED` stays set. The owner's drop will check the timer's
                        // state.
                        return self.flags.end(coop::FIRED, node, cx.waker());
                    }
                    // The driver is about to set the word to fired.
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
            };
            seen = exchanged.err().unwrap_or(State::Vacant);
        }
    }

    /// Changes the deadline of the timer, whether it is armed or not. A timer that has fired can be
    /// armed again by this.
    #[inline]
    pub(crate) fn reset(&mut self, deadline: u64) {
        self.reset_ahead(deadline, true);
    }

    /// Like [`reset`](Self::reset). `look` is true if the new deadline has possibly passed.
    #[inline]
    pub(crate) fn reset_ahead(&mut self, deadline: u64, look: bool) {
        let before = core::mem::replace(&mut self.deadline, deadline);
        self.flags.reset(look);
        if !self.flags.is_armed() {
            return;
        }
        let Some(node) = &self.node else { return };
        // For a later deadline, this store is sufficient. If the driver does not see the store yet,
        // it files or fires the timer for the earlier deadline. If it fires the timer, the next
        // poll files the timer again.
        node.deadline.store(deadline, Ordering::Relaxed);
        node.counts.rearm();
        record::rearm(node, deadline);
        if deadline < before && node.exchange(State::Armed, State::Armed, Ordering::AcqRel).is_ok() {
            // This must come after the exchange. See the module `shard`.
            Core::hasten(node);
        }
    }

    /// Makes an armed timer vacant. The timer keeps its waker for the next use. If the timer has
    /// fired, it can be armed again.
    #[inline]
    pub(crate) fn disarm(&mut self) {
        if !self.flags.arm(false) {
            return;
        }
        let Some(node) = &self.node else { return };
        match node.exchange(State::Armed, State::Vacant, Ordering::AcqRel) {
            Ok(()) | Err(State::Idle | State::Vacant | State::Armed) => record::cancel(node),
            Err(State::Fired) => {
                // The timer has fired and the driver has taken its waker, so now only the owner
                // writes the word.
                node.set_state(State::Idle, Ordering::Relaxed);
                self.waker = NONE;
            }
            // The driver is about to take the waker, so another timer replaces this one.
            Err(State::Firing) => {
                let core = Arc::clone(&node.core);
                self.node = Some(pool::take(&core, 0));
                self.waker = NONE;
            }
        }
    }
}

impl Drop for Owner {
    #[inline]
    fn drop(&mut self) {
        let Some(node) = self.node.take() else { return };
        if self.flags.is_armed() {
            match node.exchange(State::Armed, State::Vacant, Ordering::AcqRel) {
                Ok(()) | Err(State::Idle | State::Vacant | State::Armed) => record::cancel(&node),
                // The driver is about to take the waker, and drops the timer.
                Err(State::Firing) => return,
                Err(State::Fired) => {
                    // The timer has fired and the driver has taken its waker, so now only the owner
                    // writes the word.
                    node.set_state(State::Idle, Ordering::Relaxed);
                    return pool::put(node);
                }
            }
        }
        if self.waker != NONE {
            // SAFETY: 1. This is the owner. 2. The word is idle or vacant, and no other thread
            // changes the word to a state in which the driver touches the waker.
            drop(unsafe { node.replace_waker(None) });
        }
        pool::put(node);
    }
}

/// Counts and records the arm before the timer is armed. The driver's events then come later in the
/// trace, and the arm is recorded even if a hook of the caller panics.
#[inline]
fn note_arm(node: &Arc<Node>, flags: &mut Flags, deadline: u64) {
    if !flags.arm(true) {
        node.counts.arm();
        record::arm(node, deadline);
    }
}

/// Ends a poll that is ready without a wait: the deadline has passed, and the timer is no longer
/// armed.
fn over(node: &Arc<Node>, flags: &mut Flags, waker: &Waker) -> Poll<()> {
    if flags.arm(false) {
        record::fire(node);
    }
    flags.0 |= Flags::LOOK;
    flags.end(node.core.time.late_units(), node, waker)
}

/// Returns whether the timer has fired for this deadline or for a later deadline. The caller has
/// read the state with Acquire.
fn has_fired_for(node: &Node, deadline: u64) -> bool {
    node.core.time.deadline(deadline) <= node.filed.load(Ordering::Relaxed)
}

/// The name of no waker. No waker has this name, because the address of a function table is never
/// 0.
const NONE: (usize, usize) = (0, 0);

/// Returns the name of a waker: the addresses of its data and of its function table. No other waker
/// that exists has the same name.
#[inline]
fn name(waker: &Waker) -> (usize, usize) {
    (waker.data().addr(), core::ptr::from_ref(waker.vtable()).addr())
}

/// Stores the waker of the polling task in an idle or vacant timer.
#[inline]
fn put_waker(node: &Node, named: &mut (usize, usize), waker: &Waker) {
    let name = name(waker);
    if *named != name {
        let waker = waker.clone();
        // SAFETY: 1. Only the owner calls this. 2. The word is idle or vacant, and no other thread
        // changes the word to a state in which the driver touches the waker.
        let before = unsafe { node.replace_waker(Some(waker)) };
        *named = name;
        // Dropping a waker runs code of the executor, which can panic.
        drop(before);
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
