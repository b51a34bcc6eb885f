//! Adds, replaces and cancels, in whatever transaction the engine is in.

use std::sync::Arc;

use crate::error::Error;
use crate::limits::{MAX_ID, MAX_PAYLOAD};
use crate::statement::{Answer, Cancelled, Due, Engine, Statement, Timer, Waiting};

/// What an add did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    /// The timer waits.
    Added,
    /// A timer of this id exists, and is as it was.
    Exists,
}

/// Writes timers inside of the caller's transaction: they exist if it commits.
///
/// An owner learns of them by itself: see "who wakes" in `docs/durable.md`. To spare the owner in
/// this process the wait, call [`look_again`](crate::Timers::look_again) after the commit.
#[derive(Debug)]
pub struct Writer<E> {
    engine: E,
}

impl<E: Engine> Writer<E> {
    /// A writer over an engine that is inside of a transaction.
    pub fn new(engine: E) -> Self {
        Self { engine }
    }

    /// Adds a timer, unless one of this id exists.
    ///
    /// # Errors
    /// The arguments that [`Error`] names, or what the engine reports.
    pub fn add(&mut self, id: &str, due: Due, payload: &[u8]) -> Result<Added, Error> {
        let put = put(&mut self.engine, id, due, payload, false, 0)?;
        Ok(if put.is_some() { Added::Added } else { Added::Exists })
    }

    /// Adds a timer, in the place of the one of this id if that exists. What runs of the old one is
    /// not stopped; its answer has no effect.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn replace(&mut self, id: &str, due: Due, payload: &[u8]) -> Result<(), Error> {
        put(&mut self.engine, id, due, payload, true, 0).map(drop)
    }

    /// Deletes a timer.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn cancel(&mut self, id: &str) -> Result<Cancelled, Error> {
        cancel(&mut self.engine, id)
    }

    /// Reads a timer.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn get(&mut self, id: &str) -> Result<Option<Timer>, Error> {
        get(&mut self.engine, id)
    }

    /// The earliest due time of the timers that wait, in microseconds since 1970.
    ///
    /// # Errors
    /// What the engine reports.
    pub fn next_due(&mut self) -> Result<Option<i64>, Error> {
        Ok(list(&mut self.engine, None, 1)?.first().map(|first| first.due))
    }
}

fn name(id: &str) -> Result<Arc<str>, Error> {
    match id.len() {
        1..=MAX_ID if id.contains('\0') => Err(Error::IdZero),
        1..=MAX_ID => Ok(id.into()),
        bytes => Err(Error::IdLength { bytes }),
    }
}

pub(crate) fn put(
    engine: &mut impl Engine,
    id: &str,
    due: Due,
    payload: &[u8],
    replace: bool,
    near: i64,
) -> Result<Option<Waiting>, Error> {
    let id = name(id)?;
    if payload.len() > MAX_PAYLOAD {
        return Err(Error::PayloadLength { bytes: payload.len() });
    }
    due.resolve(0)?;
    engine.execute(&Statement::Guard { alone: false })?;
    match engine.execute(&Statement::Put { id, due, payload: payload.to_vec(), replace, near })? {
        Answer::Put(row) => Ok(row),
        other => Err(unexpected(&other)),
    }
}

pub(crate) fn cancel(engine: &mut impl Engine, id: &str) -> Result<Cancelled, Error> {
    let id = name(id)?;
    engine.execute(&Statement::Guard { alone: false })?;
    match engine.execute(&Statement::Cancel { id })? {
        Answer::Cancelled(cancelled) => Ok(cancelled),
        other => Err(unexpected(&other)),
    }
}

pub(crate) fn get(engine: &mut impl Engine, id: &str) -> Result<Option<Timer>, Error> {
    match engine.execute(&Statement::Get { id: name(id)? })? {
        Answer::Timer(timer) => Ok(timer),
        other => Err(unexpected(&other)),
    }
}

/// What waits after a row, in order.
pub(crate) fn list(
    engine: &mut impl Engine,
    after: Option<&Waiting>,
    limit: usize,
) -> Result<Vec<Waiting>, Error> {
    let (due, seq) = after.map_or((0, 0), |row| (row.due, row.seq.saturating_add(1)));
    match engine.execute(&Statement::Load { due, seq, limit })? {
        Answer::Rows(rows) => Ok(rows),
        other => Err(unexpected(&other)),
    }
}

pub(crate) fn unexpected(answer: &Answer) -> Error {
    Error::Engine(format!("the adapter returned another answer than the statement has: {answer:?}"))
}
