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
