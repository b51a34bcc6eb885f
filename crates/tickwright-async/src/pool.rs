//! Timers that nobody uses, kept by each thread for the next sleep or time-out.
//!
//! Most of them are still in a queue, vacant: the time-out that they were armed for did not come.
//! A program has few different delays. So the next time-out of about the same delay mostly has a
//! later deadline than such a timer is filed for, and arms it without a lock.
//!
//! A thread keeps at most [`MOST`] timers of each core. What is more leaves its queue, and is
//! freed. The models have no pool: their threads are none of the platform's.

use core::cell::RefCell;

use crate::base::{Core, Node};
use crate::sync::{Arc, Ordering};
use crate::word::{State, Word};

/// The most timers that a thread keeps of one core.
const MOST: usize = 1024;

/// Delays of one class differ by less than four times.
const CLASSES: usize = 32;

/// The timers of one core.
struct Pool {
    /// The address of the core. Each timer counts its core, so no other core has this address while
    /// there is a timer here.
    core: usize,
    len: usize,
    /// Timers that were vacant, by the class of the delay that they were last armed for.
    classes: [Vec<Arc<Node>>; CLASSES],
    /// Timers in no queue.
    idle: Vec<Arc<Node>>,
}

/// The pools of a thread: one for each core that it has used.
struct Pools(Vec<Pool>);

thread_local! {
    static POOLS: RefCell<Pools> = const { RefCell::new(Pools(Vec::new())) };
    static NUMBER: u32 = next_number();
}

/// A number for each thread, from which the shard of its timers follows.
fn next_number() -> u32 {
    use core::sync::atomic::AtomicU32;
    static NEXT: AtomicU32 = AtomicU32::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

#[inline]
fn class_of(delay: u64) -> u32 {
    (64 - delay.leading_zeros()) / 2 % CLASSES as u32
}

/// A timer of `core` that is idle or vacant and has no waker, to be armed for `delay` ticks.
#[inline]
pub(crate) fn take(core: &Arc<Core>, delay: u64) -> Arc<Node> {
    let class = class_of(delay);
    let taken = if cfg!(loom) { None } else { Pools::with(|pools| pools.take(core, class)).flatten() };
    let node = taken.unwrap_or_else(|| fresh(core));
    node.class.store(class, Ordering::Relaxed);
    node
}

#[cold]
fn fresh(core: &Arc<Core>) -> Arc<Node> {
    let shard = if cfg!(loom) { 0 } else { NUMBER.try_with(|number| *number).unwrap_or(0) };
    Arc::new(Node::new(core, shard))
}

/// Takes back a timer that is idle or vacant and has no waker.
#[inline]
pub(crate) fn put(node: Arc<Node>) {
    let is_wanted = !cfg!(loom) && node.core.handles.load(Ordering::Relaxed) > 0;
    let refused = if is_wanted {
        let mut node = Some(node);
        // A reference, so that the timer is still there when there is no pool any more.
        let _ = Pools::with(|pools| pools.put(&mut node));
        node
    } else {
        Some(node)
    };
    if let Some(node) = refused {
        free(&node);
    }
}

/// Takes a timer that is about to be dropped out of its queue.
#[cold]
fn free(node: &Arc<Node>) {
    if Word(node.word.load(Ordering::Relaxed)).state() == State::Vacant {
        node.core.unfile(node);
    }
}

impl Pools {
    /// `None` when the thread ends, or is in here already.
    #[inline]
    fn with<R>(work: impl FnOnce(&mut Self) -> R) -> Option<R> {
        POOLS.try_with(|pools| pools.try_borrow_mut().ok().map(|mut pools| work(&mut pools))).ok().flatten()
    }

    #[inline]
    fn of(&mut self, core: usize) -> Option<&mut Pool> {
        self.0.iter_mut().find(|pool| pool.core == core)
    }

    #[inline]
    fn take(&mut self, core: &Arc<Core>, class: u32) -> Option<Arc<Node>> {
        let pool = self.of(Arc::as_ptr(core).addr())?;
        let node = match pool.classes.get_mut(class as usize)?.pop() {
            Some(node) => node,
            None => pool.idle.pop()?,
        };
        pool.len -= 1;
        Some(node)
    }

    #[inline]
    fn put(&mut self, node: &mut Option<Arc<Node>>) {
        let Some(given) = node else { return };
        let core = Arc::as_ptr(&given.core).addr();
        if self.of(core).is_none() {
            self.0.retain(|pool| pool.is_wanted());
            self.0.push(Pool { core, len: 0, classes: [const { Vec::new() }; CLASSES], idle: Vec::new() });
        }
        let Some(pool) = self.of(core) else { return };
        if pool.len < MOST {
            let class = given.class.load(Ordering::Relaxed) as usize;
            let is_vacant = Word(given.word.load(Ordering::Relaxed)).state() == State::Vacant;
            let list = if is_vacant { pool.classes.get_mut(class) } else { None }.unwrap_or(&mut pool.idle);
            list.extend(node.take());
            pool.len += 1;
        }
    }
}

impl Pool {
    /// Whether its core still has a handle.
    fn is_wanted(&self) -> bool {
        let any = self.idle.iter().chain(self.classes.iter().flatten()).next();
        any.is_some_and(|node| node.core.handles.load(Ordering::Relaxed) > 0)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.idle.iter().chain(self.classes.iter().flatten()).for_each(free);
    }
}
