use super::*;

#[test]
fn equal_samples_show_nothing() {
    let shift = Shift::of(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[6.0, 5.0, 4.0, 3.0, 2.0, 1.0]).unwrap();
    assert_eq!((shift.ratio.median, shift.effect), (1.0, 0.0));
    assert!(shift.p > 0.9 && shift.verdict() == Verdict::NoDifferenceShown, "{shift:?}");
    let constant = Shift::of(&[2.0; 9], &[2.0; 9]).unwrap();
    assert_eq!((constant.p, constant.verdict()), (1.0, Verdict::NoDifferenceShown));
}

#[test]
fn a_shift_is_found_with_its_size() {
    let first: Vec<f64> = (0..15).map(|i| 100.0 + f64::from(i)).collect();
    let second: Vec<f64> = first.iter().map(|x| x * 1.5).collect();
    let shift = Shift::of(&first, &second).unwrap();
    assert!((shift.ratio.median - 1.5).abs() < 0.01, "{shift:?}");
    assert!(shift.ratio.interval.low > 1.4 && shift.ratio.interval.high < 1.6, "{shift:?}");
    assert_eq!((shift.effect, shift.verdict()), (1.0, Verdict::Slower));
    assert!(shift.p < 1e-4);
    let back = Shift::of(&second, &first).unwrap();
    assert_eq!((back.effect, back.verdict()), (-1.0, Verdict::Faster));
    assert!((back.p - shift.p).abs() < 1e-12);
}

/// The textbook's example (Hollander and Wolfe 1999, 4.1). U = 15, n = 10, m = 5, and p = 0.2207 by
/// the normal approximation without continuity.
#[test]
fn the_probability_is_that_of_the_textbook() {
    let first = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46];
    let second = [1.15, 0.88, 0.90, 0.74, 1.21];
    let shift = Shift::of(&first, &second).unwrap();
    // With the correction for continuity: z = (10 - 0.5) / sqrt(10 * 5 * 16 / 12).
    assert!((shift.p - 0.2449).abs() < 1e-3, "{shift:?}");
    assert!((shift.effect + 0.4).abs() < 1e-12, "{shift:?}");
}

#[test]
fn few_or_unusable_figures_show_nothing() {
    assert_eq!(Shift::of(&[], &[1.0]), None);
    assert_eq!(Shift::of(&[0.0, f64::NAN], &[1.0]), None);
    let few = Shift::of(&[1.0, 1.0], &[9.0, 9.0]).unwrap();
    assert_eq!((few.ratio.interval.coverage, few.verdict()), (0.0, Verdict::NoDifferenceShown));
    // The size of the smaller sample decides, regardless of which sample it is.
    let (two, nine) = ([1.0; 2], [9.0; 9]);
    for few in [Shift::of(&two, &nine).unwrap(), Shift::of(&nine, &two).unwrap()] {
        assert_eq!(few.ratio.samples, 2);
        assert_eq!((few.ratio.interval.coverage, few.verdict()), (0.0, Verdict::NoDifferenceShown));
    }
}

/// A quotient needs figures that are numbers above 0.
#[test]
fn figures_without_a_quotient_do_not_count() {
    let (first, second) = ([1.0, 2.0, 3.0], [2.0, 3.0, 4.0]);
    let odd = [0.0, -1.0, f64::INFINITY, f64::NAN];
    let shift = Shift::of(&first, &second);
    assert_eq!(Shift::of(&[&odd[..], &first].concat(), &second), shift);
    assert_eq!(Shift::of(&first, &[&second, &odd[..]].concat()), shift);
}

/// U = 28. The groups of equal figures have 2, 4, 4 and 2 members, so the variance is
/// 36 / 12 * (13 - 132 / 132) = 36, and z = (28 - 18 - 0.5) / 6. Without the correction for ties,
/// the variance is 39 and p is 0.1282.
#[test]
fn equal_figures_lower_the_variance_of_the_ranks() {
    let shift = Shift::of(&[1.0, 1.0, 2.0, 2.0, 3.0, 3.0], &[2.0, 2.0, 3.0, 3.0, 4.0, 4.0]).unwrap();
    assert!((shift.p - 0.1133).abs() < 1e-4, "{shift:?}");
}

#[test]
fn a_true_tie_is_called_a_difference_once_in_twenty_at_most() {
    use rand::{RngExt, SeedableRng};
    let mut rng = rand_pcg::Pcg64::seed_from_u64(5);
    let mut draw = || (0..12).map(|_| rng.random::<f64>() + 0.5).collect::<Vec<_>>();
    let (mut outside, mut small) = (0, 0);
    for _ in 0..1000 {
        let shift = Shift::of(&draw(), &draw()).unwrap();
        outside += usize::from(!(shift.ratio.interval.low..=shift.ratio.interval.high).contains(&1.0));
        small += usize::from(shift.p < 0.05);
    }
    assert!((20..=70).contains(&outside) && (20..=70).contains(&small), "{outside} {small}");
}
