//! What is done under the lock of a shard: filing, moving and removing timers, and the pass that
//! fires what is due.
//!
//! # Invariants
//! 1. Whenever the lock is free, the word is armed or vacant if and only if the shard's queue has
//!    the timer at tick `filed`.
//! 2. An armed timer is filed at its deadline or before, unless its owner is about to move it.
//! 3. The driver looks at a shard at the tick `alarm` or earlier, and `alarm` is not later than the
//!    first `filed`.
//!
//! # A later deadline takes no lock
//! A timer may be filed earlier than its deadline. The pass then files it again. So a timer that is
//! armed for 100, re-armed a thousand times, and has 5000 by tick 100 is moved once, at 100. The
//! owner stores a later deadline, and does not ask whether the driver sees it. At worst the timer
//! fires for the deadline before, and the task, which knows the later one, files it again.
//!
//! # An earlier deadline takes one if it must
//! The owner stores the deadline, exchanges the word, and reads `filed`. The pass writes `filed`,
//! exchanges the word, and reads the deadline. So one of the two sees what the other did: the one
//! whose exchange is the later one.

use core::any::Any;
use core::panic::AssertUnwindSafe;
use core::task::Waker;
use std::panic::{catch_unwind, resume_unwind};

use tickwright_core::Key;

use crate::base::{Core, Locked, Node, Shard};
use crate::record;
use crate::sync::{Arc, MutexGuard, Ordering, lock};
use crate::word::State;

/// A timer was not filed: there is no memory, or no thread to fire it.
#[derive(Debug)]
pub(crate) struct NotFiled;

/// How many timers a pass fires before it calls their wakers and takes the lock again.
const BATCH: usize = 32;

/// What a pass has taken out: wakers to call, and counts to drop, with no lock held.
#[derive(Default)]
struct Taken {
    timers: Vec<(Arc<Node>, Option<Waker>)>,
    /// How many wakers were called, and the first panic of one.
    woken: usize,
    panic: Option<Box<dyn Any + Send>>,
}

impl Taken {
    /// Calls the wakers, each of them even if one panics. No lock is held.
    fn release(&mut self) {
        for (node, waker) in self.timers.drain(..) {
            let Some(waker) = waker else { continue };
            self.woken += 1;
            if let Err(payload) = catch_unwind(AssertUnwindSafe(|| waker.wake())) {
                self.panic.get_or_insert(payload);
            }
            drop(node);
        }
    }

    /// The end of it: how many wakers were called.
    ///
    /// # Panics
    /// With the first panic of a waker.
    fn end(mut self) -> usize {
        self.release();
        match self.panic.take() {
            Some(panic) => resume_unwind(panic),
            None => self.woken,
        }
    }
}

impl Core {
    #[inline]
    fn shard(&self, node: &Node) -> &Shard {
        &self.shards[node.shard as usize % self.shards.len()]
    }

    /// Files an idle timer for its deadline, and arms it. Only its owner may.
    pub(crate) fn file(node: &Arc<Node>) -> Result<(), NotFiled> {
        let core = &node.core;
        let due = node.due();
        let shard = core.shard(node);
        let mut state = lock(&shard.state);
        // The value that a refused insert gives back is a second count.
        let key = state.queue.insert(due, Arc::clone(node)).map_err(|_| NotFiled)?.key;
        node.key.store(key.to_bits(), Ordering::Relaxed);
        node.filed.store(due, Ordering::Relaxed);
        // Relaxed: the driver reads it under the lock, and so it sees the waker.
        node.set_state(State::Armed, Ordering::Relaxed);
        if !core.look_by(state, due) {
            core.let_go(shard);
        }
        Ok(())
    }

    /// No driver could be started, and nobody would fire what is filed: the timers of the shard
    /// leave it, and their tasks are woken to file them again.
    #[cold]
    fn let_go(&self, shard: &Shard) {
        let mut taken = Taken::default();
        let mut state = lock(&shard.state);
        let _ = state.queue.retain(|_, node| {
            // Its owner may arm and disarm it meanwhile.
            let waker = loop {
                let waker = Locked::lapse(node);
                if waker.is_some() || node.exchange(State::Vacant, State::Idle, Ordering::Relaxed).is_ok() {
                    break waker;
                }
            };
            taken.timers.push((Arc::clone(node), waker));
            false
        });
        // So the next timer that is filed calls the driver.
        state.alarm = u64::MAX;
        drop(state);
        taken.end();
    }

    /// Moves an armed timer, if it is filed after its deadline. Only its owner may, which has just
    /// exchanged the word.
    #[inline]
    pub(crate) fn hasten(node: &Node) {
        if node.filed.load(Ordering::Relaxed) > node.due() {
            Self::expedite(node);
        }
    }

    #[cold]
    fn expedite(node: &Node) {
        let core = &node.core;
        let mut state = lock(&core.shard(node).state);
        let due = node.due();
        if node.state(Ordering::Relaxed) == State::Armed && due < node.filed.load(Ordering::Relaxed) {
            state.reschedule(node, due);
            // There is a driver: the timer was in a queue.
            core.look_by(state, due);
        }
    }

    /// Takes a vacant timer out of its queue: it is idle then. Only its owner may.
    pub(crate) fn unfile(&self, node: &Node) {
        let mut state = lock(&self.shard(node).state);
        if node.state(Ordering::Relaxed) == State::Vacant {
            let removed = Key::from_bits(node.key.load(Ordering::Relaxed)).map(|key| state.queue.remove(key));
            state.locked += 1;
            node.set_state(State::Idle, Ordering::Relaxed);
            drop(state);
            // The owner has a count too, so that nothing is freed here.
            drop(removed);
        }
    }

    /// Counts what was done under the lock, and tells the driver if it would look too late. False:
    /// there is no driver.
    fn look_by(self: &Arc<Self>, mut state: MutexGuard<'_, Locked>, deadline: u64) -> bool {
        state.locked += 1;
        let earlier = deadline < state.alarm;
        if earlier {
            state.alarm = deadline;
        }
        drop(state);
        !earlier || self.call_driver(deadline)
    }

    /// Fires what is due on all shards, on this thread. Returns how many timers fired, and the tick
    /// at which the next is filed; [`u64::MAX`] if none is.
    ///
    /// # Panics
    /// With the first panic of a waker, after all wakers were called.
    pub(crate) fn run(&self) -> (usize, u64) {
        let (mut next, mut taken) = (u64::MAX, Taken::default());
        for shard in &self.shards {
            next = next.min(self.run_shard(shard, &mut taken));
        }
        (taken.end(), next)
    }

    fn run_shard(&self, shard: &Shard, taken: &mut Taken) -> u64 {
        loop {
            let nanos = self.time.now();
            let now = self.scale.now(nanos);
            let mut state = lock(&shard.state);
            // Rather early than late: between here and the end of the pass nobody needs the alarm.
            let due = state.queue.next_wake().is_some_and(|at| at <= now);
            while due && taken.timers.len() < BATCH {
                let Some(expired) = state.queue.pop_expired(now) else { break };
                state.fire(expired.value, now, taken, |due| nanos.saturating_sub(self.scale.start(due)));
            }
            let next = state.raise_alarm();
            drop(state);
            if taken.timers.is_empty() {
                if next > now {
                    return next;
                }
                continue;
            }
            taken.release();
        }
    }

    /// The tick at which the first timer is filed, without firing it. Whoever is told a later tick
    /// than before is called for what is filed before that.
    pub(crate) fn next(&self) -> u64 {
        let next = |shard: &Shard| lock(&shard.state).raise_alarm();
        self.shards.iter().map(next).min().unwrap_or(u64::MAX)
    }

    /// Removes vacant timers from all queues. Returns whether no timer is left.
    pub(crate) fn sweep(&self) -> bool {
        let mut is_empty = true;
        for shard in &self.shards {
            let mut swept = Vec::new();
            let mut state = lock(&shard.state);
            let _ = state.queue.retain(|_, node| {
                let vacant = node.exchange(State::Vacant, State::Idle, Ordering::Relaxed);
                if vacant.is_ok() {
                    swept.push(Arc::clone(node));
                }
                vacant.is_err()
            });
            state.raise_alarm();
            is_empty &= state.queue.is_empty();
            drop(state);
        }
        is_empty
    }
}

impl Locked {
    /// Notes that the driver looks again when the first timer is filed, and returns that tick.
    fn raise_alarm(&mut self) -> u64 {
        self.alarm = self.queue.next_wake().unwrap_or(u64::MAX);
        self.alarm
    }

    fn reschedule(&mut self, node: &Node, deadline: u64) {
        if let Some(key) = Key::from_bits(node.key.load(Ordering::Relaxed)) {
            let moved = self.queue.reschedule(key, deadline);
            debug_assert!(moved.is_ok(), "an armed timer is in its queue");
            node.filed.store(deadline, Ordering::Relaxed);
        }
    }

    /// Fires a timer that has left the queue, or files it again if its deadline is later.
    fn fire(&mut self, node: Arc<Node>, now: u64, taken: &mut Taken, late: impl Fn(u64) -> u64) {
        let mut filed = None;
        let waker = loop {
            let seen = node.state(Ordering::Acquire);
            let due = node.due();
            match seen {
                State::Armed if due <= now => {
                    if let Some(key) = filed.take() {
                        drop(self.queue.remove(key));
                    }
                    // Acquire: the owner's write of the waker comes before.
                    if node.exchange(seen, State::Firing, Ordering::Acquire).is_ok() {
                        self.lateness.note(late(due));
                        record::fire(&node);
                        // SAFETY: 1. this is the driver, and it has made the word firing.
                        let waker = unsafe { node.replace_waker(None) };
                        // The owner may have stored a later deadline: it compares the two.
                        node.filed.store(due, Ordering::Relaxed);
                        // Release: the owner, which reads fired, may write the waker again.
                        node.set_state(State::Fired, Ordering::Release);
                        break waker;
                    }
                }
                // Vacant and filed again: it was disarmed after that, and stays.
                State::Vacant if filed.is_none() => {
                    // Relaxed: the driver has touched nothing that the owner uses without the lock.
                    if node.exchange(seen, State::Idle, Ordering::Relaxed).is_ok() {
                        break None;
                    }
                }
                State::Armed | State::Vacant => {
                    if seen == State::Armed && !self.refile(&node, &mut filed, due) {
                        match Self::lapse(&node) {
                            Some(waker) => break Some(waker),
                            None => continue,
                        }
                    }
                    // Acquire and Release: an exchange by the owner that comes later sees `filed`;
                    // of one that came before, the deadline is seen here.
                    let exchanged = node.exchange(seen, seen, Ordering::AcqRel).is_ok();
                    if exchanged && (seen == State::Vacant || node.due() >= due) {
                        return;
                    }
                }
                State::Idle | State::Firing | State::Fired => {
                    debug_assert!(false, "a timer in a queue is armed or vacant");
                    break None;
                }
            }
        };
        taken.timers.push((node, waker));
    }

    /// Fires an armed timer for no deadline, when its shard cannot keep it: its task is woken, and
    /// files it again. `None`: it is not armed any more.
    #[cold]
    fn lapse(node: &Arc<Node>) -> Option<Waker> {
        node.exchange(State::Armed, State::Firing, Ordering::Acquire).ok()?;
        record::cancel(node);
        // SAFETY: 1. this thread has the lock, and it has made the word firing.
        let waker = unsafe { node.replace_waker(None) };
        // Before every deadline: none has passed.
        node.filed.store(0, Ordering::Relaxed);
        node.set_state(State::Fired, Ordering::Release);
        waker
    }

    /// Files a timer that the pass has taken out, or moves it if the pass has filed it already.
    fn refile(&mut self, node: &Arc<Node>, filed: &mut Option<Key>, due: u64) -> bool {
        if filed.is_some() {
            if due < node.filed.load(Ordering::Relaxed) {
                self.reschedule(node, due);
            }
            return true;
        }
        let Ok(inserted) = self.queue.insert(due, Arc::clone(node)) else { return false };
        *filed = Some(inserted.key);
        node.key.store(inserted.key.to_bits(), Ordering::Relaxed);
        node.filed.store(due, Ordering::Relaxed);
        true
    }
}
