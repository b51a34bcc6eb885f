//! Allocations that can fail. The standard library ends the process if there is no memory for a box
//! or a counted value, but the creation of a thread must not end the process.

use core::fmt;
use core::mem::MaybeUninit;
use core::ops::Deref;
use core::ptr::NonNull;

use crate::primitive::{AtomicUsize, Ordering, fence};

#[cfg(all(test, loom))]
mod models;

/// Moves the value into a box. Returns the value if there is no memory.
pub(crate) fn try_box<T>(value: T) -> Result<Box<T>, T> {
    let mut one = Vec::new();
    if one.try_reserve_exact(1).is_err() {
        return Err(value);
    }
    one.push(value);
    let one = Box::into_raw(one.into_boxed_slice());
    // SAFETY: 1. The pointer is from a box of a slice of one element, which has the layout of the
    // element. 2. That box has given it up.
    Ok(unsafe { Box::from_raw(one.cast::<T>()) })
}

/// Allocates room for a value.
pub(crate) fn try_room<T>() -> Option<Box<MaybeUninit<T>>> {
    try_box(MaybeUninit::uninit()).ok()
}

/// Returns a copy of the text.
pub(crate) fn try_text(text: &str) -> Option<Box<str>> {
    let mut copy = String::new();
    copy.try_reserve_exact(text.len()).ok()?;
    copy.push_str(text);
    Some(copy.into_boxed_str())
}

/// Returns whether `bytes` can be allocated now. The function frees the memory again, so the next
/// allocations of the calling thread can use it.
pub(crate) fn is_there(bytes: usize) -> bool {
    Vec::<u8>::new().try_reserve_exact(bytes).is_ok()
}

/// A value with several owners. The last owner drops it.
pub(crate) struct Counted<T>(NonNull<Inner<T>>);

struct Inner<T> {
    owners: AtomicUsize,
    value: T,
}

// SAFETY: 1. Owners on several threads share the value by reference, and the last one drops it on
// its own thread. So the value must be `Send` and `Sync`.
unsafe impl<T: Send + Sync> Send for Counted<T> {}
// SAFETY: 1. As above. 2. From a reference to an owner another owner can be made.
unsafe impl<T: Send + Sync> Sync for Counted<T> {}

impl<T> Counted<T> {
    /// Creates the first owner of a value. Returns the value if there is no memory.
    pub(crate) fn try_new(value: T) -> Result<Self, T> {
        match try_box(Inner { owners: AtomicUsize::new(1), value }) {
            Ok(inner) => Ok(Self(NonNull::from(Box::leak(inner)))),
            Err(inner) => Err(inner.value),
        }
    }

    fn inner(&self) -> &Inner<T> {
        // SAFETY: 1. The pointer is from a box, which lives as long as it has an owner, and this is
        // one.
        unsafe { self.0.as_ref() }
    }
}

impl<T> Clone for Counted<T> {
    fn clone(&self) -> Self {
        // The count cannot overflow, because each owner takes more than a byte of memory.
        self.inner().owners.fetch_add(1, Ordering::Relaxed);
        Self(self.0)
    }
}

impl<T> Deref for Counted<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.inner().value
    }
}

impl<T> Drop for Counted<T> {
    fn drop(&mut self) {
        if self.inner().owners.fetch_sub(1, Ordering::Release) == 1 {
            fence(Ordering::Acquire);
            // SAFETY: 1. From `Box::leak`. 2. There is no other owner, and everything that other
            // owners did with the value happened before.
            drop(unsafe { Box::from_raw(self.0.as_ptr()) });
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for Counted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
