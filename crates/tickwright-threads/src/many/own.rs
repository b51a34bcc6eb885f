//! What C, C++ and Rust keep for each kernel thread, and each M:N thread has of its own.
//!
//! A thread that leaves its stack takes these with it, and finds them again when it goes on. They
//! are `errno`, the C++ exceptions that it has caught or is throwing, and Rust's count of panics.
//! Kernel threads that run contexts (the portable back end) have their own anyway.

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
use crate::stack::{Mapping, in_pages};

/// What the C++ runtime keeps for each kernel thread: `__cxa_eh_globals` of the Itanium ABI.
#[repr(C)]
#[derive(Clone, Copy)]
struct Exceptions {
    /// Those caught, the innermost first. Each catch block that runs has one here.
    caught: *mut c_void,
    /// How many are thrown and not caught yet.
    uncaught: c_uint,
    /// Those whose clean-ups run.
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

    // A word that the linker fills: with the function's address where the program has a C++
    // runtime, also a static one, else with 0.
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
        // SAFETY: 1. A word of ours that the linker has filled with 0 or a function of this type,
        // and that nobody writes.
        unsafe { LINKED }
    }
}

#[cfg(not(all(unix, not(target_vendor = "apple"), not(miri))))]
mod weak {
    pub(super) fn linked() -> Option<super::GetGlobals> {
        None
    }
}

/// The function that finds a kernel thread's C++ exceptions; `None`: there is no C++ runtime.
fn get_globals() -> Option<GetGlobals> {
    weak::linked().or_else(|| {
        // A runtime that only a library of the program needs, or that was loaded later.
        // SAFETY: 1. The text ends with a zero byte.
        let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"__cxa_get_globals".as_ptr()) };
        // SAFETY: 1. Null, or the function of this name, whose type the ABI says.
        unsafe { core::mem::transmute::<*mut c_void, Option<GetGlobals>>(found) }
    })
}

/// Where a kernel thread has these. Null: nowhere.
#[derive(Clone, Copy, Debug)]
pub(super) struct Places {
    errno: *mut c_int,
    exceptions: *mut Exceptions,
}

/// A thread's own, while others run.
pub(super) struct Saved {
    errno: c_int,
    exceptions: Exceptions,
}

impl Places {
    /// Nothing is saved.
    pub(super) const NONE: Self = Self { errno: core::ptr::null_mut(), exceptions: core::ptr::null_mut() };

    /// Those of the calling kernel thread.
    pub(super) fn current() -> Self {
        let exceptions = match get_globals() {
            // SAFETY: 1. A function of the C++ runtime that every thread may call at any time.
            Some(get) => unsafe { get() },
            None => core::ptr::null_mut(),
        };
        Self { errno: errno(), exceptions }
    }

    /// Takes what is the running thread's; the next one finds no exceptions.
    #[inline(always)]
    pub(super) fn save(&self) -> Saved {
        let mut saved = Saved { errno: 0, exceptions: Exceptions::NONE };
        if !self.errno.is_null() {
            // SAFETY: 1. It belongs to this kernel thread, and lives as long as the thread.
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

    /// Gives it back. Whoever ran meanwhile has taken its exceptions away.
    #[inline(always)]
    pub(super) fn restore(&self, saved: &Saved) {
        if !self.errno.is_null() {
            // SAFETY: 1. It belongs to this kernel thread, and lives as long as the thread.
            unsafe { self.errno.write(saved.errno) };
        }
        if !saved.exceptions.is_none() {
            // SAFETY: 1. As above. 2. Not null: they were read there.
            unsafe { self.exceptions.write(saved.exceptions) };
        }
    }

    /// A thread begins.
    #[inline(always)]
    pub(super) fn reset(&self) {
        if !self.errno.is_null() {
            // SAFETY: 1. It belongs to this kernel thread, and lives as long as the thread.
            unsafe { self.errno.write(0) };
        }
    }
}

// ---- panics

/// A panic that has begun and not ended: a stack in the middle of unwinding itself.
///
/// The standard library counts panics for each kernel thread: one more where a panic begins, one
/// less where it is caught. A debt begins on one kernel thread and may end on another. So the
/// thread that makes a debt counts one more, and the thread that settles it counts one less.
///
/// Worker: counts 1, since thread A unwinds. A waits: the worker settles a debt that another kernel
/// thread has made, and counts 0 while B runs. A goes on: the worker makes a debt, and counts 1.
struct Debt(Coroutine<(), (), (), On>);

// SAFETY: 1. On its stack are functions of the standard library and of the unwinder that wait for a
// function to return. So are a box that is nobody else's, and `Away`. None of them refers to a
// thread.
unsafe impl Send for Debt {}

/// Debts that kernel threads have made which are gone.
/// A child's copies serve as well as the originals.
static DEBTS: OnceBox<ForkLock<Vec<Debt>>> = OnceBox::new();

fn debts() -> impl DerefMut<Target = Vec<Debt>> {
    DEBTS.get_or_init(|| Box::new(ForkLock::new(Order::Leaf, Vec::new(), |_| {}))).lock()
}

/// Enough for an unwinder, whose frames are those of one panic.
const ROOM: usize = 64 << 10;
/// Panics in the middle of panics of one thread, in drops that catch them. No program has this
/// many.
const MOST: usize = 64;

impl Debt {
    /// The calling kernel thread counts one panic more.
    fn make(stack: On) -> Self {
        /// Leaves the stack in the middle of the unwinding.
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

    /// The calling kernel thread counts one panic less.
    fn settle(mut self) -> On {
        let _ = self.0.resume(());
        self.0.into_stack()
    }

    /// One that is there, or that another kernel thread makes.
    fn anyones() -> Option<Self> {
        let kept = debts().pop();
        kept.or_else(|| {
            let stack = On::new(Mapping::new(in_pages(ROOM), in_pages(ROOM)).ok()?);
            let maker = thread::Builder::new().stack_size(ROOM).spawn(move || Self::make(stack));
            maker.ok()?.join().ok()
        })
    }
}

/// The panics of a thread that waits in the middle of them.
pub(super) struct Panics(Vec<On>);

impl Panics {
    /// Takes the count of panics from the calling kernel thread, which counts none from now on.
    /// Returns `None` and changes nothing if the platform has no other thread or no stack.
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

    /// It counts them again.
    pub(super) fn restore(self) {
        for stack in self.0 {
            let debt = Debt::make(stack);
            debts().push(debt);
        }
    }
}
