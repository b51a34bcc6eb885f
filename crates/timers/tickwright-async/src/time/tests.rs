use super::*;

#[test]
fn a_deadline_is_rounded_up_and_the_time_down() {
    let scale = Scale::new(Duration::from_nanos(1 << 14), Duration::ZERO);
    assert_eq!((scale.deadline(0), scale.deadline(1), scale.deadline(1 << 14)), (0, 1, 1));
    assert_eq!((scale.now((1 << 14) - 1), scale.now(1 << 14)), (0, 1));
    assert_eq!(scale.start(1), 1 << 14);
    assert_eq!(scale.resolution(), Duration::from_nanos(1 << 14));
}

#[test]
fn a_deadline_is_never_before_its_instant() {
    for resolution in [0, 1, 8, 1000, 1 << 14, u64::MAX] {
        for slack in [0, 1, 1_000_000, u64::MAX] {
            let scale = Scale::new(Duration::from_nanos(resolution), Duration::from_nanos(slack));
            for at in [0, 1, 7, 8, 9, 16_383, 16_384, 16_385, 1 << 40, u64::MAX - 1, u64::MAX] {
                let tick = scale.deadline(at);
                assert!(tick <= NEVER && scale.start(tick) >= at, "{scale:?} {at} {tick}");
                assert!(scale.now(at) <= tick, "what is due has begun");
            }
        }
    }
}

#[test]
fn slack_is_not_exceeded() {
    let scale = Scale::new(Duration::from_micros(1), Duration::from_millis(10));
    for at in (0..100_000_000).step_by(999_983) {
        let late = scale.start(scale.deadline(at)) - at;
        assert!(late <= 10_000_000 + 1000, "{at} {late}");
    }
    let (one, two) = (scale.deadline(20_000_000), scale.deadline(20_900_000));
    assert_eq!(one, two, "they fire together");
}

#[test]
fn durations_saturate() {
    assert_eq!(nanos(Duration::MAX), u64::MAX);
    assert_eq!(nanos(Duration::new(18_446_744_073, 709_551_615)), u64::MAX);
    assert_eq!(nanos(Duration::new(18_446_744_073, 709_551_614)), u64::MAX - 1);
    assert_eq!(nanos(Duration::new(1, 1)), 1_000_000_001);
}
