//! Structs that grow with versions: the first field is the size of the struct in the caller's
//! header.
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

/// A size greater than this is invalid: the caller has not set it.
const MOST: usize = 4096;

/// A struct whose first field is its size.
///
/// # Safety
/// 1. It is `repr(C)`, and its first field is a `usize`, the size in bytes.
/// 2. Any bytes that a C program can have in the other fields are valid values of those fields.
pub unsafe trait Growing: Copy {
    /// The default values, used for fields that the caller's struct does not have. The size field
    /// has the size of the type. The default of an added field is 0, since an older library refuses
    /// any other value.
    const DEFAULT: Self;
    /// The size of the first version: [`end_of!`](crate::end_of) of its last field. It never
    /// changes, because later versions add fields after that field.
    const LEAST: usize;
}

/// Evaluates to the end of a field, in bytes from the beginning of its struct.
#[macro_export]
macro_rules! end_of {
    ($type:ty, $field:ident) => {
        core::mem::offset_of!($type, $field) + $crate::grow::size_by(|value: &$type| &value.$field)
    };
}

/// Returns the size of the type to which a function returns a reference. For
/// [`end_of!`](crate::end_of).
#[doc(hidden)]
#[must_use]
pub const fn size_by<T, F>(_: fn(&T) -> &F) -> usize {
    size_of::<F>()
}

/// Returns whether some version of the struct can have this size. A struct's size is a multiple of
/// its alignment, so most size fields that were never initialized are refused.
fn is_possible<T: Growing>(size: usize) -> bool {
    (T::LEAST..=MOST).contains(&size) && size.is_multiple_of(align_of::<T>())
}

/// Returns the size that the caller has set.
///
/// # Safety
/// `at` is neither null nor misaligned, and its size may be read.
unsafe fn given<T: Growing>(at: *const T) -> Result<usize, c_int> {
    const { assert!(T::LEAST >= size_of::<usize>() && T::LEAST <= size_of::<T>()) };
    // SAFETY: 1. the caller promises this; 2. promise 1: the size comes first.
    let size = unsafe { at.cast::<usize>().read() };
    if is_possible::<T>(size) { Ok(size) } else { Err(code::INVALID) }
}

/// Reads a struct of the caller.
///
/// # Errors
/// [`code::INVALID`] for null and for an impossible size. [`code::TOO_NEW`] if a field that this
/// version does not know is not 0.
///
/// # Safety
/// `at` is null, or that many bytes may be read there as its size field says.
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
/// [`code::INVALID`] for a place that is not aligned, and for an impossible size.
///
/// # Safety
/// `place` is null, or its size may be read.
pub unsafe fn room<T: Growing>(place: *const T) -> Result<usize, c_int> {
    if place.is_null() {
        return Ok(0);
    }
    usable(place)?;
    // SAFETY: 1. the pointer is usable; 2. the caller promises this.
    unsafe { given(place) }
}

/// Fills a struct of the caller that has `room` bytes. Its size field becomes the number of bytes
/// that were filled.
///
/// # Safety
/// [`room`] has returned the number `room` for `place`, and that many bytes may be written there.
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

/// Sets a caller's struct of `size` bytes to its defaults. Bytes after the fields that we know
/// become 0.
///
/// # Safety
/// `place` is null, or `size` bytes there may be written.
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
