//! `orx-priority-queue`: a 4-ary heap with a position per id. Equal deadlines leave in any order.
//! An id also serves as the handle, which never goes stale.

use orx_priority_queue::{DaryHeapOfIndices, PriorityQueue, PriorityQueueDecKey};

use crate::structures::candidate::{BenchQueue, Candidate, Timed};

/// The heap of the crate, without additional data.
#[derive(Debug)]
pub(crate) struct Orx(DaryHeapOfIndices<u32, u64, 4>);

impl Candidate for Orx {
    type Arena = ();
    type Queue<'a> = Self;

    const HINTS: bool = false;

    fn arena(_capacity: usize) {}

    fn queue((): &(), capacity: usize) -> Self {
        Self(DaryHeapOfIndices::with_index_bound(capacity))
    }
}

impl Timed for Orx {}

impl BenchQueue for Orx {
    #[inline]
    fn insert(&mut self, id: u32, deadline: u64) {
        self.0.push(id, deadline);
    }

    #[inline]
    fn remove(&mut self, id: u32) {
        self.0.remove(&id);
    }

    #[inline]
    fn reschedule(&mut self, id: u32, deadline: u64) {
        self.0.update_key(&id, deadline);
    }

    #[inline]
    fn head(&mut self) -> Option<u64> {
        self.0.peek().map(|(_, deadline)| *deadline)
    }

    #[inline]
    fn second(&mut self) -> Option<u64> {
        let all = self.0.as_slice();
        all.get(1..all.len().min(5))?.iter().map(|(_, deadline)| *deadline).min()
    }

    #[inline]
    fn pop_expired(&mut self, now: u64) -> Option<(u32, u64)> {
        self.0.peek().filter(|(_, deadline)| *deadline <= now)?;
        self.0.pop()
    }

    #[inline]
    fn pop(&mut self) -> Option<(u32, u64)> {
        self.0.pop()
    }

    #[inline]
    fn pop_and_reinsert(&mut self, delay: u64) -> Option<(u32, u64)> {
        let &(id, deadline) = self.0.peek()?;
        self.0.update_key(&id, deadline.saturating_add(delay));
        Some((id, deadline))
    }
}
