use super::*;

#[test]
fn a_structure_is_charged_for_itself_and_not_for_the_callers_keys() {
    let report = run(&["list/hook".into(), "binary-heap".into()], &[1000]).unwrap();
    let per_timer: Vec<_> = report.rows.iter().filter_map(Row::per_timer).collect();
    // Two links, expiry, owner and payload; an entry of 16 bytes and 4 that say whether it is alive.
    assert_eq!(per_timer, [40.0, 20.0]);
    assert!(show(&report).contains("list/hook"));
}
