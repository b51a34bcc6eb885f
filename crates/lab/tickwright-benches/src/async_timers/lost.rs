//! Sleeps that are never woken, because their timers fire during the first poll.
//!
//! A poll checks whether the timer has fired, and then stores the waker. If the timer can fire
//! between these two steps, a library must check again after it has stored the waker; otherwise the
//! task waits forever. A thread that is preempted between the steps makes this interval long.
//! Therefore four threads run per processor, and each polls new sleeps that are due at once.

use core::future::Future;
use core::pin::Pin;
use core::sync::atomic::{AtomicBool, Ordering};
use core::task::{Context, Waker};
use core::time::Duration;
use std::sync::Arc;
use std::task::Wake;
use std::thread;
use std::time::Instant;

use super::context::tokio;
use super::library::{AsyncIo, FuturesTimer, Library, Ours, Pingora, Sleeps, Tokio};
use crate::error::LabError;
use crate::interrupt;
use crate::progress::Progress;

/// The results of a library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lost {
    pub(crate) library: Library,
    /// How many sleeps were polled.
    pub(crate) sleeps: u64,
    /// How many sleeps were never woken.
    pub(crate) lost: u64,
}

/// The maximum number of pending sleeps that all threads together keep at a time.
const MOST: usize = 160_000;
/// The upper bound of the sleeps' delays, in nanoseconds. Delays are not multiples of a tick.
const LONGEST_NS: u64 = 50_000;
/// The delay of a thread's last sleep. When this sleep ends, all earlier sleeps of the thread
/// should have ended.
const LAST: Duration = Duration::from_millis(200);
/// How long to wait for the last sleep before it counts as lost too.
const PATIENCE: Duration = Duration::from_secs(60);

/// Lets the sleeps of each library race with their timers for `length`.
///
/// # Errors
/// If a runtime does not start.
pub(crate) fn lost(length: Duration) -> Result<Vec<Lost>, LabError> {
    let progress = Progress::steps(Library::SLEEP.len() as u64, "first polls that race with their timers");
    let mut all = Vec::new();
    for library in Library::SLEEP {
        if length.is_zero() || interrupt::requested() {
            break;
        }
        progress.doing(library.name().to_owned());
        let raced = match library {
            Library::Tokio | Library::Pinned => races::<Tokio>(library, length),
            Library::Pingora => races::<Pingora>(library, length),
            Library::AsyncIo => races::<AsyncIo>(library, length),
            Library::FuturesTimer => races::<FuturesTimer>(library, length),
            Library::Ours | Library::Slot => races::<Ours>(library, length),
        };
        all.push(raced.map_err(|why| LabError::failed(format!("{}: {why}", library.name())))?);
        progress.step();
    }
    Ok(all)
}

/// Races on four threads for each processor.
pub(super) fn races<S: Sleeps>(library: Library, length: Duration) -> Result<Lost, String> {
    let threads = 4 * thread::available_parallelism().map_or(1, usize::from);
    let until = Instant::now() + length;
    let runtime = if library == Library::Tokio { Some(tokio(1)?) } else { None };
    thread::scope(|scope| {
        let race = || {
            let _entered = runtime.map(|runtime| runtime.enter());
            race::<S>(until, (MOST / threads).max(1))
        };
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(race)).collect();
        let mut all = Lost { library, sleeps: 0, lost: 0 };
        for thread in threads {
            let (sleeps, lost) = thread.join().map_err(|_| "a thread failed".to_owned())?;
            all.sleeps += sleeps;
            all.lost += lost;
        }
        Ok(all)
    })
}

/// A waker that records whether it was called.
#[derive(Default)]
struct Told(AtomicBool);

impl Wake for Told {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Release);
    }
}

impl Told {
    fn was_told(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// A sleep that was pending at its first poll, and whether it has been woken since then.
struct Open<S: Sleeps> {
    _sleep: Pin<Box<S::Sleep>>,
    told: Arc<Told>,
}

/// Polls a new sleep once. Returns `None` if the sleep was over at once.
fn begin<S: Sleeps>(after: Duration) -> Option<Open<S>> {
    let (mut sleep, told) = (Box::pin(S::sleep(after)), Arc::<Told>::default());
    let waker = Waker::from(Arc::clone(&told));
    let pending = sleep.as_mut().poll(&mut Context::from_waker(&waker)).is_pending();
    pending.then_some(Open { _sleep: sleep, told })
}

/// Polls new sleeps until the given time, and keeps at most `most` pending sleeps at a time.
/// Returns how many sleeps were polled, and how many of them were never woken.
fn race<S: Sleeps>(until: Instant, most: usize) -> (u64, u64) {
    let mut open: Vec<Open<S>> = Vec::new();
    let mut sleeps = 0;
    // Each thread polls at least one sleep, even if it begins late.
    loop {
        if open.len() >= most {
            open.retain(|one| !one.told.was_told());
        }
        if open.len() >= most {
            thread::sleep(Duration::from_millis(1));
        } else {
            open.extend(begin::<S>(Duration::from_nanos(sleeps * 7_919 % LONGEST_NS)));
            sleeps += 1;
        }
        if Instant::now() >= until || interrupt::requested() {
            break;
        }
    }
    // Timers fire in the order of their deadlines. Therefore all other sleeps should have ended
    // when this sleep ends. If the thread is preempted for longer than the delay, it is over at its
    // first poll, and another sleep begins.
    let last = loop {
        sleeps += 1;
        if let Some(last) = begin::<S>(LAST) {
            break last;
        }
    };
    let begun = Instant::now();
    while !last.told.was_told() && begun.elapsed() < PATIENCE {
        thread::sleep(Duration::from_millis(1));
    }
    open.push(last);
    (sleeps, open.iter().filter(|one| !one.told.was_told()).count() as u64)
}

#[cfg(test)]
mod tests;
