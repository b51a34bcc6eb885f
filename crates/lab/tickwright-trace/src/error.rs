//! The errors of traces.

use core::fmt;
use std::io;

/// Why a trace cannot be read any further, or cannot be written.
#[derive(Debug)]
#[non_exhaustive]
pub enum TraceError {
    /// The system refused to read or to write.
    Io(io::Error),
    /// The file is not a trace.
    Foreign,
    /// The file is empty.
    Empty,
    /// The file has a version that this program does not know.
    Version {
        /// The version of the file.
        found: u16,
    },
    /// The file ends within a block.
    CutOff {
        /// Where the block begins, in bytes.
        position: u64,
        /// How many events precede the block.
        events: u64,
    },
    /// A block is damaged.
    Damaged {
        /// Where the block begins, in bytes.
        position: u64,
        /// How many events precede the block.
        events: u64,
        /// What is wrong.
        what: &'static str,
    },
    /// A line of a text is wrong.
    Line {
        /// The number of the line, from 1 on. 0: the source has no lines.
        line: u64,
        /// What is wrong.
        what: String,
    },
    /// A value that should be written does not fit the format.
    Unfit(&'static str),
}

/// The version of the format that this crate writes. The reader refuses a later version.
pub const VERSION: u16 = 1;

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "{error}"),
            Self::Foreign => f.write_str(
                "the file is no trace: it does not begin as a .twt file; `tickwright import` reads others, \
                 `tickwright show` prints results",
            ),
            Self::Empty => f.write_str("the file is empty: nothing was recorded"),
            Self::Version { found } => write!(
                f,
                "the file has version {found} of the format, this program reads versions up to {VERSION}: use a later one"
            ),
            Self::CutOff { position, events } => {
                write!(
                    f,
                    "the file ends within a block, which begins at byte {position}; {events} events precede it"
                )
            }
            Self::Damaged { position, events, what } => {
                write!(f, "the block at byte {position} is damaged ({what}); {events} events precede it")
            }
            Self::Line { line: 0, what } => f.write_str(what),
            Self::Line { line, what } => write!(f, "line {line}: {what}"),
            Self::Unfit(what) => f.write_str(what),
        }
    }
}

impl core::error::Error for TraceError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for TraceError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}
