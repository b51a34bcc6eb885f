//! A load that runs during the measurement, in a separate process that cannot outlive this process.
//!
//! The kernel kills the load when the thread that started it ends for any reason, including
//! SIGKILL. When a run ends, this process kills the load's process group, which includes the
//! processes that the load has started.
//!
//! The load has its own process group, so Ctrl-C does not reach it directly. This process ends it
//! after the figures are taken.

use core::ffi::CStr;
use core::hint::black_box;
use std::io::{self, Read, Seek, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread;

use clap::Args;
use rustix::process::{Pid, Signal, getppid, kill_process_group, set_parent_process_death_signal};

use super::platform::set_fifo;
use crate::error::LabError;
use crate::experiments::request;
use crate::output;

/// The name of the hidden command.
const COMMAND: &str = "latency-load";

/// A kind of load. Each kind uses one processor at normal priority.
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

    /// Returns the kinds that `asked` names, each once.
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
    /// Starts the load. Call this function on a thread that outlives the run, because the load ends
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
        // The group also contains the processes that the load started. Nobody has waited for the
        // child yet, so no other process can have its id.
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

/// Arguments of the hidden command: the threads of the load work until the process is killed.
#[derive(Debug, Clone, Args)]
pub(crate) struct WorkerArgs {
    /// Loads to run; without one, the process ends at once
    #[arg(value_enum, value_delimiter = ',')]
    loads: Vec<Load>,
    /// Process id of the run that started the load
    #[arg(long, default_value = "0")]
    parent: i32,
}

/// The name of the process; the kernel keeps 15 letters.
const NAME: &CStr = c"tickwright-load";

impl WorkerArgs {
    /// Runs the loads until the process ends.
    ///
    /// # Errors
    /// If the system refuses the death signal or a thread.
    pub(crate) fn execute(&self) -> Result<(), LabError> {
        // The process is started through /proc/self/exe, so `ps` and `top` would call it "exe".
        let _ = rustix::thread::set_name(NAME);
        if self.loads.is_empty() {
            return Ok(());
        }
        set_parent_process_death_signal(Some(Signal::KILL))
            .map_err(|error| LabError::io("tying the load to its run", error.into()))?;
        // The parent may have ended before the death signal was set.
        if getppid().is_none_or(|parent| parent.as_raw_nonzero().get() != self.parent) {
            return Ok(());
        }
        // The process may have inherited a real-time policy. Under that policy the load would leave
        // no processor to the measurement.
        let _ = set_fifo(0);
        for load in Load::of(&self.loads) {
            let work = move || {
                let Err(error) = work(load);
                output::message(&format!("tickwright: the load '{}' ended: {error}\n", request::word(&load)));
            };
            thread::Builder::new().spawn(work).map_err(|source| LabError::io("starting a load", source))?;
        }
        loop {
            thread::park();
        }
    }
}

/// The result is an empty type: a load can only end with an error.
enum Never {}

fn work(load: Load) -> Result<Never, io::Error> {
    match load {
        Load::Cache => cache(),
        Load::Syscalls => loop {
            black_box(getppid());
        },
        Load::Forks | Load::All => forks(),
        Load::Files => files(),
        Load::Pipe => pipe(),
    }
}

const CACHE_BYTES: usize = 32 << 20;
/// The stride is more than a page and is not a power of two, so each step reaches another page and
/// another cache set.
const STRIDE: usize = 4096 + 64;

fn cache() -> ! {
    let mut memory = vec![0u8; CACHE_BYTES];
    let mut at = 0;
    loop {
        memory[at] = memory[at].wrapping_add(1);
        at = (at + STRIDE) % CACHE_BYTES;
        black_box(&mut memory);
    }
}

fn forks() -> Result<Never, io::Error> {
    loop {
        own_program().stdin(Stdio::null()).stdout(Stdio::null()).spawn()?.wait()?;
    }
}

const FILE_BYTES: usize = 1 << 20;

fn files() -> Result<Never, io::Error> {
    let mut file = nameless()?;
    let mut block = vec![0x5a; FILE_BYTES];
    loop {
        file.rewind()?;
        file.write_all(&block)?;
        file.sync_data()?;
        file.rewind()?;
        file.read_exact(&mut block)?;
    }
}

fn pipe() -> Result<Never, io::Error> {
    let (mut there_out, mut there_in) = io::pipe()?;
    let (mut back_out, mut back_in) = io::pipe()?;
    thread::Builder::new().spawn(move || {
        let mut byte = [0];
        while there_out.read_exact(&mut byte).and_then(|()| back_in.write_all(&byte)).is_ok() {}
    })?;
    let mut byte = [0];
    loop {
        there_in.write_all(&byte)?;
        back_out.read_exact(&mut byte)?;
    }
}
