use core::time::Duration;

use super::DelayCounts;

#[test]
fn delays_are_counted_in_powers_of_two() {
    let mut delays = DelayCounts::new();
    for ns in [0, 1, 2, 3, 4, 1_000, u64::MAX] {
        delays.note(ns);
    }
    let counted = [(1, 2), (3, 2), (7, 1), (1023, 1), (u64::MAX, 1)];
    let counted = counted.map(|(last, count)| (Duration::from_nanos(last), count));
    assert_eq!(delays.buckets().collect::<Vec<_>>(), counted);
    assert_eq!((delays.count(), DelayCounts::default().count()), (7, 0));
}
