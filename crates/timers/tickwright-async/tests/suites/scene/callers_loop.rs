//! The loop of a program that runs its timers itself.

use core::cell::Cell;
use core::future::Future;
use core::pin::pin;
use core::sync::atomic::{AtomicBool, Ordering};
use core::task::Poll;
use std::sync::Arc;
use std::time::Instant;

use tickwright::time::VirtualHost;
use tickwright_async::{TimerSettings, Timers};

use crate::common::Counter;

/// A loop that stores the next deadline after each pass, and checks the timers again when its hook
/// is called.
pub struct CallersLoop {
    host: VirtualHost,
    is_called: Arc<AtomicBool>,
    next: Cell<Option<Instant>>,
}

impl CallersLoop {
    /// Creates a loop and its timers, which use a clock that the loop moves.
    pub fn start(settings: TimerSettings) -> (Timers, Self) {
        let (host, is_called) = (VirtualHost::new(), Arc::new(AtomicBool::new(false)));
        let called = Arc::clone(&is_called);
        let settings = settings.clock(Arc::new(host.monotonic()));
        let timers = settings.driven(move || called.store(true, Ordering::SeqCst));
        (timers, Self { host, is_called, next: Cell::new(None) })
    }

    /// Returns when the loop must call `run`.
    fn next(&self, timers: &Timers) -> Option<Instant> {
        if self.is_called.swap(false, Ordering::SeqCst) {
            self.next.set(timers.next_deadline());
        }
        self.next.get()
    }

    /// Moves the clock to `target`, and runs the timers at each deadline on the way.
    pub fn go_to(&self, timers: &Timers, target: Instant) {
        loop {
            let next = self.next(timers).filter(|&at| at <= target);
            self.host.advance(next.unwrap_or(target).saturating_duration_since(timers.now()));
            if next.is_none() {
                return;
            }
            timers.run();
            self.next.set(timers.next_deadline());
        }
    }

    pub fn block_on<F: Future>(&self, timers: &Timers, future: F) -> F::Output {
        let (task, mut future) = (Counter::new(), pin!(future));
        loop {
            let before = task.count();
            if let Poll::Ready(output) = task.poll(future.as_mut()) {
                return output;
            }
            while task.count() == before {
                let next = self.next(timers).expect("a timer is pending, or the loop sleeps for ever");
                self.go_to(timers, next);
            }
        }
    }
}
