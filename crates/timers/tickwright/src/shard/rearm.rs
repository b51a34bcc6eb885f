//! Arming: first the rule and the path without the lock, then the path under the lock.
//!
//! A re-arm in the same bucket is one compare-exchange of the timer's [word](super::word). Every
//! other re-arm takes the lock of the shard. `proof.rs` has the proof. The numbers (1), (2) and (3)
//! below refer to the table of transitions there.

use core::ops::ControlFlow;

use tickwright_core::Tick;

use super::geometry::WheelGeometry;
use super::node::{Base, Held, Link, SharedTimer};
use super::results::{ArmError, Was};
use super::word::{DEADLINES, State, Word};
use crate::sync::Ordering;

/// The kinds of arming call. They differ in which timers they arm.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Arm {
    /// Arms only a timer that is not pending.
    Add,
    /// Arms any timer, pending or not.
    Modify,
    /// Arms only a timer that is pending.
    PendingOnly,
    /// Arms a timer that is not pending, or that is pending for a later deadline.
    Reduce,
}

/// Returns whether a timer that is pending at `level` with the deadline `current` can stay in its
/// bucket if its deadline becomes `deadline`. The rule has three conditions:
///
/// 1. Both deadlines have the same bucket at that level. This condition needs no clock.
/// 2. The word can hold the deadline.
/// 3. A timer armed now would not get a finer level. This condition bounds the lateness. At level 0
///    a bucket is one tick wide, so the time does not matter.
///
/// Condition 3 can also fail for the current deadline, because time has passed since the timer was
/// armed.
///
/// An example in Linux's geometry: a timer at level 2 with the deadline 1000 can stay in its bucket
/// for the deadline 1003, because the bucket that ends at 1024 covers both. It cannot stay for the
/// deadline 1024, which belongs to the next bucket. If it is re-armed for 1003 at tick 1001, it
/// cannot stay either, because a delay of 2 belongs to level 0.
#[inline]
fn fits<G: WheelGeometry>(
    current: Tick,
    level: u8,
    deadline: Tick,
    is_at_most: impl FnOnce(Tick) -> bool,
) -> bool {
    G::same_bucket(current, deadline, level)
        && deadline < DEADLINES
        && is_fine::<G>(level, deadline, is_at_most)
}

/// Returns whether condition 3 of the rule holds.
#[inline]
fn is_fine<G: WheelGeometry>(level: u8, deadline: Tick, is_at_most: impl FnOnce(Tick) -> bool) -> bool {
    level == 0 || deadline.checked_sub(G::start(level)).is_some_and(is_at_most)
}

impl<G: WheelGeometry> Base<G> {
    /// Returns whether the current tick is `latest` or earlier. The caller does not hold the lock.
    /// The current tick is `now` if that is given, and otherwise the tick of the shard's clock, but
    /// never less than the shard's published time. If only the holder of the lock can read the
    /// clock, the result is `false`.
    #[inline]
    fn is_at_most(&self, latest: Tick, now: Option<Tick>) -> bool {
        self.clock.load(Ordering::Relaxed) <= latest
            && match now {
                Some(now) => now <= latest,
                None => self.clock_word.is_at_most(latest),
            }
    }
}

impl<G: WheelGeometry> SharedTimer<G> {
    /// Arms the timer on its own shard. `now` is the current tick, if the caller knows it.
    #[inline]
    pub(super) fn arm(&self, how: Arm, deadline: Tick, now: Option<Tick>) -> Result<Was, ArmError> {
        if self.arm_unlocked(how, deadline, now) {
            Ok(Was::Pending)
        } else {
            self.arm_locked(how, deadline, None)
        }
    }

    /// Transition (1): writes the word if the word's old value allows it. It does not wait for
    /// other threads. Returns `false` if the caller must take the lock.
    #[inline]
    fn arm_unlocked(&self, how: Arm, deadline: Tick, now: Option<Tick>) -> bool {
        let node = &*self.node;
        let mut seen = self.word();
        let mut lost_race = false;
        for _ in 0..2 {
            let Some(next) = self.admitted(how, seen, deadline, now) else { break };
            // The ordering is Release, and the exchange is made even if the word stays the same,
            // because the callback must see what the caller wrote before the re-arm.
            match node.word.compare_exchange(seen.0, next.0, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => {
                    if next == seen && seen.deadline() != deadline {
                        node.ghost.kept();
                        node.set.stripes.count_no_op();
                    } else {
                        node.ghost.armed(deadline, true);
                        node.set.stripes.count_match();
                    }
                    return true;
                }
                Err(now) => (seen, lost_race) = (Word(now), true),
            }
        }
        if lost_race {
            node.set.stripes.count_lost_race();
        }
        false
    }

    /// Returns the word with which transition (1) can replace `seen`, or `None` if the lock is
    /// needed.
    #[inline]
    fn admitted(&self, how: Arm, seen: Word, deadline: Tick, now: Option<Tick>) -> Option<Word> {
        let (current, level) = seen.whole()?;
        let deadline = if how == Arm::Reduce { deadline.min(current) } else { deadline };
        let base = self.node.set.bases.get(self.node.shard.load(Ordering::Relaxed) as usize)?;
        fits::<G>(current, level, deadline, |latest| base.is_at_most(latest, now))
            .then(|| Word::pending(deadline, level))
    }
}

// Arming under the lock.

/// The outcome of a call under the lock. It determines the call's result, and which field of the
/// statistics is incremented.
enum Outcome {
    Matched,
    Requeued,
    Started,
    Kept,
    StillIdle,
    Refused(ArmError),
}

impl<G: WheelGeometry> SharedTimer<G> {
    /// Transitions (2) and (3): arms the timer under the lock of its shard, and also under the lock
    /// of the target shard if there is one.
    #[cold]
    #[inline(never)]
    pub(super) fn arm_locked(&self, how: Arm, deadline: Tick, target: Option<u32>) -> Result<Was, ArmError> {
        let mut held = self.node.set.lock_timer(&self.node, target);
        held.home.read_clock(held.base);
        if let Some((target, away)) = &mut held.away {
            away.read_clock(&self.node.set.bases[*target as usize]);
            held.home.statistics.locks += 1;
        }
        let outcome = self.arm_held(&mut held, how, deadline);
        let inserted = matches!(outcome, Outcome::Requeued | Outcome::Started);
        let statistics = &mut held.home.statistics;
        let (column, answer) = match outcome {
            Outcome::Matched => (&mut statistics.matched, Ok(Was::Pending)),
            Outcome::Requeued => (&mut statistics.requeued, Ok(Was::Pending)),
            Outcome::Started => (&mut statistics.started, Ok(Was::Idle)),
            Outcome::Kept => (&mut statistics.no_op, Ok(Was::Pending)),
            Outcome::StillIdle => (&mut statistics.no_op, Ok(Was::Idle)),
            Outcome::Refused(why) => (&mut statistics.refused, Err(why)),
        };
        *column += 1;
        // An alarm is user code, so it is called last, when words and wheels are consistent.
        if inserted {
            // A reduce can have kept an earlier deadline, so the alarm is set as for the earliest
            // possible deadline.
            held.set_alarm_earlier(if how == Arm::Reduce { 0 } else { deadline });
        }
        answer
    }

    fn arm_held(&self, held: &mut Held<'_, G>, how: Arm, deadline: Tick) -> Outcome {
        let node = &self.node;
        // Only the holder of this lock changes the state. Other threads can change the deadline
        // until this thread exchanges the word.
        let word = self.word();
        match word.state() {
            State::Dead => return Outcome::Refused(ArmError::ShutDown),
            _ if held.is_closed() => return Outcome::Refused(ArmError::ShardsGone),
            State::Pending => {}
            State::Idle | State::Firing if how == Arm::PendingOnly => return Outcome::StillIdle,
            State::Idle | State::Firing => {
                let p = Link::retain(node);
                let next = held.insert(self, p, deadline);
                node.word.swap(next.0, Ordering::Relaxed);
                node.ghost.armed(deadline, false);
                return Outcome::Started;
            }
        }
        let deadline = match how {
            Arm::Add => return Outcome::Refused(ArmError::AlreadyPending),
            Arm::Reduce => match self.reduce_parked(held, deadline) {
                ControlFlow::Continue(deadline) => deadline,
                ControlFlow::Break(outcome) => return outcome,
            },
            Arm::Modify | Arm::PendingOnly => deadline,
        };
        let p = Link::of(node);
        held.home.remove(p);
        let next = held.insert(self, p, deadline);
        // This is an exchange and not a store, so that it continues the release sequence of earlier
        // unlocked re-arms, and a later take also sees what those threads wrote.
        node.word.swap(next.0, Ordering::Relaxed);
        if how != Arm::Reduce {
            node.ghost.armed(deadline, true);
        }
        Outcome::Requeued
    }

    /// Transition (3): parks the word of a pending timer. If the timer must be inserted again,
    /// returns the earlier one of `deadline` and the timer's old deadline. Otherwise returns the
    /// outcome.
    ///
    /// Only the holder of the lock writes a parked word. Until the word is parked, an unlocked
    /// re-arm can still set another deadline, which can be earlier than `deadline`.
    #[inline(never)]
    fn reduce_parked(&self, held: &Held<'_, G>, deadline: Tick) -> ControlFlow<Outcome, Tick> {
        let node = &self.node;
        let before = Word(node.word.fetch_or(Word::PARK, Ordering::Relaxed));
        let current = held.home.deadline(Link::of(node), before);
        let is_earlier = deadline < current;
        let deadline = deadline.min(current);
        if is_earlier {
            node.ghost.armed(deadline, true);
        } else {
            node.ghost.kept();
        }
        let is_at_most = |latest| held.home.now <= latest;
        let next = match before.whole() {
            // The timer is due, and stays in its bucket, because a reduce must not make it later.
            // With level 0 in the word, the unlocked path admits no other deadline.
            _ if held.home.is_due(node) => Word::pending(deadline, 0),
            Some((_, level)) if fits::<G>(current, level, deadline, is_at_most) => {
                Word::pending(deadline, level)
            }
            // The word does not have the timer's level, so the last level, which has the widest
            // buckets, is assumed.
            None if !is_earlier && is_fine::<G>(G::TOP, deadline, is_at_most) => before,
            _ => return ControlFlow::Continue(deadline),
        };
        node.word.swap(next.0, Ordering::Relaxed);
        ControlFlow::Break(if is_earlier { Outcome::Matched } else { Outcome::Kept })
    }
}

impl<G: WheelGeometry> Held<'_, G> {
    fn is_closed(&self) -> bool {
        self.home.closed || self.away.as_ref().is_some_and(|(_, away)| away.closed)
    }

    fn set_alarm_earlier(&mut self, deadline: Tick) {
        self.home.set_alarm_earlier(deadline);
        if let Some((_, away)) = &mut self.away {
            away.set_alarm_earlier(deadline);
        }
    }

    /// Inserts a timer that is in no wheel. It is inserted on the target shard, unless its callback
    /// is running. In that case it stays on the shard where the callback runs.
    fn insert(&mut self, timer: &SharedTimer<G>, p: Link<G>, deadline: Tick) -> Word {
        let node = &timer.node;
        let shard = match &mut self.away {
            Some((target, shard)) if self.home.runs(node).is_none() => {
                node.shard.store(*target, Ordering::Relaxed);
                shard
            }
            _ => &mut self.home,
        };
        let delay = deadline.saturating_sub(shard.now);
        let delay_ns = delay.saturating_mul(shard.outside.ticks.nanoseconds());
        shard.statistics.delays.note(delay_ns);
        shard.insert(node, p, deadline)
    }
}
