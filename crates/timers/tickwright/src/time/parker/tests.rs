use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use super::{Parker, Woken};
use crate::time::{Alarm, Clock, Instant, SystemClock, VirtualClock, VirtualHost};

/// Starts a thread that waits again and again until the parker is stopped, and sends the result of
/// each wait.
fn sleeper<K: Clock + 'static>(parker: &Arc<Parker<K>>) -> Receiver<Woken> {
    let (told, hear) = channel();
    let parker = Arc::clone(parker);
    thread::spawn(move || {
        loop {
            let woken = parker.wait();
            let _ = told.send(woken);
            if woken == Woken::Stopped {
                break;
            }
        }
    });
    hear
}

fn scene() -> (VirtualHost, Arc<Parker<VirtualClock>>, Receiver<Woken>) {
    let host = VirtualHost::new();
    let parker = Parker::new(host.monotonic());
    let hear = sleeper(&parker);
    assert!(parker.settle());
    (host, parker, hear)
}

#[test]
fn an_advance_by_the_delay_rings_at_any_phase() {
    let (host, parker, hear) = scene();
    for phase in [0, 1, 999_999, 1_000_000, 1_000_001, 123_456_789] {
        host.advance(Duration::from_nanos(phase));
        for delay in [0, 1, 2, 999_999, 1_000_000, 1_000_001] {
            let now = parker.clock().now();
            parker.set(Some(now + Duration::from_nanos(delay)));
            if delay > 0 {
                assert!(parker.settle());
                host.advance(Duration::from_nanos(delay - 1));
                assert!(parker.settle());
                assert!(hear.try_recv().is_err(), "{delay} at {now:?}: early");
                host.advance(Duration::from_nanos(1));
            }
            assert_eq!(hear.recv().unwrap(), Woken::Due, "{delay} at {now:?}");
            assert!(parker.settle());
            assert_eq!(parker.alarm(), None);
        }
    }
    parker.stop();
}

#[test]
fn only_an_earlier_alarm_wakes() {
    let (host, parker, hear) = scene();
    assert_eq!(parker.wakeups(), 0);
    parker.set(None);
    parker.set(Some(Instant::from_nanos(1_000_000)));
    assert!(parker.settle());
    assert_eq!(parker.wakeups(), 1, "it slept for ever");
    for later in [1_000_000, 1_000_001, 2_000_000, u64::MAX] {
        parker.set(Some(Instant::from_nanos(later)));
    }
    parker.set(None);
    parker.set(Some(Instant::from_nanos(1_000_000)));
    host.advance(Duration::from_nanos(999_999));
    assert!(parker.settle());
    assert_eq!(parker.wakeups(), 1);
    parker.set(Some(Instant::from_nanos(999_999 + 5)));
    assert!(parker.settle());
    parker.set(Some(Instant::MAX));
    host.advance(Duration::from_nanos(100));
    assert!(parker.settle());
    assert!(hear.try_recv().is_err(), "it was set later in time");
    parker.set(Some(Instant::from_nanos(3)));
    assert_eq!(hear.recv().unwrap(), Woken::Due);
    parker.stop();
    assert_eq!(hear.recv().unwrap(), Woken::Stopped);
    assert!(!parker.settle());
}

#[test]
fn the_last_setting_holds() {
    let (host, parker, hear) = scene();
    parker.set(Some(Instant::from_nanos(10)));
    parker.set(None);
    host.advance(Duration::from_nanos(20));
    assert!(parker.settle());
    assert!(hear.try_recv().is_err());
    parker.bring_forward(Instant::from_nanos(50));
    parker.bring_forward(Instant::from_nanos(60));
    assert_eq!(parker.alarm(), Some(Instant::from_nanos(50)));
    parker.bring_forward(Instant::from_nanos(40));
    assert_eq!(parker.alarm(), Some(Instant::from_nanos(40)));
    parker.stop();
}

#[test]
fn stopped_is_for_ever_and_comes_first() {
    let parker = Parker::new(VirtualHost::new().monotonic());
    parker.set(Some(Instant::ZERO));
    parker.stop();
    parker.set(Some(Instant::ZERO));
    assert_eq!((parker.wait(), parker.wait()), (Woken::Stopped, Woken::Stopped));
    assert_eq!(parker.wakeups(), 0);
}

#[test]
fn a_step_of_the_wall_wakes_who_sleeps_by_it_and_nobody_else() {
    let host = VirtualHost::new();
    let (wall, steady) = (Parker::new(host.real_time()), Parker::new(host.monotonic()));
    let (hear, hear_not) = (sleeper(&wall), sleeper(&steady));
    for by in [-3_600_000_000_000, 86_400_000_000_000] {
        wall.set(Some(Instant::from_nanos(500)));
        assert!(wall.settle() && steady.settle());
        host.step_wall(by);
        assert_eq!(hear.recv().unwrap(), Woken::Stepped);
        assert!(wall.settle());
        assert_eq!(wall.alarm(), Some(Instant::from_nanos(500)), "it stays");
    }
    host.suspend(Duration::from_nanos(1));
    assert_eq!(hear.recv().unwrap(), Woken::Stepped);
    assert!(steady.settle());
    assert_eq!((hear_not.try_recv().is_err(), steady.wakeups()), (true, 0));
    wall.stop();
    steady.stop();
}

#[test]
fn a_step_while_nobody_waits_is_told_later() {
    let host = VirtualHost::new();
    let parker = Parker::new(host.real_time());
    host.step_wall(5);
    parker.set(Some(Instant::ZERO));
    assert_eq!((parker.wait(), parker.wait()), (Woken::Stepped, Woken::Due));
}

#[test]
fn a_suspend_rings_what_came_due_by_boot_time() {
    let host = VirtualHost::new();
    let (boot, steady) = (Parker::new(host.boot_time()), Parker::new(host.monotonic()));
    let (hear, hear_not) = (sleeper(&boot), sleeper(&steady));
    boot.set(Some(Instant::from_nanos(1000)));
    steady.set(Some(Instant::from_nanos(1000)));
    host.suspend(Duration::from_nanos(1000));
    assert_eq!(hear.recv().unwrap(), Woken::Due);
    assert!(steady.settle());
    assert!(hear_not.try_recv().is_err());
    boot.stop();
    steady.stop();
}

/// A clock that claims to advance by itself, and jumps without notifying the parker.
#[derive(Default)]
struct Jumping {
    now: AtomicU64,
    looks: AtomicU64,
}

impl Clock for Jumping {
    fn now(&self) -> Instant {
        self.looks.fetch_add(1, Ordering::Relaxed);
        Instant::from_nanos(self.now.load(Ordering::Relaxed))
    }

    fn longest_sleep(&self) -> Option<Duration> {
        Some(Duration::from_nanos(1000))
    }
}

#[test]
fn a_clock_that_jumps_is_looked_at_again() {
    let clock = Arc::new(Jumping::default());
    let parker = Parker::new(Arc::clone(&clock));
    parker.set(Some(Instant::from_nanos(u64::MAX - 1)));
    let hear = sleeper(&parker);
    // The parker reads the clock again and again.
    while clock.looks.load(Ordering::Relaxed) < 10 {
        thread::yield_now();
    }
    clock.now.store(u64::MAX, Ordering::Relaxed);
    assert_eq!(hear.recv().unwrap(), Woken::Due);
    parker.stop();
}

#[test]
fn by_the_machines_clocks_it_is_never_early() {
    for clock in [SystemClock::Monotonic, SystemClock::BootTime, SystemClock::RealTime] {
        let parker = Parker::new(clock);
        for delay in [0, 1, 1000, 1_000_000] {
            let at = clock.now() + Duration::from_nanos(delay);
            parker.set(Some(at));
            // The wall clock of the machine can be set during this test.
            while parker.wait() != Woken::Due {}
            assert!(clock.now() >= at);
        }
    }
}

#[test]
fn of_several_that_wait_one_is_told() {
    let host = VirtualHost::new();
    let parker = Parker::new(host.monotonic());
    let (one, two) = (sleeper(&parker), sleeper(&parker));
    parker.set(Some(Instant::from_nanos(7)));
    host.advance(Duration::from_nanos(7));
    while parker.alarm().is_some() {
        thread::yield_now();
    }
    parker.stop();
    let told = one.iter().chain(two.iter()).filter(|&woken| woken == Woken::Due).count();
    assert_eq!(told, 1);
}

#[test]
fn what_it_looks_like_and_that_nobody_settles_any_more() {
    let (_host, parker, _hear) = scene();
    parker.set(Some(Instant::from_nanos(70)));
    assert!(parker.settle());
    assert_eq!(super::lock(&parker.state).settling, 0);
    let shown = format!("{parker:?}");
    assert!(
        shown.starts_with("Parker { alarm: Some(Instant(70 ns)), stopped: false, asleep: 1, "),
        "{shown}"
    );
    parker.stop();
    assert!(!parker.settle());
    assert_eq!(super::lock(&parker.state).settling, 0);
}
