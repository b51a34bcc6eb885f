//! What is done under the lock of a shard: filing, moving and removing timers, and the pass that
//! fires what is due.
//!
//! # Invariants
//! 1. Whenever the lock is free, the word is armed or vacant if and only if the timer is in the
//!    queue of its shard, at the tick `filed`.
//! 2. An armed timer has `filed <= deadline`, unless its owner is about to lower `filed`.
//! 3. The driver looks at a shard at the tick `alarm` or earlier, and `alarm` is not later than the
//!    first `filed`.
//!
//! # A later deadline takes no lock
//! A timer may be filed earlier than its deadline. The pass then files it again. So a timer that is
//! armed for 100, re-armed a thousand times, and has 5000 by tick 100 is moved once, at 100.
//!
//! The owner exchanges the word first and reads `filed` afterwards. The pass writes `filed` first
//! and exchanges the word afterwards. So one of the two sees what the other did: if the owner's
//! exchange is the later one it reads from the pass's, and then `filed`; if it is the earlier one,
//! the pass's exchange fails and finds the deadline.

use core::panic::AssertUnwindSafe;
use std::panic::{catch_unwind, resume_unwind};

use tickwright_core::Key;

use crate::base::{Core, Locked, Node, Shard};
use crate::sync::{Arc, MutexGuard, Ordering, lock};
use crate::word::{State, Word};

/// A timer was not filed: there is no memory, or no thread to fire it.
#[derive(Debug)]
pub(crate) struct NotFiled;

/// How many timers a pass fires before it calls their wakers and takes the lock again.
const BATCH: usize = 32;

/// What a pass has taken out: wakers to call, and counts to drop, with no lock held.
#[derive(Default)]
struct Taken {
    timers: Vec<(Arc<Node>, Option<core::task::Waker>)>,
}

impl Core {
    #[inline]
    fn shard(&self, node: &Node) -> &Shard {
        &self.shards[node.shard as usize % self.shards.len()]
    }

    /// Files an idle timer for `deadline`, and arms it. Only its owner may.
    pub(crate) fn file(node: &Arc<Node>, deadline: u64) -> Result<(), NotFiled> {
        let core = &node.core;
        let mut state = lock(&core.shard(node).state);
        // The value that a refused insert gives back is a second count.
        let key = state.queue.insert(deadline, Arc::clone(node)).map_err(|_| NotFiled)?.key;
        node.key.store(key.to_bits(), Ordering::Relaxed);
        node.filed.store(deadline, Ordering::Relaxed);
        // Release: the driver sees the waker.
        node.word.store(Word::armed(deadline).0, Ordering::Release);
        if !core.look_by(state, deadline) {
            let vacant = Word::VACANT.0;
            let word = Word::armed(deadline).0;
            // No driver, so nobody fires it, unless another call has started one.
            if node.word.compare_exchange(word, vacant, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                core.unfile(node);
                return Err(NotFiled);
            }
        }
        Ok(())
    }

    /// Moves an armed timer to its deadline, if that is before the tick at which it is filed.
    #[cold]
    pub(crate) fn expedite(node: &Node) {
        let core = &node.core;
        let mut state = lock(&core.shard(node).state);
        let word = Word(node.word.load(Ordering::Relaxed));
        let deadline = word.deadline();
        if word.state() == State::Armed && deadline < node.filed.load(Ordering::Relaxed) {
            state.reschedule(node, deadline);
            // There is a driver: the timer was in a queue.
            core.look_by(state, deadline);
        }
    }

    /// Takes a vacant timer out of its queue: it is idle then. Only its owner may.
    pub(crate) fn unfile(&self, node: &Node) {
        let mut state = lock(&self.shard(node).state);
        if Word(node.word.load(Ordering::Relaxed)).state() == State::Vacant {
            let removed = Key::from_bits(node.key.load(Ordering::Relaxed)).map(|key| state.queue.remove(key));
            state.locked += 1;
            node.word.store(Word::IDLE.0, Ordering::Relaxed);
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
        let (mut fired, mut next, mut panic) = (0, u64::MAX, None);
        for shard in &self.shards {
            let at = self.run_shard(shard, &mut |taken: &mut Taken| {
                for (node, waker) in taken.timers.drain(..) {
                    let Some(waker) = waker else { continue };
                    fired += 1;
                    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| waker.wake())) {
                        panic.get_or_insert(payload);
                    }
                    drop(node);
                }
            });
            next = next.min(at);
        }
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
        (fired, next)
    }

    fn run_shard(&self, shard: &Shard, release: &mut impl FnMut(&mut Taken)) -> u64 {
        let mut taken = Taken::default();
        loop {
            let nanos = self.time.now();
            let now = self.scale.now(nanos);
            let mut state = lock(&shard.state);
            // Rather early than late: between here and the end of the pass nobody needs the alarm.
            let due = state.queue.next_wake().is_some_and(|at| at <= now);
            while due && taken.timers.len() < BATCH {
                let Some(expired) = state.queue.pop_expired(now) else { break };
                state.fire(expired.value, now, &mut taken, |due| nanos.saturating_sub(self.scale.start(due)));
            }
            let next = state.queue.next_wake().unwrap_or(u64::MAX);
            state.alarm = next;
            drop(state);
            if taken.timers.is_empty() {
                if next > now {
                    return next;
                }
                continue;
            }
            release(&mut taken);
        }
    }

    /// The tick at which the first timer is filed, without firing it.
    pub(crate) fn next(&self) -> u64 {
        let next = |shard: &Shard| lock(&shard.state).queue.next_wake().unwrap_or(u64::MAX);
        self.shards.iter().map(next).min().unwrap_or(u64::MAX)
    }

    /// Removes vacant timers from all queues. Returns whether no timer is left.
    pub(crate) fn sweep(&self) -> bool {
        let mut is_empty = true;
        for shard in &self.shards {
            let mut swept = Vec::new();
            let mut state = lock(&shard.state);
            let _ = state.queue.retain(|_, node| {
                let vacant = node.word.compare_exchange(
                    Word::VACANT.0,
                    Word::IDLE.0,
                    Ordering::Relaxed,
                    Ordering::Relaxed,
                );
                if vacant.is_ok() {
                    swept.push(Arc::clone(node));
                }
                vacant.is_err()
            });
            state.alarm = state.queue.next_wake().unwrap_or(u64::MAX);
            is_empty &= state.queue.is_empty();
            drop(state);
        }
        is_empty
    }
}

impl Locked {
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
            let word = Word(node.word.load(Ordering::Relaxed));
            let deadline = word.deadline();
            match word.state() {
                State::Armed if deadline <= now => {
                    if let Some(key) = filed.take() {
                        drop(self.queue.remove(key));
                    }
                    // Acquire: the owner's write of the waker comes before.
                    let firing = node.word.compare_exchange(
                        word.0,
                        Word::FIRING.0,
                        Ordering::Acquire,
                        Ordering::Relaxed,
                    );
                    if firing.is_ok() {
                        self.lateness.note(late(deadline));
                        // SAFETY: 1. this is the driver, and it has made the word firing.
                        let waker = unsafe { node.replace_waker(None) };
                        // Release: the owner, which reads fired, may write the waker again.
                        node.word.store(Word::FIRED.0, Ordering::Release);
                        break waker;
                    }
                }
                // Vacant and filed again: it was disarmed after that, and stays.
                State::Vacant if filed.is_none() => {
                    // Relaxed: the driver has touched nothing that the owner uses without the lock.
                    let idle = node.word.compare_exchange(
                        Word::VACANT.0,
                        Word::IDLE.0,
                        Ordering::Relaxed,
                        Ordering::Relaxed,
                    );
                    if idle.is_ok() {
                        break None;
                    }
                }
                State::Armed | State::Vacant => {
                    if word.state() == State::Armed && !self.refile(&node, &mut filed, deadline) {
                        // No memory: the task is woken, and arms its timer again.
                        let lapsing = node.word.compare_exchange(
                            word.0,
                            Word::LAPSING.0,
                            Ordering::Acquire,
                            Ordering::Relaxed,
                        );
                        if lapsing.is_ok() {
                            // SAFETY: 1. this is the driver, and it has made the word lapsing.
                            let waker = unsafe { node.replace_waker(None) };
                            // It stays in the timer too: the owner knows it to be there.
                            // SAFETY: as above.
                            drop(unsafe { node.replace_waker(waker.clone()) });
                            node.word.store(Word::IDLE.0, Ordering::Release);
                            break waker;
                        }
                        continue;
                    }
                    // The same value again. Acquire and Release: an exchange by the owner that
                    // comes later sees `filed`; one that came before makes this one fail.
                    let published =
                        node.word.compare_exchange(word.0, word.0, Ordering::AcqRel, Ordering::Relaxed);
                    if published.is_ok() {
                        return;
                    }
                }
                State::Idle | State::Firing | State::Fired | State::Lapsing => {
                    debug_assert!(false, "a timer in a queue is armed or vacant");
                    break None;
                }
            }
        };
        taken.timers.push((node, waker));
    }

    /// Files a timer that the pass has taken out, or moves it if the pass has filed it already.
    fn refile(&mut self, node: &Arc<Node>, filed: &mut Option<Key>, deadline: u64) -> bool {
        if filed.is_some() {
            if deadline < node.filed.load(Ordering::Relaxed) {
                self.reschedule(node, deadline);
            }
            return true;
        }
        let Ok(inserted) = self.queue.insert(deadline, Arc::clone(node)) else { return false };
        *filed = Some(inserted.key);
        node.key.store(inserted.key.to_bits(), Ordering::Relaxed);
        node.filed.store(deadline, Ordering::Relaxed);
        true
    }
}
