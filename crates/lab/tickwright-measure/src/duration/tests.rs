use super::*;

#[test]
fn what_people_write_is_read() {
    for (text, ns) in [
        ("5s", 5_000_000_000),
        ("500ms", 500_000_000),
        ("2h", 7_200_000_000_000),
        ("1m30s", 90_000_000_000),
        ("1min 30s", 90_000_000_000),
        ("1500us", 1_500_000),
        (" 1ms ", 1_000_000),
        ("168h", 604_800_000_000_000),
    ] {
        let duration = parse(text).unwrap();
        assert_eq!(duration, Duration::from_nanos(ns), "{text}");
        assert_eq!(parse(&show(duration)), Ok(duration), "{text}");
    }
}

#[test]
fn a_duration_is_shown_as_it_was_written() {
    for text in ["1ns", "100us", "1us500ns", "1ms", "1m30s", "168h"] {
        assert_eq!(show(within::<1, 604_800_000_000_000>(text).unwrap()), text);
    }
    assert_eq!(show(Duration::ZERO), "0s");
}

#[test]
fn the_rest_is_refused_with_the_range() {
    for text in [
        "",
        "0s",
        "0",
        "5",
        "-5s",
        "s",
        "5 parsecs",
        "999us",
        "999h",
        "18446744073709551615h",
        "99999999999999999999s",
        "1.5s",
    ] {
        let message = parse(text).unwrap_err();
        assert!(message.contains("between 1ms and 168h"), "{text}: {message}");
    }
    let message = within::<1_000, 10_000_000_000>("999ns").unwrap_err();
    assert!(message.contains("too short") && message.contains("between 1us and 10s"), "{message}");
}
