//! The state word, which is the first field of queues, heaps, dictionaries, schedulers and
//! runtimes.
//!
//! ```text
//!   tw_heap    | state | heap |     state: the kind of thing, READY or another word of its kind,
//!   tw_sched   | state | ...  |            mixed with its address
//! ```
//! The state distinguishes an object from a destroyed object, from a copy of an object, and from
//! other memory. Because other memory can be smaller than an object, only the state is borrowed
//! before it is checked.

use core::alloc::Layout;
use core::cell::Cell;
use core::ffi::c_int;
use core::sync::atomic::{AtomicU64, Ordering};
use std::alloc::alloc;

use crate::code;
use crate::place::usable;

/// A C struct that only one thread at a time is allowed to use. It is *lent* while the library
/// borrows it mutably and calls a callback. Every function refuses a lent struct.
///
/// # Safety
/// 1. The struct is `repr(C)`, and its first field is a `Cell<u64>`, which is its state.
/// 2. After the state was set, no code borrows the state mutably.
pub unsafe trait Lendable: Sized {
    /// The state of a struct that is ready for use, before its address is mixed in.
    const READY: u64;
    /// The state of a struct that is lent, so that a callback must not use it, before its address
    /// is mixed in.
    const LENT: u64;
}

/// A C struct that several threads can use at the same time.
///
/// # Safety
/// 1. The struct is `repr(C)`, and its first field is an `AtomicU64`, which is its state.
/// 2. After the state was set, no code borrows the struct mutably.
pub unsafe trait Shared: Sized {
    /// The state of a struct that is ready for use, before its address is mixed in.
    const READY: u64;
    /// The state of a struct that is being destroyed, before its address is mixed in. Calls by its
    /// callbacks and threads still succeed, but a second destroy is refused.
    const ENDING: u64;
}

/// Returns the state word of an object at the address `at`, which is `kind` mixed with that
/// address.
pub fn state<T>(kind: u64, at: *const T) -> u64 {
    kind ^ (at.addr() as u64).rotate_left(16)
}

/// Returns the state of an object that is ready for use.
///
/// # Errors
/// [`code::INVALID`] if there is no such object. [`code::BUSY`] if the object is lent.
///
/// # Safety
/// The header's contract.
pub unsafe fn lendable<'t, T: Lendable>(at: *const T) -> Result<&'t Cell<u64>, c_int> {
    usable(at)?;
    // SAFETY: 1. not null and aligned; 2. by promise 1 the state is there, readable by the header's
    // contract; 3. promise 2.
    let now = unsafe { &*at.cast::<Cell<u64>>() };
    match now.get() {
        found if found == state(T::READY, at) => Ok(now),
        found if found == state(T::LENT, at) => Err(code::BUSY),
        _ => Err(code::INVALID),
    }
}

/// Runs `inside`. During this call the object at `at` is marked as lent. `now` is the state that
/// [`lendable`] has returned for the object.
pub fn lend<T: Lendable, R>(at: *const T, now: &Cell<u64>, inside: impl FnOnce() -> R) -> R {
    now.set(state(T::LENT, at));
    let done = inside();
    now.set(state(T::READY, at));
    done
}

/// Returns an object that is ready for use or is being destroyed.
///
/// # Errors
/// [`code::INVALID`] if there is no such object.
///
/// # Safety
/// The header's contract.
pub unsafe fn shared<'t, T: Shared>(at: *const T) -> Result<&'t T, c_int> {
    usable(at)?;
    // SAFETY: the address is not null, and aligned.
    let now = unsafe { word(at) }.load(Ordering::Relaxed);
    if now != state(T::READY, at) && now != state(T::ENDING, at) {
        return Err(code::INVALID);
    }
    // SAFETY: 1. not null and aligned; 2. a `T`, as its state says; 3. promise 2.
    Ok(unsafe { &*at })
}

/// Returns the state word at `at`.
///
/// # Safety
/// `at` is neither null nor misaligned.
unsafe fn word<'t, T: Shared>(at: *const T) -> &'t AtomicU64 {
    // SAFETY: 1. the caller promises this; 2. by promise 1 the state is there, readable by the
    // header's contract; 3. promise 2.
    unsafe { &*at.cast::<AtomicU64>() }
}

/// Returns whether an object that [`shared`] has returned is being destroyed.
pub fn is_ending<T: Shared>(shared: &T) -> bool {
    // SAFETY: a reference is neither null nor misaligned.
    unsafe { word(shared) }.load(Ordering::Relaxed) != state(T::READY, shared)
}

/// Marks an object that [`shared`] has returned as being destroyed.
///
/// # Errors
/// [`code::ALREADY`] if the object is already being destroyed.
pub fn end<T: Shared>(shared: &T) -> Result<(), c_int> {
    let (ready, ending) = (state(T::READY, shared), state(T::ENDING, shared));
    // SAFETY: a reference is neither null nor misaligned.
    let word = unsafe { word(shared) };
    let changed = word.compare_exchange(ready, ending, Ordering::Relaxed, Ordering::Relaxed);
    changed.map(drop).map_err(|_| code::ALREADY)
}

/// Writes null to the place to which the address of a new object will be written.
///
/// # Safety
/// `place` is null or writable.
pub unsafe fn begin<T>(place: *mut *mut T) -> Result<(), c_int> {
    usable(place)?;
    // SAFETY: 1. The place is not null, and aligned. 2. The caller promises the rest.
    unsafe { place.write(core::ptr::null_mut()) };
    Ok(())
}

/// Allocates an object and writes its address to `place`. `make` gets that address and returns the
/// object.
///
/// # Safety
/// [`begin`] has written to `place`.
pub unsafe fn create<T>(place: *mut *mut T, make: impl FnOnce(*const T) -> T) -> Result<c_int, c_int> {
    const { assert!(size_of::<T>() > 0) };
    // SAFETY: the size is not 0.
    let at = unsafe { alloc(Layout::new::<T>()) }.cast::<T>();
    if at.is_null() {
        return Err(code::NO_MEMORY);
    }
    // Callbacks later get a pointer that is computed from this address.
    let _ = at.expose_provenance();
    // SAFETY: the memory has the layout of a `T`, and was allocated just now.
    unsafe { at.write(make(at)) };
    // SAFETY: 1. The place is not null, and aligned, as `begin` has checked. 2. The caller promises
    // the rest.
    unsafe { place.write(at) };
    Ok(0)
}

/// Destroys an object that [`create`] has created. Its state becomes 0 first, so that a later call
/// with the old pointer is refused as long as the memory still contains this 0.
///
/// # Safety
/// The object is from `create`, begins with its state, and is no longer used.
pub unsafe fn destroy<T>(at: *mut T) {
    // SAFETY: this writes the state, which nobody else uses.
    unsafe { at.cast::<u64>().write_volatile(0) };
    // SAFETY: 1. the memory is from the global allocator, with the layout of a `T`; 2. it is no
    // longer used.
    drop(unsafe { Box::from_raw(at) });
}
