//! The real functions that the functions of this library interpose.
//!
//! The library looks up these functions when a process begins, because a signal handler must not
//! look up symbols. A library that is loaded later has its own scope. Therefore a function that was
//! absent at the start is looked up for each caller, as the loader would do without this library.

use core::ffi::{CStr, c_void};
use core::ptr;
use core::sync::atomic::{
    AtomicPtr, AtomicUsize,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};

use super::sys::{self, DlInfo};

macro_rules! names {
    ($($name:ident $symbol:literal $($version:literal)?),* $(,)?) => {
        /// A function that this library interposes or calls.
        #[derive(Clone, Copy, Debug)]
        #[allow(non_camel_case_types, reason = "the names of C")]
        pub(crate) enum Name { $($name),* }

        /// Each function with its symbol version; empty: any version.
        const SYMBOLS: &[(&CStr, &CStr)] = &[$(($symbol, [$($version,)? c""][0])),*];
    };
}

// Two functions have changed in glibc on x86-64; only the later version is in use.
names! {
    EventAdd c"event_add", EventAddNolock c"event_add_nolock_", EventDel c"event_del",
    EventDelBlock c"event_del_block", EventDelNoblock c"event_del_noblock",
    EventRemoveTimer c"event_remove_timer", EventActiveNolock c"event_active_nolock_",
    EventPending c"event_pending", EventGetEvents c"event_get_events",
    UvStart c"uv_timer_start", UvStop c"uv_timer_stop", UvAgain c"uv_timer_again", UvClose c"uv_close",
    UvGetRepeat c"uv_timer_get_repeat", UvType c"uv_handle_get_type",
    EvStart c"ev_timer_start", EvStop c"ev_timer_stop", EvAgain c"ev_timer_again",
    TimerfdSettime c"timerfd_settime", TimerCreate c"timer_create", TimerSettime c"timer_settime",
    TimerDelete c"timer_delete", Setitimer c"setitimer", Alarm c"alarm", Close c"close",
    Poll c"poll", PollChk c"__poll_chk", Ppoll c"ppoll", PpollChk c"__ppoll_chk",
    Select c"select", Pselect c"pselect",
    EpollWait c"epoll_wait", EpollPwait c"epoll_pwait", EpollPwait2 c"epoll_pwait2",
    Nanosleep c"nanosleep", ClockNanosleep c"clock_nanosleep", Usleep c"usleep", Sleep c"sleep",
    CondTimedwait c"pthread_cond_timedwait" c"GLIBC_2.3.2", CondClockwait c"pthread_cond_clockwait",
    SemTimedwait c"sem_timedwait", SemClockwait c"sem_clockwait",
}

const COUNT: usize = SYMBOLS.len();
static REAL: [AtomicPtr<c_void>; COUNT] = [const { AtomicPtr::new(ptr::null_mut()) }; COUNT];

/// The functions that were found for each caller. The key is the caller's address with the number
/// of the name.
static BY_CALLER: [(AtomicUsize, AtomicPtr<c_void>); 256] =
    [const { (AtomicUsize::new(0), AtomicPtr::new(ptr::null_mut())) }; 256];

/// Looks up all functions.
pub(crate) fn resolve() {
    for (symbol, real) in SYMBOLS.iter().zip(&REAL) {
        real.store(global(*symbol), Release);
    }
}

/// Returns the real function that this library's function interposes, for a call that returns to
/// `site`.
#[inline]
pub(crate) fn behind(name: Name, site: usize) -> *mut c_void {
    let real = REAL[name as usize].load(Acquire);
    if real.is_null() { find(name, site) } else { real }
}

/// Returns the function, or null if the libraries that were loaded at the start lack it.
pub(crate) fn known(name: Name) -> *mut c_void {
    REAL[name as usize].load(Acquire)
}

fn global((symbol, version): (&CStr, &CStr)) -> *mut c_void {
    if version.is_empty() || cfg!(not(target_arch = "x86_64")) {
        // SAFETY: 1. A string.
        return unsafe { sys::dlsym(sys::RTLD_NEXT, symbol.as_ptr()) };
    }
    // SAFETY: 1. Two strings.
    unsafe { sys::dlvsym(sys::RTLD_NEXT, symbol.as_ptr(), version.as_ptr()) }
}

#[cold]
fn find(name: Name, site: usize) -> *mut c_void {
    let symbol = SYMBOLS[name as usize];
    let key = site << 6 | name as usize;
    let (caller, function) = &BY_CALLER[(site ^ site >> 8 ^ name as usize) % BY_CALLER.len()];
    if caller.load(Acquire) == key {
        let found = function.load(Acquire);
        if !found.is_null() {
            return found;
        }
    }
    // The constructor of another library can call a function before the constructor of this library
    // has run.
    let mut found = global(symbol);
    if !found.is_null() {
        REAL[name as usize].store(found, Release);
        return found;
    }
    if let Some(info) = whereabouts(site) {
        let flags = sys::RTLD_LAZY | sys::RTLD_NOLOAD;
        // SAFETY: 1. `info.file` is the name of a loaded library; the loader keeps the string.
        let library = unsafe { sys::dlopen(info.file, flags) };
        if !library.is_null() {
            // SAFETY: 1. The handle is never closed. 2. A string.
            found = unsafe { sys::dlsym(library, symbol.0.as_ptr()) };
        }
    }
    if found.is_null() {
        sys::fail(symbol.0);
    }
    // The first caller that takes an entry owns it.
    if caller.compare_exchange(0, key, AcqRel, Relaxed).is_ok() {
        function.store(found, Release);
    }
    found
}

/// Returns facts about the library that holds an address.
pub(crate) fn whereabouts(address: usize) -> Option<DlInfo> {
    let (text, none) = (ptr::null(), ptr::null_mut());
    let mut info = DlInfo { file: text, base: none, symbol: text, address: none };
    // SAFETY: 1. `dladdr` takes any address. 2. `info` has room for the answer.
    let is_found = unsafe { sys::dladdr(address as *const c_void, &raw mut info) };
    (is_found != 0).then_some(info)
}

/// Calls the real function of this name and type.
macro_rules! real {
    ($name:ident, $site:expr, fn($($type:ty),*) $(-> $out:ty)?, $($argument:expr),*) => {{
        type Real = unsafe extern "C-unwind" fn($($type),*) $(-> $out)?;
        let real = super::next::behind(super::next::Name::$name, $site);
        // SAFETY: 1. The type is the one that the C header gives to the function of this name.
        let real = unsafe { core::mem::transmute::<*mut core::ffi::c_void, Real>(real) };
        // SAFETY: 1. The arguments are the caller's, who promises what the real function asks.
        unsafe { real($($argument),*) }
    }};
}
