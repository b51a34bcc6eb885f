//! The functions that rely on the header's contract. They check the targets of the pointers that
//! exported functions get from their callers. Other crates cannot call them.

use core::cell::Cell;
use core::ffi::c_int;

use tickwright_boundary::state::{self, Lendable, Shared};

/// Returns the object at `at`, which is ready for use or is being destroyed.
///
/// # Errors
/// [`INVALID`](tickwright_boundary::code::INVALID) if there is no such object.
#[inline]
pub(crate) fn shared<'t, T: Shared>(at: *const T) -> Result<&'t T, c_int> {
    // SAFETY: the header's contract.
    unsafe { state::shared(at) }
}

/// Returns the state of the object at `at`, which is ready for use.
///
/// # Errors
/// [`INVALID`](tickwright_boundary::code::INVALID) if there is no such object,
/// [`BUSY`](tickwright_boundary::code::BUSY) if the object is lent.
pub(crate) fn lendable<'t, T: Lendable>(at: *const T) -> Result<&'t Cell<u64>, c_int> {
    // SAFETY: the header's contract.
    unsafe { state::lendable(at) }
}
