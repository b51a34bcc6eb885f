//! Reports stack overflows. When a stack overflows, its thread faults in the guard. Our signal
//! handler then prints the thread's name, and the process aborts. For every other fault, our
//! handler calls the handler that was set before.
//!
//! Our handler runs on an alternate stack that this module has set, a [`SignalStack`]. From the
//! address of this alternate stack the handler finds the thread and its stack. It uses no
//! thread-local variable, because the first use of such a variable on a thread can allocate.

use core::cell::Cell;
use core::ffi::{c_int, c_void};
use core::fmt::{self, Write as _};
use core::mem::MaybeUninit;
use core::ops::Range;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering};
use std::sync::Arc;

use corosensei::on_stack;
use corosensei::stack::{Stack, StackPointer};
use once_cell::race::OnceBox;

use crate::errno::Errno;
use crate::free_numbers::{FreeNumbers, NONE};
use crate::id::ThreadId;
use crate::mapping::{Mapping, Span};
use crate::memory::try_box;

// ---- handlers

/// The handler that a signal had before ours.
struct Before {
    action: OnceBox<libc::sigaction>,
    /// Whether the handler has `SA_RESETHAND`, so that it is called only once, and has already been
    /// called.
    spent: AtomicBool,
}

static BEFORE: [Before; 2] = [const { Before { action: OnceBox::new(), spent: AtomicBool::new(false) } }; 2];
const SIGNALS: [c_int; 2] = [libc::SIGSEGV, libc::SIGBUS];

/// Installs our handlers. If two threads call this at the same time, both install them. Neither
/// thread waits for the other, because a child that is forked during such a wait would wait
/// forever.
pub(crate) fn notice() {
    static DONE: AtomicBool = AtomicBool::new(false);
    if !DONE.load(Ordering::Acquire) {
        for (signal, before) in SIGNALS.into_iter().zip(&BEFORE) {
            notice_one(signal, before);
        }
        DONE.store(true, Ordering::Release);
    }
}

fn notice_one(signal: c_int, before: &Before) {
    let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = fault;
    let mut old = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: 1. The call changes nothing, and fills `old` when it returns 0.
    if unsafe { libc::sigaction(signal, core::ptr::null(), old.as_mut_ptr()) } != 0 {
        return;
    }
    // SAFETY: 1. Filled.
    let old = unsafe { old.assume_init() };
    if old.sa_sigaction == handler as usize {
        return;
    }
    // The old action is stored before our handler can be called.
    let _ = before.action.set(Box::new(old));
    // Our action has the same mask and flags as the old action, except the flag that limits a
    // handler to one call.
    let mut ours = old;
    ours.sa_sigaction = handler as usize;
    ours.sa_flags = (old.sa_flags & !libc::SA_RESETHAND) | libc::SA_SIGINFO | libc::SA_ONSTACK;
    if old.sa_sigaction == libc::SIG_IGN {
        // An ignored signal interrupts no system call, so our handler must not interrupt one
        // either.
        ours.sa_flags |= libc::SA_RESTART;
    }
    // SAFETY: 1. The handler exists for ever, because the shared library is not unloaded. 2. It
    // uses only atomics, words of the interrupted thread, and a try-lock, and its one system call
    // for output is `write`.
    unsafe {
        libc::sigaction(signal, &raw const ours, core::ptr::null_mut());
    }
}

extern "C" fn fault(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let errno = Errno::save();
    // SAFETY: 1. The kernel passes a pointer to the facts about the signal.
    let facts = unsafe { &*info };
    // SAFETY: 1. The kernel passes the context that it has interrupted.
    let interrupted = unsafe { Interrupted::of(context) };
    // A signal that was sent by a program has no address.
    if facts.si_code > 0
        && let Some(watch) = watch_on(&interrupted.alternate)
    {
        // SAFETY: 1. SIGSEGV and SIGBUS have an address.
        let address = unsafe { facts.si_addr() }.addr();
        if watch.is_overflow(address, interrupted.sp) {
            watch.report();
            // SAFETY: 1. The call ends the process, and a handler may make it.
            unsafe { libc::abort() }
        }
    }
    pass_on(signal, info, facts, context, &interrupted);
    errno.restore();
}

/// The state of the code that a signal has interrupted.
struct Interrupted {
    /// The stack pointer, or `None` on platforms where we do not know how to find it.
    sp: Option<usize>,
    /// The thread's alternate stack.
    alternate: Range<usize>,
}

impl Interrupted {
    /// # Safety
    /// `context` is the pointer that the kernel passed to a handler.
    unsafe fn of(context: *mut c_void) -> Self {
        // SAFETY: 1. The kernel gives a context of this type to handlers with `SA_SIGINFO`.
        let context = unsafe { &*context.cast::<libc::ucontext_t>() };
        #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
        let sp = usize::try_from(context.uc_mcontext.gregs[libc::REG_RSP as usize]).ok();
        #[cfg(all(target_os = "linux", target_arch = "aarch64"))]
        let sp = usize::try_from(context.uc_mcontext.sp).ok();
        #[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
        let sp = None;
        let start = context.uc_stack.ss_sp.addr();
        let len =
            if context.uc_stack.ss_flags & libc::SS_DISABLE == 0 { context.uc_stack.ss_size } else { 0 };
        Self { sp, alternate: start..start.saturating_add(len) }
    }

    /// Returns the free part of the interrupted stack, if the handler runs on the alternate stack.
    fn below(&self) -> Option<Below> {
        let sp = self.sp?;
        let here = core::ptr::from_ref(&sp).addr();
        (self.alternate.contains(&here) && !self.alternate.contains(&sp)).then_some(Below(sp))
    }
}

/// The part of an interrupted stack that is not in use, below the stack pointer.
struct Below(usize);

/// An upper bound on the number of bytes below the stack pointer that a leaf function can use.
const RED_ZONE: usize = 256;

// SAFETY: 1. Below the stack pointer and the red zone there is no data, and the thread does not go
// on meanwhile. 2. The base is aligned. 3. If the stack has no room left, the handler faults;
// without us the kernel would have failed to call the handler.
unsafe impl Stack for Below {
    fn base(&self) -> StackPointer {
        StackPointer::new(self.0.saturating_sub(RED_ZONE) & !63).unwrap_or(StackPointer::MIN)
    }

    fn limit(&self) -> StackPointer {
        StackPointer::new(self.0.saturating_sub(1 << 20) & !63).unwrap_or(StackPointer::MIN)
    }
}

/// Handles the signal as the kernel would without our handler.
fn pass_on(
    signal: c_int,
    info: *mut libc::siginfo_t,
    facts: &libc::siginfo_t,
    context: *mut c_void,
    interrupted: &Interrupted,
) {
    let before = &BEFORE[usize::from(signal == libc::SIGBUS)];
    let Some(old) = before.action.get() else { return };
    // Two kinds of signals are not raised again when the handler returns: a signal that a program
    // has sent, and a report of broken memory that no thread has touched yet.
    let advice = signal == libc::SIGBUS && facts.si_code == BUS_MCEERR_AO;
    let again = facts.si_code > 0 && !advice;
    let once = old.sa_flags & libc::SA_RESETHAND != 0;
    let handler =
        if once && before.spent.swap(true, Ordering::Relaxed) { libc::SIG_DFL } else { old.sa_sigaction };
    match handler {
        libc::SIG_IGN if !again => {}
        // A fault cannot be ignored.
        libc::SIG_DFL | libc::SIG_IGN => {
            let mut plain = *old;
            plain.sa_sigaction = libc::SIG_DFL;
            plain.sa_flags = 0;
            // SAFETY: 1. The default action. A fault occurs again, and ends the process.
            unsafe {
                libc::sigaction(signal, &raw const plain, core::ptr::null_mut());
            }
            if !again {
                // SAFETY: 1. The signal exists. It ends the process when the handler returns.
                unsafe {
                    libc::raise(signal);
                }
            }
        }
        handler => {
            let flags = old.sa_flags;
            let call = || {
                if flags & libc::SA_SIGINFO != 0 {
                    // SAFETY: 1. The code that set this flag has given a function of this type.
                    let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
                        unsafe { core::mem::transmute(handler) };
                    handler(signal, info, context);
                } else {
                    // SAFETY: 1. Without the flag the handler is of this type.
                    let handler: extern "C" fn(c_int) = unsafe { core::mem::transmute(handler) };
                    handler(signal);
                }
            };
            match interrupted.below() {
                // The old handler did not request the alternate stack.
                Some(below) if flags & libc::SA_ONSTACK == 0 => on_stack(below, call),
                _ => call(),
            }
        }
    }
}

/// The code of a `SIGBUS` that reports broken memory before any thread has touched it.
const BUS_MCEERR_AO: c_int = 5;

/// Writes to standard error from a handler, without an allocation and without a lock.
struct Stderr;

impl fmt::Write for Stderr {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        // SAFETY: 1. `text` has `text.len()` bytes, which may be read.
        unsafe {
            libc::write(2, text.as_ptr().cast(), text.len());
        }
        Ok(())
    }
}

// ---- alternate stacks

/// The size of an alternate stack, in bytes. Our handler and the previous handler run there,
/// because a stack that has overflowed has no room.
const ROOM: usize = 64 << 10;
/// The number of rooms (alternate stacks) in one mapping.
const ROOMS: usize = 16;
/// The largest number of mappings with rooms. If all rooms are in use, further threads run without
/// an alternate stack.
const MOST: usize = 4096;

/// The thread that currently runs on a worker. Our handler reads it.
pub(crate) struct Running {
    /// The running thread.
    pub(crate) id: Cell<Option<ThreadId>>,
    /// The stack of the running thread.
    pub(crate) span: Cell<Span>,
    names: Arc<dyn Names>,
}

impl Running {
    /// Creates the record for a kernel thread on which no thread runs yet.
    pub(crate) fn new(names: Arc<dyn Names>) -> Self {
        Self { id: Cell::new(None), span: Cell::default(), names }
    }
}

/// A source of the names of threads.
pub(crate) trait Names {
    /// Calls `use_it` with the name of a thread, unless the thread has no name or another thread is
    /// just changing the name. Signal handlers can call this.
    fn with_name(&self, id: ThreadId, use_it: &mut dyn FnMut(&str));
}

/// What our handler knows about a kernel thread. Each room has one `Watch`. The handler runs in a
/// room, and computes the number of the room from its stack address.
struct Watch {
    /// An upper bound on the addresses of the thread's stack, or 0 if the room is not in use.
    top: AtomicUsize,
    /// The size of the thread's stack, in bytes.
    len: AtomicUsize,
    /// The thread that currently runs, if the kernel thread is a worker, and null otherwise.
    running: AtomicPtr<Running>,
    /// The thread's name. The next fields are its length and the number of the thread's record.
    name: AtomicPtr<u8>,
    name_len: AtomicUsize,
    number: AtomicU32,
    /// The next free room.
    next: AtomicU32,
}

/// Several rooms in one mapping, which is never unmapped.
struct Slab {
    start: usize,
    watches: [Watch; ROOMS],
}

static SLABS: [AtomicPtr<Slab>; MOST] = [const { AtomicPtr::new(core::ptr::null_mut()) }; MOST];
static COUNT: AtomicUsize = AtomicUsize::new(0);
static FREE: FreeNumbers = FreeNumbers::new();

fn slab(at: usize) -> Option<&'static Slab> {
    // SAFETY: 1. The pointer is null or that of a slab, which is never freed.
    unsafe { SLABS.get(at)?.load(Ordering::Acquire).as_ref() }
}

fn watch_of(number: u32) -> Option<&'static Watch> {
    slab(number as usize / ROOMS)?.watches.get(number as usize % ROOMS)
}

/// Returns the thread to which the alternate stack belongs, if that stack is ours.
fn watch_on(alternate: &Range<usize>) -> Option<&'static Watch> {
    (0..COUNT.load(Ordering::Acquire).min(MOST)).filter_map(slab).find_map(|slab| {
        let at = alternate.start.checked_sub(slab.start)?;
        slab.watches.get(at / ROOM).filter(|_| alternate.len() == ROOM)
    })
}

/// Takes a free room.
fn take() -> Option<u32> {
    if let Some(free) = FREE.take(|number| Some(&watch_of(number)?.next)) {
        return Some(free);
    }
    let watch = || Watch {
        top: AtomicUsize::new(0),
        len: AtomicUsize::new(0),
        running: AtomicPtr::new(core::ptr::null_mut()),
        name: AtomicPtr::new(core::ptr::null_mut()),
        name_len: AtomicUsize::new(0),
        number: AtomicU32::new(0),
        next: AtomicU32::new(NONE),
    };
    let rooms = Mapping::new(ROOM * ROOMS, 0).ok()?;
    let slab = Slab { start: rooms.stack().start, watches: core::array::from_fn(|_| watch()) };
    let slab = try_box(slab).ok()?;
    let at = COUNT.fetch_add(1, Ordering::AcqRel);
    let Some(place) = SLABS.get(at) else {
        COUNT.store(MOST, Ordering::Release);
        return None;
    };
    place.store(Box::into_raw(slab), Ordering::Release);
    core::mem::forget(rooms);
    let first = (at * ROOMS) as u32;
    (1..ROOMS as u32).for_each(|other| give(first + other));
    Some(first)
}

/// Updates the state of the rooms in a forked child.
pub(crate) fn in_the_child() {
    FREE.forget();
}

fn give(number: u32) {
    if let Some(watch) = watch_of(number) {
        FREE.give(number, &watch.next);
    }
}

impl Watch {
    fn running(&self) -> Option<&Running> {
        // SAFETY: 1. The pointer is null, or its target belongs to this kernel thread and exists
        // while the thread works. The target's cells are words.
        unsafe { self.running.load(Ordering::Relaxed).as_ref() }
    }

    /// Returns whether a fault at `address` is an overflow of the thread's stack.
    fn is_overflow(&self, address: usize, sp: Option<usize>) -> bool {
        let top = self.top.load(Ordering::Relaxed);
        if top == 0 {
            // The thread runs on a stack of ours, whose guard we know.
            return self.running().is_some_and(|running| running.span.get().guard().contains(&address));
        }
        // The platform has allocated the stack, and its cache can return a stack of up to four
        // times the requested size. Memory of the stack above the stack pointer is accessible. A
        // fault above the stack pointer therefore means that the stack pointer itself has left the
        // stack.
        let (len, deep) = (self.len.load(Ordering::Relaxed), top.saturating_sub(address));
        sp.is_some_and(|sp| (sp.saturating_sub(RED_ZONE)..top).contains(&address))
            && (len / 2..len.saturating_mul(5)).contains(&deep)
    }

    /// Reports that the thread has overflowed its stack.
    fn report(&self) {
        let say_name = &mut |name: &str| {
            let _ = write!(Stderr, "'{name}' ");
        };
        let _ = Stderr.write_str("\nthread ");
        let (mut number, mut len) = (self.number.load(Ordering::Relaxed), self.len.load(Ordering::Relaxed));
        if let Some(running) = self.running() {
            let id = running.id.get();
            if let Some(id) = id {
                running.names.with_name(id, say_name);
            }
            number = id.map_or(0, ThreadId::record);
            if self.top.load(Ordering::Relaxed) == 0 {
                len = running.span.get().stack().len();
            }
        } else {
            let name = self.name.load(Ordering::Relaxed);
            if !name.is_null() {
                // SAFETY: 1. The pointer and the length are those of a text that lives as long as
                // the thread uses this alternate stack.
                let name =
                    unsafe { core::slice::from_raw_parts(name, self.name_len.load(Ordering::Relaxed)) };
                let _ = core::str::from_utf8(name).map(say_name);
            }
        }
        let _ = writeln!(Stderr, "{number} has overflowed its stack of {len} bytes: give it a larger one");
    }
}

/// A stack for the signal handlers of one kernel thread. When it is dropped, it restores the
/// alternate stack that the thread had before.
///
/// It costs two system calls for each kernel thread, and sometimes a third one to map memory, which
/// is reused.
pub(crate) struct SignalStack {
    before: libc::stack_t,
    number: u32,
}

impl SignalStack {
    /// Creates the alternate stack of a worker, which runs threads on stacks of this library.
    pub(crate) fn of_worker() -> Option<Self> {
        Self::new(|_| ())
    }

    /// Creates the alternate stack of the calling thread, which runs on a stack of `len` bytes from
    /// the platform.
    #[inline(never)]
    pub(crate) fn of_thread(len: usize) -> Option<Self> {
        let mark = 0_u8;
        // The stack's upper end is a little above `mark`, so the stack has less than `len` bytes
        // below `mark`.
        let top = core::ptr::from_ref(&mark).addr();
        Self::new(|watch| {
            watch.len.store(len, Ordering::Relaxed);
            watch.top.store(top, Ordering::Relaxed);
        })
    }

    fn new(fill: impl FnOnce(&Watch)) -> Option<Self> {
        let number = take()?;
        let slab = slab(number as usize / ROOMS)?;
        let start = slab.start + (number as usize % ROOMS) * ROOM;
        let own = libc::stack_t {
            ss_sp: core::ptr::with_exposed_provenance_mut(start),
            ss_flags: 0,
            ss_size: ROOM,
        };
        fill(watch_of(number)?);
        let mut before = MaybeUninit::uninit();
        // SAFETY: 1. The room is ours until this value is dropped, and the drop takes it out of
        // use.
        if unsafe { libc::sigaltstack(&raw const own, before.as_mut_ptr()) } != 0 {
            Self::free(number);
            return None;
        }
        // SAFETY: 1. Filled, since the call returned 0.
        Some(Self { before: unsafe { before.assume_init() }, number })
    }

    /// From now on, a report names the thread in `running`. `running` must not be dropped before
    /// this value.
    pub(crate) fn is_of(&self, running: &Running) {
        if let Some(watch) = watch_of(self.number) {
            watch.running.store(core::ptr::from_ref(running).cast_mut(), Ordering::Relaxed);
        }
    }

    /// Sets the thread's name for reports. The name must not be dropped before this value.
    pub(crate) fn is_called(&self, name: Option<&str>, id: Option<ThreadId>) {
        let Some(watch) = watch_of(self.number) else { return };
        watch.number.store(id.map_or(0, ThreadId::record), Ordering::Relaxed);
        if let Some(name) = name {
            watch.name_len.store(name.len(), Ordering::Relaxed);
            watch.name.store(name.as_ptr().cast_mut(), Ordering::Relaxed);
        }
    }

    fn free(number: u32) {
        if let Some(watch) = watch_of(number) {
            watch.top.store(0, Ordering::Relaxed);
            watch.running.store(core::ptr::null_mut(), Ordering::Relaxed);
            watch.name.store(core::ptr::null_mut(), Ordering::Relaxed);
        }
        give(number);
    }
}

impl Drop for SignalStack {
    fn drop(&mut self) {
        // SAFETY: 1. The thread had this alternate stack before, and still owns it.
        unsafe {
            libc::sigaltstack(&raw const self.before, core::ptr::null_mut());
        }
        Self::free(self.number);
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
