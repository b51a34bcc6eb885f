//! The future [`Timeout`], which is cancelled at a deadline.

use core::fmt;
use core::future::{Future, IntoFuture};
use core::pin::Pin;
use core::task::{Context, Poll};
use std::io;

use pin_project_lite::pin_project;

use crate::sleep::Sleep;
use crate::time::Instant;

/// The error that the deadline passed before the future was ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Elapsed(pub(crate) ());

impl fmt::Display for Elapsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the deadline has passed: allow more time, or try again")
    }
}

impl core::error::Error for Elapsed {}

/// Converts the error to an I/O error of the kind [`TimedOut`](io::ErrorKind::TimedOut).
impl From<Elapsed> for io::Error {
    fn from(elapsed: Elapsed) -> Self {
        Self::new(io::ErrorKind::TimedOut, elapsed)
    }
}

pin_project! {
    /// A future with a deadline. [`Timers::timeout`](crate::Timers::timeout) and
    /// [`Timers::timeout_at`](crate::Timers::timeout_at) return it.
    ///
    /// Each poll first polls the inner future and then checks the deadline, so an inner future that
    /// becomes ready at the deadline still succeeds. The timer is armed only if the inner future is
    /// pending.
    #[must_use = "a time-out does nothing unless it is awaited"]
    #[derive(Debug)]
    pub struct Timeout<F> {
        #[pin]
        value: F,
        sleep: Sleep,
    }
}

impl<F> Timeout<F> {
    #[inline]
    pub(crate) fn new(future: impl IntoFuture<IntoFuture = F>, sleep: Sleep) -> Self
    where
        F: Future,
    {
        Self { value: future.into_future(), sleep }
    }

    /// Returns a reference to the inner future.
    pub fn get_ref(&self) -> &F {
        &self.value
    }

    /// Returns a mutable reference to the inner future.
    pub fn get_mut(&mut self) -> &mut F {
        &mut self.value
    }

    /// Returns the inner future, without the deadline.
    pub fn into_inner(self) -> F {
        self.value
    }

    /// Returns the instant at which the future is cancelled.
    #[must_use]
    pub fn deadline(&self) -> Instant {
        self.sleep.deadline()
    }
}

impl<F: Future> Future for Timeout<F> {
    type Output = Result<F::Output, Elapsed>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        if let Poll::Ready(value) = this.value.poll(cx) {
            return Poll::Ready(Ok(value));
        }
        Pin::new(this.sleep).poll(cx).map(|()| Err(Elapsed(())))
    }
}
