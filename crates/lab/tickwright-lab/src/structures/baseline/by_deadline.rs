//! Heaps without handles, with the deadline of each id in a separate table.
//!
//! An entry is a deadline and an id. The entry is dead if its id now has another deadline, and a
//! dead entry is dropped when it reaches the front. When dead entries outnumber live entries, the
//! heap is filled again from the table. Timers of equal deadline leave in any order, and there are
//! no keys that could go stale.

use tickwright_nodes::hint::prefetch;

use crate::structures::candidate::{BenchQueue, Candidate, Dead, Timed};

/// A heap of deadlines and ids.
pub(crate) trait Bag: Default + 'static {
    /// The longest delay that the heap accepts, in ticks.
    const HORIZON: u64;
    /// The number of ids.
    const IDS: usize;

    /// Adds an entry.
    fn push(&mut self, deadline: u64, id: u32);
    /// Takes the earliest entry.
    fn pop(&mut self) -> Option<(u64, u32)>;
    /// The number of entries.
    fn len(&self) -> usize;
    /// Removes all entries.
    fn clear(&mut self);
}

/// The heap, the entry that leaves first, and the deadline of each id.
pub(crate) struct ByDeadline<B> {
    heap: B,
    front: Option<(u64, u32)>,
    deadlines: Vec<u64>,
    live: usize,
}

/// Stands for the deadline of an id that is not pending.
const NONE: u64 = u64::MAX;
/// Up to this number of dead entries stay without a sweep, even if few entries are live.
const SLACK: usize = 64;

impl<B: Bag> Candidate for ByDeadline<B> {
    type Arena = ();
    type Queue<'a> = Self;

    const BYTES_PER_TIMER: usize = 16;
    const HORIZON: u64 = B::HORIZON;

    fn arena(_capacity: usize) {}

    fn queue((): &(), capacity: usize) -> Self {
        Self { heap: B::default(), front: None, deadlines: vec![NONE; capacity], live: 0 }
    }

    fn holds(capacity: usize) -> bool {
        capacity <= B::IDS
    }
}

impl<B: Bag> ByDeadline<B> {
    fn entries(&self) -> usize {
        self.heap.len() + usize::from(self.front.is_some())
    }

    /// Drops dead entries until the front is a live entry.
    #[inline]
    fn tidy(&mut self) {
        loop {
            if self.front.is_none() {
                self.front = self.heap.pop();
            }
            match self.front {
                Some((deadline, id)) if self.deadlines[id as usize] != deadline => self.front = None,
                _ => return,
            }
        }
    }

    #[inline]
    fn sweep_if_most_are_dead(&mut self) {
        if self.entries() > 2 * self.live + SLACK {
            self.sweep();
        }
    }

    #[inline(never)]
    fn sweep(&mut self) {
        self.heap.clear();
        self.front = None;
        for (id, &deadline) in (0u32..).zip(&self.deadlines) {
            if deadline != NONE {
                self.heap.push(deadline, id);
            }
        }
    }

    #[inline]
    fn enter(&mut self, id: u32, deadline: u64) {
        self.deadlines[id as usize] = deadline;
        match self.front {
            Some((first, other)) if deadline < first => {
                self.front = Some((deadline, id));
                self.heap.push(first, other);
            }
            _ => self.heap.push(deadline, id),
        }
    }
}

impl<B: Bag> Timed for ByDeadline<B> {}

impl<B: Bag> BenchQueue for ByDeadline<B> {
    fn dead(&self) -> Dead {
        Dead::AreSwept
    }

    fn dead_entries(&self) -> Option<usize> {
        Some(self.entries() - self.live)
    }

    #[inline]
    fn insert(&mut self, id: u32, deadline: u64) {
        self.live += 1;
        self.enter(id, deadline);
    }

    #[inline]
    fn remove(&mut self, id: u32) {
        self.live -= 1;
        self.deadlines[id as usize] = NONE;
        self.sweep_if_most_are_dead();
    }

    #[inline]
    fn reschedule(&mut self, id: u32, deadline: u64) {
        // If the deadline is the same, the entry in the heap stays valid.
        if self.deadlines[id as usize] != deadline {
            self.enter(id, deadline);
            self.sweep_if_most_are_dead();
        }
    }

    #[inline]
    fn hint(&self, _far: u32, near: u32) {
        prefetch(&raw const self.deadlines[near as usize]);
    }

    #[inline]
    fn head(&mut self) -> Option<u64> {
        self.tidy();
        self.front.map(|(deadline, _)| deadline)
    }

    fn second(&mut self) -> Option<u64> {
        let (id, deadline) = self.pop()?;
        let second = self.head();
        self.insert(id, deadline);
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
        let (deadline, id) = self.front.take()?;
        self.deadlines[id as usize] = NONE;
        self.live -= 1;
        Some((id, deadline))
    }
}
