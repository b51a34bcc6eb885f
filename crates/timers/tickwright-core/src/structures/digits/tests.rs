use super::BucketNumber;
use crate::contract::Tick;

/// The test checks the first tick of each level and the tick before it, for clock 0 and for a clock
/// that has the same digit.
#[test]
fn a_bucket_is_the_highest_digit_that_differs() {
    for level in 1..11 {
        let edge: Tick = 1 << (6 * level);
        assert_eq!(BucketNumber::<64>::of(0, edge), BucketNumber::new(level, 1));
        assert_eq!(BucketNumber::<64>::of(0, edge - 1), BucketNumber::new(level - 1, 63));
        assert_eq!(BucketNumber::<64>::of(edge, edge), BucketNumber::new(0, 0));
        assert_eq!(BucketNumber::<64>::of(edge, edge + 1), BucketNumber::new(0, 1));
        assert_eq!(BucketNumber::<64>::of(edge - 1, edge), BucketNumber::new(level, 1));
    }
    assert_eq!(BucketNumber::<64>::of(0, Tick::MAX), BucketNumber::new(10, 15));
    assert_eq!(BucketNumber::<8>::of(0, Tick::MAX), BucketNumber::new(21, 1));
    assert_eq!(BucketNumber::<2>::of(0, Tick::MAX), BucketNumber::new(63, 1));
}

/// The example in the wheel's documentation: the timer for tick 70000, at the four clocks at which
/// it is inserted.
#[test]
fn the_worked_life_names_the_right_buckets() {
    let expected = [(1000, (2, 17)), (69_700, (1, 5)), (69_990, (0, 48)), (70_000, (0, 48))];
    for (clock, (level, digit)) in expected {
        let at = BucketNumber::<64>::of(clock, 70_000);
        assert_eq!((at.level(), at.digit()), (level, digit), "seen from {clock}");
    }
}

/// Each power of two and its neighbors.
fn edges() -> impl Iterator<Item = Tick> {
    (0..64).flat_map(|bit| [(1u64 << bit) - 1, 1 << bit, (1 << bit) + 1]).chain([Tick::MAX - 1, Tick::MAX])
}

/// Checks that level, digit, index and bit agree, and that the granule holds the expiry and begins
/// after the clock.
fn bounds_hold<const BUCKETS: usize>(levels: u32) {
    type Number<const B: usize> = BucketNumber<B>;
    assert_eq!(Number::<BUCKETS>::LEVELS, levels);
    for clock in edges() {
        for expiry in edges().filter(|&expiry| expiry >= clock) {
            let at = Number::<BUCKETS>::of(clock, expiry);
            assert!(at.level() < levels as usize && at.digit() < BUCKETS);
            assert_eq!(Number::<BUCKETS>::new(at.level(), at.digit()), at);
            assert_eq!((at.index(), at.bit()), (at.level() * BUCKETS + at.digit(), 1 << at.digit()));
            let (first, last) = (at.first_tick(expiry), at.last_tick(expiry));
            assert!((first..=last).contains(&expiry));
            // Above level 0 the granule begins after the clock.
            assert!(at.level() == 0 || first > clock, "{clock}, {expiry}");
            // Every tick of the granule has the same bucket; the ticks just outside the granule
            // have other buckets.
            assert_eq!((Number::of(clock, first.max(clock)), Number::of(clock, last)), (at, at));
            if let Some(after) = last.checked_add(1) {
                assert_ne!(Number::of(clock, after), at);
            }
        }
    }
}

#[test]
fn the_bounds_hold_at_every_edge_in_every_geometry() {
    bounds_hold::<64>(11);
    bounds_hold::<32>(13);
    bounds_hold::<16>(16);
    bounds_hold::<8>(22);
    bounds_hold::<4>(32);
    bounds_hold::<2>(64);
}
