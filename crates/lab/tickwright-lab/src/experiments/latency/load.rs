//! A load beside the measurement, in a separate process that cannot outlive this one.
//!
//! The kernel kills the load when the thread that started it ends, whichever way (SIGKILL too).
//! This process kills the load's process group when a run ends, and with it the processes that the
//! load has started.
//!
//! The load has a process group of its own, so Ctrl-C reaches it through this process only, after
//! the figures are taken.

mod worker;

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::error::LabError;
use crate::experiments::request;
pub(crate) use worker::WorkerArgs;

/// The name of the hidden command.
const COMMAND: &str = "latency-load";

/// A kind of load. Each kind takes one processor, at normal priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Load {
    /// Writes over 32 MiB in large steps, so that caches and TLBs hold nothing else
    Cache,
    /// Small system calls, one after the other
    Syscalls,
    /// Starts a process that ends at once, and waits for it
    Forks,
    /// Writes 1 MiB to a file without a name, syncs it, and reads it back
    Files,
    /// Two threads wake each other through pipes
    Pipe,
    /// All of them
    All,
}

impl Load {
    /// All kinds except [`All`](Self::All).
    const EACH: [Self; 5] = [Self::Cache, Self::Syscalls, Self::Forks, Self::Files, Self::Pipe];

    /// The kinds that `asked` names, each once.
    pub(crate) fn of(asked: &[Self]) -> Vec<Self> {
        let wanted = |load: &Self| asked.contains(load) || asked.contains(&Self::All);
        Self::EACH.into_iter().filter(wanted).collect()
    }
}

/// A running load.
#[derive(Debug)]
pub(super) struct Generator {
    child: Child,
}

impl Generator {
    /// Starts the load. Call this function on a thread that outlives the run, since the load ends
    /// with that thread.
    pub(super) fn start(loads: &[Load]) -> Result<Self, LabError> {
        let child = own_program()
            .arg(request::names(loads))
            .args(["--parent", &std::process::id().to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(|source| LabError::io("starting the load", source))?;
        Ok(Self { child })
    }

    /// Ends the load. Returns a note if the load had already ended.
    pub(super) fn end(mut self) -> Option<String> {
        let gone = self.child.try_wait().ok().flatten();
        gone.map(|status| {
            format!("the load had ended before the run ({status}): a part of the figures is without it")
        })
    }
}

impl Drop for Generator {
    fn drop(&mut self) {
        // The group also contains the processes that the load started. The child was not waited
        // for, so no other process has its id.
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.wait();
    }
}

/// Returns a command that runs this program with the argument [`COMMAND`].
fn own_program() -> Command {
    let mut program = Command::new("/proc/self/exe");
    program.arg(COMMAND).arg0("tickwright");
    program
}

/// Opens a file without a name. The file disappears when it is closed.
fn nameless() -> io::Result<std::fs::File> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let file = rustix::fs::open(std::env::temp_dir(), flags, Mode::RUSR | Mode::WUSR)?;
    Ok(file.into())
}
