//! Loom models of shards with an alarm and a clock, in all schedules. They run the shipped code of
//! shards and parkers. If a wake-up is lost, the driver sleeps forever, which loom reports as a
//! deadlock. See `loom_rearm.rs` and `loom_driver.rs`.
//!
//! The comment of each model names a wrong change of the code. With this change, made by hand, the
//! model failed.
#![cfg(loom)]

mod loom_common;

use core::time::Duration;
use std::sync::Arc;

use loom_common::{Logged, Ours, advance, explore, settle, together};
use tickwright::shard::Shards;
use tickwright::time::{Clock, Parker, Ticks, VirtualClock, VirtualHost, Woken};

#[derive(Clone)]
struct Scene {
    host: VirtualHost,
    shards: Arc<Shards<Ours>>,
    parker: Arc<Parker<VirtualClock>>,
}

impl Scene {
    /// Creates two shards, of which the first one wakes a parker. Ticks are nanoseconds.
    fn new() -> Self {
        let host = VirtualHost::new();
        let shards = Arc::new(Shards::with_geometry(2, 0));
        let parker = Parker::new(host.monotonic());
        shards.shard(0).unwrap().set_alarm(Some(parker.clone()));
        Self { host, shards, parker }
    }

    /// Creates a timer that stops the driver when it has fired `firings` times, whichever thread's
    /// pass fires it.
    fn timer(&self, shard: usize, firings: usize) -> Logged {
        let parker = self.parker.clone();
        Logged::doing(&self.shards, shard, move |_, before| {
            if before + 1 == firings {
                parker.stop();
            }
        })
    }

    fn armed(&self, shard: usize, deadline: u64) -> Logged {
        let timer = self.timer(shard, 1);
        timer.timer.add(deadline).unwrap();
        timer
    }

    /// Runs the driver of the first shard, which waits at the parker and advances the shard.
    fn drive(&self) {
        while self.parker.wait() != Woken::Stopped {
            let now = self.parker.clock().now().as_nanos();
            advance(&self.shards, 0, now);
        }
    }
}

/// A timer is armed while the driver checks the alarm and goes to sleep. This fails if an arm does
/// not set the alarm.
#[test]
fn arm_against_the_driver() {
    explore(None, || {
        let scene = Scene::new();
        scene.host.advance(Duration::from_nanos(100));
        let timer = scene.timer(0, 1);
        let (armed, driver) = (timer.clone(), scene.clone());
        together!(move || armed.timer.add(70).unwrap(), move || driver.drive());
        settle(&scene.shards, &[&timer]);
    });
}

/// Two threads arm timers at the same time, so the later deadline can be set last. This fails if
/// the alarm is set after the lock was released.
#[test]
fn two_arms_against_the_driver() {
    explore(Some(3), || {
        let scene = Scene::new();
        scene.host.advance(Duration::from_nanos(20));
        let (near, far) = (scene.timer(0, 1), Logged::new(&scene.shards, 0));
        let (one, two, driver) = (near.clone(), far.clone(), scene.clone());
        together!(move || one.timer.add(10).unwrap(), move || two.timer.add(300).unwrap(), move || driver
            .drive());
        settle(&scene.shards, &[&near, &far]);
    });
}

/// A timer is reduced while the driver is about to sleep until a far deadline, or advances the
/// shard for another reason. This fails if a reduce does not set the alarm.
#[test]
fn reduce_against_the_driver_and_its_pass() {
    explore(Some(3), || {
        let scene = Scene::new();
        scene.host.advance(Duration::from_nanos(20));
        let first = Logged::armed(&scene.shards, 0, 5);
        let timer = scene.armed(0, 300);
        let (reduced, host) = (timer.clone(), scene.host.clone());
        let (driver, other) = (scene.clone(), scene.clone());
        together!(
            move || {
                reduced.timer.reduce(10).unwrap();
                // A timer that is armed for the past during a pass is due at the next tick.
                host.advance(Duration::from_nanos(1));
            },
            move || advance(&other.shards, 0, 6),
            move || driver.drive()
        );
        settle(&scene.shards, &[&first, &timer]);
    });
}

/// Another thread's pass, with an older time, is in progress when the alarm goes off. This fails if
/// the end of a pass does not set the alarm because the alarm seems to have the right time already.
#[test]
fn a_pass_of_another_thread_against_the_driver() {
    explore(Some(3), || {
        let scene = Scene::new();
        let first = scene.shards.shard(0).unwrap().deferrable_timer(|_| {});
        first.add(5).unwrap();
        let timer = scene.armed(0, 10);
        let (driver, other) = (scene.clone(), scene.clone());
        scene.host.advance(Duration::from_nanos(20));
        together!(move || advance(&other.shards, 0, 6), move || driver.drive());
        settle(&scene.shards, &[&timer]);
    });
}

/// A callback or another thread arms a timer during the pass. This fails if the end of a pass does
/// not set the alarm, or clears it.
#[test]
fn a_self_arming_timer_and_an_arm_against_the_driver() {
    explore(Some(3), || {
        let scene = Scene::new();
        scene.host.advance(Duration::from_nanos(300));
        let (host, parker) = (scene.host.clone(), scene.parker.clone());
        let again = Logged::doing(&scene.shards, 0, move |firing, before| {
            if before == 0 {
                firing.timer().modify(firing.now() + 1).unwrap();
                host.advance(Duration::from_nanos(10));
            } else {
                parker.stop();
            }
        });
        again.timer.add(5).unwrap();
        let (armed, driver) = (again.clone(), scene.clone());
        together!(
            move || {
                armed.timer.modify_pending(7).unwrap();
            },
            move || driver.drive()
        );
        settle(&scene.shards, &[&again]);
    });
}

/// A re-arm in the same bucket does not set the alarm, and need not set it.
#[test]
fn a_re_arm_in_place_against_the_driver() {
    explore(None, || {
        let scene = Scene::new();
        let timer = scene.armed(0, 70);
        scene.host.advance(Duration::from_nanos(72));
        let (re_armed, driver) = (timer.clone(), scene.clone());
        together!(
            move || {
                re_armed.timer.modify_pending(65).unwrap();
            },
            move || driver.drive()
        );
        settle(&scene.shards, &[&timer]);
    });
}

/// A timer moves to this shard from another shard. This fails if an arm sets only the alarm of the
/// shard that the timer left.
#[test]
fn migrate_against_the_driver() {
    explore(None, || {
        let scene = Scene::new();
        scene.host.advance(Duration::from_nanos(100));
        let timer = scene.armed(1, 70);
        let (moved, driver) = (timer.clone(), scene.clone());
        together!(
            move || {
                moved.timer.modify_on(0, 70).unwrap();
            },
            move || driver.drive()
        );
        settle(&scene.shards, &[&timer]);
    });
}

/// A drain moves a timer to the driver's shard. This fails if a drain does not set the alarm.
#[test]
fn drain_against_the_driver() {
    explore(None, || {
        let scene = Scene::new();
        scene.host.advance(Duration::from_nanos(100));
        let timer = scene.armed(1, 70);
        let (other, driver) = (scene.clone(), scene.clone());
        together!(move || assert_eq!(other.shards.shard(1).unwrap().drain_to(0), Ok(1)), move || driver
            .drive());
        settle(&scene.shards, &[&timer]);
    });
}

/// An arm reads the clock while the clock moves and the driver takes due timers. This fails if a
/// pass takes the timers that are due at the shard's time instead of the pass's time, because the
/// pass then takes a timer again that was armed during the pass.
#[test]
fn the_clock_against_the_driver() {
    explore(Some(3), || {
        let scene = Scene::new();
        scene.shards.shard(0).unwrap().set_clock(Arc::new(scene.host.monotonic()), Ticks::NANOSECOND);
        let (seen, parker) = (Arc::downgrade(&scene.shards), scene.parker.clone());
        let host = scene.host.clone();
        let other = scene.shards.shard(0).unwrap().timer(|_| {});
        let timer = Logged::doing(&scene.shards, 0, move |firing, before| {
            if before == 0 {
                host.advance(Duration::from_nanos(10));
                firing.timer().modify(firing.now() + 1).unwrap();
                let shown = seen.upgrade().map(|shards| shards.shard(0).unwrap().now());
                assert!(shown.is_some_and(|now| now >= firing.now() + 10), "an arm reads the clock");
                // The deadline has passed, so the timer fires at the next tick. Arming another
                // timer advances the shard's time to that tick.
                host.advance(Duration::from_nanos(1));
                other.add(300).unwrap();
            } else {
                parker.stop();
            }
            assert!(firing.expiry() <= firing.now(), "a pass has a time of its own");
        });
        timer.timer.add(5).unwrap();
        let (driver, host) = (scene.clone(), scene.host.clone());
        together!(move || host.advance(Duration::from_nanos(6)), move || driver.drive());
        settle(&scene.shards, &[&timer]);
    });
}
