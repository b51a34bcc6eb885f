//! A stack that can be left in the middle and gone back to.

use corosensei::stack::{Stack, StackPointer};
use corosensei::{Coroutine, CoroutineResult, Yielder};

use crate::stack::Mapping;

/// Why a thread leaves its stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pause {
    /// It can go on.
    Yielded,
    /// It goes on when it is told to.
    Parked,
    /// Its body has ended. The stack goes on with another body, or ends.
    Ended,
}

/// A mapping as the switch wants it.
struct On(Mapping);

/// The ends of the mapping, guard included.
fn pointer(address: usize) -> StackPointer {
    // No mapping starts or ends at 0.
    StackPointer::new(address).unwrap_or(StackPointer::MIN)
}

// SAFETY: 1. The mapping is readable and writable between the guard and its end, and is ours as long as it is not dropped. 2. Its ends are those of
// pages, hence aligned. 3. It holds at least LEAST_STACK bytes. 4. The guard is the user's choice: without one, the user answers for overflows, as with the
// platform's threads.
unsafe impl Stack for On {
    fn base(&self) -> StackPointer {
        pointer(self.0.stack().end)
    }

    fn limit(&self) -> StackPointer {
        pointer(self.0.guard().start)
    }
}

/// What `pause` needs of the stack that it is called on.
pub(super) type Way = *const Yielder<(), Pause>;

/// A stack and what runs on it. `main` is called on it at the first resume; when it returns, the context is done.
pub(super) struct Context(Coroutine<(), Pause, (), On>);

impl Context {
    pub(super) fn new(mapping: Mapping, main: impl FnOnce(Way) + 'static) -> Self {
        Self(Coroutine::with_stack(On(mapping), |way, ()| main(core::ptr::from_ref(way))))
    }

    /// Goes on there until it pauses. `None`: it has returned, now or before.
    #[inline]
    pub(super) fn resume(&mut self) -> Option<Pause> {
        if self.0.done() {
            return None;
        }
        match self.0.resume(()) {
            CoroutineResult::Yield(why) => Some(why),
            CoroutineResult::Return(()) => None,
        }
    }

    /// The memory of one that is done.
    pub(super) fn into_mapping(self) -> Mapping {
        self.0.into_stack().0
    }
}

/// Leaves the calling stack until it is resumed.
///
/// # Safety
/// `way` is that of the calling stack.
#[inline]
pub(super) unsafe fn pause(way: Way, why: Pause) {
    // SAFETY: 1. It lives on the calling stack as long as `main` runs there, says the caller.
    unsafe { &*way }.suspend(why);
}
