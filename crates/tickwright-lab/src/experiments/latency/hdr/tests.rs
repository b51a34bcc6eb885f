use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

use super::*;

#[test]
fn a_log_is_read_back_as_it_was_written() {
    let mut log = Log::start();
    let ms = Duration::from_millis;
    log.add("list/hook", ms(0), ms(250), &[1000, 2000, 3000]);
    log.add("rb/hook", ms(250), ms(500), &[500]);
    assert_eq!(log.lost, 0);
    let text = log.text().into_owned();
    let mut seen = Vec::new();
    for entry in IntervalLogIterator::new(text.as_bytes()) {
        if let LogEntry::Interval(interval) = entry.unwrap() {
            let base64 = interval.encoded_histogram().to_owned();
            seen.push((
                interval.tag().unwrap().as_str(),
                interval.start_timestamp(),
                interval.duration(),
                base64,
            ));
        }
    }
    assert_eq!(seen.len(), 2);
    assert_eq!((seen[0].0, seen[0].1, seen[0].2), ("list/hook", ms(0), ms(250)));
    assert_eq!((seen[1].0, seen[1].1), ("rb/hook", ms(250)));
    assert!(text.contains("Tag=list/hook,0.000,0.250,3001.000,HIST"), "{text}");
}
