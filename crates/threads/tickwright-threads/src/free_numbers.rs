//! A list of free numbers, without a lock: a forked child could find a lock held for ever.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// No number: the end of the list.
pub(crate) const NONE: u32 = u32::MAX;

/// The lower half is the first free number. The upper half counts the changes, so that a number
/// that was taken and given back meanwhile is recognized.
pub(crate) struct FreeNumbers(AtomicU64);

/// The head with `first` as its number, one change after `seen`.
fn change(seen: u64, first: u32) -> u64 {
    (seen >> 32).wrapping_add(1) << 32 | u64::from(first)
}

impl FreeNumbers {
    pub(crate) const fn new() -> Self {
        Self(AtomicU64::new(NONE as u64))
    }

    /// Takes a number. `next` returns the word that holds the number after a given one, and `None`
    /// for [`NONE`].
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

    /// Gives a number back. `next` is the word that holds the number after it.
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

    /// Called in a forked child. A fork copies the memory page by page, while other threads take
    /// and give numbers. The copy of the list may contain one number twice, so the child forgets
    /// the list.
    pub(crate) fn forget(&self) {
        self.0.store(NONE.into(), Ordering::Relaxed);
    }
}
