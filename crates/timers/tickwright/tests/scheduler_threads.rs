//! Tests of a scheduler that several threads use: its own thread, threads that cancel, and an
//! alarm. The tests use the virtual clock and do not sleep.

use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use core::time::Duration;
use std::io;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::thread;

use tickwright::scheduler::{
    Boxed, Cancelled, Next, Refusal, RunError, Scheduler, SchedulerThread, Settings, Structure, TimerId,
    Timing, When,
};
use tickwright::time::{Alarm, Instant, Parker, VirtualHost};

const SECOND: u64 = 1_000_000_000;

fn secs(s: u64) -> Duration {
    Duration::from_secs(s)
}

fn scene(structure: Structure) -> (VirtualHost, Arc<Scheduler<Boxed>>, SchedulerThread) {
    let host = VirtualHost::new();
    let scheduler = Arc::new(Scheduler::new(Settings::new().clock(host.real_time()).structure(structure)));
    let thread = SchedulerThread::start("scheduler", &scheduler).unwrap();
    (host, scheduler, thread)
}

/// Creates a callback that reports that it has begun, and ends when the test allows it.
fn held(again: bool) -> (Boxed, Receiver<()>, Sender<()>) {
    let (begun, has_begun) = mpsc::channel();
    let (go, goes) = mpsc::channel();
    let callback = Boxed::new(move |_| {
        begun.send(()).unwrap();
        let _ = goes.recv();
        if again { Next::Again } else { Next::Done }
    });
    (callback, has_begun, go)
}

#[test]
fn idle_is_asleep() {
    for structure in Structure::all().into_iter().filter(Structure::is_exact) {
        let (host, scheduler, thread) = scene(structure);
        let runs = Arc::new(AtomicUsize::new(0));
        let counts = Arc::clone(&runs);
        thread.settle();
        let before = thread.wakeups();
        scheduler
            .add(
                secs(100),
                Boxed::new(move |_| {
                    counts.fetch_add(1, Ordering::Relaxed);
                    Next::Again
                }),
            )
            .unwrap();
        thread.settle();
        // A later timer does not wake the thread, and neither does time that passes without a due
        // timer.
        let armed = thread.wakeups();
        assert!(armed <= before + 1, "{structure}");
        for step in 0..1000 {
            scheduler.add(secs(1_000_000 + step), Boxed::once(|_| {})).unwrap();
        }
        for _ in 0..99 {
            host.advance(secs(1));
        }
        thread.settle();
        assert_eq!(thread.wakeups(), armed, "{structure}: it was idle");
        host.advance(secs(1));
        thread.settle();
        assert_eq!((runs.load(Ordering::Relaxed), thread.wakeups()), (1, armed + 1), "{structure}");
        thread.stop().unwrap();
    }
}

#[test]
fn a_thread_that_sleeps_lets_the_host_tick_wait_and_hears_when_it_may_run() {
    for structure in Structure::all().into_iter().filter(Structure::is_exact) {
        let (host, scheduler, thread) = scene(structure);
        let runs = Arc::new(AtomicUsize::new(0));
        let counts = Arc::clone(&runs);
        let count = Boxed::once(move |_| {
            counts.fetch_add(1, Ordering::Relaxed);
        });
        let tick = scheduler.add(secs(1), count).unwrap();
        scheduler.set_host(tick).unwrap();
        // The thread sleeps until the host tick is due, and then urgent work begins.
        thread.settle();
        let urgent = scheduler.urgent();
        thread.settle();
        let asleep = thread.wakeups();
        host.advance(secs(2));
        thread.settle();
        assert_eq!((runs.load(Ordering::Relaxed), thread.wakeups()), (0, asleep), "{structure}");
        drop(urgent);
        thread.settle();
        assert_eq!(runs.load(Ordering::Relaxed), 1, "{structure}: late, and not lost");
        thread.stop().unwrap();
    }
}

#[test]
fn an_earlier_timer_wakes_the_thread() {
    let (host, scheduler, thread) = scene(Structure::default());
    let (done, is_done) = mpsc::channel();
    scheduler.add(secs(100), Boxed::once(|_| {})).unwrap();
    thread.settle();
    scheduler.add(secs(5), Boxed::once(move |firing| done.send(firing.now).unwrap())).unwrap();
    host.advance(secs(5));
    assert_eq!(is_done.recv(), Ok(Instant::ZERO + secs(5)));
}

#[test]
fn a_step_of_the_wall_wakes_the_thread() {
    let (host, scheduler, thread) = scene(Structure::default());
    let (done, is_done) = mpsc::channel();
    let at_noon = Timing::at(When::Wall(secs(43_200)));
    scheduler.timer(at_noon).named("noon").add(Boxed::once(move |_| done.send(()).unwrap())).unwrap();
    thread.settle();
    host.step_wall(43_200 * SECOND as i64);
    assert_eq!(is_done.recv(), Ok(()));
}

#[test]
fn a_second_thread_is_refused() {
    let (_host, scheduler, thread) = scene(Structure::default());
    let second = SchedulerThread::start("second", &scheduler).unwrap_err();
    assert_eq!(second.kind(), io::ErrorKind::AlreadyExists);
    thread.stop().unwrap();
    SchedulerThread::start("third", &scheduler).unwrap();
}

#[test]
fn the_thread_ends_with_its_scheduler_and_from_its_own_callback() {
    let (host, scheduler, thread) = scene(Structure::default());
    let thread = Arc::new(Mutex::new(Some(thread)));
    let own = Arc::clone(&thread);
    let (done, is_done) = mpsc::channel();
    let stop = Boxed::once(move |_| {
        drop(own.lock().unwrap().take());
        done.send(()).unwrap();
    });
    scheduler.add(secs(1), stop).unwrap();
    host.advance(secs(1));
    is_done.recv().unwrap();
    assert!(thread.lock().unwrap().is_none());
    drop(scheduler);
}

#[test]
fn a_thread_with_nothing_to_do_ends_with_its_scheduler() {
    let (_host, scheduler, thread) = scene(Structure::default());
    assert!(thread.settle());
    drop(scheduler);
    assert!(!thread.settle());
    thread.stop().unwrap();
}

/// As in a test of Asterisk, a thread cancels a timer that is running on another thread, and waits
/// for its end, without a deadlock.
#[test]
fn cancel_sync_waits_for_a_callback_on_another_thread() {
    for again in [true, false] {
        let (host, scheduler, thread) = scene(Structure::default());
        let (callback, has_begun, go) = held(again);
        let id = scheduler.add(secs(1), callback).unwrap();
        host.advance(secs(1));
        has_begun.recv().unwrap();
        assert!(matches!(scheduler.try_cancel(id), Cancelled::Running { here: false }));
        assert_eq!(scheduler.run_queue(), Err(RunError::Busy));
        let ended = Arc::new(AtomicBool::new(false));
        let cancellers: Vec<_> = (0..2)
            .map(|_| {
                let (scheduler, ended) = (Arc::clone(&scheduler), Arc::clone(&ended));
                thread::spawn(move || {
                    let found = scheduler.cancel_sync(id).unwrap();
                    assert!(ended.load(Ordering::SeqCst), "it did not wait");
                    matches!(found, Cancelled::Finished { suppressed: true })
                })
            })
            .collect();
        // The test cannot detect whether the threads are already waiting. A thread that cancels
        // later finds no timer, which is also correct.
        ended.store(true, Ordering::SeqCst);
        go.send(()).unwrap();
        let told =
            cancellers.into_iter().filter_map(|canceller| canceller.join().ok()).filter(|told| *told).count();
        assert!(told <= usize::from(again), "one is told, if it was to run again");
        thread.settle();
        if again {
            host.advance(secs(10));
            thread.settle();
        }
        assert!(has_begun.try_recv().is_err() || told == 0, "cancelled, and ran again");
        let _ = scheduler.cancel(id);
        assert_eq!(scheduler.check(), Ok(()));
    }
}

#[test]
fn async_cancel_returns_while_the_callback_runs() {
    let (host, scheduler, thread) = scene(Structure::default());
    let (callback, has_begun, go) = held(true);
    let id = scheduler.add(secs(1), callback).unwrap();
    host.advance(secs(1));
    has_begun.recv().unwrap();
    assert!(matches!(scheduler.cancel(id), Cancelled::Running { here: false }));
    go.send(()).unwrap();
    thread.settle();
    assert!(scheduler.find(id).is_none());
    host.advance(secs(10));
    thread.settle();
    assert!(has_begun.try_recv().is_err(), "it ran again");
}

#[test]
fn shutdown_waits_for_the_callback_that_runs() {
    let (host, scheduler, _thread) = scene(Structure::default());
    let (callback, has_begun, go) = held(true);
    scheduler.add(secs(1), callback).unwrap();
    host.advance(secs(1));
    has_begun.recv().unwrap();
    let ended = Arc::new(AtomicBool::new(false));
    let (other, told) = (Arc::clone(&scheduler), Arc::clone(&ended));
    let shutting = thread::spawn(move || {
        drop(other.shutdown().unwrap());
        assert!(told.load(Ordering::SeqCst), "it did not wait");
    });
    // When the shutdown has begun, every add is refused.
    while scheduler.add(secs(1), Boxed::once(|_| {})).is_ok() {
        thread::yield_now();
    }
    ended.store(true, Ordering::SeqCst);
    go.send(()).unwrap();
    shutting.join().unwrap();
    assert_eq!(scheduler.statistics().timers, 0);
}

#[test]
fn a_panic_does_not_stop_the_thread() {
    let (host, scheduler, thread) = scene(Structure::default());
    let (done, is_done) = mpsc::channel();
    scheduler.add(secs(1), Boxed::new(|_| panic!("on purpose"))).unwrap();
    scheduler.add(secs(1), Boxed::once(move |_| done.send(()).unwrap())).unwrap();
    host.advance(secs(1));
    is_done.recv().unwrap();
    assert_eq!(thread.panics().map(|panics| panics.count), Some(1));
    assert!(thread.stop().is_err());
}

/// The scheduler sets the alarm, whatever its type, under its lock whenever an earlier timer is
/// armed, and after each pass.
#[test]
fn an_alarm_hears_of_every_earlier_timer() {
    #[derive(Default)]
    struct Noted(Mutex<Vec<Option<Instant>>>);
    impl Alarm for Noted {
        fn set(&self, at: Option<Instant>) {
            self.0.lock().unwrap().push(at);
        }
    }
    let noted = Arc::new(Noted::default());
    let take = || core::mem::take(&mut *noted.0.lock().unwrap());
    let host = VirtualHost::new();
    let scheduler: Scheduler<Boxed> = Scheduler::new(Settings::new().clock(host.monotonic()));
    scheduler.set_alarm(Some(Arc::clone(&noted) as _));
    assert_eq!(take(), [None]);
    let nothing = || Boxed::once(|_| {});
    let first = scheduler.add(secs(10), nothing()).unwrap();
    scheduler.add(secs(20), nothing()).unwrap();
    scheduler.add(secs(5), nothing()).unwrap();
    assert_eq!(take(), [Some(Instant::ZERO + secs(10)), Some(Instant::ZERO + secs(5))]);
    scheduler.start(first, Timing::after(secs(1))).unwrap();
    assert_eq!(take(), [Some(Instant::ZERO + secs(1))]);
    scheduler.cancel(first);
    host.advance(secs(1));
    scheduler.run_queue().unwrap();
    assert_eq!(
        take().last(),
        Some(&Some(Instant::ZERO + secs(5))),
        "the pass that found nothing sets it anew"
    );
    scheduler.set_alarm(None);
    scheduler.add(secs(1), nothing()).unwrap();
    assert_eq!(take(), [], "nobody is told any more");
}

/// Threads add, move and cancel timers at random while one thread runs them. Every callback is
/// dropped exactly once.
#[test]
fn a_storm() {
    const ROUNDS: usize = 2_000;
    struct Counted(Arc<AtomicUsize>);
    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    for structure in Structure::all() {
        let (host, scheduler, thread) = scene(structure);
        let (drops, added) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        thread::scope(|scope| {
            for seed in 1..4u64 {
                let (scheduler, drops, added, host) = (&scheduler, &drops, &added, &host);
                scope.spawn(move || {
                    let mut random = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
                    let mut below = |n: u64| {
                        random ^= random << 13;
                        random ^= random >> 7;
                        random ^= random << 17;
                        random % n
                    };
                    let mut ids = Vec::new();
                    for _ in 0..ROUNDS {
                        match below(8) {
                            0..3 => {
                                let counted = Counted(Arc::clone(drops));
                                let answer = if below(3) == 0 { Next::Again } else { Next::Done };
                                let callback = Boxed::new(move |_| {
                                    let _keep = &counted;
                                    answer
                                });
                                // The delay is not 0, because a virtual clock stands still, so a
                                // timer with a delay of 0 would always be due.
                                let after = Timing::after(Duration::from_millis(1 + below(50)));
                                ids.push(scheduler.timer(after).named("storm").add(callback).unwrap());
                                added.fetch_add(1, Ordering::Relaxed);
                            }
                            3 if !ids.is_empty() => {
                                let id = ids.swap_remove(below(ids.len() as u64) as usize);
                                let _ = scheduler.cancel_sync(id).unwrap();
                                assert!(scheduler.find(id).is_none());
                            }
                            4 if !ids.is_empty() => {
                                let id = ids.swap_remove(below(ids.len() as u64) as usize);
                                drop(scheduler.cancel(id));
                            }
                            5 if !ids.is_empty() => {
                                let id = ids[below(ids.len() as u64) as usize];
                                let after = Timing::after(Duration::from_millis(1 + below(50)));
                                let _ = scheduler.start(id, after);
                            }
                            6 => host.advance(Duration::from_nanos(below(5_000_000))),
                            _ => {
                                let _ = scheduler.run_queue_within(3);
                            }
                        }
                    }
                });
            }
        });
        assert_eq!(scheduler.check(), Ok(()), "{structure}");
        host.advance(secs(1));
        thread.settle();
        let left = scheduler.report().statistics.timers;
        assert_eq!(drops.load(Ordering::Relaxed) + left, added.load(Ordering::Relaxed), "{structure}");
        drop(scheduler.shutdown().unwrap());
        assert_eq!(drops.load(Ordering::Relaxed), added.load(Ordering::Relaxed), "{structure}");
        thread.stop().unwrap();
    }
}

/// A waiting cancel returns when its callback has ended, although the pass continues with another
/// callback. In this test the other callback waits for the cancel, so a cancel that waited for the
/// end of the pass would never return.
#[test]
fn a_cancel_waits_for_its_callback_and_not_for_the_pass() {
    let host = VirtualHost::new();
    let scheduler = Arc::new(Scheduler::new(Settings::new().clock(host.monotonic())));
    let (running, is_running) = mpsc::channel();
    let (returned, has_returned) = mpsc::channel();
    let first = scheduler
        .add(
            secs(1),
            Boxed::new(move |firing| {
                running.send(()).unwrap();
                // A timer that was cancelled during its run cannot be started. When this loop ends,
                // the other thread is therefore waiting, because it cancels and begins to wait
                // under the same hold of the lock.
                let again = Timing::after(secs(1));
                while firing.scheduler().start(firing.id, again).is_ok() {
                    thread::yield_now();
                }
                Next::Done
            }),
        )
        .unwrap();
    let in_time = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&in_time);
    scheduler
        .add(
            secs(1),
            Boxed::once(move |_| {
                let waited = has_returned.recv_timeout(secs(60));
                seen.store(waited.is_ok(), Ordering::SeqCst);
            }),
        )
        .unwrap();
    let other = Arc::clone(&scheduler);
    let cancels = thread::spawn(move || {
        is_running.recv().unwrap();
        let cancelled = other.cancel_sync(first);
        let _ = returned.send(());
        cancelled
    });
    host.advance(secs(1));
    assert_eq!(scheduler.run_queue(), Ok(2));
    assert!(matches!(cancels.join().unwrap(), Ok(Cancelled::Finished { .. })));
    assert!(in_time.load(Ordering::SeqCst), "the cancel waited for the end of the pass");
}

fn elsewhere<R: Send>(act: impl FnOnce() -> R + Send) -> R {
    thread::scope(|scope| scope.spawn(act).join().unwrap())
}

fn add_soon(scheduler: &Scheduler<Boxed>, delay: Duration) -> Result<TimerId, Refusal> {
    scheduler.add(delay, Boxed::once(|_| ())).map_err(Refusal::from)
}

fn add_elsewhere(scheduler: &Scheduler<Boxed>, delay: Duration) -> Result<TimerId, Refusal> {
    elsewhere(|| add_soon(scheduler, delay))
}

/// Sets a function that counts how often the loop is woken.
fn count_wakes(scheduler: &Scheduler<Boxed>) -> Arc<AtomicUsize> {
    let wakes = Arc::new(AtomicUsize::new(0));
    let counts = Arc::clone(&wakes);
    scheduler.set_wake(Some(Arc::new(move || {
        counts.fetch_add(1, Ordering::SeqCst);
    })));
    wakes
}

/// Tests the time-out of the C interface: while a loop sleeps, another thread arms an earlier
/// timer.
#[test]
fn an_arm_that_a_sleeping_loop_would_miss_is_refused() {
    for structure in Structure::all() {
        let host = VirtualHost::new();
        let settings = Settings::new().clock(host.monotonic()).structure(structure);
        let scheduler: Scheduler<Boxed> = Scheduler::new(settings);
        let slow = scheduler.add(secs(100), Boxed::once(|_| ())).unwrap();
        assert!(add_elsewhere(&scheduler, secs(90)).is_ok(), "{structure}: nobody sleeps");
        let wait = scheduler.timeout_of_loop().unwrap();
        let before = scheduler.statistics();
        assert_eq!(add_elsewhere(&scheduler, secs(1)), Err(Refusal::LoopSleeps), "{structure}");
        let start = |delay| {
            thread::scope(|scope| scope.spawn(|| scheduler.start(slow, Timing::after(delay))).join().unwrap())
        };
        assert_eq!(start(secs(1)), Err(Refusal::LoopSleeps), "{structure}");
        assert_eq!(scheduler.statistics(), before, "{structure}: nothing is changed");
        assert!(add_elsewhere(&scheduler, wait + secs(1)).is_ok(), "{structure}: later");
        assert_eq!(start(wait + secs(50)), Ok(()), "{structure}: later");
        // The loop's thread makes this arm, so the loop is awake, and its next time-out will
        // include the new timer.
        scheduler.start(slow, Timing::after(secs(100))).unwrap();
        assert!(add_elsewhere(&scheduler, secs(2)).is_ok(), "{structure}");
        // If no timer is left, the loop sleeps without a limit.
        host.advance(secs(1000));
        while scheduler.timeout_of_loop().is_some() {
            scheduler.run_queue().unwrap();
        }
        assert_eq!(add_elsewhere(&scheduler, secs(1)), Err(Refusal::LoopSleeps), "{structure}");
        // If the loop runs the queue, its sleep has ended. Setting an alarm also ends it.
        assert_eq!(scheduler.run_queue(), Ok(0));
        assert!(add_elsewhere(&scheduler, secs(5)).is_ok(), "{structure}");
        let _ = scheduler.timeout_of_loop();
        scheduler.set_alarm(Some(Parker::new(host.monotonic())));
        assert!(add_elsewhere(&scheduler, secs(1)).is_ok(), "{structure}");
        drop(scheduler.shutdown());
        assert_eq!(scheduler.timeout_of_loop(), None);
        assert_eq!(add_elsewhere(&scheduler, secs(1)), Err(Refusal::Shutdown), "{structure}");
        assert_eq!(scheduler.check(), Ok(()), "{structure}");
    }
}

#[test]
fn an_earlier_arm_wakes_a_sleeping_loop_once_and_without_the_lock() {
    let host = VirtualHost::new();
    let scheduler: Arc<Scheduler<Boxed>> = Arc::new(Scheduler::new(Settings::new().clock(host.monotonic())));
    let wakes = Arc::new(AtomicUsize::new(0));
    let (counts, asks) = (Arc::clone(&wakes), Arc::downgrade(&scheduler));
    scheduler.set_wake(Some(Arc::new(move || {
        counts.fetch_add(1, Ordering::SeqCst);
        // When the wake function is called, the lock is free and the timer is armed.
        assert!(asks.upgrade().is_some_and(|scheduler| scheduler.statistics().pending > 0));
    })));
    assert_eq!(scheduler.timeout_of_loop(), None);
    for (delay, expected) in [(10, 1), (5, 1)] {
        add_elsewhere(&scheduler, secs(delay)).unwrap();
        assert_eq!(wakes.load(Ordering::SeqCst), expected, "after {delay}");
    }
    assert_eq!(scheduler.timeout_of_loop(), Some(secs(5)));
    for (delay, expected) in [(6, 1), (4, 2), (3, 2)] {
        add_elsewhere(&scheduler, secs(delay)).unwrap();
        assert_eq!(wakes.load(Ordering::SeqCst), expected, "after {delay}");
    }
    assert_eq!(scheduler.timeout_of_loop(), Some(secs(3)));
}

#[test]
fn a_run_by_another_thread_does_not_wake_the_loop() {
    let host = VirtualHost::new();
    let scheduler: Scheduler<Boxed> = Scheduler::new(Settings::new().clock(host.monotonic()));
    add_soon(&scheduler, secs(100)).unwrap();
    assert_eq!(scheduler.timeout_of_loop(), Some(secs(100)));
    assert_eq!(elsewhere(|| scheduler.run_queue()), Ok(0));
    assert_eq!(add_elsewhere(&scheduler, secs(90)), Err(Refusal::LoopSleeps));
    // The loop requests its time-out again, although another thread ran the queue last.
    assert_eq!(scheduler.run_queue(), Ok(0));
    assert!(add_elsewhere(&scheduler, secs(80)).is_ok(), "the loop is awake");
    assert_eq!(elsewhere(|| scheduler.run_queue()), Ok(0));
    assert_eq!(scheduler.timeout_of_loop(), Some(secs(80)));
    assert_eq!(add_elsewhere(&scheduler, secs(70)), Err(Refusal::LoopSleeps));
    // Another thread becomes the loop. Its own arms are not refused, and those of the former loop
    // are refused.
    elsewhere(|| {
        assert_eq!(scheduler.timeout_of_loop(), Some(secs(80)));
        assert_eq!(add_elsewhere(&scheduler, secs(60)), Err(Refusal::LoopSleeps));
        assert!(add_soon(&scheduler, secs(60)).is_ok());
        assert_eq!(scheduler.timeout_of_loop(), Some(secs(60)));
    });
    assert_eq!(add_soon(&scheduler, secs(50)), Err(Refusal::LoopSleeps));
    // When the sleep of the loop is over, no thread is refused.
    host.advance(secs(60));
    assert!(add_soon(&scheduler, secs(0)).is_ok());

    let scheduler: Scheduler<Boxed> = Scheduler::new(Settings::new().clock(host.monotonic()));
    let wakes = count_wakes(&scheduler);
    let woken = || wakes.load(Ordering::SeqCst);
    assert_eq!(scheduler.timeout_of_loop(), None);
    assert_eq!(elsewhere(|| scheduler.run_queue()), Ok(0));
    assert!(add_elsewhere(&scheduler, secs(90)).is_ok());
    assert_eq!(woken(), 1);
    // If there is a wake function, no arm shows that the loop is awake. In this test a second loop
    // has requested the time-out and has armed a timer, while the first loop still sleeps.
    assert_eq!(scheduler.timeout_of_loop(), Some(secs(90)));
    elsewhere(|| {
        assert_eq!(scheduler.timeout_of_loop(), Some(secs(90)));
        assert_eq!(scheduler.run_queue(), Ok(0));
        assert!(add_soon(&scheduler, secs(80)).is_ok());
    });
    assert_eq!(woken(), 2);
    assert_eq!(scheduler.timeout_of_loop(), Some(secs(80)));
    host.advance(secs(80));
    assert!(add_elsewhere(&scheduler, secs(0)).is_ok());
    assert_eq!(woken(), 2, "the sleep was over");
}

/// The ways to arm a timer while its callback runs.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Rearm {
    Never,
    ByResult,
    /// Another thread starts the timer.
    Started,
}

/// The loop requests its time-out while another thread runs the queue. A running timer is not in
/// the queue, and is armed only when its callback ends.
#[test]
fn a_loop_that_asks_during_a_pass_does_not_miss_a_timer_that_runs() {
    for rearm in [Rearm::Never, Rearm::ByResult, Rearm::Started] {
        for has_function in [true, false] {
            let case = format!("{rearm:?}, {has_function}");
            let host = VirtualHost::new();
            let scheduler: Scheduler<Boxed> = Scheduler::new(Settings::new().clock(host.monotonic()));
            let (begun, has_begun) = mpsc::channel();
            let (go, goes) = mpsc::channel();
            let callback = Boxed::new(move |_| {
                begun.send(()).unwrap();
                goes.recv().unwrap();
                if rearm == Rearm::ByResult { Next::After(secs(5)) } else { Next::Done }
            });
            let id = scheduler.add(secs(0), callback).unwrap();
            let wakes = if has_function { count_wakes(&scheduler) } else { Arc::default() };
            let is_armed = rearm != Rearm::Never;
            thread::scope(|scope| {
                let runner = scope.spawn(|| scheduler.run_queue());
                has_begun.recv().unwrap();
                if rearm == Rearm::Started {
                    scheduler.start(id, Timing::after(secs(5))).unwrap();
                }
                let sleep = scheduler.timeout_of_loop();
                // If there is no wake function, the loop sleeps only for a short time, so no arm is
                // refused.
                let other = (!has_function).then(|| add_elsewhere(&scheduler, secs(0)));
                go.send(()).unwrap();
                assert_eq!(runner.join().unwrap(), Ok(1), "{case}");
                assert_eq!(sleep, (!has_function).then_some(Duration::from_millis(1)), "{case}");
                if let Some(other) = other {
                    assert!(matches!(scheduler.cancel(other.unwrap()), Cancelled::Removed(_)), "{case}");
                }
            });
            assert_eq!(wakes.load(Ordering::SeqCst), usize::from(is_armed && has_function), "{case}");
            assert_eq!(scheduler.timeout_of_loop(), is_armed.then_some(secs(5)), "{case}");
        }
    }
}
