//! What only the inside can set up: given identities, and owner words broken on purpose.

use super::*;
use crate::SortedList;

type Queue<'a> = HookQueue<'a, SortedList, u32>;

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
    // SAFETY: 1. no other queue of this test binary gets there, they count from 1; 2. the lower
    // bits are not 0.
    let queue: Queue<'_> = unsafe { HookQueue::with_identity(NonZeroU32::MAX) };
    assert_eq!(queue.id, PINNED - 1);
}

#[test]
fn check_names_a_wrong_owner_and_a_wrong_count() {
    let timers = [1, 2, 3].map(Timer::new);
    // SAFETY: 1. as above, with the identity below it; 2. it is not 0.
    let mut queue: Queue<'_> =
        unsafe { HookQueue::with_identity(NonZeroU32::MIN.saturating_add(PINNED - 3)) };
    for timer in &timers {
        queue.insert(u64::from(timer.payload), timer).unwrap();
    }
    assert_eq!(queue.check(), Ok(()));
    for wrong in [0, 1] {
        // SAFETY: 1. the check alone runs until it is right again.
        let right = unsafe { timers[1].hook.set_owner(wrong) };
        assert_eq!(queue.check(), Err(Violation::Owner));
        // SAFETY: 1. as above.
        unsafe { timers[1].hook.set_owner(right) };
    }
    for len in [2, 4] {
        queue.len = len;
        assert_eq!(queue.check(), Err(Violation::Count));
    }
    queue.len = 3;
    assert_eq!(queue.check(), Ok(()));
}
