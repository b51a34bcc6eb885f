//! Tests of the ring: when it is full, at its wrap-around, with several writers, and with a writer
//! that dies.

use core::sync::atomic::Ordering::Relaxed;
use std::collections::HashMap;
use std::thread;

use crate::ring::{Header, Portion, Record, Slot, drain, op, push, reserve, skip};

fn ring(slots: usize) -> (Header, Vec<Slot>) {
    (Header::default(), (0..slots).map(|_| Slot::default()).collect())
}

fn record(time_ns: u64) -> Record {
    Record {
        time_ns,
        deadline_ns: u64::MAX - time_ns,
        period_ns: 3,
        id: 4,
        site: 5,
        thread: u32::MAX,
        cpu: 0x1234,
        source: 11,
        op: op::FIRE,
    }
}

fn all(header: &Header, slots: &[Slot]) -> Vec<Record> {
    let mut found = Vec::new();
    let portion = drain(header, slots, |record| found.push(record));
    assert_eq!(portion.records, found.len());
    found
}

#[test]
fn records_come_out_whole_and_in_order() {
    let (header, slots) = ring(4);
    for time in 0..3 {
        assert!(push(&header, &slots, &record(time)));
    }
    assert_eq!(all(&header, &slots), [record(0), record(1), record(2)]);
    assert_eq!(all(&header, &slots), []);
}

#[test]
fn a_full_ring_keeps_what_it_has_and_counts_the_rest() {
    let (header, slots) = ring(4);
    for time in 0..10 {
        assert_eq!(push(&header, &slots, &record(time)), time < 4);
    }
    assert_eq!(header.lost.load(Relaxed), 6);
    assert_eq!(header.lost_at_ns.load(Relaxed), 9);
    assert_eq!(all(&header, &slots).len(), 4);
    assert!(push(&header, &slots, &record(11)), "there is room again");
}

#[test]
fn the_end_of_the_slots_is_no_end() {
    let (header, slots) = ring(4);
    for time in 0..1000 {
        assert!(push(&header, &slots, &record(time)));
        if time % 3 == 2 {
            assert_eq!(all(&header, &slots), [record(time - 2), record(time - 1), record(time)]);
        }
    }
}

/// Runs writers and a recorder concurrently over this many slots. Returns how many records were
/// read, and how many were counted as lost.
fn side_by_side(slots: usize) -> (u64, u64) {
    let (header, slots) = ring(slots);
    let mut seen: HashMap<u32, u64> = HashMap::new();
    let mut read = 0;
    thread::scope(|scope| {
        let write = |thread: u32| {
            for time_ns in 1..=EACH {
                push(&header, &slots, &Record { time_ns, thread, ..Record::default() });
            }
        };
        let writers: Vec<_> = (0..WRITERS).map(|thread| scope.spawn(move || write(thread))).collect();
        loop {
            let is_over = writers.iter().all(|writer| writer.is_finished());
            let portion = drain(&header, &slots, |record| {
                let before = seen.insert(record.thread, record.time_ns).unwrap_or(0);
                assert!(record.time_ns > before, "a thread's records are in order");
            });
            read += portion.records as u64;
            if is_over {
                break;
            }
            thread::yield_now();
        }
    });
    (read, header.lost.load(Relaxed))
}

const WRITERS: u32 = 3;
const EACH: u64 = 20_000;
const ALL: u64 = WRITERS as u64 * EACH;

#[test]
fn writers_side_by_side_lose_nothing_uncounted() {
    let (read, lost) = side_by_side(64);
    assert_eq!(read + lost, ALL);
    assert!(read >= 64, "a ring is full only when its slots are in use");
}

#[test]
fn a_ring_that_cannot_fill_loses_nothing() {
    assert_eq!(side_by_side(ALL.next_power_of_two() as usize), (ALL, 0));
}

#[test]
fn a_head_that_the_recorder_has_passed_is_loaded_again() {
    let (header, slots) = ring(4);
    let loaded = header.head.0.load(Relaxed);
    for time in 0..3 {
        push(&header, &slots, &record(time));
    }
    assert_eq!(all(&header, &slots).len(), 3);
    assert_eq!(reserve(&header, 4, loaded), Some(3));
    // Three more positions are free, and a writer that loaded an old head still finds them.
    assert_eq!([loaded; 4].map(|old| reserve(&header, 4, old)), [Some(4), Some(5), Some(6), None]);
}

#[test]
fn a_writer_that_died_in_the_middle_costs_its_own_record() {
    let (header, slots) = ring(8);
    push(&header, &slots, &record(0));
    // Stands for a writer that reserved a position and was killed.
    header.head.0.fetch_add(1, Relaxed);
    push(&header, &slots, &record(2));
    assert_eq!(all(&header, &slots), [record(0)], "the recorder waits for the writer");
    assert_eq!(drain(&header, &slots, |_| ()), Portion { records: 0, is_whole: false });
    assert!(skip(&header));
    assert_eq!(all(&header, &slots), [record(2)]);
    assert_eq!(drain(&header, &slots, |_| ()), Portion { records: 0, is_whole: true });
    assert!(!skip(&header));
}

#[test]
fn a_head_that_makes_no_sense_is_survived() {
    let (header, slots) = ring(8);
    header.head.0.store(u64::MAX, Relaxed);
    assert_eq!(all(&header, &slots), []);
    assert!(!skip(&header));
}

#[cfg(recordable)]
#[test]
fn the_library_is_a_shared_object() {
    assert_eq!(&super::LIBRARY[..4], b"\x7fELF");
    assert_eq!(super::LIBRARY[16], 3, "ET_DYN");
}
