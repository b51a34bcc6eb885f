//! Reasons why a command failed, each with its exit code for scripts.

use std::fmt;
use std::io;
use std::process::ExitCode;

use crate::interrupt;

/// The reason why a command failed. The exit codes are stable; `tickwright --help` lists them.
#[derive(Debug)]
pub enum LabError {
    /// Exit 1: an answer was wrong or an acceptance condition was missed.
    Failed(String),
    /// Exit 2: the request is invalid. The message states what would be valid.
    Usage(String),
    /// Exit 2: the command line cannot be parsed. The text is the parser's message without the name
    /// of this program.
    Command(String),
    /// Exit 3: a file could not be read or written after the run had begun. The code is 141 if the
    /// reader of a pipe has closed the pipe.
    Io {
        /// The operation, with the path.
        what: String,
        /// The system's error.
        source: io::Error,
    },
    /// Exit 4: the system refused memory. The message states the purpose of the memory and a
    /// remedy.
    Memory(String),
    /// Exit 130 or 143: SIGINT or SIGTERM arrived. Everything measured before the signal has been
    /// written.
    Interrupted,
}

impl LabError {
    /// The exit code of [`Memory`](Self::Memory).
    pub const MEMORY: u8 = 4;

    /// Creates a [`Usage`](Self::Usage) error.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::Usage(message.into())
    }

    /// Creates a [`Failed`](Self::Failed) error.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::Failed(message.into())
    }

    /// Creates a [`Memory`](Self::Memory) error for `what`, with advice.
    pub fn memory(what: impl fmt::Display) -> Self {
        Self::Memory(format!(
            "{what}: ask for fewer timers, or raise the limit of memory (`ulimit -v`, the container's)"
        ))
    }

    /// Creates an [`Io`](Self::Io) error.
    pub fn io(what: impl Into<String>, source: io::Error) -> Self {
        Self::Io { what: what.into(), source }
    }

    /// Returns the exit code of the process.
    pub fn code(&self) -> u8 {
        match self {
            Self::Failed(_) => 1,
            Self::Usage(_) | Self::Command(_) => 2,
            Self::Io { .. } if self.is_broken_pipe() => Self::BROKEN_PIPE,
            Self::Io { .. } => 3,
            Self::Memory(_) => Self::MEMORY,
            Self::Interrupted => interrupt::exit_code(),
        }
    }

    /// Returns whether the reader of our output has closed its end, for example because `head` has
    /// ended. In that case, no message is needed.
    pub fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::BrokenPipe)
    }

    /// Returns whether an output failed while it still had a reader.
    pub fn is_unwritten(&self) -> bool {
        matches!(self, Self::Io { .. }) && !self.is_broken_pipe()
    }

    /// The exit code when nobody reads the output, which is the code of a process that SIGPIPE has
    /// ended.
    const BROKEN_PIPE: u8 = 141;

    /// Returns [`code`](Self::code) as the type that `main` returns.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.code())
    }
}

impl fmt::Display for LabError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(message) | Self::Usage(message) | Self::Command(message) | Self::Memory(message) => {
                f.write_str(message)
            }
            Self::Io { what, source } => write!(f, "{what}: {source}"),
            Self::Interrupted => f.write_str("interrupted: the results are partial"),
        }
    }
}

impl core::error::Error for LabError {}
