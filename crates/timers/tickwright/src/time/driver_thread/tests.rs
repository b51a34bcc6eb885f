use core::time::Duration;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;

use super::DriverThread;
use crate::time::{Alarm, Clock, Instant, Parker, VirtualClock, VirtualHost};

fn scene(run: impl FnMut() + Send + 'static) -> (VirtualHost, DriverThread<VirtualClock>) {
    let host = VirtualHost::new();
    let driver = DriverThread::spawn("driver", Parker::new(host.monotonic()), run).unwrap();
    assert!(driver.settle());
    (host, driver)
}

#[test]
fn an_idle_driver_is_asleep() {
    let (host, driver) = scene(|| {});
    let parker = Arc::clone(driver.parker());
    assert_eq!((driver.runs(), driver.wakeups()), (0, 0), "nothing is set");
    for _ in 0..1000 {
        host.advance(Duration::from_millis(1));
    }
    assert_eq!((driver.runs(), driver.wakeups()), (0, 0), "nothing is due, however long");

    // Time-outs that are moved later again and again and never come due, as most time-outs. Only
    // the first one wakes the thread, which slept without a limit.
    for round in 0..1000 {
        host.advance(Duration::from_millis(1));
        parker.set(Some(parker.clock().now() + Duration::from_nanos(30_000_000_000 + round)));
    }
    assert!(driver.settle());
    assert_eq!((driver.runs(), driver.wakeups()), (0, 1));

    // Each alarm that goes off wakes the thread once.
    for round in 1..=10 {
        parker.set(Some(parker.clock().now() + Duration::from_secs(30)));
        assert!(driver.settle());
        let before = driver.wakeups();
        host.advance(Duration::from_nanos(29_999_999_999));
        assert!(driver.settle());
        assert_eq!((driver.runs(), driver.wakeups()), (round - 1, before));
        host.advance(Duration::from_nanos(1));
        assert!(driver.settle());
        assert_eq!((driver.runs(), driver.wakeups()), (round, before + 1));
    }
    assert_eq!(driver.stop(), Ok(()));
}

#[test]
fn what_is_set_while_it_runs_is_run_after() {
    let host = VirtualHost::new();
    let parker = Parker::new(host.monotonic());
    let alarm = Arc::clone(&parker);
    let mut left = 3;
    let driver = DriverThread::spawn("driver", parker, move || {
        left -= 1;
        alarm.set((left > 0).then_some(Instant::ZERO));
    })
    .unwrap();
    driver.parker().set(Some(Instant::ZERO));
    assert!(driver.settle());
    assert_eq!(driver.runs(), 3);
}

#[test]
fn a_panic_is_contained_and_reported() {
    let (told, hear) = channel();
    let mut runs = 0;
    let (host, driver) = scene(move || {
        runs += 1;
        let _ = told.send(runs);
        match runs {
            1 => panic!("the first"),
            2 => panic!("the {runs}nd"),
            3 => std::panic::panic_any(7),
            _ => {}
        }
    });
    assert_eq!(driver.panics(), None);
    driver.parker().set(Some(Instant::ZERO));
    assert!(driver.settle());
    // The panic prevented the closure from setting the alarm, so the driver calls the closure again
    // one second later.
    for run in 2..=4 {
        assert_eq!(driver.parker().alarm(), Some(Instant::ZERO + Duration::from_secs(run - 1)));
        host.advance(Duration::from_secs(1));
        assert!(driver.settle());
        assert_eq!(driver.runs(), run);
    }
    assert_eq!(driver.parker().alarm(), None, "the fourth did not panic");
    assert_eq!(hear.try_iter().collect::<Vec<_>>(), [1, 2, 3, 4]);
    let panicked = driver.stop().unwrap_err();
    assert_eq!((panicked.count, panicked.first.as_str()), (3, "the first"));
    assert!(panicked.to_string().contains("3 times, first with: the first"));
}

/// Panics when it is dropped.
struct Trap;

impl Drop for Trap {
    fn drop(&mut self) {
        panic!("the drop");
    }
}

#[test]
fn a_panic_that_panics_when_dropped_is_contained_too() {
    let (_host, driver) = scene(|| std::panic::panic_any(Trap));
    driver.parker().set(Some(Instant::ZERO));
    assert!(driver.settle());
    assert_eq!(driver.panics().unwrap().first, "something that is no text");
    assert_eq!(driver.stop().unwrap_err().count, 1);
}

#[test]
fn a_panic_in_the_drop_of_what_it_owns_is_reported() {
    let trap = Trap;
    let (_host, driver) = scene(move || {
        let _ = &trap;
    });
    assert_eq!(driver.stop().unwrap_err().first, "the drop");
}

#[test]
fn it_may_be_dropped_and_stopped_from_inside() {
    let place: Arc<Mutex<Option<DriverThread<VirtualClock>>>> = Arc::default();
    let inside = Arc::clone(&place);
    let (told, hear) = channel();
    let (_host, driver) = scene(move || {
        drop(inside.lock().unwrap().take());
        let _ = told.send(());
    });
    let parker = Arc::clone(driver.parker());
    *place.lock().unwrap() = Some(driver);
    parker.set(Some(Instant::ZERO));
    hear.recv().unwrap();
    assert!(hear.recv().is_err(), "the thread has ended, and let go of its closure");
    assert!(!parker.settle());
}

#[test]
fn dropping_it_waits_for_the_run_under_way() {
    let (begin, begun) = channel();
    let (end, ended) = channel();
    let (told, hear) = channel();
    let (_host, driver) = scene(move || {
        begin.send(()).unwrap();
        ended.recv().unwrap();
        told.send(()).unwrap();
    });
    driver.parker().set(Some(Instant::ZERO));
    begun.recv().unwrap();
    let dropping = thread::spawn(move || drop(driver));
    end.send(()).unwrap();
    dropping.join().unwrap();
    assert_eq!(hear.try_recv(), Ok(()));
}

#[test]
fn a_name_with_a_nul_is_no_reason_to_panic() {
    let parker = Parker::new(VirtualHost::new().monotonic());
    drop(DriverThread::spawn("a\0b", parker, || {}).unwrap());
}
