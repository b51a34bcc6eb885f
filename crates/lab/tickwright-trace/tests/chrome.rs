//! Tests of the import of a browser's timer events, and of two traces of browsers.

use std::collections::HashMap;
use std::io::BufReader;

use flate2::bufread::MultiGzDecoder;
use serde_json::Value;
use tickwright_trace::import::chrome::{Chrome, import};
use tickwright_trace::{Event, Reader, TraceError, What};

fn imported(json: &[u8]) -> (Chrome, Vec<Event>, Vec<String>) {
    let (file, found) = import(json, "test", Vec::new()).unwrap();
    let mut reader = Reader::new(&file[..]).unwrap();
    let events = reader.read_to_end().unwrap();
    assert_eq!(found.count.events, events.len() as u64);
    (found, events, reader.sites().iter().map(|(_, name)| name.to_owned()).collect())
}

/// Writes an event of a frame, at a time in us.
fn event(us: u32, name: &str, id: u32, more: &str) -> String {
    format!(
        r#"{{"args":{{"data":{{"frame":"F","timerId":{id}{more}}}}},"name":"{name}","ph":"I","pid":1,"tid":2,"ts":{us}}}"#
    )
}

#[test]
fn what_is_cleared_after_it_fired_was_not_cancelled() {
    let once = r#","timeout":0,"singleShot":true"#;
    let often =
        r#","timeout":30,"singleShot":false,"stackTrace":[{"functionName":"f","url":"a.js","lineNumber":7}]"#;
    let events = [
        event(0, "TimerInstall", 5, once),
        event(900, "TimerInstall", 6, once),
        // A browser writes events in any order.
        event(500, "TimerInstall", 7, often),
        event(1_100, "TimerFire", 5, ""),
        event(1_200, "TimerRemove", 5, ""),
        event(1_300, "TimerRemove", 6, ""),
        event(1_400, "TimerRemove", 0, ""),
        event(31_000, "TimerFire", 7, ""),
        event(61_000, "TimerFire", 7, ""),
        event(61_100, "TimerRemove", 7, ""),
        r#"{"name":"Paint","args":"none","ts":3}"#.to_owned(),
        r#"{"name":"TimerFire","args":{"data":{"timerId":"five"}},"ts":3}"#.to_owned(),
    ];
    let json = format!(r#"{{"metadata":{{"a":[1,{{}}]}},"traceEvents":[{}]}}"#, events.join(","));
    let (found, events, sites) = imported(json.as_bytes());
    assert_eq!((found.installs, found.fires, found.removes, found.cancels), (3, 3, 4, 2));
    assert_eq!((found.count.unreadable, found.count.damage), (1, None));
    let told: Vec<_> = events.iter().map(|event| (event.time / 1_000, event.timer, event.what)).collect();
    let arm = |deadline, period| What::Arm { deadline, period };
    let expected = [
        (0, 1, arm(1_000_000, 0)),
        (500, 2, arm(30_500_000, 30_000_000)),
        (900, 3, arm(1_900_000, 0)),
        (1_100, 1, What::Fire),
        (1_300, 3, What::Cancel),
        (31_000, 2, What::Fire),
        (61_000, 2, What::Fire),
        (61_100, 2, What::Cancel),
    ];
    assert_eq!((told, sites), (expected.to_vec(), vec!["f a.js:7".to_owned()]));
}

#[test]
fn a_trace_that_is_cut_off_is_read_to_there() {
    let events = event(0, "TimerInstall", 5, r#","timeout":9,"singleShot":true"#);
    for cut in [format!("[{events},"), format!("[{events},{{\"name\":\"Ti"), format!("[{events}]x")] {
        let (found, events, _) = imported(cut.as_bytes());
        assert_eq!((events.len(), found.count.damage.is_some()), (1, true), "{cut}");
    }
    let error = |json: &[u8]| import(json, "test", Vec::new()).unwrap_err();
    for json in [&b"[]"[..], b"", b"7", b"{\"traceEvents\":5}", b"\x1f\x8b\x08rubbish"] {
        assert!(matches!(error(json), TraceError::Line { .. } | TraceError::Io(_)), "{}", error(json));
    }
}

#[test]
fn an_odd_event_does_not_end_the_import() {
    let install = event(7, "TimerInstall", 5, r#","timeout":9,"singleShot":true"#);
    for odd in [
        r#"{"name":"a","pid":"GPU","tid":-1,"ts":null}"#,
        r#"{"name":"a","ts":1e999,"pid":99999999999999999999999}"#,
        r#"{"name":"a","ts":[1,{"b":2}],"pid":{}}"#,
    ] {
        let (found, events, _) = imported(format!("[{odd},{install}]").as_bytes());
        assert_eq!((events.len(), found.count.damage), (1, None), "{odd}");
    }
    let far = install.replace(r#""ts":7"#, r#""ts":-1e300"#);
    let (_, events, _) = imported(format!("[{far},{}]", far.replace("-1e300", "1e300")).as_bytes());
    assert_eq!((events[0].time, events[1].time), (0, i64::MAX));
}

#[test]
fn workers_of_a_process_have_timers_of_their_own() {
    let worker =
        event(0, "TimerInstall", 1, r#","timeout":9,"singleShot":true"#).replace(r#""frame":"F","#, "");
    let (_, events, _) =
        imported(format!("[{worker},{}]", worker.replace(r#""tid":2"#, r#""tid":3"#)).as_bytes());
    assert!(events.iter().all(|event| matches!(event.what, What::Arm { .. })));
    assert_ne!(events[0].timer, events[1].timer);
}

/// For some threads, browsers write negative numbers or words. Each of these names a different
/// thread.
#[test]
fn threads_with_odd_numbers_are_told_apart() {
    let worker =
        event(0, "TimerInstall", 1, r#","timeout":9,"singleShot":true"#).replace(r#""frame":"F","#, "");
    let of = |pid: &str, tid: &str| {
        worker
            .replace(r#""pid":1"#, &format!(r#""pid":{pid}"#))
            .replace(r#""tid":2"#, &format!(r#""tid":{tid}"#))
    };
    let all = [of("1", "-1"), of("1", "-2"), of("1", "0"), of("-7", "0"), of(r#""GPU""#, "0"), of("1", "-1")];
    let (_, events, _) = imported(format!("[{}]", all.join(",")).as_bytes());
    let timers: Vec<u64> = events.iter().map(|event| event.timer).collect();
    let threads: Vec<u32> = events.iter().map(|event| event.thread).collect();
    assert_eq!(timers, [1, 2, 3, 4, 5, 1]);
    assert_eq!(threads, [1, 2, 3, 4, 5, 1]);
}

/// A filter strips the arguments of events, so that the timer is unknown.
#[test]
fn events_without_arguments_are_counted() {
    let install = event(7, "TimerInstall", 5, r#","timeout":9,"singleShot":true"#);
    let stripped = [
        r#"{"name":"TimerInstall","ph":"I","pid":1,"tid":2,"ts":1,"args":"__stripped__"}"#,
        r#"{"name":"TimerFire","ph":"I","pid":1,"tid":2,"ts":2,"args":null}"#,
        r#"{"name":"TimerRemove","ph":"I","pid":1,"tid":2,"ts":3}"#,
        r#"{"name":"TimerRemove","ph":"I","pid":1,"tid":2,"ts":3,"args":{"data":{"frame":"F"}}}"#,
        r#"{"name":"TimerFire","ph":"I","pid":1,"tid":2,"ts":3,"args":{"data":{"timerId":0}}}"#,
    ];
    let (found, events, _) = imported(format!("[{install},{}]", stripped.join(",")).as_bytes());
    assert_eq!((events.len(), found.count.unreadable), (1, 5));
    let error = import(format!("[{}]", stripped.join(",")).as_bytes(), "test", Vec::new()).unwrap_err();
    assert!(error.to_string().contains("5 timer events, but none can be read"), "{error}");
}

#[test]
fn a_packed_trace_that_is_cut_off_is_read_to_there() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/samples/chrome-intercom-widget.json.gz");
    let packed = std::fs::read(path).unwrap();
    let (found, events, _) = imported(&packed[..packed.len() - 300]);
    assert!(found.count.damage.is_some() && events.len() > 50, "{}", events.len());
}

/// Counts installs, fires, removes and true cancels with a dictionary of pending timers and without
/// any code of the importer.
fn counted(path: &str) -> [u64; 4] {
    let packed = BufReader::new(std::fs::File::open(path).unwrap());
    let trace: Value = serde_json::from_reader(MultiGzDecoder::new(packed)).unwrap();
    let events = trace.as_array().or_else(|| trace["traceEvents"].as_array()).unwrap();
    let of_timers = |event: &&Value| event["name"].as_str().is_some_and(|name| name.starts_with("Timer"));
    let mut events: Vec<&Value> = events.iter().filter(of_timers).collect();
    events.sort_by_key(|event| event["ts"].as_u64());
    let (mut counts, mut pending) = ([0; 4], HashMap::new());
    for event in events {
        let data = &event["args"]["data"];
        let timer = (event["pid"].as_u64(), data["timerId"].as_u64());
        match event["name"].as_str() {
            Some("TimerInstall") => {
                counts[0] += 1;
                pending.insert(timer, data["singleShot"].as_bool());
            }
            Some("TimerFire") => {
                counts[1] += 1;
                if pending.get(&timer) == Some(&Some(true)) {
                    pending.remove(&timer);
                }
            }
            Some("TimerRemove") => {
                counts[2] += 1;
                counts[3] += u64::from(pending.remove(&timer).is_some());
            }
            _ => {}
        }
    }
    counts
}

#[test]
fn two_browsers() {
    for (name, installs, fires, removes, cancels) in
        [("chrome-intercom-widget", 122, 137, 10, 4), ("chrome-pid-change", 88, 48, 39, 33)]
    {
        let path = format!("{}/tests/samples/{name}.json.gz", env!("CARGO_MANIFEST_DIR"));
        let from = BufReader::new(std::fs::File::open(&path).unwrap());
        let (file, found) = import(from, name, Vec::new()).unwrap();
        let counts = [found.installs, found.fires, found.removes, found.cancels];
        assert_eq!(counts, [installs, fires, removes, cancels], "{name}");
        assert_eq!(counts, counted(&path), "{name}");
        assert_eq!(found.count.damage, None);
        let mut reader = Reader::new(&file[..]).unwrap();
        assert!(!reader.read_to_end().unwrap().is_empty());
        assert!(reader.is_complete() && !reader.sites().is_empty());
    }
}

/// An endless value is refused, whether it is compressed or not. The import needs at most the
/// memory of one value.
#[test]
fn an_endless_value_is_refused() {
    let install = event(0, "TimerInstall", 5, r#","timeout":9,"singleShot":true"#);
    let endless = |begin: &str, byte: u8| {
        let text = std::io::Cursor::new(begin.to_owned().into_bytes());
        BufReader::new(std::io::Read::chain(text, std::io::repeat(byte)))
    };
    for (begin, byte) in [("[{\"name\":\"", b'x'), ("[", b' '), ("{\"other\":", b'[')] {
        let error = import(endless(begin, byte), "test", Vec::new()).unwrap_err().to_string();
        assert!(error.contains("64 MiB"), "{error}");
    }
    let (_, found) = import(endless(&format!("[{install},{{\"args\":\""), b'x'), "test", Vec::new()).unwrap();
    assert!(found.count.damage.unwrap().contains("64 MiB"));
    assert_eq!(found.count.events, 1);
}
