use super::*;

#[test]
fn figures_stand_to_the_right_and_lines_have_no_trailing_blanks() {
    let mut table = text(["structure", "n=2", "n=10k"]).aligned([false, true, true]);
    table.add_row(["rb/slab", "9.5", "1200"]);
    table.add_row(["btree-map", "12", ""]);
    assert_eq!(show(&table), " structure  n=2  n=10k\n rb/slab    9.5   1200\n btree-map   12");
}

#[test]
fn numbers_are_short() {
    assert_eq!([ns(1.04), ns(9.96), ns(10.2), ns(1234.5)], ["1.0", "10.0", "10", "1234"]);
    assert_eq!([count(500), count(10_000), count(1_000_000), count(1500)], ["500", "10k", "1M", "1500"]);
}

#[test]
fn a_dumb_terminal_gets_no_styles() {
    let of = |no_color: Option<&str>, term: Option<&str>| {
        takes_styles(no_color.map(OsStr::new), term.map(OsStr::new))
    };
    assert!(of(None, None) && of(Some(""), Some("xterm")));
    assert!(!of(None, Some("dumb")) && !of(Some("1"), Some("xterm")));
}
