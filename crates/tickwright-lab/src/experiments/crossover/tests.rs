//! Tests of the crossover, with made-up figures.

use super::*;

fn crossover(ratios: &[f64]) -> Crossover<char> {
    let points = ratios.iter().zip([8, 12, 16, 24, 32]).map(|(&ratio, n)| {
        let list = [0.98, 0.99, 1.0, 1.0, 1.0, 1.01, 1.02].map(|noise| noise * ratio * 100.0);
        Point::of(n, &list, &[('a', &[300.0; 7]), ('b', &[100.0; 7])]).unwrap()
    });
    Crossover { list: 'l', points: points.collect() }
}

#[test]
fn the_crossover_lies_between_what_is_shown_on_both_sides() {
    let found = crossover(&[0.7, 0.9, 1.0, 1.1, 1.5]);
    assert!(found.points.iter().all(|point| (point.best, point.best_ns) == ('b', 100.0)));
    assert_eq!((found.between(), found.faster(), found.slower()), ((Some(16), Some(24)), Some(8), Some(32)));
    assert!((12.0..=16.0).contains(&found.at().unwrap()));
    let never = crossover(&[0.9, 1.0, 1.0]);
    assert_eq!((never.between().1, never.slower()), (None, None));
    let always = crossover(&[1.3, 1.4]);
    assert_eq!((always.between(), always.at()), ((None, Some(8)), None));
    for (found, words) in [
        (found, "faster up to N = 8; the crossover lies between 16 and 24 (equal medians near 16)"),
        (never, "nowhere shown to be faster than b; no difference against it is shown up to the largest N"),
        (always, "it is behind from the smallest N on"),
    ] {
        let text = found.words("b");
        assert!(text.contains(words), "{text}");
    }
}

#[test]
fn nothing_measured_is_no_point() {
    assert!(Point::of(1, &[], &[('a', &[1.0])]).is_none());
    assert!(Point::of(1, &[1.0], &[('a', &[])]).is_none());
    assert!(Point::<char>::of(1, &[1.0], &[]).is_none());
}

#[test]
fn each_size_has_samples_of_each_structure_without_the_warm_up() {
    let sampled = in_turns(&['a', 'b', 'c'], &[1, 2], 6, 1, "x".into(), |s, n, round| Ok((s, n, round)));
    let sampled = sampled.unwrap();
    for (at, n) in [1, 2].into_iter().enumerate() {
        assert_eq!(sampled[at].n, n);
        assert_eq!(sampled[at].samples[1], (1..=6).map(|round| ('b', n, round)).collect::<Vec<_>>());
    }
    let failed = in_turns(&['a'], &[1], 6, 1, "x".into(), |_, _, _| Err::<(), _>(LabError::failed("lost")));
    assert!(failed.is_err());
}
