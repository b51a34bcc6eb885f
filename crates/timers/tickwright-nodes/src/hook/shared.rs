//! The parts of a hook that threads share: its owner word and the cell of its record. Under
//! `cfg(loom)` both use loom's types, so that the models of `tickwright-core` and
//! `tickwright-collections` execute the same functions as programs do.

#[cfg(not(loom))]
use core::{cell::UnsafeCell, sync::atomic::AtomicU32};
#[cfg(loom)]
use loom::{cell::UnsafeCell, sync::atomic::AtomicU32};

use core::sync::atomic::Ordering;

/// The word that names the structure that owns a node.
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

    /// Makes `owner` the owner of a free node. If the node is not free, returns its current owner
    /// as the error.
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

    /// Returns the owner word without an atomic operation, because `&mut self` excludes other
    /// threads.
    #[inline]
    pub(super) fn exclusive(&mut self) -> u32 {
        #[cfg(not(loom))]
        return *self.0.get_mut();
        #[cfg(loom)]
        return self.0.with_mut(|owner| *owner);
    }
}

/// Runs `step` atomically on a target without compare-exchange, in the critical section that the
/// program provides. Without the feature `critical-section`, hooks are not shared, so nothing can
/// interfere with `step`.
#[cfg(not(all(target_has_atomic = "32", not(tickwright_no_cas))))]
#[inline]
pub(super) fn undivided<R>(step: impl FnOnce() -> R) -> R {
    #[cfg(feature = "critical-section")]
    return critical_section::with(|_| step());
    #[cfg(not(feature = "critical-section"))]
    return step();
}

/// The cell of a record. Only the thread that uses the owning structure accesses the cell. In a
/// loom model, the cell reports each read and write to loom.
pub(super) struct RecordCell<R>(UnsafeCell<R>);

impl<R> RecordCell<R> {
    const_unless_loom! {
        pub(super) const fn new(record: R) -> Self {
            Self(UnsafeCell::new(record))
        }
    }

    /// Returns the address of the record, for reading.
    #[inline]
    pub(super) fn read(&self) -> *const R {
        #[cfg(not(loom))]
        return self.0.get();
        #[cfg(loom)]
        return self.0.with(|record| record);
    }

    /// Returns the address of the record, for writing.
    #[inline]
    pub(super) fn write(&self) -> *mut R {
        #[cfg(not(loom))]
        return self.0.get();
        #[cfg(loom)]
        return self.0.with_mut(|record| record);
    }
}
