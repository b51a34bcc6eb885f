use super::*;

/// The address of the calling thread's alternate stack, and whether the thread has one.
fn alternate() -> (usize, bool) {
    let mut now = MaybeUninit::<libc::stack_t>::uninit();
    // SAFETY: 1. The call changes nothing, and fills `now` when it returns 0.
    assert_eq!(unsafe { libc::sigaltstack(core::ptr::null(), now.as_mut_ptr()) }, 0);
    // SAFETY: 1. Filled.
    let now = unsafe { now.assume_init() };
    (now.ss_sp.addr(), now.ss_flags & libc::SS_DISABLE == 0)
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
