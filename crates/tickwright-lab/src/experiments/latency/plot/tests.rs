use super::*;

fn cells(ns: &[u64]) -> Cells {
    let mut cells = Cells::new(100, 1000);
    ns.iter().for_each(|ns| cells.push(*ns));
    cells
}

#[test]
fn blocks_share_one_range_and_one_height() {
    let (one, other) = (cells(&[10_500; 50]), cells(&[12_500; 3]));
    let curves = [
        Curve { id: "one", average_us: 10.5, cells: &one },
        Curve { id: "other", average_us: 12.5, cells: &other },
    ];
    let (lines, low, high) = blocks(&curves, 10);
    assert_eq!((low, high), (10.0, 13.0));
    assert_eq!(lines, ["█  ", "  ▃"]);
}

#[test]
fn the_rarest_are_left_off_the_terminal_and_not_off_the_picture() {
    let mut many = vec![10_500; 999];
    many.push(90_500);
    let cells = cells(&many);
    let curves = [Curve { id: "one", average_us: 1.0, cells: &cells }];
    assert_eq!(window(&curves, 0.005), (10, 11));
    assert_eq!(window(&curves, 0.0), (10, 91));
}

#[test]
fn nothing_is_drawn_of_nothing() {
    let cells = cells(&[]);
    let curves = [Curve { id: "none", average_us: f64::NAN, cells: &cells }];
    assert_eq!(blocks(&curves, 10).0, [" "]);
    assert!(blocks(&[], 10).0.is_empty());
    for picture in [svg("a & b", "a < b", &curves), svg("", "", &[])] {
        assert!(picture.starts_with("<svg") && picture.trim_end().ends_with("</svg>"), "{picture}");
        assert!(
            !picture.contains("a & b") && !picture.contains("a < b") && !picture.contains("inf"),
            "{picture}"
        );
    }
}

#[test]
fn steps_are_tidy() {
    assert_eq!([0.9, 1.0, 3.0, 30.0, 0.03].map(tidy), [1.0, 1.0, 5.0, 50.0, 0.05]);
    assert_eq!([2.0, 0.05, 12.5].map(trimmed), ["2", "0.05", "12.5"]);
}
