//! Creating and joining threads of this project and of other libraries: one thread is created after
//! each join, and threads are joined in the order of their creation.

use std::collections::VecDeque;
use std::sync::OnceLock;

use tickwright_threads::{Attributes, ManyToMany, Model, OneToOne, Runtime, RuntimeHandle, ThreadId};

use crate::clock::{Meter, OsClock};

/// The number of threads that each creating thread keeps alive at once, as in the targets.
const CHILDREN: usize = 10;

/// Whose threads are created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Maker {
    OneToOne,
    /// M:N threads. If the number of workers is missing, there is one worker per core. `guard` says
    /// whether stacks have a guard page. `creators` threads create the other threads.
    Many {
        workers: Option<usize>,
        guard: bool,
        creators: u64,
    },
    Std,
    May,
    Tokio,
}

/// Starts a runtime of M:N threads; `None` means one worker per core.
///
/// # Errors
/// If the runtime does not start.
pub(super) fn many(workers: Option<usize>, guard: bool) -> Result<Runtime, String> {
    let settings = if guard { ManyToMany::new() } else { ManyToMany::new().guard(0) };
    let settings = workers.map_or(settings.clone(), |workers| settings.workers(workers));
    runtime(Model::ManyToMany(settings))
}

fn runtime(model: Model) -> Result<Runtime, String> {
    Runtime::new(model).map_err(|error| error.to_string())
}

impl Maker {
    /// Creates and joins `starts` threads. Returns the time in ns.
    ///
    /// # Errors
    /// If a thread was not created or not joined, or the sum of the results is not `starts`.
    pub(super) fn create(self, starts: u64, clock: OsClock) -> Result<u64, String> {
        let (sum, ns) = match self {
            Self::OneToOne => ours(&runtime(Model::OneToOne(OneToOne::new()))?, starts, 1, clock),
            Self::Many { workers, guard, creators } => ours(&many(workers, guard)?, starts, creators, clock),
            Self::Std => of_std(starts, clock),
            Self::May => of_may(starts, clock),
            Self::Tokio => of_tokio(starts, clock),
        }?;
        if sum == starts {
            Ok(ns)
        } else {
            Err(format!("{starts} threads were asked for and {sum} have run"))
        }
    }
}

/// Creates `starts` threads and keeps at most [`CHILDREN`] of them alive at once. Returns the sum
/// of their results.
fn churn<T>(
    starts: u64,
    mut create: impl FnMut() -> Result<T, String>,
    mut join: impl FnMut(T) -> Result<u64, String>,
) -> Result<u64, String> {
    let mut alive = VecDeque::with_capacity(CHILDREN);
    let mut sum = 0;
    for _ in 0..starts {
        if alive.len() == CHILDREN {
            sum += alive.pop_front().map_or(Ok(0), &mut join)?;
        }
        alive.push_back(create()?);
    }
    for thread in alive {
        sum += join(thread)?;
    }
    Ok(sum)
}

/// Creates threads of our runtime. The creators are threads of this runtime too.
fn ours(runtime: &Runtime, starts: u64, creators: u64, clock: OsClock) -> Result<(u64, u64), String> {
    fn create(
        handle: &RuntimeHandle,
        body: impl FnOnce() -> Result<u64, String> + Send + 'static,
    ) -> Result<ThreadId, String> {
        // Our threads return a `usize`, so the sum is converted.
        let body = move || body().ok().and_then(|sum| usize::try_from(sum).ok()).unwrap_or(0);
        handle.create(&Attributes::new(), body).map_err(|error| error.to_string())
    }
    fn join(handle: &RuntimeHandle, thread: ThreadId) -> Result<u64, String> {
        handle.join(thread).map(|sum| sum as u64).map_err(|error| error.to_string())
    }
    let handle = runtime.handle();
    let all = move || {
        let begun = clock.now();
        let mut toplevel = Vec::new();
        for at in 0..creators {
            let share = starts / creators + u64::from(at < starts % creators);
            let of = handle.clone();
            let body = move || churn(share, || create(&of, || Ok(1)), |thread| join(&of, thread));
            toplevel.push(create(&handle, body)?);
        }
        let sums = toplevel.into_iter().map(|thread| join(&handle, thread));
        let sum = sums.sum::<Result<u64, String>>()?;
        Ok((sum, clock.now() - begun))
    };
    runtime.run(all).map_err(|error| error.to_string())?
}

/// Creates threads of `std::thread` with the standard library's defaults.
fn of_std(starts: u64, clock: OsClock) -> Result<(u64, u64), String> {
    use std::thread::{Builder, JoinHandle};
    let begun = clock.now();
    let create = |body| Builder::new().spawn(body).map_err(|error| error.to_string());
    let panicked = |_| "a std thread panicked".to_owned();
    let join = move |thread: JoinHandle<u64>| thread.join().map_err(panicked);
    let main = Builder::new().spawn(move || churn(starts, || create(|| 1), join));
    let sum = main.map_err(|error| error.to_string())?.join().map_err(panicked)??;
    Ok((sum, clock.now() - begun))
}

/// Creates coroutines of the crate `may`, which have stacks and can move between workers.
fn of_may(starts: u64, clock: OsClock) -> Result<(u64, u64), String> {
    use may::coroutine::{Builder, JoinHandle};
    fn create<R: Send + 'static>(body: impl FnOnce() -> R + Send + 'static) -> Result<JoinHandle<R>, String> {
        // SAFETY: 1. A coroutine must not keep a reference to a thread-local across a switch: these
        // bodies keep none. 2. A coroutine must not overflow its stack (32 KiB): these bodies call
        // a few functions.
        #[allow(unsafe_code, reason = "a rival's unsafe function")]
        let spawned = unsafe { Builder::new().spawn(body) };
        spawned.map_err(|error| error.to_string())
    }
    fn join<R>(thread: JoinHandle<R>) -> Result<R, String> {
        thread.join().map_err(|_| "a coroutine of may panicked".into())
    }
    // The process has only one set of workers, with one worker per core.
    static WORKERS: OnceLock<()> = OnceLock::new();
    WORKERS.get_or_init(|| {
        may::config().set_workers(cores());
    });
    join(create(move || {
        let begun = clock.now();
        let main = create(move || churn(starts, || create(|| 1), join))?;
        let sum = join(main)??;
        Ok((sum, clock.now() - begun))
    })?)?
}

/// Creates tasks of tokio's multi-thread runtime. A task has no stack of its own, so it can wait
/// only at an `await`.
fn of_tokio(starts: u64, clock: OsClock) -> Result<(u64, u64), String> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(cores()).build();
    let runtime = runtime.map_err(|error| format!("tokio does not start: {error}"))?;
    let main = runtime.spawn(async move {
        let begun = clock.now();
        let creator = tokio::spawn(async move {
            let mut alive = VecDeque::with_capacity(CHILDREN);
            let mut sum = 0;
            for _ in 0..starts {
                if alive.len() == CHILDREN
                    && let Some(task) = alive.pop_front()
                {
                    sum += task.await?;
                }
                alive.push_back(tokio::spawn(async { 1 }));
            }
            for task in alive {
                sum += task.await?;
            }
            Ok(sum)
        });
        let sum = creator.await??;
        Ok((sum, clock.now() - begun))
    });
    let joined: Result<_, tokio::task::JoinError> = runtime.block_on(main).and_then(|inner| inner);
    joined.map_err(|error| format!("a task of tokio failed: {error}"))
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
