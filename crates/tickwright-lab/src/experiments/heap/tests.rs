use super::run;

#[test]
fn every_small_size_passes_and_the_counts_are_right() {
    for n in [1, 2, 3, 10, 100, 1000] {
        let rows = run(n, 7).unwrap();
        let counts: Vec<_> = rows.iter().map(|row| (row.pushed, row.removed, row.popped)).collect();
        assert_eq!(counts, [(n, 0, n), (n + n / 10, n / 10, n)]);
    }
}

#[test]
fn a_seed_says_all() {
    assert_eq!(run(500, 3).unwrap(), run(500, 3).unwrap());
    assert_ne!(run(500, 3).unwrap(), run(500, 4).unwrap(), "other numbers take other comparisons");
}
