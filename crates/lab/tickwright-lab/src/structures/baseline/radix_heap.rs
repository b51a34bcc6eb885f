//! `radix-heap`: a monotone heap, whose new entries must not be earlier than the last entry that
//! was read or removed. After a program has read an entry without removing it, the program can arm
//! a timer for a tick that is earlier than the entry's tick. Such a timer waits in a binary heap.

use core::cmp::Reverse;
use std::collections::BinaryHeap;

use ::radix_heap::RadixHeapMap;

use super::by_deadline::Bag;

/// The radix heap, whose earliest entry is the greatest, and a binary heap of the entries that are
/// earlier than the radix heap's top.
#[derive(Debug, Default)]
pub(crate) struct RadixHeap {
    heap: RadixHeapMap<Reverse<u64>, u32>,
    earlier: BinaryHeap<Reverse<(u64, u32)>>,
}

impl Bag for RadixHeap {
    const HORIZON: u64 = 1 << 63;
    const IDS: usize = usize::MAX;

    #[inline]
    fn push(&mut self, deadline: u64, id: u32) {
        match self.heap.top() {
            Some(Reverse(top)) if deadline < top => self.earlier.push(Reverse((deadline, id))),
            _ => self.heap.push(Reverse(deadline), id),
        }
    }

    #[inline]
    fn pop(&mut self) -> Option<(u64, u32)> {
        if let Some(Reverse(entry)) = self.earlier.pop() {
            return Some(entry);
        }
        let (Reverse(deadline), id) = self.heap.pop()?;
        Some((deadline, id))
    }

    #[inline]
    fn len(&self) -> usize {
        self.heap.len() + self.earlier.len()
    }

    fn clear(&mut self) {
        self.heap.clear();
        self.earlier.clear();
    }
}
