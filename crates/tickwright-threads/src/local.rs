//! Values that each thread has of its own.
//!
//! Threads stay on the kernel thread that they began on, so one table for each kernel thread serves all models, and values need not be `Send`.

use core::any::Any;
use core::cell::{Cell, RefCell};
use core::fmt;
use core::marker::PhantomData;
use core::panic::AssertUnwindSafe;
use core::sync::atomic::{AtomicU64, Ordering};
use std::collections::BTreeMap;
use std::panic::catch_unwind;
use std::rc::Rc;

use crate::id::ThreadId;
use crate::this_thread;

/// How often values are dropped that the drops of others have made, as POSIX has it.
pub const DROP_ROUNDS: usize = 4;

type Values = Vec<(u64, Rc<dyn Any>)>;

thread_local! {
    static VALUES: RefCell<BTreeMap<Option<ThreadId>, Values>> = const { RefCell::new(BTreeMap::new()) };
    /// How many threads have any.
    static OWNERS: Cell<usize> = const { Cell::new(0) };
}

/// Names a value that each thread has of its own, made when the thread first asks. Dropped when the thread ends, on the thread itself: the drop
/// may use threads, and make values anew, which are dropped in up to [`DROP_ROUNDS`] rounds; what is left then is dropped later, on no
/// thread in particular. A panic of a drop ends there.
///
/// ```
/// use core::cell::Cell;
/// use tickwright_threads::Local;
///
/// let count = Local::new(|| Cell::new(0));
/// count.with(|count| count.set(count.get() + 1));
/// assert_eq!(count.with(Cell::get), 1);
/// ```
pub struct Local<T> {
    key: u64,
    make: fn() -> T,
    value: PhantomData<fn() -> T>,
}

impl<T> fmt::Debug for Local<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Local").field("key", &self.key).finish_non_exhaustive()
    }
}

impl<T: 'static> Local<T> {
    /// A key whose values are made by `make`.
    #[must_use]
    pub fn new(make: fn() -> T) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self { key: NEXT.fetch_add(1, Ordering::Relaxed), make, value: PhantomData }
    }

    /// Uses the calling thread's value. O(log threads + keys).
    pub fn with<R>(&self, use_it: impl FnOnce(&T) -> R) -> R {
        let me = this_thread::current();
        let found = VALUES.with_borrow(|all| {
            let values = all.get(&me)?;
            values.iter().find(|(key, _)| *key == self.key).map(|(_, value)| Rc::clone(value))
        });
        let value = match found.and_then(|value| value.downcast::<T>().ok()) {
            Some(value) => value,
            None => {
                let value = Rc::new((self.make)());
                VALUES.with_borrow_mut(|all| {
                    all.entry(me).or_default().push((self.key, Rc::clone(&value) as _));
                    OWNERS.set(all.len());
                });
                value
            }
        };
        use_it(&value)
    }

    /// Whether the calling thread has a value.
    #[must_use]
    pub fn is_set(&self) -> bool {
        let me = this_thread::current();
        VALUES.with_borrow(|all| {
            all.get(&me).is_some_and(|values| values.iter().any(|(key, _)| *key == self.key))
        })
    }
}

/// The values of a thread that ends, on that thread.
pub(crate) fn end(id: Option<ThreadId>) {
    if OWNERS.get() == 0 {
        return;
    }
    for _ in 0..DROP_ROUNDS {
        let Some(values) = VALUES.with_borrow_mut(|all| {
            let values = all.remove(&id);
            OWNERS.set(all.len());
            values
        }) else {
            return;
        };
        for (_, value) in values {
            let _ = catch_unwind(AssertUnwindSafe(|| drop(value)));
        }
    }
    // What is left is nobody's: the id is never given again.
}
