//! The only module that relies on the header's contract. The exported functions get raw pointers
//! from their callers, and call this module to borrow what the pointers point to. Other crates
//! cannot call it.

use core::ffi::c_int;

use tickwright_boundary::state::{self, Shared};

/// Returns an object that is ready for use or is being destroyed.
///
/// # Errors
/// [`INVALID`](tickwright_boundary::code::INVALID) if there is no such object.
pub(crate) fn shared<'t, T: Shared>(at: *const T) -> Result<&'t T, c_int> {
    // SAFETY: the header's contract.
    unsafe { state::shared(at) }
}
