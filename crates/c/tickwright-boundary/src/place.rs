//! Checks of the caller's pointers, before anything is read or written there.

use core::ffi::c_int;

use crate::code;

/// Refuses a place that is not aligned for a `T`.
pub fn aligned<T>(place: *const T) -> Result<(), c_int> {
    if place.is_aligned() { Ok(()) } else { Err(code::INVALID) }
}

/// Refuses a pointer that is null or not aligned.
pub fn usable<T>(pointer: *const T) -> Result<(), c_int> {
    if pointer.is_null() { Err(code::INVALID) } else { aligned(pointer) }
}
