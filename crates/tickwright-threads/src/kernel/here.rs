//! Which kernel thread of which runtime the caller is.

use core::cell::{Cell, RefCell};
use core::ops::Range;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

use super::{Kernel, pthread};
use crate::clock::Timekeeper;
use crate::id::ThreadId;
use crate::runtime::Handle;
use crate::waiter::Waiter;

struct Here {
    runtime: Arc<Kernel>,
    /// Its record can wake it.
    known: bool,
}

thread_local! {
    static HERE: RefCell<Option<Here>> = const { RefCell::new(None) };
    static ID: Cell<Option<ThreadId>> = const { Cell::new(None) };
    static SHARD: Cell<Option<usize>> = const { Cell::new(None) };
}

pub(super) fn enter(runtime: &Arc<Kernel>, id: ThreadId) {
    HERE.set(Some(Here { runtime: Arc::clone(runtime), known: false }));
    ID.set(Some(id));
}

pub(super) fn leave() {
    ID.set(None);
    HERE.set(None);
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
    HERE.with_borrow(|here| {
        here.as_ref().is_some_and(|here| core::ptr::eq(&raw const *here.runtime, runtime))
    })
}

pub(crate) fn current() -> Option<ThreadId> {
    ID.get()
}

pub(crate) fn handle() -> Option<Handle> {
    runtime().map(|runtime| Handle::new(runtime))
}

fn runtime() -> Option<Arc<Kernel>> {
    HERE.with_borrow(|here| here.as_ref().map(|here| Arc::clone(&here.runtime)))
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
        return wait(Timekeeper::system(), until);
    };
    let Ok(record) = runtime.table.find(id) else { return };
    let known = HERE
        .with_borrow_mut(|here| here.as_mut().is_none_or(|here| core::mem::replace(&mut here.known, true)));
    if !known {
        record.slow(|slow| slow.thread = Some(std::thread::current()));
    }
    if record.park.park() {
        wait(runtime.timekeeper(), until);
        record.park.heard();
    }
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
