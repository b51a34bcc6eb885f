//! A stack that can be left in the middle and gone back to.
//!
//! Two back ends: the switch proper, and one that every platform and every checker can follow. In
//! the second one each stack is a kernel thread, and a baton says which of them goes on. All that
//! is above uses [`Context`] and [`pause()`] alone.

mod baton;
mod pause;

use corosensei::stack::valgrind::ValgrindStackRegistration;
use corosensei::stack::{Stack, StackPointer};
use corosensei::{Coroutine, Yielder};

use self::baton::{Baton, Threaded};
pub(super) use self::pause::{PORTABLE_STACK, Pause, Way};
use crate::stack::Mapping;

/// A mapping as the switch wants it.
pub(super) struct On {
    mapping: Mapping,
    /// So that valgrind knows a change of stacks when it sees one.
    _known: ValgrindStackRegistration,
}

// SAFETY: 1. It holds plain memory, and the number by which valgrind knows that memory. The thread
// that runs on the stack is not in it.
unsafe impl Send for On {}

impl On {
    pub(super) fn new(mapping: Mapping) -> Self {
        let stack = mapping.stack();
        let known =
            ValgrindStackRegistration::new(core::ptr::without_provenance_mut(stack.start), stack.len());
        Self { mapping, _known: known }
    }
}

/// The ends of the mapping, guard included.
fn pointer(address: usize) -> StackPointer {
    // No mapping starts or ends at 0.
    StackPointer::new(address).unwrap_or(StackPointer::MIN)
}

// SAFETY: 1. The mapping is readable and writable between the guard and its end, and is ours as
// long as it is not dropped. 2. Its ends are those of pages, hence aligned. 3. It holds at least
// LEAST_STACK bytes. 4. The guard is the user's choice: without one, the user answers for
// overflows, as with the platform's threads.
unsafe impl Stack for On {
    fn base(&self) -> StackPointer {
        pointer(self.mapping.stack().end)
    }

    fn limit(&self) -> StackPointer {
        pointer(self.mapping.guard().start)
    }
}

/// A stack and what runs on it. `main` is called on it at the first resume; when it returns, the
/// context is done.
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

    /// Goes on there until it pauses. `None`: it has returned. Not to be called again then.
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
/// `way` is that of the calling stack, and it is portable or not as that is.
#[inline(always)]
pub(super) unsafe fn pause(way: Way, portable: bool, why: Pause) {
    if portable {
        // SAFETY: 1. Of this type, says the caller, and held on the calling stack as long as `main`
        // runs there.
        unsafe { &*way.cast::<Baton>() }.pause(why);
    } else {
        // SAFETY: 1. The caller promises that it has this type. 2. It lives on the calling stack as
        // long as `main` runs there.
        unsafe { &*way.cast::<Yielder<(), Pause>>() }.suspend(why);
    }
}
