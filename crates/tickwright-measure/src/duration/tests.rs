use super::*;

#[test]
fn what_people_write_is_read() {
    for (text, millis) in [
        ("5s", 5000),
        ("500ms", 500),
        ("2h", 7_200_000),
        ("1m30s", 90_000),
        (" 1ms ", 1),
        ("168h", 604_800_000),
    ] {
        let duration = parse(text).unwrap();
        assert_eq!(duration, Duration::from_millis(millis), "{text}");
        assert_eq!(parse(&show(duration)), Ok(duration), "{text}");
    }
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
        "999h",
        "18446744073709551615h",
        "99999999999999999999s",
        "1.5s",
    ] {
        let message = parse(text).unwrap_err();
        assert!(message.contains("between 1ms and 168h"), "{text}: {message}");
    }
}
