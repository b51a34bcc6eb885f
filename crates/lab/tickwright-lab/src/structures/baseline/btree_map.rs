//! The standard library's `BTreeMap` keyed by (deadline, arrival). The adapter is FIFO, removes a
//! timer by its key, and sometimes allocates a node.

use std::collections::BTreeMap;
use tickwright_nodes::hint::prefetch;

use crate::structures::candidate::{BenchQueue, Candidate, Timed};

/// The map, and the key of each id.
#[derive(Debug)]
pub(crate) struct StdBTreeMap {
    map: BTreeMap<(u64, u64), u32>,
    keys: Vec<(u64, u64)>,
    arrivals: u64,
}

impl Candidate for StdBTreeMap {
    type Arena = ();
    type Queue<'a> = Self;

    const INLINE: usize = size_of::<BTreeMap<(u64, u64), u32>>();

    fn arena(_capacity: usize) {}

    fn queue((): &(), capacity: usize) -> Self {
        Self { map: BTreeMap::new(), keys: vec![(0, 0); capacity], arrivals: 0 }
    }
}

impl Timed for StdBTreeMap {}

impl BenchQueue for StdBTreeMap {
    #[inline]
    fn insert(&mut self, id: u32, deadline: u64) {
        let key = (deadline, self.arrivals);
        self.arrivals += 1;
        self.keys[id as usize] = key;
        self.map.insert(key, id);
    }

    #[inline]
    fn remove(&mut self, id: u32) {
        self.map.remove(&self.keys[id as usize]);
    }

    #[inline]
    fn hint(&self, _far: u32, near: u32) {
        prefetch(&raw const self.keys[near as usize]);
    }

    #[inline]
    fn head(&mut self) -> Option<u64> {
        self.map.first_key_value().map(|(&(deadline, _), _)| deadline)
    }

    #[inline]
    fn second(&mut self) -> Option<u64> {
        self.map.keys().nth(1).map(|&(deadline, _)| deadline)
    }

    #[inline]
    fn pop_expired(&mut self, now: u64) -> Option<(u32, u64)> {
        let entry = self.map.first_entry().filter(|entry| entry.key().0 <= now)?;
        let ((deadline, _), id) = entry.remove_entry();
        Some((id, deadline))
    }

    #[inline]
    fn pop(&mut self) -> Option<(u32, u64)> {
        let ((deadline, _), id) = self.map.pop_first()?;
        Some((id, deadline))
    }

    fn callers_bytes(&self) -> usize {
        self.keys.capacity() * size_of::<(u64, u64)>()
    }
}
