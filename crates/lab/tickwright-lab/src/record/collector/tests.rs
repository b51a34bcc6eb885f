//! Tests with rings that the test itself writes: a late writer, a process that ends, too many
//! expiries.

use core::sync::atomic::Ordering::Release;
use std::fs::File;
use std::os::unix::fs::FileExt;

use tickwright_preload::ring::{BYTES, FRONT, MAGIC, op, source};
use tickwright_trace::{Header, Reader};

use super::*;

const MS: u64 = 1_000_000;

/// A process id that the kernel never assigns.
const NOBODY: u64 = 1 << 40;

#[path = "../../../tests/folder/mod.rs"]
mod folder;

use folder::Folder;

impl Folder {
    fn ring(&self, name: &str, pid: u64) -> Writer {
        let path = self.0.join(name);
        let file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        file.set_len(BYTES as u64).unwrap();
        file.write_all_at(&MAGIC.to_le_bytes(), 0).unwrap();
        let mapped = Mapped::open(&path).unwrap().unwrap();
        mapped.header().pid.store(pid, Relaxed);
        Writer { file, mapped, path }
    }
}

/// The process's side of a ring.
struct Writer {
    file: File,
    mapped: Mapped,
    path: PathBuf,
}

impl Writer {
    /// Reserves the next position.
    fn reserve(&self) -> u64 {
        self.mapped.header().head.0.fetch_add(1, Release)
    }

    /// Writes the record of a timerfd to a position.
    fn commit(&self, at: u64, op: u8, [time_ns, deadline_ns, period_ns]: [u64; 3]) {
        let who = 9 << 32 | u64::from(op) << 24 | u64::from(source::TIMERFD) << 16;
        let words = [at + 1, time_ns, deadline_ns, period_ns, 3, 0, who, 0];
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.file.write_all_at(&bytes, FRONT as u64 + at * 64).unwrap();
    }

    fn push(&self, op: u8, times: [u64; 3]) {
        self.commit(self.reserve(), op, times);
    }
}

fn own_pid() -> u64 {
    std::process::id().into()
}

fn collector<'a>(folder: &Folder, file: &'a mut Vec<u8>) -> Collector<&'a mut Vec<u8>> {
    let sink = Sink::new(file, &Header::of("record"), u64::MAX).unwrap();
    Collector::new(folder.0.clone(), 0, [true; 12], sink)
}

/// Returns the events of a trace as (ms, name), in the order of the trace.
fn came(file: &[u8]) -> Vec<(i64, &'static str)> {
    let events = Reader::new(file).unwrap().read_to_end().unwrap();
    events.iter().map(|event| (event.time / MS as i64, event.what.name())).collect()
}

/// Returns how many events were written so far.
fn count<W: Write>(collector: &Collector<W>) -> u64 {
    collector.sink.result.written.values().sum()
}

#[test]
fn a_record_that_is_not_committed_may_have_stopped_a_timer() {
    let folder = Folder::new("late");
    let (late, whole) = (folder.ring("1.ring", own_pid()), folder.ring("2.ring", own_pid()));
    let mut file = Vec::new();
    let mut collector = collector(&folder, &mut file);
    late.push(op::ARM, [MS, 100 * MS, 0]);
    whole.push(op::ARM, [2 * MS, 110 * MS, 0]);
    collector.turn(3 * MS);
    assert_eq!(count(&collector), 2);
    // The writer was preempted in the middle of its record. The deadline of its timer passes.
    let at = late.reserve();
    whole.push(op::ARM, [120 * MS, 10_000 * MS, 0]);
    collector.turn(200 * MS);
    assert_eq!(count(&collector), 4, "the other process's timer fired, and was armed again");
    late.commit(at, op::STOP, [99 * MS, 0, 0]);
    collector.turn(210 * MS);
    collector.finish(220 * MS);
    assert_eq!(collector.totals.timers, 2);
    drop(collector);
    let names = [(1, "arm"), (2, "arm"), (110, "fire"), (120, "arm"), (99, "cancel")];
    assert_eq!(came(&file), names);
}

#[test]
fn a_record_may_come_a_little_after_its_time() {
    let folder = Folder::new("settle");
    let ring = folder.ring("1.ring", own_pid());
    let mut file = Vec::new();
    let mut collector = collector(&folder, &mut file);
    ring.push(op::ARM, [MS, 100 * MS, 0]);
    // A writer has read the clock, but has not reserved a position yet.
    collector.turn(110 * MS);
    ring.push(op::STOP, [99 * MS, 0, 0]);
    ring.push(op::ARM, [111 * MS, 120 * MS, 0]);
    collector.turn(112 * MS);
    collector.turn(200 * MS);
    assert_eq!(count(&collector), 4);
    collector.finish(201 * MS);
    drop(collector);
    assert_eq!(came(&file), [(1, "arm"), (99, "cancel"), (111, "arm"), (120, "fire")]);
}

#[test]
fn a_process_that_has_ended_is_forgotten() {
    let folder = Folder::new("ended");
    let stays = folder.ring("stays.ring", own_pid());
    let mut file = Vec::new();
    let mut collector = collector(&folder, &mut file);
    stays.push(op::ARM, [MS, 10_000 * MS, 0]);
    for turn in 1..=20 {
        let begin = turn * 100 * MS;
        let ring = folder.ring("short.ring", NOBODY);
        ring.push(op::ARM, [begin, begin + 10 * MS, 0]);
        ring.push(op::ARM, [begin + 20 * MS, begin + 1000 * MS, 0]);
        collector.turn(begin + 50 * MS);
        assert!(!ring.path.exists());
        assert_eq!((collector.processes(), collector.known.len()), (1, 1));
        assert_eq!((collector.translator.processes(), collector.sink.processes()), (1, 1));
    }
    collector.finish(3000 * MS);
    assert_eq!((collector.totals.processes, collector.totals.timers), (21, 21));
    assert!(collector.known.is_empty());
    drop(collector);
    let of_one: Vec<_> = came(&file).into_iter().filter(|(ms, _)| (300..400).contains(ms)).collect();
    assert_eq!(of_one, [(300, "arm"), (310, "fire"), (320, "arm"), (350, "cancel")]);
}

#[test]
fn expiries_that_are_too_many_are_counted_as_lost() {
    let folder = Folder::new("often");
    let ring = folder.ring("1.ring", own_pid());
    let mut file = Vec::new();
    let mut collector = collector(&folder, &mut file);
    // The timer has a thousand expiries in a millisecond, beginning at a deadline that has passed.
    ring.push(op::ARM, [100 * MS, 1, 1000]);
    ring.push(op::STOP, [200 * MS, 0, 0]);
    collector.turn(300 * MS);
    collector.finish(300 * MS);
    let (written, lost) = (count(&collector), collector.sink.result.lost);
    assert_eq!(collector.totals.left_out, lost);
    drop(collector);
    assert_eq!(written + lost, 100_000 + 3, "an arm, an expiry at once, each microsecond, a cancel");
    assert_eq!(written, 1003);
    let mut reader = Reader::new(&file[..]).unwrap();
    reader.read_to_end().unwrap();
    assert_eq!(reader.lost_total(), Some(lost));
    assert!(reader.lost()[0].note.contains("expired too often"), "{:?}", reader.lost());
}
