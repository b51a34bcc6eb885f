use super::*;

/// Returns the address of the calling thread's alternate stack, and whether the thread has one.
fn alternate() -> (usize, bool) {
    let mut now = MaybeUninit::<libc::stack_t>::uninit();
    // SAFETY: 1. The call changes nothing, and fills `now` when it returns 0.
    assert_eq!(unsafe { libc::sigaltstack(core::ptr::null(), now.as_mut_ptr()) }, 0);
    // SAFETY: 1. Filled.
    let now = unsafe { now.assume_init() };
    (now.ss_sp.addr(), now.ss_flags & libc::SS_DISABLE == 0)
}

#[test]
fn a_forked_child_takes_no_room_of_its_parents_list() {
    crate::process::this();
    give(take().unwrap());
    // SAFETY: 1. The child calls only the function under test and `_exit`, and does not return.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let made = COUNT.load(Ordering::Relaxed) * ROOMS;
        let code = i32::from(take().is_none_or(|number| (number as usize) < made));
        // SAFETY: 1. The call ends the process and touches nothing else.
        unsafe { libc::_exit(code) };
    }
    assert!(child > 0);
    let mut status = 0;
    // SAFETY: 1. `child` is a child of this process, and nobody else waits for it. 2. `status` may
    // be written.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0, "the child takes a room of its parent");
}

#[test]
fn a_dropped_signal_stack_gives_the_thread_back_the_one_before() {
    let before = alternate();
    let stack = SignalStack::of_thread(1 << 16).unwrap();
    let own = alternate();
    assert!(own.1 && own.0 != before.0);
    drop(stack);
    assert_eq!(alternate(), before);
}
