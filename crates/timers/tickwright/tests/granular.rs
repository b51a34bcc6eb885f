//! Tests the lateness of granular structures. Services, schedulers and shards read the clock, so a
//! timer is late by at most 8/63 of its delay plus one tick, however long the uptime is and however
//! long no pass ran. The delay counts from the caller's time. A tick is 1 ms, and the clock is
//! virtual.

use core::time::Duration;
use std::sync::{Arc, Mutex};

use tickwright::scheduler::{Boxed, Next, Scheduler, Settings, Site, Structure, TimerSet, Timing};
use tickwright::shard::{ArmError, Linux, Shards, SharedTimer, Was, WheelGeometry};
use tickwright::structures::Geometry;
use tickwright::time::{Clock, Instant, SystemClock, Ticks, VirtualHost};

const SECOND: u64 = 1_000;
const HOUR: u64 = 3_600 * SECOND;

const UPTIMES: [u64; 7] = [SECOND, 61 * SECOND, 3_388 * SECOND, HOUR, 22 * HOUR + 1, 55 * HOUR, 100 * HOUR];
const PAUSES: [u64; 7] = [1, 70, SECOND, 12 * SECOND, 600 * SECOND, 1_799 * SECOND, HOUR];
const DELAYS: [u64; 9] = [1, 62, 63, 200, 504, SECOND, 12 * SECOND, 60 * SECOND, HOUR];

/// Returns the latest allowed tick for a timer with a delay from `now`. One tick is added because
/// the deadline is rounded up to a whole tick, and because a bucket can be one tick wide.
fn latest(now: u64, delay: u64) -> u64 {
    now + delay + delay * 8 / 63 + 1
}

fn ms(ticks: u64) -> Duration {
    Duration::from_millis(ticks)
}

fn granular() -> impl Iterator<Item = Structure> {
    Structure::all().into_iter().filter(|structure| !structure.is_exact())
}

#[test]
fn a_service_tells_its_structure_the_time() {
    for (structure, uptime) in granular().flat_map(|structure| UPTIMES.map(|uptime| (structure, uptime))) {
        let host = VirtualHost::new();
        let settings = Settings::new().clock(host.monotonic()).structure(structure).tick(ms(1));
        let mut set: TimerSet<()> = TimerSet::new(settings);
        host.advance(ms(uptime));
        let mut now = uptime;
        for (pause, delay) in PAUSES.into_iter().flat_map(|pause| DELAYS.map(|delay| (pause, delay))) {
            let in_time = |set: &TimerSet<()>, now: u64| {
                let due = set.next_wake().expect("a timer is pending").as_nanos() / 1_000_000;
                assert!((now + delay..=latest(now, delay)).contains(&due), "at {now} for {delay}: {due}");
            };
            let id = set.add(Timing::after(ms(delay)), &Site::here("add"), ()).unwrap();
            in_time(&set, now);
            // No pass runs during this time.
            host.advance(ms(pause));
            now += pause;
            set.start(id, Timing::after(ms(delay))).unwrap();
            in_time(&set, now);
            set.start(id, Timing::since(Instant::from_nanos(now * 1_000_000), ms(delay))).unwrap();
            in_time(&set, now);
            let _ = set.cancel(id);
        }
        assert_eq!(set.check(), Ok(()));
    }
}

#[test]
fn a_scheduler_runs_callbacks_and_periods_in_time() {
    for (structure, uptime) in granular().flat_map(|structure| UPTIMES.map(|uptime| (structure, uptime))) {
        let host = VirtualHost::new();
        let settings = Settings::new().clock(host.monotonic()).structure(structure).tick(ms(1));
        let mut scheduler = Scheduler::new(settings);
        let begin = host.monotonic().now();
        host.advance(ms(uptime));
        for delay in DELAYS {
            // The first run arms the second run at the time of the pass.
            let (runs, left) = (Arc::new(Mutex::new(Vec::new())), Mutex::new(1));
            let (log, clock) = (Arc::clone(&runs), host.monotonic());
            let callback = Boxed::new(move |_| {
                log.lock().unwrap().push(clock.now());
                let again = core::mem::take(&mut *left.lock().unwrap()) == 1;
                if again { Next::After(ms(delay)) } else { Next::Done }
            });
            let mut armed = host.monotonic().now();
            scheduler.add(ms(delay), callback).unwrap();
            while let Some(wait) = scheduler.timeout() {
                host.advance(wait.max(Duration::from_nanos(1)));
                let _ = scheduler.run_queue().unwrap();
            }
            let ticks = |at: Instant| at.duration_since(begin).as_millis() as u64;
            for &run in runs.lock().unwrap().iter() {
                let due = ticks(armed)..=latest(ticks(armed), delay);
                assert!(due.contains(&ticks(run)), "{delay} ms from {}: {}", ticks(armed), ticks(run));
                armed = run;
            }
            assert_eq!(runs.lock().unwrap().len(), 2);
            host.advance(ms(HOUR / 2));
        }
    }
}

/// An arming call: its name, and a function that makes the call with a deadline and a time.
type ArmingCall<G> = (&'static str, fn(&SharedTimer<G>, u64, u64) -> Result<Was, ArmError>);

/// Returns every public call with a deadline as argument. A call that refuses pending timers is
/// preceded by a cancel.
fn arming_calls<G: WheelGeometry>() -> [ArmingCall<G>; 9] {
    [
        ("modify", |timer, deadline, _| timer.modify(deadline)),
        ("modify_at", SharedTimer::modify_at),
        ("modify_on", |timer, deadline, _| timer.modify_on(1 - timer.shard(), deadline)),
        ("modify_pending", |timer, deadline, _| timer.modify_pending(deadline)),
        ("modify_pending_at", SharedTimer::modify_pending_at),
        ("reduce", |timer, deadline, _| timer.reduce(deadline)),
        ("reduce_at", SharedTimer::reduce_at),
        ("add", |timer, deadline, _| {
            let was = timer.cancel();
            timer.add(deadline).map(|()| was)
        }),
        ("add_on", |timer, deadline, _| {
            let was = timer.cancel();
            timer.add_on(1 - timer.shard(), deadline).map(|()| was)
        }),
    ]
}

/// A pending timer, two shards with the same clock, and the lateness bound of their geometry.
struct Scene<G: WheelGeometry> {
    host: VirtualHost,
    shards: Shards<G>,
    lateness: fn(u64) -> u64,
}

impl<G: WheelGeometry> Scene<G> {
    fn new(uptime: u64, lateness: fn(u64) -> u64) -> Self {
        let (host, shards) = (VirtualHost::new(), Shards::with_geometry(2, 0));
        for shard in [0, 1] {
            shards.shard(shard).unwrap().set_clock(Arc::new(host.monotonic()), Ticks::MILLISECOND);
        }
        host.advance(ms(uptime));
        Self { host, shards, lateness }
    }

    fn now(&self) -> u64 {
        Ticks::MILLISECOND.now(self.host.monotonic().now())
    }

    /// Checks that the timer is pending for `deadline`, and that it will not be later than the
    /// bound allows, counted from the current time.
    fn is_in_time(&self, timer: &SharedTimer<G>, deadline: u64, how: &str) {
        let now = self.now();
        let due = self.shards.shard(timer.shard()).unwrap().next_expiry().expect("the timer is pending");
        // If a timer is armed during a pass for a time that has passed, it fires at the next tick.
        let latest = deadline + (self.lateness)(deadline - now).max(1);
        assert!((deadline..=latest).contains(&due), "{how} at {now} for {}: {due}", deadline - now);
    }
}

/// Tests each call after a long pause, when timers would be late if the shard did not know the time
/// of the call.
fn after_a_pause<G: WheelGeometry>(lateness: fn(u64) -> u64) {
    for uptime in UPTIMES {
        let scene = Scene::<G>::new(uptime, lateness);
        let timer = scene.shards.shard(0).unwrap().timer(|_| ());
        for (pause, delay) in PAUSES.into_iter().flat_map(|pause| DELAYS.map(|delay| (pause, delay))) {
            for (how, call) in arming_calls::<G>() {
                // The timer is pending for the tick before the new deadline, for the same tick, or
                // for the next tick. These ticks are usually in the same bucket, whose width is
                // proportional to the pause.
                for armed in [pause + delay - 1, pause + delay, pause + delay + 1] {
                    let before = scene.now() + armed;
                    timer.modify(before).unwrap();
                    scene.is_in_time(&timer, before, "modify");
                    // No thread advances the shards during this time.
                    scene.host.advance(ms(pause));
                    let (now, deadline) = (scene.now(), scene.now() + delay);
                    assert_eq!(call(&timer, deadline, now), Ok(Was::Pending));
                    let meant = if how.starts_with("reduce") { deadline.min(before) } else { deadline };
                    scene.is_in_time(&timer, meant, how);
                    assert_eq!(timer.deadline(), Some(meant));
                }
            }
        }
        assert_eq!(scene.shards.check(), Ok(()));
    }
}

#[test]
fn an_arm_of_a_shard_is_in_time_however_long_its_driver_sleeps() {
    after_a_pause::<Linux>(|delay| delay * 8 / 63 + 1);
    after_a_pause::<Geometry<64, 3, 3>>(Geometry::<64, 3, 3>::lateness);
    after_a_pause::<Geometry<32, 2, 12>>(Geometry::<32, 2, 12>::lateness);
    after_a_pause::<Geometry<4, 1, 15>>(Geometry::<4, 1, 15>::lateness);
    after_a_pause::<Geometry<64, 6, 5>>(Geometry::<64, 6, 5>::lateness);
}

/// The callback of another timer runs for the length of the pause, and then arms the timer.
#[test]
fn an_arm_in_a_pass_that_takes_long_counts_from_its_own_time() {
    for (uptime, (how, call)) in
        UPTIMES.into_iter().flat_map(|uptime| arming_calls::<Linux>().map(|call| (uptime, call)))
    {
        let scene = Arc::new(Scene::<Linux>::new(uptime, |delay| delay * 8 / 63 + 1));
        let timer = scene.shards.shard(0).unwrap().timer(|_| ());
        let work = Arc::new(Mutex::new((0, 0)));
        let (seen, within, told) = (Arc::downgrade(&scene), timer.clone(), Arc::clone(&work));
        let slow = scene.shards.shard(0).unwrap().timer(move |firing| {
            let scene = seen.upgrade().expect("the scene advances the shard");
            let (pause, delay) = *told.lock().unwrap();
            scene.host.advance(ms(pause));
            let (now, deadline) = (scene.now(), scene.now() + delay);
            assert_eq!(call(&within, deadline, now), Ok(Was::Pending));
            scene.is_in_time(&within, deadline, how);
            assert_eq!(firing.now() + pause, now, "the pass keeps its time");
        });
        for (pause, delay) in PAUSES.into_iter().flat_map(|pause| DELAYS.map(|delay| (pause, delay))) {
            *work.lock().unwrap() = (pause, delay);
            let now = scene.now();
            timer.modify_on(0, now + pause + delay + 2).unwrap();
            slow.modify(now).unwrap();
            assert_eq!(scene.shards.shard(0).unwrap().advance(now), Ok(1));
        }
        assert_eq!(scene.shards.check(), Ok(()));
    }
}

/// A re-arm reads a clock of the machine without the lock. The timer is in a bucket of 32,768 ns,
/// which is for delays of 258,048 ns or more. If less time is left at a re-arm, the re-arm must
/// move the timer to another bucket.
#[test]
fn an_arm_without_the_lock_reads_a_clock_of_the_machine() {
    const LEVEL: usize = 5;
    for clock in [SystemClock::Monotonic, SystemClock::BootTime, SystemClock::RealTime] {
        let shards = Shards::new(2);
        for shard in [0, 1] {
            shards.shard(shard).unwrap().set_clock(Arc::new(clock), Ticks::NANOSECOND);
        }
        let timer = shards.shard(0).unwrap().timer(|_| ());
        let now = || clock.now().as_nanos();
        for (how, call) in arming_calls::<Linux>() {
            let last = Linux::bucket_end(now() + Linux::start(LEVEL) + 20_000, LEVEL) - 1;
            let first = last + 1 - Linux::granule(LEVEL);
            timer.modify_on(0, last).unwrap();
            let mut before = now();
            while before <= first - Linux::start(LEVEL) {
                before = now();
            }
            assert_eq!(call(&timer, first, before), Ok(Was::Pending));
            let due = shards.shard(timer.shard()).unwrap().next_expiry().unwrap();
            // If the test's thread was stopped for a long time, it arms the timer for the past, so
            // the timer is due at once.
            let latest = (first + Linux::granule(LEVEL - 1)).max(now());
            assert!((first..=latest).contains(&due), "{how} by {clock:?}: {}", due - first);
        }
        // If the timer can stay in its bucket, no lock is taken.
        let shards = Shards::new(1);
        let shard = shards.shard(0).unwrap();
        shard.set_clock(Arc::new(clock), Ticks::MILLISECOND);
        let timer = shard.timer(|_| ());
        timer.modify(shard.now() + HOUR).unwrap();
        let bucket = shard.next_expiry().unwrap();
        for deadline in [bucket - 2, bucket - 1, bucket - 1] {
            assert_eq!(timer.modify(deadline), Ok(Was::Pending));
        }
        assert_eq!((shards.statistics().matched, shards.statistics().locks), (3, 1), "{clock:?}");
    }
}
