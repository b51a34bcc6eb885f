//! The task with which a test polls futures.

use core::cell::Cell;
use core::fmt::Debug;
use core::future::Future;
use core::pin::Pin;
use core::task::Poll;

use super::Scene;
use crate::common::Counter;

/// A task that polls only when the test calls it. A test must wait for a wake-up before it polls
/// for the result, because otherwise the wake-up can come later, when the test expects none.
pub struct Task<'a> {
    scene: &'a Scene,
    counter: Counter,
    /// How many wake-ups the test has noticed.
    seen: Cell<usize>,
}

impl<'a> Task<'a> {
    pub(super) fn new(scene: &'a Scene) -> Self {
        Self { scene, counter: Counter::new(), seen: Cell::new(0) }
    }

    /// Requires that the future is pending.
    #[track_caller]
    pub fn pending<F: Future<Output: Debug>>(&self, future: Pin<&mut F>) {
        let polled = self.counter.poll(future);
        self.scene.require(polled.is_pending(), &format!("not pending: {polled:?}"));
    }

    /// Requires that the first poll is ready.
    #[track_caller]
    pub fn ready_at_once<F: Future>(&self, future: Pin<&mut F>) -> F::Output {
        match self.counter.poll(future) {
            Poll::Ready(output) => output,
            Poll::Pending => panic!("{:?}: not ready at once", self.scene.kind),
        }
    }

    /// Requires that the future is ready.
    #[track_caller]
    pub fn ready<F: Future>(&self, mut future: Pin<&mut F>) -> F::Output {
        let mut output = None;
        let is_ready = self.scene.comes(|| {
            if let Poll::Ready(value) = self.counter.poll(future.as_mut()) {
                output = Some(value);
            }
            output.is_some()
        });
        assert!(is_ready, "{:?}: not ready", self.scene.kind);
        output.unwrap()
    }

    /// Requires that the task was woken since the last check.
    #[track_caller]
    pub fn woken(&self) {
        let is_woken = self.scene.comes(|| self.counter.count() > self.seen.get());
        assert!(is_woken, "{:?}: a wake-up is lost", self.scene.kind);
        self.seen.set(self.counter.count());
    }

    /// Requires that the task was not woken since the last check.
    #[track_caller]
    pub fn asleep(&self) {
        self.scene.settle();
        self.scene.require(self.counter.count() == self.seen.get(), "woken early, or twice");
    }

    /// Marks all wake-ups so far as noticed.
    pub fn forget(&self) {
        self.scene.settle();
        self.seen.set(self.counter.count());
    }
}
