//! Tests of a shard whose driver sleeps: its alarm and its bounds on lateness while no thread
//! advances the shard.
#![cfg(not(loom))]

use core::time::Duration;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tickwright::shard::{ShardDriver, Shards, SharedTimer};
use tickwright::time::{Alarm, Clock, Instant, Ticks, VirtualHost};

const MINUTE: u64 = 60_000;

/// The shard's time does not advance while its driver sleeps. A re-arm by a caller that passes the
/// current time still gets a level as fine as the level of a newly armed timer.
#[test]
fn a_re_arm_in_place_under_a_driver_that_sleeps_keeps_the_bound_on_lateness() {
    let host = VirtualHost::new();
    let shards = Arc::new(Shards::new(1));
    let driver = ShardDriver::spawn(&shards, 0, host.monotonic(), Ticks::MILLISECOND).unwrap();
    let timer = shards.shard(0).unwrap().timer(|_| {});
    let mut worst = (0, 0, 0);
    for hours in 1..24 {
        let now = driver.ticks().now(host.monotonic().now());
        timer.modify(now + hours * 60 * MINUTE).unwrap();
        assert!(driver.settle());
        // Most of that delay passes, and then the deadline is moved to one second from now.
        host.advance(Duration::from_millis(hours * 60 * MINUTE - 2000));
        assert!(driver.settle());
        let now = driver.ticks().now(host.monotonic().now());
        let deadline = now + 1000;
        timer.modify_at(deadline, now).unwrap();
        let late = shards.shard(0).unwrap().next_expiry().unwrap() - deadline;
        worst = worst.max((late, hours, now - shards.shard(0).unwrap().now()));
        timer.cancel();
        host.advance(Duration::from_millis(7919));
    }
    let (late, hours, stale) = worst;
    assert!(
        late <= 1000 * 8 / 63 + 1,
        "{late} ms late for 1 s, armed {hours} h before; the clock is {stale} ms old"
    );
}

/// An alarm that stores the time to which it is set, in ns.
#[derive(Default)]
struct Bell(Mutex<Option<u64>>);

impl Alarm for Bell {
    fn set(&self, at: Option<Instant>) {
        *self.0.lock().unwrap() = at.map(Instant::as_nanos);
    }
}

/// If a driver wakes only when the alarm goes off, no timer is early, and no timer is late by more
/// than 8/63 of its delay.
#[test]
fn a_driver_that_looks_only_when_rung_is_never_late() {
    for seed in 1..=200_u64 {
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let mut random = |below: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) % below
        };
        let host = VirtualHost::starting_at(Instant::from_nanos(random(1 << 40)), 0);
        let shards = Shards::new(2);
        let bell = Arc::new(Bell::default());
        shards.shard(0).unwrap().set_clock(Arc::new(host.monotonic()), Ticks::NANOSECOND);
        shards.shard(0).unwrap().set_alarm(Some(bell.clone()));
        let fired: Arc<Mutex<Vec<(usize, u64, u64)>>> = Arc::default();
        let timers: Vec<SharedTimer> = (0..20)
            .map(|at| {
                let fired = fired.clone();
                shards
                    .shard(0)
                    .unwrap()
                    .timer(move |f| fired.lock().unwrap().push((at, f.deadline(), f.now())))
            })
            .collect();
        let mut armed: HashMap<usize, (u64, u64)> = HashMap::new();
        for _ in 0..400 {
            let now = host.monotonic().now().as_nanos();
            let which = random(20) as usize;
            let span = 1 << random(34);
            let deadline = now + random(span);
            match random(6) {
                0 => {
                    timers[which].cancel();
                    timers[which].add(deadline).unwrap();
                    armed.insert(which, (now, deadline));
                }
                1 => {
                    timers[which].modify(deadline).unwrap();
                    armed.insert(which, (now, deadline));
                }
                2 => {
                    timers[which].cancel();
                    timers[which].add_on(1, deadline).unwrap();
                    timers[which].modify_on(0, deadline).unwrap();
                    armed.insert(which, (now, deadline));
                }
                3 => {
                    timers[which].cancel();
                    timers[which].add_on(1, deadline).unwrap();
                    assert_eq!(shards.shard(1).unwrap().drain_to(0), Ok(1));
                    armed.insert(which, (now, deadline));
                }
                4 => {
                    timers[which].cancel();
                    armed.remove(&which);
                }
                _ => {
                    let span = 1 << random(30);
                    host.advance(Duration::from_nanos(random(span)));
                }
            }
            let now = host.monotonic().now().as_nanos();
            let rung = *bell.0.lock().unwrap();
            if rung.is_some_and(|at| at <= now) {
                let _ = shards.shard(0).unwrap().advance_within(now, usize::MAX).unwrap();
                for (at, deadline, then) in fired.lock().unwrap().drain(..) {
                    assert!(then >= deadline, "seed {seed}: early");
                    armed.remove(&at);
                }
            }
            shards.check().unwrap();
            let rung = *bell.0.lock().unwrap();
            for (&at, &(since, deadline)) in &armed {
                let latest = deadline + (deadline - since) * 8 / 63 + 1;
                let rung = rung.unwrap_or(u64::MAX);
                assert!(rung <= latest, "seed {seed}: {at} due {deadline} of {since}, alarm {rung}");
                assert!(rung > now, "seed {seed}: spins");
                assert!(latest > now, "seed {seed}: {at} is late at {now}, due {deadline} since {since}");
            }
        }
    }
}
