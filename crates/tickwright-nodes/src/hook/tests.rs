//! Identities near their end, and owner words.

#[cfg(all(target_has_atomic = "32", not(tickwright_no_cas)))]
use core::sync::atomic::AtomicBool;
#[cfg(all(target_has_atomic = "32", not(tickwright_no_cas)))]
use std::vec::Vec;

use super::*;

#[cfg(all(target_has_atomic = "32", not(tickwright_no_cas)))]
#[test]
fn identities_end_and_are_never_given_twice() {
    let counter = AtomicU32::new(PINNED - 3);
    assert_eq!(allot(&counter).map(NonZeroU32::get), Some(PINNED - 2));
    assert_eq!(allot(&counter).map(NonZeroU32::get), Some(PINNED - 1));
    for _ in 0..3 {
        assert_eq!(allot(&counter), None);
    }
    assert_eq!(counter.into_inner(), PINNED - 1, "a refusal does not count on");
}

/// Enough draws that threads meet in the middle of one, were it not a single step.
#[cfg(all(target_has_atomic = "32", not(tickwright_no_cas)))]
#[test]
fn threads_draw_different_identities() {
    const ALL: usize = if cfg!(miri) { 200 } else { 2_000_000 };
    let counter = AtomicU32::new(0);
    let drawn: Vec<_> = (0..ALL).map(|_| AtomicBool::new(false)).collect();
    let draw = || {
        while let Some(drawn) = drawn.get(allot(&counter).unwrap().get() as usize) {
            assert!(!drawn.swap(true, Ordering::Relaxed), "drawn twice");
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(draw);
        }
    });
    assert!(drawn.iter().skip(1).all(|drawn| drawn.load(Ordering::Relaxed)));
}

/// A structure without links.
struct Bag;

/// Remembers nothing.
struct Nothing;

impl<P> Record<P> for Nothing
where
    P: Handle,
{
    const IDLE: Self = Self;

    fn vacant(_: Option<P>) -> Self {
        Self
    }

    fn next_vacant(&self) -> Option<P> {
        None
    }
}

// SAFETY: the record holds nothing.
unsafe impl Hooked for Bag {
    type Record<P: Handle> = Nothing;
    const ID: &'static str = "bag";
    const DROPPED: &'static str = "dropped in a bag";
}

#[test]
fn an_owner_word_tells_free_mine_and_anothers() {
    let hook = Hook::<Bag>::new();
    // SAFETY: 1. nothing links the node, and it is released below.
    let claim = |id, pinned| unsafe { hook.claim(id, pinned) };
    for pinned in [0, PINNED] {
        assert_eq!((hook.is_linked(), hook.owner()), (false, 0));
        assert_eq!(claim(5, pinned), Ok(()));
        assert_eq!((hook.is_linked(), hook.owner()), (true, 5));
        assert_eq!((claim(5, 0), claim(5, PINNED)), (Err(Claimed::Here), Err(Claimed::Here)));
        assert_eq!((claim(6, 0), claim(6, PINNED)), (Err(Claimed::Elsewhere), Err(Claimed::Elsewhere)));
        // SAFETY: 1. it was claimed for 5 above; 2. nothing ever held a handle.
        unsafe { hook.release() };
    }
}
