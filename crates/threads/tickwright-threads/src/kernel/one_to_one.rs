//! The settings of the one-to-one model, in which each of our threads is a thread of the platform:
//! stacks, guard, dictionary and clock.

use std::sync::Arc;

use tickwright::time::Clock;

use super::pthread::Pthread;
use super::runtime::Kernel;
use crate::attributes::{Attributes, Stacks, setters};
use crate::clock::{AnyClock, Timekeeper};
use crate::error::RuntimeError;
use crate::registry::RegistryKind;
use crate::threads::Threads;

/// Settings of the one-to-one model, in which each thread is a thread of the platform.
///
/// ```
/// use tickwright_threads::{Attributes, Model, OneToOne, Runtime};
///
/// let runtime = Runtime::new(Model::OneToOne(OneToOne::new()))?;
/// let thread = runtime.create(&Attributes::new(), || 42)?;
/// assert_eq!(runtime.join(thread).ok(), Some(42));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct OneToOne {
    stack: usize,
    guard: usize,
    stacks: Stacks,
    dictionary: RegistryKind,
    clock: AnyClock,
}

impl Default for OneToOne {
    fn default() -> Self {
        Self::new()
    }
}

impl OneToOne {
    /// Creates the default settings: stacks of 2 MiB that the platform allocates, guards of one
    /// page, a red-black tree as dictionary, and the monotonic clock.
    #[must_use]
    pub fn new() -> Self {
        Self {
            stack: 2 << 20,
            guard: 4096,
            stacks: Stacks::Platform,
            dictionary: RegistryKind::RedBlack,
            clock: AnyClock::default(),
        }
    }

    setters! {
        /// The default size of a thread's stack, in bytes.
        stack(self, bytes: usize) { self.stack = bytes }

        /// The default size of a stack's guard, in bytes. With 0 there is no guard.
        guard(self, bytes: usize) { self.guard = bytes }

        /// How the stacks are allocated.
        stacks(self, stacks: Stacks) { self.stacks = stacks }

        /// The dictionary in which threads are registered.
        dictionary(self, dictionary: RegistryKind) { self.dictionary = dictionary }

        /// The clock by which the runtime's threads sleep.
        clock(self, clock: impl Clock + 'static) { self.clock = AnyClock(Arc::new(clock)) }
    }

    pub(crate) fn start(self) -> Result<Arc<dyn Threads>, RuntimeError> {
        let defaults = Attributes::new().stack(self.stack).guard(self.guard);
        defaults.check().map_err(RuntimeError::Attributes)?;
        if cfg!(not(unix)) && self.stacks != Stacks::Platform {
            let what = "a stack of the library's for a kernel thread";
            return Err(RuntimeError::Unsupported { what, instead: "take Stacks::Platform" });
        }
        let pthread = Pthread::new(self.stack, self.guard, self.stacks);
        Ok(Kernel::new(pthread, self.dictionary, Timekeeper::new(self.clock)))
    }
}
