//! The work under the lock of a shard: filing, moving and removing timers, and the pass that fires
//! due timers. A timer is *filed* at the tick at which it is in the shard's queue.
//!
//! # Invariants
//! 1. Whenever the lock is free, a timer's word is armed or vacant if and only if the shard's queue
//!    has the timer at tick `filed`.
//! 2. An armed timer is filed at its deadline or earlier, unless its owner is about to move it.
//! 3. The driver checks a shard at the tick `alarm` or earlier, and `alarm` is not later than the
//!    earliest `filed`.
//!
//! # A later deadline takes no lock
//! A timer can be filed at an earlier tick than its deadline. When that tick comes, the pass files
//! it again. For example, a timer is armed for tick 100 and then re-armed a thousand times, until
//! its deadline is 5000. The pass moves this timer only once, at tick 100. The owner stores a later
//! deadline without checking whether the driver sees the store. In the worst case the timer fires
//! for the earlier deadline, and the task, which knows the later deadline, files the timer again.
//!
//! # An earlier deadline takes one if it must
//! The owner stores the deadline, exchanges the word, and reads `filed`. The pass writes `filed`,
//! exchanges the word, and reads the deadline. If the owner makes its exchange second, it sees the
//! new `filed`, and otherwise the pass sees the new deadline.

use core::panic::AssertUnwindSafe;
use core::task::Waker;
use std::panic::{catch_unwind, resume_unwind};

use tickwright_core::Key;

use crate::node::{Core, Locked, Node, Shard, State, Taken};
use crate::record;
use crate::sync::{Arc, MutexGuard, Ordering, lock};

/// The error that a timer was not filed, because there is no memory for its entry in the queue.
#[derive(Debug)]
pub(crate) struct NotFiled;

/// How many timers a pass fires before it releases the lock to call their wakers.
const BATCH: usize = 32;

impl Taken {
    /// Calls every waker, even if one of them panics. No lock is held.
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

    /// Ends the pass and returns how many wakers were called.
    ///
    /// # Panics
    /// Resumes the first panic of a waker.
    pub(crate) fn end(mut self) -> usize {
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

    /// Files an idle timer for its deadline, and arms it. Only the timer's owner is allowed to call
    /// this. The time `now` is before the deadline.
    pub(crate) fn file(node: &Arc<Node>, now: u64) -> Result<(), NotFiled> {
        let core = &node.core;
        let deadline = node.deadline.load(Ordering::Relaxed);
        let due = core.time.deadline(deadline);
        let shard = core.shard(node);
        let mut state = lock(&shard.state);
        // A failed insert returns its value, which is a second reference to the timer, and which is
        // dropped here.
        let key = state.queue.insert(due, Arc::clone(node)).map_err(|_| NotFiled)?;
        state.delays.note(deadline - now);
        state.high_water = state.high_water.max(state.queue.len());
        state.totals.enter(&node.counts);
        node.key.store(key.to_bits(), Ordering::Relaxed);
        node.filed.store(due, Ordering::Relaxed);
        // Relaxed is enough, because the driver reads the state under the lock and therefore sees
        // the waker.
        node.set_state(State::Armed, Ordering::Relaxed);
        if !core.look_by(state, due) {
            core.let_go(shard);
        }
        Ok(())
    }

    /// Empties a shard if no driver could be started, because no thread would fire its timers. The
    /// tasks of these timers are woken, so that they file the timers again.
    #[cold]
    fn let_go(&self, shard: &Shard) {
        let mut taken = Taken::default();
        let mut state = lock(&shard.state);
        state.queue.retain(|_, node| {
            // The owner can arm and disarm the timer during this loop.
            let waker = loop {
                let waker = Locked::lapse(node);
                if waker.is_some() || node.exchange(State::Vacant, State::Idle, Ordering::Relaxed).is_ok() {
                    break waker;
                }
            };
            taken.timers.push((Arc::clone(node), waker));
            false
        });
        // With this value, the driver is called when the next timer is filed.
        state.alarm = u64::MAX;
        drop(state);
        taken.end();
    }

    /// If an armed timer is filed after its deadline, moves it to its deadline. Only the owner is
    /// allowed to call this, directly after it has exchanged the word.
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
            // A driver exists, because the timer was in a queue.
            core.look_by(state, due);
        }
    }

    /// Takes a vacant timer out of its queue and makes it idle. Only the owner is allowed to call
    /// this.
    pub(crate) fn unfile(&self, node: &Node) {
        let mut state = lock(&self.shard(node).state);
        if node.state(Ordering::Relaxed) == State::Vacant {
            let removed = Key::from_bits(node.key.load(Ordering::Relaxed)).map(|key| state.queue.remove(key));
            state.locked += 1;
            state.totals.collect(&node.counts);
            node.set_state(State::Idle, Ordering::Relaxed);
            drop(state);
            // The owner also holds a reference, so this drop does not free the timer.
            drop(removed);
        }
    }

    /// Counts the operation under the lock, and calls the driver if its next check would be too
    /// late for `deadline`. Returns false if no driver could be started.
    fn look_by(self: &Arc<Self>, mut state: MutexGuard<'_, Locked>, deadline: u64) -> bool {
        state.locked += 1;
        let earlier = deadline < state.alarm;
        if earlier {
            state.alarm = deadline;
        }
        drop(state);
        !earlier || self.call_driver(deadline)
    }

    /// Fires the due timers of all shards, on this thread. Returns the fired timers, and the tick
    /// at which the next timer is filed, or [`u64::MAX`] if no timer is filed.
    pub(crate) fn pass(&self) -> (Taken, u64) {
        let (mut next, mut taken) = (u64::MAX, Taken::default());
        for shard in &self.shards {
            next = next.min(self.run_shard(shard, &mut taken));
        }
        (taken, next)
    }

    fn run_shard(&self, shard: &Shard, taken: &mut Taken) -> u64 {
        loop {
            let nanos = self.time.now();
            let now = self.time.tick(nanos);
            let mut state = lock(&shard.state);
            // This bound can be earlier than the first timer, which is safe, because the alarm is
            // not read before the end of the pass.
            let due = state.queue.next_wake().is_some_and(|at| at <= now);
            while due && taken.timers.len() < BATCH {
                let Some(expired) = state.queue.pop_expired(now) else { break };
                state.fire(expired.value, now, nanos, taken);
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

    /// Returns the tick at which the first timer is filed, without firing timers. It also sets the
    /// alarm to that tick, so that filing a timer for an earlier tick calls the driver.
    pub(crate) fn next(&self) -> u64 {
        let next = |shard: &Shard| lock(&shard.state).raise_alarm();
        self.shards.iter().map(next).min().unwrap_or(u64::MAX)
    }

    /// Removes all vacant timers from the queues. Returns whether no timer is left.
    pub(crate) fn sweep(&self) -> bool {
        let mut is_empty = true;
        for shard in &self.shards {
            let mut swept = Vec::new();
            let mut state = lock(&shard.state);
            state.queue.retain(|_, node| {
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
    /// Sets the alarm to the tick at which the first timer is filed, and returns that tick.
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

    /// Fires a timer that has left the queue, or files it again if its deadline is later. `now` is
    /// the tick of the time `nanos`.
    fn fire(&mut self, node: Arc<Node>, now: u64, nanos: u64, taken: &mut Taken) {
        let time = &node.core.time;
        let mut filed = None;
        let waker = loop {
            let seen = node.state(Ordering::Acquire);
            let deadline = node.deadline.load(Ordering::Relaxed);
            let due = time.deadline(deadline);
            match seen {
                State::Armed if due <= now => {
                    if let Some(key) = filed.take() {
                        drop(self.queue.remove(key));
                    }
                    // Acquire, so that this thread sees the waker that the owner wrote.
                    if node.exchange(seen, State::Firing, Ordering::Acquire).is_ok() {
                        self.lateness.note(nanos.saturating_sub(time.start(due)));
                        self.totals.collect(&node.counts);
                        record::fire(&node);
                        // SAFETY: 1. this is the driver, and it has made the word firing.
                        let waker = unsafe { node.replace_waker(None) };
                        // `filed` is the deadline for which the timer fires. The owner compares it
                        // with its own deadline, which can be later.
                        node.filed.store(due, Ordering::Relaxed);
                        // Release, because an owner that reads the state fired is allowed to write
                        // the waker.
                        node.set_state(State::Fired, Ordering::Release);
                        break waker;
                    }
                }
                // If this pass has filed the timer again and the owner has disarmed it after that,
                // the vacant timer stays filed.
                State::Vacant if filed.is_none() => {
                    // Relaxed is enough, because the driver has written nothing that the owner
                    // reads without the lock.
                    if node.exchange(seen, State::Idle, Ordering::Relaxed).is_ok() {
                        self.totals.collect(&node.counts);
                        break None;
                    }
                }
                State::Armed | State::Vacant => {
                    let delay = deadline.saturating_sub(nanos);
                    if seen == State::Armed && !self.refile(&node, &mut filed, due, delay) {
                        match Self::lapse(&node) {
                            Some(waker) => break Some(waker),
                            None => continue,
                        }
                    }
                    // Release, so that the owner sees `filed` if its exchange comes later. Acquire,
                    // so that this thread sees the owner's deadline if the owner's exchange came
                    // earlier.
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

    /// Fires an armed timer regardless of its deadline, because its shard cannot keep the timer.
    /// Returns the waker of the task, which will file the timer again, or `None` if the timer is no
    /// longer armed.
    #[cold]
    fn lapse(node: &Arc<Node>) -> Option<Waker> {
        node.exchange(State::Armed, State::Firing, Ordering::Acquire).ok()?;
        record::cancel(node);
        // SAFETY: 1. this thread has the lock, and it has made the word firing.
        let waker = unsafe { node.replace_waker(None) };
        // Tick 0 is before every deadline, so the owner sees that its deadline has not passed.
        node.filed.store(0, Ordering::Relaxed);
        node.set_state(State::Fired, Ordering::Release);
        waker
    }

    /// Files a timer again that the pass has taken out of the queue. If this pass has already filed
    /// the timer again, it moves to the earlier one of the two ticks.
    fn refile(&mut self, node: &Arc<Node>, filed: &mut Option<Key>, due: u64, delay: u64) -> bool {
        if filed.is_some() {
            if due < node.filed.load(Ordering::Relaxed) {
                self.reschedule(node, due);
            }
            return true;
        }
        let Ok(key) = self.queue.insert(due, Arc::clone(node)) else { return false };
        *filed = Some(key);
        self.delays.note(delay);
        node.key.store(key.to_bits(), Ordering::Relaxed);
        node.filed.store(due, Ordering::Relaxed);
        true
    }
}
