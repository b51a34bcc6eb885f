//! What is asked of a store, as values: an [`Engine`] executes a [`Statement`] and returns its
//! [`Answer`].

use core::time::Duration;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::error::Error;
use crate::limits::MAX_DUE;

/// Later than every due time: nothing waits.
pub(crate) const NEVER: i64 = i64::MAX;

/// When a timer is due, by the engine's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// At a time: microseconds since 1970.
    At(i64),
    /// A number of microseconds after the engine executes the call.
    After(i64),
}

impl Due {
    /// A delay, rounded up to microseconds.
    #[must_use]
    pub fn after(delay: Duration) -> Self {
        Self::After(i64::try_from(delay.as_nanos().div_ceil(1000)).unwrap_or(i64::MAX))
    }

    /// A date, rounded up to microseconds. A date before 1970 counts as 1970.
    #[must_use]
    pub fn at(date: SystemTime) -> Self {
        let since = date.duration_since(UNIX_EPOCH).unwrap_or_default();
        Self::At(i64::try_from(since.as_nanos().div_ceil(1000)).unwrap_or(i64::MAX))
    }

    /// The due time in microseconds since 1970, if the engine's clock shows `now`.
    ///
    /// # Errors
    /// [`Error::DueOutOfRange`] if it is before 1970 or after [`MAX_DUE`].
    pub fn resolve(self, now: i64) -> Result<i64, Error> {
        let due = self.unchecked(now);
        if (0..=MAX_DUE).contains(&due) { Ok(due) } else { Err(Error::DueOutOfRange { due }) }
    }

    /// As [`resolve`](Self::resolve), with the nearest due time if it is out of range: what an
    /// adapter stores for [`Outcome::Again`].
    #[must_use]
    pub fn clamped(self, now: i64) -> i64 {
        self.unchecked(now).clamp(0, MAX_DUE)
    }

    fn unchecked(self, now: i64) -> i64 {
        match self {
            Self::At(due) => due,
            Self::After(delay) => now.saturating_add(delay),
        }
    }
}

/// A timer that waits, without its payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Its id.
    pub id: Arc<str>,
    /// When it is due, in microseconds since 1970.
    pub due: i64,
    /// Greater at each add and each replace.
    pub seq: i64,
}

/// A timer that an owner has claimed: the caller runs it, and answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Firing {
    /// The timer's id.
    pub id: Arc<str>,
    /// When it was due, in microseconds since 1970. A periodic timer that is armed again for
    /// `due + period` does not drift.
    pub due: i64,
    /// How late it was claimed, in microseconds.
    pub late: i64,
    /// 1 at the first delivery. It is greater at each repetition, and begins again after a replace.
    pub attempt: i64,
    /// The epoch of the owner. A repetition has a greater pair (fence, attempt).
    pub fence: i64,
    /// What the caller gave to `add`.
    pub payload: Vec<u8>,
    /// The number of the add or the replace.
    pub seq: i64,
}

/// What became of a firing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The timer is deleted.
    Done,
    /// The timer waits for another due time, as a new one.
    Again(Due),
    /// The timer waits again for the time at which it was due: it is delivered again soon.
    Release,
}

/// The answer to one firing.
#[derive(Clone, Debug)]
pub struct Settled {
    pub(crate) id: Arc<str>,
    pub(crate) seq: i64,
    pub(crate) attempt: i64,
    pub(crate) outcome: Outcome,
}

impl Settled {
    /// The firing's id, seq and attempt, and what became of it.
    #[must_use]
    pub fn parts(&self) -> (&Arc<str>, i64, i64, Outcome) {
        (&self.id, self.seq, self.attempt, self.outcome)
    }
}

/// What an owner announces at the end of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Announced {
    /// Nothing waits earlier, except what is in the table of early timers.
    pub wake: i64,
    /// The end of the owner's window: a due time.
    pub high: i64,
    /// From this time on, another process may take the shard over.
    pub lease: i64,
}

/// One statement. All of them but `Begin`, `Commit` and `Rollback` speak of one shard.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Statement {
    /// Begins a transaction that writes.
    Begin,
    /// Waits for the guard of the shard until the transaction ends: alone, or with other writers.
    Guard {
        /// Alone: for an owner.
        alone: bool,
    },
    /// Ends the transaction.
    Commit,
    /// Ends the transaction without a change.
    Rollback,
    /// Reads the shard's row and the clock: [`Answer::Shard`].
    Look,
    /// Makes `owner` the owner, with an epoch greater by 1: [`Answer::Count`].
    Acquire {
        /// The name of the new owner.
        owner: Arc<str>,
    },
    /// Makes each running timer wait again, in doubt: [`Answer::Rows`].
    Orphan,
    /// Executes answers: [`Answer::Rows`] with what waits again.
    Settle {
        /// The epoch of the owner that claimed these timers.
        epoch: i64,
        /// One for each timer.
        answers: Vec<Settled>,
    },
    /// Deletes the rows of the early timers: [`Answer::Rows`] with those that still wait.
    Early,
    /// Reads what waits, by (due, seq): [`Answer::Rows`].
    Load {
        /// The first due time.
        due: i64,
        /// The first seq at that due time.
        seq: i64,
        /// The greatest number of rows.
        limit: usize,
    },
    /// Claims timers that are due: [`Answer::Claimed`].
    Claim {
        /// The epoch of the owner.
        epoch: i64,
        /// What the engine's clock showed in this transaction.
        now: i64,
        /// What to claim.
        rows: Vec<Waiting>,
    },
    /// Writes what the owner announces.
    Announce {
        /// What to write.
        announced: Announced,
    },
    /// Inserts a timer, or replaces one: [`Answer::Put`].
    Put {
        /// Its id.
        id: Arc<str>,
        /// When it is due.
        due: Due,
        /// What a firing returns.
        payload: Vec<u8>,
        /// Whether a timer of this id is replaced.
        replace: bool,
        /// The epoch of the owner that learns of this put in memory; 0 if none does.
        near: i64,
    },
    /// Deletes a timer: [`Answer::Cancelled`].
    Cancel {
        /// Its id.
        id: Arc<str>,
    },
    /// Reads a timer: [`Answer::Timer`].
    Get {
        /// Its id.
        id: Arc<str>,
    },
}

/// What a statement returned.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Answer {
    /// For a statement that returns nothing.
    Nothing,
    /// The number of rows that it changed.
    Count(usize),
    /// The shard's row.
    Shard(Shard),
    /// Timers.
    Rows(Vec<Waiting>),
    /// The timers that are running now; `late` is 0.
    Claimed(Vec<Firing>),
    /// The new timer, or `None` if the id exists and was not to be replaced.
    Put(Option<Waiting>),
    /// What a cancel found.
    Cancelled(Cancelled),
    /// What a get found.
    Timer(Option<Timer>),
}

/// The row of a shard, and the time at which the engine read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shard {
    /// The engine's clock.
    pub now: i64,
    /// Who delivers.
    pub owner: Arc<str>,
    /// How often the shard was taken over.
    pub epoch: i64,
    /// What the owner announced.
    pub announced: Announced,
    /// When the owner should be back for the first of the early timers: when that is due, or when
    /// it was put if that was later.
    pub early: Option<i64>,
}

/// What [`cancel`](crate::Writer::cancel) did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cancelled {
    /// The timer is deleted, and no delivery of it begins afterwards.
    Removed,
    /// The timer is deleted and is not repeated, but a delivery has begun or may still begin: an
    /// owner has claimed it, or had claimed it when it lost its lease.
    Running,
    /// There is no such timer.
    Gone,
}

/// A timer as [`get`](crate::Writer::get) shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timer {
    /// When it is due, in microseconds since 1970.
    pub due: i64,
    /// Whether an owner has claimed it.
    pub running: bool,
    /// How often it was claimed.
    pub attempt: i64,
    /// What the caller gave to `add`.
    pub payload: Vec<u8>,
}

/// A store: executes statements.
///
/// The adapters are [`Sqlite`](crate::sqlite::Sqlite) and [`Postgres`](crate::postgres::Postgres).
pub trait Engine {
    /// Executes one statement. After an error the caller executes `Rollback`.
    ///
    /// # Errors
    /// [`Error::UnknownOutcome`] if a `Commit` may have taken place. After every other error the
    /// transaction did not take place.
    fn execute(&mut self, statement: &Statement) -> Result<Answer, Error>;

    /// What the engine's clock shows, if it can be read without a statement.
    fn clock(&self) -> Option<i64> {
        None
    }
}
