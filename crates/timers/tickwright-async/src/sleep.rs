//! The future [`Sleep`], which waits until a deadline.

use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;

use crate::node::{Core, Node};
use crate::owner::Owner;
use crate::pool;
use crate::sync::Arc;
use crate::time::{Instant, instant, nanos, nanos_at};

/// A future that waits until a deadline. It is ready from the deadline on, and never before.
///
/// The first poll arms the sleep, and dropping it disarms it. The poll takes no lock if the thread
/// has an unused timer that was last used for a similar delay, which is usually the case. The drop
/// takes no lock while the thread keeps fewer than [1025 unused timers](crate#limits). A sleep can
/// move between threads, and it need not be pinned to be polled. A poll that would be ready is
/// sometimes [held back](crate#what-is-promised), so that other tasks run.
///
/// ```
/// # use core::time::Duration;
/// # use tickwright_async::TestClock;
/// # let clock = TestClock::new();
/// # let timers = clock.timers();
/// # clock.block_on(async {
/// let mut sleep = timers.sleep(Duration::from_secs(1));
/// sleep.reset(timers.now() + Duration::from_secs(5));
/// sleep.await;
/// # });
/// ```
#[must_use = "a sleep does nothing unless it is awaited"]
pub struct Sleep {
    owner: Owner,
}

#[cfg(all(target_pointer_width = "64", not(loom)))]
const _: () = assert!(size_of::<Sleep>() <= 64);

impl Sleep {
    /// Inlined, like [`Owner::of`], so that its caller writes the fields directly to the final
    /// address of the sleep. If the fields were copied, two fields that were just written
    /// separately would be loaded with one instruction, which stalls the processor.
    #[inline(always)]
    pub(crate) fn after(core: &Arc<Core>, span: u64) -> Self {
        Self::of(Self::parts(core, span), span)
    }

    /// Returns the timer and the deadline of a sleep of `span` from now. The result fits into two
    /// registers.
    #[inline]
    pub(crate) fn parts(core: &Arc<Core>, span: u64) -> (Arc<Node>, u64) {
        let deadline = core.time.now().saturating_add(span);
        (pool::take(core, span), deadline)
    }

    /// Creates the sleep from its [`parts`](Self::parts).
    #[inline(always)]
    pub(crate) fn of((node, deadline): (Arc<Node>, u64), span: u64) -> Self {
        Self { owner: Owner::of(node, deadline, span == 0) }
    }

    #[inline]
    pub(crate) fn at(core: &Arc<Core>, deadline: u64) -> Self {
        // The delay is not known, so 0 is passed. It would only determine which unused timer is
        // taken.
        Self { owner: Owner::of(pool::take(core, 0), deadline, true) }
    }

    /// Records the caller's line as the place where the sleep was created.
    #[inline]
    #[cfg_attr(feature = "sites", track_caller)]
    pub(crate) fn sited(self) -> Self {
        self.owner.note_site();
        self
    }

    /// Returns when the sleep becomes ready.
    #[must_use]
    pub fn deadline(&self) -> Instant {
        instant(self.owner.deadline())
    }

    /// Returns whether a poll was ready or the timer of this sleep has fired. For a sleep that was
    /// never polled, the result is `false`, even if its deadline has passed.
    #[must_use]
    pub fn is_elapsed(&self) -> bool {
        self.owner.is_elapsed()
    }

    /// Changes the deadline to another instant. A task that is waiting continues to wait, now for
    /// the new deadline.
    ///
    /// Changing to a later deadline costs one store, without a lock, however long the delay is.
    /// Changing to an earlier deadline costs an exchange. If the earlier deadline is also before
    /// the timer's filed tick, the call takes the lock of the timer's shard.
    #[inline]
    pub fn reset(&mut self, deadline: Instant) {
        self.owner.reset(nanos_at(deadline));
    }

    /// Changes the deadline to a duration from now.
    #[inline]
    pub fn reset_after(&mut self, duration: Duration) {
        self.reset_from_now(nanos(duration));
    }

    /// Like [`reset_after`](Self::reset_after), with the duration in nanoseconds.
    #[inline]
    pub(crate) fn reset_from_now(&mut self, span: u64) {
        if let Some(core) = self.owner.core() {
            let deadline = core.time.now().saturating_add(span);
            self.owner.reset_ahead(deadline, span == 0);
        }
    }

    #[inline]
    pub(crate) fn reset_to(&mut self, deadline: u64) {
        self.owner.reset(deadline);
    }

    /// Returns the deadline in nanoseconds of the timers' clock.
    pub(crate) fn nanos(&self) -> u64 {
        self.owner.deadline()
    }

    /// Returns the current time in nanoseconds of the timers' clock.
    pub(crate) fn now(&self) -> u64 {
        self.owner.core().map_or(0, |core| core.time.now())
    }
}

impl Future for Sleep {
    type Output = ();

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.owner.poll(cx)
    }
}

impl fmt::Debug for Sleep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sleep").field("deadline", &self.deadline()).finish_non_exhaustive()
    }
}
