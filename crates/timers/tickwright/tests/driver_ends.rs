//! Tests that a shard's second driver keeps its alarm when the first one ends, and that a parker
//! under construction stays registered with its clock.
#![cfg(not(loom))]

use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;
use std::sync::{Arc, Mutex, Weak};

use tickwright::shard::{ShardDriver, Shards};
use tickwright::time::{Alarm, Clock, Instant, Parker, Ticks, VirtualClock, VirtualHost, Watcher};

/// A second driver replaces the alarm of the first driver. Here the first driver is dropped after
/// that, as in the assignment `self.driver = ShardDriver::spawn(..)?`.
#[test]
fn the_end_of_the_first_driver_leaves_the_second_one_its_alarm() {
    let host = VirtualHost::new();
    let shards = Arc::new(Shards::new(1));
    let spawn = || ShardDriver::spawn(&shards, 0, host.monotonic(), Ticks::NANOSECOND).unwrap();
    let first = spawn();
    let second = spawn();
    drop(first);
    let timer = shards.shard(0).unwrap().timer(|_| {});
    timer.add(10).unwrap();
    assert_eq!(
        second.thread().parker().alarm(),
        Some(Instant::from_nanos(11)),
        "the second driver is told of nothing any more"
    );
    host.advance(Duration::from_nanos(100));
    assert!(second.settle());
    assert!(!timer.is_pending(), "slept through");
}

/// While a thread creates a parker, another thread can create a second parker on the same machine.
/// In this test, the clock itself creates the second parker at that moment.
struct InBetween {
    clock: VirtualClock,
    other: Mutex<Option<Arc<Parker<VirtualClock>>>>,
    looks: AtomicU32,
}

impl Clock for InBetween {
    fn now(&self) -> Instant {
        self.looks.fetch_add(1, Ordering::Relaxed);
        self.clock.now()
    }

    fn watch(&self, watcher: &Weak<dyn Watcher>) {
        self.clock.watch(watcher);
        *self.other.lock().unwrap() = Some(Parker::new(self.clock.clone()));
    }
}

/// If `Parker::new` registered the parker inside `Arc::new_cyclic`, the strong count of the `Weak`
/// would still be 0, and `VirtualClock::watch` removes watchers with a count of 0.
#[test]
fn a_parker_that_is_being_made_is_not_forgotten_by_its_clock() {
    let host = VirtualHost::new();
    let clock = InBetween { clock: host.monotonic(), other: Mutex::default(), looks: AtomicU32::new(0) };
    let parker = Parker::new(clock);
    parker.set(Some(Instant::from_nanos(10)));
    let before = parker.clock().looks.load(Ordering::Relaxed);
    host.advance(Duration::from_nanos(10));
    let after = parker.clock().looks.load(Ordering::Relaxed);
    assert!(after > before, "the clock has moved, and did not tell: who sleeps there sleeps for ever");
}
