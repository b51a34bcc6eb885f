//! Tests the last identities before they are used up, and owner words.

#[cfg(any(feature = "critical-section", all(target_has_atomic = "32", not(tickwright_no_cas))))]
use core::sync::atomic::AtomicBool;
#[cfg(any(feature = "critical-section", all(target_has_atomic = "32", not(tickwright_no_cas))))]
use std::vec::Vec;

use super::*;

#[cfg(any(feature = "critical-section", all(target_has_atomic = "32", not(tickwright_no_cas))))]
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

/// Draws so many identities that two threads would get the same identity if a draw were not atomic.
#[cfg(any(feature = "critical-section", all(target_has_atomic = "32", not(tickwright_no_cas))))]
#[test]
#[cfg_attr(target_family = "wasm", ignore = "no threads")]
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

/// A record that stores nothing.
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

/// Threads claim the same hook again and again, and at most one thread owns it at a time.
#[cfg(any(feature = "critical-section", all(target_has_atomic = "32", not(tickwright_no_cas))))]
#[test]
#[cfg_attr(target_family = "wasm", ignore = "no threads")]
fn threads_never_claim_a_hook_together() {
    const ROUNDS: u32 = if cfg!(miri) { 50 } else { 50_000 };
    let hook = Hook::<Bag>::new();
    let inside = AtomicBool::new(false);
    let claims = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for id in 1..=4 {
            let (hook, inside, claims) = (&hook, &inside, &claims);
            scope.spawn(move || {
                for _ in 0..ROUNDS {
                    // SAFETY: 1. the identity is this thread's; nothing links the node, and it is
                    // released below.
                    if unsafe { hook.claim(id, 0) }.is_ok() {
                        assert!(!inside.swap(true, Ordering::Relaxed), "claimed twice");
                        claims.fetch_add(1, Ordering::Relaxed);
                        inside.store(false, Ordering::Relaxed);
                        // SAFETY: 1. it was claimed above; 2. nothing ever held a handle.
                        unsafe { hook.release() };
                    }
                }
            });
        }
    });
    assert!(claims.into_inner() > 0 && !hook.is_linked());
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
