//! Thread-local values for threads of every model.
//!
//! A thread stays on the kernel thread on which it began. Therefore a separate table for each
//! kernel thread works for all models, and values need not be `Send`.

use core::any::Any;
use core::cell::{Cell, RefCell};
use core::fmt;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::panic::AssertUnwindSafe;
use core::sync::atomic::{AtomicU64, Ordering};
use std::collections::{BTreeMap, TryReserveError};
use std::panic::catch_unwind;
use std::rc::Rc;

use crate::host;
use crate::id::ThreadId;
use crate::process;

/// How many rounds of drops there are when a thread ends, as in POSIX. The drops of one round can
/// create values, which the next round drops.
pub const DROP_ROUNDS: usize = 4;

type Values = Vec<(u64, Rc<dyn Any>)>;
type All = BTreeMap<Option<ThreadId>, Values>;

thread_local! {
    /// All values of threads that run on this kernel thread. It is never dropped, so that other
    /// drops can use it as long as the kernel thread exists. [`LAST`] empties it.
    static VALUES: ManuallyDrop<RefCell<All>> =
        const { ManuallyDrop::new(RefCell::new(BTreeMap::new())) };
    /// The number of threads on this kernel thread that have values.
    static OWNERS: Cell<usize> = const { Cell::new(0) };
    static LAST: Last = const { Last };
}

/// Drops the values of a kernel thread that belongs to no runtime when that thread ends.
struct Last;

impl Drop for Last {
    fn drop(&mut self) {
        end(None);
    }
}

/// The key of a thread-local value. Each thread has its own value, which is created at the thread's
/// first use and dropped on that thread when the thread ends. The drop can use threads and create
/// values again. There are up to [`DROP_ROUNDS`] rounds of drops, and values that are left after
/// the last round are never dropped. If a drop panics, the panic is caught.
///
/// ```
/// use core::cell::Cell;
/// use tickwright_threads::ThreadLocal;
///
/// let count = ThreadLocal::new(|| Cell::new(0));
/// count.with(|count| count.set(count.get() + 1));
/// assert_eq!(count.with(Cell::get), 1);
/// ```
pub struct ThreadLocal<T> {
    key: u64,
    make: fn() -> T,
    value: PhantomData<fn() -> T>,
}

impl<T> fmt::Debug for ThreadLocal<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadLocal").field("key", &self.key).finish_non_exhaustive()
    }
}

impl<T: 'static> ThreadLocal<T> {
    /// Creates a key. `make` is called to create the value of a thread.
    #[must_use]
    pub fn new(make: fn() -> T) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self { key: NEXT.fetch_add(1, Ordering::Relaxed), make, value: PhantomData }
    }

    /// Calls `use_it` with the calling thread's value. Takes O(log threads + keys).
    pub fn with<R>(&self, use_it: impl FnOnce(&T) -> R) -> R {
        let me = host::current();
        let found = look(|all| {
            let values = all.get(&me)?;
            values.iter().find(|(key, _)| *key == self.key).map(|(_, value)| Rc::clone(value))
        });
        let value = match found.and_then(|value| value.downcast::<T>().ok()) {
            Some(value) => value,
            None => {
                let value = Rc::new((self.make)());
                process::in_each_child(in_the_child);
                // The first use registers `LAST`, which drops the values when the kernel thread
                // ends. If the kernel thread is already ending, new values are never dropped.
                let _ = LAST.try_with(|_| ());
                change(|all| {
                    all.entry(me).or_default().push((self.key, Rc::clone(&value) as _));
                    OWNERS.set(all.len());
                });
                value
            }
        };
        use_it(&value)
    }

    /// Makes room for the calling thread's value, so that no list grows when the value is created.
    ///
    /// # Errors
    /// An error if there is no memory for the value.
    pub fn try_reserve(&self) -> Result<(), TryReserveError> {
        let me = host::current();
        change(|all| all.get_mut(&me).map_or(Ok(()), |values| values.try_reserve(1)))
    }

    /// Returns whether the calling thread has a value.
    #[must_use]
    pub fn is_set(&self) -> bool {
        let me = host::current();
        look(|all| all.get(&me).is_some_and(|values| values.iter().any(|(key, _)| *key == self.key)))
    }
}

fn look<R>(look: impl FnOnce(&All) -> R) -> R {
    VALUES.with(|all| look(&all.borrow()))
}

fn change<R>(change: impl FnOnce(&mut All) -> R) -> R {
    VALUES.with(|all| change(&mut all.borrow_mut()))
}

/// Drops the values of a thread that ends. That thread calls this.
pub(crate) fn end(id: Option<ThreadId>) {
    if OWNERS.get() == 0 {
        return;
    }
    for _ in 0..DROP_ROUNDS {
        let Some(values) = take(id) else { return };
        for (_, value) in values {
            drop_quietly(value);
        }
    }
    // The values that are left are never dropped, because their drops would probably create new
    // values again.
    core::mem::forget(take(id));
}

/// Called in a forked child. The thread that forked belongs to no runtime there, so its values are
/// stored without an id. The values of other threads are never dropped, because those threads
/// belong to the parent.
fn in_the_child(was: Option<ThreadId>) {
    let Some(id) = was else { return };
    if OWNERS.get() == 0 {
        return;
    }
    let own = take(Some(id));
    change(|all| {
        core::mem::forget(core::mem::take(all));
        all.extend(own.map(|values| (None, values)));
        OWNERS.set(all.len());
    });
}

/// Takes the values of a thread out of the map.
fn take(id: Option<ThreadId>) -> Option<Values> {
    change(|all| {
        let values = all.remove(&id);
        OWNERS.set(all.len());
        if all.is_empty() {
            // The map itself is never dropped, and even an empty map can own memory.
            *all = BTreeMap::new();
        }
        values
    })
}

/// Drops a value. If the drop panics, the panic is caught and its payload is dropped. If the drop
/// of that payload also panics, the payload of the second panic is never dropped.
pub(crate) fn drop_quietly<T>(value: T) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(value)))
        && let Err(next) = catch_unwind(AssertUnwindSafe(|| drop(payload)))
    {
        core::mem::forget(next);
    }
}
