use super::*;

#[test]
fn the_plan_fits_into_a_minute() {
    assert!(length() < LONGEST, "{} s", length().as_secs());
}
