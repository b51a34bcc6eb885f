//! `quickheap`'s SimdQuickHeap with lazy deletion. The crate needs AVX2 or AVX-512 at compile time
//! (`RUSTFLAGS='-C target-cpu=x86-64-v3'`).
//!
//! An entry is a deadline and an id in one `u64`. An entry is dead if its id has another deadline
//! by now. A dead entry is dropped when it comes to the front. The heap cannot remove an entry from
//! its middle. Equals have no order, and there are no keys that could go stale.

use quickheap::SimdQuickHeap;

use crate::structures::candidate::{BenchQueue, Candidate, Dead};

/// The number of bits of an id. The other bits are the deadline.
const ID: u32 = 20;
/// Stands for the deadline of an id that is not pending.
const NONE: u64 = u64::MAX;

/// The candidate.
#[derive(Debug)]
pub(crate) struct QuickHeap;

/// The heap, the entry that leaves first, and the deadline of each id.
pub(crate) struct Queue {
    heap: SimdQuickHeap<u64>,
    front: Option<u64>,
    deadlines: Vec<u64>,
}

impl Candidate for QuickHeap {
    type Arena = ();
    type Queue<'a> = Queue;

    const BYTES_PER_TIMER: usize = 16;
    const HORIZON: u64 = 1 << (64 - ID - 1);

    fn arena(_capacity: usize) {}

    fn queue((): &(), capacity: usize) -> Queue {
        Queue { heap: SimdQuickHeap::default(), front: None, deadlines: vec![NONE; capacity] }
    }

    fn holds(capacity: usize) -> bool {
        capacity <= 1 << ID
    }
}

impl Queue {
    /// Drops dead entries until the front is a live entry.
    #[inline]
    fn tidy(&mut self) {
        loop {
            if self.front.is_none() {
                self.front = self.heap.pop();
            }
            match self.front {
                Some(entry) if self.deadlines[(entry & ((1 << ID) - 1)) as usize] != entry >> ID => {
                    self.front = None;
                }
                _ => return,
            }
        }
    }
}

impl BenchQueue for Queue {
    const DEAD: Dead = Dead::Stay;

    fn dead_entries(&self) -> Option<usize> {
        let pending = self.deadlines.iter().filter(|deadline| **deadline != NONE).count();
        Some(self.heap.len() + usize::from(self.front.is_some()) - pending)
    }

    #[inline]
    fn insert(&mut self, id: u32, deadline: u64) {
        self.deadlines[id as usize] = deadline;
        let entry = deadline << ID | u64::from(id);
        match self.front {
            Some(front) if entry < front => {
                self.front = Some(entry);
                self.heap.push(front);
            }
            _ => self.heap.push(entry),
        }
    }

    #[inline]
    fn remove(&mut self, id: u32) {
        self.deadlines[id as usize] = NONE;
    }

    #[inline]
    fn reschedule(&mut self, id: u32, deadline: u64) {
        // If the deadline is the same, the entry in the heap stays valid.
        if self.deadlines[id as usize] != deadline {
            self.insert(id, deadline);
        }
    }

    #[inline]
    fn head(&mut self) -> Option<u64> {
        self.tidy();
        self.front.map(|entry| entry >> ID)
    }

    fn second(&mut self) -> Option<u64> {
        let head = self.pop()?;
        let second = self.head();
        self.insert(head.0, head.1);
        second
    }

    #[inline]
    fn pop_expired(&mut self, now: u64) -> Option<(u32, u64)> {
        self.head().filter(|&deadline| deadline <= now)?;
        self.pop()
    }

    #[inline]
    fn pop(&mut self) -> Option<(u32, u64)> {
        self.tidy();
        let entry = self.front.take()?;
        let id = (entry & ((1 << ID) - 1)) as u32;
        self.deadlines[id as usize] = NONE;
        Some((id, entry >> ID))
    }
}
