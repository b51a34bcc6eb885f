//! Which thread may take what another one leaves: one atomic word, the generation above and flags
//! below.
//!
//! | flag | set by | meaning |
//! |---|---|---|
//! | alive | the creator | the record names a thread |
//! | finished | the thread, once, when its outcome is written | the outcome may be read |
//! | claimed | one joiner, by compare-exchange | it reads the outcome and releases the record |
//! | waited | the claimant, after it has said whom to wake | the thread wakes it |
//! | left | a thread that leaves a panic, unless it is detached | its detacher takes the panic |
//! | taken | that detacher, when it has | the second of thread and detacher releases it |
//! | detached | one caller, or the creator | the second of thread and caller releases it |
//!
//! # Invariants
//! 1. Claimed and detached exclude each other; waited implies claimed.
//! 2. One party releases: the claimant after finished; of a detached thread the thread itself,
//!    or the detacher if finished came first.
//! 3. A generation is never issued twice, so an operation with an old id changes nothing. Each
//!    operation changes the word by compare-exchange from a value with its own generation. Only
//!    `finish` does not: the thread itself calls it while it holds the record.
//! 4. The outcome happens before it is read: `finish` releases, the claim or the look that finds
//!    finished acquires. Whom to wake happens before it is woken: setting waited releases, `finish`
//!    acquires.

use crate::error::JoinError;
use crate::id::Series;
use crate::primitive::{AtomicU64, Ordering};

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

/// What a thread must do that has finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leaves {
    /// Nothing: the thread that joins or detaches it does the rest.
    ToJoiner,
    /// Wake the joiner.
    Waited,
    /// Release the record.
    Detached,
}

/// What the caller must do that has detached a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detached {
    /// Nothing: the thread does the rest.
    Running,
    /// Take what it has left, and say so.
    Left,
    /// Release the record.
    Finished,
}

/// What a thread that claims the word gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// The outcome may be read.
    Finished,
    /// The thread runs.
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

    /// Whose first generation is the one after that.
    pub(crate) fn after(generation: u32) -> Self {
        Self(AtomicU64::new(u64::from(generation) << 32))
    }

    /// Names a new thread. The caller holds the free record. `None` when its generations are used
    /// up.
    pub(crate) fn issue(&self, detached: bool) -> Option<u32> {
        let generation = Series::next(generation_of(self.0.load(Ordering::Relaxed)))?;
        let flags = if detached { ALIVE | DETACHED } else { ALIVE };
        self.0.store(u64::from(generation) << 32 | flags, Ordering::Release);
        Some(generation)
    }

    /// The record names no thread from now on. The thread that releases it calls this.
    pub(crate) fn release(&self) {
        let generation = generation_of(self.0.load(Ordering::Relaxed));
        self.0.store(u64::from(generation) << 32, Ordering::Release);
    }

    /// Whether that thread exists: it runs, or waits to be joined.
    pub(crate) fn exists(&self, generation: u32) -> bool {
        self.look(generation).is_ok()
    }

    /// Whether that thread has finished, and is not released yet.
    pub(crate) fn is_finished(&self, generation: u32) -> bool {
        self.look(generation).is_ok_and(|word| word & FINISHED != 0)
    }

    /// Whether no thread will join that one.
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

    /// Changes the word of that thread, or says why not. Returns what it was.
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

    /// Becomes the joiner. With `finished_only`, not of a thread that runs: `Busy`.
    pub(crate) fn claim(&self, generation: u32, finished_only: bool) -> Result<Claim, JoinError> {
        let before = self.change(generation, |word| match word {
            _ if word & (DETACHED | CLAIMED) != 0 => Err(JoinError::NotJoinable),
            _ if finished_only && word & FINISHED == 0 => Err(JoinError::Busy),
            _ => Ok(word | CLAIMED),
        })?;
        Ok(if before & FINISHED != 0 { Claim::Finished } else { Claim::Running })
    }

    /// The claimant has named the thread to wake, and will wait.
    pub(crate) fn expect(&self, generation: u32) -> Claim {
        let running = self.change(generation, |word| {
            if word & FINISHED == 0 { Ok(word | WAITED) } else { Err(JoinError::Busy) }
        });
        if running.is_ok() { Claim::Running } else { Claim::Finished }
    }

    /// The claimant gives up, unless the thread has finished: then it has to take what it left.
    pub(crate) fn withdraw(&self, generation: u32) -> Claim {
        let running = self.change(generation, |word| {
            if word & FINISHED == 0 { Ok(word & !(CLAIMED | WAITED)) } else { Err(JoinError::Busy) }
        });
        if running.is_ok() { Claim::Running } else { Claim::Finished }
    }

    /// Nobody will join it.
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

    /// The thread has written a panic, and will finish. False: it is detached, and has to take the
    /// panic back.
    pub(crate) fn settle(&self, generation: u32) -> bool {
        let settled = self.change(generation, |word| {
            if word & DETACHED == 0 { Ok(word | LEFT) } else { Err(JoinError::NotJoinable) }
        });
        settled.is_ok()
    }

    /// The caller that has detached it has taken what it left. True: the caller releases the
    /// record.
    pub(crate) fn taken(&self) -> bool {
        self.0.fetch_or(TAKEN, Ordering::AcqRel) & FINISHED != 0
    }

    /// The thread has written its outcome.
    pub(crate) fn finish(&self) -> Leaves {
        match self.0.fetch_or(FINISHED, Ordering::AcqRel) {
            // The one who detaches it takes its panic just now, and releases the record.
            word if word & DETACHED != 0 && word & (LEFT | TAKEN) == LEFT => Leaves::ToJoiner,
            word if word & DETACHED != 0 => Leaves::Detached,
            word if word & WAITED != 0 => Leaves::Waited,
            _ => Leaves::ToJoiner,
        }
    }
}
