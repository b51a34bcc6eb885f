use core::time::Duration;

use super::Lateness;

#[test]
fn lateness_is_counted_in_powers_of_two() {
    let mut lateness = Lateness::new();
    for ns in [0, 1, 2, 3, 4, 1_000, u64::MAX] {
        lateness.note(ns);
    }
    let buckets: Vec<_> = lateness.buckets().collect();
    let ns = Duration::from_nanos;
    let counted = [(0, 1), (1, 1), (3, 2), (7, 1), (1023, 1), (u64::MAX, 1)];
    assert_eq!(buckets, counted.map(|(last, count)| (ns(last), count)));
    assert_eq!((lateness.count(), lateness.max()), (7, ns(u64::MAX)));
    assert_eq!([0.0, 0.5, 1.0].map(|share| lateness.quantile(share)), [0, 3, u64::MAX].map(ns));
    assert_eq!(lateness.mean(), ns(((1010 + u128::from(u64::MAX)) / 7) as u64));
    let none = Lateness::new();
    assert_eq!((none.max(), none.mean(), none.quantile(0.5)), (ns(0), ns(0), ns(0)));
}

#[test]
fn quantiles_are_upper_bounds_and_sums_count_all() {
    let mut lateness = Lateness::new();
    [0, 1, 5, 100, 1000].into_iter().for_each(|ns| lateness.note(ns));
    let ns = Duration::from_nanos;
    assert_eq!([0.0, 0.6, 1.0, f64::NAN].map(|share| lateness.quantile(share)), [0, 7, 1000, 0].map(ns));
    let mut other = Lateness::new();
    other.note(2000);
    other.add(&lateness);
    assert_eq!((other.count(), other.max(), other.mean()), (6, ns(2000), ns(3106 / 6)));
}
