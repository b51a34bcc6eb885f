//! The header's contract, said once: what is inside the exported functions gets pointers of the
//! caller's alone, and asks here what they point to. Nothing of this leaves the crate.

use core::ffi::c_int;

use tickwright_boundary::state::{self, Shared};

/// Something that may be used, or is being destroyed.
///
/// # Errors
/// [`INVALID`](tickwright_boundary::code::INVALID) where none is.
pub(crate) fn shared<'t, T: Shared>(at: *const T) -> Result<&'t T, c_int> {
    // SAFETY: the header's contract.
    unsafe { state::shared(at) }
}
