//! Keys of thread-local pointers: for each key, every thread of every model has its own pointer.

use core::cell::Cell;
use core::ffi::{c_int, c_void};
use core::ptr::null_mut;
use core::sync::atomic::AtomicU64;

use tickwright_boundary::spare::covered;
use tickwright_boundary::state::{Shared, begin, create, destroy, end, state};
use tickwright_boundary::{answer, code, exported};
use tickwright_threads::ThreadLocal;

use crate::contract::shared;

/// A function that destroys a thread's value of a key when the thread ends.
pub type tw_destructor_fn = Option<unsafe extern "C-unwind" fn(value: *mut c_void)>;

/// The value that one thread has for a key.
struct Value {
    value: Cell<*mut c_void>,
    destructor: Cell<tw_destructor_fn>,
}

impl Value {
    fn none() -> Self {
        Self { value: Cell::new(null_mut()), destructor: Cell::new(None) }
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        if let Some(destructor) = self.destructor.get()
            && !self.value.get().is_null()
        {
            // SAFETY: the caller's function is called as the header says.
            code::contained(|| unsafe { destructor(self.value.get()) });
        }
    }
}

/// A key, in the library's own memory.
#[repr(C)]
#[derive(Debug)]
pub struct tw_key {
    state: AtomicU64,
    local: ThreadLocal<Value>,
    destructor: tw_destructor_fn,
}

// SAFETY: 1. `repr(C)`, the state comes first; 2. no code ever borrows it mutably.
unsafe impl Shared for tw_key {
    const READY: u64 = 0x7469_636b_6b65_7921;
    const ENDING: u64 = 0x7469_636b_6b65_656e;
}

exported!(
    /// Creates a key.
    fn tw_key_create(key: *mut *mut tw_key, destructor: tw_destructor_fn) -> c_int {
        answer::code(|| {
            // SAFETY: the header's contract.
            unsafe { begin(key) }?;
            let make = |at| tw_key {
                state: AtomicU64::new(state(tw_key::READY, at)),
                local: ThreadLocal::new(Value::none),
                destructor,
            };
            // SAFETY: `begin` has written to `key`.
            unsafe { create(key, make) }
        })
    }

    /// Destroys a key.
    fn tw_key_destroy(key: *mut tw_key) -> c_int {
        answer::code(|| {
            if key.is_null() {
                return Ok(0);
            }
            end(shared(key.cast_const())?)?;
            // SAFETY: 1. the object is from `create`; 2. it is no longer used, by the header's
            // contract.
            unsafe { destroy(key) };
            Ok(0)
        })
    }

    /// Sets the calling thread's value.
    fn tw_key_set(key: *mut tw_key, value: *mut c_void) -> c_int {
        answer::code(|| {
            let key: &tw_key = shared(key.cast_const())?;
            let set = || {
                key.local.with(|own| {
                    own.value.set(value);
                    own.destructor.set(key.destructor);
                });
            };
            if key.local.is_set() {
                set();
            } else {
                key.local.try_reserve().map_err(|_| code::NO_MEMORY)?;
                // These are the blocks of memory for the value, for the thread's first list of
                // values, and for its entry in the list of all threads.
                covered(&[(3, 1 << 13), (6, 1 << 10)], set)?;
            }
            Ok(0)
        })
    }

    /// Returns the calling thread's value.
    fn tw_key_get(key: *const tw_key, value: *mut *mut c_void) -> c_int {
        let get = || {
            let key: &tw_key = shared(key)?;
            let own = || key.local.with(|own| own.value.get());
            Ok(if key.local.is_set() { own() } else { null_mut() })
        };
        // SAFETY: the header's contract.
        unsafe { answer::value(value, get) }
    }
);
