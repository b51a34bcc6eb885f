use super::*;

#[test]
fn a_steady_clock_costs_its_step() {
    let calibration = calibrate(&FakeMeter::steady(25));
    assert_eq!(calibration, Calibration { cost_ns: 25.0, cost_p99_ns: 25, resolution_ns: 25 });
    assert_eq!(
        calibration.to_string(),
        "one reading costs 25.0 ns (99 % of them at most 25 ns), resolution 25 ns"
    );
}

#[test]
fn a_clock_that_stands_still_is_no_division_by_zero() {
    let calibration = calibrate(&FakeMeter::scripted([]));
    assert_eq!(calibration, Calibration { cost_ns: 0.0, cost_p99_ns: 0, resolution_ns: 0 });
}

#[test]
fn the_system_clock_is_monotonic() {
    let clock = OsClock::start();
    let (first, second) = (clock.now(), clock.now());
    assert!(first <= second);
}

#[test]
fn seconds_become_a_date() {
    let known = [
        (0, "1970-01-01T00:00:00Z"),
        (951_827_696, "2000-02-29T12:34:56Z"),
        (951_868_800, "2000-03-01T00:00:00Z"),
        (1_795_800_703, "2026-11-27T17:31:43Z"),
        (4_107_542_399, "2100-02-28T23:59:59Z"),
        (4_107_542_400, "2100-03-01T00:00:00Z"),
        (253_402_300_799, "9999-12-31T23:59:59Z"),
        (13_569_465_600, "2400-01-01T00:00:00Z"),
    ];
    for (seconds, date) in known {
        assert_eq!(utc(seconds), date);
    }
    assert_eq!(FakeMeter::steady(1).date(), None);
    assert!(OsClock::start().date().is_some_and(|date| date.len() == 20));
}

#[test]
fn processor_time_does_not_go_back_and_grows_with_work() {
    let clock = OsClock::start();
    let begun = clock.cpu();
    let mut last = begun;
    while last - begun < 1_000_000 {
        let now = clock.cpu();
        assert!(now >= last, "{now} after {last}");
        last = now;
    }
    // A clock that does not know the processor time returns its ordinary time.
    let meter = FakeMeter::steady(10);
    assert_eq!((meter.now(), meter.cpu()), (10, 20));
}
