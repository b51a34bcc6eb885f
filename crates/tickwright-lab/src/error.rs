//! Why a command failed, and the exit code that says so to scripts.

use std::fmt;
use std::io;
use std::process::ExitCode;

/// A command that could not do what was asked. The exit codes are stable; `tickwright --help` lists them.
#[derive(Debug)]
pub(crate) enum LabError {
    /// An answer was wrong or an acceptance condition was missed: exit 1.
    Failed(String),
    /// The request cannot be served as it was written; says what would be valid: exit 2.
    Usage(String),
    /// A file could not be read or written once the run had begun: exit 3.
    Io {
        /// What was being done, with the path.
        what: String,
        /// What the system said.
        source: io::Error,
    },
    /// Ctrl-C: what was measured so far has been printed: exit 130.
    Interrupted,
}

impl LabError {
    /// A usage error.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::Usage(message.into())
    }

    /// A verification that failed.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::Failed(message.into())
    }

    /// A failure of the file system.
    pub(crate) fn io(what: impl Into<String>, source: io::Error) -> Self {
        Self::Io { what: what.into(), source }
    }

    /// The code that the process ends with.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::Failed(_) => 1,
            Self::Usage(_) => 2,
            Self::Io { .. } => 3,
            Self::Interrupted => 130,
        }
    }

    /// Whether the reader of our output has gone, as `head` does: nothing to complain about.
    pub(crate) fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::BrokenPipe)
    }

    /// [`code`](Self::code) for `main`.
    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.code())
    }
}

impl fmt::Display for LabError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(message) | Self::Usage(message) => f.write_str(message),
            Self::Io { what, source } => write!(f, "{what}: {source}"),
            Self::Interrupted => f.write_str("interrupted: the figures above are partial"),
        }
    }
}

impl core::error::Error for LabError {}
