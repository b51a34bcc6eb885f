//! The calls that wait in an object, so that a destruction of the object is refused meanwhile.

use core::sync::atomic::{AtomicUsize, Ordering};

/// The number of calls that wait in an object. Only a call that waits writes it, so a call that
/// need not wait pays nothing.
#[derive(Debug)]
pub(crate) struct Waits(AtomicUsize);

/// A call that waits, until this is dropped.
pub(crate) struct Wait<'w>(&'w AtomicUsize);

impl Waits {
    pub(crate) const fn none() -> Self {
        Self(AtomicUsize::new(0))
    }

    /// Counts a call that is about to wait.
    pub(crate) fn begin(&self) -> Wait<'_> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Wait(&self.0)
    }

    /// Whether a call waits, or has been woken and has not returned yet.
    pub(crate) fn any(&self) -> bool {
        // Acquire: what a call did to the object before it ended is visible to its destroyer.
        self.0.load(Ordering::Acquire) != 0
    }
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}
