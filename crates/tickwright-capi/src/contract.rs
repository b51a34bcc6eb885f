//! The header's contract, said once: what is inside the exported functions gets pointers of the
//! caller's alone, and asks here what they point to. Nothing of this leaves the crate.

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
