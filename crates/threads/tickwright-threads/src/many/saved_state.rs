//! The state that C, C++ and Rust keep for each kernel thread. Each M:N thread needs its own copy.
//!
//! This state is saved when a thread leaves its stack, and restored when the thread continues. It
//! consists of `errno`, the C++ exceptions that the thread has caught or is throwing, and Rust's
//! count of panics. In the portable back end each context is a kernel thread, and therefore already
//! has its own copy of this state.

use core::ffi::{c_int, c_uint, c_void};
use core::ops::DerefMut;
use core::panic::AssertUnwindSafe;
use std::panic::{catch_unwind, resume_unwind};
use std::thread;

use corosensei::{Coroutine, Yielder};
use once_cell::race::OnceBox;
use tickwright::fork::{ForkLock, Order};

use super::context::On;
use crate::errno::errno;
use crate::mapping::Mapping;
use crate::stack::in_pages;

/// The state that the C++ runtime keeps for each kernel thread: `__cxa_eh_globals` of the Itanium
/// ABI.
#[repr(C)]
#[derive(Clone, Copy)]
struct Exceptions {
    /// The caught exceptions, beginning with the innermost. There is one for each catch block that
    /// is running.
    caught: *mut c_void,
    /// The number of exceptions that were thrown and are not caught yet.
    uncaught: c_uint,
    /// The exceptions whose clean-ups are running.
    #[cfg(target_arch = "arm")]
    propagating: *mut c_void,
}

impl Exceptions {
    const NONE: Self = Self {
        caught: core::ptr::null_mut(),
        uncaught: 0,
        #[cfg(target_arch = "arm")]
        propagating: core::ptr::null_mut(),
    };

    #[inline(always)]
    fn is_none(&self) -> bool {
        #[cfg(target_arch = "arm")]
        if !self.propagating.is_null() {
            return false;
        }
        self.caught.is_null() && self.uncaught == 0
    }
}

type GetGlobals = unsafe extern "C" fn() -> *mut Exceptions;

#[cfg(all(unix, not(target_vendor = "apple"), not(miri)))]
mod weak {
    use super::GetGlobals;

    // A word into which the linker writes the function's address if the program links a C++
    // runtime, even statically, and 0 otherwise.
    core::arch::global_asm!(
        ".pushsection .data.rel.ro.tickwright_threads,\"aw\"",
        ".balign {size}",
        ".weak __cxa_get_globals",
        ".globl tickwright_threads_cxa_get_globals",
        ".hidden tickwright_threads_cxa_get_globals",
        "tickwright_threads_cxa_get_globals:",
        ".{size}byte __cxa_get_globals",
        ".popsection",
        size = const size_of::<usize>(),
    );

    unsafe extern "C" {
        #[link_name = "tickwright_threads_cxa_get_globals"]
        static LINKED: Option<GetGlobals>;
    }

    pub(super) fn linked() -> Option<GetGlobals> {
        // SAFETY: 1. The word is ours, and nobody writes it. The linker has filled it with 0 or the
        // address of a function of this type.
        unsafe { LINKED }
    }
}

#[cfg(not(all(unix, not(target_vendor = "apple"), not(miri))))]
mod weak {
    pub(super) fn linked() -> Option<super::GetGlobals> {
        None
    }
}

/// Returns the function that returns the C++ exceptions of the calling kernel thread, or `None` if
/// there is no C++ runtime.
fn get_globals() -> Option<GetGlobals> {
    weak::linked().or_else(|| {
        // This finds a C++ runtime that only a library of the program needs, or that was loaded
        // later. SAFETY: 1. The text ends with a zero byte.
        let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"__cxa_get_globals".as_ptr()) };
        // SAFETY: 1. The pointer is null or the function of this name, whose type the ABI defines.
        unsafe { core::mem::transmute::<*mut c_void, Option<GetGlobals>>(found) }
    })
}

/// The addresses at which a kernel thread has this state. An address is null if the platform has no
/// such state.
#[derive(Clone, Copy, Debug)]
pub(super) struct Places {
    errno: *mut c_int,
    exceptions: *mut Exceptions,
}

/// The saved state of a thread, while other threads run.
pub(super) struct Saved {
    errno: c_int,
    exceptions: Exceptions,
}

impl Places {
    /// A saved state without contents.
    pub(super) const NONE: Self = Self { errno: core::ptr::null_mut(), exceptions: core::ptr::null_mut() };

    /// Returns the addresses for the calling kernel thread.
    pub(super) fn current() -> Self {
        let exceptions = match get_globals() {
            // SAFETY: 1. Every thread may call this function of the C++ runtime at any time.
            Some(get) => unsafe { get() },
            None => core::ptr::null_mut(),
        };
        Self { errno: errno(), exceptions }
    }

    /// Saves the state of the running thread, and clears the exceptions, so that the next thread
    /// has none.
    #[inline(always)]
    pub(super) fn save(&self) -> Saved {
        let mut saved = Saved { errno: 0, exceptions: Exceptions::NONE };
        if !self.errno.is_null() {
            // SAFETY: 1. The memory belongs to this kernel thread, and lives as long as the thread.
            saved.errno = unsafe { self.errno.read() };
        }
        if !self.exceptions.is_null() {
            // SAFETY: as above.
            saved.exceptions = unsafe { self.exceptions.read() };
            if !saved.exceptions.is_none() {
                // SAFETY: as above.
                unsafe { self.exceptions.write(Exceptions::NONE) };
            }
        }
        saved
    }

    /// Restores the state of a thread that continues. The threads that ran in between have saved
    /// their own exceptions.
    #[inline(always)]
    pub(super) fn restore(&self, saved: &Saved) {
        if !self.errno.is_null() {
            // SAFETY: 1. The memory belongs to this kernel thread, and lives as long as the thread.
            unsafe { self.errno.write(saved.errno) };
        }
        if !saved.exceptions.is_none() {
            // SAFETY: 1. As above. 2. The address is not null: the exceptions were read from there.
            unsafe { self.exceptions.write(saved.exceptions) };
        }
    }

    /// Resets the state for a thread that begins.
    #[inline(always)]
    pub(super) fn reset(&self) {
        if !self.errno.is_null() {
            // SAFETY: 1. The memory belongs to this kernel thread, and lives as long as the thread.
            unsafe { self.errno.write(0) };
        }
    }
}

// ---- panics

/// A panic that has begun and not ended. It is a stack that was paused while it unwound.
///
/// The standard library counts panics for each kernel thread: it adds 1 when a panic begins, and
/// subtracts 1 when it is caught. The panic of a debt begins on one kernel thread and can be caught
/// on another. Making a debt therefore adds 1 to the count of the calling kernel thread, and
/// settling a debt subtracts 1 from it.
///
/// Example: thread A unwinds, so the count of its worker is 1. When A waits, the worker settles a
/// debt that another kernel thread has made, so that the worker's count is 0 while thread B runs.
/// When A continues, the worker makes a debt, and its count is 1 again.
struct Debt(Coroutine<(), (), (), On>);

// SAFETY: 1. Its stack holds frames of the standard library and of the unwinder that wait for a
// call to return. It also holds a box that nobody else uses, and `Away`. None of them refers to a
// thread.
unsafe impl Send for Debt {}

/// Debts made by kernel threads that have ended. In a forked child the copies of these debts can be
/// used like the originals.
static DEBTS: OnceBox<ForkLock<Vec<Debt>>> = OnceBox::new();

fn debts() -> impl DerefMut<Target = Vec<Debt>> {
    DEBTS.get_or_init(|| Box::new(ForkLock::new(Order::Leaf, Vec::new(), |_| {}))).lock()
}

/// The size of a debt's stack in bytes, which is enough for an unwinder with the frames of one
/// panic.
const ROOM: usize = 64 << 10;
/// The largest number of nested panics in one thread, where each panic happens in a drop that
/// catches it. Real programs do not reach this number.
const MOST: usize = 64;

impl Debt {
    /// Adds 1 to the calling kernel thread's count of panics.
    fn make(stack: On) -> Self {
        /// A value whose drop pauses the stack in the middle of the unwinding.
        struct Away<'w>(&'w Yielder<(), ()>);
        impl Drop for Away<'_> {
            fn drop(&mut self) {
                self.0.suspend(());
            }
        }

        let mut stack = Coroutine::with_stack(stack, |way: &Yielder<(), ()>, ()| {
            let panic = AssertUnwindSafe(|| {
                let _away = Away(way);
                resume_unwind(Box::new(()));
            });
            let _: Result<(), _> = catch_unwind(panic);
        });
        let _ = stack.resume(());
        Self(stack)
    }

    /// Subtracts 1 from the calling kernel thread's count of panics.
    fn settle(mut self) -> On {
        let _ = self.0.resume(());
        self.0.into_stack()
    }

    /// Takes a debt from the list. If the list is empty, starts another kernel thread, which makes
    /// a debt.
    fn anyones() -> Option<Self> {
        let kept = debts().pop();
        kept.or_else(|| {
            let stack = On::new(Mapping::new(in_pages(ROOM), in_pages(ROOM)).ok()?);
            let maker = thread::Builder::new().stack_size(ROOM).spawn(move || Self::make(stack));
            maker.ok()?.join().ok()
        })
    }
}

/// The panics of a thread that waits while it unwinds.
pub(super) struct Panics(Vec<On>);

impl Panics {
    /// Saves the calling kernel thread's count of panics, and sets the count to 0. If the platform
    /// cannot provide another kernel thread or a stack, returns `None` and changes nothing.
    pub(super) fn save() -> Option<Self> {
        let mut saved = Self(Vec::new());
        while thread::panicking() {
            match Debt::anyones() {
                Some(debt) if saved.0.len() < MOST => saved.0.push(debt.settle()),
                other => {
                    debts().extend(other);
                    saved.restore();
                    return None;
                }
            }
        }
        Some(saved)
    }

    /// Restores the count on the calling kernel thread.
    pub(super) fn restore(self) {
        for stack in self.0 {
            let debt = Debt::make(stack);
            debts().push(debt);
        }
    }
}
