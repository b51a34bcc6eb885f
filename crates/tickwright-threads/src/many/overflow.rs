//! A stack that overflows hits its guard: the thread is named, then the process aborts. Every other fault is for who handled it before.

use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use core::ops::Range;
use std::sync::OnceLock;

use super::here;
use crate::stack::Mapping;

/// Who handled faults before: SIGSEGV, SIGBUS.
static BEFORE: [OnceLock<libc::sigaction>; 2] = [OnceLock::new(), OnceLock::new()];
const SIGNALS: [c_int; 2] = [libc::SIGSEGV, libc::SIGBUS];

/// Room for handlers, ours and those before us, on a worker: the stack that has overflowed has none.
const ROOM: usize = 64 << 10;

/// Has overflows noticed from now on.
pub(super) fn notice() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        for (signal, before) in SIGNALS.into_iter().zip(&BEFORE) {
            let mut old = MaybeUninit::<libc::sigaction>::uninit();
            // SAFETY: 1. Asks only, and fills `old` when it answers 0.
            if unsafe { libc::sigaction(signal, core::ptr::null(), old.as_mut_ptr()) } != 0 {
                continue;
            }
            // SAFETY: 1. Filled.
            let old = unsafe { old.assume_init() };
            // Known before ours can be called.
            let _ = before.set(old);
            let mut ours = old;
            let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = fault;
            ours.sa_sigaction = handler as usize;
            ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | (old.sa_flags & libc::SA_NODEFER);
            // SAFETY: 1. The handler is there for ever. 2. It touches plain cells of this thread, atomics and a try-lock, and writes with `write` alone.
            unsafe {
                libc::sigaction(signal, &raw const ours, core::ptr::null_mut());
            }
        }
    });
}

extern "C" fn fault(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: 1. The kernel passes the facts of the signal.
    let facts = unsafe { &*info };
    // SAFETY: 1. SIGSEGV and SIGBUS have an address.
    let address = unsafe { facts.si_addr() }.addr();
    let worker = here::worker();
    // SAFETY: 1. The worker of this kernel thread, which is there while it works; its cells are words.
    if let Some(worker) = unsafe { worker.as_ref() } {
        let Range { start, end } = worker.span.get().guard();
        if (start..end).contains(&address) {
            worker.report_overflow();
            // SAFETY: 1. Ends the process; may be called from a handler.
            unsafe { libc::abort() }
        }
    }
    pass_on(signal, info, context);
}

/// Calls who was there before; the default is what it would have been without us.
fn pass_on(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let at = usize::from(signal == libc::SIGBUS);
    let Some(old) = BEFORE.get(at).and_then(OnceLock::get) else { return };
    match old.sa_sigaction {
        libc::SIG_DFL | libc::SIG_IGN => {
            let mut plain = *old;
            plain.sa_sigaction = libc::SIG_DFL;
            // SAFETY: 1. The default action. The fault comes again, and ends the process.
            unsafe {
                libc::sigaction(signal, &raw const plain, core::ptr::null_mut());
            }
        }
        handler if old.sa_flags & libc::SA_SIGINFO != 0 => {
            // SAFETY: 1. Whoever set this flag gave a function of this type.
            let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
                unsafe { core::mem::transmute(handler) };
            handler(signal, info, context);
        }
        handler => {
            // SAFETY: 1. Without the flag it is of this type.
            let handler: extern "C" fn(c_int) = unsafe { core::mem::transmute(handler) };
            handler(signal);
        }
    }
}

/// Writes to standard error, from a handler.
pub(super) fn write(text: &str) {
    // SAFETY: 1. So many bytes to read from.
    unsafe {
        libc::write(2, text.as_ptr().cast(), text.len());
    }
}

/// The same of a number.
pub(super) fn write_number(mut number: u64) {
    let mut digits = [0_u8; 20];
    let mut first = digits.len();
    loop {
        first -= 1;
        if let Some(digit) = digits.get_mut(first) {
            *digit = b'0' + (number % 10) as u8;
        }
        number /= 10;
        if number == 0 || first == 0 {
            break;
        }
    }
    write(digits.get(first..).and_then(|text| core::str::from_utf8(text).ok()).unwrap_or("?"));
}

/// A stack for the handlers of one kernel thread. When it is dropped the thread has the one that it had before.
pub(super) struct SignalStack {
    before: libc::stack_t,
    _room: Mapping,
}

impl SignalStack {
    pub(super) fn new() -> Option<Self> {
        let room = Mapping::new(ROOM, 0).ok()?;
        let own = libc::stack_t {
            ss_sp: core::ptr::with_exposed_provenance_mut(room.stack().start),
            ss_flags: 0,
            ss_size: ROOM,
        };
        let mut before = MaybeUninit::uninit();
        // SAFETY: 1. The room is ours until this is dropped, and then it is out of use.
        let set = unsafe { libc::sigaltstack(&raw const own, before.as_mut_ptr()) };
        // SAFETY: 1. Filled, since the call answered 0.
        (set == 0).then(|| Self { before: unsafe { before.assume_init() }, _room: room })
    }
}

impl Drop for SignalStack {
    fn drop(&mut self) {
        // SAFETY: 1. What the thread had before, and has kept.
        unsafe {
            libc::sigaltstack(&raw const self.before, core::ptr::null_mut());
        }
    }
}
