//! The state word: the first field of queues, heaps, dictionaries, schedulers and runtimes.
//!
//! ```text
//!   tw_heap    | state | heap |     state: the kind of thing, READY or another word of its kind,
//!   tw_sched   | state | ...  |            mixed with its address
//! ```
//! Memory that holds no such thing, one that was destroyed and a copy of one are told by it. Such
//! memory may be smaller than the thing, so only the state is borrowed at first.

use core::alloc::Layout;
use core::cell::Cell;
use core::ffi::c_int;
use core::sync::atomic::{AtomicU64, Ordering};
use std::alloc::alloc;

use crate::code;
use crate::place::usable;

/// A struct of C that one thread at a time may use. It is *lent* while the library's own borrow of
/// it crosses a callback. Every function refuses a lent struct.
///
/// # Safety
/// 1. It is `repr(C)`, and its first field is a `Cell<u64>`, its state.
/// 2. Nobody borrows the state mutably once it is set.
pub unsafe trait Lendable: Sized {
    /// The state of one that may be used, before the address is mixed in.
    const READY: u64;
    /// The state of one that a callback may not touch.
    const LENT: u64;
}

/// A struct of C that several threads may use at once.
///
/// # Safety
/// 1. It is `repr(C)`, and its first field is an `AtomicU64`, its state.
/// 2. Nobody borrows it mutably once the state is set.
pub unsafe trait Shared: Sized {
    /// The state of one that may be used, before the address is mixed in.
    const READY: u64;
    /// The state of one that is being destroyed: what its callbacks and threads call is answered,
    /// but another destroy is refused.
    const ENDING: u64;
}

/// The state of that kind of what is at `at`.
pub fn state<T>(kind: u64, at: *const T) -> u64 {
    kind ^ (at.addr() as u64).rotate_left(16)
}

/// The state of something that may be used.
///
/// # Errors
/// [`code::INVALID`] where no such thing is, [`code::BUSY`] where one is that is lent.
///
/// # Safety
/// The header's contract.
pub unsafe fn lendable<'t, T: Lendable>(at: *const T) -> Result<&'t Cell<u64>, c_int> {
    usable(at)?;
    // SAFETY: 1. not null and aligned; 2. promise 1: there is the state, readable by the header's
    // contract; 3. promise 2.
    let now = unsafe { &*at.cast::<Cell<u64>>() };
    match now.get() {
        found if found == state(T::READY, at) => Ok(now),
        found if found == state(T::LENT, at) => Err(code::BUSY),
        _ => Err(code::INVALID),
    }
}

/// Runs `inside` while `at`, which [`lendable`] has returned, is lent.
pub fn lend<T: Lendable, R>(at: *const T, now: &Cell<u64>, inside: impl FnOnce() -> R) -> R {
    now.set(state(T::LENT, at));
    let done = inside();
    now.set(state(T::READY, at));
    done
}

/// Something that may be used, or is being destroyed.
///
/// # Errors
/// [`code::INVALID`] where none is.
///
/// # Safety
/// The header's contract.
pub unsafe fn shared<'t, T: Shared>(at: *const T) -> Result<&'t T, c_int> {
    usable(at)?;
    // SAFETY: not null and aligned.
    let now = unsafe { word(at) }.load(Ordering::Relaxed);
    if now != state(T::READY, at) && now != state(T::ENDING, at) {
        return Err(code::INVALID);
    }
    // SAFETY: 1. not null and aligned; 2. a `T`, as its state says; 3. promise 2.
    Ok(unsafe { &*at })
}

/// The state of what is at `at`.
///
/// # Safety
/// `at` is neither null nor misaligned.
unsafe fn word<'t, T: Shared>(at: *const T) -> &'t AtomicU64 {
    // SAFETY: 1. the caller promises this; 2. promise 1: there is the state, readable by the
    // header's contract; 3. promise 2.
    unsafe { &*at.cast::<AtomicU64>() }
}

/// Whether something that [`shared`] has returned is being destroyed.
pub fn is_ending<T: Shared>(shared: &T) -> bool {
    // SAFETY: a reference is neither null nor misaligned.
    unsafe { word(shared) }.load(Ordering::Relaxed) != state(T::READY, shared)
}

/// Begins to destroy something that [`shared`] has returned.
///
/// # Errors
/// [`code::ALREADY`] when its end has begun already.
pub fn end<T: Shared>(shared: &T) -> Result<(), c_int> {
    let (ready, ending) = (state(T::READY, shared), state(T::ENDING, shared));
    // SAFETY: a reference is neither null nor misaligned.
    let word = unsafe { word(shared) };
    let changed = word.compare_exchange(ready, ending, Ordering::Relaxed, Ordering::Relaxed);
    changed.map(drop).map_err(|_| code::ALREADY)
}

/// Writes null to the caller's place for something that is to be created.
///
/// # Safety
/// `place` is null, or may be written.
pub unsafe fn begin<T>(place: *mut *mut T) -> Result<(), c_int> {
    usable(place)?;
    // SAFETY: 1. Not null, aligned. 2. The caller promises the rest.
    unsafe { place.write(core::ptr::null_mut()) };
    Ok(())
}

/// Puts what `make` makes for its address into memory of the library, and writes that address to
/// `place`.
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
    // Callbacks are told of it by what is made from the address.
    let _ = at.expose_provenance();
    // SAFETY: memory of its layout, from just now.
    unsafe { at.write(make(at)) };
    // SAFETY: 1. Not null, aligned, as `begin` has seen. 2. The caller promises the rest.
    unsafe { place.write(at) };
    Ok(0)
}

/// Gives back what [`create`] has made. Where the memory still shows it, its state is none.
///
/// # Safety
/// It is from `create`, begins with its state, and is no longer used.
pub unsafe fn destroy<T>(at: *mut T) {
    // SAFETY: the state, which nobody else uses.
    unsafe { at.cast::<u64>().write_volatile(0) };
    // SAFETY: 1. from the global allocator, with the layout of a `T`; 2. no longer used.
    drop(unsafe { Box::from_raw(at) });
}
