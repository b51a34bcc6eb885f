//! Which kernel thread of which runtime the caller is.

use core::cell::{Cell, RefCell};
use core::mem::ManuallyDrop;
use core::ops::Range;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::panic::catch_unwind;
use std::sync::Arc;

use super::{Kernel, pthread};
use crate::clock::Timekeeper;
use crate::id::ThreadId;
use crate::kernel_thread::{self, KernelThread};
use crate::runtime::Handle;
use crate::waiter::Waiter;

struct Here {
    runtime: Arc<Kernel>,
    /// Its record can wake it.
    known: bool,
}

thread_local! {
    /// Has no destructor, so that destructors of others may ask. [`leave`] empties it.
    static HERE: ManuallyDrop<RefCell<Option<Here>>> = const { ManuallyDrop::new(RefCell::new(None)) };
    static ID: Cell<Option<ThreadId>> = const { Cell::new(None) };
    static SHARD: Cell<Option<usize>> = const { Cell::new(None) };
}

pub(super) fn enter(runtime: &Arc<Kernel>, id: ThreadId) {
    change(|here| *here = Some(Here { runtime: Arc::clone(runtime), known: false }));
    ID.set(Some(id));
}

pub(super) fn leave() {
    ID.set(None);
    // The runtime is not dropped here: the thread holds it.
    change(|here| *here = None);
}

/// After a fork, in the child: the calling thread goes on as one that no runtime knows. Answers whose it was.
pub(crate) fn in_the_child() -> Option<ThreadId> {
    let id = ID.take();
    if id.is_some() {
        leave();
    }
    id
}

fn look<R>(look: impl FnOnce(Option<&Here>) -> R) -> R {
    HERE.with(|here| look(here.borrow().as_ref()))
}

fn change<R>(change: impl FnOnce(&mut Option<Here>) -> R) -> R {
    HERE.with(|here| change(&mut here.borrow_mut()))
}

/// The caller's shard: a creator has its own as long as there are no more creators than shards.
pub(super) fn shard() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    SHARD.get().unwrap_or_else(|| {
        let shard = NEXT.fetch_add(1, Ordering::Relaxed);
        SHARD.set(Some(shard));
        shard
    })
}

/// Whether the caller is a thread of that runtime.
pub(super) fn is_of(runtime: &Kernel) -> bool {
    look(|here| here.is_some_and(|here| core::ptr::eq(&raw const *here.runtime, runtime)))
}

pub(crate) fn current() -> Option<ThreadId> {
    ID.get()
}

pub(crate) fn handle() -> Option<Handle> {
    runtime().map(|runtime| Handle::new(runtime))
}

fn runtime() -> Option<Arc<Kernel>> {
    look(|here| here.map(|here| Arc::clone(&here.runtime)))
}

pub(crate) fn stack() -> Option<Range<usize>> {
    crate::this_thread::current().and_then(|_| pthread::own_stack())
}

/// The clock that the caller lives by.
pub(crate) fn timekeeper<R>(use_it: impl FnOnce(&Arc<Timekeeper>) -> R) -> R {
    match runtime() {
        Some(runtime) => use_it(runtime.timekeeper()),
        None => use_it(Timekeeper::system()),
    }
}

pub(crate) fn park(until: Option<u64>) {
    let Some((runtime, id)) = runtime().zip(current()) else {
        return park_unknown(until);
    };
    let Ok(record) = runtime.table.find(id) else { return };
    let known = change(|here| here.as_mut().is_none_or(|here| core::mem::replace(&mut here.known, true)));
    if !known {
        record.slow(|slow| slow.thread = Some(KernelThread::current()));
    }
    if record.park.park() {
        wait(runtime.timekeeper(), until);
        record.park.heard();
    }
}

/// Parks a thread that no runtime knows: only the standard library's `unpark` can wake it.
fn park_unknown(until: Option<u64>) {
    let most = until.map(|at| Duration::from_nanos(at.saturating_sub(Timekeeper::system().now())));
    match most {
        Some(Duration::ZERO) => {}
        _ if !can_park() => KernelThread::park_timeout(most.unwrap_or(BLIND).min(BLIND)),
        Some(most) => std::thread::park_timeout(most),
        None => std::thread::park(),
    }
}

/// How long a park lasts when nobody can end it any more.
const BLIND: Duration = Duration::from_millis(1);

/// Whether the standard library still knows the calling thread. It forgets a thread after its last destructors, and ends a
/// process whose thread parks then.
fn can_park() -> bool {
    thread_local! {
        static FORGOTTEN: Cell<bool> = const { Cell::new(false) };
    }
    if kernel_thread::is_ending() {
        return false;
    }
    // Where a thread has first met us in its last destructors, a panic is the answer.
    let known = !FORGOTTEN.get() && catch_unwind(|| drop(std::thread::current())).is_ok();
    FORGOTTEN.set(!known);
    known
}

fn wait(timekeeper: &Arc<Timekeeper>, until: Option<u64>) {
    match until {
        None => Waiter::wait(),
        Some(at) => drop(Waiter::wait_until(timekeeper, at)),
    }
}

pub(crate) fn sleep_until(at: u64) {
    timekeeper(|keeper| while keeper.park_until(at) {});
}
