//! Tests that the sample recordings are complete, and that the events of each timer are consistent.

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::path::Path;

use tickwright_trace::{Reader, What};

/// Counts the events of each source, by kind. Checks each event against the state of its timer.
fn counts(name: &str) -> BTreeMap<(String, &'static str), u64> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("samples").join(name);
    let mut reader = Reader::new(File::open(path).unwrap()).unwrap();
    let mut events = Vec::new();
    while let Some(block) = reader.next_block().unwrap() {
        events.extend(block.to_vec());
    }
    assert!(reader.is_complete() && reader.lost().is_empty());
    let header = reader.header();
    assert_eq!((header.source.as_str(), header.clock.as_str()), ("record", "CLOCK_MONOTONIC"));
    assert!(!header.unseen.is_empty());
    let (mut counts, mut pending) = (BTreeMap::new(), HashSet::new());
    for event in events {
        match event.what {
            What::Arm { .. } => assert!(pending.insert(event.timer), "{event:?}"),
            What::Rearm { .. } => assert!(pending.contains(&event.timer), "{event:?}"),
            What::Cancel | What::Fire => assert!(pending.remove(&event.timer), "{event:?}"),
        }
        let base = header.bases[usize::from(event.base)].name.clone();
        *counts.entry((base, event.what.name())).or_default() += 1;
    }
    counts
}

fn of(counts: &BTreeMap<(String, &'static str), u64>, source: &str, what: &'static str) -> u64 {
    counts.get(&(source.to_owned(), what)).copied().unwrap_or(0)
}

#[test]
fn bind9_cancels_every_time_out_of_a_query() {
    let counts = counts("bind9.twt");
    assert_eq!(of(&counts, "libuv", "arm"), 3343);
    assert_eq!(of(&counts, "libuv", "cancel"), 3343);
    assert_eq!(of(&counts, "epoll", "arm"), of(&counts, "epoll", "cancel"));
}

#[test]
fn unbound_cancels_and_fires() {
    let counts = counts("unbound.twt");
    assert_eq!(["arm", "cancel", "fire"].map(|what| of(&counts, "libevent", what)), [5303, 2592, 2711]);
}
