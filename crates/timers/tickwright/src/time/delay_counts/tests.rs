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

    let mut more = DelayCounts::new();
    [0, 5, 9].into_iter().for_each(|ns| more.note(ns));
    delays.add(&more);
    let summed = delays.buckets().map(|(last, count)| (last.as_nanos(), count)).collect::<Vec<_>>();
    assert_eq!(summed, [(1, 3), (3, 2), (7, 2), (15, 1), (1023, 1), (u64::MAX.into(), 1)]);
}
