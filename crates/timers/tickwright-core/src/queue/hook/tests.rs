//! Tests that need private access: identities that the test chooses, and owner words that the test
//! breaks deliberately.

use super::*;
use crate::SortedList;

type Queue<'a> = HookQueue<'a, SortedList, u32>;

/// Uses statics and an identity that the queue draws, by compare-exchange or in a critical section.
#[cfg(any(feature = "critical-section", all(target_has_atomic = "32", not(tickwright_no_cas))))]
#[test]
fn a_static_queue_draws_an_identity_at_its_first_insert() {
    static TIMER: Timer<SortedList, u32> = Timer::new(1);
    static QUEUE: std::sync::Mutex<Queue<'static>> = std::sync::Mutex::new(Queue::new());
    let mut queue = QUEUE.lock().unwrap();
    let mut other = Queue::new();
    assert_eq!(queue.store.id, 0);
    queue.insert(1, &TIMER).unwrap();
    assert_eq!(other.insert(1, &TIMER).unwrap_err().reason, Reject::WrongQueue);
    assert_eq!(queue.insert(1, &TIMER).unwrap_err().reason, Reject::AlreadyLinked);
    assert!(queue.store.id != 0 && other.store.id != 0 && queue.store.id != other.store.id);
    assert_eq!(queue.pop_expired(1).map(|fired| fired.value.payload), Some(1));
}

#[test]
fn a_given_identity_loses_its_top_bit() {
    // SAFETY: 1. identities count from 1, and no other queue of this test binary reaches this one;
    // 2. the lower bits are not 0.
    let queue: Queue<'_> = unsafe { HookQueue::with_identity(NonZeroU32::MAX) };
    assert_eq!(queue.store.id, PINNED - 1);
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
        // SAFETY: 1. only `check` runs until the owner word is right again.
        let right = unsafe { timers[1].hook.set_owner(wrong) };
        assert_eq!(queue.check(), Err(Violation::Owner));
        // SAFETY: 1. as above.
        unsafe { timers[1].hook.set_owner(right) };
    }
    for len in [2, 4] {
        queue.store.len = len;
        assert_eq!(queue.check(), Err(Violation::Count));
    }
    queue.store.len = 3;
    assert_eq!(queue.check(), Ok(()));
}
