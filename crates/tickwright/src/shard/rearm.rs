//! Arming: one compare-exchange where the timer may stay in its bucket, else under the lock.

use core::fmt;

use tickwright_core::Tick;

use super::base::{Held, Set};
use super::specimen::{self, Posting};
use super::timer::{Link, SharedTimer};
use super::variant::{How, Variant, Wheel};
use super::word::{DEADLINES, PARKED, State, Word};
use crate::sync::Ordering;

/// Why a timer was not armed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ArmError {
    /// It is pending already.
    AlreadyPending,
    /// It was shut down.
    ShutDown,
    /// The [`Shards`](super::Shards) that it was made from were dropped.
    ShardsGone,
    /// There is no shard of that number.
    NoSuchShard,
}

impl fmt::Display for ArmError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AlreadyPending => "the timer is pending already: modify it instead",
            Self::ShutDown => "the timer was shut down and cannot be armed again: make a new one",
            Self::ShardsGone => "the timer's shards were dropped: make a timer on shards that are in use",
            Self::NoSuchShard => "there is no shard of that number: they count from 0 to Shards::len() - 1",
        })
    }
}

impl core::error::Error for ArmError {}

/// What the caller wants.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Arm {
    /// Only if it is not pending.
    Add,
    /// In any case.
    Modify,
    /// Only if it is pending.
    PendingOnly,
    /// If it is not pending, or pending for later.
    Reduce,
}

/// What came of an attempt without the lock.
enum Unlocked {
    Done,
    Not(Before),
}

/// What a call did before it took the lock.
#[derive(Clone, Copy, Default)]
struct Before {
    /// It lost a compare-exchange.
    lost: bool,
    /// The clock with which it computed a bucket index (the patch as posted alone).
    clock: Option<Tick>,
}

/// How a call ended: the column of the statistics, and the answer.
enum Outcome {
    Matched,
    Requeued,
    Started,
    Kept,
    StillIdle,
    Refused(ArmError),
}

impl<V: Variant> SharedTimer<V> {
    /// Arms a timer that is not pending, on the shard that it belongs to.
    ///
    /// A deadline at or before the shard's clock leaves at the next advance; while a pass over this shard is under way, at the next tick
    /// (at `u64::MAX`, which has none, in the next pass).
    ///
    /// # Errors
    /// [`ArmError::AlreadyPending`], [`ArmError::ShutDown`], [`ArmError::ShardsGone`]; nothing has changed then.
    pub fn add(&self, deadline: Tick) -> Result<(), ArmError> {
        self.arm_locked(Arm::Add, deadline, None, Before::default()).map(|_| ())
    }

    /// The same on another shard, to which the timer then belongs. While its callback runs it stays where that runs.
    ///
    /// # Errors
    /// As [`add`](Self::add), and [`ArmError::NoSuchShard`].
    pub fn add_on(&self, shard: usize, deadline: Tick) -> Result<(), ArmError> {
        let shard = self.target(shard)?;
        self.arm_locked(Arm::Add, deadline, Some(shard), Before::default()).map(|_| ())
    }

    /// Arms the timer for `deadline`, whether it is pending or not; says whether it was. If it was, everything that the caller wrote before
    /// is seen by the callback.
    ///
    /// With [`LockFree`](super::LockFree) this is one compare-exchange if the deadline falls into the bucket in which the timer
    /// stands and a timer armed anew would not get a finer level, by the time that the shard was last told ([`modify_at`](Self::modify_at) knows better). It then stays on its shard and in its place in the bucket.
    ///
    /// # Errors
    /// [`ArmError::ShutDown`], [`ArmError::ShardsGone`]; nothing has changed then.
    #[inline]
    pub fn modify(&self, deadline: Tick) -> Result<bool, ArmError> {
        self.arm(Arm::Modify, deadline, 0)
    }

    /// The same by a caller who knows what time it is, in the shard's ticks. Without the lock it is then judged by that, if it is later than what the
    /// shard was told last: under a driver that sleeps, a time-out that is shortened is not left in a bucket much wider than its delay.
    /// A `now` that is wrong costs precision or a lock, and nothing else.
    ///
    /// # Errors
    /// As [`modify`](Self::modify).
    #[inline]
    pub fn modify_at(&self, deadline: Tick, now: Tick) -> Result<bool, ArmError> {
        self.arm(Arm::Modify, deadline, now)
    }

    /// The same, on another shard. Takes the locks of both; a timer whose callback runs stays where it runs.
    ///
    /// # Errors
    /// As [`modify`](Self::modify), and [`ArmError::NoSuchShard`].
    pub fn modify_on(&self, shard: usize, deadline: Tick) -> Result<bool, ArmError> {
        let shard = self.target(shard)?;
        self.arm_locked(Arm::Modify, deadline, Some(shard), Before::default())
    }

    /// As [`modify`](Self::modify), but a timer that is not pending is left so, and the answer is `false`.
    ///
    /// # Errors
    /// As [`modify`](Self::modify).
    #[inline]
    pub fn modify_pending(&self, deadline: Tick) -> Result<bool, ArmError> {
        self.arm(Arm::PendingOnly, deadline, 0)
    }

    /// As [`modify`](Self::modify), but a pending timer is only ever moved to an earlier deadline.
    ///
    /// # Errors
    /// As [`modify`](Self::modify).
    #[inline]
    pub fn reduce(&self, deadline: Tick) -> Result<bool, ArmError> {
        self.arm(Arm::Reduce, deadline, 0)
    }

    fn target(&self, shard: usize) -> Result<u32, ArmError> {
        match u32::try_from(shard) {
            Ok(number) if shard < self.node.set.bases.len() => Ok(number),
            _ => Err(ArmError::NoSuchShard),
        }
    }

    #[inline]
    fn arm(&self, how: Arm, deadline: Tick, now: Tick) -> Result<bool, ArmError> {
        if V::HOW == How::AsPosted {
            return self.arm_as_posted(how, deadline);
        }
        match self.arm_unlocked(how, deadline, now) {
            Unlocked::Done => Ok(true),
            Unlocked::Not(before) => self.arm_locked(how, deadline, None, before),
        }
    }

    /// The unlocked path: writes the word if its own value gives the right to. Waits for nobody.
    #[inline]
    fn arm_unlocked(&self, how: Arm, deadline: Tick, now: Tick) -> Unlocked {
        let node = &*self.node;
        let mut seen = self.word();
        let mut before = Before::default();
        for _ in 0..2 {
            let Some(next) = self.admitted(how, seen, deadline, now) else { break };
            // Release, and an exchange even if the word stays the same: the callback shall see what the caller wrote.
            match node.word.compare_exchange(seen.0, next.0, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => {
                    if next == seen && seen.deadline() != deadline {
                        node.ghost.kept();
                        node.set.stripes.count_no_op();
                    } else {
                        node.ghost.armed(deadline, true);
                        node.set.stripes.count_match();
                    }
                    return Unlocked::Done;
                }
                Err(now) => (seen, before.lost) = (Word(now), true),
            }
        }
        Unlocked::Not(before)
    }

    /// What the word may become without the lock.
    #[inline]
    fn admitted(&self, how: Arm, seen: Word, deadline: Tick, now: Tick) -> Option<Word> {
        let (current, level) = seen.whole()?;
        if deadline == current || how == Arm::Reduce && deadline > current {
            return Some(seen);
        }
        if V::HOW != How::LockFree {
            return None;
        }
        let base = self.node.set.bases.get(self.node.shard.load(Ordering::Relaxed) as usize)?;
        fits::<V>(current, level, deadline, || base.clock.load(Ordering::Relaxed).max(now))
            .then(|| Word::pending(deadline, level))
    }

    /// Under the lock of the timer's shard, and of the target's.
    #[cold]
    #[inline(never)]
    fn arm_locked(
        &self,
        how: Arm,
        deadline: Tick,
        target: Option<u32>,
        before: Before,
    ) -> Result<bool, ArmError> {
        let mut held = self.node.set.lock_timer(&self.node, target);
        held.look(&self.node.set);
        let outcome = self.arm_held(&mut held, how, deadline);
        let filed = matches!(outcome, Outcome::Requeued | Outcome::Started);
        let locks = 1 + u64::from(held.away.is_some());
        let now = held.home.now;
        let statistics = &mut held.home.statistics;
        statistics.locks += locks;
        statistics.lost_races += u64::from(before.lost);
        statistics.recalculated += u64::from(before.clock.is_some_and(|clock| clock != now));
        let (column, answer) = match outcome {
            Outcome::Matched => (&mut statistics.matched, Ok(true)),
            Outcome::Requeued => (&mut statistics.requeued, Ok(true)),
            Outcome::Started => (&mut statistics.started, Ok(false)),
            Outcome::Kept => (&mut statistics.no_op, Ok(true)),
            Outcome::StillIdle => (&mut statistics.no_op, Ok(false)),
            Outcome::Refused(why) => (&mut statistics.refused, Err(why)),
        };
        *column += 1;
        // All else is where it was. Last: an alarm is the caller's code.
        if filed {
            held.ring_earlier(deadline);
        }
        answer
    }

    fn arm_held(&self, held: &mut Held<'_, V>, how: Arm, deadline: Tick) -> Outcome {
        let node = &self.node;
        // The state cannot change any more: whoever changes it holds this lock. The deadline can, until the word is exchanged.
        let word = self.word();
        match word.state() {
            State::Dead => return Outcome::Refused(ArmError::ShutDown),
            _ if held.is_closed() => return Outcome::Refused(ArmError::ShardsGone),
            State::Pending => {}
            State::Idle | State::Firing if how == Arm::PendingOnly => return Outcome::StillIdle,
            State::Idle | State::Firing => {
                let p = Link::retain(node);
                let next = held.file(self, p, deadline);
                node.word.swap(next.0, Ordering::Relaxed);
                node.ghost.armed(deadline, false);
                return Outcome::Started;
            }
        }
        match how {
            Arm::Add => return Outcome::Refused(ArmError::AlreadyPending),
            Arm::Reduce => {
                // Parked, the word is nobody's but ours. Until then a re-arm without the lock may come in between, and be earlier.
                let mut seen = word;
                loop {
                    let current = match seen.whole() {
                        Some((current, _)) => node.posted.deadline().unwrap_or(current),
                        None => held.home.deadline(node),
                    };
                    if deadline >= current {
                        node.ghost.kept();
                        return Outcome::Kept;
                    }
                    let parked = Word::pending(deadline, PARKED);
                    match node.word.compare_exchange(seen.0, parked.0, Ordering::Relaxed, Ordering::Relaxed) {
                        Ok(_) => break,
                        Err(now) => seen = Word(now),
                    }
                }
                node.ghost.armed(deadline, true);
            }
            Arm::Modify | Arm::PendingOnly => {
                if held.away.is_none() && self.stays(held, word, deadline) {
                    let next = Word::pending(deadline, word.level());
                    node.word.swap(next.0, Ordering::Relaxed);
                    node.ghost.armed(deadline, true);
                    return Outcome::Matched;
                }
            }
        }
        let p = Link::of(node);
        // One that is due already keeps its place in the pass: reducing it must not make it later.
        if how == Arm::Reduce && held.home.is_due(node) {
            // Level 0 admits no other deadline without the lock.
            node.word.swap(Word::pending(deadline, 0).0, Ordering::Relaxed);
            return Outcome::Matched;
        }
        held.home.unfile(node, p);
        let next = held.file(self, p, deadline);
        // An exchange, no store: it stands in the order of the re-arms before it, and passes on what they published.
        node.word.swap(next.0, Ordering::Relaxed);
        if how != Arm::Reduce {
            node.ghost.armed(deadline, true);
        }
        Outcome::Requeued
    }

    /// Whether a pending timer may keep its place, decided under the lock.
    fn stays(&self, held: &Held<'_, V>, word: Word, deadline: Tick) -> bool {
        let Some((current, level)) = word.whole() else { return false };
        let now = held.home.now;
        match V::HOW {
            // One that is due and only not yet taken does not fit: its granule lies behind the clock.
            How::UnderLock => fits::<V>(current, level, deadline, || now),
            How::IndexUnderLock => {
                specimen::index_at::<V>(current, level) == specimen::index::<V>(deadline, now)
            }
            How::AlwaysRequeue | How::AsPosted | How::LockFree => false,
        }
    }

    /// The patch, as it was posted.
    fn arm_as_posted(&self, how: Arm, deadline: Tick) -> Result<bool, ArmError> {
        let node = &*self.node;
        let mut before = Before::default();
        if how != Arm::Reduce && self.is_pending() {
            let found = node.posted.overwrite(deadline, || {
                let base = &node.set.bases[node.shard.load(Ordering::Relaxed) as usize];
                let clock = base.clock.load(Ordering::Relaxed);
                before.clock = Some(clock);
                specimen::index::<V>(deadline, clock)
            });
            if found {
                node.ghost.armed(deadline, true);
                node.set.stripes.count_match();
                return Ok(true);
            }
        }
        self.arm_locked(how, deadline, None, before)
    }
}

impl<V: Variant> Held<'_, V> {
    fn is_closed(&self) -> bool {
        self.home.closed || self.away.as_ref().is_some_and(|(_, away)| away.closed)
    }

    fn look(&mut self, set: &Set<V>) {
        self.home.look(self.base);
        if let Some((target, away)) = &mut self.away {
            away.look(&set.bases[*target as usize]);
        }
    }

    fn ring_earlier(&mut self, deadline: Tick) {
        self.home.ring_earlier(deadline);
        if let Some((_, away)) = &mut self.away {
            away.ring_earlier(deadline);
        }
    }

    /// Files a timer that is in no wheel: on the target, unless its callback runs; then it stays where that runs.
    fn file(&mut self, timer: &SharedTimer<V>, p: Link<V>, deadline: Tick) -> Word {
        let node = &timer.node;
        match &mut self.away {
            Some((target, shard)) if self.home.runs(node).is_none() => {
                node.shard.store(*target, Ordering::Relaxed);
                shard.file(node, p, deadline)
            }
            _ => self.home.file(node, p, deadline),
        }
    }
}

/// Whether a timer that stands at `level` for `current` may be left there for `deadline`: its bucket is that of the
/// deadline too, and one armed anew would not get a finer level. The bucket needs no clock; the second, for which a stale one
/// will do, keeps the bound on lateness.
#[inline]
fn fits<V: Variant>(current: Tick, level: u8, deadline: Tick, clock: impl FnOnce() -> Tick) -> bool {
    V::Wheel::<Link<V>>::same_bucket(current, deadline, level)
        && deadline < DEADLINES
        && deadline.saturating_sub(clock()) >= V::Wheel::<Link<V>>::start(level)
}
