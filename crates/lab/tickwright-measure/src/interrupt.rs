//! SIGINT (Ctrl-C) and SIGTERM (`timeout`, CI, systemd). The first signal asks the run to stop at
//! the next sample and to write its results so far. A second signal ends the process. A command
//! that measures nothing has no results to keep, so the first signal ends the command: see
//! [`at_once`].
//!
//! `timeout` sends SIGTERM twice, to its child and to the process group. Therefore a second signal
//! within `AGAIN` of the first signal is ignored. The exit code is 128 plus the signal's number:
//! 130 or 143.

use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
#[cfg(unix)]
use core::time::Duration;
use std::fs;
use std::io::{self, Read};
use std::path::PathBuf;
use std::process::{Child, Output};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// The values that the signal handlers write.
#[derive(Debug, Default)]
struct Asked {
    stop: Arc<AtomicBool>,
    /// The number of the last signal; 0 if there was none.
    signal: Arc<AtomicUsize>,
}

static ASKED: OnceLock<Asked> = OnceLock::new();

/// How many [`AtOnce`] values are alive.
static AT_ONCE: AtomicUsize = AtomicUsize::new(0);

/// Files that are not complete yet. These files are removed if a signal ends the process.
static DRAFTS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Process ids of the children that an interruption ends.
static CHILDREN: Mutex<Vec<u32>> = Mutex::new(Vec::new());

/// Signals that ask a run to stop, with the exit code of each.
const SIGNALS: [(i32, u8); 2] = [(SIGINT, 130), (SIGTERM, 143)];

/// A second signal within this time after the first signal counts as the same signal.
#[cfg(unix)]
const AGAIN: Duration = Duration::from_secs(1);

/// Installs the handlers of SIGINT and SIGTERM. Later calls do nothing.
///
/// # Errors
/// If the system refuses a handler or the thread that waits for the second signal.
pub fn install() -> io::Result<()> {
    if ASKED.get().is_some() {
        return Ok(());
    }
    let asked = ASKED.get_or_init(Asked::default);
    let register = |(signal, _): (i32, u8)| {
        let number = usize::try_from(signal).unwrap_or(0);
        flag::register_usize(signal, Arc::clone(&asked.signal), number)?;
        flag::register(signal, Arc::clone(&asked.stop)).map(drop)
    };
    // Actions are registered one at a time. A signal between two registrations would reach only
    // some of the actions and would then be lost.
    held_back(|| SIGNALS.into_iter().try_for_each(register).and_then(|()| watch()))
}

/// Calls `work` with [`SIGNALS`] blocked. Signals that arrive in the meantime are delivered
/// afterwards.
#[cfg(target_os = "linux")]
#[allow(unsafe_code, reason = "signal masks, which rustix does not have")]
fn held_back<R>(work: impl FnOnce() -> R) -> R {
    use core::mem::MaybeUninit;
    use core::ptr;

    let mut signals = MaybeUninit::<libc::sigset_t>::zeroed();
    let mut before = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: 1. `signals` is a valid place for a set.
    unsafe { libc::sigemptyset(signals.as_mut_ptr()) };
    for (signal, _) in SIGNALS {
        // SAFETY: 1. `signals` is the set that was emptied above.
        unsafe { libc::sigaddset(signals.as_mut_ptr(), signal) };
    }
    // SAFETY: 1. `signals` is the filled set. 2. `before` is a valid place for the previous set.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, signals.as_ptr(), before.as_mut_ptr()) };
    let answer = work();
    // SAFETY: 1. `before` is the set that was written above. If the call was refused, it is all
    // zeros, which is an empty set.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), ptr::null_mut()) };
    answer
}

#[cfg(not(target_os = "linux"))]
fn held_back<R>(work: impl FnOnce() -> R) -> R {
    work()
}

/// Returns whether a signal has asked the run to stop. The call is cheap, but not cheap enough for
/// the inside of a timed loop.
pub fn requested() -> bool {
    ASKED.get().is_some_and(|asked| asked.stop.load(Ordering::Relaxed))
}

/// Returns the exit code of an interrupted run.
pub fn exit_code() -> u8 {
    let signal = ASKED.get().map_or(0, |asked| asked.signal.load(Ordering::Relaxed));
    let of = |(number, _): &&(i32, u8)| usize::try_from(*number) == Ok(signal);
    SIGNALS.iter().find(of).map_or(130, |(_, code)| *code)
}

fn children() -> MutexGuard<'static, Vec<u32>> {
    CHILDREN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// While this value is alive, the first signal ends the process; see [`at_once`].
#[derive(Debug)]
pub struct AtOnce(());

/// Lets the first signal end the process, with the exit code of an interrupted run. This is for a
/// thread that reads a pipe: it cannot check [`requested`], because the read can wait forever.
/// While the returned value is alive, there must be no results that an interruption should save.
/// Files that are not complete are removed.
///
/// On a platform without Unix signals, only a signal that has already arrived ends the process.
#[must_use]
pub fn at_once() -> AtOnce {
    AT_ONCE.fetch_add(1, Ordering::SeqCst);
    // The watcher could have handled the signal before the count was incremented.
    if requested() {
        end_process();
    }
    AtOnce(())
}

impl Drop for AtOnce {
    fn drop(&mut self) {
        AT_ONCE.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The files that are removed if a signal ends the process. A file is created and listed under one
/// lock, so no signal can arrive between the two steps.
pub(crate) fn drafts() -> MutexGuard<'static, Vec<PathBuf>> {
    DRAFTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends the process after a signal, and removes files that are not complete.
fn end_process() -> ! {
    // The lock is held until the process ends, so that no other draft is created.
    let drafts = drafts();
    for draft in drafts.iter() {
        let _ = fs::remove_file(draft);
    }
    signal_hook::low_level::exit(exit_code().into())
}

/// While this value is alive, an interruption also ends the child; see [`passing_on`].
#[derive(Debug)]
pub struct PassingOn(u32);

/// Passes an interruption on to `child` as SIGTERM. A signal from a terminal reaches the whole
/// process group, but a signal from `kill` reaches only this process.
///
/// Drop the returned value before you wait for the child. After the wait, another process can have
/// the child's id.
pub fn passing_on(child: &Child) -> PassingOn {
    children().push(child.id());
    // The signal could have arrived before the child was registered.
    if requested() {
        end(child.id());
    }
    PassingOn(child.id())
}

impl Drop for PassingOn {
    fn drop(&mut self) {
        children().retain(|child| *child != self.0);
    }
}

/// Waits for a child whose outputs are pipes, and returns the outputs. An interruption ends the
/// child.
///
/// # Errors
/// If a pipe cannot be read.
pub(crate) fn collect(child: &mut Child) -> io::Result<Output> {
    let told = passing_on(child);
    let said = child.stderr.take().map(|pipe| thread::spawn(move || all_of(pipe)));
    let stdout = child.stdout.take().map(all_of).transpose();
    let stderr = said.and_then(|said| said.join().ok()).transpose();
    drop(told);
    let status = child.wait()?;
    Ok(Output { status, stdout: stdout?.unwrap_or_default(), stderr: stderr?.unwrap_or_default() })
}

fn all_of(mut pipe: impl Read) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    pipe.read_to_end(&mut text).map(|_| text)
}

/// Starts a thread that passes the first signal on to the children and ends the process at the
/// second signal. While an [`AtOnce`] is alive, the first signal ends the process.
#[cfg(unix)]
fn watch() -> io::Result<()> {
    use std::os::unix::net::UnixStream;
    use std::time::Instant;

    let (wakes, mut sees) = UnixStream::pair()?;
    for (signal, _) in SIGNALS {
        signal_hook::low_level::pipe::register(signal, wakes.try_clone()?)?;
    }
    let watcher = move || {
        let mut first: Option<Instant> = None;
        // The handlers write one byte per signal.
        while sees.read_exact(&mut [0]).is_ok() {
            if AT_ONCE.load(Ordering::SeqCst) > 0 {
                end_process();
            }
            match first {
                None => {
                    first = Some(Instant::now());
                    children().iter().for_each(|child| end(*child));
                }
                Some(first) if first.elapsed() < AGAIN => {}
                Some(_) => end_process(),
            }
        }
    };
    thread::Builder::new().name("signals".into()).spawn(watcher).map(drop)
}

#[cfg(unix)]
fn end(child: u32) {
    use rustix::process::{Pid, Signal, kill_process};
    if let Some(pid) = i32::try_from(child).ok().and_then(Pid::from_raw) {
        let _ = kill_process(pid, Signal::TERM);
    }
}

/// On this platform the second signal always ends the process.
#[cfg(not(unix))]
fn watch() -> io::Result<()> {
    Ok(())
}

#[cfg(not(unix))]
fn end(_: u32) {}

#[cfg(all(test, target_os = "linux"))]
mod tests;
