use super::Ticks;
use crate::time::Instant;

#[test]
fn never_early_and_due_when_the_tick_begins() {
    for length in [0, 1, 2, 3, 1000, 1_000_000, u64::MAX / 2, u64::MAX] {
        let ticks = Ticks::of(length);
        let length = ticks.nanoseconds();
        let around = [0, 1, 7, u64::MAX / length].map(|tick| tick.saturating_mul(length));
        for at in around.iter().flat_map(|&edge| [edge.saturating_sub(1), edge, edge.saturating_add(1)]) {
            let deadline = ticks.deadline(Instant::from_nanos(at));
            let begins = u128::from(deadline) * u128::from(length);
            assert!(begins >= u128::from(at), "{at} by {length}: early");
            assert!(begins - u128::from(at) < u128::from(length), "{at} by {length}: a tick late");
            let Ok(begins) = u64::try_from(begins) else { continue };
            assert_eq!(ticks.start(deadline), Instant::from_nanos(begins));
            assert_eq!(ticks.now(Instant::from_nanos(begins)), deadline);
            if begins > 0 {
                assert!(ticks.now(Instant::from_nanos(begins - 1)) < deadline);
            }
        }
    }
}

proptest::proptest! {
    /// The multiplication by the reciprocal returns the same quotient and remainder as the
    /// division.
    #[test]
    fn ticks_are_quotients(length: u64, shift in 0u32..64, x: u64, down in 0u32..64) {
        let (length, x) = ((length >> shift).max(1), x >> down);
        let ticks = Ticks::of(length);
        proptest::prop_assert_eq!(ticks.now(Instant::from_nanos(x)), x / length);
        proptest::prop_assert_eq!(ticks.deadline(Instant::from_nanos(x)), x.div_ceil(length));
    }
}
