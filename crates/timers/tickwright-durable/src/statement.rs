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

    /// The due time if the engine's clock shows `now`. It is out of range before 1970 and after
    /// [`MAX_DUE`].
    pub(crate) fn resolve(self, now: i64) -> Result<i64, Error> {
        let due = self.unchecked(now);
        if (0..=MAX_DUE).contains(&due) { Ok(due) } else { Err(Error::DueOutOfRange { due }) }
    }

    /// As [`resolve`](Self::resolve), with the nearest due time if it is out of range.
    pub(crate) fn clamped(self, now: i64) -> i64 {
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

/// What an add did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    /// The timer waits.
    Added,
    /// A timer of this id exists, and is as it was.
    Exists,
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

/// The answer to one firing.
#[derive(Clone, Debug)]
pub struct Settled {
    pub(crate) id: Arc<str>,
    pub(crate) due: i64,
    pub(crate) seq: i64,
    pub(crate) attempt: i64,
    pub(crate) outcome: Outcome,
}

/// What an owner announces at the end of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Announced {
    /// Nothing waits earlier, except what is in the table of early timers.
    pub(crate) wake: i64,
    /// The end of the owner's window: a due time.
    pub(crate) high: i64,
    /// From this time on, another process may take the shard over.
    pub(crate) lease: i64,
}

/// One statement. All of them but `Begin`, `Commit` and `Rollback` speak of one shard.
#[derive(Clone, Debug)]
pub enum Statement {
    /// Begins a transaction that writes.
    Begin,
    /// Waits for the guard of the shard until the transaction ends: alone, for an owner, or beside
    /// other writers.
    Guard {
        alone: bool,
    },
    Commit,
    Rollback,
    /// Reads the shard's row and the clock: [`Answer::Shard`].
    Look,
    /// Makes `owner` the owner, with an epoch greater by 1.
    Acquire {
        owner: Arc<str>,
    },
    /// Makes each running timer wait again, in doubt: [`Answer::Rows`].
    Orphan,
    /// Executes the answers to what `epoch` claimed: [`Answer::Rows`] with what waits again. `now`
    /// is what the engine's clock showed in this transaction.
    Settle {
        epoch: i64,
        now: i64,
        answers: Vec<Settled>,
    },
    /// Deletes the rows of the early timers: [`Answer::Rows`] with those that still wait.
    Early,
    /// Reads what waits from (due, seq) on, in this order: [`Answer::Rows`].
    Load {
        due: i64,
        seq: i64,
        limit: usize,
    },
    /// Claims those of these timers that are due at `now`: [`Answer::Claimed`].
    Claim {
        epoch: i64,
        now: i64,
        rows: Vec<Waiting>,
    },
    /// Writes what the owner announces.
    Announce {
        announced: Announced,
    },
    /// Inserts a timer, or replaces one: [`Answer::Put`]. `near` is the epoch of the owner that
    /// learns of this in memory; 0 if none does.
    Put {
        id: Arc<str>,
        due: Due,
        payload: Vec<u8>,
        replace: bool,
        near: i64,
    },
    /// Deletes a timer: [`Answer::Cancelled`].
    Cancel {
        id: Arc<str>,
    },
    /// Reads a timer: [`Answer::Timer`].
    Get {
        id: Arc<str>,
    },
}

/// What a statement returned.
#[derive(Clone, Debug)]
pub enum Answer {
    Nothing,
    Shard(Shard),
    Rows(Vec<Waiting>),
    /// The timers that are running now; `late` is 0.
    Claimed(Vec<Firing>),
    /// The new timer, or `None` if the id exists and was not to be replaced.
    Put(Option<Waiting>),
    Cancelled(Cancelled),
    Timer(Option<Timer>),
}

/// The row of a shard, and the time at which the engine read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shard {
    pub(crate) now: i64,
    pub(crate) owner: Arc<str>,
    /// How often the shard was taken over.
    pub(crate) epoch: i64,
    pub(crate) announced: Announced,
    /// When the owner should be back for the first of the early timers: when that is due, or when
    /// it was put if that was later.
    pub(crate) early: Option<i64>,
}

/// A store. This crate implements it: [`Sqlite`](crate::sqlite::Sqlite),
/// [`Postgres`](crate::postgres::Postgres), and the `Within` of each.
pub trait Engine {
    /// Executes one statement; after an error the caller executes `Rollback`. Except for
    /// [`Error::UnknownOutcome`] of a `Commit`, the transaction did not take place then.
    #[doc(hidden)]
    fn execute(&mut self, statement: &Statement) -> Result<Answer, Error>;

    /// What the engine's clock shows, if it can be read without a statement.
    #[doc(hidden)]
    fn clock(&self) -> Option<i64> {
        None
    }
}

impl<E: Engine + ?Sized> Engine for &mut E {
    fn execute(&mut self, statement: &Statement) -> Result<Answer, Error> {
        (**self).execute(statement)
    }
}
