//! Memory that may be refused. The standard library ends a process that has none for a box or a
//! counted value; a creation must not.

use core::fmt;
use core::mem::MaybeUninit;
use core::ops::Deref;
use core::ptr::NonNull;

use crate::primitive::{AtomicUsize, Ordering, fence};

#[cfg(all(test, loom))]
mod models;

/// The value in a box of its own; the value again if there is no memory.
pub(crate) fn try_box<T>(value: T) -> Result<Box<T>, T> {
    let mut one = Vec::new();
    if one.try_reserve_exact(1).is_err() {
        return Err(value);
    }
    one.push(value);
    let one = Box::into_raw(one.into_boxed_slice());
    // SAFETY: 1. From a box of a slice of one element, which has the layout of the element. 2.
    // Given up by that box.
    Ok(unsafe { Box::from_raw(one.cast::<T>()) })
}

/// Room for a value.
pub(crate) fn try_room<T>() -> Option<Box<MaybeUninit<T>>> {
    try_box(MaybeUninit::uninit()).ok()
}

/// A copy of the text.
pub(crate) fn try_text(text: &str) -> Option<Box<str>> {
    let mut copy = String::new();
    copy.try_reserve_exact(text.len()).ok()?;
    copy.push_str(text);
    Some(copy.into_boxed_str())
}

/// Whether there is so much memory just now. It is given back: the next allocations of the calling
/// thread find it.
pub(crate) fn is_there(bytes: usize) -> bool {
    Vec::<u8>::new().try_reserve_exact(bytes).is_ok()
}

/// A value with several owners, the last of which drops it.
pub(crate) struct Counted<T>(NonNull<Inner<T>>);

struct Inner<T> {
    owners: AtomicUsize,
    value: T,
}

// SAFETY: 1. Owners on several threads share the value by reference, and the last one drops it on
// its own thread. So the value must be `Send` and `Sync`.
unsafe impl<T: Send + Sync> Send for Counted<T> {}
// SAFETY: 1. As above. 2. A reference to an owner makes another owner.
unsafe impl<T: Send + Sync> Sync for Counted<T> {}

impl<T> Counted<T> {
    /// The value again if there is no memory.
    pub(crate) fn try_new(value: T) -> Result<Self, T> {
        match try_box(Inner { owners: AtomicUsize::new(1), value }) {
            Ok(inner) => Ok(Self(NonNull::from(Box::leak(inner)))),
            Err(inner) => Err(inner.value),
        }
    }

    fn inner(&self) -> &Inner<T> {
        // SAFETY: 1. Made from a box, which lives as long as it has an owner: this one.
        unsafe { self.0.as_ref() }
    }

    pub(crate) fn is(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<T> Clone for Counted<T> {
    fn clone(&self) -> Self {
        // There are never so many owners that the count could overflow: each takes more than a
        // byte.
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
            // SAFETY: 1. From `Box::leak`. 2. There is no other owner, and what others have done
            // with the value happened before.
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
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn boxes_of_every_size() {
        assert_eq!(try_box(()), Ok(Box::new(())));
        assert_eq!(try_box(7_u8), Ok(Box::new(7)));
        assert_eq!(try_box([3_u64; 100]), Ok(Box::new([3; 100])));
        assert_eq!(try_text("").as_deref(), Some(""));
        assert_eq!(try_text("name").as_deref(), Some("name"));
        assert!(is_there(1000) && !is_there(usize::MAX / 2));
    }

    #[test]
    fn the_last_owner_drops() {
        let seen = Arc::new(());
        let one = Counted::try_new(Arc::clone(&seen)).unwrap();
        let owners: Vec<_> = (0..8).map(|_| one.clone()).collect();
        assert!(owners.iter().all(|owner| owner.is(&one)));
        drop(one);
        std::thread::scope(|scope| {
            for owner in owners {
                scope.spawn(move || assert_eq!(Arc::strong_count(&owner), 2));
            }
        });
        assert_eq!(Arc::strong_count(&seen), 1);
    }
}
