//! The queue through which other threads pass the records of ready threads to a worker. Many
//! threads push records. Only the worker takes them, and it always takes all records at once.
//!
//! # Invariants
//! 1. A record is in at most one list, so only the thread that pushes it uses its field `next`. Two
//!    threads must not push the same record at the same time.
//! 2. Everything that was written before a push is visible after the take that finds the record.
//! 3. Records leave in the order in which they were pushed.

use crate::primitive::{AtomicU32, Ordering};
use crate::record::NONE;

#[cfg(all(test, loom))]
mod models;

pub(crate) struct RemoteQueue(AtomicU32);

/// Finds the field in which a record stores the number of the next record.
pub(crate) trait Links {
    fn link(&self, number: u32) -> Option<&AtomicU32>;
}

impl RemoteQueue {
    pub(crate) fn new() -> Self {
        Self(AtomicU32::new(NONE))
    }

    /// Pushes a record.
    pub(crate) fn push(&self, links: &impl Links, number: u32) {
        let Some(link) = links.link(number) else { return };
        let mut head = self.0.load(Ordering::Relaxed);
        loop {
            link.store(head, Ordering::Relaxed);
            match self.0.compare_exchange_weak(head, number, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.load(Ordering::Relaxed) == NONE
    }

    /// Takes all records, in the order in which they were pushed.
    pub(crate) fn take_all(&self, links: &impl Links, mut each: impl FnMut(u32)) {
        let mut at = self.0.swap(NONE, Ordering::Acquire);
        let mut earliest = NONE;
        while let Some(link) = links.link(at) {
            let next = link.load(Ordering::Relaxed);
            link.store(earliest, Ordering::Relaxed);
            earliest = core::mem::replace(&mut at, next);
        }
        while let Some(link) = links.link(earliest) {
            let next = link.load(Ordering::Relaxed);
            each(core::mem::replace(&mut earliest, next));
        }
    }
}
