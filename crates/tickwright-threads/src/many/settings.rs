//! The settings of the M:N model.

use std::sync::Arc;
use std::thread;

use tickwright::clock::Clock;

use crate::clock::AnyClock;
use crate::record::MOST_SHARDS;
use crate::registry::Dictionary;
use crate::setters::setters;

/// The guard of a stack. Compilers that do not probe step over one page with a frame of two, into
/// the neighbor's stack.
const GUARD: usize = 64 << 10;

/// What NGPT did at each step of a thread's life, one by one, and what we do. [`Knobs::ours`] has
/// none of it, [`Knobs::ngpt`] all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Knobs {
    /// One lock around the queues of all workers, instead of a queue for each. A thread that has
    /// begun stays with its worker all the same.
    pub global_queue: bool,
    /// A system call for the signal mask at every switch, as `swapcontext` makes it.
    pub sigmask_per_switch: bool,
    /// Sleeping workers are woken by a byte in a pipe, instead of a futex.
    pub pipe_wake: bool,
    /// A thread that was given no name gets one with the time in it.
    pub format_names: bool,
    /// Stacks have a guard. NGPT's had none.
    pub guard: bool,
    /// Stacks of ended threads are used again. Otherwise each thread has a mapping made and given
    /// back.
    pub recycle_stacks: bool,
}

impl Knobs {
    /// The way of this library: a guard, recycled stacks, and nothing else.
    #[must_use]
    pub const fn ours() -> Self {
        Self {
            global_queue: false,
            sigmask_per_switch: false,
            pipe_wake: false,
            format_names: false,
            guard: true,
            recycle_stacks: true,
        }
    }

    /// The way of NGPT 2.2: one queue, a signal mask at every switch, pipes, names, no guard.
    #[must_use]
    pub const fn ngpt() -> Self {
        Self {
            global_queue: true,
            sigmask_per_switch: true,
            pipe_wake: true,
            format_names: true,
            guard: false,
            recycle_stacks: false,
        }
    }
}

impl Default for Knobs {
    fn default() -> Self {
        Self::ours()
    }
}

/// Settings of the M:N model: threads are stacks of their own, and workers run them.
///
/// ```
/// use tickwright_threads::{Attributes, ManyToMany, Model, Runtime};
///
/// let runtime = Runtime::new(Model::ManyToMany(ManyToMany::new().workers(2).sleepers("wheel")))?;
/// let thread = runtime.create(&Attributes::new(), || 42)?;
/// assert_eq!(runtime.join(thread).ok(), Some(42));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ManyToMany {
    pub(super) workers: Option<usize>,
    pub(super) stack: usize,
    pub(super) guard: usize,
    pub(super) keep: usize,
    pub(super) most_stacks: usize,
    pub(super) knobs: Knobs,
    pub(super) portable: bool,
    pub(super) dictionary: Dictionary,
    pub(super) sleepers: String,
    pub(super) clock: AnyClock,
}

impl Default for ManyToMany {
    fn default() -> Self {
        Self::new()
    }
}

impl ManyToMany {
    /// A worker for each core, stacks of 64 KiB with a guard of 64 KiB, of which a worker
    /// keeps 1024. Then a red-black tree, a 4-ary heap, and the monotonic clock.
    #[must_use]
    pub fn new() -> Self {
        Self {
            workers: None,
            stack: 64 << 10,
            guard: GUARD,
            keep: 1024,
            most_stacks: usize::MAX,
            knobs: Knobs::ours(),
            portable: cfg!(any(miri, tickwright_portable)),
            dictionary: Dictionary::RedBlack,
            sleepers: String::from("heap4"),
            clock: AnyClock::default(),
        }
    }

    setters! {
        /// How many workers there are: 1 to 255.
        workers(self, workers: usize) { self.workers = Some(workers) }

        /// The stack of threads that do not ask for another, in bytes.
        stack(self, bytes: usize) { self.stack = bytes }

        /// The guard of threads that do not ask for another, in bytes; 0: none. It is 0 with
        /// [`Knobs::guard`] turned off.
        guard(self, bytes: usize) { self.guard = bytes }

        /// How many free stacks each worker caches. A second cache is shared by all workers: it
        /// holds stacks of other sizes, and those of threads that were created elsewhere. It keeps
        /// at most as many stacks, of at most 8 sizes. They take at most as much memory as that
        /// many stacks of the runtime's size.
        keep(self, stacks: usize) { self.keep = stacks }

        /// How many stacks there are at most, used or kept. Creating a thread beyond them is an
        /// error.
        most_stacks(self, stacks: usize) { self.most_stacks = stacks }

        /// What is done as NGPT did it.
        knobs(self, knobs: Knobs) { self.knobs = knobs }

        /// Stacks are kernel threads that hand a baton on, instead of being switched: slow, for
        /// tools that cannot follow the switch. Everything above it is the same code.
        portable(self, portable: bool) { self.portable = portable }

        /// What threads are registered in.
        dictionary(self, dictionary: Dictionary) { self.dictionary = dictionary }

        /// Which structure sleeping threads wait in: the id of a
        /// [family](tickwright_core::for_each_family), such as `rb` or `wheel`.
        sleepers(self, family: &str) { self.sleepers = family.into() }

        /// The clock that its threads sleep by.
        clock(self, clock: impl Clock + 'static) { self.clock = AnyClock(Arc::new(clock)) }
    }

    pub(super) fn count(&self) -> usize {
        self.workers.unwrap_or_else(|| {
            thread::available_parallelism().map_or(1, |cores| cores.get().min(MOST_SHARDS - 1))
        })
    }

    /// What its workers allocate when they start, and more, in bytes.
    pub(crate) fn memory(&self) -> usize {
        const WORKER: usize = 8 << 10;
        self.count().min(MOST_SHARDS) * WORKER
    }
}
