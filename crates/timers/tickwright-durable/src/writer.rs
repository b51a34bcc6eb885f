//! Adds, replaces and cancels, within the engine's current transaction.

use std::sync::Arc;

use crate::error::Error;
use crate::limits::{MAX_ID, MAX_PAYLOAD};
use crate::statement::{Added, Answer, Cancelled, Due, Engine, Statement, Timer, Waiting};

/// Writes timers inside a transaction. The timers exist once the transaction commits. The
/// transaction belongs to the caller (`sqlite::Within`, `postgres::Within`) or to
/// [`Timers::batch`](crate::Timers::batch).
///
/// An owner finds the new timers by itself: see "who wakes" in `docs/durable.md`. For the owner in
/// this process to find the new timers at once, call [`look_again`](crate::Timers::look_again)
/// after the commit.
#[derive(Debug)]
pub struct Writer<E> {
    engine: E,
    is_guarded: bool,
    /// The epoch of the owner that is notified of these writes in memory, or 0 if no owner is
    /// notified.
    pub(crate) near: i64,
    pub(crate) changes: Vec<Change>,
    /// How many waiting timers were deleted by `cancel`.
    pub(crate) removed: u64,
    /// The first error, which may have made the engine end the transaction.
    pub(crate) failure: Option<Error>,
}

/// Changes of which the owner in this process is notified after the commit.
#[derive(Debug)]
pub(crate) enum Change {
    Put(Waiting),
    Cancel(Arc<str>),
}

impl<E: Engine> Writer<E> {
    /// Creates a writer over an engine that is inside a transaction.
    pub fn new(engine: E) -> Self {
        Self { engine, is_guarded: false, near: 0, changes: Vec::new(), removed: 0, failure: None }
    }

    /// Adds a timer, unless a timer with this id exists.
    ///
    /// # Errors
    /// Refused arguments, as [`Error`] names them, and errors that the engine reports.
    pub fn add(&mut self, id: &str, due: Due, payload: &[u8]) -> Result<Added, Error> {
        Ok(if self.put(id, due, payload, false)? { Added::Added } else { Added::Exists })
    }

    /// Adds a timer. If a timer with this id exists, the new timer replaces it. A firing of the old
    /// timer that already runs is not stopped, but its answer has no effect.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn replace(&mut self, id: &str, due: Due, payload: &[u8]) -> Result<(), Error> {
        self.put(id, due, payload, true).map(drop)
    }

    /// Deletes a timer.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn cancel(&mut self, id: &str) -> Result<Cancelled, Error> {
        let result = name(id).and_then(|id| {
            self.changes.push(Change::Cancel(id.clone()));
            self.write(Statement::Cancel { id })
        });
        match self.kept(result)? {
            Answer::Cancelled(cancelled) => {
                self.removed += u64::from(cancelled == Cancelled::Removed);
                Ok(cancelled)
            }
            other => Err(unexpected(&other)),
        }
    }

    /// Reads a timer.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn get(&mut self, id: &str) -> Result<Option<Timer>, Error> {
        match self.engine.execute(&Statement::Get { id: name(id)? })? {
            Answer::Timer(timer) => Ok(timer),
            other => Err(unexpected(&other)),
        }
    }

    /// Returns up to `limit` waiting timers after `after`, in the order of their due times.
    ///
    /// # Errors
    /// Errors that the engine reports.
    pub fn list(&mut self, after: Option<&Waiting>, limit: usize) -> Result<Vec<Waiting>, Error> {
        let (due, seq) = after.map_or((0, 0), |row| (row.due, row.seq.saturating_add(1)));
        match self.engine.execute(&Statement::Load { due, seq, limit })? {
            Answer::Rows(rows) => Ok(rows),
            other => Err(unexpected(&other)),
        }
    }

    /// Returns the earliest due time of the waiting timers, in microseconds since 1970.
    ///
    /// # Errors
    /// Errors that the engine reports.
    pub fn next_due(&mut self) -> Result<Option<i64>, Error> {
        Ok(self.list(None, 1)?.first().map(|first| first.due))
    }

    fn put(&mut self, id: &str, due: Due, payload: &[u8], replace: bool) -> Result<bool, Error> {
        let near = self.near;
        let result = name(id).and_then(|id| {
            if payload.len() > MAX_PAYLOAD {
                return Err(Error::PayloadLength { bytes: payload.len() });
            }
            due.resolve(0)?;
            self.write(Statement::Put { id, due, payload: payload.to_vec(), replace, near })
        });
        match self.kept(result)? {
            Answer::Put(row) => {
                let is_put = row.is_some();
                self.changes.extend(row.map(Change::Put));
                Ok(is_put)
            }
            other => Err(unexpected(&other)),
        }
    }

    fn write(&mut self, statement: Statement) -> Result<Answer, Error> {
        // A transaction keeps the guard until its end, so the guard is taken once.
        if !self.is_guarded {
            self.engine.execute(&Statement::Guard { alone: false })?;
            self.is_guarded = true;
        }
        self.engine.execute(&statement)
    }

    fn kept<T>(&mut self, result: Result<T, Error>) -> Result<T, Error> {
        self.failure = self.failure.take().or(result.as_ref().err().cloned());
        result
    }
}

fn name(id: &str) -> Result<Arc<str>, Error> {
    match id.len() {
        1..=MAX_ID if id.contains('\0') => Err(Error::IdZero),
        1..=MAX_ID => Ok(id.into()),
        bytes => Err(Error::IdLength { bytes }),
    }
}

pub(crate) fn unexpected(answer: &Answer) -> Error {
    Error::Engine(format!("the adapter returned another answer than the statement has: {answer:?}"))
}
