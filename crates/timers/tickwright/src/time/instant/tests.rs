use core::time::Duration;

use super::{Instant, nanos};

const NS: Duration = Duration::from_nanos(1);

#[test]
fn arithmetic_saturates_at_both_ends() {
    let at = Instant::from_nanos(5);
    assert_eq!((at + 2 * NS, at - 2 * NS), (Instant::from_nanos(7), Instant::from_nanos(3)));
    assert_eq!((at - 6 * NS, at - Duration::MAX), (Instant::ZERO, Instant::ZERO));
    for span in [NS, Duration::from_nanos(u64::MAX), Duration::MAX] {
        assert_eq!((Instant::MAX + span, Instant::MAX - NS + span), (Instant::MAX, Instant::MAX));
    }
    let mut moving = at;
    moving += 10 * NS;
    assert_eq!(moving.as_nanos(), 15);
    moving += Duration::MAX;
    assert_eq!(moving, Instant::MAX);
}

#[test]
fn no_span_is_negative() {
    let (early, late) = (Instant::from_nanos(5), Instant::from_nanos(12));
    assert_eq!((late.duration_since(early), early.duration_since(late)), (7 * NS, Duration::ZERO));
    assert_eq!(Instant::MAX.duration_since(Instant::ZERO), Duration::from_nanos(u64::MAX));
    assert!(early < late && Instant::default() == Instant::ZERO);
}

#[test]
fn its_debug_form_says_the_unit() {
    assert_eq!(format!("{:?} {:?}", Instant::from_nanos(5), Instant::ZERO), "Instant(5 ns) Instant(0 ns)");
}

#[test]
fn durations_of_centuries_are_as_long_as_can_be() {
    assert_eq!(nanos(Duration::from_nanos(u64::MAX - 1)), u64::MAX - 1);
    assert_eq!((nanos(Duration::from_nanos(u64::MAX) + NS), nanos(Duration::MAX)), (u64::MAX, u64::MAX));
}
