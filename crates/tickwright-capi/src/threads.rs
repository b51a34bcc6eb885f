//! Threads of one-to-one, M:N and manager runtimes, in the shape of pthreads.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::AtomicU64;
use core::time::Duration;
use std::sync::{Mutex, PoisonError};

use tickwright::clock::Instant;
use tickwright_threads::{
    Attributes, CreateError, Handle, JoinError, Manager, ManyToMany, Model, OneToOne, Runtime, RuntimeError,
    ThreadId, this_thread,
};

use crate::answer::{self, borrowed, exported, put};
use crate::code;
use crate::job::numbers;
use crate::state::{Shared, begin, create, destroy, end, shared, state};

numbers! {
    TW_MODEL_ONE_TO_ONE = 1;
    TW_MODEL_MN = 2;
    TW_MODEL_MANAGER = 3;
}

/// What a thread runs.
pub type tw_thread_fn = Option<unsafe extern "C-unwind" fn(argument: *mut c_void) -> *mut c_void>;

/// What a thread is created with.
#[repr(C)]
#[derive(Debug)]
pub struct tw_thread_attr {
    /// In bytes, or `usize::MAX`.
    pub stack_size: usize,
    /// In bytes, or `usize::MAX`.
    pub guard_size: usize,
    /// Null, or a text.
    pub name: *const c_char,
    /// Not 0: nobody joins it.
    pub detached: c_int,
}

/// A runtime, in the library's own memory.
#[repr(C)]
#[derive(Debug)]
pub struct tw_threads {
    state: AtomicU64,
    handle: Handle,
    /// Until it is destroyed.
    runtime: Mutex<Option<Runtime>>,
}

// SAFETY: 1. `repr(C)`, the state comes first; 2. nobody borrows it mutably, ever.
unsafe impl Shared for tw_threads {
    const READY: u64 = 0x7469_636b_7468_7264;
    const ENDING: u64 = 0x7469_636b_7468_656e;
}

/// Calls `inside` with a runtime and the id of a thread.
fn about<R>(
    threads: *const tw_threads,
    thread: u64,
    inside: impl FnOnce(&Handle, ThreadId) -> Result<R, JoinError>,
) -> Result<R, c_int> {
    let threads = shared(threads)?;
    let thread = ThreadId::from_bits(thread).ok_or(code::STALE)?;
    inside(&threads.handle, thread).map_err(|error| not_joined(&error))
}

fn not_started(error: &RuntimeError) -> c_int {
    match error {
        RuntimeError::Start { error, .. } => error.raw_os_error().map_or(code::AGAIN, |number| -number),
        _ => code::INVALID,
    }
}

fn not_created(error: &CreateError) -> c_int {
    match error {
        CreateError::Stack { .. } | CreateError::Guard { .. } | CreateError::Name => code::INVALID,
        CreateError::OutOfMemory => code::NO_MEMORY,
        CreateError::Closed | CreateError::Forked | CreateError::NoManager => code::ENDING,
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

/// What a runtime is created with. `usize::MAX`: the library's choice.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tw_threads_attr {
    /// For the M:N model.
    pub workers: usize,
    /// In bytes.
    pub stack_size: usize,
    /// In bytes.
    pub guard_size: usize,
    /// For the M:N model.
    pub kept_stacks: usize,
}

impl tw_threads_attr {
    const DEFAULT: Self =
        Self { workers: usize::MAX, stack_size: usize::MAX, guard_size: usize::MAX, kept_stacks: usize::MAX };
}

/// The settings, changed by a number that is not the library's choice.
fn with<S>(settings: S, number: usize, change: impl FnOnce(S, usize) -> S) -> S {
    if number == usize::MAX { settings } else { change(settings, number) }
}

fn model(number: c_int, attr: &tw_threads_attr) -> Result<Model, c_int> {
    let (stack, guard) = (attr.stack_size, attr.guard_size);
    match number {
        TW_MODEL_ONE_TO_ONE => {
            let settings = with(OneToOne::new(), stack, OneToOne::stack);
            Ok(Model::OneToOne(with(settings, guard, OneToOne::guard)))
        }
        TW_MODEL_MN => {
            let settings = with(ManyToMany::new(), attr.workers, ManyToMany::workers);
            let settings = with(settings, stack, ManyToMany::stack);
            let settings = with(settings, guard, ManyToMany::guard);
            Ok(Model::ManyToMany(with(settings, attr.kept_stacks, ManyToMany::keep)))
        }
        TW_MODEL_MANAGER => {
            let settings = with(Manager::new(), stack, Manager::stack);
            Ok(Model::Manager(with(settings, guard, Manager::guard)))
        }
        _ => Err(code::INVALID),
    }
}

/// # Safety
/// `threads` is null or a place, and `attr` null or attributes, by the header's contract.
unsafe fn start(
    threads: *mut *mut tw_threads,
    number: c_int,
    attr: *const tw_threads_attr,
) -> Result<c_int, c_int> {
    // SAFETY: the caller's word.
    unsafe { begin(threads) }?;
    // SAFETY: the caller's word.
    let attr = if attr.is_null() { &tw_threads_attr::DEFAULT } else { unsafe { borrowed(attr) }? };
    let runtime = Runtime::new(model(number, attr)?).map_err(|error| not_started(&error))?;
    let (handle, runtime) = (runtime.handle(), Mutex::new(Some(runtime)));
    let make = |at| tw_threads { state: AtomicU64::new(state(tw_threads::READY, at)), handle, runtime };
    // SAFETY: `begin` has written to it.
    unsafe { create(threads, make) }
}

/// # Safety
/// Null, or attributes by the header's contract.
unsafe fn attributes(attr: *const tw_thread_attr) -> Result<Attributes, c_int> {
    let mut attributes = Attributes::new();
    if attr.is_null() {
        return Ok(attributes);
    }
    // SAFETY: the caller's word.
    let attr = unsafe { borrowed(attr) }?;
    attributes = with(attributes, attr.stack_size, Attributes::stack);
    attributes = with(attributes, attr.guard_size, Attributes::guard);
    if !attr.name.is_null() {
        // SAFETY: a text, by the header's contract; it is copied.
        let name = unsafe { CStr::from_ptr(attr.name) };
        attributes = attributes.name(name.to_str().map_err(|_| code::INVALID)?);
    }
    Ok(attributes.detached(attr.detached != 0))
}

/// The caller's function and argument, on their way to a thread.
struct Body {
    start: unsafe extern "C-unwind" fn(*mut c_void) -> *mut c_void,
    argument: *mut c_void,
}

// SAFETY: by the header's contract the function may be called with the argument on another thread.
unsafe impl Send for Body {}

impl Body {
    fn run(self) -> usize {
        // SAFETY: the caller's function, called as the header says, with no lock held.
        code::contained(|| unsafe { (self.start)(self.argument) }).expose_provenance()
    }
}

/// What a join answers.
///
/// # Safety
/// `value` is null or a place by the header's contract.
unsafe fn joined(
    threads: *const tw_threads,
    thread: u64,
    value: *mut *mut c_void,
    join: impl FnOnce(&Handle, ThreadId) -> Result<usize, JoinError>,
) -> c_int {
    let left = || about(threads, thread, join).map(core::ptr::with_exposed_provenance_mut);
    // SAFETY: the caller's word.
    unsafe { answer::value(value, left) }
}

/// Who calls.
#[unsafe(no_mangle)]
pub extern "C" fn tw_thread_self() -> u64 {
    this_thread::current().map_or(0, ThreadId::to_bits)
}

/// Whether two ids are one.
#[unsafe(no_mangle)]
pub extern "C" fn tw_thread_equal(one: u64, other: u64) -> c_int {
    c_int::from(one == other)
}

/// Lets others run.
#[unsafe(no_mangle)]
pub extern "C" fn tw_thread_yield() {
    this_thread::yield_now();
}

/// Waits.
#[unsafe(no_mangle)]
pub extern "C" fn tw_thread_sleep(ns: u64) {
    this_thread::sleep(Duration::from_nanos(ns));
}

/// Waits to be told to go on.
#[unsafe(no_mangle)]
pub extern "C" fn tw_thread_park() {
    this_thread::park();
}

exported!(
    /// Starts a runtime.
    fn tw_threads_create(threads: *mut *mut tw_threads, model: c_int, workers: usize) -> c_int {
        let attr = tw_threads_attr { workers, ..tw_threads_attr::DEFAULT };
        // SAFETY: the header's contract.
        answer::code(|| unsafe { start(threads, model, &raw const attr) })
    }

    /// Attributes that leave everything to the library.
    fn tw_threads_attr_init(attr: *mut tw_threads_attr) -> c_int {
        // SAFETY: the header's contract.
        unsafe { answer::fresh(attr, tw_threads_attr::DEFAULT) }
    }

    /// Starts a runtime with attributes.
    fn tw_threads_create_with(
        threads: *mut *mut tw_threads,
        model: c_int,
        attr: *const tw_threads_attr,
    ) -> c_int {
        // SAFETY: the header's contract.
        answer::code(|| unsafe { start(threads, model, attr) })
    }

    /// Waits for all threads, and ends the runtime.
    fn tw_threads_destroy(threads: *mut tw_threads) -> c_int {
        answer::code(|| {
            if threads.is_null() {
                return Ok(0);
            }
            let ending = shared(threads)?;
            if this_thread::handle().is_some_and(|own| own.is_same(&ending.handle)) {
                return Err(code::DEADLOCK);
            }
            end(ending)?;
            // Waits for its threads, which use the rest until they end.
            let runtime = ending.runtime.lock().unwrap_or_else(PoisonError::into_inner).take();
            drop(runtime);
            // SAFETY: 1. from `create`; 2. no longer used: no thread is left, and the rest is the
            // header's contract.
            unsafe { destroy(threads) };
            Ok(0)
        })
    }

    /// How many threads there are.
    fn tw_threads_live(threads: *const tw_threads) -> isize {
        answer::count(|| Ok(shared(threads)?.handle.live()))
    }

    /// The time by the runtime's clock.
    fn tw_threads_now(threads: *const tw_threads, ns: *mut u64) -> c_int {
        // SAFETY: the header's contract.
        unsafe { answer::value(ns, || Ok(shared(threads)?.handle.now().as_nanos())) }
    }

    /// Attributes that leave everything to the runtime.
    fn tw_thread_attr_init(attr: *mut tw_thread_attr) -> c_int {
        let (stack_size, guard_size) = (usize::MAX, usize::MAX);
        // SAFETY: the header's contract.
        unsafe {
            answer::fresh(
                attr,
                tw_thread_attr { stack_size, guard_size, name: core::ptr::null(), detached: 0 },
            )
        }
    }

    /// Creates a thread.
    fn tw_thread_create(
        threads: *mut tw_threads,
        thread: *mut u64,
        attr: *const tw_thread_attr,
        start: tw_thread_fn,
        argument: *mut c_void,
    ) -> c_int {
        let create = || {
            let runtime = &shared(threads)?.handle;
            let body = Body { start: start.ok_or(code::INVALID)?, argument };
            // SAFETY: the header's contract.
            let attributes = unsafe { attributes(attr) }?;
            let created = runtime.create(&attributes, move || body.run());
            created.map(ThreadId::to_bits).map_err(|error| not_created(&error))
        };
        // SAFETY: the header's contract.
        unsafe { answer::value(thread, create) }
    }

    /// Waits for a thread to end.
    fn tw_thread_join(threads: *mut tw_threads, thread: u64, value: *mut *mut c_void) -> c_int {
        // SAFETY: the header's contract.
        unsafe { joined(threads, thread, value, Handle::join) }
    }

    /// The same without waiting.
    fn tw_thread_tryjoin(threads: *mut tw_threads, thread: u64, value: *mut *mut c_void) -> c_int {
        // SAFETY: the header's contract.
        unsafe { joined(threads, thread, value, Handle::try_join) }
    }

    /// The same until a time.
    fn tw_thread_timedjoin(
        threads: *mut tw_threads,
        thread: u64,
        value: *mut *mut c_void,
        until_ns: u64,
    ) -> c_int {
        let until = Instant::from_nanos(until_ns);
        // SAFETY: the header's contract.
        unsafe { joined(threads, thread, value, |runtime, thread| runtime.join_until(thread, until)) }
    }

    /// Nobody will join the thread.
    fn tw_thread_detach(threads: *mut tw_threads, thread: u64) -> c_int {
        answer::code(|| about(threads, thread, Handle::detach).map(|()| 0))
    }

    /// Ends a thread's park.
    fn tw_thread_unpark(threads: *mut tw_threads, thread: u64) -> c_int {
        answer::code(|| about(threads, thread, Handle::unpark).map(|()| 0))
    }

    /// Where the caller's stack is.
    fn tw_thread_stack(lowest: *mut *mut c_void, size: *mut usize) -> c_int {
        let Some(stack) = this_thread::stack() else { return 0 };
        // SAFETY: the header's contract.
        unsafe { put(lowest, core::ptr::with_exposed_provenance_mut(stack.start)) };
        // SAFETY: the header's contract.
        unsafe { put(size, stack.len()) };
        1
    }
);
