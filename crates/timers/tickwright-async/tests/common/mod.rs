//! Wakers that count their calls, and other helpers for several tests.
#![allow(dead_code, unreachable_pub, reason = "each test binary uses a part")]

use core::future::Future;
use core::pin::Pin;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::sync::{Arc, Mutex};
use std::task::Wake;
use std::thread::Thread;

pub fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// A task that only counts how often it is woken.
pub struct Counter {
    inner: Arc<Inner>,
    waker: Waker,
}

struct Inner(AtomicUsize);

impl Wake for Inner {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Counter {
    pub fn new() -> Self {
        let inner = Arc::new(Inner(AtomicUsize::new(0)));
        Self { waker: Waker::from(Arc::clone(&inner)), inner }
    }

    /// Returns how often the task was woken.
    pub fn count(&self) -> usize {
        self.inner.0.load(Ordering::SeqCst)
    }

    /// Returns how many clones of the waker exist outside of the test.
    pub fn held(&self) -> usize {
        Arc::strong_count(&self.inner) - 2
    }

    pub fn poll<F: Future>(&self, future: Pin<&mut F>) -> Poll<F::Output> {
        future.poll(&mut self.context())
    }

    pub fn context(&self) -> Context<'_> {
        Context::from_waker(&self.waker)
    }
}

struct Logging(Arc<Mutex<Vec<u64>>>, u64);

impl Wake for Logging {
    fn wake(self: Arc<Self>) {
        self.0.lock().unwrap().push(self.1);
    }
}

/// Creates a waker that appends its number to a list when it is called.
pub fn logging(log: &Arc<Mutex<Vec<u64>>>, number: u64) -> Waker {
    Waker::from(Arc::new(Logging(Arc::clone(log), number)))
}

/// A minimal executor, whose waker unparks the thread.
pub struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

impl Unpark {
    /// Creates a waker that unparks this thread.
    pub fn waker() -> Waker {
        Waker::from(Arc::new(Self(std::thread::current())))
    }

    pub fn block_on<F: Future>(future: F) -> F::Output {
        let waker = Self::waker();
        let mut future = core::pin::pin!(future);
        loop {
            if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
                return output;
            }
            std::thread::park();
        }
    }
}

/// Returns how many driver threads this process has.
#[cfg(target_os = "linux")]
pub fn driver_threads() -> usize {
    let names = std::fs::read_dir("/proc/self/task")
        .unwrap()
        .filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
    names.filter(|name| name.trim_end() == "tickwright").count()
}
