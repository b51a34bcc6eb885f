//! Loom models in which alarms are set while threads sleep at a parker, in all schedules. They run
//! the shipped parker with loom's locks and events. If a wake-up is lost, loom reports a deadlock.
//! See `loom_rearm.rs`.
//!
//! The comment of each model names wrong changes of the code. With each change, made by hand, the
//! model failed.
#![cfg(loom)]

mod loom_common;

use core::time::Duration;
use std::sync::Arc;

use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread::{JoinHandle, spawn};
use loom_common::{explore, together};
use tickwright::time::{Alarm, Clock, Instant, Parker, VirtualClock, VirtualHost, Woken};

fn scene() -> (VirtualHost, Arc<Parker<VirtualClock>>) {
    let host = VirtualHost::new();
    let parker = Parker::new(host.monotonic());
    (host, parker)
}

/// An alarm is set while the sleeper checks it and goes to sleep. This fails if `Parker::change`
/// notifies no thread, or if `wait` releases the lock between its check and its sleep.
#[test]
fn set_against_wait() {
    explore(None, || {
        let (_host, parker) = scene();
        let sleeper = parker.clone();
        together!(move || assert_eq!(sleeper.wait(), Woken::Due), move || parker.set(Some(Instant::ZERO)));
    });
}

/// The sleeper sleeps until a far alarm, or is about to, and the alarm is set to an earlier
/// instant. This fails if `change` notifies only a thread that sleeps without a limit. It also
/// fails if a woken thread still counts as notified.
#[test]
fn earlier_against_wait() {
    explore(None, || {
        let (host, parker) = scene();
        host.advance(Duration::from_nanos(5));
        let sleeper = parker.clone();
        together!(move || assert_eq!(sleeper.wait(), Woken::Due), move || {
            parker.set(Some(Instant::from_nanos(1000)));
            parker.set(Some(Instant::from_nanos(2000)));
            parker.set(Some(Instant::from_nanos(3)));
        });
    });
}

/// The clock reaches the alarm while the sleeper checks it and goes to sleep. This fails if
/// `clock_moved` does not take the lock, or if the clock notifies before it moves.
#[test]
fn advance_against_wait() {
    explore(None, || {
        let (host, parker) = scene();
        parker.set(Some(Instant::from_nanos(10)));
        let sleeper = parker.clone();
        together!(
            move || {
                assert_eq!(sleeper.wait(), Woken::Due);
                assert!(sleeper.clock().now() >= Instant::from_nanos(10), "early");
            },
            move || {
                host.advance(Duration::from_nanos(9));
                host.advance(Duration::from_nanos(1));
            }
        );
    });
}

/// One thread sets the alarm, and another thread advances the clock to the alarm's time. This fails
/// with the changes of `set_against_wait` and `advance_against_wait`.
#[test]
fn set_against_advance_and_wait() {
    explore(Some(3), || {
        let (host, parker) = scene();
        let (sleeper, armer) = (parker.clone(), parker.clone());
        together!(
            move || {
                assert_eq!(sleeper.wait(), Woken::Due);
                assert!(sleeper.clock().now() >= Instant::from_nanos(10), "early");
            },
            move || armer.set(Some(Instant::from_nanos(10))),
            move || host.advance(Duration::from_nanos(10))
        );
    });
}

/// The wall clock is set while the sleeper checks the offset and goes to sleep. This fails if
/// `clock_moved` checks only the alarm, or if the known offset is read only when the sleep begins.
#[test]
fn a_step_against_wait() {
    explore(None, || {
        let host = VirtualHost::new();
        let parker = Parker::new(host.real_time());
        let sleeper = parker.clone();
        together!(move || assert_eq!(sleeper.wait(), Woken::Stepped), move || host.step_wall(-1));
    });
}

/// The parker is stopped while a thread goes to sleep. This fails if `stop` does not notify the
/// thread.
#[test]
fn stop_against_wait() {
    explore(None, || {
        let (_host, parker) = scene();
        let sleeper = parker.clone();
        together!(move || assert_eq!(sleeper.wait(), Woken::Stopped), move || parker.stop());
    });
}

/// The thread ends whether the set or the stop comes first. If the alarm was set before the stop,
/// the thread is allowed, but not required, to report it. This fails if `wait` checks for the stop
/// only when it begins.
#[test]
fn stop_against_set_and_wait() {
    explore(Some(3), || {
        let (_host, parker) = scene();
        let (sleeper, armer) = (parker.clone(), parker.clone());
        together!(
            move || while sleeper.wait() != Woken::Stopped {},
            move || armer.set(Some(Instant::ZERO)),
            move || { parker.stop() }
        );
    });
}

/// Starts a thread that waits until it is stopped. Returns a counter of its other wake-ups.
fn sleeper(parker: &Arc<Parker<VirtualClock>>) -> (Arc<AtomicU32>, JoinHandle<()>) {
    let runs = Arc::new(AtomicU32::new(0));
    let (parker, ran) = (parker.clone(), runs.clone());
    let thread = spawn(move || {
        while parker.wait() != Woken::Stopped {
            ran.fetch_add(1, Ordering::Relaxed);
        }
    });
    (runs, thread)
}

/// When `settle` returns, a thread that was notified has woken, and every due timer has been run.
/// This fails if `settle` does not check `called`, if a thread that falls asleep does not notify
/// the waiting `settle`, or if a due alarm stays set.
#[test]
fn settled_means_run() {
    explore(Some(3), || {
        let (host, parker) = scene();
        let (runs, thread) = sleeper(&parker);
        parker.set(Some(Instant::from_nanos(10)));
        assert!(parker.settle());
        let before = parker.wakeups();
        host.advance(Duration::from_nanos(10));
        assert!(parker.settle());
        assert_eq!((runs.load(Ordering::Relaxed), parker.wakeups()), (1, before + 1));
        parker.stop();
        assert!(!parker.settle());
        thread.join().unwrap();
    });
}

/// `settle` also keeps its promise to a thread that knows only that the clock has moved. This fails
/// if `settle` does not check for a due alarm, or does not check that a thread sleeps.
#[test]
fn settled_means_run_also_for_who_only_sees_the_clock() {
    explore(Some(3), || {
        let (host, parker) = scene();
        parker.set(Some(Instant::from_nanos(10)));
        let (runs, thread) = sleeper(&parker);
        let other = spawn(move || host.advance(Duration::from_nanos(10)));
        let came = parker.clock().now() >= Instant::from_nanos(10);
        assert!(parker.settle());
        if came {
            assert_eq!(runs.load(Ordering::Relaxed), 1);
        }
        parker.stop();
        other.join().unwrap();
        thread.join().unwrap();
    });
}

/// The parker is stopped while a thread waits in `settle`. This fails if `stop` does not notify
/// that thread.
#[test]
fn stop_against_settle() {
    explore(None, || {
        let (_host, parker) = scene();
        let other = parker.clone();
        together!(move || assert!(!other.settle()), move || parker.stop());
    });
}

/// Two threads wait for times of a machine that moves by itself. This fails if a thread does not
/// call `idle` before it sleeps or when it stops, or if `idle` loses a call that another thread
/// made during the check.
#[test]
fn a_machine_that_moves_by_itself_against_two_waits() {
    explore(Some(3), || {
        let (host, first) = scene();
        let second = Parker::new(host.monotonic());
        let _moves = host.move_by_itself();
        let wait = |parker: Arc<Parker<VirtualClock>>, at: u64| {
            parker.set(Some(Instant::from_nanos(at)));
            move || {
                assert_eq!(parker.wait(), Woken::Due);
                assert_eq!(parker.clock().now(), Instant::from_nanos(at), "the clock waits for who works");
                parker.stop();
            }
        };
        together!(wait(first, 10), wait(second, 20));
    });
}

/// One thread sleeps without an alarm, until another thread sets that alarm and then sleeps until a
/// later time. This fails if `idle` checks the sleepers only once before it moves the clock.
#[test]
fn a_machine_that_moves_by_itself_against_an_alarm_that_is_set() {
    explore(Some(3), || {
        let (host, first) = scene();
        let second = Parker::new(host.monotonic());
        second.set(Some(Instant::from_nanos(100)));
        let _moves = host.move_by_itself();
        let armed = first.clone();
        together!(
            move || {
                assert_eq!(first.wait(), Woken::Due);
                assert_eq!(first.clock().now(), Instant::from_nanos(5));
                first.stop();
            },
            move || {
                armed.set(Some(Instant::from_nanos(5)));
                assert_eq!(second.wait(), Woken::Due);
                second.stop();
            }
        );
    });
}
