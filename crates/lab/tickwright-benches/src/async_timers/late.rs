//! How late sleeps are, how much memory a timer takes, and how often an idle driver wakes.

use core::future::Future;
use core::hint::spin_loop;
use core::ops::Range;
use core::pin::Pin;
use core::sync::atomic::{AtomicBool, Ordering};
use core::task::{Context, Waker};
use core::time::Duration;
use std::fs;
use std::thread;

use super::context::{run, tokio};
use super::library::{AsyncIo, FuturesTimer, Library, Ours, Pingora, Sleeps, Tokio};
use tickwright_async::Timers;

use crate::clock::{Meter, OsClock};
use crate::error::LabError;
use crate::progress::Progress;
use crate::{allocator, interrupt};

/// How late the sleeps of a library were.
#[derive(Debug, Clone)]
pub(crate) struct Late {
    pub(crate) library: Library,
    /// Whether the machine was busy, which means that each processor also ran a busy thread.
    pub(crate) busy: bool,
    /// The lateness of each sleep, one list per round.
    pub(crate) rounds: Vec<Vec<u64>>,
}

impl Late {
    /// Returns the lateness of each sleep, over all rounds.
    pub(crate) fn ns(&self) -> impl Iterator<Item = u64> {
        self.rounds.iter().flatten().copied()
    }
}

/// What a library's timers cost while they are far from due.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Resting {
    pub(crate) library: Library,
    /// The size of a timer's future in bytes, without memory on the heap.
    pub(crate) future: usize,
    pub(crate) heap: f64,
    /// Wake-ups of the library's threads per second. `None` if this system does not count them.
    pub(crate) wakes: Option<u64>,
}

/// The maximum number of rounds in which the libraries alternate.
const ROUNDS: usize = 10;
/// Unless there is only one round, a round has at least this many sleeps, so that its 99th
/// percentile can be computed.
const FEWEST: usize = 100;

/// Measures the lateness of successive sleeps of 1 to 2 ms each. Each round begins with a different
/// library.
///
/// # Errors
/// If a sleep ends early.
pub(crate) fn late(sleeps: usize, clock: OsClock) -> Result<Vec<Late>, LabError> {
    let turns: Vec<(Library, bool)> =
        Library::SLEEP.into_iter().flat_map(|library| [(library, false), (library, true)]).collect();
    let rounds = if sleeps == 0 { 0 } else { (sleeps / FEWEST).clamp(1, ROUNDS) };
    let progress = Progress::steps((rounds * turns.len()) as u64, "lateness");
    let mut all: Vec<Late> =
        turns.iter().map(|&(library, busy)| Late { library, busy, rounds: Vec::new() }).collect();
    for (round, turn) in (0..rounds).flat_map(|round| (0..turns.len()).map(move |turn| (round, turn))) {
        if interrupt::requested() {
            break;
        }
        let turn = (round + turn) % turns.len();
        let (library, busy) = turns[turn];
        progress.doing(library.name().to_owned());
        let some = (sleeps * round / rounds) as u64..(sleeps * (round + 1) / rounds) as u64;
        let asleep = || match library {
            Library::Tokio | Library::Pinned => nap::<Tokio>(library, some, clock),
            Library::Pingora => nap::<Pingora>(library, some, clock),
            Library::AsyncIo => nap::<AsyncIo>(library, some, clock),
            Library::FuturesTimer => nap::<FuturesTimer>(library, some, clock),
            Library::Ours | Library::Slot => nap::<Ours>(library, some, clock),
        };
        let ns = if busy { beside_busy_threads(asleep) } else { asleep() };
        let wrong = |why: String| LabError::failed(format!("{}: {why}", library.name()));
        all[turn].rounds.push(ns.map_err(wrong)?);
        progress.step();
    }
    all.retain(|late| late.ns().next().is_some());
    Ok(all)
}

/// Returns the lateness of the sleeps with these numbers. The number of a sleep determines its
/// duration.
fn nap<S: Sleeps>(library: Library, some: Range<u64>, clock: OsClock) -> Result<Vec<u64>, String> {
    run(library, async {
        let mut late = Vec::new();
        for at in some {
            if interrupt::requested() {
                break;
            }
            // The durations differ, so that they are not multiples of a tick.
            let nap = Duration::from_nanos(1_000_000 + at * 7_919 % 1_000_000);
            let begun = clock.now();
            S::sleep(nap).await;
            let took = clock.now().saturating_sub(begun);
            let took = Duration::from_nanos(took);
            // A sleep that ends early, but not earlier than its library allows, counts as punctual.
            if took + library.may_be_early() < nap {
                return Err(format!("a sleep of {nap:?} was over after {took:?}"));
            }
            late.push(took.saturating_sub(nap).as_nanos() as u64);
        }
        Ok(late)
    })?
}

fn beside_busy_threads<R>(work: impl FnOnce() -> R) -> R {
    let stop = AtomicBool::new(false);
    let processors = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..processors {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    spin_loop();
                }
            });
        }
        let result = work();
        stop.store(true, Ordering::Relaxed);
        result
    })
}

/// Arms `n` timers of each library, one library after the other. Then waits for a second in which
/// no timer is due. The threads of a library stay alive, so each library's count excludes the
/// wake-ups of earlier libraries' threads.
///
/// # Errors
/// If the system refuses memory, or a runtime does not start.
pub(crate) fn resting(n: u64) -> Result<Vec<Resting>, LabError> {
    allocator::room(n as usize * 1024, &format!("{n} timers that rest"))?;
    // `Pinned` is left out, because its sleeps are the same sleeps of tokio that are measured
    // anyway.
    let libraries = Library::ALL.into_iter().filter(|library| *library != Library::Pinned);
    let progress = Progress::steps(libraries.clone().count() as u64, "timers that rest");
    let mut before = None;
    let mut all = Vec::new();
    for library in libraries {
        if interrupt::requested() {
            break;
        }
        progress.doing(library.name().to_owned());
        let rested = match library {
            Library::Tokio | Library::Pinned => {
                let runtime = tokio(1).map_err(LabError::failed)?;
                let _entered = runtime.enter();
                rest(n, Tokio::sleep)
            }
            Library::Pingora => rest(n, Pingora::sleep),
            Library::AsyncIo => rest(n, AsyncIo::sleep),
            Library::FuturesTimer => rest(n, FuturesTimer::sleep),
            // These timers are new, so they have no memory left from earlier work.
            Library::Ours | Library::Slot => {
                let timers = Timers::new()
                    .map_err(|error| LabError::failed(format!("no thread for timers: {error}")))?;
                match library {
                    Library::Slot => rest_in_slots(n, &timers),
                    _ => rest(n, |after| timers.sleep(after)),
                }
            }
        };
        let (future, heap, wakes) = rested;
        let more = wakes.map(|wakes| wakes.saturating_sub(before.unwrap_or(0)));
        before = wakes.or(before);
        all.push(Resting { library, future, heap, wakes: more });
        progress.step();
    }
    Ok(all)
}

const FAR: Duration = Duration::from_secs(600);

/// Returns the size of the future, the bytes per timer on the heap, and the wake-ups of all
/// threads.
fn rest<F: Future>(n: u64, sleep: impl Fn(Duration) -> F) -> (usize, f64, Option<u64>) {
    let mut sleeps: Vec<Pin<Box<F>>> = Vec::with_capacity(n as usize);
    let live = allocator::live_bytes();
    for _ in 0..n {
        let mut sleep = Box::pin(sleep(FAR));
        let _ = sleep.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        sleeps.push(sleep);
    }
    let future = size_of::<F>();
    // The futures are in boxes on the heap, so their size is subtracted.
    let heap = (allocator::live_bytes() - live) as f64 / n as f64 - future as f64;
    (future, heap, wakes())
}

fn rest_in_slots(n: u64, timers: &Timers) -> (usize, f64, Option<u64>) {
    let mut slots = Vec::with_capacity(n as usize);
    let live = allocator::live_bytes();
    for _ in 0..n {
        let mut slot = timers.slot();
        slot.set_after(FAR);
        let _ = slot.poll_elapsed(&mut Context::from_waker(Waker::noop()));
        slots.push(slot);
    }
    let heap = (allocator::live_bytes() - live) as f64 / n as f64;
    (size_of::<tickwright_async::Slot>(), heap, wakes())
}

/// Returns the wake-ups of all other threads per second, after a pause in which they become idle.
fn wakes() -> Option<u64> {
    thread::sleep(Duration::from_millis(100));
    let before = switches()?;
    thread::sleep(Duration::from_secs(1));
    // One of the counted wake-ups belongs to this thread.
    Some(switches()?.saturating_sub(before).saturating_sub(1))
}

/// Returns how often threads of this process gave up the processor voluntarily.
fn switches() -> Option<u64> {
    let mut all = 0;
    for task in fs::read_dir("/proc/self/task").ok()? {
        let status = fs::read_to_string(task.ok()?.path().join("status")).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
        all += line.trim().parse::<u64>().ok()?;
    }
    Some(all)
}
