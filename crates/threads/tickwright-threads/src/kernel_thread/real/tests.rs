//! Tests of which thread owns a place, before and after a fork.

use super::{Place, mine};

fn number() -> Option<u32> {
    mine().map(|place: &Place| place.number)
}

#[test]
fn a_thread_keeps_its_place_until_it_ends() {
    let own = number();
    assert!(own.is_some());
    assert_eq!(number(), own);
    let another = std::thread::spawn(number).join().unwrap();
    assert_ne!(another, own);
}

/// The child needs a new place, because a waker can hold the lock of the old place when the parent
/// forks. The child takes no place from the parent's list of free places, because another thread
/// can have changed the list during the fork.
#[test]
#[cfg(unix)]
fn a_forked_child_waits_at_another_place() {
    use super::{FRESH, Ordering};

    crate::process::this();
    let own = number();
    let freed = std::thread::spawn(number).join().unwrap();
    let fresh = FRESH.load(Ordering::Relaxed);
    assert!(freed.is_some_and(|freed| freed < fresh));
    // SAFETY: 1. The child calls only the function under test and `_exit`, and does not return.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let code = i32::from(number().is_none_or(|number| number < fresh));
        // SAFETY: 1. The call ends the process and touches nothing else.
        unsafe { libc::_exit(code) };
    }
    assert!(child > 0);
    let mut status = 0;
    // SAFETY: 1. `child` is a child of this process, and nobody else waits for it. 2. `status` may
    // be written.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0, "the child waits at a place of its parent");
    assert_eq!(number(), own);
}
