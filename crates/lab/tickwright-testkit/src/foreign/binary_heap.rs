//! `std::collections::BinaryHeap` with lazy deletion: what a programmer writes with only the
//! standard library.
//!
//! The entry of a removed or moved timer stays in the heap. An entry is live while its stamp equals
//! the stamp of its slot. A dead entry is dropped when it comes to the top. All dead entries are
//! dropped when they outnumber the live entries.

use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use crate::subject::{Fired, Full, Make, Offers, Stale, Subject};

/// Creates `LazyHeap` queues.
#[derive(Debug)]
pub struct BinaryHeapLazy;

/// An entry of the heap. Entries are ordered by expiry, then by stamp, the earliest on top.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    expiry: u64,
    stamp: u64,
    index: u32,
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> core::cmp::Ordering {
        (other.expiry, other.stamp).cmp(&(self.expiry, self.stamp))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// A slot, which is free while its stamp is [`FREE`].
#[derive(Clone, Copy, Debug)]
struct Slot {
    stamp: u64,
    generation: u32,
    value: u32,
}

const FREE: u64 = u64::MAX;

/// Up to this number of dead entries stay without a sweep, even if few entries are live.
const SLACK: usize = 64;

/// The key of a timer.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    index: u32,
    generation: u32,
}

/// The queue. The top of the heap is always live.
#[derive(Debug)]
pub struct LazyHeap {
    heap: BinaryHeap<Entry>,
    slots: Vec<Slot>,
    free: Vec<u32>,
    stamps: u64,
    live: usize,
    now: u64,
}

impl Make for BinaryHeapLazy {
    type Arena = ();
    type Subject<'a> = LazyHeap;

    fn name() -> String {
        "std BinaryHeap, lazy".into()
    }

    const OFFERS: Offers = Offers { check: false, bound: false, idle: false, ..Offers::ALL };
    const EXACT: bool = true;

    fn arena(_: usize) {}

    fn make((): &(), capacity: usize) -> LazyHeap {
        LazyHeap {
            heap: BinaryHeap::with_capacity(2 * capacity + SLACK + 2),
            slots: Vec::with_capacity(capacity),
            free: Vec::with_capacity(capacity),
            stamps: 0,
            live: 0,
            now: 0,
        }
    }
}

impl LazyHeap {
    fn is_live(slots: &[Slot], entry: &Entry) -> bool {
        slots[entry.index as usize].stamp == entry.stamp
    }

    fn stamp(&mut self) -> u64 {
        self.stamps += 1;
        self.stamps
    }

    /// Restores a live top after an entry has died, and bounds the number of dead entries.
    fn tidy(&mut self) {
        while let Some(top) = self.heap.peek() {
            if Self::is_live(&self.slots, top) {
                break;
            }
            self.heap.pop();
        }
        if self.heap.len() > 2 * self.live + SLACK {
            let slots = &self.slots;
            self.heap.retain(|entry| Self::is_live(slots, entry));
        }
    }

    fn slot(&self, key: Key) -> Result<Slot, Stale> {
        let slot = self.slots[key.index as usize];
        if slot.stamp != FREE && slot.generation == key.generation { Ok(slot) } else { Err(Stale) }
    }

    fn vacate(&mut self, index: u32) -> u32 {
        let slot = &mut self.slots[index as usize];
        slot.stamp = FREE;
        self.live -= 1;
        // A slot whose generations are used up is not used again.
        if slot.generation < u32::MAX {
            self.free.push(index);
        }
        slot.value
    }

    /// Returns whether `stamp` is the stamp of the head.
    fn heads(&self, stamp: u64) -> bool {
        self.heap.peek().is_some_and(|top| top.stamp == stamp)
    }

    fn fired(&self, entry: &Entry) -> Fired {
        Fired::new(self.slots[entry.index as usize].value, entry.expiry)
    }
}

impl Subject for LazyHeap {
    type Key = Key;

    fn now(&self) -> u64 {
        self.now
    }

    fn len(&self) -> usize {
        self.live
    }

    fn insert(&mut self, deadline: u64, value: u32) -> Result<(Key, bool), Full> {
        let stamp = self.stamp();
        let (index, generation) = if let Some(index) = self.free.pop() {
            let slot = &mut self.slots[index as usize];
            *slot = Slot { stamp, generation: slot.generation + 1, value };
            (index, slot.generation)
        } else {
            let index = u32::try_from(self.slots.len()).map_err(|_| Full(value))?;
            self.slots.push(Slot { stamp, generation: 1, value });
            (index, 1)
        };
        self.live += 1;
        self.heap.push(Entry { expiry: deadline.max(self.now), stamp, index });
        Ok((Key { index, generation }, self.heads(stamp)))
    }

    fn remove(&mut self, key: Key) -> Result<(u32, bool), Stale> {
        let slot = self.slot(key)?;
        let head = self.heads(slot.stamp);
        self.vacate(key.index);
        self.tidy();
        Ok((slot.value, head))
    }

    fn reschedule(&mut self, key: Key, deadline: u64) -> Result<bool, Stale> {
        let headed = self.heads(self.slot(key)?.stamp);
        let stamp = self.stamp();
        self.slots[key.index as usize].stamp = stamp;
        self.heap.push(Entry { expiry: deadline.max(self.now), stamp, index: key.index });
        self.tidy();
        Ok(headed || self.heads(stamp))
    }

    fn tell(&mut self, now: u64) {
        self.now = self.now.max(now);
    }

    fn pop_expired(&mut self, now: u64) -> Option<Fired> {
        self.now = self.now.max(now);
        let top = self.heap.peek_mut().filter(|top| top.expiry <= self.now)?;
        let Entry { expiry, index, .. } = PeekMut::pop(top);
        let value = self.vacate(index);
        self.tidy();
        Some(Fired::new(value, expiry))
    }

    fn rearm_expired(&mut self, now: u64, rearm: &mut dyn FnMut(u64) -> u64) -> Option<Fired> {
        self.now = self.now.max(now);
        let Entry { expiry, index, .. } = *self.heap.peek().filter(|top| top.expiry <= self.now)?;
        let next = rearm(expiry).max(self.now);
        let stamp = self.stamp();
        let slot = &mut self.slots[index as usize];
        slot.stamp = stamp;
        let value = slot.value;
        *self.heap.peek_mut()? = Entry { expiry: next, stamp, index };
        self.tidy();
        Some(Fired::new(value, expiry))
    }

    fn peek(&mut self) -> Option<Fired> {
        self.heap.peek().map(|top| self.fired(top))
    }

    /// The heap shows only its top, so this function pops the head and pushes it again. Cost: O(log
    /// n).
    fn second(&mut self) -> Option<Fired> {
        let head = self.heap.pop()?;
        self.tidy();
        let second = self.peek();
        self.heap.push(head);
        second
    }

    fn next_expiry(&mut self) -> Option<u64> {
        self.heap.peek().map(|top| top.expiry)
    }

    fn next_wake(&mut self) -> Option<u64> {
        self.next_expiry()
    }

    fn clear(&mut self) {
        while let Some(Entry { index, stamp, .. }) = self.heap.pop() {
            if self.slots[index as usize].stamp == stamp {
                self.vacate(index);
            }
        }
    }
}
