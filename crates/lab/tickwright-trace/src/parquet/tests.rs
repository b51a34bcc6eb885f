use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::record::Field;
use bytes::Bytes;

use super::*;
use crate::event::What;
use crate::header::{Base, Header};
use crate::writer::Writer;

/// Returns a trace of events with and without names, deadlines and periods.
fn trace(events: u32) -> (Vec<u8>, Vec<Event>) {
    let base = Base { name: "wheel".into(), tick_ns: 1000 };
    let header = Header { of: "server".into(), bases: vec![base], ..Header::of("test") };
    let mut writer = Writer::new(Vec::new(), &header).unwrap();
    let mut all = Vec::new();
    for number in 0..events {
        // Each block brings new names.
        let thread = writer.thread(&format!("worker/{}", number / 1000)).unwrap();
        let site = writer.site("tcp.c:7").unwrap();
        let base = if number == 3 { writer.base("heap", 0).unwrap() } else { 0 };
        let time = i64::from(number) * 1000 - 5000;
        let what = match number % 4 {
            0 => What::Arm { deadline: time + 5_000_000, period: 0 },
            1 => What::Rearm { deadline: -1, period: u64::MAX },
            2 => What::Cancel,
            _ => What::Fire,
        };
        let timer = u64::MAX - u64::from(number % 7);
        let event = match number % 5 {
            0 => Event { base, ..Event::new(time, timer, what) },
            // A queue that the trace's header does not name.
            1 => Event { base: 200, thread, cpu: 1, ..Event::new(time, timer, what) },
            _ => Event { base, thread, cpu: u16::MAX, site, ..Event::new(time, timer, what) },
        };
        writer.push(&event).unwrap();
        all.push(event);
    }
    writer.lost(0, 3, "the ring was full").unwrap();
    (writer.finish().unwrap(), all)
}

/// Returns the file, and the result of the export. A row group has `rows` events or slightly more.
fn export(trace: &[u8], rows: usize) -> (Vec<u8>, Result<u64, TraceError>) {
    let mut reader = Reader::new(trace).unwrap();
    let mut file = Vec::new();
    let done = write(&mut reader, &mut file, rows);
    (file, done)
}

fn open(file: Vec<u8>) -> SerializedFileReader<Bytes> {
    SerializedFileReader::new(Bytes::from(file)).unwrap()
}

/// Returns a value of the metadata.
fn about(file: &SerializedFileReader<Bytes>, key: &str) -> Option<String> {
    let all = file.metadata().file_metadata().key_value_metadata()?;
    all.iter().find(|pair| pair.key == key)?.value.clone()
}

/// Returns all rows, as text.
fn rows(file: &SerializedFileReader<Bytes>) -> Vec<Vec<String>> {
    let text = |field: &Field| match field {
        Field::Null => "-".to_owned(),
        Field::Str(text) => text.clone(),
        number => number.to_string(),
    };
    let row = |row: ::parquet::record::Row| row.get_column_iter().map(|(_, field)| text(field)).collect();
    file.get_row_iter(None).unwrap().map(|found| row(found.unwrap())).collect()
}

/// Returns the rows that these events should give.
fn expected(events: &[Event]) -> Vec<Vec<String>> {
    let or_null = |text: Option<String>| text.unwrap_or_else(|| "-".into());
    let row = |(number, event): (usize, &Event)| {
        let armed = event.what.armed();
        vec![
            number.to_string(),
            event.time.to_string(),
            event.what.name().to_owned(),
            event.timer.to_string(),
            or_null(armed.map(|(deadline, _)| deadline.to_string())),
            or_null(armed.map(|(_, period)| period.to_string())),
            or_null((event.thread > 0).then(|| format!("worker/{}", event.thread - 1))),
            or_null(event.cpu.checked_sub(1).map(|cpu| cpu.to_string())),
            or_null(["wheel", "heap"].get(usize::from(event.base)).map(|&name| name.into())),
            or_null((event.site > 0).then(|| "tcp.c:7".into())),
        ]
    };
    events.iter().enumerate().map(row).collect()
}

#[test]
fn each_event_comes_back_with_its_names_and_its_nulls() {
    let (trace, events) = trace(20_000);
    let (file, done) = export(&trace, ROWS);
    assert_eq!(done.unwrap(), 20_000);
    let file = open(file);
    assert_eq!(file.num_row_groups(), 1);
    assert_eq!(rows(&file), expected(&events));
    let header: Header = serde_json::from_str(&about(&file, "tickwright.header").unwrap()).unwrap();
    assert_eq!(header.of, "server");
    // A queue that appeared within the trace.
    assert_eq!(header.bases[1].name, "heap");
    assert_eq!(about(&file, "tickwright.lost_events").as_deref(), Some("3"));
    assert_eq!(about(&file, "tickwright.damage"), None);
}

#[test]
fn columns_have_the_names_of_csv_and_few_values_are_dictionaries() {
    let (trace, _) = trace(5000);
    let file = open(export(&trace, ROWS).0);
    let columns = file.metadata().file_metadata().schema_descr().columns();
    let names: Vec<&str> = columns.iter().map(|column| column.name()).collect();
    let csv = ["time_ns", "kind", "timer", "deadline_ns", "period_ns", "thread", "cpu", "base", "site"];
    assert_eq!(names, [&["event"], &csv[..]].concat());
    for column in file.metadata().row_group(0).columns() {
        let is_dictionary = column.dictionary_page_offset().is_some();
        let name = column.column_descr().name();
        let is_text = ["kind", "thread", "base", "site"].contains(&name);
        assert!(is_dictionary || !is_text, "{name}");
    }
}

#[test]
fn a_long_trace_has_many_row_groups() {
    let (trace, events) = trace(50_000);
    let (file, done) = export(&trace, 4096);
    assert_eq!(done.unwrap(), 50_000);
    let file = open(file);
    // A group ends with a block, and a block can be shorter than 4,096 events.
    let lengths: Vec<i64> = file.metadata().row_groups().iter().map(|group| group.num_rows()).collect();
    assert!(lengths.len() > 5 && lengths.iter().all(|&length| length < 2 * 4096), "{lengths:?}");
    assert_eq!(rows(&file), expected(&events));
}

#[test]
fn an_empty_trace_is_a_file_without_rows() {
    let (trace, _) = trace(0);
    let (file, done) = export(&trace, ROWS);
    assert_eq!(done.unwrap(), 0);
    let file = open(file);
    assert_eq!((file.num_row_groups(), rows(&file).len()), (0, 0));
    assert!(about(&file, "tickwright.header").is_some());
}

#[test]
fn of_a_damaged_trace_the_file_has_what_precedes_the_damage() {
    let (trace, events) = trace(20_000);
    let (file, done) = export(&trace[..trace.len() - 100], 4096);
    let Err(TraceError::CutOff { events: read, .. }) = done else { panic!("{done:?}") };
    let file = open(file);
    assert!(read > 10_000 && read < 20_000, "{read}");
    assert_eq!(rows(&file), expected(&events[..read as usize]));
    let damage = about(&file, "tickwright.damage").unwrap();
    assert!(damage.starts_with("the file ends within a block"), "{damage}");
    assert_eq!(about(&file, "tickwright.lost_events"), None);
}

#[test]
fn a_trace_without_an_end_says_so() {
    let mut writer = Writer::new(Vec::new(), &Header::of("test")).unwrap();
    writer.push(&Event::new(1, 2, What::Fire)).unwrap();
    let trace = writer.finish().unwrap();
    // The last block is the end.
    let end = trace.windows(2).rposition(|pair| pair == [5, 0]).unwrap();
    let (file, done) = export(&trace[..end], ROWS);
    assert_eq!(done.unwrap(), 1);
    assert_eq!(about(&open(file), "tickwright.damage").as_deref(), Some("the trace has no end"));
}

#[test]
fn a_full_disk_is_an_error_of_the_system() {
    struct Full(usize);
    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let (trace, _) = trace(20_000);
    for room in [0, 3, 1000, 20_000] {
        let done = to_parquet(&mut Reader::new(&trace[..]).unwrap(), Full(room));
        let Err(TraceError::Io(error)) = done else { panic!("{room}: {done:?}") };
        assert_eq!(error.kind(), io::ErrorKind::StorageFull, "{room}");
    }
}
