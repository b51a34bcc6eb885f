//! The header's contract, in one place. The exported functions get pointers from the caller. The
//! functions here check what the pointers refer to, and are private to the crate.

use core::cell::Cell;
use core::ffi::c_int;

use tickwright_boundary::state::{self, Lendable};

use crate::handle::tw_sched;

/// Returns the scheduler at `at`, which may be used or is being destroyed.
///
/// # Errors
/// [`INVALID`](tickwright_boundary::code::INVALID) if no scheduler is there.
#[inline]
pub(crate) fn shared<'t>(at: *const tw_sched) -> Result<&'t tw_sched, c_int> {
    // SAFETY: the header's contract.
    let sched = unsafe { state::shared(at) }?;
    #[cfg(debug_assertions)]
    sched.check_thread();
    Ok(sched)
}

/// Returns the state of the object at `at`, which may be used.
///
/// # Errors
/// [`INVALID`](tickwright_boundary::code::INVALID) if no such object is there,
/// [`BUSY`](tickwright_boundary::code::BUSY) if the object is lent.
pub(crate) fn lendable<'t, T: Lendable>(at: *const T) -> Result<&'t Cell<u64>, c_int> {
    // SAFETY: the header's contract.
    unsafe { state::lendable(at) }
}
