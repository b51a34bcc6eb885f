use super::*;

fn of(resolution: u64, slack: u64) -> Time {
    Time::new(Duration::from_nanos(resolution), Duration::from_nanos(slack), None, false)
}

#[test]
fn a_deadline_is_rounded_up_and_the_time_down() {
    let time = of(1 << 14, 0);
    assert_eq!((time.deadline(0), time.deadline(1), time.deadline(1 << 14)), (0, 1, 1));
    assert_eq!((time.tick((1 << 14) - 1), time.tick(1 << 14)), (0, 1));
    assert_eq!(time.start(1), 1 << 14);
    assert_eq!(time.resolution(), Duration::from_nanos(1 << 14));
}

#[test]
fn a_deadline_is_never_before_its_instant() {
    for resolution in [0, 1, 8, 1000, 1 << 14, u64::MAX] {
        for slack in [0, 1, 1_000_000, u64::MAX] {
            let time = of(resolution, slack);
            for at in [0, 1, 7, 8, 9, 16_383, 16_384, 16_385, 1 << 40, u64::MAX - 1, u64::MAX] {
                let tick = time.deadline(at);
                assert!(time.start(tick) >= at, "{resolution} {slack} {at} {tick}");
                assert!(time.tick(at) <= tick, "what is due has begun");
                assert!(at < u64::MAX || time.tick(at) < tick, "the end of the clock is never");
            }
        }
    }
}

#[test]
fn slack_is_not_exceeded() {
    let time = of(1000, 10_000_000);
    for at in (0..100_000_000).step_by(999_983) {
        let late = time.start(time.deadline(at)) - at;
        assert!(late <= 10_000_000 + 1000, "{at} {late}");
    }
    let (one, two) = (time.deadline(20_000_000), time.deadline(20_900_000));
    assert_eq!(one, two, "they fire together");
}
