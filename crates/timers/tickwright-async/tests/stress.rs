//! Stress tests with many timers, several threads, and the clock of the machine. No timer is lost,
//! no timer is early, and no timer is very late.

mod common;

use core::future::Future;
use core::pin::Pin;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::sync::{Arc, Mutex, mpsc};
use std::task::Wake;
use std::time::Instant;

use tickwright_async::{Sleep, TimerSettings, Timers};

/// The largest allowed lateness. A busy machine delays the driver by much less. A timer that the
/// driver has missed is later than this, unless another timer calls the driver.
const MOST_LATE: Duration = Duration::from_secs(10);

/// The longest time for which the test waits for an event that must happen soon.
const PATIENCE: Duration = Duration::from_secs(30);

fn assert_none_late(timers: &Timers) {
    let report = timers.report();
    assert!(report.lateness.count() > 0, "nothing fired: {report}");
    assert!(report.lateness.max() < MOST_LATE, "{report}");
}

/// A task: a sleep that moves between threads, and a flag that says whether its waker was called.
struct Task {
    sleep: Mutex<Option<(Sleep, Instant)>>,
    queued: AtomicBool,
    ready: mpsc::Sender<Arc<Task>>,
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        if !self.queued.swap(true, Ordering::SeqCst) {
            let ready = self.ready.clone();
            let _ = ready.send(self);
        }
    }
}

/// A random generator for small numbers, whose sequence is the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }

    fn span(&mut self) -> Duration {
        Duration::from_micros(self.below(3000))
    }
}

/// Polls tasks until each task has ended its rounds. Most sleeps are moved a few times before they
/// end.
fn work(timers: &Timers, ready: &Mutex<mpsc::Receiver<Arc<Task>>>, left: &AtomicUsize, seed: u64) {
    let mut random = Random(seed);
    let mut worked = Instant::now();
    while left.load(Ordering::SeqCst) > 0 {
        assert!(worked.elapsed() < PATIENCE, "no task was woken: {}", timers.report());
        let next = ready.lock().unwrap().recv_timeout(Duration::from_millis(1));
        let Ok(task) = next else { continue };
        worked = Instant::now();
        task.queued.store(false, Ordering::SeqCst);
        let waker = Waker::from(Arc::clone(&task));
        let mut cx = Context::from_waker(&waker);
        let mut slot = task.sleep.lock().unwrap();
        let (sleep, deadline) = slot.get_or_insert_with(|| {
            let span = random.span();
            let deadline = Instant::now() + span;
            (timers.sleep(span), deadline)
        });
        if Pin::new(&mut *sleep).poll(&mut cx).is_ready() {
            assert!(Instant::now() >= *deadline, "early");
            *slot = None;
            if left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok() {
                drop(slot);
                waker.wake();
            }
        } else if random.below(3) == 0 {
            // The new deadline is later, earlier, or in the past.
            let at = Instant::now() + random.span() - Duration::from_micros(500);
            sleep.reset(at);
            *deadline = at;
            assert!(Pin::new(sleep).poll(&mut cx).is_pending() || Instant::now() >= *deadline, "early");
            waker.wake_by_ref();
        } else if random.below(4) == 0 {
            *slot = None;
            waker.wake_by_ref();
        }
    }
}

#[test]
fn sleeps_that_move_between_threads_all_end() {
    let timers = TimerSettings::new().shards(2).start().unwrap();
    let (sender, receiver) = mpsc::channel();
    let (receiver, left) = (Mutex::new(receiver), AtomicUsize::new(2000));
    let tasks: Vec<_> = (0..200)
        .map(|_| {
            let (sleep, queued) = (Mutex::new(None), AtomicBool::new(true));
            Arc::new(Task { sleep, queued, ready: sender.clone() })
        })
        .collect();
    tasks.iter().for_each(|task| sender.send(Arc::clone(task)).unwrap());
    std::thread::scope(|scope| {
        for seed in 0..2 {
            let (timers, receiver, left) = (&timers, &receiver, &left);
            scope.spawn(move || work(timers, receiver, left, seed));
        }
    });
    // Each timer that is still armed must fire.
    let start = Instant::now();
    while timers.report().live > 0 {
        assert!(start.elapsed() < PATIENCE, "{}", timers.report());
        std::thread::yield_now();
    }
    assert_none_late(&timers);
    for task in &tasks {
        if let Some((sleep, _)) = &mut *task.sleep.lock().unwrap() {
            // The driver calls the waker a little after it has taken the timer out of its queue.
            while !task.queued.load(Ordering::SeqCst) {
                assert!(start.elapsed() < PATIENCE, "a timer fired and its task was not woken");
                std::thread::yield_now();
            }
            let waker = Waker::noop();
            assert_eq!(Pin::new(sleep).poll(&mut Context::from_waker(waker)), Poll::Ready(()));
        }
    }
}

#[test]
fn slots_of_several_threads_are_set_and_cleared_while_they_fire() {
    let timers = TimerSettings::new().shards(1).start().unwrap();
    std::thread::scope(|scope| {
        for seed in 0..3 {
            let timers = &timers;
            scope.spawn(move || {
                let mut random = Random(seed);
                let task = common::Counter::new();
                let mut slot = timers.slot();
                for _ in 0..1000 {
                    let span = Duration::from_micros(random.below(40));
                    let deadline = Instant::now() + span;
                    slot.set(deadline);
                    if random.below(3) == 0 {
                        while slot.poll_elapsed(&mut task.context()).is_pending() {
                            std::thread::yield_now();
                        }
                        assert!(Instant::now() >= deadline, "early");
                    } else {
                        let _ = slot.poll_elapsed(&mut task.context());
                        slot.clear();
                    }
                }
            });
        }
    });
    assert_eq!(timers.report().live, 0);
    assert_none_late(&timers);
}

/// There is only one timer, so if the driver missed it, no other timer would call the driver.
#[test]
fn a_lone_timer_that_another_thread_moves_nearer_is_not_late() {
    const HOUR: Duration = Duration::from_secs(3600);
    let timers = TimerSettings::new().shards(2).start().unwrap();
    let mut random = Random(1);
    for _ in 0..200 {
        let task = common::Counter::new();
        let mut sleep = timers.sleep(HOUR);
        assert!(Pin::new(&mut sleep).poll(&mut task.context()).is_pending());
        let span = random.span();
        let mut sleep = std::thread::spawn(move || {
            sleep.reset(Instant::now() + span);
            sleep
        })
        .join()
        .unwrap();
        let moved = Instant::now();
        while task.count() == 0 {
            assert!(moved.elapsed() < MOST_LATE, "{}", timers.report());
            std::thread::yield_now();
        }
        assert_eq!(Pin::new(&mut sleep).poll(&mut task.context()), Poll::Ready(()));
    }
    assert_none_late(&timers);
}

#[test]
fn handles_timers_and_threads_end_in_any_order() {
    for round in 0..60_u64 {
        let timers = TimerSettings::new().shards(2).start().unwrap();
        let mut sleeps: Vec<_> =
            (0..20).map(|number| Box::pin(timers.sleep(Duration::from_micros(number * 50)))).collect();
        for sleep in &mut sleeps {
            let _ = sleep.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        }
        let moved = sleeps.split_off(10);
        let other = std::thread::spawn(move || drop(moved));
        if round % 2 == 0 {
            drop(timers);
            drop(sleeps);
        } else {
            drop(sleeps);
            drop(timers);
        }
        other.join().unwrap();
    }
}
