use super::*;

#[test]
fn numbers_of_runtimes_differ_and_are_used_again() {
    let all: Vec<_> = (0..2 * SERIES).map(|_| Series::new()).collect();
    let mut own: Vec<_> = all.iter().map(|series| series.0).filter(|&number| number > 0).collect();
    let count = own.len();
    own.sort_unstable();
    own.dedup();
    assert_eq!(own.len(), count, "no two have the same");
    // Runtimes of other tests can use a few of the numbers.
    assert!(count > 900, "{count}");
    drop(all);
    assert_ne!(Series::new().0, 0);
}

#[test]
fn generations_of_two_runtimes_never_meet() {
    let (one, other) = (Series(1), Series(2));
    assert_eq!(Series::next(one.first()), Some(one.first() + 1));
    assert_eq!(Series::next(other.first() - 1), None, "the next one is the other's");
    assert_eq!(Series::next(u32::MAX), None);
    core::mem::forget((one, other));
}
