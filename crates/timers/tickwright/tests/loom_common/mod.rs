//! The parts that all models use: a scene with two shards, timers that log, and the checks at the
//! end.
#![allow(dead_code, reason = "no model needs all of it")]

use std::sync::{Arc, Mutex};

use loom::sync::atomic::{AtomicU64, Ordering};
use tickwright::shard::{Shards, SharedFiring, SharedTimer, WheelGeometry};
use tickwright::structures::Geometry;

/// A geometry for the shipped protocol with three levels, which begin at delays of 0, 63 and 504.
/// The last level ends at 4032.
pub(crate) type Ours = Geometry<64, 3, 3>;

/// Explores every schedule of `scene`, or if there is a `bound`, every schedule with at most that
/// many preemptions. Prints how many schedules ran.
pub(crate) fn explore(bound: Option<usize>, scene: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = bound;
    let count = Arc::new(core::sync::atomic::AtomicU64::new(0));
    let counted = Arc::clone(&count);
    let begun = std::time::Instant::now();
    builder.check(move || {
        counted.fetch_add(1, core::sync::atomic::Ordering::Relaxed);
        scene();
    });
    println!("{:?} schedules in {:.1} s", count, begun.elapsed().as_secs_f32());
}

/// Runs each closure on a new thread, except the last closure, which runs on this thread.
macro_rules! together {
    ($first:expr, $($more:expr),+) => {{
        let first = loom::thread::spawn($first);
        $crate::loom_common::together!(@ $($more),+);
        first.join().unwrap()
    }};
    (@ $last:expr) => { ($last)() };
    (@ $next:expr, $($more:expr),+) => {{
        let next = loom::thread::spawn($next);
        $crate::loom_common::together!(@ $($more),+);
        next.join().unwrap();
    }};
}

pub(crate) use together;

/// One firing: the deadline, the bucket's end, and the payload that the callback saw.
pub(crate) type Entry = (u64, u64, u64);

/// A timer whose callback logs, and the payload that threads write before they re-arm the timer.
pub(crate) struct Logged<G: WheelGeometry = Ours> {
    pub(crate) timer: SharedTimer<G>,
    pub(crate) payload: Arc<AtomicU64>,
    log: Arc<Mutex<Vec<Entry>>>,
}

impl<G: WheelGeometry> Clone for Logged<G> {
    fn clone(&self) -> Self {
        Self { timer: self.timer.clone(), payload: Arc::clone(&self.payload), log: Arc::clone(&self.log) }
    }
}

impl<G: WheelGeometry> Logged<G> {
    pub(crate) fn new(shards: &Shards<G>, shard: usize) -> Self {
        Self::doing(shards, shard, |_, _| {})
    }

    /// Creates a timer whose callback also calls `act` with the number of earlier firings.
    pub(crate) fn doing(
        shards: &Shards<G>,
        shard: usize,
        act: impl Fn(&SharedFiring<'_, G>, usize) + Send + Sync + 'static,
    ) -> Self {
        let payload = Arc::new(AtomicU64::new(0));
        let log = Arc::new(Mutex::new(Vec::new()));
        let (seen, written) = (Arc::clone(&payload), Arc::clone(&log));
        let callback = move |firing: &SharedFiring<'_, G>| {
            // Relaxed, because only the timer must make the payload visible.
            let entry = (firing.deadline(), firing.expiry(), seen.load(Ordering::Relaxed));
            let before = {
                let mut log = written.lock().unwrap();
                log.push(entry);
                log.len() - 1
            };
            act(firing, before);
        };
        let timer = shards.shard(shard).unwrap().timer(callback);
        Self { timer, payload, log }
    }

    pub(crate) fn armed(shards: &Shards<G>, shard: usize, deadline: u64) -> Self {
        let logged = Self::new(shards, shard);
        logged.timer.add(deadline).unwrap();
        logged
    }

    /// Writes the payload and re-arms the timer. Returns whether the timer was pending.
    pub(crate) fn publish(&self, payload: u64, deadline: u64) -> bool {
        self.payload.store(payload, Ordering::Relaxed);
        self.timer.modify(deadline).unwrap().is_pending()
    }

    /// Returns the deadline for which the timer should be pending.
    pub(crate) fn shadow(&self) -> Option<u64> {
        self.timer.verdict().unwrap_or_else(|complaint| panic!("{complaint}"))
    }

    pub(crate) fn log(&self) -> Vec<Entry> {
        self.log.lock().unwrap().clone()
    }
}

/// Advances a shard that several threads advance. If the shard is busy, the thread does nothing,
/// because the other thread does the work.
pub(crate) fn advance<G: WheelGeometry>(shards: &Shards<G>, shard: usize, now: u64) {
    let _ = shards.shard(shard).unwrap().advance_within(now, usize::MAX);
}

/// Call it after all threads are done. It checks that words, wheels and shadows agree. Then it
/// fires all pending timers, and checks that no other timer fires.
pub(crate) fn settle<G: WheelGeometry>(shards: &Shards<G>, timers: &[&Logged<G>]) {
    assert_eq!(shards.check(), Ok(()));
    for logged in timers {
        assert_eq!(logged.timer.deadline(), logged.shadow(), "word and shadow");
    }
    let before: Vec<_> = timers.iter().map(|logged| (logged.log().len(), logged.shadow())).collect();
    for shard in 0..shards.len() {
        let now = shards.shard(shard).unwrap().now().max(100_000);
        let _ = shards.shard(shard).unwrap().advance_within(now, usize::MAX).unwrap();
    }
    for (logged, (fired, pending)) in timers.iter().zip(before) {
        if pending.is_some() {
            assert!(logged.log().len() > fired, "LOST: pending, and never fired");
        } else {
            assert_eq!(logged.log().len(), fired, "fired without being armed");
        }
    }
    assert_eq!(shards.check(), Ok(()));
}
