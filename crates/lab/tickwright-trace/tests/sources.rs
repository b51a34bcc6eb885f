//! Tests of what all importers share: packed sources, line ends, byte-order marks, losses, and the
//! guess of which program wrote a source.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use tickwright_trace::event::UNKNOWN;
use tickwright_trace::import::{Source, Unpacked, chrome, kernel, perfetto};
use tickwright_trace::text::{from_csv, to_csv, to_json_lines};
use tickwright_trace::{Event, Header, Reader, Remark, TraceError, What, Writer};

const KERNEL: &str = "cpus=2
  w-3 [000] d..1. 50.000000: timer_start: timer=00000000aaaa0040 function=f expires=4295000100 [timeout=100] cpu=0
  w-3 [000] d..1. 50.300000: timer_cancel: timer=00000000aaaa0040
  w-3 [000] d..1. 50.400000: timer_start: timer=00000000aaaa0080 function=f expires=4295000200 [timeout=100] cpu=0
";
const CHROME: &str = r#"{"traceEvents":[
{"name":"TimerInstall","ph":"I","pid":1,"tid":2,"ts":0,"args":{"data":{"frame":"F","timerId":5,"timeout":9,"singleShot":true}}},
{"name":"TimerFire","ph":"I","pid":1,"tid":2,"ts":9000,"args":{"data":{"frame":"F","timerId":5}}}]}
"#;
const CSV: &str = "time_ns,kind,timer,deadline_ns,site\n0,arm,7,5000000,a.c:1\n1000,cancel,7,,\n";

const ALL: [(Source, &str); 3] = [(Source::Kernel, KERNEL), (Source::Chrome, CHROME), (Source::Csv, CSV)];

/// What a trace holds: its events as CSV, the numbers of its losses, and its remarks.
#[derive(Debug, PartialEq)]
struct Held {
    events: String,
    lost: Vec<u64>,
    remarks: Vec<String>,
}

fn import(source: Source, bytes: &[u8]) -> Result<Held, TraceError> {
    let options = kernel::Options { hz: Some(250), ..kernel::Options::default() };
    let file = match source {
        Source::Kernel => kernel::import(bytes, &options, Vec::new())?.0,
        Source::Perfetto => perfetto::import(bytes, &options, Vec::new())?.0,
        Source::Chrome => chrome::import(bytes, "test", Vec::new())?.0,
        Source::Csv => from_csv(bytes, &Header::of("csv"), Vec::new())?.0,
    };
    let mut reader = Reader::new(&file[..])?;
    let mut csv = Vec::new();
    to_csv(&mut reader, &mut csv)?;
    let is_event = |row: &&str| !row.contains(",lost,") && !row.contains(",remark,");
    let rows = String::from_utf8(csv).unwrap();
    Ok(Held {
        events: rows.lines().filter(is_event).map(|row| format!("{row}\n")).collect(),
        lost: reader.lost().iter().map(|lost| lost.count).collect(),
        remarks: reader.remarks().iter().map(ToString::to_string).collect(),
    })
}

fn held(source: Source, bytes: &[u8]) -> Held {
    import(source, bytes).unwrap_or_else(|error| panic!("{source}: {error}"))
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::default());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

#[test]
fn each_source_says_the_same_packed_with_a_mark_and_with_other_line_ends() {
    for (source, text) in ALL {
        let plain = held(source, text.as_bytes());
        assert!(plain.events.lines().count() > 2, "{source}: {plain:?}");
        let marked = format!("\u{feff}{text}");
        let returns = text.replace('\n', "\r\n");
        let twice = text.replace('\n', "\r\r\n");
        let mut ways = vec![
            text.trim_end().to_owned().into_bytes(),
            marked.clone().into_bytes(),
            returns.clone().into_bytes(),
            packed(text.as_bytes()),
            packed(marked.as_bytes()),
            packed(returns.as_bytes()),
        ];
        if source != Source::Csv {
            ways.push(twice.into_bytes());
        }
        for (at, bytes) in ways.iter().enumerate() {
            assert_eq!(held(source, bytes), plain, "{source}, way {at}");
            let unpacked = Unpacked::new(&bytes[..]).unwrap();
            assert_eq!(Source::guess(unpacked.beginning()), Ok(source), "{source}, way {at}");
        }
    }
}

/// A packed source that is cut off is read up to the cut, and the trace states the damage.
#[test]
fn a_packed_source_that_is_cut_off_is_read_to_there() {
    let mut random = 1_u64;
    let rounds: String = (0..4_000)
        .map(|round| {
            // The addresses are random, so that they do not compress.
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let (timer, at) = (random >> 33 | 1 << 31, 100 + round);
            let start = "expires=5 [timeout=10] cpu=0";
            format!("  w-3 [000] d..1. {at}.000000: timer_start: timer={timer:016x} function=f {start}\n")
        })
        .collect();
    let whole = packed(rounds.as_bytes());
    let cut = held(Source::Kernel, &whole[..whole.len() / 2]);
    let events = cut.events.lines().count() - 1;
    assert!((1_000..4_000).contains(&events), "{events}");
    assert!(cut.remarks.iter().any(|remark| remark.contains("cannot be unpacked")), "{:?}", cut.remarks);
}

#[test]
fn a_loss_is_said_by_every_recorder() {
    // The unit tests of `loss` try the words of each recorder.
    for (line, count) in [
        ("CPU:1 [LOST 204600 EVENTS]", 204_600),
        ("    swapper     0 [001]    50.350000: PERF_RECORD_LOST lost 31", 31),
    ] {
        let mut lines: Vec<&str> = KERNEL.lines().collect();
        lines.insert(2, line);
        let found = held(Source::Kernel, lines.join("\n").as_bytes());
        assert_eq!(found.lost, [count], "{line}");
        assert_eq!(found.events, held(Source::Kernel, KERNEL.as_bytes()).events, "{line}");
    }
    let row = CSV.replace("1000,cancel", "Lost 6 events\n1000,cancel");
    assert_eq!(held(Source::Csv, row.as_bytes()).lost, [6]);
    let full = r#"[{"name":"trace_buffer_overflowed","ph":"M","ts":0,"args":{"overflowed_at_ts":8000}},"#;
    let full =
        held(Source::Chrome, CHROME.replace("{\"traceEvents\":[", full).replace("]}\n", "]").as_bytes());
    assert_eq!(full.lost, [0]);
}

/// The number of events that could not be read is in the trace itself.
#[test]
fn what_cannot_be_read_is_counted_in_the_trace() {
    let cut = KERNEL
        .replace("[timeout=100] cpu=0\n  w-3 [000] d..1. 50.3", "[timeout=1x0]\n  w-3 [000] d..1. 50.3");
    let stripped = r#"{"name":"TimerFire","ph":"I","pid":1,"tid":2,"ts":7,"args":"__stripped__"},"#;
    let chrome = CHROME.replacen('{', &format!("[{stripped}{{"), 1).replacen("{\"traceEvents\":[", "", 1);
    for (source, text) in [(Source::Kernel, cut), (Source::Chrome, chrome.replace("]}\n", "]"))] {
        let found = held(source, text.as_bytes());
        assert_eq!(found.remarks, [format!("1 {}", Remark::UNREADABLE)], "{source}: {text}");
    }
}

#[test]
fn the_guess_is_as_lenient_as_the_parsers() {
    let ftrace =
        "# tracer: nop\n  b-1  [000] d... 1.5: timer_start: timer=1 function=f expires=1 [timeout=1]\n";
    for (beginning, source) in [
        (ftrace, Source::Kernel),
        (
            "[1361214076.525092220] (+0.000002128) VM1 timer_start: { cpu_id = 0 }, { timer = 7",
            Source::Kernel,
        ),
        ("  a-1 [000] d... 1.5: sched_switch: prev_comm=x\n", Source::Kernel),
        ("poll(1) = 0\n  a-1 [000] d... 1.5: timer_cancel: timer=1\n", Source::Kernel),
        ("  {\"traceEvents\": [", Source::Chrome),
        ("[\n{\"ph\": \"X\"}", Source::Chrome),
        ("[ ]", Source::Chrome),
        ("kind,time_ns,timer\narm,1,2\n", Source::Csv),
        ("\"kind\",\"time_ns\",\"timer\"\n\"arm\",1,2\n", Source::Csv),
        ("time_ns , kind , timer\n", Source::Csv),
        ("time,kind,timer,deadline\n5,arm,1,9\n", Source::Csv),
        ("Time-ns, Kind, Timer\n", Source::Csv),
        ("a line, with a comma, of prose.\n", Source::Kernel),
        ("a,b,c\n  a-1 [000] d... 1.5: timer_cancel: timer=1\n", Source::Kernel),
    ] {
        assert_eq!(Source::guess(beginning.as_bytes()), Ok(source), "{beginning}");
    }
    let recipe = "perf record -a -e 'timer:hrtimer_*' -- PROGRAM";
    for (beginning, remedy) in [
        (&b"1795218604.8 poll([], 0, 2) = 0 (Timeout) <0.002>"[..], recipe),
        (b"[pid 7] 12:13:14.5 nanosleep({1, 0},  <unfinished ...>", recipe),
        (b"7<my server> 1795218604.8 close(3) = 0\n7 1795218604.9 read(4, \"\"", recipe),
        (b"\xfd7zXZ\0", "xz -dc"),
        (b"\x28\xb5\x2f\xfd\0", "zstd -dc"),
        (b"BZh91AY", "bzip2 -dc"),
        (b"PERFILE2", "perf script"),
        (b"\x17\x08\x44tracing", "trace-cmd report"),
        (b"\xff\xfea\0", "iconv"),
        (b"\x89TWT\r\n", "already"),
    ] {
        let why = Source::guess(beginning).err().unwrap_or_default();
        assert!(why.contains(remedy), "{why}");
    }
}

/// The deadline of a timer that never expires is empty in text, and an empty deadline is read as
/// unknown.
#[test]
fn an_unknown_deadline_is_empty_in_text() {
    let text = "time_ns,kind,timer,deadline_ns\n0,arm,7,\n5,cancel,7,\n";
    let (file, _) = from_csv(text.as_bytes(), &Header::of("csv"), Vec::new()).unwrap();
    let first = Reader::new(&file[..]).unwrap().read_to_end().unwrap()[0];
    assert_eq!(first.what, What::Arm { deadline: UNKNOWN, period: 0 });
    assert_eq!((first.what.deadline(), What::Cancel.deadline()), (None, None));
    let found = held(Source::Csv, text.as_bytes());
    assert!(found.events.contains("\n0,arm,7,,0,"), "{}", found.events);
    assert_eq!(found.remarks, [format!("1 {}", Remark::UNKNOWN_DELAYS)]);
}

/// Text has the losses and the remarks of a trace, and an import of the text restores them.
#[test]
fn what_is_missing_is_in_text_and_comes_back() {
    let mut writer = Writer::new(Vec::new(), &Header::of("test")).unwrap();
    writer.lost(-3, 12, "a, \"full\" buffer").unwrap();
    writer.push(&Event::new(5, 7, What::Fire)).unwrap();
    writer.lost(4, 0, "").unwrap();
    writer.remark(3, Remark::UNREADABLE).unwrap();
    writer.remark(0, "words alone").unwrap();
    let file = writer.finish().unwrap();
    let text = |file: &[u8], lines: bool| {
        let (mut reader, mut out) = (Reader::new(file).unwrap(), Vec::new());
        let _ = if lines { to_json_lines(&mut reader, &mut out) } else { to_csv(&mut reader, &mut out) };
        let lost: Vec<_> = reader.lost().iter().map(|lost| (lost.count, lost.note.clone())).collect();
        (String::from_utf8(out).unwrap(), lost, reader.remarks().to_vec())
    };
    let (csv, lost, remarks) = text(&file, false);
    let rows = [
        "time_ns,kind,timer,deadline_ns,period_ns,thread,cpu,base,site,count,note",
        "-3,lost,,,,,,,,12,\"a, \"\"full\"\" buffer\"",
        "5,fire,7,,,,,,,,",
        "4,lost,,,,,,,,,",
        "5,remark,,,,,,,,3,timer events could not be read and are left out",
        "5,remark,,,,,,,,,words alone",
    ];
    assert_eq!(csv.lines().collect::<Vec<_>>(), rows);
    assert_eq!((lost.len(), remarks.len()), (2, 2));
    let (back, count) = from_csv(csv.as_bytes(), &Header::of("csv"), Vec::new()).unwrap();
    assert_eq!((count, text(&back, false)), (1, (csv, lost, remarks)));
    let (lines, ..) = text(&file, true);
    assert!(lines.contains("{\"time_ns\":4,\"kind\":\"lost\",\"count\":null,\"note\":\"\"}\n"), "{lines}");
    // The export of a trace that ends too early says so, and so does the export of a trace that is
    // cut off within a block.
    let end = file.len() - 1;
    let (cut, ..) = text(&file[..end], false);
    assert!(cut.lines().last().unwrap().contains("the file ends within a block, which begins at"), "{cut}");
    let mut running = Writer::new(Vec::new(), &Header::of("test")).unwrap();
    running.flush().unwrap();
    let (open, ..) = text(running.get_ref().unwrap(), false);
    assert!(open.ends_with("\n0,remark,,,,,,,,,the trace has no end\n"), "{open}");
}

/// Remarks that an import makes itself are not repeated by a second import.
#[test]
fn a_remark_on_rows_is_made_once() {
    let text = "time_ns,kind,timer,deadline_ns\n9,arm,7,\n5,cancel,7,\n";
    let (file, _) = from_csv(text.as_bytes(), &Header::of("csv"), Vec::new()).unwrap();
    let mut csv = Vec::new();
    to_csv(&mut Reader::new(&file[..]).unwrap(), &mut csv).unwrap();
    let (once, twice) = (held(Source::Csv, text.as_bytes()), held(Source::Csv, &csv));
    assert_eq!((once.remarks.len(), &once.remarks), (2, &twice.remarks));
}

/// Rows keep their order, because a trace can have any order. The number of rows out of order is
/// stated.
#[test]
fn rows_out_of_order_are_counted() {
    let rows = "-9,fire,7\n5,fire,7\n1,fire,8\n5,fire,9\n4,fire,9\n6,fire,9\n";
    let found = held(Source::Csv, format!("time_ns,kind,timer\n{rows}").as_bytes());
    assert_eq!(found.remarks.len(), 1);
    assert!(found.remarks[0].starts_with("2 rows have an earlier time"), "{:?}", found.remarks);
}

/// An error of the system does not count as damage of a packed source.
#[test]
fn a_disk_that_cannot_be_read_is_an_error() {
    struct Broken;
    impl std::io::Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::PermissionDenied.into())
        }
    }
    assert!(Unpacked::new(std::io::BufReader::new(Broken)).is_err());
    let begun = std::io::Read::chain(KERNEL.as_bytes(), std::io::BufReader::new(Broken));
    let options = kernel::Options { hz: Some(250), ..kernel::Options::default() };
    let error = kernel::import(begun, &options, Vec::new()).unwrap_err();
    assert!(matches!(error, TraceError::Io(_)), "{error}");
}
