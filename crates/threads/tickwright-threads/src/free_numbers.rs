//! A list of free numbers. It has no lock, because a lock that another thread holds at a fork would
//! stay locked forever in the child.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Stands for no number, which is the end of the list.
pub(crate) const NONE: u32 = u32::MAX;

/// The lower half is the first free number. The upper half counts the changes, so that a thread
/// notices if the first number was taken and given back since the thread read the word.
pub(crate) struct FreeNumbers(AtomicU64);

/// Returns the word that follows `seen` after one change, with `first` as the first free number.
fn change(seen: u64, first: u32) -> u64 {
    (seen >> 32).wrapping_add(1) << 32 | u64::from(first)
}

impl FreeNumbers {
    pub(crate) const fn new() -> Self {
        Self(AtomicU64::new(NONE as u64))
    }

    /// Takes a number. `next` gets a number, and returns the word in which the next number is
    /// stored, or `None` for [`NONE`].
    pub(crate) fn take(&self, next: impl Fn(u32) -> Option<&'static AtomicU32>) -> Option<u32> {
        let mut seen = self.0.load(Ordering::Acquire);
        while let Some(next) = next(seen as u32) {
            let rest = change(seen, next.load(Ordering::Relaxed));
            match self.0.compare_exchange_weak(seen, rest, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Some(seen as u32),
                Err(now) => seen = now,
            }
        }
        None
    }

    /// Gives a number back. `next` is the word in which the number after it is stored.
    pub(crate) fn give(&self, number: u32, next: &AtomicU32) {
        let mut seen = self.0.load(Ordering::Relaxed);
        loop {
            next.store(seen as u32, Ordering::Relaxed);
            let with = change(seen, number);
            match self.0.compare_exchange_weak(seen, with, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => seen = now,
            }
        }
    }

    /// Empties the list in a forked child. A fork copies the memory page by page while other
    /// threads take and give numbers, so the child's copy of the list can contain a number twice.
    pub(crate) fn forget(&self) {
        self.0.store(NONE.into(), Ordering::Relaxed);
    }
}
