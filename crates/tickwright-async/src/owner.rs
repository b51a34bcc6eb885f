//! The one owner of a timer: it arms, re-arms and disarms. What it does is without a lock, unless
//! the timer is in no queue, or is to fire earlier than it is filed.

use core::task::{Context, Poll, Waker};

use crate::base::{Core, Node};
use crate::pool;
use crate::sync::{Arc, Ordering};
use crate::word::{State, Word};

/// Owns a timer.
#[derive(Debug)]
pub(crate) struct Owner {
    /// `None` only while it is dropped.
    node: Option<Arc<Node>>,
    /// Which waker the timer has: the address of its data and of its functions. The waker lives
    /// while it is in the timer, so that no other has the same two.
    waker: (usize, usize),
}

impl Owner {
    /// A timer that is not armed. `delay` in ticks is a hint for what it will be armed for.
    #[inline]
    pub(crate) fn new(core: &Arc<Core>, delay: u64) -> Self {
        Self { node: Some(pool::take(core, delay)), waker: NONE }
    }

    /// Notes the caller as the one that made the user of this timer. Only with the feature `sites`.
    #[inline]
    #[cfg_attr(feature = "sites", track_caller)]
    pub(crate) fn note_site(&self) {
        #[cfg(feature = "sites")]
        if let Some(node) = &self.node {
            *crate::sync::lock(&node.site) = Some(core::panic::Location::caller());
        }
    }

    #[inline]
    fn node(&self) -> Option<&Arc<Node>> {
        debug_assert!(self.node.is_some(), "an owner has a timer until its drop");
        self.node.as_ref()
    }

    /// What the timer belongs to.
    #[inline]
    pub(crate) fn core(&self) -> Option<&Arc<Core>> {
        self.node().map(|node| &node.core)
    }

    fn word(&self, order: Ordering) -> Word {
        self.node().map_or(Word::IDLE, |node| Word(node.word.load(order)))
    }

    /// Whether it has fired since it was last armed.
    pub(crate) fn has_fired(&self) -> bool {
        matches!(self.word(Ordering::Relaxed).state(), State::Fired | State::Firing)
    }

    /// Waits until `deadline`, which is a tick: ready when it has fired. The timer is armed by the
    /// first call, and wakes the task of the last. `is_past` looks at the clock: whenever a lock is
    /// taken as well, and always if `look` is set.
    #[inline]
    pub(crate) fn poll(
        &mut self,
        deadline: u64,
        look: bool,
        cx: &mut Context<'_>,
        is_past: impl Fn(&Core) -> bool,
    ) -> Poll<()> {
        let Some(node) = &self.node else { return Poll::Pending };
        let mut seen = Word(node.word.load(Ordering::Acquire));
        loop {
            let published = match seen.state() {
                State::Fired | State::Firing => return Poll::Ready(()),
                State::Armed if self.waker == name(cx.waker()) => return Poll::Pending,
                // Another task waits now. The timer is vacant while its waker is exchanged.
                State::Armed => exchange(node, seen, Word::VACANT),
                State::Vacant => {
                    if look && is_past(&node.core) {
                        return Poll::Ready(());
                    }
                    put_waker(node, &mut self.waker, cx.waker());
                    let armed = exchange(node, seen, Word::armed(deadline));
                    if armed.is_ok() {
                        // After the exchange: see the module `queue`.
                        if node.filed.load(Ordering::Relaxed) > deadline {
                            Core::expedite(node);
                        }
                        return Poll::Pending;
                    }
                    armed
                }
                State::Idle => {
                    if is_past(&node.core) {
                        return Poll::Ready(());
                    }
                    put_waker(node, &mut self.waker, cx.waker());
                    if Core::file(node, deadline).is_err() {
                        // Not lost: the task tries again.
                        cx.waker().wake_by_ref();
                    }
                    return Poll::Pending;
                }
                State::Lapsing => {
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
            };
            seen = match published {
                Ok(now) | Err(now) => now,
            };
        }
    }

    /// Gives an armed timer another deadline. A timer that is not armed stays so, and one that has
    /// fired can be armed again.
    #[inline]
    pub(crate) fn reset(&mut self, deadline: u64) {
        let Some(node) = &self.node else { return };
        let mut seen = Word(node.word.load(Ordering::Acquire));
        loop {
            match seen.state() {
                State::Armed => match exchange(node, seen, Word::armed(deadline)) {
                    Ok(_) => {
                        if node.filed.load(Ordering::Relaxed) > deadline {
                            Core::expedite(node);
                        }
                        return;
                    }
                    Err(now) => seen = now,
                },
                State::Fired => {
                    // Nobody but the owner writes it now. The driver has taken the waker.
                    node.word.store(Word::IDLE.0, Ordering::Relaxed);
                    self.waker = NONE;
                    return;
                }
                // The driver is about to take the waker. Another timer takes the place.
                State::Firing | State::Lapsing => {
                    let core = Arc::clone(&node.core);
                    *self = Self::new(&core, 0);
                    return;
                }
                State::Idle | State::Vacant => return,
            }
        }
    }

    /// Makes an armed timer vacant, and keeps its waker for the next use. One that has fired can be
    /// armed again.
    #[inline]
    pub(crate) fn disarm(&mut self) {
        let Some(node) = &self.node else { return };
        let mut seen = Word(node.word.load(Ordering::Acquire));
        while seen.state() == State::Armed {
            match exchange(node, seen, Word::VACANT) {
                Ok(_) => return,
                Err(now) => seen = now,
            }
        }
        self.reset(0);
    }
}

impl Drop for Owner {
    #[inline]
    fn drop(&mut self) {
        let Some(node) = self.node.take() else { return };
        let mut seen = Word(node.word.load(Ordering::Acquire));
        loop {
            match seen.state() {
                State::Armed => {
                    seen = match exchange(&node, seen, Word::VACANT) {
                        Ok(now) | Err(now) => now,
                    }
                }
                // The driver is about to take the waker, and drops the timer.
                State::Firing | State::Lapsing => return,
                State::Fired => {
                    // Nobody but the owner writes it now.
                    node.word.store(Word::IDLE.0, Ordering::Relaxed);
                    return pool::put(node);
                }
                State::Idle | State::Vacant => break,
            }
        }
        if self.waker != NONE {
            // SAFETY: 1. this is the owner; 2. the word is idle or vacant, and nobody else changes
            // that to a state in which the driver touches the waker.
            drop(unsafe { node.replace_waker(None) });
        }
        pool::put(node);
    }
}

/// The name of no waker: a table of functions has an address.
const NONE: (usize, usize) = (0, 0);

/// Tells a waker from others that live.
#[inline]
fn name(waker: &Waker) -> (usize, usize) {
    (waker.data().addr(), core::ptr::from_ref(waker.vtable()).addr())
}

/// Gives an idle or vacant timer the waker of the task that polls.
#[inline]
fn put_waker(node: &Node, named: &mut (usize, usize), waker: &Waker) {
    let name = name(waker);
    if *named != name {
        let waker = waker.clone();
        // SAFETY: 1. only the owner calls this; 2. the word is idle or vacant, and nobody else
        // changes that to a state in which the driver touches the waker.
        let before = unsafe { node.replace_waker(Some(waker)) };
        *named = name;
        // Its drop is foreign code, which may panic.
        drop(before);
    }
}

/// Exchanges the word, if it is still `seen`. `Ok`: what it is now. `Err`: what it was.
///
/// Release: the driver sees the waker. Acquire: the owner sees `filed`, and may write the waker.
#[inline]
fn exchange(node: &Node, seen: Word, next: Word) -> Result<Word, Word> {
    match node.word.compare_exchange(seen.0, next.0, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => Ok(next),
        Err(now) => Err(Word(now)),
    }
}
