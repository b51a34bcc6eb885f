//! The only place that relies on the header's contract. The bodies of the exported functions get
//! only pointers of the caller, and call this module to borrow their targets. Other crates cannot
//! call it.

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
