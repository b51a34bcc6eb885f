//! Tests of the join word, one step at a time.

use super::{ALIVE, Claim, Detached, JoinWord, Leaves};
use crate::error::JoinError;
use crate::primitive::AtomicU64;

#[test]
fn generations_end_and_are_never_given_twice() {
    let word = JoinWord(AtomicU64::new(u64::from(u32::MAX - 1) << 32));
    assert_eq!(word.issue(false), Some(u32::MAX));
    word.finish();
    word.release();
    assert_eq!(word.issue(false), None);
    assert!(!word.exists(u32::MAX));
}

#[test]
fn nobody_exists_before_the_first() {
    let word = JoinWord::new();
    assert!(!word.exists(0) && !word.exists(1));
    assert!(matches!(word.claim(0, false), Err(JoinError::NoSuchThread)));
    assert_eq!(word.issue(true), Some(1));
    assert_eq!(word.0.load(core::sync::atomic::Ordering::Relaxed) & ALIVE, ALIVE);
    assert!(matches!(word.claim(1, false), Err(JoinError::NotJoinable)), "detached");
    assert_eq!(word.finish(), Leaves::Detached);
}

#[test]
fn a_claim_is_exclusive_until_it_is_withdrawn() {
    let word = JoinWord::new();
    word.issue(false);
    assert!(matches!(word.claim(1, true), Err(JoinError::Busy)));
    assert_eq!(word.claim(1, false).ok(), Some(Claim::Running));
    assert!(matches!(word.claim(1, false), Err(JoinError::NotJoinable)));
    assert!(matches!(word.detach(1), Err(JoinError::NotJoinable)));
    assert_eq!(word.expect(1), Claim::Running);
    assert_eq!(word.withdraw(1), Claim::Running);
    assert_eq!(word.finish(), Leaves::ToJoiner, "nobody waits any more");
    assert_eq!(word.claim(1, true).ok(), Some(Claim::Finished));
    assert_eq!(word.withdraw(1), Claim::Finished, "too late");
    assert_eq!(word.expect(1), Claim::Finished);
}

#[test]
fn a_thread_is_detached_from_the_start_or_later() {
    let word = JoinWord::new();
    word.issue(true);
    assert!(word.is_detached(1) && !word.is_detached(2));
    word.finish();
    word.release();
    word.issue(false);
    assert!(!word.is_detached(1) && !word.is_detached(2));
    assert_eq!(word.detach(2).ok(), Some(Detached::Running));
    assert!(word.is_detached(2));
}

#[test]
fn a_panic_is_the_detachers_once_the_thread_has_left_it() {
    let word = JoinWord::new();
    word.issue(false);
    assert!(word.settle(1));
    assert_eq!(word.detach(1).ok(), Some(Detached::Left));
    assert_eq!(word.finish(), Leaves::ToJoiner, "it is taken still");
    assert!(word.taken(), "the second of the two releases");
    word.release();

    word.issue(false);
    assert!(word.settle(2));
    assert_eq!(word.detach(2).ok(), Some(Detached::Left));
    assert!(!word.taken());
    assert_eq!(word.finish(), Leaves::Detached);
    word.release();

    word.issue(false);
    assert_eq!(word.detach(3).ok(), Some(Detached::Running));
    assert!(!word.settle(3), "the thread takes it back");
    assert_eq!(word.finish(), Leaves::Detached);
}
