//! The errors of this crate.

use core::fmt;

use crate::limits::{MAX_DUE, MAX_ID, MAX_PAYLOAD, SCHEMA};

/// Why a call failed. Except after [`UnknownOutcome`](Self::UnknownOutcome), the store is
/// unchanged, and the call can be repeated after the cause is removed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// An id is empty or too long.
    IdLength {
        /// The id's length in bytes.
        bytes: usize,
    },
    /// An id has a character that PostgreSQL cannot store: U+0000.
    IdZero,
    /// A payload is too long.
    PayloadLength {
        /// The payload's length in bytes.
        bytes: usize,
    },
    /// A due time is before 1970 or after the year 9999.
    DueOutOfRange {
        /// The due time in microseconds since 1970.
        due: i64,
    },
    /// The store was made by a newer version of this crate.
    NewerSchema {
        /// The store's version.
        found: i64,
    },
    /// The file or the database is not a store of this crate.
    Foreign(String),
    /// The store has no such shard.
    NoShard(i64),
    /// The user has no right to make this call.
    Denied(String),
    /// The disk or the database is full.
    Full(String),
    /// A [`Writer`](crate::Writer) needs a transaction of the caller's, and none has begun.
    NoTransaction,
    /// Another transaction held a lock for too long.
    Busy(String),
    /// The connection is lost. An adapter connects again at the next call.
    Disconnected(String),
    /// The connection was lost during a commit, so it is unknown whether the call took effect.
    UnknownOutcome(String),
    /// The thread of a [`Background`](crate::Background) was stopped.
    Stopped,
    /// Another error of the engine, in its words.
    Engine(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::IdLength { bytes } => {
                write!(f, "the id has {bytes} bytes: use 1 to {MAX_ID}")
            }
            Self::IdZero => f.write_str("the id has a character U+0000: use an id without it"),
            Self::PayloadLength { bytes } => write!(
                f,
                "the payload has {bytes} bytes: use at most {MAX_PAYLOAD}, or store the data elsewhere and its name here"
            ),
            Self::DueOutOfRange { due } => {
                write!(f, "the due time {due} is out of range: use microseconds since 1970, 0 to {MAX_DUE}")
            }
            Self::NewerSchema { found } => write!(
                f,
                "the store has schema {found}, and this version of tickwright-durable knows {SCHEMA}: use a newer version"
            ),
            Self::Foreign(what) => write!(f, "this is no store of tickwright-durable: {what}"),
            Self::NoTransaction => {
                f.write_str("the connection is in no transaction: begin one, and commit it after the call")
            }
            Self::NoShard(shard) => {
                write!(f, "the store has no shard {shard}: open it once with `shard({shard})`")
            }
            Self::Denied(what) => write!(f, "no right to do this: {what}"),
            Self::Full(what) => write!(f, "the store is full: make space, then repeat the call: {what}"),
            Self::Busy(what) => {
                write!(f, "another transaction holds the store: end it, or repeat the call: {what}")
            }
            Self::Disconnected(what) => {
                write!(f, "the connection is lost: repeat the call, it connects again: {what}")
            }
            Self::UnknownOutcome(what) => write!(
                f,
                "the connection was lost during a commit, which may have taken place: look with `get`, or repeat the call: {what}"
            ),
            Self::Stopped => f.write_str("the timers were stopped: make them again"),
            Self::Engine(what) => write!(f, "the engine reports: {what}"),
        }
    }
}

impl core::error::Error for Error {}
