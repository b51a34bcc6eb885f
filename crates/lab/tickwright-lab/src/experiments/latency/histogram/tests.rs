use super::*;

#[test]
fn the_last_cell_takes_what_is_above() {
    let mut cells = Cells::new(3, 1000);
    for ns in [0, 999, 1000, 2999, 3000, u64::MAX] {
        cells.push(ns);
    }
    assert_eq!(cells.counts(), [2, 1, 3]);
    assert_eq!((cells.filled(), cells.middle_us(2)), (Some((0, 2)), 2.5));
    assert_eq!(Cells::sum([&cells, &cells].into_iter()).counts(), [4, 2, 6]);
}

#[test]
fn a_plot_has_points_where_the_count_changes_and_ends_at_one() {
    let mut cells = Cells::new(10_000, 1000);
    [5_000, 5_100, 9_000_000].iter().for_each(|ns| cells.push(*ns));
    let none = Cells::new(10_000, 1000);
    let plot = plot("x", [("some", &cells), ("none", &none)].into_iter());
    let [first, second, tail, end] = plot.curves[0].points[..] else { panic!("{plot:?}") };
    assert_eq!((first, second), ((5.0, 3.0), (6.0, 1.0)));
    assert!(tail.0 <= 9_000.0 && end.0 > 9_000.0 && (tail.1, end.1) == (2.0, 1.0), "{plot:?}");
    assert!(plot.curves[1].points.iter().all(|point| point.1 == 1.0));
    assert_eq!(plot.y.name, "samples + 1 in 1.00 us or 5 %");
}

#[test]
fn no_cell_and_no_width_are_one() {
    let mut cells = Cells::new(0, 0);
    cells.push(7);
    assert_eq!(cells.counts(), [1]);
}
