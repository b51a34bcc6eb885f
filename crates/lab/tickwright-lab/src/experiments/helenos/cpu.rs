//! The processors on which client and server run.

use std::io;
use std::thread;

use clap::ValueEnum;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::error::LabError;
use crate::experiments::request::word;

/// Placement of client and server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Pin {
    /// Wherever the system places them
    None,
    /// Both on one processor, as on a machine with a single processor
    Same,
    /// Each on its own processor
    Different,
}

impl Pin {
    /// Returns the last processors that this process is allowed to use, because the first processor
    /// handles most interrupts.
    ///
    /// # Errors
    /// If there are not enough processors.
    pub(crate) fn processors(self) -> Result<Processors, LabError> {
        let allowed = sched_getaffinity(None)
            .map_err(|source| LabError::io("asking for the processors of this process", source.into()))?;
        let usable: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu)).collect();
        self.among(&usable)
    }

    fn among(self, usable: &[usize]) -> Result<Processors, LabError> {
        match (self, usable) {
            (Self::None, _) => Ok(Processors { client: None, server: None }),
            (Self::Same, [.., last]) => Ok(Processors { client: Some(*last), server: Some(*last) }),
            (Self::Different, [.., one, last]) => Ok(Processors { client: Some(*last), server: Some(*one) }),
            (Self::Same | Self::Different, _) => Err(LabError::usage(format!(
                "--pin {} needs more processors than the {} that this process may use: take --pin same or none; \
                 nothing was run",
                word(&self),
                usable.len()
            ))),
        }
    }
}

/// A processor for each side; `None` allows any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Processors {
    pub(crate) client: Option<usize>,
    pub(crate) server: Option<usize>,
}

/// Pins the calling thread, and the threads that it starts, to a processor.
///
/// # Errors
/// If the processor does not exist or is not allowed.
pub(crate) fn pin(cpu: Option<usize>) -> io::Result<()> {
    let Some(cpu) = cpu else { return Ok(()) };
    if cpu >= CpuSet::MAX_CPU {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("there is no processor {cpu}")));
    }
    let mut one = CpuSet::new();
    one.set(cpu);
    Ok(sched_setaffinity(None, &one)?)
}

/// Runs `work` in a thread on the processor `cpu`.
///
/// # Errors
/// The errors of [`pin`], or an error if the thread cannot be started or panics.
pub(crate) fn pinned<R: Send>(cpu: Option<usize>, work: impl FnOnce() -> R + Send) -> io::Result<R> {
    thread::scope(|scope| {
        let client = || pin(cpu).map(|()| work());
        let client = thread::Builder::new().name("client".into()).spawn_scoped(scope, client)?;
        client.join().unwrap_or_else(|_| Err(io::Error::other("it panicked")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_processors_are_taken_and_too_few_are_refused() {
        let both = |client, server| Processors { client: Some(client), server: Some(server) };
        assert_eq!(Pin::Same.among(&[0, 3]).unwrap(), both(3, 3));
        assert_eq!(Pin::Different.among(&[0, 1, 3]).unwrap(), both(3, 1));
        assert_eq!(Pin::None.processors().unwrap(), Processors { client: None, server: None });
        let refused = Pin::Different.among(&[2]).unwrap_err();
        assert!(refused.to_string().contains("--pin different"), "{refused}");
        assert_eq!(refused.code(), 2);
    }
}
