//! The operations of a shard under its lock, and how the locks are taken.

use tickwright_core::structure::{Discipline, Due};
use tickwright_core::{Tick, Violation};

use super::{Base, Link, Locked, Node, Set, SharedTimer};
use crate::fork::{self, Order, Slot};
use crate::shard::clock_word::ClockWord;
use crate::shard::geometry::WheelGeometry;
use crate::shard::statistics::Stripes;
use crate::shard::word::{PARKED, State, Word};
use crate::sync::{Arc, AtomicU64, Condvar, Mutex, MutexGuard, Ordering, ThreadId, lock, no_memory, tell};

/// A timer that a shard has taken out of its wheel to fire.
pub(crate) struct Taken<G: WheelGeometry> {
    pub(crate) timer: SharedTimer<G>,
    pub(crate) deadline: Tick,
    pub(crate) expiry: Tick,
}

impl<G: WheelGeometry> Locked<G> {
    /// Advances the shard's time to `now`, unless it is already later.
    pub(crate) fn forward(&mut self, base: &Base<G>, now: Tick) {
        if now > self.now {
            self.now = now;
            base.clock.store(now, Ordering::Relaxed);
        }
    }

    /// Publishes which clock the shard has. Each function that changes the clock or the length of a
    /// tick ends with this call.
    pub(crate) fn publish_clock(&self, base: &Base<G>) {
        base.clock_word.publish(self.outside.clock.as_deref(), self.outside.ticks);
    }

    /// If the shard has a clock, advances the shard's time to the clock's time. Otherwise a new
    /// timer would get a bucket that is too coarse, because the shard's time did not advance while
    /// the driver slept.
    pub(crate) fn read_clock(&mut self, base: &Base<G>) {
        if let Some(clock) = &self.outside.clock {
            let now = self.outside.ticks.now(clock.now());
            self.forward(base, now);
        }
    }

    /// Sets the alarm if it would go off too late for a timer that was armed for `deadline`. The
    /// alarm is user code, so words and wheels must be consistent before this call.
    ///
    /// If the deadline is not before the alarm's time, the alarm is not changed. During a pass it
    /// is not changed either, because the end of a pass always sets it.
    pub(crate) fn set_alarm_earlier(&mut self, deadline: Tick) {
        if let Some(alarm) = &self.outside.alarm
            && !self.expiring
            && self.outside.at.is_none_or(|at| deadline < at)
            && let Some(wake) = self.next_wake()
            && self.outside.at.is_none_or(|at| wake < at)
        {
            self.outside.at = Some(wake);
            alarm.set(self.outside.start(wake));
        }
    }

    /// Sets the alarm to the next wake-up, even if the wake-up has not changed, because the alarm
    /// can have gone off since it was set.
    pub(crate) fn set_alarm(&mut self) {
        if let Some(alarm) = &self.outside.alarm {
            let wake = self.next_wake();
            self.outside.at = wake;
            alarm.set(wake.and_then(|wake| self.outside.start(wake)));
        }
    }

    /// Inserts a timer that is in no wheel. The shard already holds a count of the timer. Returns
    /// the word that the caller must write to the timer.
    pub(crate) fn insert(&mut self, node: &Node<G>, p: Link<G>, deadline: Tick) -> Word {
        let (which, now) = (usize::from(node.deferrable), self.now);
        self.len[which] += 1;
        self.statistics.high_water = self.statistics.high_water.max(self.len());
        let wheel = &mut self.wheels[which];
        // During a pass, a timer that is armed for the past fires at the next tick, which is after
        // the time of the pass, because otherwise the pass might never end.
        let _ = if self.expiring {
            G::insert_behind(wheel, &mut self.records, p, deadline, now)
        } else {
            wheel.insert(&mut self.records, p, deadline, now)
        };
        let level = match G::level(wheel, &self.records, p) {
            Some(level) => level,
            // The timer is due at once. With level 0 in its word, the unlocked path admits only the
            // same deadline again.
            None if deadline <= now => 0,
            None => PARKED,
        };
        Word::pending(deadline, level)
    }

    /// Takes a timer that is pending on this shard out of its wheel. The shard keeps its count of
    /// the timer. As in all functions with a link as argument, `p` is in a wheel of this shard, or
    /// the caller holds a count.
    pub(crate) fn remove(&mut self, p: Link<G>) {
        let which = usize::from(self.records.node(p).deferrable);
        self.len[which] -= 1;
        let _ = self.wheels[which].remove(&mut self.records, p);
    }

    /// Takes a timer that is pending on this shard out of its wheel, and returns the shard's
    /// counted reference to the timer.
    pub(crate) fn take_out(&mut self, p: Link<G>) -> SharedTimer<G> {
        self.remove(p);
        Self::release(p)
    }

    /// Moves one timer that is pending on this shard to the shard `target`, with the same deadline.
    /// Returns `false` if this shard has no pending timer.
    pub(crate) fn hand_one_over(&mut self, target: &mut Self, number: u32) -> bool {
        let Some(p) = self.any() else { return false };
        let node = self.records.node(p);
        // Only the holder of the lock writes a parked word. The word is parked by an atomic
        // exchange. An unlocked re-arm therefore happens either before it and is effective, or
        // after it and then takes the lock.
        let word = Word(node.word.fetch_or(Word::PARK, Ordering::Relaxed));
        let deadline = self.deadline(p, word);
        let timer = self.take_out(p);
        timer.node.shard.store(number, Ordering::Relaxed);
        let next = target.insert(&timer.node, Link::retain(&timer.node), deadline);
        timer.node.word.swap(next.0, Ordering::Relaxed);
        true
    }

    /// Makes one pending timer idle and returns it. Used for a closed shard.
    pub(crate) fn empty_one(&mut self) -> Option<SharedTimer<G>> {
        let p = self.any()?;
        let timer = self.take_out(p);
        // Relaxed is enough. A thread that re-armed the timer held a counted reference, and
        // releasing that reference orders the thread's writes before the drop of the timer.
        timer.node.word.swap(Word::IDLE.0, Ordering::Relaxed);
        timer.node.ghost.withdrawn(true, false);
        Some(timer)
    }

    /// Returns any pending timer, if there is one.
    fn any(&self) -> Option<Link<G>> {
        self.wheels.iter().find_map(|wheel| wheel.any(&self.records))
    }

    /// Returns the deadline of a timer that is pending on this shard. `word` is the timer's word.
    pub(crate) fn deadline(&self, p: Link<G>, word: Word) -> Tick {
        match word.whole() {
            Some((deadline, _)) => deadline,
            None => self.wheels[usize::from(self.records.node(p).deferrable)].deadline(&self.records, p),
        }
    }

    /// Returns whether a timer that is pending on this shard is due.
    pub(crate) fn is_due(&self, node: &Arc<Node<G>>) -> bool {
        let wheel = &self.wheels[usize::from(node.deferrable)];
        wheel.expiry(&self.records, Link::of(node)) <= self.now
    }

    /// Returns the thread that runs this timer's callback, if it is running.
    pub(crate) fn runs(&self, node: &Arc<Node<G>>) -> Option<ThreadId> {
        self.running.filter(|&(p, _)| p == Link::of(node)).map(|(_, thread)| thread)
    }

    /// Unlinks the first timer of the two wheels that is due at `until`. If both wheels have a
    /// timer that is due at the same tick, it unlinks the one that wakes a driver. Because the
    /// earlier timer always comes first, neither wheel starves the other, however small the budget
    /// is.
    fn pop(&mut self, until: Tick, budget: &mut usize) -> Option<Due<Link<G>>> {
        let Self { wheels, records, .. } = self;
        let mut due = |which: usize| Some((wheels[which].due(records, until, budget)?.expiry, which));
        // The smaller tuple belongs to the earlier timer. If both timers are due at the same tick,
        // it belongs to the wheel of timers that wake a driver. An arm can have advanced a wheel
        // beyond `until`.
        let (_, which) =
            [due(0), due(1)].into_iter().flatten().filter(|&(expiry, _)| expiry <= until).min()?;
        let popped = self.wheels[which].pop(&mut self.records, until, budget)?;
        self.len[which] -= 1;
        Some(popped)
    }

    /// If the budget allows it, takes the first timer that is due at `until` out of its wheel. From
    /// now on the timer is firing.
    pub(crate) fn take(&mut self, until: Tick, budget: &mut usize, thread: ThreadId) -> Option<Taken<G>> {
        let popped = self.pop(until, budget)?;
        let timer = Self::release(popped.handle);
        // Acquire, so that the callback sees everything that threads wrote before they re-armed the
        // timer. Because this is an exchange, the old value has the last deadline, and any later
        // re-arm sees that the timer is firing.
        let word = Word(timer.node.word.swap(Word::FIRING.0, Ordering::Acquire));
        let deadline = word.whole().map_or(popped.deadline, |(deadline, _)| deadline);
        timer.node.ghost.fired(deadline, until);
        self.running = Some((popped.handle, thread));
        Some(Taken { timer, deadline, expiry: popped.expiry })
    }

    /// Notes that the callback of the timer has returned or panicked.
    pub(crate) fn finish(&mut self, base: &Base<G>, node: &Node<G>) {
        self.running = None;
        node.note_end();
        tell(&base.ended, self);
    }

    /// Removes the state of other threads in a forked child, where those threads do not exist. In
    /// the child no other thread waits or runs a pass. If such a pass was firing a timer, the timer
    /// becomes idle, unless it was armed again.
    fn forget_threads(&mut self) {
        self.waiters.forget();
        let Some((p, thread)) = self.running else { return };
        let (forker, here) = fork::forker();
        if thread == forker {
            self.running = Some((p, here));
        } else {
            (self.running, self.expiring) = (None, false);
            // The node is alive, because the pass that fired it holds a count. That count is on the
            // stack of a thread that does not exist in the child, so it is never released.
            self.records.node(p).note_end();
        }
    }

    /// Returns how many timers are pending, including deferrable ones.
    pub(crate) fn len(&self) -> usize {
        self.len[0] + self.len[1]
    }

    /// Returns the next tick at which a driver must wake. Deferrable timers are ignored.
    pub(crate) fn next_wake(&self) -> Option<Tick> {
        self.wheels[0].next_wake(&self.records)
    }

    /// Returns the exact expiry of the first timer that is not deferrable.
    pub(crate) fn next_expiry(&self) -> Option<Tick> {
        self.wheels[0].next_expiry(&self.records)
    }

    /// Returns whether neither a deferrable timer nor any other timer is due at `until`.
    pub(crate) fn is_done(&self, until: Tick) -> bool {
        self.wheels.iter().all(|wheel| wheel.next_wake(&self.records).is_none_or(|wake| wake > until))
    }

    /// Visits every pending timer.
    pub(crate) fn for_each(&self, mut visit: impl FnMut(Link<G>, &Node<G>)) {
        for wheel in self.wheels.iter() {
            wheel.for_each(&self.records, |p| visit(p, self.records.node(p)));
        }
    }

    /// Checks the wheels, and checks that each timer's word agrees with its wheel.
    pub(crate) fn check(&self, shard: usize) -> Result<(), Violation> {
        for (wheel, &len) in self.wheels.iter().zip(&self.len) {
            wheel.check(&self.records, len)?;
        }
        let (mut found, mut result) = (0, Ok(()));
        self.for_each(|p, node| {
            found += 1;
            let wheel = &self.wheels[usize::from(node.deferrable)];
            let word = Word(node.word.load(Ordering::Relaxed));
            if node.shard.load(Ordering::Relaxed) as usize != shard {
                result = Err(Violation::Owner);
            } else if word.state() != State::Pending {
                result = Err(Violation::Position);
            } else if let (Some((deadline, level)), Some(filed)) =
                (word.whole(), G::level(wheel, &self.records, p))
                // A timer that is due but not taken yet can have been reduced without leaving its
                // bucket.
                && wheel.expiry(&self.records, p) > self.now
            {
                let noted = wheel.deadline(&self.records, p);
                // If the deadline in the word had already passed when the timer was armed, the
                // deadline in the wheel's record is later.
                let same = G::same_bucket(deadline, noted, level);
                if filed != level || !same && deadline > noted {
                    result = Err(Violation::Bucket);
                }
            }
        });
        if found == self.len() { result } else { Err(Violation::Count) }
    }
}

impl<G: WheelGeometry> Node<G> {
    /// Notes that the timer's callback has ended. If a re-arm or a shutdown has written the word
    /// during the callback, the word is not changed.
    fn note_end(&self) {
        let (firing, idle) = (Word::FIRING.0, Word::IDLE.0);
        self.ghost.ended();
        let _ = self.word.compare_exchange(firing, idle, Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// The guard of a timer's shard and, if the timer moves to another shard, the guard of that shard.
pub(crate) struct Held<'a, G: WheelGeometry> {
    pub(crate) base: &'a Base<G>,
    pub(crate) home: MutexGuard<'a, Locked<G>>,
    pub(crate) away: Option<(u32, MutexGuard<'a, Locked<G>>)>,
}

impl<G: WheelGeometry> Drop for Set<G> {
    fn drop(&mut self) {
        self.bases.iter().for_each(|base| base.state.unregister());
    }
}

impl<G: WheelGeometry> Set<G> {
    pub(crate) fn new(shards: u32, now: Tick) -> Self {
        let () = G::FITS_THE_WORD;
        let bases = (0..shards).map(|_| Base {
            clock: AtomicU64::new(now),
            clock_word: ClockWord::none(),
            state: Slot::new(Locked::new(now), Locked::forget_threads),
            ended: Condvar::new(),
        });
        // The shards are in a box, so their addresses do not change until they are dropped.
        let set = Self { bases: bases.collect(), stripes: Stripes::new() };
        if !set.bases.iter().all(|base| base.state.register(Order::Timers)) {
            no_memory::<Base<G>>();
        }
        set
    }

    /// Returns the shard with this number. Also returns the number as a `u32`, the type in which
    /// timers store it.
    pub(crate) fn shard(&self, number: usize) -> Option<(u32, &Base<G>)> {
        // There are fewer than 2^32 shards.
        Some((u32::try_from(number).ok()?, self.bases.get(number)?))
    }

    /// Locks the shard that the timer belongs to, and `target`, in the order of their numbers.
    ///
    /// A timer leaves a shard only under that shard's lock. Therefore the timer's shard number is
    /// read again under the lock, and can no longer change then.
    pub(crate) fn lock_timer(&self, node: &Node<G>, target: Option<u32>) -> Held<'_, G> {
        loop {
            let shard = node.shard.load(Ordering::Relaxed);
            let base = &self.bases[shard as usize];
            let (home, away) = match target {
                Some(target) if target != shard => {
                    let other = &self.bases[target as usize].state;
                    let (home, other) = lock_both(&base.state, other, shard < target);
                    (home, Some((target, other)))
                }
                _ => (lock(&base.state), None),
            };
            if node.shard.load(Ordering::Relaxed) == shard {
                return Held { base, home, away };
            }
        }
    }
}

/// Takes both locks. If `in_order` is true, it takes `one` first, otherwise `two`.
pub(crate) fn lock_both<'a, T>(
    one: &'a Mutex<T>,
    two: &'a Mutex<T>,
    in_order: bool,
) -> (MutexGuard<'a, T>, MutexGuard<'a, T>) {
    if in_order {
        let one = lock(one);
        (one, lock(two))
    } else {
        let two = lock(two);
        (lock(one), two)
    }
}
