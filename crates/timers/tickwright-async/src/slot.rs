//! A deadline for repeated use, for example by one connection.

use core::fmt;
use core::future::{Future, IntoFuture};
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;

use pin_project_lite::pin_project;

use crate::node::Core;
use crate::owner::Owner;
use crate::pool;
use crate::sync::Arc;
use crate::time::{Instant, instant, nanos, nanos_at};
use crate::timeout::Elapsed;

/// A deadline that is used again and again, for example one for each connection.
///
/// Between two operations, the slot's timer stays in its queue and keeps the waker of the task, so
/// an operation with a time-out costs two atomic exchanges and no lock. Only two cases take a lock:
/// if the deadline is before the timer's filed tick, or if that tick passed while the slot was not
/// in use.
///
/// ```
/// use core::time::Duration;
/// use tickwright_async::{Elapsed, TestClock};
///
/// let clock = TestClock::new();
/// let timers = clock.timers();
/// let answered = clock.block_on(async {
///     let mut slot = timers.slot();
///     for _ in 0..1000 {
///         slot.timeout(Duration::from_secs(5), timers.sleep(Duration::from_secs(1))).await?;
///     }
///     slot.timeout(Duration::from_secs(5), core::future::pending::<()>()).await
/// });
/// assert!(answered.is_err(), "the last one was given up");
/// assert!(timers.report().locks < 4000);
/// ```
pub struct Slot {
    owner: Owner,
    is_set: bool,
}

pin_project! {
    /// A future whose deadline is in a [`Slot`]. [`Slot::timeout`] returns it.
    #[must_use = "a time-out does nothing unless it is awaited"]
    #[derive(Debug)]
    pub struct SlotTimeout<'a, F> {
        #[pin]
        value: F,
        slot: &'a mut Slot,
    }

    impl<F> PinnedDrop for SlotTimeout<'_, F> {
        fn drop(this: Pin<&mut Self>) {
            this.project().slot.clear();
        }
    }
}

impl Slot {
    pub(crate) fn new(core: &Arc<Core>) -> Self {
        Self { owner: Owner::of(pool::take(core, 0), u64::MAX, false), is_set: false }
    }

    /// Records the caller's line as the place where the slot was created.
    #[cfg_attr(feature = "sites", track_caller)]
    pub(crate) fn sited(self) -> Self {
        self.owner.note_site();
        self
    }

    /// Runs a future, and cancels it if it is not ready after a duration. The future is polled
    /// before the deadline is checked.
    #[inline]
    pub fn timeout<F: IntoFuture>(
        &mut self,
        duration: Duration,
        future: F,
    ) -> SlotTimeout<'_, F::IntoFuture> {
        self.set_after(duration);
        SlotTimeout { value: future.into_future(), slot: self }
    }

    /// Runs a future, and cancels it if it is not ready at an instant. This call does not read the
    /// clock.
    #[inline]
    pub fn timeout_at<F: IntoFuture>(
        &mut self,
        deadline: Instant,
        future: F,
    ) -> SlotTimeout<'_, F::IntoFuture> {
        self.set(deadline);
        SlotTimeout { value: future.into_future(), slot: self }
    }

    /// Sets the deadline, or moves it. A task that is waiting continues to wait, now for the new
    /// deadline. This call does not read the clock. If the deadline has already passed, the driver
    /// fires the timer.
    #[inline]
    pub fn set(&mut self, deadline: Instant) {
        self.is_set = true;
        self.owner.reset_ahead(nanos_at(deadline), false);
    }

    /// Sets the deadline to a duration from now.
    #[inline]
    pub fn set_after(&mut self, duration: Duration) {
        if let Some(core) = self.owner.core() {
            let deadline = core.time.now().saturating_add(nanos(duration));
            self.is_set = true;
            self.owner.reset_ahead(deadline, duration.is_zero());
        }
    }

    /// Clears the deadline. The timer stays in its queue, where the next deadline can use it again.
    #[inline]
    pub fn clear(&mut self) {
        self.is_set = false;
        self.owner.disarm();
    }

    /// Returns the deadline, if it is set.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.is_set.then(|| instant(self.owner.deadline()))
    }

    /// Polls the slot. The poll is ready if the deadline has passed. If no deadline is set, the
    /// poll is pending, and the task will not be woken.
    #[inline]
    pub fn poll_elapsed(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.is_set { self.owner.poll(cx) } else { Poll::Pending }
    }
}

impl<F: Future> Future for SlotTimeout<'_, F> {
    type Output = Result<F::Output, Elapsed>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        if let Poll::Ready(value) = this.value.poll(cx) {
            return Poll::Ready(Ok(value));
        }
        this.slot.poll_elapsed(cx).map(|()| Err(Elapsed(())))
    }
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slot").field("deadline", &self.deadline()).finish_non_exhaustive()
    }
}
