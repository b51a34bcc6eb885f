//! The errors of threads and runtimes.

use core::any::Any;
use core::fmt;
use std::io;

use tickwright_nodes::error_texts;

use crate::limits::{LEAST_STACK, LONGEST_NAME, MOST_GUARD, MOST_STACK};

/// Error numbers with their values on Linux.
mod number {
    pub(super) const ESRCH: i32 = 3;
    pub(super) const EAGAIN: i32 = 11;
    pub(super) const ENOMEM: i32 = 12;
    pub(super) const EBUSY: i32 = 16;
    pub(super) const EINVAL: i32 = 22;
    pub(super) const EDEADLK: i32 = 35;
    pub(super) const ESHUTDOWN: i32 = 108;
    pub(super) const ETIMEDOUT: i32 = 110;
    pub(super) const ECANCELED: i32 = 125;
}

/// Returns the platform's error for a lack of memory.
pub(crate) fn no_memory() -> io::Error {
    // 8 is `ERROR_NOT_ENOUGH_MEMORY` on Windows, and 12 is `ENOMEM` on every Unix.
    io::Error::from_raw_os_error(if cfg!(windows) { 8 } else { 12 })
}

/// The reason why a runtime was not started.
#[derive(Debug)]
#[non_exhaustive]
pub enum RuntimeError {
    /// The requested number of workers is not in the range from 1 to 255.
    Workers(usize),
    /// No structure for sleeping threads has this name.
    Structure(String),
    /// No thread could be created with the runtime's default attributes.
    Attributes(CreateError),
    /// This system lacks a requested feature.
    Unsupported {
        /// The feature that the system lacks.
        what: &'static str,
        /// What the program can do instead.
        instead: &'static str,
    },
    /// The runtime could not get something that it needs: memory, or a worker.
    Start {
        /// What the runtime could not get.
        what: &'static str,
        /// The platform's error.
        error: io::Error,
    },
}

error_texts! { RuntimeError:
    Self::Workers(asked) =>
        "{asked} workers: ask for 1 to 255, or leave the number to the machine's cores",
    Self::Structure(name) =>
        "no structure for sleeping threads is called {name:?}: see tickwright_core::for_each_family",
    Self::Attributes(error) => "the runtime's default for threads: {error}",
    Self::Unsupported { what, instead } => "this system has no {what}: {instead}",
    Self::Start { what, error } => "cannot start the runtime's {what}: {error}",
}

impl RuntimeError {
    /// Converts the error of creating a worker.
    #[cfg(unix)]
    pub(crate) fn of_worker(error: CreateError) -> Self {
        let error = match error {
            CreateError::OutOfStacks { error: Some(error), .. }
            | CreateError::NoStack { error }
            | CreateError::StackRefused { error, .. }
            | CreateError::TooMany { error: Some(error) } => error,
            CreateError::OutOfMemory | CreateError::MapCount { .. } => no_memory(),
            _ => io::Error::from_raw_os_error(libc::EAGAIN),
        };
        Self::Start { what: "worker", error }
    }
}

/// The reason why a thread was not created. Its body has been dropped, and no other thread is
/// affected.
#[derive(Debug)]
#[non_exhaustive]
pub enum CreateError {
    /// A stack of this many bytes is out of range.
    Stack {
        /// The requested size in bytes.
        asked: usize,
    },
    /// A guard of this many bytes is out of range.
    Guard {
        /// The requested size in bytes.
        asked: usize,
    },
    /// The name is too long, or has a NUL in it.
    Name,
    /// The runtime has reached its bound on stacks, or the platform has no memory for another
    /// stack.
    OutOfStacks {
        /// How many stacks there are.
        have: usize,
        /// The platform's error, or `None` if the runtime's own bound was reached.
        error: Option<io::Error>,
    },
    /// The platform has no memory for a stack.
    NoStack {
        /// The platform's error.
        error: io::Error,
    },
    /// The process has as many mappings as the host allows. Each stack takes one mapping, and its
    /// guard takes another.
    MapCount {
        /// How many mappings there are.
        have: usize,
        /// The largest allowed number: `vm.max_map_count`.
        most: usize,
    },
    /// The platform does not start a thread with a stack of this size. The platform's own data and
    /// the program's thread-local variables also need room on the stack.
    StackRefused {
        /// The bytes of the stack.
        stack: usize,
        /// The bytes of the guard.
        guard: usize,
        /// The platform's error.
        error: io::Error,
    },
    /// The runtime has no id left for another thread, or the platform does not start more threads.
    TooMany {
        /// The platform's error, or `None` if the runtime has no id left.
        error: Option<io::Error>,
    },
    /// There is no memory for the thread's record.
    OutOfMemory,
    /// The runtime is ending, or has ended.
    Closed,
    /// This is a forked child, in which the runtime's threads do not exist.
    Forked,
}

impl CreateError {
    /// Returns the POSIX error number of this error, with its value on Linux: `EINVAL`, `EAGAIN` or
    /// `ENOMEM`. For an error that POSIX does not define, it is `ESHUTDOWN`.
    #[must_use]
    pub fn errno(&self) -> i32 {
        match self {
            Self::Stack { .. } | Self::Guard { .. } | Self::StackRefused { .. } | Self::Name => {
                number::EINVAL
            }
            Self::OutOfStacks { .. }
            | Self::NoStack { .. }
            | Self::MapCount { .. }
            | Self::TooMany { .. } => number::EAGAIN,
            Self::OutOfMemory => number::ENOMEM,
            Self::Closed | Self::Forked => number::ESHUTDOWN,
        }
    }
}

/// Formats the platform's error, if there is one, after a message.
struct Tail<'a>(&'a Option<io::Error>);

impl fmt::Display for Tail<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|error| write!(f, ": {error}"))
    }
}

error_texts! { CreateError:
    Self::Stack { asked } => "a stack of {asked} bytes: ask for {LEAST_STACK} to {MOST_STACK}",
    Self::Guard { asked } => "a guard of {asked} bytes: ask for at most {MOST_GUARD}",
    Self::Name => "a name has at most {LONGEST_NAME} bytes, none of them NUL",
    Self::OutOfStacks { have, error } => (format_args!(
        "no stack beyond {have}: join or end threads, or raise the runtime's bound or the host's memory{}",
        Tail(error)
    )),
    Self::NoStack { error } =>
        "no memory for another stack: join or end threads, or ask for smaller stacks: {error}",
    Self::MapCount { have, most } =>
        "the process has {have} mappings of {most}: raise vm.max_map_count (sysctl), or create threads without guards",
    Self::StackRefused { stack, guard, error } =>
        "the platform takes no stack of {stack} bytes with a guard of {guard}: ask for a larger stack: {error}",
    Self::TooMany { error } => (format_args!(
        "no more threads: join or end some, or raise the host's limit (ulimit -u, threads-max, pid_max, cgroup pids){}",
        Tail(error)
    )),
    Self::OutOfMemory => "no memory for the record of another thread",
    Self::Closed => "the runtime is ending: create threads before it is dropped",
    Self::Forked =>
        "this is a forked child: its parent has the runtime's threads; start a runtime of its own",
}

/// The reason why a thread was not joined, detached or woken.
#[derive(Debug)]
#[non_exhaustive]
pub enum JoinError {
    /// There is no such thread: it was joined, or was detached and has ended, or exists only in the
    /// parent of this forked process. `ESRCH`.
    NoSuchThread,
    /// The caller would join itself, or join a thread that waits for the caller, directly or
    /// through other threads. `EDEADLK`.
    ///
    /// Only joins of one runtime are checked. A circle through threads of several runtimes is not
    /// detected, and its threads wait forever. A join with a time limit counts as a wait until it
    /// returns. A circle can therefore be reported although the time limit would have ended it a
    /// moment later.
    Deadlock,
    /// The thread is detached, or another thread is joining it. `EINVAL`.
    NotJoinable,
    /// The thread still runs, and the call does not wait. `EBUSY`. The thread can be joined later.
    Busy,
    /// The thread still ran at the end of the time limit. `ETIMEDOUT`. The thread can be joined
    /// later.
    TimedOut,
    /// The thread has panicked, and this is the payload of the panic. The thread has been joined.
    Panicked(Box<dyn Any + Send>),
}

impl JoinError {
    /// Returns the POSIX error number of this error, with its value on Linux. For a panic, which
    /// POSIX does not define, it is `ECANCELED`.
    #[must_use]
    pub fn errno(&self) -> i32 {
        match self {
            Self::NoSuchThread => number::ESRCH,
            Self::Deadlock => number::EDEADLK,
            Self::NotJoinable => number::EINVAL,
            Self::Busy => number::EBUSY,
            Self::TimedOut => number::ETIMEDOUT,
            Self::Panicked(_) => number::ECANCELED,
        }
    }
}

error_texts! { JoinError:
    Self::NoSuchThread => "no such thread: it was joined, or was detached and has ended",
    Self::Deadlock => "joining it would wait for ever: it is the caller, or waits for the caller",
    Self::NotJoinable => "it is detached, or being joined by another thread",
    Self::Busy => "it has not ended yet",
    Self::TimedOut => "it had not ended when the time was over",
    Self::Panicked(_) => "it has panicked",
}
