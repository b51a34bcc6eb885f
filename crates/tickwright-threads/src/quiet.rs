//! Drops of what users gave us, where a panic has nowhere to go.

use core::panic::AssertUnwindSafe;
use std::panic::catch_unwind;

/// Drops it. A panic of the drop ends here; what that panic carries is dropped too, and kept for
/// ever if its drop panics again.
pub(crate) fn drop_quietly<T>(value: T) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(value)))
        && let Err(next) = catch_unwind(AssertUnwindSafe(|| drop(payload)))
    {
        core::mem::forget(next);
    }
}
