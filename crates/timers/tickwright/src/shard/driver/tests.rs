use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::io;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

use super::ShardDriver;
use crate::shard::{Shards, SharedFiring, SharedTimer};
use crate::time::{Clock, Instant, Ticks, VirtualClock, VirtualHost};

type Log = Arc<Mutex<Vec<(u64, u64)>>>;

const NS: Ticks = Ticks::NANOSECOND;
const MS: u64 = 1_000_000;

fn scene(ticks: Ticks) -> (VirtualHost, Arc<Shards>, ShardDriver<VirtualClock>) {
    let host = VirtualHost::new();
    let shards = Arc::new(Shards::new(2));
    let driver = ShardDriver::spawn(&shards, 0, host.monotonic(), ticks).unwrap();
    assert!(driver.settle());
    (host, shards, driver)
}

/// Returns a timer that logs its deadline and the time at which it fires.
fn logging(shards: &Shards, shard: usize) -> (SharedTimer, Log) {
    let log = Log::default();
    let fired = Arc::clone(&log);
    let fire = move |firing: &SharedFiring<'_>| fired.lock().unwrap().push((firing.deadline(), firing.now()));
    (shards.shard(shard).unwrap().timer(fire), log)
}

#[test]
fn it_fires_at_the_end_of_the_bucket_and_not_before() {
    let (host, shards, driver) = scene(Ticks::MILLISECOND);
    let (timer, log) = logging(&shards, 0);
    for phase in [0, 1, MS / 2, MS - 1] {
        host.advance(Duration::from_nanos(phase));
        for delay in [0, 1, MS - 1, MS, MS + 1, 17 * MS, 100 * MS, 5000 * MS + 3] {
            let begin = host.monotonic().now();
            let now = begin.as_nanos();
            timer.add(driver.ticks().deadline(begin + Duration::from_nanos(delay))).unwrap();
            // If no timer is pending, the timer was due at once and has fired.
            let expiry = shards.shard(0).unwrap().next_expiry().unwrap_or(now / MS);
            assert!(expiry > now / MS || delay == 0, "{delay} at {now}: early");
            assert!(expiry * MS >= now + delay, "early");
            assert!(
                expiry * MS <= now + delay + delay / 7 + 2 * MS,
                "{delay} at {now} is due at {expiry}: too coarse"
            );
            let left = (expiry * MS).saturating_sub(now);
            if left > 0 {
                host.advance(Duration::from_nanos(left - 1));
                assert!(driver.settle());
                assert_eq!(log.lock().unwrap().len(), 0, "{delay} at {now}: early");
                host.advance(Duration::from_nanos(1));
            }
            assert!(driver.settle());
            assert_eq!(log.lock().unwrap().drain(..).count(), 1, "{delay} at {now}: late");
        }
    }
    assert_eq!(shards.check(), Ok(()));
    assert_eq!(driver.stop(), Ok(()));
}

#[test]
fn an_idle_shard_is_asleep_and_re_arms_in_place_do_not_wake_it() {
    let (host, shards, driver) = scene(NS);
    let (timer, log) = logging(&shards, 0);
    let (deferrable, _) = (shards.shard(0).unwrap().deferrable_timer(|_| {}), ());
    timer.modify(70).unwrap();
    assert!(driver.settle());
    assert_eq!((driver.thread().runs(), driver.thread().wakeups()), (0, 1), "it slept for ever");
    for deadline in [71, 64, 70, 66, 65] {
        timer.modify(deadline).unwrap();
    }
    for deadline in [1000, 300, 1, 10] {
        deferrable.modify(deadline).unwrap();
    }
    // Neither a later deadline nor a cancel changes the alarm.
    timer.modify(100_000).unwrap();
    timer.cancel();
    host.advance(Duration::from_nanos(71));
    assert!(driver.settle());
    assert_eq!((driver.thread().runs(), driver.thread().wakeups()), (0, 1));
    host.advance(Duration::from_nanos(1));
    assert!(driver.settle());
    assert_eq!((driver.thread().runs(), driver.thread().wakeups()), (1, 2), "once in vain");
    host.advance(Duration::from_millis(1));
    assert!(driver.settle());
    assert_eq!((driver.thread().runs(), log.lock().unwrap().len()), (1, 0));
    assert!(!deferrable.is_pending(), "it went along");
}

#[test]
fn whatever_makes_it_earlier_wakes_it() {
    let (host, shards, driver) = scene(NS);
    let (timer, log) = logging(&shards, 0);
    let fires = |expected: u64, deadline: u64| {
        assert!(driver.settle());
        host.advance(Instant::from_nanos(expected).duration_since(host.monotonic().now()));
        assert!(driver.settle());
        assert_eq!(log.lock().unwrap().drain(..).collect::<Vec<_>>(), [(deadline, expected)]);
    };
    timer.add(100_000).unwrap();
    timer.reduce(10).unwrap();
    fires(11, 10);
    timer.modify(100_000).unwrap();
    timer.modify(30).unwrap();
    fires(31, 30);
    timer.add_on(1, 50).unwrap();
    timer.modify_on(0, 50).unwrap();
    fires(51, 50);
    timer.add_on(1, 70).unwrap();
    assert_eq!(shards.shard(1).unwrap().drain_to(0), Ok(1));
    fires(71, 70);
    // The timer is due already.
    timer.add(0).unwrap();
    assert!(driver.settle());
    assert_eq!(log.lock().unwrap().drain(..).count(), 1);
}

#[test]
fn a_clock_that_stood_still_does_not_make_a_bucket_coarse() {
    let (host, shards, driver) = scene(Ticks::MILLISECOND);
    let (timer, log) = logging(&shards, 0);
    // Eight hours pass without a timer, and no thread advances the shard.
    host.advance(Duration::from_millis(8 * 3600 * 1000));
    assert!(driver.settle());
    assert_eq!(driver.thread().wakeups(), 0);
    let now = driver.ticks().now(host.monotonic().now());
    timer.add(now + 10).unwrap();
    assert_eq!(shards.shard(0).unwrap().next_expiry(), Some(now + 11));
    host.advance(Duration::from_millis(11));
    assert!(driver.settle());
    assert_eq!(*log.lock().unwrap(), [(now + 10, now + 11)]);
}

#[test]
fn a_panic_of_a_callback_does_not_hold_up_the_others() {
    let (host, shards, driver) = scene(NS);
    let timers: Vec<_> = (0..3).map(|_| logging(&shards, 0)).collect();
    let trap = shards.shard(0).unwrap().timer(|_| panic!("the callback"));
    for (at, (timer, _)) in timers.iter().enumerate() {
        timer.add(10).unwrap();
        if at == 0 {
            trap.add(10).unwrap();
        }
    }
    host.advance(Duration::from_nanos(11));
    assert!(driver.settle());
    assert!(timers.iter().all(|(_, log)| log.lock().unwrap().len() == 1));
    assert_eq!(driver.thread().panics().unwrap().count, 1);
    assert_eq!(driver.stop().unwrap_err().first, "the callback");
}

#[test]
fn a_pass_of_another_thread_hands_over_at_its_end() {
    let (host, shards, driver) = scene(NS);
    let (begin, begun) = channel();
    let (end, ended) = channel::<()>();
    let ended = Mutex::new(ended);
    let slow = shards.shard(0).unwrap().timer(move |_| {
        begin.send(()).unwrap();
        let _ = ended.lock().unwrap().recv();
    });
    let (timer, log) = logging(&shards, 0);
    slow.add(5).unwrap();
    timer.add(20).unwrap();
    assert!(driver.settle());
    std::thread::scope(|scope| {
        scope.spawn(|| shards.shard(0).unwrap().advance_within(6, usize::MAX));
        begun.recv().unwrap();
        // The driver's alarm goes off, and the driver finds the shard busy.
        host.advance(Duration::from_nanos(100));
        assert!(driver.settle());
        assert_eq!(log.lock().unwrap().len(), 0);
        drop(end);
    });
    assert!(driver.settle());
    assert_eq!(log.lock().unwrap().len(), 1, "lost, or left for later");
}

#[test]
fn its_end_takes_the_clock_and_the_alarm_away() {
    let (host, shards, driver) = scene(NS);
    let (timer, _) = logging(&shards, 0);
    drop(driver);
    host.advance(Duration::from_nanos(1000));
    timer.add(10).unwrap();
    assert_eq!((shards.shard(0).unwrap().now(), shards.shard(0).unwrap().next_wake()), (0, Some(11)));
    let shards = Arc::into_inner(shards).expect("nobody else keeps them");
    drop(shards);
    assert!(!timer.is_pending());
}

#[test]
fn it_may_be_dropped_by_a_callback_of_its_own() {
    let (host, shards, driver) = scene(NS);
    let place = Arc::new(Mutex::new(None));
    let inside = Arc::clone(&place);
    let (told, hear) = channel();
    let timer = shards.shard(0).unwrap().timer(move |_| {
        drop(inside.lock().unwrap().take());
        let _ = told.send(());
    });
    *place.lock().unwrap() = Some(driver);
    timer.add(5).unwrap();
    host.advance(Duration::from_nanos(6));
    hear.recv().unwrap();
}

#[test]
fn a_shard_that_is_not_there_is_refused() {
    let shards = Arc::new(Shards::new(1));
    let refused = ShardDriver::spawn(&shards, 1, VirtualHost::new().monotonic(), NS).unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::InvalidInput);
    assert!(refused.to_string().contains("no shard of that number"));
}

#[test]
fn two_shards_two_drivers() {
    let (host, shards, _first) = scene(NS);
    let second = ShardDriver::spawn(&shards, 1, host.monotonic(), NS).unwrap();
    let sum = Arc::new(AtomicU64::new(0));
    let timers: Vec<_> = (0..20_u64)
        .map(|at| {
            let sum = Arc::clone(&sum);
            let fire = move |firing: &SharedFiring<'_>| {
                sum.fetch_add(firing.deadline(), Ordering::Relaxed);
            };
            let timer = shards.shard((at % 2) as usize).unwrap().timer(fire);
            timer.add(at).unwrap();
            timer
        })
        .collect();
    host.advance(Duration::from_nanos(1000));
    assert!(second.settle() && _first.settle());
    assert_eq!(sum.load(Ordering::Relaxed), 190);
    assert!(timers.iter().all(|timer| !timer.is_pending()));
}
