//! Services, schedulers and shards know the time, so their granular structures are in time after
//! any uptime and any sleep: late by at most 8/63 of the delay plus one tick, counted from the
//! caller's time. A tick is 1 ms, and the clock is virtual.

use core::time::Duration;
use std::sync::{Arc, Mutex};

use tickwright::clock::{Clock, Instant, Ticks, VirtualHost};
use tickwright::scheduler::{Boxed, Next, Scheduler};
use tickwright::service::{Service, Settings, Site, Structure, Timing};
use tickwright::shard::{Shards, Was};

const SECOND: u64 = 1_000;
const HOUR: u64 = 3_600 * SECOND;

const UPTIMES: [u64; 7] = [SECOND, 61 * SECOND, 3_388 * SECOND, HOUR, 22 * HOUR + 1, 55 * HOUR, 100 * HOUR];
const PAUSES: [u64; 7] = [1, 70, SECOND, 12 * SECOND, 600 * SECOND, 1_799 * SECOND, HOUR];
const DELAYS: [u64; 9] = [1, 62, 63, 200, 504, SECOND, 12 * SECOND, 60 * SECOND, HOUR];

/// The latest tick for a delay from `now`. The one tick is for the deadline, which rounds up to a
/// whole tick, and for buckets of one tick.
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
        let mut service: Service<()> = Service::new(settings);
        host.advance(ms(uptime));
        let mut now = uptime;
        for (pause, delay) in PAUSES.into_iter().flat_map(|pause| DELAYS.map(|delay| (pause, delay))) {
            let in_time = |service: &Service<()>, now: u64| {
                let due = service.next_wake().expect("a timer is pending").as_nanos() / 1_000_000;
                assert!((now + delay..=latest(now, delay)).contains(&due), "at {now} for {delay}: {due}");
            };
            let id = service.add(Timing::after(ms(delay)), &Site::here("add"), ()).unwrap();
            in_time(&service, now);
            // Nobody runs a pass meanwhile.
            host.advance(ms(pause));
            now += pause;
            service.start(id, Timing::after(ms(delay))).unwrap();
            in_time(&service, now);
            service.start(id, Timing::since(Instant::from_nanos(now * 1_000_000), ms(delay))).unwrap();
            in_time(&service, now);
            let _ = service.cancel(id);
        }
        assert_eq!(service.check(), Ok(()));
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
            // The second run is armed by the first, at the time of the pass.
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

/// The shard's clock is read under the lock, and the caller passes the time without the lock.
#[test]
fn a_shard_with_a_clock_is_in_time_however_long_its_driver_sleeps() {
    for uptime in UPTIMES {
        let host = VirtualHost::new();
        let shards = Shards::new(1);
        let shard = shards.shard(0).unwrap();
        shard.set_clock(Arc::new(host.monotonic()), Ticks::MILLISECOND);
        let timer = shard.timer(|_| ());
        host.advance(ms(uptime));
        let mut now = uptime;
        for (pause, delay) in PAUSES.into_iter().flat_map(|pause| DELAYS.map(|delay| (pause, delay))) {
            let in_time = |now: u64, how: &str| {
                let due = shard.next_expiry().expect("a timer is pending");
                assert!(
                    (now + delay..=latest(now, delay)).contains(&due),
                    "{how} at {now} for {delay}: {due}"
                );
            };
            timer.add(now + delay).unwrap();
            in_time(now, "add");
            host.advance(ms(pause));
            now += pause;
            assert_eq!(timer.modify_at(now + delay, now), Ok(Was::Pending));
            in_time(now, "modify");
            // From an hour to the delay, in one bucket if the hour has passed but for that delay.
            for armed in [HOUR, HOUR - 1, HOUR + delay] {
                let end = now + armed;
                timer.modify_at(end, now).unwrap();
                let later = end - 1 - delay;
                host.advance(ms(later.saturating_sub(now)));
                now = now.max(later);
                assert_eq!(timer.reduce_at(now + delay, now), Ok(Was::Pending));
                if armed > delay + 1 {
                    in_time(now, "reduce");
                }
                assert_eq!(timer.modify_pending_at(now + delay, now), Ok(Was::Pending));
            }
            let _ = timer.cancel();
        }
        assert_eq!(shards.check(), Ok(()));
    }
}
