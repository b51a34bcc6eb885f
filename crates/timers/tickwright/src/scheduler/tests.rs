//! Tests that look inside the scheduler, to see which threads wait.

use core::time::Duration;
use std::sync::mpsc;
use std::thread;

use super::lock::{Reach, Shared};
use super::*;
use crate::scheduler::Settings;
use crate::sync::Ordering;
use crate::time::VirtualHost;

/// Spins until the closure `so` returns `true`.
fn until(mut so: impl FnMut() -> bool) {
    while !so() {
        thread::yield_now();
    }
}

/// Several threads cancel the timer of one run, and all of them wait. Only the first thread gets
/// the result that its cancel prevented the timer from running again.
#[test]
fn the_first_of_those_who_cancel_a_run_is_told_that_it_was_suppressed() {
    for cancellers in 1..4 {
        let scheduler = Scheduler::new(Settings::new().clock(VirtualHost::new().monotonic()));
        let (begun, has_begun) = mpsc::channel();
        let (go, goes) = mpsc::channel::<()>();
        let callback = Boxed::new(move |_| {
            let _ = begun.send(());
            let _ = goes.recv();
            Next::Again
        });
        let id = scheduler.add(Duration::ZERO, callback).unwrap();
        thread::scope(|scope| {
            let runner = scope.spawn(|| scheduler.run_queue());
            has_begun.recv().unwrap();
            let cancel = || scheduler.cancel_sync(id);
            let wait_as = |place: usize| {
                let one = scope.spawn(cancel);
                until(|| scheduler.lock().waiters.count == place);
                one
            };
            let all: Vec<_> = (1..=cancellers).map(wait_as).collect();
            go.send(()).unwrap();
            let told: Vec<_> = all.into_iter().map(|one| one.join().unwrap().unwrap()).collect();
            for (place, told) in told.iter().enumerate() {
                let right = matches!(told, Cancelled::Finished { suppressed } if *suppressed == (place == 0));
                assert!(right, "{place} of {cancellers}");
            }
            assert_eq!(runner.join().unwrap(), Ok(1));
        });
        let core = scheduler.lock();
        assert_eq!((core.outcomes.len(), core.waiters.count), (0, 0), "of {cancellers}");
    }
}

/// A pass lets a thread that waits for the lock go first.
#[test]
fn a_pass_lets_others_have_the_lock() {
    let scheduler: Scheduler<Boxed> = Scheduler::new(Settings::new().clock(VirtualHost::new().monotonic()));
    let mut core = scheduler.lock();
    thread::scope(|scope| {
        scope.spawn(|| drop(scheduler.add(Duration::ZERO, Boxed::new(|_| Next::Done))));
        until(|| scheduler.core.queued.load(Ordering::Relaxed) > 0);
        let mut times = 0;
        while core.timers.statistics().timers == 0 {
            core = Shared::give_way(&scheduler.core, core);
            times += 1;
            assert!(times < 10_000, "the other thread never had it");
        }
        drop(core);
    });
}

/// A thread that waits for this run does not get the outcome of another run.
#[test]
fn an_outcome_belongs_to_one_run() {
    let scheduler = Scheduler::new(Settings::new().clock(VirtualHost::new().monotonic()));
    let (begun, has_begun) = mpsc::channel();
    let (go, goes) = mpsc::channel::<()>();
    let callback = Boxed::new(move |_| {
        let _ = begun.send(());
        let _ = goes.recv();
        Next::Done
    });
    let id = scheduler.add(Duration::ZERO, callback).unwrap();
    scheduler.lock().outcomes.push((u64::MAX, true));
    thread::scope(|scope| {
        let runner = scope.spawn(|| scheduler.run_queue());
        has_begun.recv().unwrap();
        let waits = scope.spawn(|| scheduler.cancel_sync(id));
        until(|| scheduler.lock().waiters.count == 1);
        go.send(()).unwrap();
        assert!(matches!(waits.join().unwrap(), Ok(Cancelled::Finished { suppressed: false })));
        assert_eq!(runner.join().unwrap(), Ok(1));
    });
    assert_eq!(scheduler.lock().outcomes, [(u64::MAX, true)]);
}

/// A pending timer can be cancelled while another one runs.
#[test]
fn a_run_keeps_no_other_timer_from_being_cancelled() {
    let scheduler = Scheduler::new(Settings::new().clock(VirtualHost::new().monotonic()));
    let (begun, has_begun) = mpsc::channel();
    let (go, goes) = mpsc::channel::<()>();
    let callback = Boxed::new(move |_| {
        let _ = begun.send(());
        let _ = goes.recv();
        Next::Done
    });
    let runs = scheduler.add(Duration::ZERO, callback).unwrap();
    let pending = scheduler.add(Duration::from_secs(1), Boxed::new(|_| Next::Done)).unwrap();
    thread::scope(|scope| {
        let runner = scope.spawn(|| scheduler.run_queue());
        has_begun.recv().unwrap();
        let running = matches!(scheduler.try_cancel(runs), Cancelled::Running { here: false });
        let removed = matches!(scheduler.try_cancel(pending), Cancelled::Removed(_));
        go.send(()).unwrap();
        assert!(running && removed, "{running} {removed}");
        assert_eq!(runner.join().unwrap(), Ok(1));
    });
}
