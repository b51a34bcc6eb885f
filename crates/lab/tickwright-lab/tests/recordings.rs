//! Tests that the sample recordings are complete, and that the events of each timer are consistent.

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::path::Path;

use tickwright_trace::{Reader, What};

/// The number of events of each source by kind. "peak" is the largest number of the source's timers
/// that were pending at once.
type Counts = BTreeMap<(String, &'static str), u64>;

/// Counts the events, and checks each against the state of its timer.
fn counts(name: &str) -> Counts {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("samples").join(name);
    let mut reader = Reader::new(File::open(path).unwrap()).unwrap();
    let events = reader.read_to_end().unwrap();
    assert!(reader.is_complete() && reader.lost().is_empty());
    let header = reader.header();
    assert_eq!((header.source.as_str(), header.clock.as_str()), ("record", "CLOCK_MONOTONIC"));
    assert!(!header.unseen.is_empty());
    let (mut counts, mut all) = (Counts::new(), BTreeMap::<_, HashSet<_>>::new());
    for event in events {
        let pending = all.entry(event.base).or_default();
        match event.what {
            What::Arm { .. } => assert!(pending.insert(event.timer), "{event:?}"),
            What::Rearm { .. } => assert!(pending.contains(&event.timer), "{event:?}"),
            What::Cancel | What::Fire => assert!(pending.remove(&event.timer), "{event:?}"),
        }
        let base = &header.bases[usize::from(event.base)].name;
        *counts.entry((base.clone(), event.what.name())).or_default() += 1;
        let peak = counts.entry((base.clone(), "peak")).or_default();
        *peak = (*peak).max(pending.len() as u64);
    }
    counts
}

fn of(counts: &Counts, source: &str, what: &'static str) -> u64 {
    counts.get(&(source.to_owned(), what)).copied().unwrap_or(0)
}

#[test]
fn bind9_cancels_every_time_out_of_a_query() {
    let counts = counts("bind9.twt");
    let all = ["arm", "rearm", "cancel", "peak"].map(|what| of(&counts, "libuv", what));
    assert_eq!(all, [3343, 0, 3343, 165]);
    assert_eq!(of(&counts, "epoll", "arm"), of(&counts, "epoll", "cancel"));
}

#[test]
fn unbound_cancels_and_fires() {
    let counts = counts("unbound.twt");
    let all = ["arm", "rearm", "cancel", "fire", "peak"].map(|what| of(&counts, "libevent", what));
    assert_eq!(all, [5303, 0, 2592, 2711, 128]);
}
