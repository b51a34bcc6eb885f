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
    /// The queues that timers were in: first the queues that were known at the start, then others.
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
    /// Its name: `hrtimer`, `libuv`, ...
    pub name: String,
    /// Its tick in ns. 0: unknown.
    pub tick_ns: u64,
}

impl Header {
    /// Creates the header of a trace whose source alone is known.
    #[must_use]
    pub fn of(source: impl Into<String>) -> Self {
        let made_by = concat!("tickwright ", env!("CARGO_PKG_VERSION")).into();
        Self { source: source.into(), made_by, ..Self::default() }
    }
}

/// Returns the date of a time in seconds since 1970, in UTC and as RFC 3339 writes it:
/// `2026-11-20T23:50:04Z`. [`Header::started`] holds such a date.
///
/// RFC 3339 covers the years 0 to 9999. For a time outside of these years, the year has a sign or
/// more digits. Cost: O(1), and one string. No value panics.
#[must_use]
pub fn calendar(seconds: i64) -> String {
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // Years begin in March here, so that a leap day is the last of its year: "civil from days" of
    // H. Hinnant.
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year + i64::from(month <= 2);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Events that a source lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// When the events were lost, in ns from the start of the trace.
    pub time: Ns,
    /// How many events were lost. 0: unknown.
    pub count: u64,
    /// Where or why they were lost, in words.
    pub note: String,
}

/// What the writer of a trace counted and a reader of its figures must know. For example, an import
/// counts the events that it could not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// How many. 0: the words stand alone.
    pub count: u64,
    /// The words that follow the number.
    pub words: String,
}

impl Remark {
    /// The words of a remark that counts the timer events of the source that could not be read.
    pub const UNREADABLE: &'static str = "timer events could not be read and are left out";

    /// The words of a remark that counts the arms whose deadline is
    /// [`UNKNOWN`](crate::event::UNKNOWN).
    pub const UNKNOWN_DELAYS: &'static str =
        "arms have a deadline that the source does not tell, or that never comes: their delays are left out";

    /// Whether the remark counts events that could not be read.
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

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no name.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Iterates over the names with their numbers, from 1 on.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &str)> + '_ {
        (1..).zip(self.0.iter().map(String::as_str))
    }
}

#[cfg(test)]
mod tests;
