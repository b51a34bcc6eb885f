//! The settings of the M:N model: the number of workers, the sizes of stacks, guards and the stack
//! cache, the bound on stacks, the dictionary, and how threads sleep.

use std::sync::Arc;
use std::thread;

use tickwright::time::Clock;

use super::testing::Knobs;
use crate::attributes::setters;
use crate::clock::AnyClock;
use crate::record::MOST_SHARDS;
use crate::registry::RegistryKind;

/// The default guard of a stack, in bytes. In code without stack probes, a frame of two pages can
/// skip a guard of one page and reach the neighboring stack.
const GUARD: usize = 64 << 10;

/// Settings of the M:N model: each thread is a stack, and workers run the stacks.
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
    pub(super) ways: Knobs,
    pub(super) portable: bool,
    pub(super) dictionary: RegistryKind,
    pub(super) sleepers: String,
    pub(super) clock: AnyClock,
}

impl Default for ManyToMany {
    fn default() -> Self {
        Self::new()
    }
}

impl ManyToMany {
    /// Creates the default settings: a worker for each core, and stacks of 64 KiB with guards of 64
    /// KiB. A worker caches up to 1024 unused stacks. Threads are registered in a red-black tree.
    /// Sleeping threads wait in a 4-ary heap, and sleep by the monotonic clock.
    #[must_use]
    pub fn new() -> Self {
        Self {
            workers: None,
            stack: 64 << 10,
            guard: GUARD,
            keep: 1024,
            most_stacks: usize::MAX,
            ways: Knobs::ours(),
            portable: cfg!(any(miri, tickwright_portable)),
            dictionary: RegistryKind::RedBlack,
            sleepers: String::from("heap4"),
            clock: AnyClock::default(),
        }
    }

    setters! {
        /// The number of workers, from 1 to 255.
        workers(self, workers: usize) { self.workers = Some(workers) }

        /// The default size of a thread's stack, in bytes.
        stack(self, bytes: usize) { self.stack = bytes }

        /// The default size of a stack's guard, in bytes. With 0 there is no guard.
        guard(self, bytes: usize) { self.guard = bytes }

        /// How many free stacks each worker caches. All workers share another cache, for stacks of
        /// other sizes and for stacks of threads that were created outside of the runtime. The
        /// shared cache also holds at most this number of stacks, with at most 8 different sizes.
        /// It uses at most as much memory as this number of stacks of the default size.
        keep(self, stacks: usize) { self.keep = stacks }

        /// The largest number of stacks, used or cached. If a new thread would need one more stack,
        /// its creation returns an error.
        most_stacks(self, stacks: usize) { self.most_stacks = stacks }

        /// With `true`, each M:N thread runs on its own kernel thread, and these kernel threads
        /// take turns instead of switching stacks. This is slow, and meant for tools that cannot
        /// follow a switch of stacks. All other code is the same.
        portable(self, portable: bool) { self.portable = portable }

        /// The dictionary in which threads are registered.
        dictionary(self, dictionary: RegistryKind) { self.dictionary = dictionary }

        /// The timer queue of sleeping threads, as the id of its
        /// [family](tickwright_core::for_each_family), such as `rb` or `wheel`.
        sleepers(self, family: &str) { self.sleepers = family.into() }

        /// The clock by which the runtime's threads sleep.
        clock(self, clock: impl Clock + 'static) { self.clock = AnyClock(Arc::new(clock)) }
    }

    /// Selects which steps of a thread's life the runtime does in the way of NGPT instead of its
    /// own way.
    #[cfg(feature = "testing")]
    #[must_use]
    pub fn knobs(mut self, knobs: Knobs) -> Self {
        self.ways = knobs;
        self
    }

    /// Returns the selected steps. Without the feature `testing` no step is done in NGPT's way, and
    /// the compiler removes the code for it.
    #[inline]
    pub(super) const fn ways(&self) -> Knobs {
        if cfg!(feature = "testing") { self.ways } else { Knobs::ours() }
    }

    pub(super) fn count(&self) -> usize {
        self.workers.unwrap_or_else(|| {
            thread::available_parallelism().map_or(1, |cores| cores.get().min(MOST_SHARDS - 1))
        })
    }

    /// Returns an upper bound on what the workers allocate when they start, in bytes.
    pub(crate) fn memory(&self) -> usize {
        const WORKER: usize = 8 << 10;
        self.count().min(MOST_SHARDS) * WORKER
    }
}
