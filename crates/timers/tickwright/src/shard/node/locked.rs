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
    /// Advances the clock, and never moves it back.
    pub(crate) fn forward(&mut self, base: &Base<G>, now: Tick) {
        if now > self.now {
            self.now = now;
            base.clock.store(now, Ordering::Relaxed);
        }
    }

    /// Publishes which clock the shard has. Each change of the clock or the ticks ends with this
    /// call.
    pub(crate) fn publish_clock(&self, base: &Base<G>) {
        base.clock_word.publish(self.outside.clock.as_deref(), self.outside.ticks);
    }

    /// Advances the shard's time to its own clock, if it has one. If the time stood still while the
    /// driver slept, a new timer would get a bucket that is too coarse.
    pub(crate) fn read_clock(&mut self, base: &Base<G>) {
        if let Some(clock) = &self.outside.clock {
            let now = self.outside.ticks.now(clock.now());
            self.forward(base, now);
        }
    }

    /// Sets the alarm if it would go off too late for a timer that was armed for `deadline`. The
    /// alarm is code of the caller, so words and wheels must be consistent before the call.
    ///
    /// If the deadline is not before the alarm's time, the alarm is not changed. The end of a pass
    /// sets the alarm in any case.
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

    /// Sets the alarm to the next wake-up, even if that has not changed, because the alarm may have
    /// gone off meanwhile.
    pub(crate) fn set_alarm(&mut self) {
        if let Some(alarm) = &self.outside.alarm {
            let wake = self.next_wake();
            self.outside.at = wake;
            alarm.set(wake.and_then(|wake| self.outside.start(wake)));
        }
    }

    /// Inserts a timer that is in no wheel. This shard holds a count of the timer. Returns the word
    /// that the caller must write.
    pub(crate) fn insert(&mut self, node: &Node<G>, p: Link<G>, deadline: Tick) -> Word {
        let (which, now) = (usize::from(node.deferrable), self.now);
        let wheel = &mut self.wheels[which];
        self.len[which] += 1;
        // A timer armed for the past during a pass fires at the next tick, which is after the time
        // of the pass. Otherwise the pass might never end.
        let _ = if self.expiring {
            G::insert_behind(wheel, &mut self.records, p, deadline, now)
        } else {
            wheel.insert(&mut self.records, p, deadline, now)
        };
        let level = match G::level(wheel, &self.records, p) {
            Some(level) => level,
            // The timer is due at once. At level 0 the word admits only the same deadline again.
            None if deadline <= now => 0,
            None => PARKED,
        };
        Word::pending(deadline, level)
    }

    /// Takes a timer that is pending here out of its wheel. This shard keeps its count of the
    /// timer. As in all functions that take a link, `p` is in a wheel of this shard, or the caller
    /// holds a count.
    pub(crate) fn remove(&mut self, p: Link<G>) {
        let which = usize::from(self.records.node(p).deferrable);
        self.len[which] -= 1;
        let _ = self.wheels[which].remove(&mut self.records, p);
    }

    /// Takes a timer that is pending here out of its wheel, and returns the shard's count of it.
    pub(crate) fn take_out(&mut self, p: Link<G>) -> SharedTimer<G> {
        self.remove(p);
        Self::release(p)
    }

    /// Moves one timer that is pending here to another shard. The timer keeps its deadline. Returns
    /// whether this shard had a pending timer.
    pub(crate) fn hand_one_over(&mut self, target: &mut Self, number: u32) -> bool {
        let Some(p) = self.any() else { return false };
        let node = self.records.node(p);
        // Only the holder of the lock writes a parked word. This is an exchange, so an unlocked
        // re-arm either comes before it and counts, or comes after it and takes the lock.
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
        // Relaxed is enough: a thread that re-armed held a reference. Its count orders that
        // thread's writes before the timer's drop.
        timer.node.word.swap(Word::IDLE.0, Ordering::Relaxed);
        timer.node.ghost.withdrawn(true, false);
        Some(timer)
    }

    /// Returns any pending timer, if there is one.
    fn any(&self) -> Option<Link<G>> {
        self.wheels.iter().find_map(|wheel| wheel.any(&self.records))
    }

    /// Returns the deadline of a timer that is pending here. `word` is the timer's word.
    pub(crate) fn deadline(&self, p: Link<G>, word: Word) -> Tick {
        match word.whole() {
            Some((deadline, _)) => deadline,
            None => self.wheels[usize::from(self.records.node(p).deferrable)].deadline(&self.records, p),
        }
    }

    /// Returns whether a timer that is pending here is due but not yet taken.
    pub(crate) fn is_due(&self, node: &Arc<Node<G>>) -> bool {
        let wheel = &self.wheels[usize::from(node.deferrable)];
        wheel.expiry(&self.records, Link::of(node)) <= self.now
    }

    /// Returns the thread that runs this timer's callback, if it is running.
    pub(crate) fn runs(&self, node: &Arc<Node<G>>) -> Option<ThreadId> {
        self.running.filter(|&(p, _)| p == Link::of(node)).map(|(_, thread)| thread)
    }

    /// Unlinks the first timer of both wheels that is due at `until`. Of two timers that are due at
    /// the same tick it takes the timer that wakes a driver. Therefore neither kind of timer
    /// starves the other, however small the budget is.
    fn pop(&mut self, until: Tick, budget: &mut usize) -> Option<Due<Link<G>>> {
        let Self { wheels, records, .. } = self;
        let mut due = |which: usize| Some((wheels[which].due(records, until, budget)?.expiry, which));
        // The smaller tuple belongs to the earlier timer, or to the standard wheel if both timers
        // are equally early. An arm may have moved a wheel beyond `until`.
        let (_, which) =
            [due(0), due(1)].into_iter().flatten().filter(|&(expiry, _)| expiry <= until).min()?;
        let popped = self.wheels[which].pop(&mut self.records, until, budget)?;
        self.len[which] -= 1;
        Some(popped)
    }

    /// Takes the first timer that is due at `until` out of its wheel, if the budget allows it. From
    /// now on the timer is firing.
    pub(crate) fn take(&mut self, until: Tick, budget: &mut usize, thread: ThreadId) -> Option<Taken<G>> {
        let popped = self.pop(until, budget)?;
        let timer = Self::release(popped.handle);
        // Acquire, so that the callback sees everything that was written before any re-arm that
        // counted. This is an exchange, so its old value is the last deadline, and a later re-arm
        // sees that the timer fires.
        let word = Word(timer.node.word.swap(Word::FIRING.0, Ordering::Acquire));
        let deadline = word.whole().map_or(popped.deadline, |(deadline, _)| deadline);
        timer.node.ghost.fired(deadline, until);
        self.running = Some((popped.handle, thread));
        Some(Taken { timer, deadline, expiry: popped.expiry })
    }

    /// Notes that the callback of the timer has returned or was unwound.
    pub(crate) fn finish(&mut self, base: &Base<G>, node: &Node<G>) {
        self.running = None;
        node.note_end();
        tell(&base.ended, self);
    }

    /// Called in a forked child, which has no other threads. No thread waits there, and another
    /// thread's pass is over. The timer that such a pass was firing is idle, unless it was armed
    /// again.
    fn forget_threads(&mut self) {
        self.waiters.forget();
        let Some((p, thread)) = self.running else { return };
        let (forker, here) = fork::forker();
        if thread == forker {
            self.running = Some((p, here));
        } else {
            (self.running, self.expiring) = (None, false);
            // Its pass holds a count on the stack of a thread that does not exist in the child, so
            // the node stays alive.
            self.records.node(p).note_end();
        }
    }

    /// Returns how many timers are pending, including deferrable ones.
    pub(crate) fn len(&self) -> usize {
        self.len[0] + self.len[1]
    }

    /// Returns the next tick at which a driver must wake. Deferrable timers do not count.
    pub(crate) fn next_wake(&self) -> Option<Tick> {
        self.wheels[0].next_wake(&self.records)
    }

    /// Returns the exact expiry of the first timer that is not deferrable.
    pub(crate) fn next_expiry(&self) -> Option<Tick> {
        self.wheels[0].next_expiry(&self.records)
    }

    /// Returns whether no timer is due at `until`, deferrable or not.
    pub(crate) fn is_done(&self, until: Tick) -> bool {
        self.wheels.iter().all(|wheel| wheel.next_wake(&self.records).is_none_or(|wake| wake > until))
    }

    /// Visits every pending timer.
    pub(crate) fn for_each(&self, mut visit: impl FnMut(Link<G>, &Node<G>)) {
        for wheel in self.wheels.iter() {
            wheel.for_each(&self.records, |p| visit(p, self.records.node(p)));
        }
    }

    /// Checks the wheels, and each timer's word against them.
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
                // A due timer that the wheel has not moved yet may have been reduced in its place.
                && wheel.expiry(&self.records, p) > self.now
            {
                let noted = wheel.deadline(&self.records, p);
                // The wheel's deadline is later than the word's deadline if the word's deadline had
                // passed when the timer was armed.
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
    /// meanwhile, the word stays.
    fn note_end(&self) {
        let (firing, idle) = (Word::FIRING.0, Word::IDLE.0);
        self.ghost.ended();
        let _ = self.word.compare_exchange(firing, idle, Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// The lock of a timer's shard and, if the timer moves to another shard, the lock of that shard.
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
        // The shards are in a box, and keep their addresses until they are dropped.
        let set = Self { bases: bases.collect(), stripes: Stripes::new() };
        if !set.bases.iter().all(|base| base.state.register(Order::Timers)) {
            no_memory::<Base<G>>();
        }
        set
    }

    /// Returns the shard with this number. The number is also returned, as the `u32` that timers
    /// store.
    pub(crate) fn shard(&self, number: usize) -> Option<(u32, &Base<G>)> {
        // There are fewer than 2^32 shards.
        Some((u32::try_from(number).ok()?, self.bases.get(number)?))
    }

    /// Locks the shard that the timer belongs to, and `target`, in the order of their numbers.
    ///
    /// A timer leaves a shard only under that shard's lock, so the number is read again under the
    /// lock and is then right.
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

/// Takes both locks: first `one` if `in_order`, otherwise first `two`.
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
