//! Options with which single steps of the M:N model are done in the way of NGPT, so that the costs
//! of both ways can be compared.
#![cfg_attr(not(feature = "testing"), allow(dead_code, unreachable_pub, reason = "all steps are ours"))]

/// Chooses between this library's way and NGPT's way for single steps of a thread's life, with the
/// feature `testing`. Other properties of NGPT are available as settings and attributes: no
/// [guard](super::ManyToMany::guard), no [cached](super::ManyToMany::keep) stacks, and a name for
/// each thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Knobs {
    /// A single lock guards the queues of all workers, instead of a lock for each worker. A thread
    /// that has begun still stays on its worker.
    pub global_queue: bool,
    /// Every switch makes a system call for the signal mask, as `swapcontext` does.
    pub sigmask_per_switch: bool,
    /// A byte in a pipe wakes a sleeping worker, instead of a futex.
    pub pipe_wake: bool,
}

impl Knobs {
    /// This library's way: all knobs are off.
    #[must_use]
    pub const fn ours() -> Self {
        Self { global_queue: false, sigmask_per_switch: false, pipe_wake: false }
    }

    /// NGPT 2.2's way: all knobs are on.
    #[must_use]
    pub const fn ngpt() -> Self {
        Self { global_queue: true, sigmask_per_switch: true, pipe_wake: true }
    }
}
