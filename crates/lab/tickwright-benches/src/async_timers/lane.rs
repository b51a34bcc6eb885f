//! One kind of work on one library: the timed samples, and the check that precedes them.

use core::future::{Future, pending, poll_fn, ready};
use core::pin::{Pin, pin};
use core::task::{Context, Poll};
use core::time::Duration;
use std::sync::{Arc, Barrier, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use tickwright_async::{TestClock, TimerSettings};

use super::context::{in_tasks, run, timed, tokio};
use super::library::{AsyncIo, FuturesTimer, Library, Ours, Pingora, Reset, Sleeps, TimesOut, Tokio, slot};
use crate::clock::{Meter, OsClock};

/// The work that is timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    /// Create a sleep and drop it without a poll.
    Create,
    /// A time-out around a future that is ready at once.
    Ready,
    /// A time-out around a future that is pending at its first poll, on n threads.
    Pending(usize),
    /// Move one of n sleeps to another instant.
    Reset(u64),
    /// On two workers, move sleeps that the other worker armed.
    ResetElsewhere(u64),
    /// One thread arms a sleep, and another thread drops it.
    Remote,
    /// A delay queue of n values: all are inserted, half are removed, and the others expire. Both
    /// libraries read a clock that stands still, so that the time excludes reads of the machine's
    /// clock.
    Queue(u64),
}

impl Work {
    pub(crate) fn name(self) -> String {
        match self {
            Self::Create => "create and drop a sleep".into(),
            Self::Ready => "time-out of a ready future".into(),
            Self::Pending(1) => "time-out, pending then ready".into(),
            Self::Pending(threads) => format!("time-out, pending then ready, {threads} threads"),
            Self::Reset(n) => format!("re-arm one of {}", crate::output::table::count(n as usize)),
            Self::ResetElsewhere(n) => {
                format!(
                    "re-arm one of {}, armed by the other of 2 workers",
                    crate::output::table::count(n as usize)
                )
            }
            Self::Remote => "drop on another thread".into(),
            Self::Queue(_) => "delay queue by a still clock: insert, remove or expire".into(),
        }
    }

    fn libraries(self) -> &'static [Library] {
        use Library::{AsyncIo, FuturesTimer, Ours, Pingora, Pinned, Slot, Tokio};
        match self {
            Self::Create => &[Ours, Tokio, AsyncIo, FuturesTimer, Pingora],
            Self::Ready | Self::Pending(_) => &[Ours, Slot, Tokio, Pinned, Pingora],
            Self::Reset(1_000) => &[Ours, Slot, Tokio, AsyncIo, FuturesTimer],
            Self::Reset(_) => &[Ours, Slot, Tokio],
            Self::ResetElsewhere(_) => &[Ours, Tokio],
            Self::Remote => &[Ours, Tokio, AsyncIo, FuturesTimer],
            Self::Queue(_) => &[Ours, Tokio],
        }
    }
}

/// One kind of work on one library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lane {
    pub(crate) work: Work,
    pub(crate) library: Library,
}

/// The time-out of a request: longer than any run.
const LONG: Duration = Duration::from_secs(300);

/// The number of values in a delay queue.
const QUEUED: u64 = 10_000;

/// A future that is pending at its first poll and ready at its second.
struct Twice(bool);

impl Future for Twice {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if self.0 {
            return Poll::Ready(());
        }
        self.0 = true;
        Poll::Pending
    }
}

/// Checks that a time-out returns its future's result: at its first poll, or at its second poll if
/// `pending`.
#[inline]
fn in_time(cx: &mut Context<'_>, future: impl Future<Output = bool>, pending: bool) -> Result<(), String> {
    let mut future = pin!(future);
    if pending && future.as_mut().poll(cx).is_ready() {
        return Err("a time-out of minutes was over at once".into());
    }
    match future.as_mut().poll(cx) {
        Poll::Ready(true) => Ok(()),
        Poll::Ready(false) => Err("a future that was ready was given up".into()),
        Poll::Pending => Err("a future was ready and its time-out was not".into()),
    }
}

impl Lane {
    /// Returns all lanes with at most `n` sleeps.
    pub(crate) fn all(n: u64) -> Vec<Self> {
        let resets = [1_000, 10_000, 100_000, 1_000_000];
        let resets = resets.into_iter().filter(|some| *some <= n.max(1_000));
        let works = [Work::Create, Work::Ready, Work::Pending(1), Work::Pending(2)];
        let works =
            works.into_iter().chain(resets.clone().map(Work::Reset)).chain(resets.map(Work::ResetElsewhere));
        let works = works.chain([Work::Remote, Work::Queue(QUEUED)]);
        let of = |work: Work| work.libraries().iter().map(move |&library| Self { work, library });
        works.flat_map(of).collect()
    }

    pub(crate) fn name(self) -> String {
        format!("{}, {}", self.work.name(), self.library.name())
    }

    /// Takes one sample, in ns per operation.
    ///
    /// # Errors
    /// If a timer behaves incorrectly. The error describes how.
    pub(crate) fn sample(self, operations: u64, clock: OsClock) -> Result<f64, String> {
        let library = self.library;
        match self.work {
            Work::Create => match library {
                Library::Tokio | Library::Pinned => create::<Tokio>(library, operations, clock),
                Library::AsyncIo => create::<AsyncIo>(library, operations, clock),
                Library::FuturesTimer => create::<FuturesTimer>(library, operations, clock),
                Library::Pingora => create::<Pingora>(library, operations, clock),
                Library::Ours | Library::Slot => create::<Ours>(library, operations, clock),
            },
            Work::Ready => self.timeouts(operations, clock, 1, false),
            Work::Pending(threads) => self.timeouts(operations, clock, threads, true),
            Work::Reset(n) => match library {
                Library::Tokio | Library::Pinned => reset::<Tokio>(library, n, operations, clock),
                Library::AsyncIo => reset::<AsyncIo>(library, n, operations, clock),
                Library::FuturesTimer => reset::<FuturesTimer>(library, n, operations, clock),
                Library::Slot => reset_slots(n, operations, clock),
                Library::Ours | Library::Pingora => reset::<Ours>(library, n, operations, clock),
            },
            Work::ResetElsewhere(n) if library == Library::Tokio => {
                reset_elsewhere::<Tokio>(library, n, operations, clock)
            }
            Work::ResetElsewhere(n) => reset_elsewhere::<Ours>(library, n, operations, clock),
            Work::Remote => match library {
                Library::Tokio | Library::Pinned => remote::<Tokio>(library, operations, clock),
                Library::AsyncIo => remote::<AsyncIo>(library, operations, clock),
                Library::FuturesTimer => remote::<FuturesTimer>(library, operations, clock),
                Library::Ours | Library::Slot | Library::Pingora => {
                    remote::<Ours>(library, operations, clock)
                }
            },
            Work::Queue(values) if library == Library::Tokio => queue_of_tokio(values, clock),
            Work::Queue(values) => queue_of_ours(values, clock),
        }
    }

    fn timeouts(self, operations: u64, clock: OsClock, threads: usize, pending: bool) -> Result<f64, String> {
        fn body<T: TimesOut>(
            operations: u64,
            clock: OsClock,
            pending: bool,
        ) -> impl Fn(&mut Context<'_>) -> Result<f64, String> + Send + Sync {
            move |cx| {
                timed(clock, operations, |_| match pending {
                    true => in_time(cx, T::timeout(LONG, Twice(false)), true),
                    false => in_time(cx, T::timeout(LONG, ready(())), false),
                })
            }
        }
        let library = self.library;
        match library {
            Library::Tokio => in_tasks(library, threads, Arc::new(body::<Tokio>(operations, clock, pending))),
            Library::Pingora => {
                in_tasks(library, threads, Arc::new(body::<Pingora>(operations, clock, pending)))
            }
            Library::Slot => {
                let body = move |cx: &mut Context<'_>| {
                    let mut slot = slot();
                    timed(clock, operations, |_| match pending {
                        true => {
                            let timeout = slot.timeout(LONG, Twice(false));
                            in_time(cx, async { timeout.await.is_ok() }, true)
                        }
                        false => {
                            let timeout = slot.timeout(LONG, ready(()));
                            in_time(cx, async { timeout.await.is_ok() }, false)
                        }
                    })
                };
                in_tasks(library, threads, Arc::new(body))
            }
            Library::Pinned => {
                let body = move |cx: &mut Context<'_>| {
                    let mut sleep = pin!(tokio::time::sleep(LONG));
                    timed(clock, operations, |_| {
                        sleep.as_mut().reset(tokio::time::Instant::now() + LONG);
                        match pending {
                            true => in_time(cx, beside(sleep.as_mut(), Twice(false)), true),
                            false => in_time(cx, beside(sleep.as_mut(), ready(())), false),
                        }
                    })
                };
                in_tasks(library, threads, Arc::new(body))
            }
            _ => in_tasks(library, threads, Arc::new(body::<Ours>(operations, clock, pending))),
        }
    }

    /// Checks that the timers of the lane fire, that they are not early, and that the lane runs.
    ///
    /// # Errors
    /// If the check fails. The error describes what is wrong.
    pub(crate) fn verify(self, clock: OsClock) -> Result<(), String> {
        fn over<T: TimesOut>(library: Library) -> Result<(), String> {
            judge(
                library,
                run(library, async {
                    let begun = Instant::now();
                    (T::timeout(SHORT, pending::<()>()).await, begun.elapsed())
                })?,
            )
        }
        /// Checks that a sleep of a few milliseconds expires.
        fn slept<S: Sleeps>(library: Library) -> Result<(), String> {
            judge(
                library,
                run(library, async {
                    let begun = Instant::now();
                    S::sleep(SHORT).await;
                    (false, begun.elapsed())
                })?,
            )
        }
        /// Checks a sleep of minutes that is moved to a near instant.
        fn moved<S: Sleeps<Sleep: Reset>>(library: Library) -> Result<(), String> {
            judge(
                library,
                run(library, async {
                    let (begun, mut sleep) = (Instant::now(), Box::pin(S::sleep(LONG)));
                    let is_over = poll_fn(|cx| Poll::Ready(sleep.as_mut().poll(cx).is_ready())).await;
                    sleep.as_mut().reset(begun + SHORT);
                    sleep.await;
                    (is_over, begun.elapsed())
                })?,
            )
        }
        let library = self.library;
        match self.work {
            Work::Ready | Work::Pending(_) => match library {
                Library::Tokio => over::<Tokio>(library)?,
                Library::Pingora => over::<Pingora>(library)?,
                Library::Pinned => judge(
                    library,
                    run(library, async {
                        let (begun, mut sleep) = (Instant::now(), pin!(tokio::time::sleep(LONG)));
                        sleep.as_mut().reset((begun + SHORT).into());
                        (beside(sleep.as_mut(), pending::<()>()).await, begun.elapsed())
                    })?,
                )?,
                Library::Slot => judge(
                    library,
                    run(library, async {
                        let begun = Instant::now();
                        (slot().timeout(SHORT, pending::<()>()).await.is_ok(), begun.elapsed())
                    })?,
                )?,
                _ => over::<Ours>(library)?,
            },
            Work::Create | Work::Remote => match library {
                Library::Tokio | Library::Pinned => slept::<Tokio>(library)?,
                Library::Pingora => slept::<Pingora>(library)?,
                Library::AsyncIo => slept::<AsyncIo>(library)?,
                Library::FuturesTimer => slept::<FuturesTimer>(library)?,
                Library::Ours | Library::Slot => slept::<Ours>(library)?,
            },
            Work::Reset(_) | Work::ResetElsewhere(_) => match library {
                Library::Tokio | Library::Pinned => moved::<Tokio>(library)?,
                Library::AsyncIo => moved::<AsyncIo>(library)?,
                Library::FuturesTimer => moved::<FuturesTimer>(library)?,
                Library::Slot => judge(
                    library,
                    run(library, async {
                        let (begun, mut slot) = (Instant::now(), slot());
                        slot.set_after(LONG);
                        let is_over = poll_fn(|cx| Poll::Ready(slot.poll_elapsed(cx).is_ready())).await;
                        slot.set(begun + SHORT);
                        poll_fn(|cx| slot.poll_elapsed(cx)).await;
                        (is_over, begun.elapsed())
                    })?,
                )?,
                Library::Ours | Library::Pingora => moved::<Ours>(library)?,
            },
            // This work needs no check here, because each sample counts the values that expire.
            Work::Queue(_) => {}
        }
        self.sample(100, clock).map(drop)
    }
}

/// Polls a future before a sleep, as `tokio::select!` with `biased` does. Returns whether the
/// future was ready in time.
async fn beside<F: Future>(mut sleep: Pin<&mut tokio::time::Sleep>, future: F) -> bool {
    let mut future = pin!(future);
    poll_fn(|cx| {
        if future.as_mut().poll(cx).is_ready() {
            return Poll::Ready(true);
        }
        sleep.as_mut().poll(cx).map(|()| false)
    })
    .await
}

/// The length of a time-out that is meant to expire.
const SHORT: Duration = Duration::from_millis(3);

fn judge(library: Library, (in_time, took): (bool, Duration)) -> Result<(), String> {
    match in_time {
        true => Err("a future that is never ready was ready".into()),
        false if took + library.may_be_early() < SHORT => {
            Err(format!("a time-out of {SHORT:?} was over after {took:?}"))
        }
        false if took > LONG / 2 => {
            Err(format!("a time-out of {SHORT:?} was over after {took:?}: it was not moved"))
        }
        false => Ok(()),
    }
}

fn create<S: Sleeps>(library: Library, operations: u64, clock: OsClock) -> Result<f64, String> {
    let body = move |_: &mut Context<'_>| {
        timed(clock, operations, |_| {
            drop(core::hint::black_box(S::sleep(LONG)));
            Ok(())
        })
    };
    in_tasks(library, 1, Arc::new(body))
}

/// Creates sleeps and arms them.
fn armed<S: Sleeps>(cx: &mut Context<'_>, n: u64) -> Result<Vec<Pin<Box<S::Sleep>>>, String> {
    let mut sleeps: Vec<Pin<Box<S::Sleep>>> = (0..n).map(|_| Box::pin(S::sleep(LONG))).collect();
    for sleep in &mut sleeps {
        if sleep.as_mut().poll(cx).is_ready() {
            return Err("a sleep of minutes was over at once".into());
        }
    }
    Ok(sleeps)
}

/// Returns the indices of the timers in the order in which the timers are moved.
fn order(n: u64, operations: u64) -> Vec<u32> {
    let mut random = Pcg64Mcg::seed_from_u64(1);
    (0..operations).map(|_| random.random_range(0..n as u32)).collect()
}

fn reset<S: Sleeps<Sleep: Reset>>(
    library: Library,
    n: u64,
    operations: u64,
    clock: OsClock,
) -> Result<f64, String> {
    let body = move |cx: &mut Context<'_>| {
        let mut sleeps = armed::<S>(cx, n)?;
        let order = order(n, operations);
        let deadline = Instant::now() + LONG;
        timed(clock, operations, |at| {
            let later = deadline + Duration::from_micros(at);
            sleeps[order[at as usize] as usize].as_mut().reset(later);
            Ok(())
        })
    };
    in_tasks(library, 1, Arc::new(body))
}

/// The values that two workers exchange.
struct Swap<T> {
    both: Barrier,
    given: Mutex<Vec<T>>,
}

impl<T> Swap<T> {
    /// Exchanges a value with the other worker. Returns only after the other worker has called this
    /// function too.
    fn swap(&self, mine: T) -> Result<T, String> {
        let lock = || self.given.lock().unwrap_or_else(PoisonError::into_inner);
        let at = {
            let mut given = lock();
            given.push(mine);
            given.len() - 1
        };
        self.both.wait();
        // The first worker takes the last value, and the second worker then takes the remaining
        // one.
        if at == 1 {
            self.both.wait();
        }
        let theirs = lock().pop();
        if at == 0 {
            self.both.wait();
        }
        self.both.wait();
        theirs.ok_or_else(|| "a worker has armed no sleeps".into())
    }
}

fn reset_elsewhere<S: Sleeps<Sleep: Reset>>(
    library: Library,
    n: u64,
    operations: u64,
    clock: OsClock,
) -> Result<f64, String> {
    let swap = Swap { both: Barrier::new(2), given: Mutex::new(Vec::new()) };
    let body = move |cx: &mut Context<'_>| {
        let mut theirs = swap.swap(armed::<S>(cx, n / 2))?;
        let order = order(n / 2, operations);
        let deadline = Instant::now() + LONG;
        let ns = match &mut theirs {
            Err(why) => Err(why.clone()),
            Ok(sleeps) => timed(clock, operations, |at| {
                let later = deadline + Duration::from_micros(at);
                sleeps[order[at as usize] as usize].as_mut().reset(later);
                Ok(())
            }),
        };
        // Neither worker drops its sleeps while the other worker measures.
        swap.both.wait();
        ns
    };
    in_tasks(library, 2, Arc::new(body))
}

fn reset_slots(n: u64, operations: u64, clock: OsClock) -> Result<f64, String> {
    let body = move |cx: &mut Context<'_>| {
        let mut slots: Vec<_> = (0..n).map(|_| slot()).collect();
        for slot in &mut slots {
            slot.set_after(LONG);
            if slot.poll_elapsed(cx).is_ready() {
                return Err("a slot of minutes was over at once".into());
            }
        }
        let order = order(n, operations);
        let deadline = Instant::now() + LONG;
        timed(clock, operations, |at| {
            let later = deadline + Duration::from_micros(at);
            slots[order[at as usize] as usize].set(later);
            Ok(())
        })
    };
    in_tasks(Library::Slot, 1, Arc::new(body))
}

/// One thread arms sleeps. Another thread drops them and measures the time.
fn remote<S: Sleeps>(library: Library, operations: u64, clock: OsClock) -> Result<f64, String> {
    let body = move |cx: &mut Context<'_>| {
        let sleeps = armed::<S>(cx, operations)?;
        let dropping = thread::spawn(move || {
            let begun = clock.now();
            drop(sleeps);
            clock.now().saturating_sub(begun) as f64 / operations as f64
        });
        dropping.join().map_err(|_| "the thread that drops failed".to_owned())
    };
    in_tasks(library, 1, Arc::new(body))
}

/// Returns the values' delays, from 1 to 10 s, and the indices of the values to remove.
fn values(n: u64) -> (Vec<Duration>, Vec<usize>) {
    let mut random = Pcg64Mcg::seed_from_u64(2);
    let delays = (0..n).map(|_| Duration::from_millis(random.random_range(1_000..10_000))).collect();
    let mut all: Vec<usize> = (0..n as usize).collect();
    all.shuffle(&mut random);
    all.truncate(n as usize / 2);
    (delays, all)
}

const PAST: Duration = Duration::from_secs(11);

/// Runs the work in two halves: one half before the clock advances, and the other half afterwards.
fn queue_of_ours(n: u64, clock: OsClock) -> Result<f64, String> {
    let (delays, removed) = values(n);
    let test = TestClock::new();
    // Our timers have their default resolution; tokio's resolution is a millisecond.
    let timers = test.timers_with(TimerSettings::new());
    let mut queue = timers.delay_queue();
    let begun = clock.now();
    let keys: Vec<_> = delays.iter().enumerate().map(|(at, &delay)| queue.insert(at, delay)).collect();
    for &at in &removed {
        if queue.remove(&keys[at]).is_err() {
            return Err("a value was not in the queue".into());
        }
    }
    let first = clock.now().saturating_sub(begun);
    test.advance(PAST);
    let begun = clock.now();
    let expired = test.block_on(async {
        let mut expired = 0;
        while poll_fn(|cx| queue.poll_expired(cx)).await.is_some() {
            expired += 1;
        }
        expired
    });
    per_operation(n, &removed, expired, first + clock.now().saturating_sub(begun))
}

fn queue_of_tokio(n: u64, clock: OsClock) -> Result<f64, String> {
    tokio(1)?;
    let (delays, removed) = values(n);
    let paused = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let paused = paused.map_err(|error| format!("tokio's runtime does not start: {error}"))?;
    let (expired, ns) = paused.block_on(tokio::task::unconstrained(async {
        let mut queue = tokio_util::time::DelayQueue::new();
        let begun = clock.now();
        let keys: Vec<_> = delays.iter().enumerate().map(|(at, &delay)| queue.insert(at, delay)).collect();
        for &at in &removed {
            queue.remove(&keys[at]);
        }
        let first = clock.now().saturating_sub(begun);
        tokio::time::advance(PAST).await;
        let begun = clock.now();
        let mut expired = 0;
        while poll_fn(|cx| queue.poll_expired(cx)).await.is_some() {
            expired += 1;
        }
        (expired, first + clock.now().saturating_sub(begun))
    }));
    per_operation(n, &removed, expired, ns)
}

fn per_operation(n: u64, removed: &[usize], expired: u64, ns: u64) -> Result<f64, String> {
    let left = n - removed.len() as u64;
    if expired != left {
        return Err(format!("{expired} values expired, of {left}"));
    }
    Ok(ns as f64 / (2 * n) as f64)
}
