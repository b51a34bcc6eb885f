//! Tests that written events are read again. If a file is cut off, damaged or foreign, an error
//! says so, and the events before the fault are read.

use core::cell::RefCell;
use std::io::{self, Read, Write};
use std::rc::Rc;

use proptest::prelude::*;
use tickwright_trace::text::{from_csv, to_csv, to_json_lines};
use tickwright_trace::{Base, Event, Header, Reader, Remark, TraceError, What, Writer};

fn header() -> Header {
    let bases = vec![Base { name: "wheel".into(), tick_ns: 1_000_000 }, Base::default()];
    Header { of: "server --port 80".into(), clock: "monotonic".into(), bases, ..Header::of("test") }
}

/// Returns the reader at the end of a complete file.
fn whole(file: &[u8]) -> Reader<&[u8]> {
    let mut reader = Reader::new(file).unwrap();
    reader.read_to_end().unwrap();
    assert!(reader.is_complete());
    reader
}

/// Returns all events that can be read, and the error that ends them.
fn read(file: &[u8]) -> (Vec<Event>, Option<TraceError>) {
    let mut events = Vec::new();
    let mut reader = match Reader::new(file) {
        Ok(reader) => reader,
        Err(error) => return (events, Some(error)),
    };
    loop {
        match reader.next_block() {
            Ok(Some(block)) => events.extend_from_slice(block),
            Ok(None) => return (events, None),
            Err(error) => return (events, Some(error)),
        }
    }
}

fn event() -> impl Strategy<Value = Event> {
    let what = prop_oneof![
        (any::<i64>(), any::<u64>()).prop_map(|(deadline, period)| What::Arm { deadline, period }),
        (any::<i64>(), 0..9u64).prop_map(|(deadline, period)| What::Rearm { deadline, period }),
        Just(What::Cancel),
        Just(What::Fire),
    ];
    let numbers = (any::<i64>(), any::<u64>(), any::<u32>(), any::<u16>(), any::<u8>(), any::<u32>());
    (what, numbers).prop_map(|(what, (time, timer, thread, cpu, base, site))| Event {
        time,
        timer,
        what,
        thread,
        cpu,
        base,
        site,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_comes_back(
        events in proptest::collection::vec(event(), 0..300),
        flushes in proptest::collection::vec(any::<bool>(), 300),
    ) {
        let mut writer = Writer::new(Vec::new(), &header()).unwrap();
        for (event, flush) in events.iter().zip(flushes) {
            writer.push(event).unwrap();
            if flush {
                writer.flush().unwrap();
            }
        }
        let file = writer.finish().unwrap();
        let (back, error) = read(&file);
        prop_assert_eq!(back, events);
        prop_assert!(error.is_none());
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400), whole: bool) {
        let mut file = sample();
        file.truncate(10);
        if whole {
            file.extend(bytes);
        } else {
            file = bytes;
        }
        let _ = read(&file);
    }
}

/// Returns a file with each kind of block.
fn sample() -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), &header()).unwrap();
    let site = writer.site("tcp.c:7").unwrap();
    let thread = writer.thread("worker/1").unwrap();
    let base = writer.base("heap", 1).unwrap();
    assert_eq!((site, thread, base, writer.base("wheel", 0).unwrap()), (1, 1, 2, 0));
    for number in 0..40u32 {
        let time = 1_000 * i64::from(number);
        let timer = u64::from(number % 7);
        let what = match number % 4 {
            0 => What::Arm { deadline: time + 5_000_000, period: 0 },
            1 => What::Rearm { deadline: time - 1, period: 20 },
            2 => What::Cancel,
            _ => What::Fire,
        };
        writer.push(&Event { thread, cpu: 2, base, site, ..Event::new(time, timer, what) }).unwrap();
        if number == 20 {
            writer.lost(time, 3, "the ring was full").unwrap();
            writer.remark(2, "lines were odd").unwrap();
        }
    }
    assert_eq!(writer.site("tcp.c:7").unwrap(), site);
    writer.finish().unwrap()
}

#[test]
fn names_losses_and_the_end_come_back() {
    let file = sample();
    assert!(!Reader::new(&file[..]).unwrap().is_complete());
    let reader = whole(&file);
    assert_eq!((reader.header().of.as_str(), reader.events_read()), ("server --port 80", 40));
    assert_eq!(
        (reader.sites().get(1), reader.sites().get(0), reader.sites().len()),
        (Some("tcp.c:7"), None, 1)
    );
    assert_eq!(reader.threads().iter().collect::<Vec<_>>(), [(1, "worker/1")]);
    assert_eq!(reader.header().bases[2], Base { name: "heap".into(), tick_ns: 1 });
    assert_eq!((reader.lost()[0].count, reader.lost()[0].note.as_str()), (3, "the ring was full"));
}

/// Remarks are in a block that older readers skip, at any position in the file.
#[test]
fn remarks_come_back() {
    let mut writer = Writer::new(Vec::new(), &header()).unwrap();
    writer.push(&Event::new(1, 1, What::Fire)).unwrap();
    writer.remark(12, Remark::UNREADABLE).unwrap();
    writer.push(&Event::new(2, 1, What::Fire)).unwrap();
    writer.remark(0, &"x".repeat(5_000)).unwrap();
    for _ in 0..300 {
        writer.remark(1, "more").unwrap();
    }
    let file = writer.finish().unwrap();
    let reader = whole(&file);
    assert_eq!(reader.events_read(), 2);
    let remarks = reader.remarks();
    assert_eq!((remarks.len(), remarks[1].words.len()), (256, 4_096));
    assert_eq!(remarks[0].to_string(), "12 timer events could not be read and are left out");
    assert!(remarks[0].is_unreadable() && !remarks[1].is_unreadable());
    assert_eq!(remarks[1].to_string(), remarks[1].words);
    // Readers skip a block of a kind from 128 on if they do not know the kind.
    let block = blocks(&file).into_iter().find(|&at| file[at] >= 128).unwrap();
    assert_eq!(file[block], 128);
}

/// Returns the positions at which the blocks of a file begin.
fn blocks(file: &[u8]) -> Vec<usize> {
    let mut all = vec![10];
    while let Some(&at) = all.last().filter(|&&at| at < file.len()) {
        let stored = u32::from_le_bytes(file[at + 4..at + 8].try_into().unwrap());
        all.push(at + 16 + stored as usize);
    }
    all
}

#[test]
fn a_file_that_is_cut_off_anywhere_is_read_to_its_last_whole_block() {
    let file = sample();
    let (all, _) = read(&file);
    let begins = blocks(&file);
    for end in 0..file.len() {
        let (events, error) = read(&file[..end]);
        assert!(all.starts_with(&events));
        match error {
            Some(TraceError::Empty) => assert_eq!(end, 0),
            Some(TraceError::CutOff { position, events: before }) => {
                let begin = begins.iter().rev().find(|&&begin| begin <= end).copied().unwrap_or(0);
                assert_eq!((position, before), (begin as u64, events.len() as u64), "cut at {end}");
            }
            None => assert!(begins.contains(&end), "cut at {end}"),
            Some(other) => panic!("cut at {end}: {other}"),
        }
    }
}

#[test]
fn each_flipped_bit_is_found() {
    let file = sample();
    let (all, _) = read(&file);
    for at in 0..file.len() * 8 {
        let mut file = file.clone();
        file[at / 8] ^= 1 << (at % 8);
        let (events, error) = read(&file);
        assert!(error.is_some(), "bit {at}");
        assert!(all.starts_with(&events), "bit {at}");
        if let Some(TraceError::Damaged { position, events: before, .. }) = error {
            assert!(position as usize <= at / 8 && before == events.len() as u64, "bit {at}");
        }
    }
}

/// Each block is complete, but one of the blocks of events is missing. Only the end block shows the
/// loss.
#[test]
fn a_block_that_is_missing_is_noticed_at_the_end() {
    let mut writer = Writer::new(Vec::new(), &header()).unwrap();
    for time in 0..4 {
        writer.push(&Event::new(time, 1, What::Fire)).unwrap();
        writer.flush().unwrap();
    }
    let file = writer.finish().unwrap();
    let begins = blocks(&file);
    // `begins` has the header, four blocks of events, the end block, and the length of the file.
    assert_eq!((begins.len(), read(&file).0.len()), (7, 4));
    for missing in 1..5 {
        let less = [&file[..begins[missing]], &file[begins[missing + 1]..]].concat();
        let mut reader = Reader::new(&less[..]).unwrap();
        (0..3).for_each(|_| assert_eq!(reader.next_block().unwrap().map(<[_]>::len), Some(1)));
        let error = reader.next_block().unwrap_err();
        assert!(matches!(error, TraceError::Damaged { events: 3, .. }), "{error}");
        assert_eq!((reader.is_complete(), reader.lost_total()), (false, None));
    }
}

#[test]
fn a_reader_ends_after_damage() {
    let mut writer = Writer::new(Vec::new(), &header()).unwrap();
    for time in 0..4 {
        writer.push(&Event::new(time, 1, What::Fire)).unwrap();
        writer.flush().unwrap();
    }
    let mut file = writer.finish().unwrap();
    let second = blocks(&file)[2];
    // The last byte of the checksum of the second block of events.
    file[second + 15] ^= 1;
    let mut reader = Reader::new(&file[..]).unwrap();
    assert_eq!(reader.next_block().unwrap().map(<[_]>::len), Some(1));
    assert!(matches!(reader.next_block(), Err(TraceError::Damaged { events: 1, .. })));
    for _ in 0..2 {
        assert_eq!(reader.next_block().unwrap(), None);
    }
    assert_eq!((reader.events_read(), reader.is_complete()), (1, false));
}

#[test]
fn what_is_no_trace_is_named() {
    let error = |file: &[u8]| read(file).1.unwrap().to_string();
    assert_eq!(error(b""), "the file is empty: nothing was recorded");
    assert!(error(b"PK\x03\x04 a zip file").starts_with("the file is no trace"));
    let mut later = sample();
    later[8] = 9;
    assert!(error(&later).contains("version 9"), "{}", error(&later));
    let mut twice = sample();
    twice.extend(&sample()[10..]);
    assert!(error(&twice).contains("it comes after the end"));
}

/// An endless source is read with the memory of one block.
#[test]
fn an_endless_source_is_refused() {
    let first = sample();
    let endless = io::Read::chain(&first[..10], io::repeat(0xff));
    assert!(matches!(Reader::new(endless), Err(TraceError::Damaged { position: 10, .. })));
    assert!(matches!(Reader::new(io::repeat(7)), Err(TraceError::Foreign)));
}

/// A disk with room for n bytes, which accepts a few bytes at a time.
#[derive(Clone, Default)]
struct Disk(Rc<RefCell<(usize, Vec<u8>)>>);

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let (room, has) = &mut *self.0.borrow_mut();
        let taken = bytes.len().min(*room - has.len()).min(100);
        if taken == 0 && !bytes.is_empty() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        has.extend(&bytes[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A full disk loses no event: as soon as there is room again, the file gets all events.
#[test]
fn a_full_disk_loses_nothing_that_was_pushed() {
    let whole = sample();
    let events = read(&whole).0;
    for room in 0..whole.len() {
        let disk = Disk::default();
        disk.0.borrow_mut().0 = room;
        let Ok(mut writer) = Writer::new(disk.clone(), &header()) else { continue };
        events.iter().for_each(|event| writer.push(event).unwrap());
        let stopped = writer.flush();
        let there = read(&disk.0.borrow().1).0;
        assert!(if stopped.is_ok() { there == events } else { there.is_empty() }, "room for {room}");
        disk.0.borrow_mut().0 = usize::MAX;
        writer.finish().unwrap();
        assert_eq!(read(&disk.0.borrow().1).0, events, "room for {room}");
    }
}

/// A name gets its number while the disk is full. As soon as there is room again, the file gets the
/// name with this number.
#[test]
fn a_name_given_while_the_disk_is_full_is_not_lost() {
    let disk = Disk::default();
    disk.0.borrow_mut().0 = usize::MAX;
    let mut writer = Writer::new(disk.clone(), &header()).unwrap();
    writer.push(&Event::new(1, 1, What::Fire)).unwrap();
    let full = disk.0.borrow().1.len();
    disk.0.borrow_mut().0 = full;
    assert!(writer.site("first").is_err());
    writer.push(&Event::new(2, 1, What::Fire)).unwrap();
    assert!(writer.base("heap", 1).is_err() && writer.lost(3, 1, "").is_err());
    disk.0.borrow_mut().0 = usize::MAX;
    assert_eq!((writer.site("first").unwrap(), writer.site("second").unwrap()), (1, 2));
    assert_eq!(writer.base("heap", 1).unwrap(), 2);
    writer.finish().unwrap();
    let file = disk.0.borrow().1.clone();
    let reader = whole(&file);
    assert_eq!(reader.sites().iter().collect::<Vec<_>>(), [(1, "first"), (2, "second")]);
    assert_eq!(reader.header().bases[2].name, "heap");
    assert_eq!((reader.lost().len(), reader.events_read()), (1, 2));
}

/// Events follow the blocks that were read, and nothing follows a damaged block.
#[test]
fn events_begin_where_the_blocks_ended() {
    let file = sample();
    let (all, _) = read(&file);
    let mut reader = Reader::new(&file[..]).unwrap();
    let first = reader.next_block().unwrap().unwrap().len();
    assert_eq!(reader.read_to_end().unwrap(), all[first..]);
}

/// The writer refuses values that a reader would refuse, so a file that it finished can be read.
#[test]
fn names_beyond_the_limit_are_refused_when_written() {
    let mut writer = Writer::new(Vec::new(), &header()).unwrap();
    let long = "x".repeat(4_090);
    let fit = (0..20_000).take_while(|at| writer.site(&format!("{at:06}{long}")).is_ok()).count();
    assert_eq!(fit, (1 << 26) / 4_096);
    writer.lost(1, 7, "note").unwrap();
    let file = writer.finish().unwrap();
    assert_eq!(whole(&file).sites().len(), fit);
}

#[test]
fn text_says_the_same_and_comes_back() {
    let file = sample();
    let mut csv = Vec::new();
    assert_eq!(to_csv(&mut Reader::new(&file[..]).unwrap(), &mut csv).unwrap(), 40);
    let text = String::from_utf8(csv.clone()).unwrap();
    let expected = "time_ns,kind,timer,deadline_ns,period_ns,thread,cpu,base,site,count,note\n\
                    0,arm,0,5000000,0,worker/1,1,heap,tcp.c:7,,\n";
    assert!(text.starts_with(expected), "{text}");
    let (back, count) = from_csv(&csv[..], &header(), Vec::new()).unwrap();
    assert_eq!((count, read(&back).0), (40, read(&file).0));
    let mut lines = Vec::new();
    assert_eq!(to_json_lines(&mut Reader::new(&file[..]).unwrap(), &mut lines).unwrap(), 40);
    let mut first = String::new();
    io::Cursor::new(&lines).take(200).read_to_string(&mut first).unwrap();
    assert!(
        first.starts_with(r#"{"time_ns":0,"kind":"arm","timer":0,"deadline_ns":5000000,"period_ns":0,"#),
        "{first}"
    );
}

/// A buffer does not hide an error of the target.
#[test]
fn text_to_a_full_disk_is_an_error() {
    let file = sample();
    for room in [0, 1_000] {
        let disk = Disk::default();
        disk.0.borrow_mut().0 = room;
        let error = to_json_lines(&mut Reader::new(&file[..]).unwrap(), disk.clone()).unwrap_err();
        assert!(matches!(error, TraceError::Io(_)), "{error}");
        assert!(to_csv(&mut Reader::new(&file[..]).unwrap(), Disk::default()).is_err());
    }
}

#[test]
fn a_wrong_line_is_named() {
    let error = |text: &str| from_csv(text.as_bytes(), &header(), Vec::new()).unwrap_err().to_string();
    let missing = error("kind,timer,time\n");
    assert!(
        missing.starts_with(
            "line 1: there is no column 'time_ns': it has kind,timer,time, and the columns are "
        )
    );
    assert!(missing.len() < 300 && error(&format!("{},timer\n", "x".repeat(9000))).len() < 300, "{missing}");
    let names = "timer,kind,time_ns\n";
    assert_eq!(error(&format!("{names}1,arm,2\n")), "line 2: an event 'arm' needs deadline_ns");
    let wrong = "line 3: kind is 'start', not arm, rearm, cancel, fire, lost or remark";
    assert_eq!(error(&format!("{names}1,fire,2\n1,start,2\n")), wrong);
    assert_eq!(error(&format!("{names},fire,2\n")), "line 2: an event 'fire' needs a timer");
    assert_eq!(error(&format!("{names}x,fire,2\n")), "line 2: timer is 'x': invalid digit found in string");
    let late = "time_ns,kind,timer,deadline_ns\n1,arm,2,5\n1,arm,2,5 ms\n";
    assert_eq!(error(late), "line 3: deadline_ns is '5 ms': invalid digit found in string");
    assert_eq!(error(&format!("{names}1,fire\n")), "line 2: it has 2 fields, the first line has 3");
}

/// A quote that is never closed would make the remaining file a single row.
#[test]
fn a_row_without_an_end_is_named() {
    let names = "timer,kind,time_ns,site\n1,fire,2,\n";
    let begin = |text: &str| io::Cursor::new(text.to_owned().into_bytes());
    let error = |text: &str| {
        from_csv(begin(text).chain(io::repeat(b'x')), &header(), Vec::new()).unwrap_err().to_string()
    };
    assert!(error(&format!("{names}1,fire,2,\"")).starts_with("line 3: the row is longer than 1 MiB"));
    assert!(error("").starts_with("line 1: the row is longer than 1 MiB"));
    // A long file of short rows is not refused.
    let long = "1,fire,2,\n".repeat(200_000);
    let (_, count) = from_csv(begin(&format!("{names}{long}")), &header(), Vec::new()).unwrap();
    assert_eq!(count, 200_001);
}

/// A reader accepts each header that a writer accepts.
#[test]
fn long_texts_of_a_header_are_cut_or_refused() {
    // 4096 bytes would cut a letter in two.
    let odd = Base { name: format!("x{}", "é".repeat(4_096)), tick_ns: 1 };
    let file = Writer::new(Vec::new(), &Header { bases: vec![odd], ..Header::of("test") }).unwrap();
    let file = file.finish().unwrap();
    assert_eq!(Reader::new(&file[..]).unwrap().header().bases[0].name.len(), 4_095);
    let base = Base { name: "é".repeat(4_096), tick_ns: 1 };
    let header = Header { bases: vec![base], ..Header::of("test") };
    let mut writer = Writer::new(Vec::new(), &header).unwrap();
    assert_eq!(writer.base(&header.bases[0].name, 1).unwrap(), 0);
    let file = writer.finish().unwrap();
    assert_eq!(Reader::new(&file[..]).unwrap().header().bases[0].name.len(), 4_096);
    let header = Header { of: "x".repeat(1 << 20), ..Header::of("test") };
    let error = Writer::new(Vec::new(), &header).unwrap_err().to_string();
    assert!(error.contains("1 MiB"), "{error}");
}

/// The end of the file has the number of lost events, including losses that were not written.
#[test]
fn the_number_of_all_lost_events_comes_back() {
    let mut writer = Writer::new(Vec::new(), &header()).unwrap();
    for count in [3, 0, 4] {
        writer.lost(1, count, "").unwrap();
    }
    let file = writer.finish().unwrap();
    assert_eq!(Reader::new(&file[..]).unwrap().lost_total(), None);
    let reader = whole(&file);
    assert_eq!((reader.lost_total(), reader.lost().len()), (Some(7), 3));
}

/// The target accepts one byte at a time. The writer offers each byte once, and does not move the
/// remaining bytes to the front.
#[test]
fn a_tiny_sink_takes_time_in_proportion() {
    struct Tiny(usize);
    impl Write for Tiny {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len().min(1);
            Ok(bytes.len().min(1))
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut writer = Writer::new(Tiny(0), &header()).unwrap();
    // The names do not compress, so that blocks are long.
    let mut random = 1_u64;
    for _ in 0..200_000 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        writer.push(&Event::new(random as i64, random, What::Fire)).unwrap();
    }
    assert!(writer.finish().unwrap().0 > 2_000_000);
}
