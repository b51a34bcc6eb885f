//! The functions and types that this library takes from the C library.

use core::ffi::{CStr, c_char, c_int, c_long, c_uint, c_void};

/// Nanoseconds in a second.
pub(crate) const SECOND: u64 = 1_000_000_000;

/// A time in seconds and parts of `NS` ns.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Time<const NS: i64> {
    sec: i64,
    parts: i64,
}

/// `struct timespec`.
pub(crate) type Timespec = Time<1>;
/// `struct timeval`.
pub(crate) type Timeval = Time<1000>;

/// `struct itimerspec` or `struct itimerval`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Setting<T> {
    pub(crate) interval: T,
    pub(crate) value: T,
}

/// `Dl_info`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct DlInfo {
    pub(crate) file: *const c_char,
    pub(crate) base: *mut c_void,
    pub(crate) symbol: *const c_char,
    pub(crate) address: *mut c_void,
}

pub(crate) const RTLD_NEXT: *mut c_void = usize::MAX as *mut c_void;
pub(crate) const RTLD_LAZY: c_int = 1;
pub(crate) const RTLD_NOLOAD: c_int = 4;
pub(crate) const O_RDWR: c_int = 2;
pub(crate) const O_CREAT: c_int = 0o100;
pub(crate) const O_EXCL: c_int = 0o200;
pub(crate) const O_CLOEXEC: c_int = 0o2000000;
pub(crate) const ETIMEDOUT: c_int = 110;

const CLOCK_REALTIME: c_int = 0;
const CLOCK_MONOTONIC: c_int = 1;

#[link(name = "c")]
unsafe extern "C" {
    pub(crate) fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    pub(crate) fn dlvsym(handle: *mut c_void, name: *const c_char, version: *const c_char) -> *mut c_void;
    pub(crate) fn dladdr(address: *const c_void, info: *mut DlInfo) -> c_int;
    pub(crate) fn dlopen(file: *const c_char, flags: c_int) -> *mut c_void;
    pub(crate) fn getenv(name: *const c_char) -> *const c_char;
    pub(crate) fn open(path: *const c_char, flags: c_int, ...) -> c_int;
    pub(crate) fn read(from: c_int, to: *mut c_void, most: usize) -> isize;
    pub(crate) fn ftruncate(file: c_int, bytes: i64) -> c_int;
    pub(crate) fn posix_fallocate(file: c_int, from: i64, bytes: i64) -> c_int;
    pub(crate) fn mmap(
        at: *mut c_void,
        bytes: usize,
        may: c_int,
        how: c_int,
        file: c_int,
        from: i64,
    ) -> *mut c_void;
    pub(crate) fn madvise(at: *mut c_void, bytes: usize, what: c_int) -> c_int;
    pub(crate) fn getpid() -> c_int;
    pub(crate) fn syscall(number: c_long, ...) -> c_long;
    pub(crate) fn sched_getcpu() -> c_int;
    pub(crate) fn pthread_key_create(key: *mut c_uint, drop: *const c_void) -> c_int;
    pub(crate) fn pthread_getspecific(key: c_uint) -> *mut c_void;
    pub(crate) fn pthread_setspecific(key: c_uint, value: *const c_void) -> c_int;
    fn clock_gettime(clock: c_int, to: *mut Timespec) -> c_int;
    fn __errno_location() -> *mut c_int;
    fn write(to: c_int, from: *const c_void, bytes: usize) -> isize;
    fn abort() -> !;
}

// This library interposes `close`, so a plain call would call the library's own function.
pub(crate) fn shut(file: c_int) {
    #[cfg(target_arch = "x86_64")]
    const CLOSE: c_long = 3;
    #[cfg(target_arch = "aarch64")]
    const CLOSE: c_long = 57;
    // SAFETY: 1. The descriptor belongs to this library; no other code knows it.
    unsafe { syscall(CLOSE, file) };
}

/// Returns the id of the calling thread, from the kernel.
pub(crate) fn gettid() -> u32 {
    #[cfg(target_arch = "x86_64")]
    const GETTID: c_long = 186;
    #[cfg(target_arch = "aarch64")]
    const GETTID: c_long = 178;
    // SAFETY: 1. The function has no arguments.
    unsafe { syscall(GETTID) as u32 }
}

fn clock(clock: c_int) -> u64 {
    let mut now = Timespec::default();
    // SAFETY: 1. `now` has room for a time.
    unsafe { clock_gettime(clock, &raw mut now) };
    now.ns()
}

/// Returns the time, in ns.
#[inline]
pub(crate) fn now() -> u64 {
    clock(CLOCK_MONOTONIC)
}

/// Converts a time on an unknown clock to `CLOCK_MONOTONIC`. A time of more than 30 years is taken
/// for a time of `CLOCK_REALTIME`, because it is then after the year 2000, and no machine has run
/// for 30 years.
pub(crate) fn steady(time_ns: u64) -> u64 {
    if time_ns < SECOND * 946_684_800 {
        return time_ns;
    }
    // `CLOCK_REALTIME` is read first, so that a past time never becomes a future time.
    let wall = clock(CLOCK_REALTIME);
    (now().wrapping_add(time_ns.wrapping_sub(wall)) as i64).max(0) as u64
}

impl<const NS: i64> Time<NS> {
    /// Converts the time into ns: a negative time into 0, and a time of more than 292 years into
    /// 292 years. The upper bits of microseconds are masked out: libevent keeps the number of a
    /// queue there.
    pub(crate) fn ns(self) -> u64 {
        let parts = if NS == 1 { self.parts } else { self.parts & 0xf_ffff };
        let seconds_ns = self.sec.saturating_mul(SECOND as i64);
        seconds_ns.saturating_add(parts.saturating_mul(NS)).max(0) as u64
    }

    pub(crate) fn is_zero(self) -> bool {
        self.sec == 0 && self.parts == 0
    }
}

/// Returns the `errno` of the calling thread.
pub(crate) fn errno() -> c_int {
    // SAFETY: 1. The function has no arguments.
    let at = unsafe { __errno_location() };
    // SAFETY: 1. The pointer is the calling thread's own, as long as the thread lives.
    unsafe { *at }
}

/// Sets the `errno` of the calling thread.
pub(crate) fn set_errno(value: c_int) {
    // SAFETY: 1. The function has no arguments.
    let at = unsafe { __errno_location() };
    // SAFETY: 1. The pointer is the calling thread's own, as long as the thread lives.
    unsafe { *at = value };
}

/// Writes why the program cannot continue, and ends the program.
pub(crate) fn fail(what: &CStr) -> ! {
    for part in [c"tickwright record: ", what, c"; the recorded program ends\n"] {
        let bytes = part.to_bytes();
        // SAFETY: 1. The pointer and the length are those of a string.
        unsafe { write(2, bytes.as_ptr().cast(), bytes.len()) };
    }
    // SAFETY: 1. The function has no arguments.
    unsafe { abort() }
}
