//! Drops of the user's values, at points where a panic must not unwind.

use core::panic::AssertUnwindSafe;
use std::panic::catch_unwind;

/// Drops it. A panic of the drop is caught, and its payload is dropped too. If that drop panics
/// again, the second payload is never dropped.
pub(crate) fn drop_quietly<T>(value: T) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(value)))
        && let Err(next) = catch_unwind(AssertUnwindSafe(|| drop(payload)))
    {
        core::mem::forget(next);
    }
}
