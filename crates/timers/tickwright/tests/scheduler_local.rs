//! A scheduler without a lock behaves like a shared scheduler, and also accepts callbacks that are
//! not `Send`.

use core::cell::Cell;
use core::time::Duration;
use std::rc::Rc;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

use tickwright::scheduler::{
    Access, Boxed, Callback, Cancelled, Firing, Local, LocalScheduler, Missed, Next, RunError, Scheduler,
    Settings, Site, Timing, WouldDeadlock,
};
use tickwright::time::VirtualHost;

fn local() -> (VirtualHost, LocalScheduler<Boxed<Local>>) {
    let host = VirtualHost::new();
    let scheduler = Scheduler::local(Settings::new().clock(host.monotonic()));
    (host, scheduler)
}

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn closures_share_state_of_the_thread() {
    let (host, mut scheduler) = local();
    let runs = Rc::new(Cell::new(0));
    let counted = Rc::clone(&runs);
    let beat = scheduler.every(SECOND, move |_| counted.set(counted.get() + 1)).unwrap();
    let counted = Rc::clone(&runs);
    scheduler.after(SECOND * 5 / 2, move |_| counted.set(counted.get() + 100)).unwrap();
    while let Some(wait) = scheduler.timeout()
        && runs.get() < 103
    {
        host.advance(wait);
        scheduler.run_queue().unwrap();
    }
    assert!(matches!(scheduler.cancel(beat), Cancelled::Removed(_)));
    assert_eq!((runs.get(), scheduler.timeout()), (103, None));
    assert_eq!(Rc::strong_count(&runs), 1, "the callbacks are dropped");
}

#[test]
fn a_closure_decides_by_what_it_returns() {
    let (host, scheduler) = local();
    let mut left = 3;
    scheduler
        .every(SECOND, move |_| {
            left -= 1;
            if left > 0 { Next::Again } else { Next::Done }
        })
        .unwrap();
    let mut wait = SECOND;
    let retry = scheduler
        .after(wait, move |firing| {
            wait *= 2;
            if firing.now.as_nanos() < 15_000_000_000 { Next::After(wait) } else { Next::Done }
        })
        .unwrap();
    let mut runs = Vec::new();
    for second in 1..20 {
        host.advance(SECOND);
        let due = scheduler.when(retry).map(|at| at.as_nanos() / 1_000_000_000);
        let ran = scheduler.run_queue().unwrap();
        runs.extend((ran > 0).then_some((second, ran, due)));
    }
    let expected = [(1, 2, Some(1)), (2, 1, Some(3)), (3, 2, Some(3)), (7, 1, Some(7)), (15, 1, Some(15))];
    assert_eq!(runs, expected);
}

/// There is only one thread, which runs the callback, so no call can wait for the callback's end.
#[test]
fn a_callback_is_never_waited_for() {
    let (host, scheduler) = local();
    let seen = Rc::new(Cell::new(false));
    let told = Rc::clone(&seen);
    scheduler
        .add(
            SECOND,
            Boxed::local(move |firing| {
                let (scheduler, id) = (firing.scheduler(), firing.id);
                assert!(matches!(scheduler.cancel_sync(id), Err(WouldDeadlock)));
                assert!(matches!(scheduler.shutdown(), Err(WouldDeadlock)));
                assert!(matches!(scheduler.try_cancel(id), Cancelled::Running { here: true }));
                assert_eq!(scheduler.run_queue(), Err(RunError::WithinCallback));
                assert!(matches!(scheduler.cancel(id), Cancelled::Running { here: true }));
                scheduler.add(SECOND, Boxed::local(|_| Next::Done)).unwrap();
                told.set(true);
                Next::Again
            }),
        )
        .unwrap();
    host.advance(SECOND);
    assert_eq!(scheduler.run_queue(), Ok(1));
    assert!(seen.get());
    assert_eq!(scheduler.statistics().timers, 1, "the cancelled timer is gone, the added one is pending");
    assert_eq!(scheduler.shutdown().unwrap().len(), 1);
}

#[test]
fn a_panic_leaves_the_scheduler_whole() {
    let (host, scheduler) = local();
    scheduler.after(SECOND, |_| assert!(std::thread::panicking(), "of a callback")).unwrap();
    scheduler.after(2 * SECOND, |_| ()).unwrap();
    host.advance(SECOND);
    let run = core::panic::AssertUnwindSafe(|| scheduler.run_queue());
    assert!(std::panic::catch_unwind(run).is_err());
    host.advance(SECOND);
    assert_eq!(scheduler.run_queue(), Ok(1));
    scheduler.check().unwrap();
}

/// A callback that logs each run, and does an operation on the scheduler that depends on the
/// callback's number.
struct Job {
    number: u64,
    log: Log,
}

/// The number, the due time, the time of the run, and the overruns.
type Ran = (u64, u64, u64, u64);

type Log = Arc<Mutex<Vec<Ran>>>;

impl<L: Access> Callback<L> for Job {
    fn call(&mut self, firing: &Firing<'_, Self, L>) -> Next {
        let run = (self.number, firing.due.as_nanos(), firing.now.as_nanos(), firing.overruns);
        self.log.lock().unwrap().push(run);
        match self.number % 5 {
            0 => Next::Again,
            1 => Next::After(Duration::from_nanos(self.number % 31)),
            2 => {
                firing.scheduler().cancel(firing.id);
                Next::Again
            }
            _ => Next::Done,
        }
    }
}

/// Makes random calls, and logs all results.
fn script<L: Access>(seed: u64, make: impl FnOnce(Settings) -> Scheduler<Job, L>) -> (Vec<String>, Vec<Ran>) {
    let host = VirtualHost::new();
    let mut scheduler = make(Settings::new().clock(host.monotonic()).int_ids());
    let (log, mut results, mut ids, mut x) = (Log::default(), Vec::new(), Vec::new(), seed);
    for number in 0..400 {
        let mut random = |below: u64| {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (x >> 33) % below
        };
        let delay = Duration::from_nanos(random(300));
        let timing = match random(3) {
            0 => Timing::after(delay),
            1 => Timing::after(delay).every(Duration::from_nanos(1 + random(60))).missed(Missed::Skip),
            _ => Timing::after(delay).every(Duration::from_nanos(1 + random(60))),
        };
        let job = Job { number, log: Arc::clone(&log) };
        let old = (!ids.is_empty()).then(|| ids[random(ids.len() as u64) as usize]);
        let result = match (random(6), old) {
            (1, Some(id)) => format!("{:?}", scheduler.start(id, timing)),
            (2, Some(id)) => format!("{:?}", outcome(&scheduler.cancel(id))),
            (3, Some(id)) => format!("{:?}", scheduler.shutdown_timer_sync(id).map(|c| outcome(&c))),
            (4, _) => {
                host.advance(delay);
                format!("{:?} {:?}", scheduler.run_queue_within(random(9) as usize), scheduler.timeout())
            }
            (5, _) => {
                let id = scheduler.keep(&Site::here("kept"), job).unwrap();
                ids.push(id);
                format!("{:?}", scheduler.start(id, timing))
            }
            _ => {
                ids.push(scheduler.timer(timing).add(job).unwrap());
                format!("{:?}", scheduler.remaining(ids[ids.len() - 1]))
            }
        };
        results.push(result);
        scheduler.check().unwrap();
    }
    results.push(format!("{}", scheduler.report()));
    let runs = log.lock().unwrap().clone();
    (results, runs)
}

fn outcome(cancelled: &Cancelled<Job>) -> Cancelled<()> {
    match cancelled {
        Cancelled::Removed(_) => Cancelled::Removed(()),
        Cancelled::Disarmed => Cancelled::Disarmed,
        Cancelled::Idle => Cancelled::Idle,
        Cancelled::Running { here } => Cancelled::Running { here: *here },
        Cancelled::Finished { suppressed } => Cancelled::Finished { suppressed: *suppressed },
        Cancelled::NotFound => Cancelled::NotFound,
    }
}

#[test]
fn both_locks_give_the_same_results() {
    for seed in 0..40 {
        let (shared, runs) = script(seed, Scheduler::new);
        let (local, also) = script(seed, Scheduler::local);
        assert!(runs.len() > 40, "{} runs", runs.len());
        assert_eq!((shared, runs), (local, also), "seed {seed}");
    }
}

#[test]
fn a_spawned_scheduler_runs_its_closures_until_it_is_dropped() {
    let (sender, receiver) = channel();
    let scheduler = Scheduler::spawn("timers").unwrap();
    let told = sender.clone();
    let beat = scheduler.every(Duration::from_nanos(1), move |_| told.send(()).unwrap()).unwrap();
    receiver.recv().unwrap();
    receiver.recv().unwrap();
    scheduler.cancel_sync(beat).unwrap();
    scheduler.after(Duration::from_secs(3600), move |_| sender.send(()).unwrap()).unwrap();
    drop(scheduler);
    // The loop ends when the closure with the last sender is dropped.
    while receiver.recv().is_ok() {}
}

/// If a callback drops the last `Arc`, it does not wait for the end of its own thread.
#[test]
fn a_callback_may_drop_a_spawned_scheduler() {
    let (sender, receiver) = channel();
    let scheduler = Scheduler::spawn("timers").unwrap();
    let own = Arc::new(Mutex::new(None));
    let (mine, other) = (Arc::clone(&own), sender.clone());
    scheduler
        .after(Duration::ZERO, move |_| {
            while mine.lock().unwrap().is_none() {
                std::thread::yield_now();
            }
            drop(mine.lock().unwrap().take());
            other.send(()).unwrap();
        })
        .unwrap();
    drop(sender);
    *own.lock().unwrap() = Some(scheduler);
    assert_eq!(receiver.iter().count(), 1, "the closure ran once, and is dropped");
}
