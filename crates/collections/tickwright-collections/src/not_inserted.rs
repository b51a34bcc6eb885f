//! An insert that was refused.

use core::fmt;

/// A refused insert. The error returns the value unharmed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct NotInserted<V, E = crate::DictError> {
    /// Why.
    pub reason: E,
    /// The value that the caller wanted to insert.
    pub value: V,
}

/// Shows the reason alone, so that objects need not be `Debug` for an `unwrap`.
impl<V, E: fmt::Debug> fmt::Debug for NotInserted<V, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NotInserted").field("reason", &self.reason).finish_non_exhaustive()
    }
}

impl<V, E: fmt::Display> fmt::Display for NotInserted<V, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.reason.fmt(f)
    }
}

impl<V, E: fmt::Debug + fmt::Display> core::error::Error for NotInserted<V, E> {}
