//! The word that determines which thread takes the outcome of an ended thread. It is one atomic
//! word, with the generation in the upper half and flags in the lower half.
//!
//! | flag | set by | meaning |
//! |---|---|---|
//! | alive | the creator | the record names a thread |
//! | finished | the thread, once, when its outcome is written | the outcome can be read |
//! | claimed | one joiner, by compare-exchange | it reads the outcome and releases the record |
//! | waited | the claimant, after it has stored whom to wake | the thread wakes the claimant |
//! | left | a thread that panicked, unless it is detached | its detacher takes the panic |
//! | taken | the detacher, after it took the panic | the later of thread and detacher releases |
//! | detached | one caller, or the creator | the later of thread and caller releases |
//!
//! # Invariants
//! 1. The flags *claimed* and *detached* are never set at the same time. While *waited* is set,
//!    *claimed* is set, too.
//! 2. Exactly one thread releases the record. A claimant releases it after the flag *finished* was
//!    set. The record of a detached thread is released by the thread itself, or by its detacher if
//!    *finished* was set before *detached*.
//! 3. A generation is never issued twice, so an operation with an old id changes nothing. Each
//!    operation except `finish` is a compare-exchange that succeeds only if the word has the
//!    generation of the operation's id. `finish` need not compare, because the thread itself calls
//!    it, and the record belongs to the thread at that time.
//! 4. The outcome is written before it is read, because `finish` is a Release, and the claim or
//!    check that finds *finished* is an Acquire. The waker is stored before it is used, because
//!    setting *waited* is a Release and `finish` is an Acquire.

use tickwright::time::Instant;

use crate::error::JoinError;
use crate::id::Series;
use crate::primitive::{AtomicU64, Ordering};
use crate::threads::Wait;

/// Waits until a thread has ended. The caller has claimed the thread, and has stored in its record
/// whom to wake. The function `forever` waits until the caller is woken. The function `until` also
/// returns at the given time, with the result false.
#[inline]
pub(crate) fn wait_for_end(
    word: &JoinWord,
    generation: u32,
    wait: Wait,
    forever: impl Fn(),
    until: impl Fn(Instant) -> bool,
) -> Result<(), JoinError> {
    if word.expect(generation) == Claim::Finished {
        return Ok(());
    }
    while !word.is_finished(generation) {
        match wait {
            Wait::Until(at) if !until(at) => {
                return match word.withdraw(generation) {
                    Claim::Finished => Ok(()),
                    Claim::Running => Err(JoinError::TimedOut),
                };
            }
            Wait::Until(_) => {}
            Wait::No | Wait::Forever => forever(),
        }
    }
    Ok(())
}

#[cfg(all(test, loom))]
mod models;
#[cfg(all(test, not(loom)))]
mod tests;

const ALIVE: u64 = 1;
const FINISHED: u64 = 2;
const CLAIMED: u64 = 4;
const WAITED: u64 = 8;
const DETACHED: u64 = 16;
const LEFT: u64 = 32;
const TAKEN: u64 = 64;

/// What a thread must do after it has set the flag *finished*.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leaves {
    /// Nothing, because the thread that joins or detaches this thread releases the record.
    ToJoiner,
    /// Wake the joiner.
    Waited,
    /// Release the record.
    Detached,
}

/// What the caller must do after it has detached a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detached {
    /// Nothing, because the detached thread releases the record.
    Running,
    /// Take the panic that the thread has left in the record, and call `taken`.
    Left,
    /// Release the record.
    Finished,
}

/// The result of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// The claimed thread has finished, and its outcome can be read.
    Finished,
    /// The claimed thread still runs.
    Running,
}

pub(crate) struct JoinWord(AtomicU64);

fn generation_of(word: u64) -> u32 {
    (word >> 32) as u32
}

impl JoinWord {
    #[cfg(test)]
    pub(crate) fn new() -> Self {
        Self::after(0)
    }

    /// Creates a word. Its first thread will get the generation that follows `generation`.
    pub(crate) fn after(generation: u32) -> Self {
        Self(AtomicU64::new(u64::from(generation) << 32))
    }

    /// Returns the generation of a new thread, or `None` if the record's generations are used up.
    /// The caller has taken the record from the free list.
    pub(crate) fn issue(&self, detached: bool) -> Option<u32> {
        let generation = Series::next(generation_of(self.0.load(Ordering::Relaxed)))?;
        let flags = if detached { ALIVE | DETACHED } else { ALIVE };
        self.0.store(u64::from(generation) << 32 | flags, Ordering::Release);
        Some(generation)
    }

    /// Notes that the record belongs to no thread. Only the thread that releases the record calls
    /// this.
    pub(crate) fn release(&self) {
        let generation = generation_of(self.0.load(Ordering::Relaxed));
        self.0.store(u64::from(generation) << 32, Ordering::Release);
    }

    /// Returns whether the thread of this generation exists: it runs, or waits to be joined.
    pub(crate) fn exists(&self, generation: u32) -> bool {
        self.look(generation).is_ok()
    }

    /// Returns whether the thread of this generation has finished, and its record is not released
    /// yet.
    pub(crate) fn is_finished(&self, generation: u32) -> bool {
        self.look(generation).is_ok_and(|word| word & FINISHED != 0)
    }

    /// Returns whether the thread of this generation is detached.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn is_detached(&self, generation: u32) -> bool {
        self.look(generation).is_ok_and(|word| word & DETACHED != 0)
    }

    fn look(&self, generation: u32) -> Result<u64, JoinError> {
        let word = self.0.load(Ordering::Acquire);
        if generation_of(word) == generation && word & ALIVE != 0 {
            Ok(word)
        } else {
            Err(JoinError::NoSuchThread)
        }
    }

    /// Changes the word if it still has this generation. Returns the old word, or an error if
    /// `change` refuses.
    fn change(
        &self,
        generation: u32,
        change: impl Fn(u64) -> Result<u64, JoinError>,
    ) -> Result<u64, JoinError> {
        let mut word = self.look(generation)?;
        loop {
            match self.0.compare_exchange_weak(word, change(word)?, Ordering::AcqRel, Ordering::Acquire) {
                Ok(word) => return Ok(word),
                Err(_) => word = self.look(generation)?,
            }
        }
    }

    /// Makes the caller the joiner. If `finished_only` is set and the thread still runs, returns
    /// the error `Busy`.
    pub(crate) fn claim(&self, generation: u32, finished_only: bool) -> Result<Claim, JoinError> {
        let before = self.change(generation, |word| match word {
            _ if word & (DETACHED | CLAIMED) != 0 => Err(JoinError::NotJoinable),
            _ if finished_only && word & FINISHED == 0 => Err(JoinError::Busy),
            _ => Ok(word | CLAIMED),
        })?;
        Ok(if before & FINISHED != 0 { Claim::Finished } else { Claim::Running })
    }

    /// Notes that the claimant has stored the thread to wake, and will wait.
    pub(crate) fn expect(&self, generation: u32) -> Claim {
        let running = self.change(generation, |word| {
            if word & FINISHED == 0 { Ok(word | WAITED) } else { Err(JoinError::Busy) }
        });
        if running.is_ok() { Claim::Running } else { Claim::Finished }
    }

    /// Gives up the claim. If the thread has finished, the claimant must take its outcome instead.
    pub(crate) fn withdraw(&self, generation: u32) -> Claim {
        let running = self.change(generation, |word| {
            if word & FINISHED == 0 { Ok(word & !(CLAIMED | WAITED)) } else { Err(JoinError::Busy) }
        });
        if running.is_ok() { Claim::Running } else { Claim::Finished }
    }

    /// Detaches the thread, so that it is never joined.
    pub(crate) fn detach(&self, generation: u32) -> Result<Detached, JoinError> {
        let before = self.change(generation, |word| {
            if word & (DETACHED | CLAIMED) == 0 { Ok(word | DETACHED) } else { Err(JoinError::NotJoinable) }
        })?;
        Ok(match before {
            word if word & FINISHED != 0 => Detached::Finished,
            word if word & LEFT != 0 => Detached::Left,
            _ => Detached::Running,
        })
    }

    /// Called by a thread that has panicked, before it calls `finish`. Returns false if the thread
    /// is detached, in which case it must drop the panic itself.
    pub(crate) fn settle(&self, generation: u32) -> bool {
        let settled = self.change(generation, |word| {
            if word & DETACHED == 0 { Ok(word | LEFT) } else { Err(JoinError::NotJoinable) }
        });
        settled.is_ok()
    }

    /// Called by the thread that detached this thread, after it has taken the panic. Returns true
    /// if the caller must release the record.
    pub(crate) fn taken(&self) -> bool {
        self.0.fetch_or(TAKEN, Ordering::AcqRel) & FINISHED != 0
    }

    /// Notes that the thread has written its outcome.
    pub(crate) fn finish(&self) -> Leaves {
        match self.0.fetch_or(FINISHED, Ordering::AcqRel) {
            // The detacher is just taking the panic, and will then release the record.
            word if word & DETACHED != 0 && word & (LEFT | TAKEN) == LEFT => Leaves::ToJoiner,
            word if word & DETACHED != 0 => Leaves::Detached,
            word if word & WAITED != 0 => Leaves::Waited,
            _ => Leaves::ToJoiner,
        }
    }
}
