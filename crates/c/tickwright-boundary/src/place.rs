//! Checks of the caller's pointers, which are made before the library reads or writes their
//! targets.

use core::ffi::c_int;

use crate::code;

/// Returns an error if a pointer is not aligned for a `T`.
pub fn aligned<T>(place: *const T) -> Result<(), c_int> {
    if place.is_aligned() { Ok(()) } else { Err(code::INVALID) }
}

/// Returns an error if a pointer is null or not aligned.
pub fn usable<T>(pointer: *const T) -> Result<(), c_int> {
    if pointer.is_null() { Err(code::INVALID) } else { aligned(pointer) }
}
