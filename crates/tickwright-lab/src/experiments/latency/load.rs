//! A load beside the measurement, in a process of its own that cannot outlive this one.
//!
//! Three ropes hold it, since each can fail alone: the kernel kills it when the thread that started
//! it ends, a pipe whose closing it waits for ends it however this process goes (SIGKILL too), and
//! this process kills its group when a run ends. It has a group of its own, so that Ctrl-C reaches
//! it through here, after the figures. And it ends by itself after a while: what the run lasts,
//! twice, and some seconds.

mod worker;

use core::time::Duration;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::error::LabError;
use crate::experiments::request;
pub(crate) use worker::WorkerArgs;

/// The name of the hidden command.
const COMMAND: &str = "latency-load";

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
    const EACH: [Self; 5] = [Self::Cache, Self::Syscalls, Self::Forks, Self::Files, Self::Pipe];

    /// What was asked for, each once.
    pub(crate) fn of(asked: &[Self]) -> Vec<Self> {
        let wanted = |load: &Self| asked.contains(load) || asked.contains(&Self::All);
        Self::EACH.into_iter().filter(wanted).collect()
    }
}

/// A load that is under way.
#[derive(Debug)]
pub(super) struct Generator {
    child: Child,
}

impl Generator {
    /// Starts it. Call this on a thread that stays: the load ends with it.
    pub(super) fn start(loads: &[Load], lasts: Duration) -> Result<Self, LabError> {
        let words: Vec<String> = loads.iter().map(request::word).collect();
        let limit = lasts.saturating_mul(2).saturating_add(Duration::from_secs(10)).as_secs();
        let child = own_program()
            .arg(words.join(","))
            .args(["--limit", &limit.to_string()])
            .args(["--parent", &std::process::id().to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(|source| LabError::io("starting the load", source))?;
        Ok(Self { child })
    }

    /// Ends it. Says when it had ended before.
    pub(super) fn end(mut self) -> Option<String> {
        let gone = self.child.try_wait().ok().flatten();
        gone.map(|status| {
            format!("the load had ended before the run ({status}): a part of the figures is without it")
        })
    }
}

impl Drop for Generator {
    fn drop(&mut self) {
        // The group: also what the load itself started. It was not waited for, so its number is not
        // another's.
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.wait();
    }
}

/// This very program, with the hidden command.
fn own_program() -> Command {
    let mut program = Command::new("/proc/self/exe");
    program.arg(COMMAND).arg0("tickwright");
    program
}

/// A file without a name, gone when it is closed.
fn nameless() -> io::Result<std::fs::File> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let file = rustix::fs::open(std::env::temp_dir(), flags, Mode::RUSR | Mode::WUSR)?;
    Ok(file.into())
}
