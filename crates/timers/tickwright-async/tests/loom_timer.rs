//! Loom models of a timer's owner and its driver, in all schedules. They run the shipped code. At
//! its end, each model checks that no timer still waits after its deadline, because that would be a
//! lost wake-up.
//!
//! The models do not contain the pool of a thread, the wheel (which a sorted list replaces), and
//! the end and restart of the task of `on_tokio`.
//!
//! The comment of each model names a wrong change of the code. With this change, made by hand, the
//! model failed.
#![cfg(loom)]

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::sync::Arc;
use std::task::Wake;

use loom::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use tickwright::time::{Clock, Instant};
use tickwright_async::{Sleep, Slot, TimerSettings, Timers};

/// Explores every schedule of `scene`.
fn explore(scene: impl Fn() + Send + Sync + 'static) {
    loom::model::Builder::new().check(scene);
}

/// A clock that a thread of the model moves. Ticks are 8 ns long.
struct Moved(AtomicU64);

impl Clock for Moved {
    fn now(&self) -> Instant {
        Instant::from_nanos(self.0.load(Ordering::SeqCst) * 8)
    }
}

/// A task that counts how often it is woken.
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn task() -> (Arc<Woken>, Waker) {
    let woken = Arc::new(Woken(AtomicUsize::new(0)));
    (Arc::clone(&woken), Waker::from(woken))
}

#[derive(Clone)]
struct Scene {
    clock: Arc<Moved>,
    timers: Timers,
    /// How often the driver was called.
    calls: Arc<AtomicUsize>,
}

impl Scene {
    fn new() -> Self {
        let clock = Arc::new(Moved(AtomicU64::new(0)));
        let settings = TimerSettings::new().resolution(Duration::from_nanos(8)).shards(1);
        let calls = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&calls);
        let hook = move || {
            counter.fetch_add(1, Ordering::SeqCst);
        };
        let timers = settings.clock(Arc::clone(&clock) as Arc<dyn Clock>).driven(hook);
        Self { clock, timers, calls }
    }

    /// Runs a pass of the driver at tick `tick`.
    fn run_at(&self, tick: u64) {
        self.clock.0.store(tick, Ordering::SeqCst);
        self.timers.run();
    }

    fn span(ticks: u64) -> Duration {
        Duration::from_nanos(ticks * 8)
    }

    fn at(&self, tick: u64) -> std::time::Instant {
        let now = self.clock.0.load(Ordering::SeqCst);
        self.timers.now() + Self::span(tick) - Self::span(now)
    }

    /// Starts a thread on which the driver computes how long it can sleep. The closure that the
    /// thread returns checks whether the driver wakes at tick `due` or earlier, either at the end
    /// of its sleep or because it was called since. Call the closure after all other threads have
    /// ended.
    fn looks(&self, due: u64) -> loom::thread::JoinHandle<impl FnOnce() -> bool + use<>> {
        let (scene, due) = (self.clone(), self.at(due));
        loom::thread::spawn(move || {
            let before = scene.calls.load(Ordering::SeqCst);
            let next = scene.timers.next_deadline();
            move || next.is_some_and(|at| at <= due) || scene.calls.load(Ordering::SeqCst) > before
        })
    }

    /// Starts a thread that runs a pass of the driver at tick `tick`.
    fn runs_at(&self, tick: u64) -> loom::thread::JoinHandle<()> {
        let scene = self.clone();
        loom::thread::spawn(move || scene.run_at(tick))
    }
}

fn poll(sleep: &mut Sleep, waker: &Waker) -> Poll<()> {
    Pin::new(sleep).poll(&mut Context::from_waker(waker))
}

fn poll_slot(slot: &mut Slot, waker: &Waker) -> Poll<()> {
    slot.poll_elapsed(&mut Context::from_waker(waker))
}

/// Fails if the waker is stored after the timer is armed.
#[test]
fn the_first_poll_against_the_fire() {
    explore(|| {
        let scene = Scene::new();
        let (woken, waker) = task();
        let mut sleep = scene.timers.sleep(Scene::span(5));
        let driver = scene.runs_at(10);
        let first = poll(&mut sleep, &waker);
        driver.join().unwrap();
        scene.run_at(10);
        let count = woken.0.load(Ordering::SeqCst);
        assert_eq!(count, usize::from(first.is_pending()), "woken once, if it waited");
        assert_eq!(poll(&mut sleep, &waker), Poll::Ready(()));
    });
}

/// The first poll uses a timer that is still filed from its last use. Fails if a vacant timer is
/// armed with a store instead of an exchange, because a timer that the driver has just taken out of
/// the queue would then be armed but in no queue.
#[test]
fn the_first_poll_of_a_used_timer_against_its_leave() {
    explore(|| {
        let scene = Scene::new();
        let (woken, waker) = task();
        let mut slot = scene.timers.slot();
        slot.set(scene.at(5));
        assert!(poll_slot(&mut slot, &waker).is_pending());
        slot.clear();
        let (at_20, driver) = (scene.at(20), scene.runs_at(10));
        slot.set(at_20);
        assert!(poll_slot(&mut slot, &waker).is_pending());
        driver.join().unwrap();
        assert_eq!(woken.0.load(Ordering::SeqCst), 0, "not early");
        scene.run_at(20);
        assert_eq!(woken.0.load(Ordering::SeqCst), 1);
        assert!(poll_slot(&mut slot, &waker).is_ready());
    });
}

/// Fails if the drop takes the waker out before it exchanges the word.
#[test]
fn a_drop_against_the_fire() {
    explore(|| {
        let scene = Scene::new();
        let (woken, waker) = task();
        let mut sleep = scene.timers.sleep(Scene::span(5));
        assert!(poll(&mut sleep, &waker).is_pending());
        let driver = scene.runs_at(10);
        drop(sleep);
        let report = scene.timers.report();
        driver.join().unwrap();
        assert!(woken.0.load(Ordering::SeqCst) <= 1);
        assert!(report.live + report.vacant <= 1);
        let report = scene.timers.report();
        assert_eq!((report.live, report.vacant), (0, 0), "it has left");
        drop((scene, waker));
        assert_eq!(Arc::strong_count(&woken), 1, "no waker is left");
    });
}

/// Fails if the waker is replaced while the timer is armed.
#[test]
fn another_task_against_the_fire() {
    explore(|| {
        let scene = Scene::new();
        let ((first, one), (second, two)) = (task(), task());
        let mut sleep = scene.timers.sleep(Scene::span(5));
        assert!(poll(&mut sleep, &one).is_pending());
        let driver = scene.runs_at(10);
        let polled = poll(&mut sleep, &two);
        driver.join().unwrap();
        scene.run_at(10);
        let counts = (first.0.load(Ordering::SeqCst), second.0.load(Ordering::SeqCst));
        assert!(counts.0 <= 1 && counts.1 <= 1);
        assert!(polled.is_ready() || counts.1 == 1, "the last task to wait is woken");
    });
}

/// Fails if a sleep whose timer fired for an earlier deadline is treated as ready.
#[test]
fn a_later_deadline_against_the_fire() {
    explore(|| {
        let scene = Scene::new();
        let (woken, waker) = task();
        let mut sleep = scene.timers.sleep(Scene::span(5));
        assert!(poll(&mut sleep, &waker).is_pending());
        let (at_20, driver) = (scene.at(20), scene.runs_at(10));
        sleep.reset(at_20);
        let polled = poll(&mut sleep, &waker);
        driver.join().unwrap();
        assert!(polled.is_pending(), "never early");
        // A woken task polls again.
        let polled = poll(&mut sleep, &waker);
        assert!(polled.is_pending(), "never early");
        let before = woken.0.load(Ordering::SeqCst);
        assert!(before <= 2, "by the driver, and by a poll during the fire");
        scene.run_at(19);
        assert_eq!(woken.0.load(Ordering::SeqCst), before, "never early");
        scene.run_at(20);
        assert_eq!(woken.0.load(Ordering::SeqCst), before + 1, "not lost");
        assert_eq!(poll(&mut sleep, &waker), Poll::Ready(()));
    });
}

/// Fails if the owner reads `filed` before its exchange, or if the driver does not exchange the
/// word after it has written `filed`. In both cases the timer stays filed at 30, and fires late.
#[test]
fn an_earlier_deadline_against_a_pass_that_files_again() {
    explore(|| {
        let scene = Scene::new();
        let (woken, waker) = task();
        let mut sleep = scene.timers.sleep(Scene::span(5));
        assert!(poll(&mut sleep, &waker).is_pending());
        sleep.reset(scene.at(30));
        let (at_20, driver) = (scene.at(20), scene.runs_at(10));
        sleep.reset(at_20);
        driver.join().unwrap();
        assert_eq!(woken.0.load(Ordering::SeqCst), 0);
        scene.run_at(20);
        assert_eq!(woken.0.load(Ordering::SeqCst), 1, "not late");
    });
}

/// Fails if the pass files a timer again, the timer is then disarmed, and the pass makes it idle.
/// The timer's entry would stay in the queue.
#[test]
fn a_slot_is_cleared_and_set_against_a_pass_that_files_again() {
    explore(|| {
        let scene = Scene::new();
        let (woken, waker) = task();
        let mut slot = scene.timers.slot();
        slot.set(scene.at(5));
        assert!(poll_slot(&mut slot, &waker).is_pending());
        slot.set(scene.at(30));
        let (at_20, driver) = (scene.at(20), scene.runs_at(10));
        slot.clear();
        slot.set(at_20);
        assert!(poll_slot(&mut slot, &waker).is_pending());
        driver.join().unwrap();
        assert_eq!(woken.0.load(Ordering::SeqCst), 0, "not early");
        scene.run_at(20);
        assert_eq!(woken.0.load(Ordering::SeqCst), 1, "not late");
        drop(slot);
        assert_eq!(scene.timers.poll_timeout(), None, "it was filed once");
    });
}

/// Fails if `file` does not call the driver, or if the driver's check leaves the alarm at the tick
/// of a timer that was removed.
#[test]
fn a_timer_that_is_filed_against_a_look() {
    explore(|| {
        let scene = Scene::new();
        let (_woken, waker) = task();
        let mut sleep = scene.timers.sleep(Scene::span(3));
        assert!(poll(&mut sleep, &waker).is_pending());
        scene.run_at(0);
        drop(sleep);
        let driver = scene.looks(5);
        let mut sleep = scene.timers.sleep(Scene::span(5));
        assert!(poll(&mut sleep, &waker).is_pending());
        let is_woken = driver.join().unwrap();
        assert!(is_woken(), "the driver sleeps on");
    });
}

/// Fails if `expedite` does not call the driver.
#[test]
fn an_earlier_deadline_against_a_look() {
    explore(|| {
        let scene = Scene::new();
        let (_woken, waker) = task();
        let mut sleep = scene.timers.sleep(Scene::span(30));
        assert!(poll(&mut sleep, &waker).is_pending());
        let (at_5, driver) = (scene.at(5), scene.looks(5));
        sleep.reset(at_5);
        let is_woken = driver.join().unwrap();
        assert!(is_woken(), "the driver sleeps on");
    });
}

/// Two owners and the driver use the same shard at the same time. Fails if a drop leaves an armed
/// timer behind.
#[test]
fn two_owners_against_a_pass() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(|| {
        let scene = Scene::new();
        let ((first, one), (second, two)) = (task(), task());
        let mut sleep = scene.timers.sleep(Scene::span(5));
        assert!(poll(&mut sleep, &one).is_pending());
        let at_15 = scene.at(15);
        let driver = scene.runs_at(10);
        let other = {
            let scene = scene.clone();
            loom::thread::spawn(move || {
                let mut sleep = scene.timers.sleep_until(at_15);
                assert!(poll(&mut sleep, &two).is_pending());
                sleep
            })
        };
        drop(sleep);
        let mut sleep = other.join().unwrap();
        driver.join().unwrap();
        scene.run_at(15);
        assert!(first.0.load(Ordering::SeqCst) <= 1);
        assert_eq!(second.0.load(Ordering::SeqCst), 1);
        assert_eq!(poll(&mut sleep, &Waker::noop().clone()), Poll::Ready(()));
    });
}

/// The last handle is dropped while another thread arms and drops a timer. Fails if a timer that
/// outlives all handles stays in its queue, which would keep the core alive. Also fails if the drop
/// of the last handle does not call the driver, which would wait forever.
#[test]
fn the_last_handle_against_a_drop() {
    explore(|| {
        let scene = Scene::new();
        let (woken, waker) = task();
        let mut sleep = scene.timers.sleep(Scene::span(5));
        assert!(poll(&mut sleep, &waker).is_pending());
        let (clock, calls) = (Arc::clone(&scene.clock), Arc::clone(&scene.calls));
        let before = calls.load(Ordering::SeqCst);
        let handles = loom::thread::spawn(move || drop(scene));
        drop(sleep);
        handles.join().unwrap();
        drop(waker);
        assert!(calls.load(Ordering::SeqCst) > before, "the driver ends");
        assert_eq!(Arc::strong_count(&clock), 1, "the core is gone");
        assert_eq!((woken.0.load(Ordering::SeqCst), Arc::strong_count(&woken)), (0, 1));
    });
}

/// A specimen with a wrong order, which loses a wake-up: the task checks whether the timer has
/// fired, and only then stores its waker. This specimen must fail, because otherwise the models
/// above could not detect a lost wake-up.
#[test]
#[should_panic(expected = "woken")]
fn a_specimen_that_looks_before_it_waits_loses_its_wake_up() {
    explore(|| {
        let fired = Arc::new((AtomicUsize::new(0), loom::sync::Mutex::new(None::<Waker>)));
        let (woken, waker) = task();
        let driver = {
            let fired = Arc::clone(&fired);
            loom::thread::spawn(move || {
                fired.0.store(1, Ordering::SeqCst);
                let waiting = fired.1.lock().unwrap().take();
                if let Some(waker) = waiting {
                    waker.wake();
                }
            })
        };
        let is_ready = fired.0.load(Ordering::SeqCst) == 1;
        if !is_ready {
            *fired.1.lock().unwrap() = Some(waker);
        }
        driver.join().unwrap();
        assert!(is_ready || woken.0.load(Ordering::SeqCst) == 1, "woken, if it waited");
    });
}
