//! What only the inside can set up: identities near their end, and owner words broken on purpose.

#[cfg(all(target_has_atomic = "32", not(tickwright_no_cas)))]
use core::sync::atomic::AtomicBool;
#[cfg(all(target_has_atomic = "32", not(tickwright_no_cas)))]
use std::vec::Vec;

use super::*;
use crate::SortedList;

type Queue<'a> = HookQueue<'a, SortedList, u32>;

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

#[cfg(not(all(target_has_atomic = "32", not(tickwright_no_cas))))]
#[test]
fn without_compare_exchange_a_queue_needs_an_identity() {
    let timer = Timer::new(1);
    let mut queue = Queue::new();
    let refused = queue.insert(1, &timer).unwrap_err();
    assert_eq!((refused.reason, timer.is_linked()), (Reject::NoIdentity, false));
}

#[test]
fn a_given_identity_loses_its_top_bit() {
    // SAFETY: 1. no other queue of this test binary gets there, they count from 1; 2. the lower bits are not 0.
    let queue: Queue<'_> = unsafe { HookQueue::with_identity(NonZeroU32::MAX) };
    assert_eq!(queue.id, PINNED - 1);
}

#[test]
fn an_owner_word_tells_free_mine_and_anothers() {
    let hook = Hook::<SortedList>::new();
    for pinned in [0, PINNED] {
        assert_eq!(hook.claim(5, pinned), Ok(()));
        assert_eq!(hook.claim(5, 0), Err(Reject::AlreadyLinked));
        assert_eq!(hook.claim(5, PINNED), Err(Reject::AlreadyLinked));
        assert_eq!(hook.claim(6, 0), Err(Reject::WrongQueue));
        assert_eq!(hook.claim(6, PINNED), Err(Reject::WrongQueue));
        hook.release();
    }
}

#[test]
fn check_names_a_wrong_owner_and_a_wrong_count() {
    let timers = [1, 2, 3].map(Timer::new);
    // SAFETY: 1. as above, with the identity below it; 2. it is not 0.
    let mut queue: Queue<'_> =
        unsafe { HookQueue::with_identity(NonZeroU32::MIN.saturating_add(PINNED - 3)) };
    for timer in &timers {
        queue.insert(u64::from(timer.value), timer).unwrap();
    }
    assert_eq!(queue.check(), Ok(()));
    for wrong in [0, 1] {
        let right = timers[1].hook.owner.load(Ordering::Relaxed);
        timers[1].hook.owner.store(wrong, Ordering::Relaxed);
        assert_eq!(queue.check(), Err(Violation::Owner));
        timers[1].hook.owner.store(right, Ordering::Relaxed);
    }
    for len in [2, 4] {
        queue.len = len;
        assert_eq!(queue.check(), Err(Violation::Count));
    }
    queue.len = 3;
    assert_eq!(queue.check(), Ok(()));
}

#[test]
fn references_are_equal_when_they_are_to_one_timer() {
    // Equal values: only the addresses tell them apart.
    let timers = [7, 7].map(Timer::<SortedList, u32>::new);
    let [first, second] = timers.each_ref().map(TimerRef::from);
    assert_eq!(first, TimerRef::from(&timers[0]));
    assert_ne!(first, second);
}
