//! The threads and tasks that poll timers: workers of tokio for tokio's timers, plain threads for
//! all other timers.

use core::future::{Future, poll_fn};
use core::task::{Context, Poll, Waker};
use std::sync::{Arc, Barrier, LazyLock};
use std::task::Wake;
use std::thread::{self, Thread};

use tokio::runtime::{Builder, Runtime};
use tokio::task::unconstrained;

use super::library::Library;
use crate::clock::{Meter, OsClock};

/// Creates a runtime with n workers.
fn runtime(workers: usize) -> Result<Runtime, String> {
    let made = Builder::new_multi_thread().worker_threads(workers).enable_time().build();
    made.map_err(|error| format!("tokio's runtime does not start: {error}"))
}

static ONE: LazyLock<Result<Runtime, String>> = LazyLock::new(|| runtime(1));
static TWO: LazyLock<Result<Runtime, String>> = LazyLock::new(|| runtime(2));

/// Returns tokio's runtime, with one worker for each thread of the measurement.
pub(crate) fn tokio(threads: usize) -> Result<&'static Runtime, String> {
    let one = if threads == 1 { &ONE } else { &TWO };
    one.as_ref().map_err(Clone::clone)
}

/// A waker that wakes a thread. The waker is reference-counted, like the wakers of runtimes.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs a future to its end on the calling thread.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut cx = Context::from_waker(&waker);
    let mut future = core::pin::pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut cx) {
            return output;
        }
        thread::park();
    }
}

/// Runs a future in a context in which the timers of `library` work.
pub(crate) fn run<F: Future>(library: Library, future: F) -> Result<F::Output, String> {
    if library.is_tokio() { Ok(tokio(1)?.block_on(unconstrained(future))) } else { Ok(block_on(future)) }
}

/// The work of each thread, which polls in the context of a task and returns ns per operation.
pub(crate) type Body = dyn Fn(&mut Context<'_>) -> Result<f64, String> + Send + Sync;

/// Runs `body` in a task of each of n threads, at the same time. Returns the mean of their ns per
/// operation.
pub(crate) fn in_tasks(library: Library, threads: usize, body: Arc<Body>) -> Result<f64, String> {
    let barrier = Arc::new(Barrier::new(threads));
    let task = || {
        let (barrier, body) = (Arc::clone(&barrier), Arc::clone(&body));
        poll_fn(move |cx| {
            barrier.wait();
            Poll::Ready(body(cx))
        })
    };
    let all: Vec<Result<f64, String>> = if library.is_tokio() {
        let runtime = tokio(threads)?;
        let tasks: Vec<_> = (0..threads).map(|_| runtime.spawn(unconstrained(task()))).collect();
        let join = |task: tokio::task::JoinHandle<_>| {
            runtime.block_on(task).map_err(|error| format!("a task failed: {error}"))
        };
        tasks.into_iter().map(join).map(Result::flatten).collect()
    } else {
        let threads: Vec<_> = (0..threads)
            .map(|_| {
                let task = task();
                thread::spawn(move || block_on(task))
            })
            .collect();
        let join = |thread: thread::JoinHandle<_>| thread.join().map_err(|_| "a thread failed".to_owned());
        threads.into_iter().map(join).map(Result::flatten).collect()
    };
    let ns = all.into_iter().collect::<Result<Vec<f64>, String>>()?;
    Ok(ns.iter().sum::<f64>() / threads as f64)
}

/// Times `operations` calls of `each`. Returns the ns per call.
pub(crate) fn timed(
    clock: OsClock,
    operations: u64,
    mut each: impl FnMut(u64) -> Result<(), String>,
) -> Result<f64, String> {
    let begun = clock.now();
    for at in 0..operations {
        each(at)?;
    }
    Ok(clock.now().saturating_sub(begun) as f64 / operations as f64)
}
