//! Other crates' heaps under the contract of our queues: keys that go stale because they have
//! generations, first in first out among timers of equal deadline, every 64-bit tick, and a number
//! of dead entries that is bounded by the number of live entries.
//!
//! ```text
//!   slots   [ generation, arrival, tick, id ]      a key is a slot and its generation
//!   heap    (tick, arrival) -> slot                dead if the slot has another arrival by now
//! ```
//! A heap without these promises does less work than our queues. These rows show what the promises
//! would cost such a heap.

use core::fmt::Debug;

use tickwright_nodes::hint::prefetch;

use crate::structures::candidate::{BenchQueue, Candidate, Dead, Timed};

/// A heap of slots that is ordered by tick and arrival.
pub(crate) trait Arrivals: Debug + Default + 'static {
    /// The number of arrivals after which all entries are numbered again.
    const ARRIVALS: u32;

    /// Adds an entry. Returns `false` if the heap must first be [filled](Self::fill) again, because
    /// this tick is too far from the other ticks.
    #[must_use]
    fn push(&mut self, entry: Entry) -> bool;
    /// Takes the earliest entry: its tick, arrival and slot.
    fn pop(&mut self) -> Option<Entry>;
    /// The number of entries.
    fn len(&self) -> usize;
    /// Replaces all entries with the given entries, which are sorted.
    fn fill(&mut self, entries: Vec<Entry>);
}

/// An entry. The order of its fields is the order in which entries leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry {
    /// The deadline.
    pub(crate) tick: u64,
    /// The number of the arrival, from 1.
    pub(crate) arrival: u32,
    /// The slot of the timer.
    pub(crate) slot: u32,
}

/// The key of a timer.
#[derive(Debug, Clone, Copy)]
struct Key {
    slot: u32,
    generation: u32,
}

/// A timer, or a free slot.
#[derive(Debug, Clone, Copy)]
struct Slot {
    generation: u32,
    /// The arrival of the live entry; 0 in a free slot.
    arrival: u32,
    tick: u64,
    id: u32,
}

/// The heap, its slots, and the key of each id, which stands for a field of the caller's object.
#[derive(Debug)]
pub(crate) struct EqualContract<H> {
    heap: H,
    front: Option<Entry>,
    slots: Vec<Slot>,
    free: Vec<u32>,
    arrivals: u32,
    keys: Vec<Key>,
}

/// Up to this number of dead entries stay without a sweep, even if few entries are live.
const SLACK: usize = 64;
/// A generation that no timer has.
const STALE: u32 = 0;

impl<H: Arrivals> Candidate for EqualContract<H> {
    type Arena = ();
    type Queue<'a> = Self;

    const BYTES_PER_TIMER: usize = size_of::<Slot>() + 16;

    fn arena(_capacity: usize) {}

    fn queue((): &(), capacity: usize) -> Self {
        Self {
            heap: H::default(),
            front: None,
            slots: Vec::with_capacity(capacity),
            free: Vec::new(),
            arrivals: 0,
            keys: vec![Key { slot: 0, generation: STALE }; capacity],
        }
    }
}

impl<H: Arrivals> EqualContract<H> {
    fn live(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    fn entries(&self) -> usize {
        self.heap.len() + usize::from(self.front.is_some())
    }

    #[inline]
    fn find(&self, id: u32) -> Option<u32> {
        let Key { slot, generation } = self.keys[id as usize];
        self.slots.get(slot as usize).is_some_and(|slot| slot.generation == generation).then_some(slot)
    }

    /// Gives a slot the next arrival number, and adds its entry.
    #[inline]
    fn arrive(&mut self, slot: u32, tick: u64) {
        if self.arrivals == H::ARRIVALS {
            self.refill();
        }
        self.arrivals += 1;
        let entry = Entry { tick, arrival: self.arrivals, slot };
        let timer = &mut self.slots[slot as usize];
        (timer.arrival, timer.tick) = (entry.arrival, tick);
        let enters = match self.front {
            Some(front) if entry < front => {
                self.front = Some(entry);
                front
            }
            _ => entry,
        };
        if !self.heap.push(enters) {
            self.refill();
        }
    }

    /// Drops all dead entries, and renumbers the live entries.
    #[inline(never)]
    fn refill(&mut self) {
        self.front = None;
        let live = (0u32..).zip(&self.slots).filter(|(_, slot)| slot.arrival != 0);
        let mut entries: Vec<_> =
            live.map(|(at, slot)| Entry { tick: slot.tick, arrival: slot.arrival, slot: at }).collect();
        // Among entries of equal tick, the old arrival numbers decide.
        entries.sort_unstable();
        self.arrivals = 0;
        for entry in &mut entries {
            self.arrivals += 1;
            entry.arrival = self.arrivals;
            self.slots[entry.slot as usize].arrival = self.arrivals;
        }
        self.heap.fill(entries);
    }

    #[inline]
    fn sweep_if_most_are_dead(&mut self) {
        if self.entries() > 2 * self.live() + SLACK {
            self.refill();
        }
    }

    #[inline]
    fn tidy(&mut self) {
        loop {
            if self.front.is_none() {
                self.front = self.heap.pop();
            }
            match self.front {
                Some(entry) if self.slots[entry.slot as usize].arrival != entry.arrival => self.front = None,
                _ => return,
            }
        }
    }

    #[inline]
    fn release(&mut self, at: u32) -> u32 {
        let slot = &mut self.slots[at as usize];
        slot.arrival = 0;
        slot.generation = slot.generation.wrapping_add(1).max(STALE + 1);
        let id = slot.id;
        self.free.push(at);
        id
    }
}

impl<H: Arrivals> Timed for EqualContract<H> {}

impl<H: Arrivals> BenchQueue for EqualContract<H> {
    fn dead(&self) -> Dead {
        Dead::AreSwept
    }

    fn dead_entries(&self) -> Option<usize> {
        Some(self.entries() - self.live())
    }

    #[inline]
    fn insert(&mut self, id: u32, deadline: u64) {
        let at = match self.free.pop() {
            Some(at) => {
                self.slots[at as usize].id = id;
                at
            }
            None => {
                self.slots.push(Slot { generation: STALE + 1, arrival: 0, tick: 0, id });
                self.slots.len() as u32 - 1
            }
        };
        self.keys[id as usize] = Key { slot: at, generation: self.slots[at as usize].generation };
        self.arrive(at, deadline);
    }

    #[inline]
    fn remove(&mut self, id: u32) {
        if let Some(at) = self.find(id) {
            self.release(at);
            self.sweep_if_most_are_dead();
        }
    }

    #[inline]
    fn reschedule(&mut self, id: u32, deadline: u64) {
        if let Some(at) = self.find(id) {
            self.arrive(at, deadline);
            self.sweep_if_most_are_dead();
        }
    }

    #[inline]
    fn hint(&self, far: u32, near: u32) {
        prefetch(&raw const self.keys[far as usize]);
        prefetch(self.slots.as_ptr().wrapping_add(self.keys[near as usize].slot as usize));
    }

    #[inline]
    fn head(&mut self) -> Option<u64> {
        self.tidy();
        self.front.map(|front| front.tick)
    }

    /// Takes the head to see the next entry, and then puts the head back.
    fn second(&mut self) -> Option<u64> {
        self.tidy();
        let head = self.front.take()?;
        let second = self.head();
        if let Some(front) = self.front.replace(head)
            && !self.heap.push(front)
        {
            self.refill();
        }
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
        let Entry { tick, slot, .. } = self.front.take()?;
        Some((self.release(slot), tick))
    }

    fn callers_bytes(&self) -> usize {
        self.keys.capacity() * size_of::<Key>()
    }
}

/// `dary_heap` with four children per node.
#[derive(Debug, Default)]
pub(crate) struct Dary4(dary_heap::QuaternaryHeap<core::cmp::Reverse<Entry>>);

impl Arrivals for Dary4 {
    const ARRIVALS: u32 = u32::MAX;

    #[inline]
    fn push(&mut self, entry: Entry) -> bool {
        self.0.push(core::cmp::Reverse(entry));
        true
    }

    #[inline]
    fn pop(&mut self) -> Option<Entry> {
        self.0.pop().map(|entry| entry.0)
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn fill(&mut self, entries: Vec<Entry>) {
        self.0 = entries.into_iter().map(core::cmp::Reverse).collect::<Vec<_>>().into();
    }
}

/// `quickheap`, whose keys are one `u64`: 40 bits of the tick, counted from `base`, and 24 bits of
/// the arrival. Entries of later ticks wait in a separate list until the heap is empty.
#[cfg(target_feature = "avx2")]
#[derive(Default)]
pub(crate) struct Quick {
    heap: quickheap::KvSimdQuickHeap<u64>,
    base: u64,
    far: Vec<Entry>,
}

#[cfg(target_feature = "avx2")]
impl Quick {
    const ARRIVAL: u32 = 24;

    /// Adds an entry to the heap if its tick is near. Returns `false` if the tick is before the
    /// base.
    #[inline]
    fn enter(&mut self, entry: Entry) -> bool {
        let Some(ticks) = entry.tick.checked_sub(self.base) else { return false };
        if ticks >> (64 - Self::ARRIVAL) == 0 {
            self.heap.push(ticks << Self::ARRIVAL | u64::from(entry.arrival), entry.slot.into());
        } else {
            self.far.push(entry);
        }
        true
    }

    /// Moves the base of the empty heap to the first of the far entries.
    #[inline(never)]
    fn enter_far(&mut self) -> Option<()> {
        self.base = self.far.iter().map(|entry| entry.tick).min()?;
        for entry in core::mem::take(&mut self.far) {
            self.enter(entry);
        }
        Some(())
    }
}

#[cfg(target_feature = "avx2")]
impl Arrivals for Quick {
    const ARRIVALS: u32 = (1 << Self::ARRIVAL) - 1;

    #[inline]
    fn push(&mut self, entry: Entry) -> bool {
        self.enter(entry)
    }

    #[inline]
    fn pop(&mut self) -> Option<Entry> {
        let (key, slot) = match self.heap.pop() {
            Some(first) => first,
            None => {
                self.enter_far()?;
                self.heap.pop()?
            }
        };
        let arrival = (key & u64::from(Self::ARRIVALS)) as u32;
        Some(Entry { tick: self.base + (key >> Self::ARRIVAL), arrival, slot: slot as u32 })
    }

    fn len(&self) -> usize {
        self.heap.len() + self.far.len()
    }

    fn fill(&mut self, entries: Vec<Entry>) {
        *self = Self { base: entries.first().map_or(0, |first| first.tick), ..Self::default() };
        for entry in entries {
            self.enter(entry);
        }
    }
}

#[cfg(target_feature = "avx2")]
impl Debug for Quick {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Quick").field("len", &self.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
