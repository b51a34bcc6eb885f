//! A context is a stack that its thread can leave in the middle of a function, and on which it can
//! continue there later.
//!
//! There are two back ends: one switches stacks, and the other is portable, so that every platform
//! and every checker supports it. In the portable back end each stack is the stack of a separate
//! kernel thread, and a baton determines which of these kernel threads runs. The rest of the model
//! uses only [`Context`] and [`pause()`].

mod baton;
mod pause;

use corosensei::stack::valgrind::ValgrindStackRegistration;
use corosensei::stack::{Stack, StackPointer};
use corosensei::{Coroutine, Yielder};

use self::baton::{Baton, Threaded};
pub(super) use self::pause::{PORTABLE_STACK, Pause, Way};
use crate::mapping::Mapping;

/// A mapping that implements the trait which the stack switch requires.
pub(super) struct On {
    mapping: Mapping,
    /// Registers the stack, so that valgrind recognizes a switch of stacks.
    _known: ValgrindStackRegistration,
}

// SAFETY: 1. The value holds plain memory, and valgrind's number for that memory. It does not hold
// the thread that runs on the stack.
unsafe impl Send for On {}

impl On {
    pub(super) fn new(mapping: Mapping) -> Self {
        let stack = mapping.stack();
        let known =
            ValgrindStackRegistration::new(core::ptr::without_provenance_mut(stack.start), stack.len());
        Self { mapping, _known: known }
    }
}

/// Converts the address of one end of a mapping, including the guard.
fn pointer(address: usize) -> StackPointer {
    // No mapping starts or ends at 0.
    StackPointer::new(address).unwrap_or(StackPointer::MIN)
}

// SAFETY: 1. The mapping is readable and writable between the guard and its end, and is ours until
// it is dropped. 2. Its ends are page boundaries, hence aligned. 3. It holds at least LEAST_STACK
// bytes. 4. The guard is the user's choice: without a guard the user answers for overflows, as with
// the platform's threads.
unsafe impl Stack for On {
    fn base(&self) -> StackPointer {
        pointer(self.mapping.stack().end)
    }

    fn limit(&self) -> StackPointer {
        pointer(self.mapping.guard().start)
    }
}

/// A stack and the code that runs on it. The first resume calls `main` on the stack. When `main`
/// returns, the context has ended.
pub(super) enum Context {
    Switched(Coroutine<(), Pause, (), On>),
    Threaded(Threaded),
}

impl Context {
    pub(super) fn new(mapping: Mapping, portable: bool, main: impl FnOnce(Way) + 'static) -> Self {
        if portable {
            return Self::Threaded(Threaded::new(mapping, main));
        }
        let main = |way: &Yielder<(), Pause>, ()| main(core::ptr::from_ref(way).cast());
        Self::Switched(Coroutine::with_stack(On::new(mapping), main))
    }

    /// Runs the code on the stack until it pauses. Returns `None` if `main` has returned. In this
    /// case `resume` must not be called again.
    #[inline]
    pub(super) fn resume(&mut self) -> Option<Pause> {
        match self {
            Self::Switched(stack) => stack.resume(()).as_yield(),
            Self::Threaded(thread) => thread.resume(),
        }
    }

    /// Returns the memory of a context whose thread has ended.
    pub(super) fn into_mapping(self) -> Mapping {
        match self {
            Self::Switched(stack) => stack.into_stack().mapping,
            Self::Threaded(thread) => thread.into_mapping(),
        }
    }
}

/// Leaves the calling stack until it is resumed.
///
/// # Safety
/// `way` belongs to the calling stack, and `portable` is true if and only if that stack is
/// portable.
#[inline(always)]
pub(super) unsafe fn pause(way: Way, portable: bool, why: Pause) {
    if portable {
        // SAFETY: 1. The caller promises that `way` points to a `Baton`. 2. The `Baton` lives on
        // the calling stack as long as `main` runs there.
        unsafe { &*way.cast::<Baton>() }.pause(why);
    } else {
        // SAFETY: 1. The caller promises that `way` points to a `Yielder`. 2. The `Yielder` lives
        // on the calling stack as long as `main` runs there.
        unsafe { &*way.cast::<Yielder<(), Pause>>() }.suspend(why);
    }
}
