//! The header's contract, in one place. The exported functions get pointers from the caller, and
//! ask here what the pointers refer to. Nothing of this leaves the crate.

use core::cell::Cell;
use core::ffi::c_int;

use tickwright_boundary::state::{self, Lendable, Shared};

/// Something that may be used, or is being destroyed.
///
/// # Errors
/// [`INVALID`](tickwright_boundary::code::INVALID) where none is.
pub(crate) fn shared<'t, T: Shared>(at: *const T) -> Result<&'t T, c_int> {
    // SAFETY: the header's contract.
    unsafe { state::shared(at) }
}

/// The state of something that may be used.
///
/// # Errors
/// [`INVALID`](tickwright_boundary::code::INVALID) where no such thing is,
/// [`BUSY`](tickwright_boundary::code::BUSY) where one is that is lent.
pub(crate) fn lendable<'t, T: Lendable>(at: *const T) -> Result<&'t Cell<u64>, c_int> {
    // SAFETY: the header's contract.
    unsafe { state::lendable(at) }
}
