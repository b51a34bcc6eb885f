//! The delta list: each time-out stores the number of ticks between the previous time-out and
//! itself. An insert walks from the head and subtracts. An abort adds the difference to the next
//! time-out.

use super::backend::BackEnd;
use super::links::{Node, Rings};

#[derive(Debug)]
pub(super) struct DeltaList {
    rings: Rings,
    /// The head of the ring.
    head: usize,
    now: u64,
}

impl DeltaList {
    pub(super) const BYTES: usize = size_of::<Node>();

    pub(super) fn new(n: usize) -> Self {
        Self { rings: Rings::new(n, 1), head: n, now: 0 }
    }
}

impl BackEnd for DeltaList {
    #[inline]
    fn insert(&mut self, id: u32, ticks: u64) {
        let mut left = ticks;
        let mut at = self.rings.next(self.head);
        // The walk passes time-outs of the same tick, so that time-outs of equal ticks fire in the
        // order of insertion.
        while at != self.head {
            let node = self.rings.node(at);
            if node.ticks > left {
                node.ticks -= left;
                break;
            }
            left -= node.ticks;
            at = self.rings.next(at);
        }
        self.rings.node(id as usize).ticks = left;
        self.rings.link_before(at, id as usize);
    }

    #[inline]
    fn abort(&mut self, id: u32) {
        let next = self.rings.next(id as usize);
        if next != self.head {
            let ticks = self.rings.node(id as usize).ticks;
            self.rings.node(next).ticks += ticks;
        }
        self.rings.unlink(id as usize);
    }

    #[inline]
    fn announce(&mut self, ticks: u64, mut fire: impl FnMut(u32, u64)) {
        let mut left = ticks;
        loop {
            let first = self.rings.next(self.head);
            if first == self.head {
                break;
            }
            let node = self.rings.node(first);
            if node.ticks > left {
                node.ticks -= left;
                break;
            }
            left -= node.ticks;
            self.now += node.ticks;
            let callback = node.callback;
            self.rings.unlink(first);
            fire(callback as u32, self.now);
        }
        self.now += left;
    }
}
