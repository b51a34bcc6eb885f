use super::*;

#[test]
fn a_structure_is_charged_for_itself_and_not_for_the_callers_keys() {
    let n = 1000;
    // Payload bytes alone bound it from below; four times a large node from above. The exact figures are in the
    // families' documentation, asserted there. (Other tests allocate at the same time, so nothing is exact here.)
    let report = run(&["list/hook".into()], &[n]).unwrap();
    let per_timer = report.rows[0].per_timer().unwrap();
    assert!(per_timer >= 4.0, "{per_timer}");
    assert!(show(&report).contains("list/hook"));
}
