//! Tests with a file that accepts all events, with a full file, and with a limited file.

use tickwright_trace::{Reader, What};

use super::*;

fn plain(process: u32, of: Named) -> String {
    format!("{process}/{of:?}")
}

/// A disk with room for `left` bytes.
#[derive(Debug)]
struct Disk<'a> {
    left: usize,
    file: &'a mut Vec<u8>,
}

impl Write for Disk<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(self.left);
        if taken == 0 && !bytes.is_empty() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.left -= taken;
        self.file.extend(&bytes[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn seen(turn: u64) -> Seen {
    let what = What::Arm { deadline: (turn * turn) as i64, period: 0 };
    let (time_ns, timer) = (1000 + turn * turn * 77, turn);
    Seen { time_ns, timer, source: source::POLL, what, process: 1, thread: 2, cpu: 3, site: 4 }
}

fn events(file: &[u8]) -> u64 {
    let mut reader = Reader::new(file).unwrap();
    let _ = reader.read_to_end();
    reader.events_read()
}

#[test]
fn events_are_written_with_their_names() {
    let mut file = Vec::new();
    let mut sink = Sink::new(&mut file, &Header::of("record"), u64::MAX).unwrap();
    sink.push(&seen(1), 1000, &mut plain);
    sink.push(&seen(2), 1000, &mut plain);
    sink.lost(1000, 1000, 3, "why");
    sink.finish();
    assert_eq!((sink.result.written[&source::POLL], sink.result.threads, sink.result.lost), (2, 1, 3));
    drop(sink);
    let mut reader = Reader::new(&file[..]).unwrap();
    let events = reader.read_to_end().unwrap();
    assert_eq!((events.len(), events[0].time, events[0].cpu), (2, 77, 3));
    assert!(reader.is_complete());
}

#[test]
fn names_of_a_process_that_has_ended_are_forgotten_and_stay_counted() {
    let mut file = Vec::new();
    let mut sink = Sink::new(&mut file, &Header::of("record"), u64::MAX).unwrap();
    for process in 0..100 {
        sink.push(&Seen { process, ..seen(1) }, 1000, &mut plain);
        sink.forget(process);
    }
    assert_eq!(sink.processes(), 0);
    assert_eq!(sink.result.threads, 100);
    sink.lost(1000, 1000, u64::MAX, "a damaged count");
    sink.lost(1000, 1000, 1, "one more");
    assert_eq!(sink.result.lost, u64::MAX);
}

#[test]
fn a_full_disk_keeps_what_was_written() {
    let mut file = Vec::new();
    let disk = Disk { left: 100_000, file: &mut file };
    let mut sink = Sink::new(disk, &Header::of("record"), u64::MAX).unwrap();
    (0..100_000).for_each(|turn| sink.push(&seen(turn), 1000, &mut plain));
    sink.finish();
    assert!(!sink.is_open());
    let kind = sink.result.error.as_ref().map(io::Error::kind);
    assert_eq!(kind, Some(io::ErrorKind::StorageFull));
    assert_eq!(sink.result.bytes, 100_000);
    assert!(sink.result.unwritten > 0);
    let written = sink.result.written[&source::POLL];
    drop(sink);
    let read = events(&file);
    assert!(read > 0 && read <= written, "{read} of {written}");
}

#[test]
fn a_limit_ends_the_trace_whole() {
    let mut file = Vec::new();
    let mut sink = Sink::new(&mut file, &Header::of("record"), 50_000).unwrap();
    (0..100_000).for_each(|turn| sink.push(&seen(turn), 1000, &mut plain));
    assert!(sink.result.is_full && sink.result.error.is_none());
    let (written, unwritten) = (sink.result.written[&source::POLL], sink.result.unwritten);
    assert_eq!(written + unwritten, 100_000);
    assert!(unwritten > 0);
    drop(sink);
    assert_eq!(events(&file), written);
}

#[test]
fn a_disk_that_is_full_from_the_start_is_an_error() {
    let mut file = Vec::new();
    let disk = Disk { left: 0, file: &mut file };
    assert!(matches!(Sink::new(disk, &Header::of("record"), u64::MAX), Err(TraceError::Io(_))));
}
