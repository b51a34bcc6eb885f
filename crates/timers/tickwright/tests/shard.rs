//! Single-threaded tests with exact results: buckets and their edges, clocks, statistics, passes,
//! and drops.
#![cfg(not(loom))]

use core::panic::AssertUnwindSafe;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::panic::catch_unwind;
use std::sync::{Arc, Mutex};

use tickwright::shard::{
    ArmError, Busy, DrainError, Linux, NoSuchShard, ShardStatistics, Shards, SharedFiring, SharedTimer, Was,
    WheelGeometry,
};
use tickwright::structures::Geometry;
use tickwright::time::{Ticks, VirtualHost};

const ALL: usize = usize::MAX;

/// The delays at which Linux's levels begin, and the granules of these levels. The values were
/// computed independently of the code under test.
const STARTS: [u64; 9] = [0, 63, 504, 4032, 32256, 258_048, 2_064_384, 16_515_072, 132_120_576];
const CUTOFF: u64 = 1_056_964_608;

fn granule(delay: u64) -> u64 {
    8u64.pow(STARTS.iter().rposition(|&start| delay >= start).unwrap() as u32)
}

/// Returns the end of the bucket that contains `deadline` if buckets are `granule` ticks wide.
fn end(deadline: u64, granule: u64) -> u64 {
    (deadline / granule + 1).saturating_mul(granule)
}

type Log = Arc<Mutex<Vec<(u64, u64)>>>;

/// Creates a timer that logs its deadline and its expiry.
fn logging<G: WheelGeometry>(shards: &Shards<G>, log: &Log) -> SharedTimer<G> {
    let log = log.clone();
    let fire =
        move |firing: &SharedFiring<'_, G>| log.lock().unwrap().push((firing.deadline(), firing.expiry()));
    shards.shard(0).unwrap().timer(fire)
}

fn fired(log: &Log) -> Vec<(u64, u64)> {
    core::mem::take(&mut *log.lock().unwrap())
}

/// The outcomes of the calls, and their locks. Each insert has a delay.
fn outcomes(shards: &Shards) -> ([u64; 5], u64) {
    let ShardStatistics { matched, requeued, started, refused, no_op, locks, lost_races, delays, .. } =
        shards.statistics();
    assert_eq!((lost_races, delays.count()), (0, requeued + started));
    ([matched, requeued, started, refused, no_op], locks)
}

/// Returns clock values at and around all powers of two.
fn clocks() -> impl Iterator<Item = u64> {
    (0..40).flat_map(|k| [0, 1, 7].map(|d| (1u64 << k).saturating_sub(d)))
}

#[test]
fn every_level_boundary_from_every_clock() {
    for clock in clocks() {
        for start in STARTS.into_iter().chain([CUTOFF]) {
            for delay in [start.saturating_sub(1), start, start + 1] {
                let shards = Shards::starting_at(1, clock);
                let log = Log::default();
                let timer = logging(&shards, &log);
                let deadline = clock + delay;
                timer.add(deadline).unwrap();
                let expected = match delay {
                    0 => clock,
                    // When the timer's bucket at the last level comes within reach, the wheel
                    // inserts the timer there.
                    _ if delay >= CUTOFF => end(deadline, granule(CUTOFF - 1)),
                    _ => end(deadline, granule(delay)),
                };
                assert_eq!(shards.shard(0).unwrap().next_expiry(), Some(expected), "{clock} + {delay}");
                if expected > clock {
                    let _ = shards.shard(0).unwrap().advance_within(expected - 1, ALL).unwrap();
                    assert_eq!(fired(&log), [], "{clock} + {delay}: early");
                }
                assert_eq!(shards.check(), Ok(()));
                let _ = shards.shard(0).unwrap().advance_within(expected, ALL).unwrap();
                assert_eq!(fired(&log), [(deadline, expected)], "{clock} + {delay}");
            }
        }
    }
}

#[test]
fn every_granule_edge_of_a_re_arm() {
    for clock in clocks() {
        for (level, start) in (0..).zip(STARTS).skip(1) {
            let shards = Shards::starting_at(1, clock);
            let log = Log::default();
            let timer = logging(&shards, &log);
            let width = 8u64.pow(level);
            // The timer is in the middle of a granule that begins well inside the level.
            let first = (clock + start + width) / width * width;
            timer.add(first + width / 2).unwrap();
            for deadline in [first, first + width - 1] {
                let before = shards.statistics();
                assert_eq!(timer.modify(deadline), Ok(Was::Pending));
                let after = shards.statistics();
                assert_eq!((after.matched - before.matched, after.locks), (1, before.locks), "no lock");
                assert_eq!(timer.deadline(), Some(deadline));
                assert_eq!(shards.shard(0).unwrap().next_expiry(), Some(first + width));
            }
            for deadline in [first + width, first - 1] {
                let before = shards.statistics();
                assert_eq!(timer.modify(deadline), Ok(Was::Pending));
                let after = shards.statistics();
                assert_eq!((after.requeued - before.requeued, after.locks), (1, before.locks + 1));
                timer.modify(first).unwrap();
            }
            // The bucket of this deadline has the same index one turn of the wheel later, so it is
            // another bucket.
            timer.modify(first + 64 * width).unwrap();
            let _ = shards.shard(0).unwrap().advance_within(first + width, ALL).unwrap();
            assert_eq!(fired(&log), [], "a rotation early");
            assert_eq!(shards.check(), Ok(()));
        }
    }
}

#[test]
fn a_timer_that_would_get_a_finer_level_is_requeued() {
    let shards = Shards::new(1);
    let log = Log::default();
    let timer = logging(&shards, &log);
    // The timer is at level 3, whose buckets are 512 ticks wide, so its bucket ends at 4608.
    timer.add(4100).unwrap();
    let _ = shards.shard(0).unwrap().advance_within(4099, ALL).unwrap();
    assert_eq!(timer.modify(4101), Ok(Was::Pending));
    assert_eq!(outcomes(&shards), ([0, 1, 1, 0, 0], 2));
    let _ = shards.shard(0).unwrap().advance_within(4102, ALL).unwrap();
    assert_eq!(fired(&log), [(4101, 4102)], "within a tick, not 507 later");
    // A call with the same deadline, and a reduce to a later deadline, also check the lateness from
    // the time of the call.
    for (how, call) in [("modify", SharedTimer::modify as fn(&_, _) -> _), ("reduce", SharedTimer::reduce)] {
        let now = shards.shard(0).unwrap().now();
        let deadline = Linux::bucket_end(now + 5000, 3);
        timer.add(deadline).unwrap();
        let bucket = shards.shard(0).unwrap().next_expiry();
        let before = shards.statistics();
        assert_eq!(call(&timer, deadline), Ok(Was::Pending));
        assert_eq!((shards.statistics().locks, bucket), (before.locks, Some(deadline + 512)), "{how}");
        let _ = shards.shard(0).unwrap().advance_within(deadline - 1, ALL).unwrap();
        assert_eq!(call(&timer, deadline + u64::from(how == "reduce")), Ok(Was::Pending));
        assert_eq!((shards.statistics().requeued, how), (before.requeued + 1, how));
        assert_eq!(shards.shard(0).unwrap().next_expiry(), Some(deadline + 1), "{how}");
        assert_eq!(timer.deadline(), Some(deadline));
        timer.cancel();
    }
}

#[test]
fn lateness_is_an_eighth_of_the_delay_also_after_re_arms() {
    let shards = Shards::new(1);
    let log = Log::default();
    let timer = logging(&shards, &log);
    let (mut clock, mut random) = (0, 88_172_645_463_325_252_u64);
    for _ in 0..20_000 {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let delay = 1 + (random >> 20) % (1 << (random % 24));
        timer.modify(clock + delay).unwrap();
        let expiry = shards.shard(0).unwrap().next_expiry().unwrap();
        let late = expiry - (clock + delay);
        assert!(late <= granule(delay), "delay {delay}: {late} late");
        clock += (random >> 50) % 64;
        let _ = shards.shard(0).unwrap().advance_within(clock, ALL).unwrap();
    }
    assert!(shards.statistics().matched > 0);
}

#[test]
fn deadlines_that_the_word_does_not_hold() {
    let limit = (1u64 << 58) - 1;
    for clock in [0, limit - 1000, limit - 1, limit, u64::MAX - 1000, u64::MAX] {
        for deadline in [limit - 1, limit, limit + 1, 2 * limit, u64::MAX - 1, u64::MAX] {
            let shards = Shards::starting_at(1, clock);
            let log = Log::default();
            let timer = logging(&shards, &log);
            // If a deadline has passed and fits neither into the word nor into the wheel, the timer
            // stores only that it has passed.
            let known = |deadline: u64| if deadline < limit { deadline } else { deadline.max(clock) };
            timer.add(deadline).unwrap();
            assert_eq!(timer.deadline(), Some(known(deadline)));
            // A deadline that is 2^58 later has the same lower bits.
            for other in [deadline, deadline.wrapping_add(1 << 58), deadline ^ 1, deadline] {
                assert_eq!(timer.modify(other), Ok(Was::Pending));
                assert_eq!(timer.deadline(), Some(known(other)));
                assert_eq!(shards.check(), Ok(()));
            }
            if clock < deadline && deadline < u64::MAX {
                let _ = shards.shard(0).unwrap().advance_within(deadline - 1, ALL).unwrap();
                assert_eq!(fired(&log), [], "{deadline} from {clock}: early");
            }
            assert!(shards.shard(0).unwrap().advance_within(u64::MAX, ALL).unwrap().complete);
            let fired = fired(&log);
            assert_eq!((fired.len(), fired[0].0), (1, known(deadline)), "from {clock}");
        }
    }
}

#[test]
fn a_far_timer_is_re_filed_and_keeps_its_deadline() {
    let shards: Shards<Geometry<64, 3, 3>> = Shards::with_geometry(1, 0);
    let log = Log::default();
    let timer = logging(&shards, &log);
    timer.add(10_000).unwrap();
    for clock in (0..10_000).step_by(97) {
        let _ = shards.shard(0).unwrap().advance_within(clock, ALL).unwrap();
        assert_eq!((timer.deadline(), shards.check()), (Some(10_000), Ok(())));
        // Until a re-arm has given the timer a level, each re-arm takes the lock, whether it
        // requeues the timer or not.
        assert_eq!(timer.modify(10_000), Ok(Was::Pending));
    }
    let _ = shards.shard(0).unwrap().advance_within(10_100, ALL).unwrap();
    assert_eq!(fired(&log).len(), 1);
}

#[test]
fn reduce_only_makes_earlier() {
    let shards = Shards::new(1);
    let log = Log::default();
    let timer = logging(&shards, &log);
    assert_eq!(timer.reduce(500), Ok(Was::Idle), "an idle timer is started");
    assert_eq!(timer.reduce(501), Ok(Was::Pending));
    assert_eq!(timer.reduce(u64::MAX), Ok(Was::Pending));
    assert_eq!(timer.deadline(), Some(500));
    assert_eq!(timer.reduce(499), Ok(Was::Pending));
    assert_eq!(timer.deadline(), Some(499));
    assert_eq!(outcomes(&shards), ([1, 0, 1, 0, 2], 1));
    assert_eq!(timer.reduce(5), Ok(Was::Pending));
    assert_eq!(outcomes(&shards), ([1, 1, 1, 0, 2], 2));
    // The deadline is beyond the last level, so the word does not contain it.
    timer.modify(u64::MAX - 1).unwrap();
    assert_eq!((timer.reduce(u64::MAX), timer.deadline()), (Ok(Was::Pending), Some(u64::MAX - 1)));
    // A reduce to the same deadline does not requeue the timer.
    let before = shards.statistics();
    assert_eq!((timer.reduce(u64::MAX - 1), timer.deadline()), (Ok(Was::Pending), Some(u64::MAX - 1)));
    let after = shards.statistics();
    assert_eq!((after.requeued, after.no_op), (before.requeued, before.no_op + 1));
    assert_eq!((timer.reduce(1 << 60), timer.deadline()), (Ok(Was::Pending), Some(1 << 60)));
    assert_eq!((timer.reduce(7), timer.deadline()), (Ok(Was::Pending), Some(7)));
    // A timer that is due and not yet taken stays in its bucket.
    let _ = shards.shard(0).unwrap().advance_within(50, 0).unwrap();
    assert_eq!((timer.reduce(3), timer.deadline()), (Ok(Was::Pending), Some(3)));
    assert_eq!(shards.check(), Ok(()));
    let _ = shards.shard(0).unwrap().advance_within(50, ALL).unwrap();
    assert_eq!(fired(&log), [(3, 8)]);
    // The same happens at a coarser level, if the wheel has not yet moved the timers of the bucket.
    timer.add(130).unwrap();
    let _ = shards.shard(0).unwrap().advance_within(150, 0).unwrap();
    assert_eq!(
        (timer.reduce(100), timer.reduce(99), timer.deadline()),
        (Ok(Was::Pending), Ok(Was::Pending), Some(99))
    );
    assert_eq!(shards.check(), Ok(()));
    let _ = shards.shard(0).unwrap().advance_within(150, ALL).unwrap();
    assert_eq!(fired(&log), [(99, 136)]);
}

#[test]
fn each_call_is_counted_once() {
    let shards = Shards::new(1);
    let timer = shards.shard(0).unwrap().timer(|_| {});
    timer.modify_pending(70).unwrap();
    timer.modify(70).unwrap();
    timer.modify(70).unwrap();
    timer.modify(71).unwrap();
    timer.modify(300).unwrap();
    timer.add(300).unwrap_err();
    timer.modify_pending(301).unwrap();
    timer.shutdown();
    timer.modify(400).unwrap_err();
    assert_eq!(shards.statistics().calls(), 8);
    assert_eq!(outcomes(&shards), ([3, 1, 1, 2, 1], 5));
}

/// The delays by their buckets, as (the greatest delay in ns, its count).
fn delays(shards: &Shards) -> Vec<(u128, u64)> {
    shards.statistics().delays.buckets().map(|(last, count)| (last.as_nanos(), count)).collect()
}

#[test]
fn each_insert_counts_its_delay_from_the_time_of_its_shard() {
    let host = VirtualHost::new();
    let shards = Shards::new(2);
    let [first, second] = [0, 1].map(|number| shards.shard(number).unwrap());
    first.set_clock(Arc::new(host.monotonic()), Ticks::MILLISECOND);
    let timer = first.timer(|_| {});

    timer.add(1000).unwrap();
    let second_away = ((1 << 30) - 1, 1); // From 537 ms to 1.07 s.
    assert_eq!(delays(&shards), [second_away]);
    timer.modify_at(1001, 0).unwrap(); // In place.
    timer.add(5000).unwrap_err();
    timer.reduce(9000).unwrap();
    assert_eq!(delays(&shards), [second_away]);
    host.advance(Duration::from_millis(900));
    timer.modify(1100).unwrap(); // 200 ms by the clock, though no advance has moved the shard.
    timer.reduce(1050).unwrap(); // 150 ms.
    assert_eq!(delays(&shards), [((1 << 28) - 1, 2), second_away]);
    timer.modify(7).unwrap(); // It has passed.
    assert_eq!(delays(&shards), [(1, 1), ((1 << 28) - 1, 2), second_away]);

    // The second shard has no clock, and the tick is 1 ns.
    second.advance(100).unwrap();
    let locks = shards.statistics().locks;
    timer.modify_on(1, 1000).unwrap(); // 900 ns from that shard's time, 100 ns from the first's.
    assert_eq!(shards.statistics().locks, locks + 2);
    let before = [(1, 1), (1023, 1), ((1 << 28) - 1, 2), second_away];
    assert_eq!(delays(&shards), before);
    second.drain_to(0).unwrap(); // No arm.
    assert_eq!((first.pending(), delays(&shards)), (1, before.into()));
    timer.modify(900 + (1 << 58)).unwrap(); // 2^64 * 15,625 ns is too long, and is 0 modulo 2^64.
    assert_eq!(delays(&shards).last(), Some(&(u64::MAX.into(), 1)));
}

/// Each timer that was started is pending, cancelled or fired.
#[test]
fn pending_cancelled_and_late_timers_are_counted() {
    let shards = Shards::new(2);
    let [first, second] = [0, 1].map(|number| shards.shard(number).unwrap());
    for shard in [first, second] {
        shard.set_clock(Arc::new(VirtualHost::new().monotonic()), Ticks::MILLISECOND);
    }
    let counts = || {
        let ShardStatistics { started, pending, high_water, cancelled, lateness, .. } = shards.statistics();
        assert_eq!(started, pending as u64 + cancelled + lateness.count());
        (pending, high_water, cancelled, lateness.count(), lateness.max().as_millis())
    };
    assert_eq!(counts(), (0, 0, 0, 0, 0));

    let timers =
        [first.timer(|_| ()), first.timer(|_| ()), first.timer(|_| ()), first.deferrable_timer(|_| ())];
    timers.iter().for_each(|timer| timer.add(10).unwrap());
    timers[0].modify(20).unwrap();
    assert_eq!(counts(), (4, 4, 0, 0, 0));
    timers[0].modify_on(1, 1000).unwrap();
    assert_eq!(counts(), (4, 5, 0, 0, 0), "4 on the first shard, and 1 on the second");

    for _ in 0..2 {
        timers[0].cancel();
        timers[1].shutdown();
        assert_eq!(counts(), (2, 5, 2, 0, 0));
    }
    timers[0].add_on(1, 1000).unwrap();
    assert_eq!(first.advance(13), Ok(2));
    assert_eq!(counts(), (1, 5, 2, 2, 2), "the bucket of tick 10 ends at tick 11");
    assert_eq!(second.advance(1024), Ok(1));
    let late: Vec<_> = shards.statistics().lateness.buckets().map(|(last, n)| (last.as_nanos(), n)).collect();
    assert_eq!(late, [(0, 1), ((1 << 21) - 1, 2)], "the bucket of tick 1000 ends at tick 1024");
    assert_eq!(counts(), (0, 5, 2, 3, 2));
}

#[test]
fn a_lateness_counts_in_the_ticks_of_its_pass() {
    let shards = Shards::new(1);
    let shard = shards.shard(0).unwrap();
    let timers = [10, 10, 11].map(|deadline| {
        let timer = shard.timer(|_| ());
        timer.add(deadline).unwrap();
        timer
    });
    assert_eq!(shard.advance(14), Ok(3), "late by 3, 3 and 2 ns");
    shard.set_clock(Arc::new(VirtualHost::new().monotonic()), Ticks::MILLISECOND);
    let late = || {
        let lateness = shards.statistics().lateness;
        (lateness.count(), lateness.mean().as_nanos(), lateness.max().as_nanos())
    };
    assert_eq!(late(), (3, 8 / 3, 3));
    timers[0].modify(20).unwrap();
    assert_eq!(shard.advance(22), Ok(1));
    assert_eq!(late(), (4, 1_000_008 / 4, 1_000_000));
}

#[test]
fn what_is_armed_for_the_past_leaves_at_the_next_advance_and_never_in_the_same_pass() {
    for again in [0, 50, 100] {
        let shards = Shards::starting_at(1, 100);
        let count = Arc::new(AtomicUsize::new(0));
        let counted = count.clone();
        let timer = shards.shard(0).unwrap().timer(move |firing| {
            counted.fetch_add(1, Ordering::Relaxed);
            firing.timer().modify(again).unwrap();
        });
        timer.add(3).unwrap();
        for pass in 0..5 {
            // Because of the budget, an endless pass makes the test fail instead of hang.
            let passed = shards.shard(0).unwrap().advance_within(100 + pass, 10).unwrap();
            assert!(passed.complete);
            assert_eq!((passed.delivered, count.load(Ordering::Relaxed) as u64), (1, pass + 1));
            assert_eq!(shards.shard(0).unwrap().next_wake(), Some(100 + pass + 1));
        }
    }
    // A pass at the last tick, which has no next tick, ends, too.
    let shards = Shards::new(1);
    let timer = shards.shard(0).unwrap().timer(|firing| {
        firing.timer().modify(u64::MAX).unwrap();
    });
    timer.add(u64::MAX).unwrap();
    assert_eq!(shards.shard(0).unwrap().advance_within(u64::MAX, 1_000).unwrap().delivered, 1);
}

#[test]
fn a_budget_leaves_the_rest_due() {
    let shards = Shards::new(1);
    let log = Log::default();
    let timers: Vec<_> = (0..5).map(|_| logging(&shards, &log)).collect();
    for (at, timer) in (10..).zip(&timers) {
        timer.add(at).unwrap();
    }
    let pass = shards.shard(0).unwrap().advance_within(100, 2).unwrap();
    assert_eq!((pass.delivered, pass.complete), (2, false));
    assert!(shards.shard(0).unwrap().next_wake().unwrap() <= 100, "not in the future");
    assert_eq!(timers[2].cancel(), Was::Pending);
    assert_eq!(timers[3].modify(500), Ok(Was::Pending));
    let pass = shards.shard(0).unwrap().advance_within(0, ALL).unwrap();
    assert_eq!((pass.delivered, pass.complete), (1, true), "now does not go back");
    assert_eq!(fired(&log), [(10, 11), (11, 12), (14, 15)]);
    assert_eq!(shards.shard(0).unwrap().now(), 100);
}

#[test]
fn deferrable_timers_wake_nobody() {
    let shards = Shards::new(1);
    let lazy = shards.shard(0).unwrap().deferrable_timer(|_| {});
    lazy.add(10).unwrap();
    assert!(lazy.is_deferrable());
    assert_eq!(
        (
            shards.shard(0).unwrap().next_wake(),
            shards.shard(0).unwrap().next_expiry(),
            shards.shard(0).unwrap().pending()
        ),
        (None, None, 1)
    );
    let eager = shards.shard(0).unwrap().timer(|_| {});
    eager.add(200).unwrap();
    assert_eq!(shards.shard(0).unwrap().next_wake(), Some(208));
    assert_eq!(lazy.modify(11), Ok(Was::Pending));
    assert_eq!(shards.shard(0).unwrap().advance(208).unwrap(), 2, "it leaves when the shard is advanced");
    lazy.add(1_000).unwrap();
    assert_eq!(lazy.cancel(), Was::Pending);
}

/// A shard has a wheel for each kind of timer. The timer whose bucket ends first fires first. If
/// both buckets end at the same tick, the timer that is not deferrable fires first.
#[test]
fn deferrable_and_standard_timers_fire_in_the_order_of_their_buckets() {
    let shards = Shards::new(1);
    let shard = shards.shard(0).unwrap();
    let log = Arc::new(Mutex::new(Vec::new()));
    let note = |name: &'static str| {
        let log = Arc::clone(&log);
        move |_: &SharedFiring<'_, Linux>| log.lock().unwrap().push(name)
    };
    let timers = [
        (shard.timer(note("standard at 30")), 30),
        (shard.deferrable_timer(note("deferrable at 10")), 10),
        (shard.deferrable_timer(note("deferrable at 20")), 20),
        (shard.timer(note("standard at 20")), 20),
        (shard.timer(note("standard at 5")), 5),
        (shard.deferrable_timer(note("deferrable at 40")), 40),
    ];
    for (timer, deadline) in &timers {
        timer.add(*deadline).unwrap();
    }
    assert_eq!(shard.advance(100), Ok(6));
    let expected = [
        "standard at 5",
        "deferrable at 10",
        "standard at 20",
        "deferrable at 20",
        "standard at 30",
        "deferrable at 40",
    ];
    assert_eq!(*log.lock().unwrap(), expected);
}

#[test]
fn shards_have_clocks_of_their_own_and_timers_move_between_them() {
    let shards = Shards::new(3);
    let log = Log::default();
    let timer = logging(&shards, &log);
    let _ = shards.shard(2).unwrap().advance_within(1_000, ALL).unwrap();
    assert_eq!((shards.shard(0).unwrap().now(), shards.shard(2).unwrap().now()), (0, 1_000));
    timer.add_on(2, 1_100).unwrap();
    assert_eq!(
        (timer.shard(), shards.shard(0).unwrap().pending(), shards.shard(2).unwrap().pending()),
        (2, 0, 1)
    );
    assert_eq!(timer.modify(1_099), Ok(Was::Pending), "a match leaves it where it is");
    assert_eq!(timer.shard(), 2);
    assert_eq!(timer.modify_on(1, 1_098), Ok(Was::Pending));
    assert_eq!((timer.shard(), timer.deadline(), shards.check()), (1, Some(1_098), Ok(())));
    assert_eq!(shards.shard(1).unwrap().drain_to(0), Ok(1));
    assert_eq!((timer.shard(), timer.deadline(), shards.check()), (0, Some(1_098), Ok(())));
    assert_eq!(shards.shard(0).unwrap().drain_to(0), Ok(0));
    let _ = shards.shard(0).unwrap().advance_within(2_000, ALL).unwrap();
    assert_eq!(fired(&log).len(), 1);

    assert_eq!(timer.add_on(3, 1), Err(ArmError::NoSuchShard));
    assert_eq!(timer.modify_on(usize::MAX, 1), Err(ArmError::NoSuchShard));
    for none in [3, usize::MAX] {
        assert_eq!(shards.shard(none).unwrap_err(), NoSuchShard);
        assert_eq!(shards.shard(0).unwrap().drain_to(none), Err(DrainError::NoSuchShard));
    }
    assert_eq!(shards.shard(2).unwrap().number(), 2);
    assert_eq!((shards.shard(2).unwrap().next_wake(), shards.shard(2).unwrap().next_expiry()), (None, None));
    assert_eq!(Shards::new(0).len(), 1);
}

#[test]
fn drain_keeps_what_is_due_far_and_lazy() {
    let shards = Shards::new(2);
    let log = Log::default();
    let deadlines = [5, 70, 500, 1 << 40, u64::MAX];
    let timers: Vec<_> = deadlines.iter().map(|_| logging(&shards, &log)).collect();
    for (timer, deadline) in timers.iter().zip(deadlines) {
        timer.add(deadline).unwrap();
    }
    let lazy = shards.shard(0).unwrap().deferrable_timer(|_| {});
    lazy.add(70).unwrap();
    let _ = shards.shard(0).unwrap().advance_within(60, 0).unwrap();
    assert_eq!(shards.shard(0).unwrap().drain_to(1), Ok(6));
    assert_eq!(
        (shards.shard(0).unwrap().pending(), shards.shard(1).unwrap().pending(), shards.check()),
        (0, 6, Ok(()))
    );
    for (timer, deadline) in timers.iter().zip(deadlines) {
        assert_eq!((timer.shard(), timer.deadline()), (1, Some(deadline)));
    }
    assert_eq!(shards.shard(1).unwrap().advance(u64::MAX).unwrap(), 6);
    let order: Vec<_> = fired(&log).into_iter().map(|(deadline, _)| deadline).collect();
    assert_eq!(order, deadlines);
}

#[test]
fn a_pass_is_alone_on_its_shard() {
    let shards = Arc::new(Shards::new(2));
    let inner = Arc::downgrade(&shards);
    let timer = shards.shard(0).unwrap().timer(move |_| {
        let shards = inner.upgrade().unwrap();
        assert_eq!(shards.shard(0).unwrap().advance_within(1_000, ALL), Err(Busy));
        assert_eq!(shards.shard(0).unwrap().drain_to(1), Err(DrainError::Busy));
        assert_eq!(shards.shard(0).unwrap().now(), 20, "refused, so the clock has not moved");
        assert_eq!(shards.shard(1).unwrap().advance(1_000).unwrap(), 0);
        let _ = shards.statistics();
        assert_eq!(shards.check(), Ok(()));
    });
    timer.add(10).unwrap();
    assert_eq!(shards.shard(0).unwrap().advance(20).unwrap(), 1);
}

/// A payload that decrements the count of existing payloads when it is dropped.
struct Payload(Arc<AtomicUsize>);

impl Payload {
    fn new(alive: &Arc<AtomicUsize>) -> Self {
        alive.fetch_add(1, Ordering::Relaxed);
        Self(alive.clone())
    }
}

impl Drop for Payload {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Payload {
    /// Creates a callback that owns a payload.
    fn held(alive: &Arc<AtomicUsize>) -> impl Fn(&SharedFiring<'_>) + Send + Sync + 'static {
        let payload = Self::new(alive);
        move |_| assert!(payload.0.load(Ordering::Relaxed) > 0, "fired after its drop")
    }
}

#[test]
fn a_timer_without_handles_still_fires_and_is_then_dropped() {
    let alive = Arc::new(AtomicUsize::new(0));
    let shards = Shards::new(1);
    let timer = shards.shard(0).unwrap().timer(Payload::held(&alive));
    timer.add(10).unwrap();
    let again = timer.clone();
    assert!(again == timer && again.belongs_to(&shards));
    drop((timer, again));
    assert_eq!(alive.load(Ordering::Relaxed), 1, "the shard holds it");
    assert_eq!(shards.shard(0).unwrap().advance(50).unwrap(), 1);
    assert_eq!(alive.load(Ordering::Relaxed), 0);
    // A timer that is not pending is dropped with its last handle.
    drop(shards.shard(0).unwrap().timer(Payload::held(&alive)));
    assert_eq!(alive.load(Ordering::Relaxed), 0);
}

#[test]
fn dropped_shards_let_go_of_every_timer_once() {
    let alive = Arc::new(AtomicUsize::new(0));
    let shards = Shards::new(2);
    let mut kept = Vec::new();
    for number in 0..100u64 {
        let timer = shards.shard(number as usize % 2).unwrap().timer(Payload::held(&alive));
        timer.add(1 << (number % 64)).unwrap();
        if number % 10 == 0 {
            kept.push(timer);
        }
    }
    let _ = shards.shard(0).unwrap().advance_within(1_000, 3).unwrap();
    drop(shards);
    assert_eq!(alive.load(Ordering::Relaxed), kept.len());
    for timer in &kept {
        assert!(!timer.is_pending() && !timer.cancel().is_pending());
        assert_eq!(timer.modify(5), Err(ArmError::ShardsGone));
        assert_eq!(timer.add_on(1, 5), Err(ArmError::ShardsGone));
        assert_eq!(timer.cancel_sync(), Ok(Was::Idle));
    }
    drop(kept);
    assert_eq!(alive.load(Ordering::Relaxed), 0);
}

#[test]
fn a_timer_that_drops_its_own_last_handle() {
    let alive = Arc::new(AtomicUsize::new(0));
    let payload = Payload::new(&alive);
    let own: Arc<Mutex<Option<SharedTimer>>> = Arc::default();
    let held = own.clone();
    let shards = Shards::new(1);
    let timer = shards.shard(0).unwrap().timer(move |_| {
        let _ = &payload;
        drop(held.lock().unwrap().take());
    });
    timer.add(10).unwrap();
    *own.lock().unwrap() = Some(timer);
    let log = Log::default();
    let next = logging(&shards, &log);
    next.add(10).unwrap();
    assert_eq!(shards.shard(0).unwrap().advance(50).unwrap(), 2);
    assert_eq!((alive.load(Ordering::Relaxed), fired(&log).len()), (0, 1));
}

#[test]
fn a_panic_in_a_callback_leaves_a_whole_shard() {
    let shards = Shards::new(1);
    let log = Log::default();
    let rash = shards.shard(0).unwrap().timer(|firing| {
        if firing.deadline() == 11 {
            firing.timer().modify(1_000).unwrap();
        }
        panic!("as planned");
    });
    let (rash, after) = (rash, logging(&shards, &log));
    for deadline in [10, 11] {
        let _ = rash.modify(deadline).unwrap();
        after.modify(12).unwrap();
        let passed = catch_unwind(AssertUnwindSafe(|| shards.shard(0).unwrap().advance_within(50, ALL)));
        assert!(passed.is_err(), "it passes through");
        assert_eq!(shards.check(), Ok(()));
        assert!(!rash.is_running());
        // A timer that was re-armed before the panic stays pending.
        assert_eq!(rash.is_pending(), deadline == 11);
        assert_eq!(rash.cancel_sync().unwrap().is_pending(), deadline == 11);
        assert_eq!(shards.shard(0).unwrap().advance(50).unwrap(), 1, "the rest of the pass");
        assert_eq!(fired(&log).len(), 1);
    }
    assert_eq!(shards.statistics().lateness.count(), 4, "the timer that panicked is counted, too");
}

#[test]
fn a_payload_whose_drop_panics_loses_no_other_timer() {
    struct Rash;

    impl Drop for Rash {
        fn drop(&mut self) {
            panic!("as planned");
        }
    }

    let shards = Shards::new(1);
    let log = Log::default();
    let rash = Rash;
    let callback = move |_: &SharedFiring<'_>| {
        let _ = &rash;
    };
    shards.shard(0).unwrap().timer(callback).add(10).unwrap();
    let next = logging(&shards, &log);
    next.add(11).unwrap();
    let third = logging(&shards, &log);
    third.add(12).unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| shards.shard(0).unwrap().advance_within(50, ALL))).is_err());
    assert_eq!(shards.check(), Ok(()));
    let _ = shards.shard(0).unwrap().advance_within(50, ALL).unwrap();
    assert_eq!(fired(&log), [(11, 12), (12, 13)]);
}

#[test]
fn a_callback_may_do_anything_with_its_timer() {
    let shards = Shards::new(1);
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    let timer = shards.shard(0).unwrap().timer(move |firing| {
        let timer = firing.timer();
        assert!(!timer.is_pending() && timer.is_running() && firing.shard() == 0);
        match counted.fetch_add(1, Ordering::Relaxed) {
            0 => timer.add(firing.expiry() + 100).unwrap(),
            1 => {
                timer.add(firing.now() + 1).unwrap();
                assert_eq!(timer.cancel(), Was::Pending);
                assert_eq!(timer.modify(firing.now() + 100), Ok(Was::Idle));
            }
            _ => {
                timer.add(firing.now() + 1).unwrap();
                assert_eq!(timer.shutdown(), Was::Pending);
                assert_eq!(timer.add(firing.now() + 1), Err(ArmError::ShutDown));
            }
        }
    });
    timer.add(10).unwrap();
    for now in [11, 120, 300, 1_000_000] {
        let _ = shards.shard(0).unwrap().advance_within(now, ALL).unwrap();
    }
    assert_eq!(count.load(Ordering::Relaxed), 3);
    assert!(timer.is_shut_down());
}

#[test]
fn idle_time_is_free() {
    let shards = Shards::new(1);
    let log = Log::default();
    let timer = logging(&shards, &log);
    timer.add(1 << 50).unwrap();
    let mut now = 0;
    while now < 1 << 51 {
        now = shards.shard(0).unwrap().next_wake().unwrap_or(1 << 51);
        let _ = shards.shard(0).unwrap().advance_within(now, ALL).unwrap();
    }
    assert_eq!(fired(&log)[0].0, 1 << 50);
}

#[test]
fn handles_and_shards_cross_threads() {
    fn crosses<T: Send + Sync>() {}
    crosses::<Shards>();
    crosses::<SharedTimer>();
    crosses::<Shards<Geometry<64, 3, 3>>>();
    crosses::<SharedTimer<Geometry<64, 3, 3>>>();
}

/// A payload that can be set to panic when it is dropped.
struct Fragile {
    alive: Arc<AtomicUsize>,
    panics: bool,
}

impl Drop for Fragile {
    fn drop(&mut self) {
        self.alive.fetch_sub(1, Ordering::Relaxed);
        assert!(!self.panics, "a payload's drop");
    }
}

#[test]
fn a_payload_whose_drop_panics_while_the_shards_are_dropped_takes_nobody_with_it() {
    let alive = Arc::new(AtomicUsize::new(5));
    let payload = |panics| {
        let fragile = Fragile { alive: Arc::clone(&alive), panics };
        move |_: &SharedFiring<'_>| {
            let _ = &fragile;
        }
    };
    let shards = Shards::new(2);
    for (at, panics) in [true, false, false, false].into_iter().enumerate() {
        shards.shard(at / 2).unwrap().timer(payload(panics)).add(1000 + at as u64).unwrap();
    }
    let held = shards.shard(1).unwrap().timer(payload(false));
    assert!(catch_unwind(AssertUnwindSafe(|| drop(shards))).is_err());
    assert_eq!(alive.load(Ordering::Relaxed), 1, "only the one that is held");
    assert_eq!(held.modify(5000), Err(ArmError::ShardsGone));
}

#[test]
fn a_busy_timer_and_a_small_budget_do_not_starve_deferrable_ones() {
    for end in [1000, u64::MAX] {
        let shards = Shards::new(1);
        let fired = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&fired);
        let busy = shards.shard(0).unwrap().timer(|firing| firing.timer().add(0).unwrap());
        let patient = shards.shard(0).unwrap().deferrable_timer(move |_| {
            seen.fetch_add(1, Ordering::Relaxed);
        });
        busy.add(5).unwrap();
        patient.add(5).unwrap();
        for now in 10..14 {
            let budget = if end == u64::MAX { usize::MAX } else { 1 };
            let _ = shards
                .shard(0)
                .unwrap()
                .advance_within(now.max(if end == u64::MAX { end } else { 0 }), budget)
                .unwrap();
        }
        assert_eq!(fired.load(Ordering::Relaxed), 1, "up to {end}");
    }
}
