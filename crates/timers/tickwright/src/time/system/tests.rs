use core::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use core::time::Duration;

use super::{SystemClock, offset, portable};
use crate::time::{Clock, Instant};

const ALL: [SystemClock; 3] = [SystemClock::Monotonic, SystemClock::BootTime, SystemClock::RealTime];

/// A steady clock and a wall clock, which advance by `pace` at each reading, and their true offset.
struct Machine {
    steady: AtomicU64,
    pace: u64,
    offset: AtomicI64,
}

impl Machine {
    fn now(&self) -> u64 {
        self.steady.fetch_add(self.pace, Ordering::Relaxed)
    }

    fn wall(&self) -> i64 {
        self.now().cast_signed() + self.offset.load(Ordering::Relaxed)
    }

    fn look(&self, known: &AtomicI64) -> i64 {
        offset(known, 0, || self.now(), || self.wall())
    }
}

#[test]
fn an_offset_stays_until_the_wall_is_set() {
    for pace in [0, 1, 20, 1_000_000] {
        let machine = Machine { steady: AtomicU64::new(7), pace, offset: AtomicI64::new(1_000_000_000) };
        let known = AtomicI64::new(i64::MIN);
        for step in [0, -3_600_000_000_000, 86_400_000_000_000, 1] {
            let truth = machine.offset.fetch_add(step, Ordering::Relaxed) + step;
            let first = machine.look(&known);
            assert!(first.abs_diff(truth) <= pace, "pace {pace}, step {step}: {first} for {truth}");
            assert!((0..100).all(|_| machine.look(&known) == first), "pace {pace}, step {step}");
        }
    }
}

/// Readings take different lengths of time. The estimated offset never moves away from the true
/// offset, and stops changing after some readings.
#[test]
fn an_offset_only_comes_nearer() {
    let mut error = u64::MAX;
    let known = AtomicI64::new(i64::MIN);
    for round in 0..1000_u64 {
        // Two delays: one before the wall clock is read, and one after.
        let (a, b) = (round * 7919 % 61, round * 104_729 % 53);
        let times = [1000 * round, 1000 * round + a + b];
        let at = AtomicU64::new(0);
        let steady = || times[at.fetch_add(1, Ordering::Relaxed) as usize % 2];
        let found = offset(&known, 0, steady, || (1000 * round + a).cast_signed() + 5_000_000);
        let now = found.abs_diff(5_000_000);
        assert!(now <= error, "round {round}: {now} after {error}");
        error = now;
    }
    assert!(error <= 2, "{error}");
}

/// A page's steady clock shows multiples of 0.1 ms, and its date shows whole milliseconds.
#[test]
fn an_offset_of_coarse_clocks_settles_and_is_not_early() {
    const GRANULE: i64 = 1_000_000;
    let (at, truth) = (AtomicU64::new(7), 1_234_567_890_123);
    let read = || at.fetch_add(20_011, Ordering::Relaxed);
    let steady = || read() / 100_000 * 100_000;
    let wall = || (read().cast_signed() + truth) / GRANULE * GRANULE;
    let known = AtomicI64::new(i64::MIN);
    let look = || offset(&known, GRANULE, steady, wall);
    let steps = (0..10_000).map(|_| look()).collect::<Vec<_>>();
    let settled = look();
    assert!(steps[5000..].iter().all(|step| *step == settled), "{settled} for {truth}");
    let behind = truth - settled;
    assert!((GRANULE - 60_000..4 * GRANULE).contains(&behind), "{behind} ns behind");
}

#[test]
fn no_value_of_a_clock_panics() {
    for steady in [0, 1, u64::MAX] {
        for wall in [i64::MIN, -1, 0, i64::MAX] {
            let _ = offset(&AtomicI64::new(i64::MIN), 1_000_000, || steady, || wall);
            // A clock that claims to be steady, but runs backwards.
            let at = AtomicU64::new(steady);
            let back = || at.fetch_sub(1, Ordering::Relaxed);
            let _ = offset(&AtomicI64::new(i64::MAX), 1_000_000, back, || wall);
        }
    }
}

#[test]
fn clocks_do_not_run_back() {
    for clock in ALL {
        let mut last = Instant::ZERO;
        for _ in 0..1000 {
            let now = clock.now();
            assert!(now >= last, "{clock:?}: {now:?} after {last:?}");
            last = now;
        }
    }
}

#[test]
fn only_real_time_knows_the_date() {
    assert_eq!(SystemClock::Monotonic.wall_offset(), None);
    assert_eq!(SystemClock::BootTime.wall_offset(), None);
    let clock = SystemClock::RealTime;
    let date = i128::from(clock.now().as_nanos()) + i128::from(clock.wall_offset().unwrap());
    assert!(date > 1_700_000_000_000_000_000, "{date} ns since 1970");
}

#[test]
fn sleepers_look_up_where_a_clock_may_jump() {
    let longest = ALL.map(|clock| clock.longest_sleep());
    assert_eq!(longest, [None, Some(Duration::from_secs(1)), Some(Duration::from_secs(1))]);
}

/// The tests of every system include the portable clocks, which only some systems use.
#[test]
fn the_portable_clocks_go_on() {
    for clock in [portable::monotonic, portable::boot_time] {
        let first = clock();
        assert!(first >= 86_400_000_000_000);
        while clock() == first {}
        assert!(clock() > first);
    }
    assert!(portable::wall() > 1_700_000_000_000_000_000);
    let known = AtomicI64::new(i64::MIN);
    let offset = offset(&known, portable::GRANULE, portable::monotonic, portable::wall);
    assert!(portable::monotonic().cast_signed() + offset <= portable::wall(), "ahead of the wall");
}

#[cfg(target_os = "linux")]
#[test]
fn boot_time_is_never_behind_monotonic_time() {
    let monotonic = SystemClock::Monotonic.now();
    assert!(SystemClock::BootTime.now() >= monotonic);
}
