//! Why a command failed, and the exit code that says so to scripts.

use std::fmt;
use std::io;
use std::process::ExitCode;

use crate::interrupt;

/// A command that could not do what was asked. The exit codes are stable; `tickwright --help` lists
/// them.
#[derive(Debug)]
pub enum LabError {
    /// An answer was wrong or an acceptance condition was missed: exit 1.
    Failed(String),
    /// The request cannot be served as it was written; says what would be valid: exit 2.
    Usage(String),
    /// The command line cannot be read; says why in the parser's own words, without our name: exit
    /// 2.
    Command(String),
    /// A file could not be read or written once the run had begun: exit 3, or 141 when the reader
    /// of a pipe has gone.
    Io {
        /// What was being done, with the path.
        what: String,
        /// What the system said.
        source: io::Error,
    },
    /// The system refused memory; says for what, and what would help: exit 4.
    Memory(String),
    /// SIGINT or SIGTERM: what was measured so far has been written: exit 130 or 143.
    Interrupted,
}

impl LabError {
    /// The exit code of [`Memory`](Self::Memory).
    pub const MEMORY: u8 = 4;

    /// A usage error.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::Usage(message.into())
    }

    /// A verification that failed.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::Failed(message.into())
    }

    /// Memory that was refused, with what helps against it.
    pub fn memory(what: impl fmt::Display) -> Self {
        Self::Memory(format!(
            "{what}: ask for fewer timers, or raise the limit of memory (`ulimit -v`, the container's)"
        ))
    }

    /// A failure of the file system.
    pub fn io(what: impl Into<String>, source: io::Error) -> Self {
        Self::Io { what: what.into(), source }
    }

    /// The code that the process ends with.
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

    /// Whether the reader of our output has gone, as `head` does: nothing to complain about.
    pub fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::BrokenPipe)
    }

    /// The code of a process that ends because nobody reads its output: as if SIGPIPE had ended it.
    const BROKEN_PIPE: u8 = 141;

    /// [`code`](Self::code) for `main`.
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
