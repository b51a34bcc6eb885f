//! Requests to a store, as values: an [`Engine`] executes a [`Statement`] and returns an
//! [`Answer`].

use core::time::Duration;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::error::Error;
use crate::limits::MAX_DUE;

/// A time later than every due time. This time means that no timer waits.
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
    /// Creates a due time after a delay, which is rounded up to microseconds.
    #[must_use]
    pub fn after(delay: Duration) -> Self {
        Self::After(i64::try_from(delay.as_nanos().div_ceil(1000)).unwrap_or(i64::MAX))
    }

    /// Creates a due time at a date, which is rounded up to microseconds. A date before 1970 counts
    /// as 1970.
    #[must_use]
    pub fn at(date: SystemTime) -> Self {
        let since = date.duration_since(UNIX_EPOCH).unwrap_or_default();
        Self::At(i64::try_from(since.as_nanos().div_ceil(1000)).unwrap_or(i64::MAX))
    }

    /// Returns the due time if the engine's clock shows `now`. A due time before 1970 or after
    /// [`MAX_DUE`] is out of range.
    pub(crate) fn resolve(self, now: i64) -> Result<i64, Error> {
        let due = self.unchecked(now);
        if (0..=MAX_DUE).contains(&due) { Ok(due) } else { Err(Error::DueOutOfRange { due }) }
    }

    /// Like [`resolve`](Self::resolve), but a due time that is out of range is replaced by the
    /// nearest valid due time.
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
    /// The timer's id.
    pub id: Arc<str>,
    /// When the timer is due, in microseconds since 1970.
    pub due: i64,
    /// A sequence number. Each add and each replace gives a greater number.
    pub seq: i64,
}

/// A timer that an owner has claimed. The caller runs the firing and answers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Firing {
    /// The timer's id.
    pub id: Arc<str>,
    /// When the timer was due, in microseconds since 1970. A periodic timer that is armed again for
    /// `due + period` does not drift.
    pub due: i64,
    /// How late the timer was claimed, in microseconds.
    pub late: i64,
    /// The number of this delivery: 1 at first, greater at each repetition, and 1 again after a
    /// replace.
    pub attempt: i64,
    /// The epoch of the owner. A repetition has a greater pair (fence, attempt).
    pub fence: i64,
    /// What the caller gave to `add`.
    pub payload: Vec<u8>,
    /// The sequence number of the add or the replace.
    pub seq: i64,
}

/// The outcome of a firing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The timer is deleted.
    Done,
    /// The timer waits for another due time, as a new timer.
    Again(Due),
    /// The timer waits again for the time at which it was due, so it is delivered again soon.
    Release,
}

/// The result of an add.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    /// The timer waits.
    Added,
    /// A timer with this id already exists and is unchanged.
    Exists,
}

/// The result of [`cancel`](crate::Writer::cancel).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cancelled {
    /// The timer is deleted, and no delivery of it begins afterwards.
    Removed,
    /// The timer is deleted and is not repeated, but a delivery has begun or can still begin,
    /// because an owner claimed the timer. This owner may since have lost its lease.
    Running,
    /// There is no such timer.
    Gone,
}

/// A timer as [`get`](crate::Writer::get) returns it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timer {
    /// When the timer is due, in microseconds since 1970.
    pub due: i64,
    /// Whether an owner has claimed the timer.
    pub running: bool,
    /// How often the timer was claimed.
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
    /// No timer waits for an earlier time, except the timers in the table of early timers.
    pub(crate) wake: i64,
    /// The end of the owner's window: a due time.
    pub(crate) high: i64,
    /// The end of the lease: after this time another process is allowed to take over the shard.
    pub(crate) lease: i64,
}

/// One statement. Every statement except `Begin`, `Commit` and `Rollback` applies to one shard.
#[derive(Clone, Debug)]
pub enum Statement {
    /// Begins a transaction that writes.
    Begin,
    /// Takes the shard's guard until the transaction ends. An owner holds the guard exclusively,
    /// and writers share it.
    Guard {
        alone: bool,
    },
    Commit,
    Rollback,
    /// Reads the shard's row and the clock. Returns [`Answer::Shard`].
    Look,
    /// Makes `owner` the owner, with an epoch greater by 1.
    Acquire {
        owner: Arc<str>,
    },
    /// Makes each running timer wait again and marks it as in doubt. Returns [`Answer::Rows`].
    Orphan,
    /// Executes the answers to the firings that `epoch` claimed. Returns [`Answer::Rows`] with the
    /// timers that wait again. `now` is the time that the engine's clock showed in this
    /// transaction.
    Settle {
        epoch: i64,
        now: i64,
        answers: Vec<Settled>,
    },
    /// Deletes the rows of the early timers. Returns [`Answer::Rows`] with the early timers that
    /// still wait.
    Early,
    /// Reads the waiting timers from (due, seq) on, ordered by (due, seq). Returns
    /// [`Answer::Rows`].
    Load {
        due: i64,
        seq: i64,
        limit: usize,
    },
    /// Claims the listed timers that are due at `now`. Returns [`Answer::Claimed`].
    Claim {
        epoch: i64,
        now: i64,
        rows: Vec<Waiting>,
    },
    /// Writes what the owner announces.
    Announce {
        announced: Announced,
    },
    /// Inserts a timer, or replaces one. Returns [`Answer::Put`]. `near` is the epoch of the owner
    /// that learns of the change in memory, or 0 if no owner does.
    Put {
        id: Arc<str>,
        due: Due,
        payload: Vec<u8>,
        replace: bool,
        near: i64,
    },
    /// Deletes a timer. Returns [`Answer::Cancelled`].
    Cancel {
        id: Arc<str>,
    },
    /// Reads a timer. Returns [`Answer::Timer`].
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
    /// The new timer, or `None` if a timer with this id exists and the statement did not replace
    /// it.
    Put(Option<Waiting>),
    Cancelled(Cancelled),
    Timer(Option<Timer>),
}

/// The row of a shard, and the time at which the engine read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shard {
    pub(crate) now: i64,
    pub(crate) owner: Arc<str>,
    /// The number of takeovers of the shard.
    pub(crate) epoch: i64,
    pub(crate) announced: Announced,
    /// When the owner should run its next turn because of the first early timer: the due time of
    /// this timer, or the time of its put if the put was later.
    pub(crate) early: Option<i64>,
}

/// A store. This crate implements the trait for [`Sqlite`](crate::sqlite::Sqlite),
/// [`Postgres`](crate::postgres::Postgres), and the `Within` of each.
pub trait Engine {
    /// Executes one statement. After an error the caller executes `Rollback`, and the transaction
    /// has no effect, unless a `Commit` returned [`Error::UnknownOutcome`].
    #[doc(hidden)]
    fn execute(&mut self, statement: &Statement) -> Result<Answer, Error>;

    /// Returns the time of the engine's clock, if it can be read without a statement.
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
