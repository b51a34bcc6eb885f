//! What a scheduler calls: a plain function with data, a boxed closure, or a type of the user's.

use core::fmt;
use core::time::Duration;

use super::Scheduler;
use crate::service::{Next, TimerId};

/// A callback. It runs without any lock held, on the thread that runs the queue, one at a time per
/// scheduler; it may use every operation of the scheduler except those that would wait for itself,
/// which are refused.
pub trait Callback: Send + Sized {
    /// Runs it. What it answers decides whether and when it runs again.
    fn call(&mut self, firing: &Firing<'_, Self>) -> Next;
}

/// What a callback is told.
pub struct Firing<'a, C: Callback> {
    pub(super) scheduler: &'a Scheduler<C>,
    pub(super) id: TimerId,
    pub(super) token: usize,
    pub(super) due: u64,
    pub(super) now: u64,
    pub(super) overruns: u64,
}

impl<'a, C: Callback> Firing<'a, C> {
    /// The scheduler that runs it.
    #[must_use]
    pub fn scheduler(&self) -> &'a Scheduler<C> {
        self.scheduler
    }

    /// The id of the timer.
    #[must_use]
    pub fn id(&self) -> TimerId {
        self.id
    }

    /// The user's token.
    #[must_use]
    pub fn token(&self) -> usize {
        self.token
    }

    /// When it was due, in ns of the clock's steady timeline. A timer on a grid that has missed
    /// periods is due at the last of them.
    #[must_use]
    pub fn due(&self) -> u64 {
        self.due
    }

    /// The time when it was called, in ns.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.now
    }

    /// How late it is.
    #[must_use]
    pub fn lateness(&self) -> Duration {
        Duration::from_nanos(self.now.saturating_sub(self.due))
    }

    /// How many of its periods have passed beside the one that it is run for.
    #[must_use]
    pub fn overruns(&self) -> u64 {
        self.overruns
    }
}

impl<C: Callback> fmt::Debug for Firing<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Firing")
            .field("id", &self.id)
            .field("due", &self.due)
            .field("now", &self.now)
            .field("overruns", &self.overruns)
            .finish_non_exhaustive()
    }
}

/// A plain function with its data. Adding one allocates nothing.
#[derive(Clone, Copy)]
pub struct Plain<T: Send> {
    call: fn(&mut T, &Firing<'_, Self>) -> Next,
    data: T,
}

impl<T: Send> Plain<T> {
    /// `call` is called with `data`.
    pub const fn new(data: T, call: fn(&mut T, &Firing<'_, Self>) -> Next) -> Self {
        Self { call, data }
    }

    /// The data.
    pub const fn data(&self) -> &T {
        &self.data
    }

    /// The data, and the end of the callback.
    pub fn into_data(self) -> T {
        self.data
    }
}

impl<T: Send> Callback for Plain<T> {
    fn call(&mut self, firing: &Firing<'_, Self>) -> Next {
        (self.call)(&mut self.data, firing)
    }
}

impl<T: Send + fmt::Debug> fmt::Debug for Plain<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plain").field("data", &self.data).finish_non_exhaustive()
    }
}

type Closure = dyn FnMut(&Firing<'_, Boxed>) -> Next + Send;

/// A closure in a box: one allocation for each that owns anything.
pub struct Boxed(Box<Closure>);

impl Boxed {
    /// Boxes a closure.
    pub fn new(call: impl FnMut(&Firing<'_, Self>) -> Next + Send + 'static) -> Self {
        Self(Box::new(call))
    }

    /// Boxes a closure that runs once.
    pub fn once(call: impl FnOnce(&Firing<'_, Self>) + Send + 'static) -> Self {
        let mut call = Some(call);
        Self::new(move |firing| {
            if let Some(call) = call.take() {
                call(firing);
            }
            Next::Done
        })
    }
}

impl Callback for Boxed {
    fn call(&mut self, firing: &Firing<'_, Self>) -> Next {
        (self.0)(firing)
    }
}

impl fmt::Debug for Boxed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Boxed")
    }
}
