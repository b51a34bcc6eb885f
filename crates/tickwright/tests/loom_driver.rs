//! Alarms against sleepers in all schedules: the shipped parker, with loom's locks and events. A
//! wake-up that is lost is a deadlock, which loom reports. See `loom_rearm.rs`.
//!
//! That each can fail was tried: the change of the code that its comment names, made by hand, fails
//! it.
#![cfg(loom)]

mod loom_common;

use core::time::Duration;
use std::sync::Arc;

use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread::{JoinHandle, spawn};
use loom_common::{explore, together};
use tickwright::clock::{Clock, Instant, VirtualClock, VirtualHost};
use tickwright::driver::{Alarm, Parker, Woken};

fn scene() -> (VirtualHost, Arc<Parker<VirtualClock>>) {
    let host = VirtualHost::new();
    let parker = Parker::new(host.monotonic());
    (host, parker)
}

/// An alarm is set while the sleeper looks and lies down. Fails when `Parker::change` calls no
/// thread, and when `wait` lets go of the lock between its look and its sleep.
#[test]
fn set_against_wait() {
    explore(None, || {
        let (_host, parker) = scene();
        let sleeper = parker.clone();
        together!(move || assert_eq!(sleeper.wait(), Woken::Due), move || parker.set(Some(Instant::ZERO)));
    });
}

/// The sleeper sleeps for something far off, or is about to, and something earlier comes. Fails
/// when `change` calls only a thread that sleeps for ever, and when a thread that has woken still
/// counts as called.
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

/// The clock gets there while the sleeper looks and lies down. Fails when `clock_moved` does not
/// take the lock, and when the clock tells before it moves.
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

/// Both at once: armed by one thread for a time that another one lets come. Fails as the two
/// before.
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

/// The wall is set while the sleeper looks and lies down. Fails when `clock_moved` asks for the
/// alarm alone, and when the offset is taken from where the sleep begins.
#[test]
fn a_step_against_wait() {
    explore(None, || {
        let host = VirtualHost::new();
        let parker = Parker::new(host.real_time());
        let sleeper = parker.clone();
        together!(move || assert_eq!(sleeper.wait(), Woken::Stepped), move || host.step_wall(-1));
    });
}

/// Fails when `stop` does not call.
#[test]
fn stop_against_wait() {
    explore(None, || {
        let (_host, parker) = scene();
        let sleeper = parker.clone();
        together!(move || assert_eq!(sleeper.wait(), Woken::Stopped), move || parker.stop());
    });
}

/// Whoever is first, the thread ends; what was set before the stop may or may not be told. Fails
/// when `wait` looks for the stop only where it begins.
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

/// A thread that waits until it is stopped, and how often it was told of something.
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

/// What `settle` says is so: a thread that was called has woken, and what was due has run. Fails
/// when it does not ask for `called`, when it is not told of the sleep, and when a due alarm stays
/// set.
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

/// Fails when `settle` does not ask for what is due, or not for the sleep.
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

/// Fails when `stop` does not tell the thread that settles.
#[test]
fn stop_against_settle() {
    explore(None, || {
        let (_host, parker) = scene();
        let other = parker.clone();
        together!(move || assert!(!other.settle()), move || parker.stop());
    });
}
