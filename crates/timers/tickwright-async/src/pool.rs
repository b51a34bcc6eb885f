//! The pool of unused timers that each thread has. The thread's next sleep or time-out uses a timer
//! of this pool.
//!
//! Most of these timers were disarmed before they fired, so they are vacant and still in a queue. A
//! program uses few different delays. A time-out whose delay is similar to the previous one has a
//! later deadline, so it is usually due after the vacant timer's filed tick. Such a time-out arms
//! the timer without a lock.
//!
//! A thread keeps at most [`MOST`] timers of each core, plus the timer that was put back last. Any
//! further timer is removed from its queue under the lock of its shard, and freed. Under loom there
//! is no pool, because the threads of a model are not threads of the platform.

use core::cell::{Cell, RefCell};

use crate::node::{Core, Node, State};
use crate::sync::{Arc, Ordering};

/// The largest number of timers of one core that a thread keeps.
const MOST: usize = 1024;

/// The number of classes of delays. Two delays of the same class differ by a factor of less than
/// four.
const CLASSES: usize = 32;

/// A thread's unused timers of one core.
struct Pool {
    /// The address of the core. Each timer holds a reference to its core, so no other core gets
    /// this address while the pool contains a timer.
    core: usize,
    len: usize,
    /// Timers that were vacant when they were put back, by the class of the delay for which they
    /// were last armed.
    classes: [Vec<Arc<Node>>; CLASSES],
    /// Timers that are in no queue.
    idle: Vec<Arc<Node>>,
}

/// The pools of a thread, one for each core that the thread has used.
struct Pools(Vec<Pool>);

/// All unused timers of a thread.
struct Local {
    /// The timer that was put back last. It is separate as a fast path for threads that create one
    /// time-out after the other.
    last: Cell<Option<Arc<Node>>>,
    pools: RefCell<Pools>,
}

thread_local! {
    static LOCAL: Local =
        const { Local { last: Cell::new(None), pools: RefCell::new(Pools(Vec::new())) } };
    static NUMBER: u16 = next_number();
}

/// Returns the number for a new thread. It determines the shard of the timers that the thread
/// creates.
fn next_number() -> u16 {
    use core::sync::atomic::AtomicU16;
    static NEXT: AtomicU16 = AtomicU16::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

#[inline]
fn class_of(delay: u64) -> u16 {
    ((65 - delay.leading_zeros()) / 2 % CLASSES as u32) as u16
}

/// Returns an idle or vacant timer of `core`, without a waker, which the caller will arm for
/// `delay` nanoseconds.
#[inline]
pub(crate) fn take(core: &Arc<Core>, delay: u64) -> Arc<Node> {
    let class = class_of(delay);
    let taken =
        if cfg!(loom) { None } else { LOCAL.try_with(|local| local.take(core, class)).ok().flatten() };
    let node = taken.unwrap_or_else(|| fresh(core));
    node.class.store(class, Ordering::Relaxed);
    node
}

#[cold]
fn fresh(core: &Arc<Core>) -> Arc<Node> {
    let shard = if cfg!(loom) { 0 } else { NUMBER.try_with(|number| *number).unwrap_or(0) };
    Arc::new(Node::new(core, shard))
}

/// Adds a timer that is idle or vacant and has no waker to the pool.
#[inline]
pub(crate) fn put(node: Arc<Node>) {
    if node.core.handles.load(Ordering::Relaxed) == 0 {
        free(&node);
        return node.core.call_driver_to_end();
    }
    // An `Option`, so that the timer is still available here if the thread's pool was already
    // destroyed.
    let mut node = Some(node);
    if !cfg!(loom) {
        let _ = LOCAL.try_with(|local| local.put(&mut node));
    }
    if let Some(node) = node {
        free(&node);
    }
}

/// Removes the timer from its queue, because it is about to be dropped.
#[cold]
fn free(node: &Arc<Node>) {
    if node.state(Ordering::Relaxed) == State::Vacant {
        node.core.unfile(node);
    }
}

impl Local {
    #[inline]
    fn take(&self, core: &Arc<Core>, class: u16) -> Option<Arc<Node>> {
        if let Some(last) = self.last.take() {
            if Arc::ptr_eq(&last.core, core) && last.class.load(Ordering::Relaxed) == class {
                return Some(last);
            }
            self.last.set(Some(last));
        }
        // The borrow fails if this thread is already using the pool.
        self.pools.try_borrow_mut().ok()?.take(core, class)
    }

    #[inline]
    fn put(&self, node: &mut Option<Arc<Node>>) {
        match self.last.take() {
            None => self.last.set(node.take()),
            last => {
                self.last.set(last);
                if let Ok(mut pools) = self.pools.try_borrow_mut() {
                    pools.put(node);
                }
            }
        }
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        if let Some(last) = self.last.take() {
            free(&last);
        }
    }
}

impl Pools {
    #[inline]
    fn of(&mut self, core: usize) -> Option<&mut Pool> {
        self.0.iter_mut().find(|pool| pool.core == core)
    }

    #[inline]
    fn take(&mut self, core: &Arc<Core>, class: u16) -> Option<Arc<Node>> {
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
            let is_vacant = given.state(Ordering::Relaxed) == State::Vacant;
            let list = if is_vacant { pool.classes.get_mut(class) } else { None }.unwrap_or(&mut pool.idle);
            list.extend(node.take());
            pool.len += 1;
        }
    }
}

impl Pool {
    /// Returns whether the timer's core still has a handle.
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

#[cfg(all(test, not(loom)))]
mod tests;
