//! The load process. The threads of the load work until the process is killed.

use core::ffi::CStr;
use core::hint::black_box;
use std::io::{self, Read, Seek, Write};
use std::process::Stdio;
use std::thread;

use clap::Args;
use rustix::process::{Signal, getppid, set_parent_process_death_signal};

use super::{Load, nameless, own_program};
use crate::error::LabError;
use crate::experiments::latency::platform::set_fifo;
use crate::experiments::request;
use crate::output;

/// Arguments of the hidden command.
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
    /// The system refuses the death signal or a thread.
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
/// The stride is more than a page and no power of two, so each step reaches another page and
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
