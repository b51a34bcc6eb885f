//! The kinds of load.

/// What disturbs. Each takes a processor at normal priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Load {
    /// Writes over 32 MiB in large steps, so that caches and TLBs hold nothing else
    Cache,
    /// Small system calls, one after the other
    Syscalls,
    /// Starts a process that ends at once, and waits for it
    Forks,
    /// Writes 1 MiB to a file without a name, has it stored, and reads it back
    Files,
    /// Two threads wake each other through pipes
    Pipe,
    /// All of them
    All,
}

impl Load {
    /// All but [`All`](Self::All).
    pub(super) const EACH: [Self; 5] = [Self::Cache, Self::Syscalls, Self::Forks, Self::Files, Self::Pipe];

    /// What was asked for, each once.
    pub(crate) fn of(asked: &[Self]) -> Vec<Self> {
        let wanted = |load: &Self| asked.contains(load) || asked.contains(&Self::All);
        Self::EACH.into_iter().filter(wanted).collect()
    }

    /// Its name on the command line.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Cache => "cache",
            Self::Syscalls => "syscalls",
            Self::Forks => "forks",
            Self::Files => "files",
            Self::Pipe => "pipe",
            Self::All => "all",
        }
    }
}
