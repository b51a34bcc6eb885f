//! Threads: creation, join, detach and waits.

use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use core::time::Duration;

use crate::contract::shared;
use tickwright::time::Instant;
use tickwright_boundary::answer::{self, aligned, put};
use tickwright_boundary::grow::{self, Growing};
use tickwright_boundary::{code, end_of, exported};
use tickwright_threads::{Attributes, CreateError, JoinError, RuntimeHandle, ThreadId, this_thread};

use crate::runtime::{tw_runtime, with};

/// The id of a thread.
pub type tw_thread = u64;

/// The function that a thread runs.
pub type tw_thread_fn = Option<unsafe extern "C-unwind" fn(argument: *mut c_void) -> *mut c_void>;

/// The options of a new thread.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tw_thread_options {
    /// The size of this struct in bytes.
    pub size: usize,
    /// The size of the stack in bytes. If it is `usize::MAX`, the library chooses the size.
    pub stack_size: usize,
    /// The size of the guard in bytes. If it is `usize::MAX`, the library chooses the size.
    pub guard_size: usize,
    /// The thread's name, or null.
    pub name: *const c_char,
    /// If this is not 0, the thread is detached, so it cannot be joined.
    pub detached: c_int,
    /// Must be 0.
    pub flags: c_uint,
}

// SAFETY: 1. `repr(C)`, the size comes first; 2. a pointer and numbers.
unsafe impl Growing for tw_thread_options {
    const DEFAULT: Self = Self {
        size: size_of::<Self>(),
        stack_size: usize::MAX,
        guard_size: usize::MAX,
        name: core::ptr::null(),
        detached: 0,
        flags: 0,
    };
    const LEAST: usize = end_of!(Self, flags);
}

/// Calls `inside` with a runtime and the id of a thread.
fn about<R>(
    runtime: *const tw_runtime,
    thread: u64,
    inside: impl FnOnce(&RuntimeHandle, ThreadId) -> Result<R, JoinError>,
) -> Result<R, c_int> {
    let runtime = shared(runtime)?;
    let thread = ThreadId::from_bits(thread).ok_or(code::STALE)?;
    inside(&runtime.handle, thread).map_err(|error| not_joined(&error))
}

fn not_created(error: &CreateError) -> c_int {
    match error {
        CreateError::Stack { .. } | CreateError::Guard { .. } | CreateError::Name => code::INVALID,
        CreateError::OutOfMemory => code::NO_MEMORY,
        CreateError::Closed | CreateError::Forked => code::ENDING,
        _ => code::AGAIN,
    }
}

fn not_joined(error: &JoinError) -> c_int {
    match error {
        JoinError::NoSuchThread => code::STALE,
        JoinError::Deadlock => code::DEADLOCK,
        JoinError::Busy => code::BUSY,
        JoinError::TimedOut => code::LATE,
        _ => code::INVALID,
    }
}

/// # Safety
/// `options` is null, or points to options by the header's contract.
unsafe fn attributes(options: *const tw_thread_options) -> Result<Attributes, c_int> {
    let mut attributes = Attributes::new();
    if options.is_null() {
        return Ok(attributes);
    }
    // SAFETY: the caller promises this.
    let options = unsafe { grow::read(options) }?;
    if options.flags != 0 {
        return Err(code::TOO_NEW);
    }
    attributes = with(attributes, options.stack_size, Attributes::stack);
    attributes = with(attributes, options.guard_size, Attributes::guard);
    if !options.name.is_null() {
        // SAFETY: 1. The name is a text, by the header's contract. 2. It is copied.
        let name = unsafe { CStr::from_ptr(options.name) };
        attributes = attributes.name(name.to_str().map_err(|_| code::INVALID)?);
    }
    Ok(attributes.detached(options.detached != 0))
}

/// The caller's function and its argument, until a thread calls the function.
struct Body {
    start: unsafe extern "C-unwind" fn(*mut c_void) -> *mut c_void,
    argument: *mut c_void,
}

// SAFETY: by the header's contract the function may be called with the argument on another thread.
unsafe impl Send for Body {}

impl Body {
    fn run(self) -> usize {
        // SAFETY: the caller's function is called as the header says, with no lock held.
        code::contained(|| unsafe { (self.start)(self.argument) }).expose_provenance()
    }
}

/// Writes the result of a join to `value`, and returns 0 or a code.
///
/// # Safety
/// `value` is null, or is writable according to the header's contract.
unsafe fn joined(
    runtime: *const tw_runtime,
    thread: u64,
    value: *mut *mut c_void,
    join: impl FnOnce(&RuntimeHandle, ThreadId) -> Result<usize, JoinError>,
) -> c_int {
    let left = || about(runtime, thread, join).map(core::ptr::with_exposed_provenance_mut);
    // SAFETY: the caller promises this.
    unsafe { answer::value(value, left) }
}

/// Returns the calling thread.
#[unsafe(no_mangle)]
pub extern "C" fn tw_thread_self() -> tw_thread {
    this_thread::current().map_or(0, ThreadId::to_bits)
}

/// Returns whether two ids are equal.
#[unsafe(no_mangle)]
pub extern "C" fn tw_thread_equal(one: tw_thread, other: tw_thread) -> c_int {
    c_int::from(one == other)
}

/// Lets other threads run.
#[unsafe(no_mangle)]
pub extern "C" fn tw_thread_yield() {
    this_thread::yield_now();
}

/// Begins a section without yields: in this section no counted call of the calling thread yields to
/// other threads.
#[unsafe(no_mangle)]
pub extern "C" fn tw_thread_forbid_yields() {
    this_thread::forbid_yields();
}

/// Ends the section that the last call of `tw_thread_forbid_yields` began.
#[unsafe(no_mangle)]
pub extern "C" fn tw_thread_allow_yields() {
    this_thread::allow_yields();
}

/// Sleeps for at least `ns` nanoseconds.
#[unsafe(no_mangle)]
pub extern "C" fn tw_thread_sleep(ns: u64) {
    this_thread::sleep(Duration::from_nanos(ns));
}

/// Waits until the calling thread is unparked.
#[unsafe(no_mangle)]
pub extern "C" fn tw_thread_park() {
    this_thread::park();
}

/// Waits until the calling thread is unparked, but at most for the given time.
#[unsafe(no_mangle)]
pub extern "C" fn tw_thread_park_for(ns: u64) {
    this_thread::park_timeout(Duration::from_nanos(ns));
}

/// Waits until a descriptor of the caller can be read or, if `written` is true, can be written.
#[cfg(unix)]
fn until_ready(fd: c_int, written: bool) -> c_int {
    use tickwright_threads::io::{readable, writable};

    answer::code(|| {
        if fd < 0 {
            return Err(code::NO_FILE);
        }
        // SAFETY: 1. the descriptor is not -1; 2. it is open as long as this waits, by the header's
        // contract.
        let fd = unsafe { std::os::fd::BorrowedFd::borrow_raw(fd) };
        let waited = if written { writable(&fd) } else { readable(&fd) };
        waited.map_err(|error| error.raw_os_error().map_or(code::INVALID, |number| -number))?;
        Ok(0)
    })
}

/// Returns an error, because threads can wait for descriptors only on Unix.
#[cfg(not(unix))]
fn until_ready(_: c_int, _: bool) -> c_int {
    code::UNSUPPORTED
}

/// Waits until a descriptor can be read.
#[unsafe(no_mangle)]
pub extern "C" fn tw_thread_wait_readable(fd: c_int) -> c_int {
    until_ready(fd, false)
}

/// Waits until a descriptor can be written.
#[unsafe(no_mangle)]
pub extern "C" fn tw_thread_wait_writable(fd: c_int) -> c_int {
    until_ready(fd, true)
}

exported!(
    /// Sets all options to their defaults.
    fn tw_thread_options_init(options: *mut tw_thread_options, size: usize) -> c_int {
        // SAFETY: the header's contract.
        unsafe { grow::initialize(options, size) }
    }

    /// Creates a thread.
    fn tw_thread_create(
        runtime: *mut tw_runtime,
        thread: *mut tw_thread,
        options: *const tw_thread_options,
        start: tw_thread_fn,
        argument: *mut c_void,
    ) -> c_int {
        let create = || {
            let handle = &shared(runtime)?.handle;
            let body = Body { start: start.ok_or(code::INVALID)?, argument };
            // SAFETY: the header's contract.
            let attributes = unsafe { attributes(options) }?;
            let created = handle.create(&attributes, move || body.run());
            created.map(ThreadId::to_bits).map_err(|error| not_created(&error))
        };
        // SAFETY: the header's contract.
        unsafe { answer::value(thread, create) }
    }

    /// Waits for a thread to end.
    fn tw_thread_join(runtime: *mut tw_runtime, thread: tw_thread, value: *mut *mut c_void) -> c_int {
        // SAFETY: the header's contract.
        unsafe { joined(runtime, thread, value, RuntimeHandle::join) }
    }

    /// Joins a thread if it has ended. Does not wait.
    fn tw_thread_tryjoin(runtime: *mut tw_runtime, thread: tw_thread, value: *mut *mut c_void) -> c_int {
        // SAFETY: the header's contract.
        unsafe { joined(runtime, thread, value, RuntimeHandle::try_join) }
    }

    /// Waits for a thread to end, but at most until a given time.
    fn tw_thread_timedjoin(
        runtime: *mut tw_runtime,
        thread: tw_thread,
        value: *mut *mut c_void,
        until_ns: u64,
    ) -> c_int {
        let until = Instant::from_nanos(until_ns);
        // SAFETY: the header's contract.
        unsafe { joined(runtime, thread, value, |handle, thread| handle.join_until(thread, until)) }
    }

    /// Detaches a thread, which can no longer be joined.
    fn tw_thread_detach(runtime: *mut tw_runtime, thread: tw_thread) -> c_int {
        answer::code(|| about(runtime, thread, RuntimeHandle::detach).map(|()| 0))
    }

    /// Ends the wait of a parked thread.
    fn tw_thread_unpark(runtime: *mut tw_runtime, thread: tw_thread) -> c_int {
        answer::code(|| about(runtime, thread, RuntimeHandle::unpark).map(|()| 0))
    }

    /// Writes the address and the size of the caller's stack.
    fn tw_thread_stack(lowest: *mut *mut c_void, size: *mut usize) -> c_int {
        let stack = || {
            aligned(size)?;
            let Some(stack) = this_thread::stack() else { return Ok(None) };
            // SAFETY: the header's contract.
            unsafe { put(size, stack.len()) };
            Ok(Some(core::ptr::with_exposed_provenance_mut(stack.start)))
        };
        // SAFETY: the header's contract.
        unsafe { answer::found(lowest, stack) }
    }
);
