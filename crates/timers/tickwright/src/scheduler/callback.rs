//! The callbacks of a scheduler: a plain function with data, a boxed closure, or a type that the
//! user defines.

use core::fmt;

use super::lock::{Access, Local, Shared};
use super::results::{Due, Next};
use super::scheduler::Scheduler;

/// A callback. The scheduler holds no lock while it calls the callback on the thread that runs the
/// queue. At any time at most one callback of a scheduler runs. The callback can use every
/// operation of the scheduler, but operations that would wait for this callback return an error.
pub trait Callback<L: Access = Shared>: Sized {
    /// Runs the callback. Its result decides whether and when it runs again.
    fn call(&mut self, firing: &Firing<'_, Self, L>) -> Next;

    /// Returns a number that groups timers: [`cancel_matching`](Scheduler::cancel_matching) cancels
    /// all timers whose callbacks return the same number. The scheduler calls this method under its
    /// lock, so the method must not call the scheduler.
    fn token(&self) -> usize {
        0
    }
}

/// A run of a callback: the times of the run, and the scheduler.
pub type Firing<'a, C, L = Shared> = Due<&'a Scheduler<C, L>>;

impl<'a, C, L: Access> Firing<'a, C, L> {
    /// Returns the scheduler that runs the callback.
    #[must_use]
    pub fn scheduler(&self) -> &'a Scheduler<C, L> {
        self.payload
    }
}

/// A plain function with its data. Adding such a callback allocates nothing.
#[derive(Clone, Copy, Debug)]
pub struct Plain<T, L: Access = Shared> {
    call: fn(&mut T, &Firing<'_, Self, L>) -> Next,
    data: T,
}

impl<T, L: Access> Plain<T, L> {
    /// Creates a callback that calls `call` with `data`.
    pub const fn new(data: T, call: fn(&mut T, &Firing<'_, Self, L>) -> Next) -> Self {
        Self { call, data }
    }

    /// Returns the data.
    pub const fn data(&self) -> &T {
        &self.data
    }

    /// Converts the callback into its data.
    pub fn into_data(self) -> T {
        self.data
    }
}

impl<T, L: Access> Callback<L> for Plain<T, L> {
    fn call(&mut self, firing: &Firing<'_, Self, L>) -> Next {
        (self.call)(&mut self.data, firing)
    }
}

/// The trait of the closures that a [`Boxed`] holds.
pub trait Closure<L: Boxing> {
    fn call(&mut self, firing: &Firing<'_, Boxed<L>, L>) -> Next;

    fn token(&self) -> usize {
        0
    }
}

struct Tagged<F> {
    call: F,
    token: usize,
}

impl<L: Boxing, F: FnMut(&Firing<'_, Boxed<L>, L>) -> Next> Closure<L> for F {
    fn call(&mut self, firing: &Firing<'_, Boxed<L>, L>) -> Next {
        self(firing)
    }
}

impl<L: Boxing, F: FnMut(&Firing<'_, Boxed<L>, L>) -> Next> Closure<L> for Tagged<F> {
    fn call(&mut self, firing: &Firing<'_, Boxed<L>, L>) -> Next {
        (self.call)(firing)
    }

    fn token(&self) -> usize {
        self.token
    }
}

/// A type that a closure can return: a [`Next`], or nothing.
pub trait IntoNext {
    /// Converts the closure's result. If the closure returned nothing, the result is `otherwise`.
    fn into_next(self, otherwise: Next) -> Next;
}

impl IntoNext for Next {
    fn into_next(self, _: Next) -> Next {
        self
    }
}

impl IntoNext for () {
    fn into_next(self, otherwise: Next) -> Next {
        otherwise
    }
}

/// A closure that returns a [`Next`] or nothing. If it returns nothing, it runs again if `AGAIN` is
/// true.
#[derive(Debug)]
pub struct Returning<F, const AGAIN: bool>(F);

impl<L, F, R, const AGAIN: bool> Closure<L> for Returning<F, AGAIN>
where
    L: Boxing,
    F: FnMut(&Firing<'_, Boxed<L>, L>) -> R,
    R: IntoNext,
{
    fn call(&mut self, firing: &Firing<'_, Boxed<L>, L>) -> Next {
        self.0(firing).into_next(if AGAIN { Next::Again } else { Next::Done })
    }
}

/// The type of a scheduler's closures. The closures of a shared scheduler are `Send`.
pub trait Boxing: Access {
    type Closure: Closure<Self> + ?Sized;
}

/// An [`Access`] whose schedulers accept closures of type `F`.
pub trait Boxes<F>: Boxing {
    fn boxed(call: F) -> Box<Self::Closure>;
}

impl<F: Closure<Self> + Send + 'static> Boxes<F> for Shared {
    fn boxed(call: F) -> Box<Self::Closure> {
        Box::new(call)
    }
}

impl<F: Closure<Self> + 'static> Boxes<F> for Local {
    fn boxed(call: F) -> Box<Self::Closure> {
        Box::new(call)
    }
}

impl Boxing for Shared {
    type Closure = dyn Closure<Self> + Send;
}

impl Boxing for Local {
    type Closure = dyn Closure<Self>;
}

/// A closure in a box. The box is one allocation, or none if the closure captures nothing.
pub struct Boxed<L: Boxing = Shared>(Box<L::Closure>);

impl Boxed {
    /// Boxes a closure.
    pub fn new(call: impl FnMut(&Firing<'_, Self>) -> Next + Send + 'static) -> Self {
        Self(Box::new(call))
    }

    /// Boxes a closure with a [token](Callback::token).
    pub fn with_token(token: usize, call: impl FnMut(&Firing<'_, Self>) -> Next + Send + 'static) -> Self {
        Self(Box::new(Tagged { call, token }))
    }

    /// Boxes a closure that runs once. It returns [`Next::Done`] even for a timer with a period. If
    /// a kept timer with such a closure is started again, nothing runs. Use [`new`](Self::new) for
    /// a closure that runs several times.
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

impl Boxed<Local> {
    /// Boxes a closure for a [`LocalScheduler`](super::LocalScheduler). It need not be `Send`.
    pub fn local(call: impl FnMut(&Firing<'_, Self, Local>) -> Next + 'static) -> Self {
        Self(Box::new(call))
    }
}

impl<L: Boxing> Boxed<L> {
    /// Boxes a closure that returns a [`Next`] or nothing. If it returns nothing, it runs again if
    /// `AGAIN` is true.
    pub(super) fn returning<F, const AGAIN: bool>(call: F) -> Self
    where
        L: Boxes<Returning<F, AGAIN>>,
    {
        Self(L::boxed(Returning(call)))
    }
}

impl<L: Boxing> Callback<L> for Boxed<L> {
    fn call(&mut self, firing: &Firing<'_, Self, L>) -> Next {
        self.0.call(firing)
    }

    fn token(&self) -> usize {
        self.0.token()
    }
}

impl<L: Boxing> fmt::Debug for Boxed<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Boxed")
    }
}
