//! What threads share of a hook: its owner word and the cell of its record. Under `cfg(loom)` both
//! are loom's, so that the models of `tickwright-core` and `tickwright-collections` drive the
//! shipped functions.

#[cfg(not(loom))]
use core::{cell::UnsafeCell, sync::atomic::AtomicU32};
#[cfg(loom)]
use loom::{cell::UnsafeCell, sync::atomic::AtomicU32};

use core::sync::atomic::Ordering;

/// Whose a node is.
pub(super) struct OwnerWord(AtomicU32);

impl OwnerWord {
    const_unless_loom! {
        pub(super) const fn free() -> Self {
            Self(AtomicU32::new(0))
        }
    }

    #[inline]
    pub(super) fn load(&self, order: Ordering) -> u32 {
        self.0.load(order)
    }

    #[inline]
    pub(super) fn store(&self, owner: u32, order: Ordering) {
        self.0.store(owner, order);
    }

    /// Makes `owner` the owner of a free node. The error is the owner that it has.
    #[inline]
    pub(super) fn take(&self, owner: u32) -> Result<(), u32> {
        #[cfg(all(target_has_atomic = "32", not(tickwright_no_cas)))]
        return self.0.compare_exchange(0, owner, Ordering::Acquire, Ordering::Relaxed).map(|_| ());
        #[cfg(not(all(target_has_atomic = "32", not(tickwright_no_cas))))]
        return undivided(|| match self.load(Ordering::Acquire) {
            0 => {
                self.store(owner, Ordering::Relaxed);
                Ok(())
            }
            other => Err(other),
        });
    }

    /// The word, where nobody shares it.
    #[inline]
    pub(super) fn exclusive(&mut self) -> u32 {
        #[cfg(not(loom))]
        return *self.0.get_mut();
        #[cfg(loom)]
        return self.0.with_mut(|owner| *owner);
    }
}

/// Runs `step` as one step, where the target has no compare-exchange. The critical section is the
/// program's. Without it hooks are not shared, so nothing can come between.
#[cfg(not(all(target_has_atomic = "32", not(tickwright_no_cas))))]
#[inline]
pub(super) fn undivided<R>(step: impl FnOnce() -> R) -> R {
    #[cfg(feature = "critical-section")]
    return critical_section::with(|_| step());
    #[cfg(not(feature = "critical-section"))]
    return step();
}

/// A record that is reached by a thread that may reach it. It tells a model when it is read and
/// written.
pub(super) struct RecordCell<R>(UnsafeCell<R>);

impl<R> RecordCell<R> {
    const_unless_loom! {
        pub(super) const fn new(record: R) -> Self {
            Self(UnsafeCell::new(record))
        }
    }

    /// Where to read.
    #[inline]
    pub(super) fn read(&self) -> *const R {
        #[cfg(not(loom))]
        return self.0.get();
        #[cfg(loom)]
        return self.0.with(|record| record);
    }

    /// Where to write.
    #[inline]
    pub(super) fn write(&self) -> *mut R {
        #[cfg(not(loom))]
        return self.0.get();
        #[cfg(loom)]
        return self.0.with_mut(|record| record);
    }
}
