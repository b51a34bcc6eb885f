use super::*;

#[test]
fn what_expired_is_armed_again_within_the_range_and_not_all_alike() {
    let again = Again { shortest: 200, span: 59_801 };
    let delays: Vec<u64> = (0..1000).map(|id| again.delay(id, 5)).collect();
    assert!(delays.iter().all(|delay| (200..=60_000).contains(delay)));
    let mean = delays.iter().sum::<u64>() / 1000;
    assert!((27_000..33_000).contains(&mean), "{mean}");
    assert_eq!(again.delay(7, 9), again.delay(7, 9));
}
