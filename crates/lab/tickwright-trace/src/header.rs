//! The header of a trace.

use core::fmt;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::event::Ns;

/// Facts about a trace, stored in its first block.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Header {
    /// The source of the events: `record`, `kernel`, `chrome`, ...
    pub source: String,
    /// The program and version that wrote the trace.
    pub made_by: String,
    /// What was recorded: a command line, or the name of a file.
    pub of: String,
    /// The clock of all times, by the name that its system gives it.
    pub clock: String,
    /// The date and time at which the trace starts (RFC 3339). Empty: unknown.
    pub started: String,
    /// The queues that timers were in: first the queues that were known at the start, then other
    /// queues.
    pub bases: Vec<Base>,
    /// Facts about the host, by name.
    pub host: BTreeMap<String, String>,
    /// Sentences that say what the source cannot see.
    pub unseen: Vec<String>,
}

/// A queue that timers were in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Base {
    /// The queue's name, such as `hrtimer` or `libuv`.
    pub name: String,
    /// The queue's tick in ns. 0: unknown.
    pub tick_ns: u64,
}

impl Header {
    /// Creates a header in which only the source is known.
    #[must_use]
    pub fn of(source: impl Into<String>) -> Self {
        let made_by = concat!("tickwright ", env!("CARGO_PKG_VERSION")).into();
        Self { source: source.into(), made_by, ..Self::default() }
    }

    /// Reads a header from JSON. This function and [`json`](Self::json) are not generic, so they
    /// are compiled once and not for each type of source and target.
    pub(crate) fn parse(json: &[u8]) -> serde_json::Result<Self> {
        serde_json::from_slice(json)
    }

    /// Returns the header as JSON.
    pub(crate) fn json(&self) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec(self)
    }
}

/// Events that a source lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// When the events were lost, in ns from the start of the trace.
    pub time: Ns,
    /// How many events were lost. 0: unknown.
    pub count: u64,
    /// Where or why the events were lost, in words.
    pub note: String,
}

/// A count that was made by the writer of a trace, and that a reader of the trace's figures must
/// know. For example, an import counts the events that it could not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// The number. 0: the words are shown without a number.
    pub count: u64,
    /// The words that follow the number.
    pub words: String,
}

impl Remark {
    /// The text of the remark that says how many timer events of the source could not be read.
    pub const UNREADABLE: &'static str = "timer events could not be read and are left out";

    /// The text of the remark that says how many arm events have an
    /// [`UNKNOWN`](crate::event::UNKNOWN) deadline.
    pub const UNKNOWN_DELAYS: &'static str =
        "arms have a deadline that the source does not tell, or that never comes: their delays are left out";

    /// Returns whether the remark counts events that could not be read.
    #[must_use]
    pub fn is_unreadable(&self) -> bool {
        self.words == Self::UNREADABLE
    }
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.count {
            0 => f.write_str(&self.words),
            count => write!(f, "{count} {}", self.words),
        }
    }
}

/// Names by number: the names of sites, or the names of threads. Number 0 has no name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names(pub(crate) Vec<String>);

impl Names {
    /// Returns the name that has this number.
    #[must_use]
    pub fn get(&self, number: u32) -> Option<&str> {
        let at = (number as usize).checked_sub(1)?;
        self.0.get(at).map(String::as_str)
    }

    /// Returns the number of names.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether there are no names.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Iterates over the names with their numbers, from 1 on.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &str)> + '_ {
        (1..).zip(self.0.iter().map(String::as_str))
    }
}
