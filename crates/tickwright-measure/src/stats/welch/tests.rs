use super::*;

#[track_caller]
fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-3 * expected.abs().max(1e-3), "{found} instead of {expected}");
}

#[test]
fn t_is_as_in_the_tables() {
    for (freedom, t) in [(1.0, 12.706), (2.0, 4.303), (9.0, 2.262), (18.0, 2.101), (120.0, 1.980)] {
        close(quantile(freedom, 0.05).unwrap(), t);
        close(two_tails(t, freedom).unwrap(), 0.05);
    }
}

#[test]
fn the_deviation_divides_by_one_less() {
    let (mean, deviation) = mean_and_deviation(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).unwrap();
    close(mean, 5.0);
    close(deviation, (32.0f64 / 7.0).sqrt());
    assert_eq!(mean_and_deviation(&[1.0]), None);
}

#[test]
fn a_worked_example() {
    let a = [27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19.0, 21.7, 21.4];
    let b = [27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0, 24.8, 20.2, 21.9, 22.1, 22.9, 30.2, 26.5];
    let found = welch(&a, &b).unwrap();
    // Means 20.8200 and 23.7733, variances 7.9346 and 6.9992: computed by hand from the definition.
    close(found.difference, -2.95333);
    close(found.low, -5.00406);
    close(found.high, -0.90261);
    assert!((27.0..28.1).contains(&found.freedom), "{found:?}");
    assert!((0.005..0.01).contains(&found.p), "{found:?}");
    assert!(found.differs());
}

#[test]
fn equal_samples_do_not_differ_and_constant_ones_differ_for_sure() {
    let same = welch(&[1.0, 2.0, 3.0], &[1.0, 2.0, 3.0]).unwrap();
    assert!(!same.differs());
    close(same.p, 1.0);
    assert!(!welch(&[1.0, 1.0], &[1.0, 1.0]).unwrap().differs());
    assert!(welch(&[2.0, 2.0], &[1.0, 1.0]).unwrap().differs());
    assert_eq!(welch(&[1.0], &[1.0, 2.0]), None);
}
