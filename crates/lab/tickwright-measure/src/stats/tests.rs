use super::*;

#[test]
fn nothing_has_no_summary() {
    assert_eq!(summarise([]), None);
    assert_eq!(summarise([f64::NAN]), None);
}

#[test]
fn the_median_is_the_middle_and_the_spread_is_about_it() {
    let summary = summarise([5.0, 1.0, 2.0, 100.0, 3.0]).unwrap();
    assert_eq!((summary.samples, summary.median, summary.mad), (5, 3.0, 2.0));
    assert_eq!((summary.min, summary.max), (1.0, 100.0));
    assert_eq!(summarise([1.0, 2.0]).unwrap().median, 1.5);
}

#[test]
fn a_quantile_is_a_sample_that_enough_samples_do_not_exceed() {
    let samples = [40.0, 10.0, f64::NAN, 30.0, 20.0];
    let of = |share| quantile(&samples, share);
    assert_eq!([0.0, 0.25, 0.26, 0.5, 0.75].map(of), [10.0, 10.0, 20.0, 20.0, 30.0].map(Some));
    assert_eq!([0.76, 1.0, 2.0].map(of), [40.0; 3].map(Some));
    assert_eq!((quantile(&[], 0.5), quantile(&[f64::NAN], 0.5)), (None, None));
}

#[test]
fn intervals_are_order_statistics_with_their_coverage() {
    let of = |n: u32| summarise((1..=n).map(f64::from)).unwrap().interval;
    // Fewer than six samples cannot give a coverage of 95 %, so the interval states its true
    // coverage.
    assert_eq!(of(1), Interval { low: 1.0, high: 1.0, coverage: 0.0 });
    assert_eq!(of(5), Interval { low: 1.0, high: 5.0, coverage: 0.9375 });
    assert_eq!(of(6), Interval { low: 1.0, high: 6.0, coverage: 0.96875 });
    // As in textbook tables: the second smallest and the second largest of 9 give 96.1 %.
    let nine = of(9);
    assert_eq!((nine.low, nine.high), (2.0, 8.0));
    assert!((nine.coverage - 0.9609).abs() < 1e-4);
    let hundred = of(100);
    assert_eq!((hundred.low, hundred.high), (40.0, 61.0));
}

#[test]
fn intervals_of_thousands_are_neither_empty_nor_without_coverage() {
    let of = |n: u32| summarise((1..=n).map(f64::from)).unwrap().interval;
    // 1800 - 0.98 * 60 = 1741.2.
    assert_eq!(of(3600), Interval { low: 1741.0, high: 1860.0, coverage: CONFIDENCE });
    // The exact sum and the approximation agree: one additional sample moves an end by at most two
    // ranks.
    for (fewer, more) in [(of(999), of(1000)), (of(1000), of(1001)), (of(1001), of(1002))] {
        assert!((more.low - fewer.low).abs() <= 2.0, "{fewer:?} {more:?}");
        assert!((more.high - fewer.high).abs() <= 2.0, "{fewer:?} {more:?}");
        assert!((CONFIDENCE..CONFIDENCE + 0.01).contains(&more.coverage), "{more:?}");
    }
}

#[test]
fn coverage_holds_by_simulation() {
    use rand::{RngExt, SeedableRng};
    let mut rng = rand_pcg::Pcg64::seed_from_u64(1);
    let covered = (0..2000)
        .filter(|_| {
            let interval = summarise((0..15).map(|_| rng.random::<f64>().powi(3))).unwrap().interval;
            interval.low <= 0.125 && 0.125 <= interval.high
        })
        .count();
    assert!((1900..=2000).contains(&covered), "{covered} of 2000");
}

#[test]
fn ratios_are_taken_round_by_round() {
    // A disturbance doubled both times of the second round, so their ratio is unchanged.
    let summary = ratios(&[50.0, 100.0, 50.0], &[100.0, 200.0, 100.0]).unwrap();
    assert_eq!((summary.median, summary.mad), (0.5, 0.0));
}

#[test]
fn a_verdict_needs_distance_and_confidence() {
    let on = |ratio: f64, spread: f64, rounds: usize| {
        let samples = (0..rounds).map(|i| ratio + spread * (i as f64 / (rounds - 1) as f64 - 0.5));
        Verdict::on(&summarise(samples).unwrap())
    };
    assert_eq!(on(0.5, 0.1, 7), Verdict::Faster);
    assert_eq!(on(2.0, 0.1, 7), Verdict::Slower);
    assert_eq!(on(1.1, 0.01, 7), Verdict::NoDifferenceShown);
    assert_eq!(on(0.9, 0.01, 7), Verdict::NoDifferenceShown);
    assert_eq!(on(0.7, 1.0, 7), Verdict::NoDifferenceShown);
    assert_eq!(on(1.5, 1.4, 7), Verdict::NoDifferenceShown, "the interval contains 1");
    // The bounds are quotients: 1.2 and 1 / 1.2, which is 0.833.
    assert_eq!([on(0.82, 0.01, 7), on(0.84, 0.01, 7)], [Verdict::Faster, Verdict::NoDifferenceShown]);
    assert_eq!([on(1.21, 0.01, 7), on(1.19, 0.01, 7)], [Verdict::Slower, Verdict::NoDifferenceShown]);
    assert_eq!(on(0.5, 0.1, 3), Verdict::NoDifferenceShown, "three rounds are no evidence");
}

#[test]
fn running_figures_are_those_of_the_definition() {
    let mut running = Running::default();
    assert_eq!((running.count(), running.min(), running.max(), running.stddev()), (0, 0, 0, 0.0));
    for sample in [2, 4, 4, 4, 5, 5, 7, 9] {
        running.push(sample);
    }
    assert_eq!((running.count(), running.min(), running.max()), (8, 2, 9));
    assert!((running.avg() - 5.0).abs() < 1e-12);
    assert!((running.total() - 40.0).abs() < 1e-9);
    assert!((running.stddev() - (32.0f64 / 7.0).sqrt()).abs() < 1e-12);
}

#[test]
fn percentiles_are_exact_for_small_numbers_and_never_above_the_maximum() {
    let mut distribution = Distribution::new();
    assert_eq!(distribution.percentile(50.0), 0);
    (1..=100).for_each(|ns| distribution.push(ns));
    assert_eq!((distribution.percentile(50.0), distribution.percentile(99.0)), (50, 99));
    distribution.push(123_456_789);
    assert_eq!(distribution.percentile(100.0), 123_456_789);
    distribution.push(u64::MAX);
    assert_eq!(distribution.running().max(), u64::MAX);
}

#[test]
fn the_sign_test_is_the_binomial_sum() {
    assert_eq!(sign_test(0, 0), 1.0);
    assert_eq!(sign_test(5, 5), 1.0);
    assert!((sign_test(0, 6) - 2.0 / 64.0).abs() < 1e-12);
    assert!((sign_test(9, 1) - 22.0 / 1024.0).abs() < 1e-12);
    assert_eq!(sign_test(1, 9), sign_test(9, 1));
    let many = sign_test(4800, 5200);
    assert!((6e-5..7e-5).contains(&many), "{many}");
}

#[test]
fn a_bound_of_a_count_is_held_or_missed() {
    let held = |bound: Bound, figure| bound.judge_exact(figure) == Verdict::Held;
    assert_eq!([1.9, 2.0, 2.1].map(|figure| held(Bound::AtMost(2.0), figure)), [true, true, false]);
    assert_eq!([1.9, 2.0, 2.1].map(|figure| held(Bound::AtLeast(2.0), figure)), [false, true, true]);
    let within = [0.9, 1.0, 2.0, 2.1, f64::NAN].map(|figure| held(Bound::Within(1.0, 2.0), figure));
    assert_eq!(within, [false, true, true, false, false]);
}

#[test]
fn a_bound_is_held_missed_or_not_shown() {
    let figure =
        |least: f64, rounds: usize| summarise((0..rounds).map(|at| least + at as f64 * 0.01)).unwrap();
    let most = |figure| Bound::AtMost(2.0).judge(&figure);
    assert_eq!(most(figure(1.0, 9)), Verdict::Held);
    assert_eq!(most(figure(3.0, 9)), Verdict::Missed);
    assert_eq!(most(figure(1.97, 9)), Verdict::NotShown, "the limit lies within");
    assert_eq!(most(figure(1.0, 5)), Verdict::NotShown, "too few rounds");
    let least = |figure| Bound::AtLeast(2.0).judge(&figure);
    assert_eq!(least(figure(3.0, 9)), Verdict::Held);
    assert_eq!(least(figure(1.0, 9)), Verdict::Missed);
    assert_eq!(least(figure(1.97, 9)), Verdict::NotShown);
    let within = |figure| Bound::Within(1.0, 2.0).judge(&figure);
    assert_eq!(within(figure(1.2, 9)), Verdict::Held);
    assert_eq!([within(figure(0.5, 9)), within(figure(3.0, 9))], [Verdict::Missed; 2]);
    assert_eq!(within(figure(1.97, 9)), Verdict::NotShown);
}
