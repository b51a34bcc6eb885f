use super::*;

#[test]
fn the_grid_never_drifts() {
    let mut grid = Grid::new(100, 10);
    assert_eq!(grid.take(99), None);
    assert_eq!(grid.take(100), Some(Due { expected: 100, missed: 0, next: 110 }));
    assert_eq!(grid.take(119), Some(Due { expected: 110, missed: 0, next: 120 }));
    assert_eq!(grid.take(150), Some(Due { expected: 120, missed: 3, next: 160 }));
    assert_eq!(grid.expected(), 160);
}

#[test]
fn each_missed_point_has_its_own_lateness() {
    let mut grid = Grid::new(0, 10);
    let due = grid.take(25).unwrap();
    assert_eq!(grid.samples(due, 27).collect::<Vec<_>>(), [27, 17, 7]);
}

#[test]
fn a_gap_is_a_second_and_a_hundred_periods() {
    let late = |period: u64, by: u64, stopped| {
        let mut grid = Grid::new(0, period);
        grid.take(by).unwrap();
        grid.is_gap(by, stopped)
    };
    assert!(late(1_000, 1_000_000_000, false));
    assert!(!late(1_000, 999_999_999, false));
    assert!(!late(1_000_000_000, 99_000_000_000, false));
    assert!(late(1_000_000_000, 100_000_000_000, false));
    assert!(late(1_000_000, 1_000_000, true));
    assert!(!late(1_000_000, 999_999, true), "nothing was missed");
}

#[test]
fn ends_of_time_do_not_panic() {
    let mut grid = Grid::new(u64::MAX - 5, 10);
    assert_eq!(grid.take(u64::MAX), Some(Due { expected: u64::MAX - 5, missed: 0, next: u64::MAX }));
    let mut none = Grid::new(0, 0);
    assert_eq!(none.take(3).map(|due| due.missed), Some(3));
}
