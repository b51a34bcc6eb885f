//! Runtimes, in which threads are created, and their models.

use core::ffi::c_int;
use core::num::NonZero;
use core::sync::atomic::AtomicU64;
use std::sync::{Mutex, PoisonError};

use crate::contract::shared;
use tickwright_boundary::grow::{self, Growing};
use tickwright_boundary::spare::covered;
use tickwright_boundary::state::{Shared, begin, create, destroy, end, state};
use tickwright_boundary::{answer, code, end_of, exported, numbers};
use tickwright_threads::{ManyToMany, Model, OneToOne, Runtime, RuntimeError, RuntimeHandle, this_thread};

/// The number of a model.
pub type tw_model = c_int;

numbers! {
    TW_MODEL_ONE_TO_ONE = 1;
    TW_MODEL_MN = 2;
    TW_MODEL_MANAGER = 3;
}

/// A runtime, in the library's own memory.
#[repr(C)]
#[derive(Debug)]
pub struct tw_runtime {
    state: AtomicU64,
    pub(crate) handle: RuntimeHandle,
    /// `Some` until the runtime is destroyed.
    runtime: Mutex<Option<Runtime>>,
}

// SAFETY: 1. `repr(C)`, the state comes first; 2. no code ever borrows it mutably.
unsafe impl Shared for tw_runtime {
    const READY: u64 = 0x7469_636b_7468_7264;
    const ENDING: u64 = 0x7469_636b_7468_656e;
}

/// The options of a new runtime. If an option is `usize::MAX`, the library chooses the value.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tw_runtime_options {
    /// The size of this struct in bytes.
    pub size: usize,
    /// The number of workers, for the M:N model.
    pub workers: usize,
    /// The size of a thread's stack in bytes.
    pub stack_size: usize,
    /// The size of a stack's guard in bytes.
    pub guard_size: usize,
    /// The number of free stacks that each worker caches, for the M:N model.
    pub kept_stacks: usize,
}

// SAFETY: 1. `repr(C)`, the size comes first; 2. numbers.
unsafe impl Growing for tw_runtime_options {
    const DEFAULT: Self = Self {
        size: size_of::<Self>(),
        workers: usize::MAX,
        stack_size: usize::MAX,
        guard_size: usize::MAX,
        kept_stacks: usize::MAX,
    };
    const LEAST: usize = end_of!(Self, kept_stacks);
}

fn not_started(error: &RuntimeError) -> c_int {
    match error {
        RuntimeError::Start { error, .. } => error.raw_os_error().map_or(code::AGAIN, |number| -number),
        RuntimeError::Unsupported { .. } => code::UNSUPPORTED,
        _ => code::INVALID,
    }
}

/// Calls `change` with the settings and a number, unless the number says that the library chooses
/// the value.
pub(crate) fn with<S>(settings: S, number: usize, change: impl FnOnce(S, usize) -> S) -> S {
    if number == usize::MAX { settings } else { change(settings, number) }
}

fn model(number: tw_model, options: &tw_runtime_options) -> Result<Model, c_int> {
    let (stack, guard) = (options.stack_size, options.guard_size);
    match number {
        TW_MODEL_ONE_TO_ONE => {
            let settings = with(OneToOne::new(), stack, OneToOne::stack);
            Ok(Model::OneToOne(with(settings, guard, OneToOne::guard)))
        }
        TW_MODEL_MN => {
            let settings = with(ManyToMany::new(), options.workers, ManyToMany::workers);
            let settings = with(settings, stack, ManyToMany::stack);
            let settings = with(settings, guard, ManyToMany::guard);
            Ok(Model::ManyToMany(with(settings, options.kept_stacks, ManyToMany::keep)))
        }
        TW_MODEL_MANAGER => Err(code::UNSUPPORTED),
        _ => Err(code::INVALID),
    }
}

/// The largest number of workers of a runtime.
const MOST_WORKERS: usize = 255;

/// Returns how many workers a runtime of the given model will have.
///
/// # Errors
/// [`code::NO_MEMORY`]: the standard library reads files to count the processors.
fn workers(number: tw_model, options: &tw_runtime_options) -> Result<usize, c_int> {
    match (number, options.workers) {
        (TW_MODEL_MN, usize::MAX) => covered(&[(2, 1 << 14), (16, 1 << 10)], || {
            std::thread::available_parallelism().map_or(1, NonZero::get).min(MOST_WORKERS)
        }),
        (TW_MODEL_MN, workers) => Ok(workers),
        _ => Ok(1),
    }
}

exported!(
    /// Sets all options to their defaults.
    fn tw_runtime_options_init(options: *mut tw_runtime_options, size: usize) -> c_int {
        // SAFETY: the header's contract.
        unsafe { grow::initialize(options, size) }
    }

    /// Starts a runtime.
    fn tw_runtime_create(
        runtime: *mut *mut tw_runtime,
        number: tw_model,
        options: *const tw_runtime_options,
    ) -> c_int {
        answer::code(|| {
            // SAFETY: the header's contract.
            unsafe { begin(runtime) }?;
            let mut options = if options.is_null() {
                tw_runtime_options::DEFAULT
            } else {
                // SAFETY: the header's contract.
                unsafe { grow::read(options) }?
            };
            options.workers = workers(number, &options)?;
            // These are the blocks of memory for the registry and the workers' queues. Each worker
            // also needs several small blocks.
            let workers = options.workers.min(MOST_WORKERS);
            let blocks = [(2, 1 << 17), (2, 1 << 13), (4 + workers, 1 << 12), (48 + 24 * workers, 512)];
            let start = || Runtime::new(model(number, &options)?).map_err(|error| not_started(&error));
            let started = covered(&blocks, start)??;
            let (handle, started) = (started.handle(), Mutex::new(Some(started)));
            let make = |at| tw_runtime {
                state: AtomicU64::new(state(tw_runtime::READY, at)),
                handle,
                runtime: started,
            };
            // SAFETY: `begin` has written to `runtime`.
            unsafe { create(runtime, make) }
        })
    }

    /// Waits until all threads have ended, and ends the runtime.
    fn tw_runtime_destroy(runtime: *mut tw_runtime) -> c_int {
        answer::code(|| {
            if runtime.is_null() {
                return Ok(0);
            }
            let ending = shared(runtime)?;
            if this_thread::handle().is_some_and(|own| own.is_same(&ending.handle)) {
                return Err(code::DEADLOCK);
            }
            end(ending)?;
            // Dropping the runtime waits for its threads, which use the other fields until they
            // end.
            let taken = ending.runtime.lock().unwrap_or_else(PoisonError::into_inner).take();
            drop(taken);
            // SAFETY: 1. the object is from `create`; 2. it is no longer used: no thread of it is
            // left, and the header's contract excludes other uses.
            unsafe { destroy(runtime) };
            Ok(0)
        })
    }

    /// Returns the number of threads.
    fn tw_runtime_len(runtime: *const tw_runtime) -> isize {
        answer::count(|| Ok(shared(runtime)?.handle.live()))
    }

    /// Writes the time of the runtime's clock.
    fn tw_runtime_now(runtime: *const tw_runtime, ns: *mut u64) -> c_int {
        // SAFETY: the header's contract.
        unsafe { answer::value(ns, || Ok(shared(runtime)?.handle.now().as_nanos())) }
    }
);
