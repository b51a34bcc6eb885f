//! One of the platform's threads for each of ours.

use std::sync::Arc;

use tickwright::clock::{Clock, SystemClock};

use super::pthread::{Pthread, Refused, Run, Stacks};
use super::runtime::Kernel;
use super::starter::{Started, Starter};
use crate::attributes::Attributes;
use crate::clock::Timed;
use crate::error::RuntimeError;
use crate::registry::Dictionary;
use crate::threads::Threads;

/// Settings of the one-to-one model: each thread is one of the platform's.
///
/// ```
/// use tickwright_threads::{Attributes, Model, OneToOne, Runtime};
///
/// let runtime = Runtime::new(Model::OneToOne(OneToOne::new()))?;
/// let thread = runtime.create(&Attributes::new(), || 42)?;
/// assert_eq!(runtime.join(thread).ok(), Some(42));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct OneToOne {
    stack: usize,
    guard: usize,
    stacks: Stacks,
    dictionary: Dictionary,
    clock: Arc<dyn Clock>,
}

impl core::fmt::Debug for OneToOne {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Self { stack, guard, stacks, dictionary, clock: _ } = self;
        f.debug_struct("OneToOne")
            .field("stack", stack)
            .field("guard", guard)
            .field("stacks", stacks)
            .field("dictionary", dictionary)
            .finish_non_exhaustive()
    }
}

impl Default for OneToOne {
    fn default() -> Self {
        Self::new()
    }
}

impl OneToOne {
    /// Stacks of 2 MiB from the platform with a guard of a page, a red-black tree, the monotonic
    /// clock.
    #[must_use]
    pub fn new() -> Self {
        Self {
            stack: 2 << 20,
            guard: 4096,
            stacks: Stacks::Platform,
            dictionary: Dictionary::RedBlack,
            clock: Arc::new(SystemClock::Monotonic),
        }
    }

    /// The stack of threads that do not ask for another, in bytes.
    #[must_use]
    pub fn stack(mut self, bytes: usize) -> Self {
        self.stack = bytes;
        self
    }

    /// The guard of threads that do not ask for another, in bytes; 0: none.
    #[must_use]
    pub fn guard(mut self, bytes: usize) -> Self {
        self.guard = bytes;
        self
    }

    /// Where stacks come from.
    #[must_use]
    pub fn stacks(mut self, stacks: Stacks) -> Self {
        self.stacks = stacks;
        self
    }

    /// What threads are registered in.
    #[must_use]
    pub fn dictionary(mut self, dictionary: Dictionary) -> Self {
        self.dictionary = dictionary;
        self
    }

    /// The clock that its threads sleep by.
    #[must_use]
    pub fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    pub(crate) fn start(self) -> Result<Arc<dyn Threads>, RuntimeError> {
        let (pthread, dictionary, timed) = self.parts()?;
        Ok(Kernel::new(Box::new(Direct(pthread)), dictionary, timed))
    }

    /// What a runtime of kernel threads is made of.
    pub(super) fn parts(self) -> Result<(Pthread, Dictionary, Timed), RuntimeError> {
        let defaults = Attributes::new().stack(self.stack).guard(self.guard);
        defaults.check().map_err(RuntimeError::Attributes)?;
        Ok((Pthread::new(self.stack, self.guard, self.stacks), self.dictionary, Timed::by(self.clock)))
    }
}

/// The creator itself starts the thread.
#[derive(Debug)]
struct Direct(Pthread);

impl Starter for Direct {
    fn model(&self) -> &'static str {
        "one-to-one"
    }

    fn stack(&self, attributes: &Attributes) -> usize {
        self.0.sizes(attributes).0
    }

    fn start(&self, attributes: &Attributes, run: Run) -> Result<Option<Started>, Refused> {
        Ok(self.0.start(attributes, run)?.map(Started::Own))
    }

    fn reap(&self, started: Started) {
        if let Started::Own(thread) = started {
            thread.join();
        }
    }

    fn closed(&self) {
        self.0.clear();
    }
}
