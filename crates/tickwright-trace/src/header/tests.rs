//! Dates.

use super::*;

#[test]
fn dates_are_those_of_the_calendar() {
    assert_eq!(calendar(0), "1970-01-01T00:00:00Z");
    assert_eq!(calendar(-1), "1969-12-31T23:59:59Z");
    assert_eq!(calendar(951_782_400), "2000-02-29T00:00:00Z");
    assert_eq!(calendar(951_827_696), "2000-02-29T12:34:56Z");
    assert_eq!(calendar(1_795_218_604), "2026-11-20T23:50:04Z");
    assert_eq!(calendar(4_102_444_799), "2099-12-31T23:59:59Z");
    assert_eq!(calendar(4_107_542_399), "2100-02-28T23:59:59Z");
    assert_eq!(calendar(4_107_542_400), "2100-03-01T00:00:00Z");
    assert_eq!(calendar(253_402_300_799), "9999-12-31T23:59:59Z");
}

#[test]
fn no_time_panics() {
    assert!(calendar(i64::MIN).starts_with("-29227702"));
    assert!(calendar(i64::MAX).starts_with("29227702"));
}
