//! `tickwright record`: runs a program and records its timers.
//!
//! ```text
//!   record ── LD_PRELOAD ──▶ program, its children     tickwright-preload: one ring a process
//!      │                         │
//!      └── Collector ◀── rings ──┘      Translator: operations to events
//!             └─▶ Sink ─▶ FILE.twt
//! ```

mod collector;
mod folder;
mod process;
mod program;
mod sink;
mod summary;
mod translate;

use core::time::Duration;
use std::env;
use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::thread;

use clap::Args;
use rustix::process::{Pid, Signal, kill_process};
use rustix::time::{ClockId, clock_gettime};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::low_level::siginfo::{Cause, Origin};
use tickwright_preload::ring::{FOLDER, source};
use tickwright_trace::TraceError;

use self::collector::Collector;
use self::folder::Folders;
use self::program::Unfit;
use self::sink::Sink;
use self::summary::Ended;
use crate::error::LabError;
use crate::interrupt;
use crate::output::text::name;
use crate::output::{self, GrowingFile};
use crate::traces::remedy::remedies;

/// The exit codes that a shell returns for a program that does not exist, and for a program that
/// cannot be started.
const NOT_FOUND: u8 = 127;
const NOT_STARTED: u8 = 126;

/// Run a program and record its timers (Linux with glibc)
///
/// A library is loaded into the program and its children with LD_PRELOAD. It sees the calls of
/// libevent, libuv and libev, timerfd, POSIX timers and itimers. It also sees the time-outs of
/// poll, epoll, select, sleeps, condition variables and semaphores. The trace says what it cannot
/// see.
///
/// The exit code is the program's own, or 128 + n if signal n killed it. Code 127 means that there
/// is no such program, and 126 that it cannot be started. Code 2 means that it would run unseen,
/// and 3 that the trace could not be written.
///
/// For example: tickwright record --out cache.twt -- memcached -p 0 -U 0
///
/// Ctrl-C ends the program as it would without `record`, and the trace is finished. A first
/// SIGTERM, and a first SIGINT that does not come from the terminal, are passed on to the program.
/// A second signal, a second later or more, ends the recording and not the program. If the disk is
/// full, the program runs on unrecorded.
#[derive(Debug, Clone, Args)]
pub(crate) struct RecordArgs {
    /// File for the trace; one that exists is replaced
    #[arg(long, short, value_name = "FILE", default_value = "tickwright.twt")]
    out: PathBuf,
    /// Sources to record, with commas: libevent, libuv, libev, timerfd, posix-timer, itimer, poll,
    /// epoll, select, sleep, cond, sem
    #[arg(long, value_name = "SOURCES", value_delimiter = ',')]
    only: Vec<String>,
    /// End the trace at this many MiB; the program runs on
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    max_mib: Option<u64>,
    /// The program and its arguments
    #[arg(value_name = "PROGRAM", required = true, last = true)]
    program: Vec<OsString>,
}

/// Returns the time on the clock of a recorded trace.
fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}

impl RecordArgs {
    /// Runs the program. Afterwards, ends this process with the program's exit code.
    ///
    /// # Errors
    /// If the program would run unrecorded, or if the trace cannot be written.
    pub(crate) fn execute(&self) -> Result<(), LabError> {
        if tickwright_preload::LIBRARY.is_empty() {
            return Err(LabError::usage(format!("this build cannot record programs: {}", self.remedy())));
        }
        let only = self.sources()?;
        let code = match program::check(&self.program[0]) {
            Ok(program) => {
                let words = self.program.iter().map(Path::new);
                let read: Vec<&Path> = words.chain([program.as_path()]).collect();
                output::keep_inputs("--out", &self.out, &read)?;
                self.run(only)?
            }
            Err(Unfit::Unseen(why)) => return Err(LabError::usage(format!("{why}: {}", self.remedy()))),
            Err(Unfit::Missing) => {
                self.not_started(
                    "there is no such program; a path needs a slash, a name is looked for in PATH",
                );
                NOT_FOUND
            }
            Err(Unfit::NotExecutable) => {
                self.not_started("it is no program that may be executed");
                NOT_STARTED
            }
        };
        std::process::exit(code.into());
    }

    /// Returns the remedy for a program that does not load the library.
    fn remedy(&self) -> String {
        let [of_kernel, _] = remedies(&summary::command(&self.program));
        format!("record {of_kernel}")
    }

    fn not_started(&self, why: &str) {
        let program = name(&self.program[0].to_string_lossy());
        output::message(&format!("tickwright: '{program}' cannot be started: {why}\n"));
    }

    fn sources(&self) -> Result<[bool; 12], LabError> {
        let mut only = [self.only.is_empty(); 12];
        for name in &self.only {
            let at = source::NAMES.iter().position(|known| known == name).ok_or_else(|| {
                LabError::usage(format!(
                    "no source is called '{name}'; there are {}",
                    source::NAMES.join(", ")
                ))
            })?;
            only[at] = true;
        }
        Ok(only)
    }

    fn run(&self, only: [bool; 12]) -> Result<u8, LabError> {
        let folders = Folders::new().map_err(|error| {
            LabError::io("making a folder for the recorder (TMPDIR names another)", error)
        })?;
        let writing = |error| LabError::io(format!("writing '{}'", self.out.display()), error);
        let mut file = GrowingFile::begin(&self.out).map_err(writing)?;
        let limit = self.max_mib.map_or(u64::MAX, |mib| mib << 20);
        let sink = file.file().map_err(TraceError::Io);
        let sink = sink.and_then(|file| Sink::new(file, &summary::header(&self.program), limit));
        let sink = sink.map_err(|error| match error {
            TraceError::Io(error) => writing(error),
            other => LabError::failed(other.to_string()),
        })?;
        let mut signals = SignalsInfo::<WithOrigin>::new([SIGINT, SIGTERM])
            .map_err(|source| LabError::io("watching for signals of the program", source))?;
        // A signal that arrived earlier could not be passed on, because there was no program yet.
        if interrupt::requested() {
            return Err(LabError::Interrupted);
        }
        let start_ns = now_ns();
        let mut child = match self.start(&folders) {
            Ok(child) => child,
            Err(error) => {
                self.not_started(&error.to_string());
                return Ok(if error.kind() == io::ErrorKind::NotFound { NOT_FOUND } else { NOT_STARTED });
            }
        };
        // An older trace is replaced as soon as there is something to record.
        file.publish();
        let mut collector = Collector::new(folders.rings.clone(), start_ns, only, sink);
        let status = watch(&mut child, &mut collector, &mut signals)?;
        collector.finish(now_ns());
        let ended = Ended {
            status,
            elapsed: Duration::from_nanos(now_ns() - start_ns),
            file: &self.out,
            program: &self.program,
        };
        let finished = file.finish();
        if let Some(error) = collector.sink.result.error.take().or(finished.err()) {
            output::message(&summary::text(&ended, &collector.totals, &collector.sink.result));
            return Err(writing(error));
        }
        if collector.totals.processes == 0 {
            return Err(LabError::usage(summary::unseen_program(&self.program[0], status, &self.remedy())));
        }
        output::message(&summary::text(&ended, &collector.totals, &collector.sink.result));
        Ok(code(status))
    }

    fn start(&self, folders: &Folders) -> io::Result<Child> {
        const PRELOAD: &str = "LD_PRELOAD";
        let mut libraries = folders.library().into_os_string();
        if let Some(before) = env::var_os(PRELOAD).filter(|before| !before.is_empty()) {
            libraries.push(":");
            libraries.push(before);
        }
        let folder = FOLDER.to_str().map_err(io::Error::other)?;
        Command::new(&self.program[0])
            .args(&self.program[1..])
            .env(PRELOAD, libraries)
            .env(folder, Path::new(&folders.rings))
            .spawn()
    }
}

/// How long a child that outlives its program has, at most, to create its ring.
const GRACE_NS: u64 = 250_000_000;

/// Collects until the program and all its recorded children have ended, or a signal stops it.
fn watch<W: io::Write>(
    child: &mut Child,
    collector: &mut Collector<W>,
    signals: &mut SignalsInfo<WithOrigin>,
) -> Result<ExitStatus, LabError> {
    let waiting = |error| LabError::io("waiting for the program", error);
    let (mut is_announced, mut was_full, mut is_passed_on) = (false, false, false);
    let is_shown = io::stderr().is_terminal();
    let mut busy_ns = now_ns();
    loop {
        let status = child.try_wait().map_err(waiting)?;
        let pause = collector.turn(now_ns());
        if status.is_none() || collector.processes() > 0 {
            busy_ns = now_ns();
        }
        let stopped = interrupt::requested();
        if let Some(status) = status {
            if now_ns() - busy_ns > GRACE_NS || stopped {
                return Ok(status);
            }
            if is_shown && !is_announced && collector.processes() > 0 {
                output::message(
                    "tickwright: the program has ended, its children go on; Ctrl-C ends the recording\n",
                );
                is_announced = true;
            }
        } else if stopped {
            // One request to stop can arrive as several signals, because `timeout` sends two. The
            // program gets only one of these signals.
            if !is_passed_on && let Some(origin) = signals.pending().next() {
                is_passed_on = true;
                let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
                let signal = if origin.signal == SIGINT { Signal::INT } else { Signal::TERM };
                pid.filter(|_| !is_from_terminal(&origin)).map(|pid| kill_process(pid, signal));
            }
            // A signal that arrives at least a second later ends this process at once, so the trace
            // is flushed now.
            collector.sink.flush();
        }
        if !collector.sink.is_open() && !was_full {
            was_full = true;
            output::message("tickwright: the trace takes no more; the program runs on unrecorded\n");
        }
        thread::sleep(pause);
    }
}

/// Returns whether a terminal sent the signal, which then reached the program too. A signal from
/// another process, such as `kill`, reached only this process.
fn is_from_terminal(origin: &Origin) -> bool {
    origin.cause == Cause::Kernel
}

/// Returns the exit code that a shell would return for this exit status.
fn code(status: ExitStatus) -> u8 {
    let code = status.code().or(status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}
