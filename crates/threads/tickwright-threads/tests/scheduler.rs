//! Tests of schedulers and shards whose callbacks run and wait on threads of an M:N runtime. A
//! scheduler distinguishes the threads of one worker. While a cancel waits, the worker runs other
//! threads.
#![cfg(unix)]

use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use core::time::Duration;
use std::sync::Arc;

use tickwright::scheduler::{Boxed, Cancelled, Next, Refusal, RunError, Scheduler, Settings, WouldDeadlock};
use tickwright::shard::{Shards, SharedFiring, TryCancel, Was};
use tickwright::time::VirtualHost;
use tickwright_threads::{Attributes, ManyToMany, Model, Place, Runtime, this_thread};

fn runtime(workers: usize) -> Runtime {
    Runtime::new(Model::ManyToMany(ManyToMany::new().workers(workers))).unwrap()
}

/// Yields until `so` returns true. Fails after a time limit, so that the test always ends.
fn until(what: &str, so: impl Fn() -> bool) {
    let begun = std::time::Instant::now();
    while !so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}");
        this_thread::yield_now();
    }
}

#[derive(Default)]
struct Stage {
    runs: AtomicBool,
    go: AtomicBool,
    ended: AtomicBool,
    turns: AtomicUsize,
}

impl Stage {
    fn act(&self) {
        self.runs.store(true, Ordering::SeqCst);
        until("the callback is told to go on", || self.go.load(Ordering::SeqCst));
        self.ended.store(true, Ordering::SeqCst);
    }
}

/// Opens the gate even if the test fails, because dropping the runtime waits for its threads.
struct Opens(Arc<Stage>);

impl Drop for Opens {
    fn drop(&mut self) {
        self.0.go.store(true, Ordering::SeqCst);
    }
}

/// Returns the body of a thread on the same worker, which opens the gate after ten yields.
fn neighbour(stage: &Arc<Stage>) -> impl FnOnce() + Send + 'static {
    let stage = Arc::clone(stage);
    move || {
        for _ in 0..10 {
            stage.turns.fetch_add(1, Ordering::SeqCst);
            this_thread::yield_now();
        }
        stage.go.store(true, Ordering::SeqCst);
    }
}

#[test]
fn a_thread_is_not_taken_for_the_callback_of_another_on_its_worker() {
    for workers in [1, 2] {
        let stage = Arc::new(Stage::default());
        let runtime = runtime(workers);
        let _opens = Opens(Arc::clone(&stage));
        let scheduler: Arc<Scheduler<Boxed>> =
            Arc::new(Scheduler::new(Settings::new().clock(VirtualHost::new().monotonic())));
        let acts = Arc::clone(&stage);
        let own = move |firing: &tickwright::scheduler::Firing<'_, Boxed>| {
            let scheduler = firing.scheduler();
            assert!(scheduler.within_callback());
            assert_eq!(scheduler.run_queue(), Err(RunError::WithinCallback));
            assert!(matches!(scheduler.cancel_sync(firing.id), Err(WouldDeadlock)));
            assert!(matches!(scheduler.try_cancel(firing.id), Cancelled::Running { here: true }));
            acts.act();
            // The result is still true after other threads of the worker have run.
            assert!(scheduler.within_callback());
            Next::Again
        };
        let id = scheduler.add(Duration::ZERO, Boxed::new(own)).unwrap();
        let runs = Arc::clone(&scheduler);
        let first = runtime.spawn(&Attributes::new(), move || runs.run_queue()).unwrap();
        let (asks, seen) = (Arc::clone(&scheduler), Arc::clone(&stage));
        let second = runtime
            .spawn(&Attributes::new(), move || {
                until("the callback runs", || seen.runs.load(Ordering::SeqCst));
                let handle = this_thread::handle().unwrap();
                let near = handle.spawn(&Attributes::new().place(Place::Near), neighbour(&seen)).unwrap();
                assert!(matches!(asks.try_cancel(id), Cancelled::Running { here: false }));
                assert!(!asks.within_callback());
                assert_eq!(asks.run_queue(), Err(RunError::Busy));
                let cancelled = asks.cancel_sync(id);
                assert!(seen.ended.load(Ordering::SeqCst), "it was waited for");
                assert!(matches!(cancelled, Ok(Cancelled::Finished { suppressed: true })));
                assert_eq!(asks.shutdown().map(|left| left.len()), Ok(0));
                near.join().unwrap();
            })
            .unwrap();
        second.join().unwrap();
        assert_eq!(first.join().unwrap(), Ok(1));
        assert_eq!(stage.turns.load(Ordering::SeqCst), 10, "its neighbour went on meanwhile");
    }
}

#[test]
fn a_shard_tells_threads_of_one_worker_apart() {
    for workers in [1, 2] {
        let stage = Arc::new(Stage::default());
        let runtime = runtime(workers);
        let _opens = Opens(Arc::clone(&stage));
        let shards = Arc::new(Shards::new(1));
        let acts = Arc::clone(&stage);
        let own = move |firing: &SharedFiring<'_>| {
            assert_eq!(firing.timer().cancel_sync(), Err(WouldDeadlock));
            acts.act();
        };
        let timer = shards.shard(0).unwrap().timer(own);
        timer.modify(1).unwrap();
        let runs = Arc::clone(&shards);
        let first = runtime
            .spawn(&Attributes::new(), move || {
                runs.shard(0).unwrap().advance_within(10, 100).unwrap().delivered
            })
            .unwrap();
        let seen = Arc::clone(&stage);
        let second = runtime
            .spawn(&Attributes::new(), move || {
                until("the callback runs", || seen.runs.load(Ordering::SeqCst));
                let handle = this_thread::handle().unwrap();
                let near = handle.spawn(&Attributes::new().place(Place::Near), neighbour(&seen)).unwrap();
                assert_eq!(timer.try_cancel(), TryCancel::Running);
                assert_eq!(timer.cancel_sync(), Ok(Was::Idle));
                assert!(seen.ended.load(Ordering::SeqCst), "it was waited for");
                assert_eq!(timer.shutdown_sync(), Ok(Was::Idle));
                near.join().unwrap();
            })
            .unwrap();
        second.join().unwrap();
        assert_eq!(first.join().unwrap(), 1);
    }
}

/// A scheduler distinguishes the loop of a C program from the other threads of its worker. This
/// works only if the scheduler and the runtime use the same copy of `tickwright`. A C library with
/// its own copy cannot distinguish them.
#[test]
fn a_loop_that_sleeps_is_told_from_others_on_its_worker() {
    let runtime = runtime(1);
    let scheduler: Arc<Scheduler<Boxed>> =
        Arc::new(Scheduler::new(Settings::new().clock(VirtualHost::new().monotonic())));
    let add = |scheduler: &Scheduler<Boxed>| {
        scheduler.add(Duration::from_secs(1), Boxed::once(|_| ())).map_err(Refusal::from)
    };
    let stage = Arc::new(Stage::default());
    let (sleeps, on_stage) = (Arc::clone(&scheduler), Arc::clone(&stage));
    let sleeper = runtime.spawn(&Attributes::new(), move || {
        let wait = sleeps.timeout_of_loop();
        on_stage.act();
        (wait, add(&sleeps).is_ok())
    });
    let arms = Arc::clone(&scheduler);
    let armer = runtime.spawn(&Attributes::new(), move || {
        until("the loop sleeps", || stage.runs.load(Ordering::SeqCst));
        let result = add(&arms);
        stage.go.store(true, Ordering::SeqCst);
        result
    });
    assert_eq!(armer.unwrap().join().unwrap(), Err(Refusal::LoopSleeps));
    assert_eq!(sleeper.unwrap().join().unwrap(), (None, true), "its own arm");
}
