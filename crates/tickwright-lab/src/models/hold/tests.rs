use super::*;
use crate::models::scenario::Within;

fn delays(distribution: Distribution, mean: i64) -> Vec<u64> {
    let increments = Increments { distribution, mean: Within::try_from(mean).unwrap() };
    Hold::new(increments, 1, 1, 7).delays(20_000)
}

#[test]
fn each_shape_has_its_mean_and_its_bounds() {
    for shape in [Distribution::Exponential, Distribution::Uniform, Distribution::Periodic] {
        let delays = delays(shape, 1000);
        let mean = delays.iter().sum::<u64>() as f64 / delays.len() as f64;
        assert!((mean - 1000.0).abs() < 30.0, "{shape:?}: {mean}");
        assert!(delays.iter().all(|delay| *delay >= 1));
    }
    assert!(delays(Distribution::Uniform, 1000).iter().all(|delay| *delay <= 2000));
    assert!(delays(Distribution::Periodic, 1000).iter().all(|delay| (950..=1050).contains(delay)));
    assert!(delays(Distribution::Periodic, 1).iter().all(|delay| *delay == 1));
}

#[test]
fn a_seed_is_a_stream() {
    assert_eq!(delays(Distribution::Exponential, 1000), delays(Distribution::Exponential, 1000));
}
