//! Which worker the caller runs on.

use core::cell::Cell;

use super::Shared;
use super::worker::Worker;
use crate::id::ThreadId;
use crate::process;

thread_local! {
    static HERE: Cell<*const Worker> = const { Cell::new(core::ptr::null()) };
}

/// Works as the worker of this kernel thread.
///
/// A panic on the worker's own stack, such as one of the user's clock, aborts: its threads cannot go on, and what is on their stacks refers to the worker.
pub(super) fn work_as(worker: &Worker) {
    struct Broken;
    impl Drop for Broken {
        fn drop(&mut self) {
            std::process::abort();
        }
    }

    HERE.set(worker);
    let broken = Broken;
    worker.work();
    core::mem::forget(broken);
    HERE.set(core::ptr::null());
}

/// This kernel thread goes on in that worker's stead: as a context of its own thread, or of another one.
pub(super) fn be(worker: &Worker) {
    HERE.set(worker);
}

/// The worker that the caller is a thread of, for this module, which does not keep it.
#[inline(always)]
fn thread<'w>() -> Option<&'w Worker> {
    // SAFETY: 1. Set from a reference for as long as it works, on its own kernel thread.
    let worker = unsafe { HERE.get().as_ref() }?;
    worker.current().map(|_| worker)
}

/// The worker that the caller is a thread of. Nothing that it is given may be kept: it ends with the runtime.
#[inline]
pub(crate) fn with<R>(use_it: impl FnOnce(&Worker) -> R) -> Option<R> {
    thread().map(use_it)
}

/// Yields. False: the caller is not a thread of a worker.
///
/// Here and below everything is inlined into the caller's loop: after a switch the processor would guess wrong where a call between the loop and the
/// switch returns to, which costs more than the switch.
#[inline(always)]
pub(crate) fn yield_now() -> bool {
    let Some(worker) = thread() else { return false };
    worker.yield_now();
    true
}

/// Parks. False: the caller is not a thread of a worker.
#[inline(always)]
pub(crate) fn park() -> bool {
    let Some(worker) = thread() else { return false };
    worker.park();
    true
}

/// The same, if it is a worker of this runtime.
#[inline]
pub(super) fn with_of<R>(shared: &Shared, use_it: impl FnOnce(&Worker) -> R) -> Option<R> {
    on(shared, |worker| worker.current().is_some().then(|| use_it(worker)))?
}

/// The worker of this runtime that the caller is, be it a thread of it or the worker itself.
#[inline]
pub(super) fn on<R>(shared: &Shared, use_it: impl FnOnce(&Worker) -> R) -> Option<R> {
    // SAFETY: as above.
    let worker = unsafe { HERE.get().as_ref() }?;
    core::ptr::eq(&raw const *worker.shared, shared).then(|| use_it(worker))
}

/// After a fork, in the child: only the calling thread is there, and its worker's others are the parent's. It goes on as a thread that no runtime knows.
/// Answers which it was; `Some(None)`: the worker itself.
pub(crate) fn in_the_child() -> Option<Option<ThreadId>> {
    let id = with(Worker::current).flatten();
    (!HERE.replace(core::ptr::null()).is_null()).then_some(id)
}

/// Ends the child whose only thread has ended.
#[inline]
pub(super) fn end_if_forked() {
    if HERE.get().is_null() && process::is_child() {
        process::end_the_child();
    }
}
