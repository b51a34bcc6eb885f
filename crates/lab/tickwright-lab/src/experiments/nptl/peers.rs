//! Other libraries' threads under the same rules.

#[cfg(feature = "rivals")]
use std::sync::OnceLock;

use super::rules::Maker;
#[cfg(feature = "rivals")]
use super::rules::{Bodies, Ring, Share};
#[cfg(feature = "rivals")]
use crate::clock::{Meter, OsClock};

/// `std::thread` with the standard library's defaults.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Std;

impl Maker for Std {
    type Thread = std::thread::JoinHandle<usize>;

    fn create<B: FnOnce() -> usize + Send + 'static>(&self, body: B) -> Result<Self::Thread, String> {
        std::thread::Builder::new().spawn(body).map_err(|error| error.to_string())
    }

    fn join(&self, thread: Self::Thread) -> Result<usize, String> {
        thread.join().map_err(|_| "a std thread panicked".into())
    }
}

#[cfg(feature = "rivals")]
/// Coroutines of the crate `may`. These coroutines have stacks and can move between workers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct May;

#[cfg(feature = "rivals")]
impl May {
    /// The process has only one set of workers, so the first call decides their number.
    pub(crate) fn with_workers(workers: usize) -> Self {
        static WORKERS: OnceLock<()> = OnceLock::new();
        WORKERS.get_or_init(|| {
            may::config().set_workers(workers);
        });
        Self
    }
}

#[cfg(feature = "rivals")]
impl Maker for May {
    type Thread = may::coroutine::JoinHandle<usize>;

    fn create<B: FnOnce() -> usize + Send + 'static>(&self, body: B) -> Result<Self::Thread, String> {
        let builder = may::coroutine::Builder::new();
        // SAFETY: 1. A coroutine must not keep a reference to a thread-local across a switch: these
        // bodies keep none. 2. A coroutine must not overflow its stack (32 KiB): these bodies call
        // a few functions.
        #[allow(unsafe_code, reason = "a rival's unsafe function")]
        let spawned = unsafe { builder.spawn(body) };
        spawned.map_err(|error| error.to_string())
    }

    fn join(&self, thread: Self::Thread) -> Result<usize, String> {
        thread.join().map_err(|_| "a coroutine of may panicked".into())
    }
}

#[cfg(feature = "rivals")]
/// Tasks of tokio's multi-thread runtime. A task has no stack of its own, so it can wait only at an
/// `await`.
#[derive(Debug)]
pub(crate) struct Tokio(tokio::runtime::Runtime);

#[cfg(feature = "rivals")]
impl Tokio {
    /// # Errors
    /// If the workers of the runtime cannot be started.
    pub(crate) fn with_workers(workers: usize) -> Result<Self, String> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(workers).build();
        runtime.map(Self).map_err(|error| format!("tokio does not start: {error}"))
    }

    /// Like [`whole`](super::rules::whole), but in a task of the runtime, and with `await` instead
    /// of joins. Also returns the duration of that task in ns.
    ///
    /// # Errors
    /// If a task panicked.
    pub(crate) fn whole(
        &self,
        shares: &[Share],
        bodies: &impl Bodies,
        clock: OsClock,
    ) -> Result<(usize, u64), String> {
        let (shares, bodies) = (shares.to_vec(), bodies.clone());
        let main = self.0.spawn(async move {
            let begun = clock.now();
            let toplevel: Vec<_> = shares
                .into_iter()
                .enumerate()
                .map(|(at, share)| tokio::spawn(starter(at, share, bodies.clone())))
                .collect();
            let mut sum = 0usize;
            for task in toplevel {
                sum = sum.wrapping_add(task.await??);
            }
            Ok::<_, tokio::task::JoinError>((sum, clock.now() - begun))
        });
        let joined = self.0.block_on(main).and_then(|inner| inner);
        joined.map_err(|error| format!("a task of tokio failed: {error}"))
    }
}

#[cfg(feature = "rivals")]
async fn starter(at: usize, share: Share, bodies: impl Bodies) -> Result<usize, tokio::task::JoinError> {
    let mut ring: Ring<tokio::task::JoinHandle<usize>> = Ring::new(share.slots);
    let mut sum = 0usize;
    for start in 0..share.starts {
        if let Some(task) = ring.leave() {
            sum = sum.wrapping_add(task.await?);
        }
        let body = bodies.body(at, start);
        ring.enter(tokio::spawn(async move { body() }));
    }
    for task in ring.rest() {
        sum = sum.wrapping_add(task.await?);
    }
    Ok(sum)
}
