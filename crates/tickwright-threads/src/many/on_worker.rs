//! Which worker the caller runs on.

use super::pool::WorkerPool;
use super::worker::Worker;
use crate::here;

/// Works as the worker of this kernel thread.
///
/// A panic on the worker's own stack, such as one of the user's clock, aborts the process. The
/// worker's threads cannot go on, and what is on their stacks refers to the worker.
pub(super) fn work_as(worker: &Worker) {
    struct Broken;
    impl Drop for Broken {
        fn drop(&mut self) {
            std::process::abort();
        }
    }

    let broken = Broken;
    // SAFETY: 1. Leaves below; a panic does not come back.
    unsafe { here::enter(worker) };
    worker.work();
    core::mem::forget(broken);
    here::leave();
}

/// The worker of the calling kernel thread, for this module, which does not keep it.
#[inline(always)]
fn own<'w>() -> Option<&'w Worker> {
    // SAFETY: 1. Workers are the only shared hosts. 2. It stays as long as it is entered, on this
    // kernel thread.
    unsafe { here::shared_host().cast::<Worker>().as_ref() }
}

/// The worker that the caller is a thread of, for this module, which does not keep it.
#[inline(always)]
fn thread<'w>() -> Option<&'w Worker> {
    own().filter(|worker| worker.current().is_some())
}

/// The worker that the caller is a thread of. Nothing that it is given may be kept: it ends with
/// the runtime.
#[inline]
pub(super) fn with<R>(use_it: impl FnOnce(&Worker) -> R) -> Option<R> {
    thread().map(use_it)
}

/// Yields. False: the caller is not a thread of a worker.
///
/// Here and below everything is inlined into the caller's loop. A call between the loop and the
/// switch returns to a place that the processor guesses wrong after a switch. That costs more than
/// the switch.
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
