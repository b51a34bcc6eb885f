use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::sync::Arc;
use std::thread;

use super::VirtualHost;
use crate::time::{Alarm, Clock, Instant, Parker, SystemClock, VirtualClock, Watcher, Woken};

/// Returns the instants of the three clocks, and the wall time.
fn seen(host: &VirtualHost) -> (u64, u64, u64, i128) {
    let real = host.real_time();
    let wall = i128::from(real.now().as_nanos()) + i128::from(real.wall_offset().unwrap());
    let steady = [host.monotonic(), host.boot_time(), real].map(|clock| clock.now().as_nanos());
    (steady[0], steady[1], steady[2], wall)
}

#[test]
fn each_event_moves_what_it_should() {
    let host = VirtualHost::starting_at(Instant::from_nanos(10), 1000);
    assert_eq!(seen(&host), (10, 10, 10, 1010));
    host.advance(Duration::from_nanos(5));
    assert_eq!(seen(&host), (15, 15, 15, 1015));
    host.suspend(Duration::from_nanos(100));
    assert_eq!(seen(&host), (15, 115, 15, 1115));
    host.step_wall(-500);
    assert_eq!(seen(&host), (15, 115, 15, 615));
    host.step_wall(2000);
    assert_eq!(seen(&host), (15, 115, 15, 2615));
    host.advance(Duration::from_nanos(1));
    assert_eq!(seen(&host), (16, 116, 16, 2616));
}

#[test]
fn no_time_wraps() {
    let host = VirtualHost::starting_at(Instant::from_nanos(u64::MAX - 1), i64::MAX - 1);
    host.suspend(Duration::from_nanos(u64::MAX));
    assert_eq!(
        seen(&host),
        (u64::MAX - 1, u64::MAX, u64::MAX - 1, i128::from(u64::MAX - 1) + i128::from(i64::MAX))
    );
    host.advance(Duration::from_nanos(2));
    host.advance(Duration::from_nanos(u64::MAX));
    host.suspend(Duration::from_nanos(1));
    assert_eq!((host.monotonic().now(), host.boot_time().now()), (Instant::MAX, Instant::MAX));
    host.step_wall(i64::MIN);
    host.step_wall(i64::MIN);
    assert_eq!(host.real_time().wall_offset(), Some(i64::MIN));
}

#[test]
fn only_real_time_knows_the_date_and_nobody_has_to_look() {
    let host = VirtualHost::new();
    for kind in [SystemClock::Monotonic, SystemClock::BootTime, SystemClock::RealTime] {
        let clock = host.clock(kind);
        assert_eq!(clock.wall_offset().is_some(), kind == SystemClock::RealTime);
        assert_eq!(clock.longest_sleep(), None);
    }
}

#[derive(Default)]
struct Counting(AtomicU64);

impl Watcher for Counting {
    fn clock_moved(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn watchers_are_told_of_each_move_and_forgotten_when_gone() {
    let host = VirtualHost::new();
    let (one, two) = (Arc::new(Counting::default()), Arc::new(Counting::default()));
    let weak = |watcher: &Arc<Counting>| Arc::downgrade(&(Arc::clone(watcher) as Arc<dyn Watcher>));
    // The test registers a watcher through a reference and through an `Arc`, which both pass the
    // call to the clock.
    let by_reference: &dyn Clock = &&host.monotonic();
    by_reference.watch(&weak(&one));
    Arc::new(host.real_time()).watch(&weak(&two));
    assert!(by_reference.stands_still() && Arc::new(host.boot_time()).stands_still());
    host.advance(Duration::from_nanos(1));
    host.suspend(Duration::from_nanos(1));
    host.step_wall(1);
    drop(two);
    host.advance(Duration::from_nanos(1));
    assert_eq!(one.0.load(Ordering::Relaxed), 4);
    host.boot_time().watch(&weak(&one));
    assert_eq!(crate::sync::lock(&host.times.watchers).len(), 2, "the one that is gone was forgotten");

    assert!(!SystemClock::Monotonic.stands_still());
    assert_eq!((Counting::default().awaited(), by_reference.idle()), (Some(Instant::MAX), ()));
}

/// Starts a thread that waits at a parker for one `period` after the other, until the clock shows
/// `end`. The thread returns the times at which it woke.
fn sleeper(parker: Arc<Parker<VirtualClock>>, period: u64, end: u64) -> thread::JoinHandle<Vec<u64>> {
    parker.set(Some(Instant::from_nanos(period)));
    thread::spawn(move || {
        let mut woken = Vec::new();
        while woken.last().is_none_or(|&at| at < end) {
            assert_eq!(parker.wait(), Woken::Due);
            let now = parker.clock().now();
            woken.push(now.as_nanos());
            parker.set(Some(now + Duration::from_nanos(period)));
        }
        parker.stop();
        woken
    })
}

#[test]
fn the_clocks_move_by_themselves_when_all_sleep() {
    let host = VirtualHost::new();
    host.suspend(Duration::from_nanos(100));
    let (steady, boot) = (Parker::new(host.monotonic()), Parker::new(host.boot_time()));
    let threads = [(steady, 10, 60), (boot, 125, 260)];
    let threads = threads.map(|(parker, period, end)| sleeper(parker, period, end));
    let hold = host.hold();
    let moves = host.move_by_itself();
    assert_eq!(host.monotonic().now(), Instant::ZERO);
    drop(hold);
    let woken = threads.map(|thread| thread.join().unwrap());
    assert_eq!(woken[0], [10, 20, 30, 40, 50, 60]);
    assert_eq!(woken[1], [125, 250, 375], "by boot time, which is 100 ahead");
    drop(moves);
    let parker = Parker::new(host.monotonic());
    parker.set(Some(Instant::from_nanos(1000)));
    let thread = thread::spawn({
        let parker = parker.clone();
        move || parker.wait()
    });
    assert!(parker.settle(), "nothing moves any more");
    assert_eq!(host.monotonic().now(), Instant::from_nanos(275));
    host.advance(Duration::from_nanos(725));
    assert_eq!(thread.join().unwrap(), Woken::Due);
}

#[test]
fn clocks_that_run_wake_and_stop() {
    let host = VirtualHost::new();
    let parker = Parker::new(host.monotonic());
    let waits = |parker: &Arc<Parker<VirtualClock>>| {
        let parker = parker.clone();
        thread::spawn(move || parker.wait())
    };
    parker.set(Some(Instant::from_nanos(1_000_000)));
    let thread = waits(&parker);
    assert!(parker.settle());
    host.resume();
    host.resume();
    assert!(!host.is_paused());
    assert_eq!(thread.join().unwrap(), Woken::Due, "a thread that slept already");
    host.pause();
    let now = host.monotonic().now();
    assert!(host.is_paused() && now >= Instant::from_nanos(1_000_000));
    assert_eq!(host.monotonic().now(), now);
    // A thread that sleeps while the clocks run is notified of the pause, and then of the move.
    host.resume();
    parker.set(Some(now + Duration::from_secs(3600)));
    let thread = waits(&parker);
    assert!(parker.settle());
    host.pause();
    assert!(parker.settle());
    host.advance(Duration::from_secs(3600));
    assert_eq!(thread.join().unwrap(), Woken::Due);
}

/// A parker at which no thread waits prevents the clocks from moving until it is dropped.
#[test]
fn a_parker_that_is_gone_keeps_no_clock_still() {
    let host = VirtualHost::new();
    let _moves = host.move_by_itself();
    let [parker, bystander] = [(), ()].map(|()| Parker::new(host.monotonic()));
    parker.set(Some(Instant::from_nanos(1_000)));
    let thread = thread::spawn(move || parker.wait());
    assert_eq!(host.monotonic().now(), Instant::ZERO, "the other one works");
    drop(bystander);
    assert_eq!(thread.join().unwrap(), Woken::Due);
}

#[test]
fn moves_from_many_threads_add_up_and_no_clock_runs_back() {
    let host = VirtualHost::new();
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..1000 {
                    host.advance(Duration::from_nanos(1));
                    host.suspend(Duration::from_nanos(2));
                    host.step_wall(-2);
                }
            });
        }
        let mut last = (Instant::ZERO, Instant::ZERO);
        for _ in 0..1000 {
            let now = (host.monotonic().now(), host.boot_time().now());
            assert!(now.0 >= last.0 && now.1 >= last.1);
            last = now;
        }
    });
    assert_eq!(seen(&host), (3000, 9000, 3000, 3000));
}
