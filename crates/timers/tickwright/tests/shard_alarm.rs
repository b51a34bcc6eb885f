//! Single-threaded tests with exact results of how a shard sets its alarm and reads its clock.
#![cfg(not(loom))]

use core::panic::AssertUnwindSafe;
use core::sync::atomic::{AtomicU64, Ordering};
use std::panic::catch_unwind;
use std::sync::{Arc, Mutex};

use tickwright::shard::{ArmError, Linux, Shards, SharedTimer, Was, WheelGeometry};
use tickwright::structures::Geometry;
use tickwright::time::{Alarm, Clock, Instant, Ticks};

const ALL: usize = usize::MAX;

/// An alarm that logs the times to which it is set, in ns.
#[derive(Default)]
struct Noting(Mutex<Vec<Option<u64>>>);

impl Alarm for Noting {
    fn set(&self, at: Option<Instant>) {
        self.0.lock().unwrap().push(at.map(Instant::as_nanos));
    }
}

impl Noting {
    fn new<G: WheelGeometry>(shards: &Shards<G>, shard: usize) -> Arc<Self> {
        let alarm = Arc::new(Self::default());
        shards.shard(shard).unwrap().set_alarm(Some(alarm.clone()));
        alarm
    }

    /// Returns the times logged since the last call.
    fn told(&self) -> Vec<Option<u64>> {
        core::mem::take(&mut self.0.lock().unwrap())
    }
}

fn quiet<G: WheelGeometry>(shards: &Shards<G>, shard: usize) -> SharedTimer<G> {
    shards.shard(shard).unwrap().timer(|_| {})
}

#[test]
fn it_is_set_when_the_next_wake_becomes_earlier_and_after_every_advance() {
    let shards = Shards::new(2);
    let (one, two) = (quiet(&shards, 0), quiet(&shards, 0));
    one.add(70).unwrap();
    let alarm = Noting::new(&shards, 0);
    assert_eq!(alarm.told(), [Some(72)], "what is pending already");
    two.add(300).unwrap();
    two.modify(400).unwrap();
    assert_eq!(alarm.told(), [], "later than the first");
    one.modify(65).unwrap();
    assert_eq!(alarm.told(), [], "in place: its bucket ends as before");
    two.modify(10).unwrap();
    assert_eq!(alarm.told(), [Some(11)]);
    two.cancel();
    assert_eq!(alarm.told(), [], "too early is no harm");
    let _ = shards.shard(0).unwrap().advance_within(5, ALL).unwrap();
    assert_eq!(alarm.told(), [Some(72)]);
    one.reduce(66).unwrap();
    assert_eq!(alarm.told(), [Some(66)], "it keeps 65, and leaves a bucket that is too wide by now");
    one.reduce(20).unwrap();
    assert_eq!(alarm.told(), [Some(21)]);
    let _ = shards.shard(0).unwrap().advance_within(21, ALL).unwrap();
    assert_eq!(alarm.told(), [None]);
    // The timer is due, but an advance with a budget of 0 does not take it.
    one.add(21).unwrap();
    let _ = shards.shard(0).unwrap().advance_within(22, 0).unwrap();
    let told = alarm.told();
    assert!(told.iter().all(|at| at.is_some_and(|at| at <= 22)) && told.len() == 2, "{told:?}");
}

#[test]
fn whoever_gets_a_timer_is_told() {
    let shards = Shards::new(2);
    let (first, second) = (Noting::new(&shards, 0), Noting::new(&shards, 1));
    let timer = quiet(&shards, 0);
    assert_eq!((first.told(), second.told()), (vec![None], vec![None]));
    timer.add(70).unwrap();
    assert_eq!((first.told(), second.told()), (vec![Some(72)], vec![]));
    timer.modify_on(1, 70).unwrap();
    assert_eq!((first.told(), second.told()), (vec![], vec![Some(72)]));
    assert_eq!(shards.shard(1).unwrap().drain_to(0), Ok(1));
    assert_eq!((first.told(), second.told()), (vec![], vec![]), "set for then already");
    let _ = shards.shard(0).unwrap().advance_within(1, ALL).unwrap();
    let _ = shards.shard(1).unwrap().advance_within(1, ALL).unwrap();
    assert_eq!((first.told(), second.told()), (vec![Some(72)], vec![None]));
    assert_eq!(shards.shard(0).unwrap().drain_to(1), Ok(1));
    assert_eq!((first.told(), second.told()), (vec![], vec![Some(72)]));
}

#[test]
fn deferrable_timers_and_refusals_never_set_it() {
    let shards = Shards::new(1);
    let alarm = Noting::new(&shards, 0);
    let deferrable = shards.shard(0).unwrap().deferrable_timer(|_| {});
    let dead = quiet(&shards, 0);
    dead.shutdown();
    let _ = alarm.told();
    deferrable.add(1).unwrap();
    deferrable.modify(100_000).unwrap();
    deferrable.reduce(5).unwrap();
    assert_eq!(dead.modify(1), Err(ArmError::ShutDown));
    assert_eq!(quiet(&shards, 0).modify_pending(1), Ok(Was::Idle));
    assert_eq!(alarm.told(), []);
}

#[test]
fn a_pass_sets_it_once_at_its_end_also_when_a_callback_panics() {
    let shards = Shards::new(1);
    let alarm = Noting::new(&shards, 0);
    let again = shards.shard(0).unwrap().timer(|firing| {
        firing.timer().modify(firing.now() + 5).unwrap();
        assert_ne!(firing.deadline(), 15, "told to panic");
    });
    again.add(10).unwrap();
    let _ = alarm.told();
    let _ = shards.shard(0).unwrap().advance_within(10 + 1, ALL).unwrap();
    assert_eq!(alarm.told(), [Some(17)]);
    again.modify(15).unwrap();
    let _ = alarm.told();
    catch_unwind(AssertUnwindSafe(|| shards.shard(0).unwrap().advance_within(16, ALL))).unwrap_err();
    assert_eq!(alarm.told(), [Some(22)]);
    assert_eq!(shards.check(), Ok(()));
}

/// An alarm that panics when it is set.
struct Trap;

impl Alarm for Trap {
    fn set(&self, at: Option<Instant>) {
        assert_eq!(at, None, "set");
    }
}

#[test]
fn an_alarm_that_panics_leaves_the_shard_whole() {
    let shards = Shards::new(1);
    shards.shard(0).unwrap().set_alarm(Some(Arc::new(Trap)));
    let timer = quiet(&shards, 0);
    catch_unwind(AssertUnwindSafe(|| timer.add(10))).unwrap_err();
    assert!(timer.is_pending());
    assert_eq!(shards.check(), Ok(()));
    shards.shard(0).unwrap().set_alarm(None);
    assert_eq!(shards.shard(0).unwrap().advance(11).unwrap(), 1);
}

#[test]
fn both_go_with_the_shards() {
    let shards = Shards::new(1);
    let alarm = Noting::new(&shards, 0);
    let clock = Arc::new(Hand::default());
    shards.shard(0).unwrap().set_clock(clock.clone(), Ticks::NANOSECOND);
    // A timer keeps the wheels alive, but not the alarm and the clock.
    let timer = quiet(&shards, 0);
    drop(shards);
    assert_eq!((Arc::strong_count(&alarm), Arc::strong_count(&clock)), (1, 1));
    assert_eq!(timer.add(1), Err(ArmError::ShardsGone));
}

/// A clock that a test sets, in ns.
#[derive(Default)]
struct Hand(AtomicU64);

impl Clock for Hand {
    fn now(&self) -> Instant {
        Instant::from_nanos(self.0.load(Ordering::Relaxed))
    }
}

#[test]
fn a_clock_is_looked_at_by_whoever_takes_the_lock_to_arm() {
    let shards = Shards::new(2);
    let clock = Arc::new(Hand::default());
    shards.shard(0).unwrap().set_clock(clock.clone(), Ticks::NANOSECOND);
    let timer = quiet(&shards, 0);
    clock.0.store(1_000_000, Ordering::Relaxed);
    timer.add(1_000_010).unwrap();
    assert_eq!(
        (shards.shard(0).unwrap().now(), shards.shard(0).unwrap().next_expiry()),
        (1_000_000, Some(1_000_011))
    );
    // The shard's time never goes back, and a pass also sets it.
    clock.0.store(5, Ordering::Relaxed);
    timer.modify(1_000_020).unwrap();
    let _ = shards.shard(0).unwrap().advance_within(1_000_005, ALL).unwrap();
    timer.modify(1_000_040).unwrap();
    assert_eq!(shards.shard(0).unwrap().now(), 1_000_005);
    timer.cancel();
    // The timer moves to this shard from another shard, which has no clock.
    clock.0.store(2_000_000, Ordering::Relaxed);
    let stranger = quiet(&shards, 1);
    stranger.add_on(0, 2_000_007).unwrap();
    assert_eq!((shards.shard(0).unwrap().now(), shards.shard(1).unwrap().now()), (2_000_000, 0));
    clock.0.store(3_000_000, Ordering::Relaxed);
    stranger.modify_on(1, 3_000_000).unwrap();
    assert_eq!(shards.shard(1).unwrap().drain_to(0), Ok(1));
    assert_eq!(
        (shards.shard(0).unwrap().now(), shards.shard(0).unwrap().next_expiry()),
        (3_000_000, Some(3_000_000))
    );
    assert_eq!(shards.check(), Ok(()));
}

#[test]
fn a_pass_under_way_keeps_its_time_though_the_clock_moves() {
    let shards = Shards::new(1);
    let clock = Arc::new(Hand::default());
    shards.shard(0).unwrap().set_clock(clock.clone(), Ticks::NANOSECOND);
    let second = quiet(&shards, 0);
    let (hand, other) = (clock.clone(), second.clone());
    let first = shards.shard(0).unwrap().timer(move |_| {
        hand.0.store(100, Ordering::Relaxed);
        other.add(50).unwrap();
    });
    first.add(5).unwrap();
    let third = quiet(&shards, 0);
    third.add(60).unwrap();
    let passed = shards.shard(0).unwrap().advance_within(6, ALL).unwrap();
    assert_eq!((passed.delivered, passed.complete), (1, true));
    assert!(second.is_pending() && third.is_pending(), "due by the clock, and not in that pass");
    assert_eq!(shards.shard(0).unwrap().now(), 100, "an arm reads the clock");
    assert_eq!(shards.shard(0).unwrap().advance(101), Ok(2));
}

/// After any operation, the alarm is not later than the first expiry.
fn never_too_late<G: WheelGeometry>(clocked: bool) {
    let shards: Shards<G> = Shards::with_geometry(2, 0);
    let clock = Arc::new(Hand::default());
    let alarms = [0, 1].map(|shard| Noting::new(&shards, shard));
    if clocked {
        for shard in [0, 1] {
            shards.shard(shard).unwrap().set_clock(clock.clone(), Ticks::NANOSECOND);
        }
    }
    let mut last = [None, None];
    let timers: Vec<_> = (0..12)
        .map(|at| match at % 4 {
            3 => shards.shard(at % 2).unwrap().deferrable_timer(|_| {}),
            0 => shards.shard(at % 2).unwrap().timer(|firing| {
                let _ = firing.timer().modify(firing.now() + 1000 % (firing.deadline() + 1));
            }),
            _ => quiet(&shards, at % 2),
        })
        .collect();
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    let mut draw = |below: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % below
    };
    let mut now = 0;
    for step in 0..20_000 {
        let timer = &timers[draw(12) as usize];
        let span = 1 << draw(24);
        let deadline = (now + draw(span)).saturating_sub(draw(20));
        match draw(16) {
            0..5 => drop(timer.modify(deadline)),
            5..7 => drop(timer.reduce(deadline)),
            7 => drop(timer.modify_on(draw(2) as usize, deadline)),
            8 => drop(timer.modify_pending(deadline)),
            9 => drop(timer.cancel()),
            10 => drop(shards.shard(draw(2) as usize).unwrap().drain_to(draw(2) as usize)),
            11 => {
                let span = 1 << draw(12);
                now += draw(span);
                clock.0.store(now, Ordering::Relaxed);
            }
            _ => {
                let span = 1 << draw(8);
                now += draw(span);
                let _ = shards.shard(draw(2) as usize).unwrap().advance_within(now, draw(4) as usize);
            }
        }
        for shard in [0, 1] {
            last[shard] = alarms[shard].told().last().copied().unwrap_or(last[shard]);
            let expiry = shards.shard(shard).unwrap().next_expiry();
            assert!(
                expiry.is_none_or(|expiry| last[shard].is_some_and(|at| at <= expiry)),
                "step {step}, shard {shard}: {:?} for {expiry:?}",
                last[shard]
            );
        }
    }
    assert_eq!(shards.check(), Ok(()));
}

#[test]
fn the_alarm_is_never_later_than_the_first_expiry() {
    for clocked in [false, true] {
        never_too_late::<Linux>(clocked);
        never_too_late::<Geometry<64, 3, 3>>(clocked);
    }
}

#[test]
fn ticks_become_instants_and_back() {
    let shards = Shards::new(1);
    let shard = shards.shard(0).unwrap();
    let alarm = Noting::new(&shards, 0);
    let timer = quiet(&shards, 0);
    timer.add(6).unwrap();
    assert_eq!(alarm.told(), [None, Some(7)], "a tick is 1 ns");
    shard.set_clock(Arc::new(Hand(AtomicU64::new(29))), Ticks::of(10));
    assert_eq!((shard.now(), alarm.told()), (2, vec![Some(70)]), "as soon as ticks are longer");
    timer.modify(3).unwrap();
    assert_eq!(alarm.told(), [Some(40)]);
    shard.remove_clock();
    assert_eq!(alarm.told(), [], "the ticks are as before");
    assert_eq!((shard.advance(4), alarm.told()), (Ok(1), vec![None]));
    // The first of these ticks is the last that the clock reaches. For the other ticks the alarm is
    // stopped.
    for (tick, at) in [(u64::MAX / 10, Some(u64::MAX / 10 * 10)), (u64::MAX / 10 + 1, None), (u64::MAX, None)]
    {
        let _ = shard.advance_within(tick - 2, ALL).unwrap();
        assert_eq!(alarm.told(), [None], "nothing is pending");
        timer.add(tick - 1).unwrap();
        assert_eq!((shard.next_wake(), alarm.told()), (Some(tick), vec![at]));
        let _ = shard.advance_within(tick - 2, ALL).unwrap();
        assert_eq!(alarm.told(), [at], "and so does a pass that finds nothing due");
        timer.cancel();
    }
}
