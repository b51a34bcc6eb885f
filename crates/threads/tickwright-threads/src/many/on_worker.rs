//! Finds the worker on which the caller runs.

use super::pool::WorkerPool;
use super::worker::Worker;
use crate::host;

/// Runs `worker` on this kernel thread.
///
/// A panic on the worker's own stack, such as a panic of the user's clock, aborts the process.
/// After such a panic, the worker's threads could not continue, and their stacks hold references to
/// the worker.
pub(super) fn work_as(worker: &Worker) {
    struct Broken;
    impl Drop for Broken {
        fn drop(&mut self) {
            std::process::abort();
        }
    }

    let broken = Broken;
    // SAFETY: 1. `leave` below ends the use of the host, and a panic aborts the process instead of
    // returning.
    unsafe { host::enter(worker) };
    worker.work();
    core::mem::forget(broken);
    host::leave();
}

/// Returns the worker of the calling kernel thread. Only this module uses the reference, and it
/// does not store it.
#[inline(always)]
fn own<'w>() -> Option<&'w Worker> {
    // SAFETY: 1. Workers are the only shared hosts. 2. The worker exists as long as it is entered
    // on this kernel thread.
    unsafe { host::shared_host().cast::<Worker>().as_ref() }
}

/// Returns the worker that runs the calling M:N thread. Only this module uses the reference, and it
/// does not store it.
#[inline(always)]
fn thread<'w>() -> Option<&'w Worker> {
    own().filter(|worker| worker.current().is_some())
}

/// Calls `use_it` with the worker that runs the calling M:N thread. `use_it` must not store the
/// reference, because the worker ends with the runtime.
#[inline]
pub(super) fn with<R>(use_it: impl FnOnce(&Worker) -> R) -> Option<R> {
    thread().map(use_it)
}

/// Yields. Returns false if the caller is not a thread of a worker.
///
/// This function and the functions below are inlined into the caller's loop. After a switch of
/// stacks, the processor mispredicts the return address of each call that has not returned yet, and
/// a misprediction costs more than the switch.
#[inline(always)]
pub(crate) fn yield_now() -> bool {
    let Some(worker) = thread() else { return false };
    worker.yield_now();
    true
}

/// Parks the calling thread. Returns false if the caller is not a thread of a worker.
#[inline(always)]
pub(crate) fn park() -> bool {
    let Some(worker) = thread() else { return false };
    worker.park();
    true
}

/// Calls `use_it` with the caller's worker, if the caller is a thread of this runtime.
#[inline]
pub(super) fn with_of<R>(pool: &WorkerPool, use_it: impl FnOnce(&Worker) -> R) -> Option<R> {
    on(pool, |worker| worker.current().is_some().then(|| use_it(worker)))?
}

/// Calls `use_it` with the caller's worker, if the caller is a thread of this runtime or the worker
/// itself.
#[inline]
pub(super) fn on<R>(pool: &WorkerPool, use_it: impl FnOnce(&Worker) -> R) -> Option<R> {
    let worker = own()?;
    core::ptr::eq(&raw const *worker.pool, pool).then(|| use_it(worker))
}
