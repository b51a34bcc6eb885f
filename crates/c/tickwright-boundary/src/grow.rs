//! Structs that get more fields in later versions. Their first field is the size that the struct
//! has in the header with which the caller was compiled.
//!
//! ```text
//!   the caller's    | size | a | b |             an older header: 3 fields
//!   the library's   | size | a | b | c |         reads c as its default, never writes it
//!
//!   the caller's    | size | a | b | c | d |     a newer header: 5 fields
//!   the library's   | size | a | b | c |         refuses a `d` that is not 0, never writes it
//! ```

use core::ffi::c_int;

use crate::code;
use crate::place::usable;

/// A greater size is invalid, because the caller has obviously not set the size field.
const MOST: usize = 4096;

/// A struct whose first field is its size.
///
/// # Safety
/// 1. The struct is `repr(C)`, and its first field is a `usize`, which is its size in bytes.
/// 2. Any bytes that a C program can write to the other fields are valid values of those fields.
pub unsafe trait Growing: Copy {
    /// The default values, used for fields that the caller's struct does not have. The size field
    /// has the size of the type. The default of a field that was added later is 0, because an older
    /// library refuses any other value.
    const DEFAULT: Self;
    /// The size of the struct's first version, which is [`end_of!`](crate::end_of) of the last
    /// field in that version. It never changes, because later versions add fields only after that
    /// field.
    const LEAST: usize;
}

/// Evaluates to the offset of the end of a field in its struct, in bytes.
#[macro_export]
macro_rules! end_of {
    ($type:ty, $field:ident) => {
        core::mem::offset_of!($type, $field) + $crate::grow::size_by(|value: &$type| &value.$field)
    };
}

/// Returns the size of a type `F`, which is inferred from a function that returns a reference to
/// it. Only [`end_of!`](crate::end_of) uses this.
#[doc(hidden)]
#[must_use]
pub const fn size_by<T, F>(_: fn(&T) -> &F) -> usize {
    size_of::<F>()
}

/// Returns whether some version of the struct can have this size. Most size fields that were never
/// initialized are refused, because a struct's size is a multiple of its alignment.
fn is_possible<T: Growing>(size: usize) -> bool {
    (T::LEAST..=MOST).contains(&size) && size.is_multiple_of(align_of::<T>())
}

/// Returns the size that the caller has set in its struct.
///
/// # Safety
/// `at` is neither null nor misaligned, and its size field is readable.
unsafe fn given<T: Growing>(at: *const T) -> Result<usize, c_int> {
    const { assert!(T::LEAST >= size_of::<usize>() && T::LEAST <= size_of::<T>()) };
    // SAFETY: 1. the caller promises this; 2. promise 1: the size comes first.
    let size = unsafe { at.cast::<usize>().read() };
    if is_possible::<T>(size) { Ok(size) } else { Err(code::INVALID) }
}

/// Reads a struct of the caller.
///
/// # Errors
/// [`code::INVALID`] if the pointer is null or the size is impossible. [`code::TOO_NEW`] if a field
/// that this version does not know is not 0.
///
/// # Safety
/// `at` is null, or its size field is readable and as many bytes as it says are readable at `at`.
pub unsafe fn read<T: Growing>(at: *const T) -> Result<T, c_int> {
    usable(at)?;
    // SAFETY: 1. the pointer is usable; 2. the caller promises this.
    let size = unsafe { given(at) }?;
    if size == size_of::<T>() {
        // SAFETY: 1. the pointer is usable; 2. the caller promises this; 3. promise 2.
        return Ok(unsafe { at.read() });
    }
    for unknown in size_of::<T>()..size {
        // SAFETY: `unknown` is less than the struct's size.
        let byte = unsafe { at.cast::<u8>().add(unknown) };
        // SAFETY: the caller promises this.
        if unsafe { byte.read() } != 0 {
            return Err(code::TOO_NEW);
        }
    }
    let mut value = T::DEFAULT;
    let bytes = size.min(size_of::<T>());
    // SAFETY: 1. the caller promises this; 2. `bytes` is at most the value's size; 3. promise 2.
    unsafe { (&raw mut value).cast::<u8>().copy_from_nonoverlapping(at.cast(), bytes) };
    Ok(value)
}

/// Returns the number of bytes of a caller's struct, or 0 for null.
///
/// # Errors
/// [`code::INVALID`] if `place` is not aligned or the size is impossible.
///
/// # Safety
/// `place` is null, or its size field is readable.
pub unsafe fn room<T: Growing>(place: *const T) -> Result<usize, c_int> {
    if place.is_null() {
        return Ok(0);
    }
    usable(place)?;
    // SAFETY: 1. the pointer is usable; 2. the caller promises this.
    unsafe { given(place) }
}

/// Fills a caller's struct of `room` bytes, and sets its size field to the number of filled bytes.
///
/// # Safety
/// [`room`] has returned the number `room` for `place`, and `room` bytes at `place` are writable.
pub unsafe fn fill<T: Growing>(place: *mut T, room: usize, mut value: T) {
    let bytes = room.min(size_of::<T>());
    if bytes == 0 {
        return;
    }
    // SAFETY: promise 1.
    unsafe { (&raw mut value).cast::<usize>().write(bytes) };
    // SAFETY: 1. the caller promises this; 2. the number of bytes is at most the size of the value.
    unsafe { place.cast::<u8>().copy_from_nonoverlapping((&raw const value).cast(), bytes) };
}

/// Sets a caller's struct of `size` bytes to its defaults. Bytes after the fields that this version
/// knows are set to 0.
///
/// # Safety
/// `place` is null, or `size` bytes at `place` are writable.
pub unsafe fn initialize<T: Growing>(place: *mut T, size: usize) -> c_int {
    if let Err(refused) = usable(place) {
        return refused;
    }
    if !is_possible::<T>(size) {
        return code::INVALID;
    }
    // SAFETY: the caller promises this.
    unsafe { place.cast::<u8>().write_bytes(0, size) };
    // SAFETY: the caller promises this.
    unsafe { fill(place, size, T::DEFAULT) };
    // SAFETY: 1. the pointer is usable; 2. promise 1: the size comes first.
    unsafe { place.cast::<usize>().write(size) };
    0
}

#[cfg(test)]
mod tests;
