//! Heaps without handles, with lazy deletion: std `BinaryHeap`, and a 4-ary `dary_heap`.
//!
//! The entry of a removed timer stays in the heap and is dropped when it reaches the top. When dead
//! entries outnumber live entries, a sweep removes all dead entries. Timers of equal deadline are
//! FIFO until the arrival number wraps around after 2^32 arrivals. There are no keys, so no key can
//! go stale.

use core::fmt::Debug;
use std::collections::BinaryHeap;

#[cfg(feature = "rivals")]
use dary_heap::QuaternaryHeap;
use tickwright_nodes::hint::prefetch;

use crate::structures::candidate::{BenchQueue, Candidate, Dead, Timed};

/// An entry of 16 bytes. The earliest deadline is the greatest, because both heaps are max-heaps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    deadline: u64,
    arrival: u32,
    id: u32,
}

impl Ord for Entry {
    #[inline]
    fn cmp(&self, other: &Self) -> core::cmp::Ordering {
        (other.deadline, other.arrival).cmp(&(self.deadline, self.arrival))
    }
}

impl PartialOrd for Entry {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// A max-heap of entries.
pub(crate) trait Heap: Debug + 'static {
    fn with_capacity(capacity: usize) -> Self;
    fn push(&mut self, entry: Entry);
    fn peek(&self) -> Option<&Entry>;
    fn pop(&mut self) -> Option<Entry>;
    /// Changes the top in place. Does nothing on an empty heap.
    fn change_top(&mut self, change: impl FnOnce(&mut Entry));
    fn len(&self) -> usize;
    fn retain(&mut self, keep: impl FnMut(&Entry) -> bool);
    fn children_of_top(&self) -> &[Entry];
}

macro_rules! heap {
    ($type:ty, $arity:literal) => {
        impl Heap for $type {
            fn with_capacity(capacity: usize) -> Self {
                <$type>::with_capacity(capacity)
            }
            #[inline]
            fn push(&mut self, entry: Entry) {
                <$type>::push(self, entry);
            }
            #[inline]
            fn peek(&self) -> Option<&Entry> {
                <$type>::peek(self)
            }
            #[inline]
            fn pop(&mut self) -> Option<Entry> {
                <$type>::pop(self)
            }
            #[inline]
            fn change_top(&mut self, change: impl FnOnce(&mut Entry)) {
                if let Some(mut top) = <$type>::peek_mut(self) {
                    change(&mut top);
                }
            }
            #[inline]
            fn len(&self) -> usize {
                <$type>::len(self)
            }
            fn retain(&mut self, keep: impl FnMut(&Entry) -> bool) {
                <$type>::retain(self, keep);
            }
            fn children_of_top(&self) -> &[Entry] {
                let all = <$type>::as_slice(self);
                all.get(1..all.len().min($arity + 1)).unwrap_or_default()
            }
        }
    };
}

heap!(BinaryHeap<Entry>, 2);
#[cfg(feature = "rivals")]
heap!(QuaternaryHeap<Entry>, 4);

/// The heap, and the arrival number of each id's live entry. The top of the heap is always live.
#[derive(Debug)]
pub(crate) struct Lazy<H> {
    heap: H,
    alive: Vec<u32>,
    arrivals: u32,
    dead: usize,
}

/// Up to this number of dead entries stay without a sweep, even if few entries are live.
const SLACK: usize = 64;
/// Stands for the arrival number of an id without a live entry; no arrival has this number.
const NONE: u32 = 0;

impl<H: Heap> Candidate for Lazy<H> {
    type Arena = ();
    type Queue<'a> = Self;

    fn arena(_capacity: usize) {}

    fn queue((): &(), capacity: usize) -> Self {
        Self { heap: H::with_capacity(capacity), alive: vec![NONE; capacity], arrivals: NONE, dead: 0 }
    }
}

impl<H: Heap> Lazy<H> {
    #[inline]
    fn next_arrival(&mut self) -> u32 {
        self.arrivals = self.arrivals.checked_add(1).unwrap_or(NONE + 1);
        self.arrivals
    }

    #[inline]
    fn tidy(&mut self) {
        while self.dead > 0 && self.heap.peek().is_some_and(|top| self.alive[top.id as usize] != top.arrival)
        {
            self.heap.pop();
            self.dead -= 1;
        }
        if self.dead > SLACK && self.dead > self.heap.len() / 2 {
            let alive = &self.alive;
            self.heap.retain(|entry| alive[entry.id as usize] == entry.arrival);
            self.dead = 0;
        }
    }
}

impl<H: Heap> Timed for Lazy<H> {}

impl<H: Heap> BenchQueue for Lazy<H> {
    fn dead(&self) -> Dead {
        Dead::AreSwept
    }

    fn dead_entries(&self) -> Option<usize> {
        Some(self.dead)
    }

    #[inline]
    fn insert(&mut self, id: u32, deadline: u64) {
        let arrival = self.next_arrival();
        self.alive[id as usize] = arrival;
        self.heap.push(Entry { deadline, arrival, id });
    }

    #[inline]
    fn remove(&mut self, id: u32) {
        self.alive[id as usize] = NONE;
        self.dead += 1;
        self.tidy();
    }

    #[inline]
    fn reschedule(&mut self, id: u32, deadline: u64) {
        self.dead += 1;
        self.insert(id, deadline);
        self.tidy();
    }

    #[inline]
    fn hint(&self, _far: u32, near: u32) {
        prefetch(&raw const self.alive[near as usize]);
    }

    #[inline]
    fn head(&mut self) -> Option<u64> {
        self.heap.peek().map(|top| top.deadline)
    }

    /// If no entry is dead, reads the best child of the top. Otherwise pops the head and pushes it
    /// again.
    #[inline]
    fn second(&mut self) -> Option<u64> {
        if self.dead == 0 {
            return self.heap.children_of_top().iter().max().map(|entry| entry.deadline);
        }
        let head = self.heap.pop()?;
        self.tidy();
        let second = self.head();
        self.heap.push(head);
        second
    }

    #[inline]
    fn pop_expired(&mut self, now: u64) -> Option<(u32, u64)> {
        self.heap.peek().filter(|top| top.deadline <= now)?;
        self.pop()
    }

    #[inline]
    fn pop(&mut self) -> Option<(u32, u64)> {
        let Entry { deadline, id, .. } = self.heap.pop()?;
        self.alive[id as usize] = NONE;
        self.tidy();
        Some((id, deadline))
    }

    #[inline]
    fn pop_and_reinsert(&mut self, delay: u64) -> Option<(u32, u64)> {
        let Entry { id, deadline, .. } = *self.heap.peek()?;
        let arrival = self.next_arrival();
        self.alive[id as usize] = arrival;
        self.heap.change_top(|top| *top = Entry { deadline: deadline.saturating_add(delay), arrival, id });
        self.tidy();
        Some((id, deadline))
    }
}
