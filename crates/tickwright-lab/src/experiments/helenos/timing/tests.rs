use core::convert::Infallible;

use super::*;
use crate::clock::FakeMeter;

fn counting(runs: &mut Vec<u64>) -> impl FnMut(u64) -> Result<(), Infallible> {
    |count| {
        runs.push(count);
        Ok(())
    }
}

#[test]
fn v1_looks_at_the_clock_every_hundred_round_trips() {
    let mut runs = Vec::new();
    let timed = by_the_clock(&FakeMeter::steady(10), Duration::from_nanos(35), &mut counting(&mut runs));
    assert_eq!(runs, [100; 4]);
    assert_eq!(timed, Ok(Timed { round_trips: 400, ns: 40 }));
    assert_eq!(timed.unwrap().rate(), 400.0 / 40e-9);
}

#[test]
fn v2_doubles_until_one_run_lasts_the_duration() {
    let mut runs = Vec::new();
    // Two readings for each run; the fifth run takes 1000.
    let script = [0, 100, 0, 200, 0, 400, 0, 999, 0, 1000];
    let found = size(&FakeMeter::scripted(script), Duration::from_nanos(1000), &mut counting(&mut runs));
    assert_eq!(found, Ok(16));
    assert_eq!(runs, [1, 2, 4, 8, 16]);
}

#[test]
fn v2_ends_on_a_clock_that_stands_still() {
    let found = size::<Infallible>(&FakeMeter::steady(0), Duration::from_secs(1), &mut |_| Ok(()));
    assert_eq!(found, Ok(MOST));
}

#[test]
fn the_first_error_ends_either() {
    let mut left = 3;
    let mut run = |_| {
        left -= 1;
        if left == 0 { Err("lost") } else { Ok(()) }
    };
    assert_eq!(size(&FakeMeter::steady(0), Duration::from_secs(1), &mut run), Err("lost"));
    let lost = by_the_clock(&FakeMeter::steady(0), Duration::from_secs(1), &mut |_| Err("lost"));
    assert_eq!(lost, Err("lost"));
}
