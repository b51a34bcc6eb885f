//! Sections without yields, in which a thread does not yield although it makes counted calls.
//!
//! Only the thread itself, on its worker, uses its value. The value belongs to the thread and not
//! to the worker, because if the thread waits in a section, the other threads of its worker are not
//! in that section.

use crate::primitive::{AtomicU32, Ordering};

/// The number of nested sections in which a thread is, in units of `ONE`, and whether a call in
/// them would have yielded (`DUE`).
pub(crate) struct Section(AtomicU32);

const DUE: u32 = 1;
const ONE: u32 = 2;

impl Section {
    pub(crate) fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// Resets the value, so that the next thread of the record is in no section.
    pub(crate) fn reset(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    fn word(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn begin(&self) {
        self.0.store(self.word().saturating_add(ONE), Ordering::Relaxed);
    }

    /// Ends the innermost section. Returns whether the thread must yield now. If the thread is in
    /// no section, this does nothing.
    pub(crate) fn end(&self) -> bool {
        let word = self.word();
        let is_due = word == ONE | DUE;
        self.0.store(if is_due { 0 } else { word.saturating_sub(ONE) }, Ordering::Relaxed);
        is_due
    }

    /// Returns whether the thread is in a section. If it is, it will yield at the end of the
    /// outermost section.
    pub(crate) fn postpones(&self) -> bool {
        let word = self.word();
        let is_inside = word >= ONE;
        if is_inside {
            self.0.store(word | DUE, Ordering::Relaxed);
        }
        is_inside
    }
}
