use super::span;
use core::time::Duration;

#[test]
fn spans_have_a_unit_and_a_range() {
    let period = span::parse::<1_000, 10_000_000_000>;
    assert_eq!(period("100us"), Ok(Duration::from_micros(100)));
    assert_eq!(period("1ms"), Ok(Duration::from_millis(1)));
    assert_eq!(period("10s"), Ok(Duration::from_secs(10)));
    for wrong in ["0us", "0", "999ns", "11s", "-1ms", "1.5ms", "", "us", "99999999999999999999s", "1h"] {
        let message = period(wrong).unwrap_err();
        assert!(message.contains("from 1us to 10s"), "{message}");
    }
}

#[test]
fn spans_are_shown_as_they_are_read() {
    for text in ["500ns", "1500ns", "100us", "1ms", "2s"] {
        assert_eq!(span::show(span::parse::<1, 10_000_000_000>(text).unwrap()), text);
    }
}
