//! The wheel of three distances: a list for each of the next 32 ticks, a list for each of the 32
//! blocks of 32 ticks after them, and a sorted list for all later ticks. When a block begins, its
//! time-outs move to the lists of its ticks. Time-outs that arrived later are already in these
//! lists, so time-outs of equal ticks are not in the order of insertion.

use super::backend::BackEnd;
use super::links::{Node, Rings};

/// The number of ticks that have a list each, which is also the number of blocks that have a list
/// each.
const SLOTS: u64 = 32;

#[derive(Debug)]
pub(super) struct ThreeWheel {
    rings: Rings,
    /// The heads of the lists: for each tick, for each block, and for all later time-outs.
    soon: usize,
    later: usize,
    distant: usize,
    now: u64,
}

impl ThreeWheel {
    pub(super) const BYTES: usize = size_of::<Node>();

    pub(super) fn new(n: usize) -> Self {
        let [soon, later, distant] = [n, n + SLOTS as usize, n + 2 * SLOTS as usize];
        Self { rings: Rings::new(n, 2 * SLOTS as usize + 1), soon, later, distant, now: 0 }
    }

    /// Links a time-out into the list for its tick.
    #[inline]
    fn place(&mut self, id: usize) {
        let tick = self.rings.node(id).ticks;
        let at = if tick - self.now < SLOTS {
            self.soon + (tick % SLOTS) as usize
        } else if tick / SLOTS - self.now / SLOTS < SLOTS {
            self.later + (tick / SLOTS % SLOTS) as usize
        } else {
            let mut at = self.distant;
            loop {
                let before = self.rings.previous(at);
                if before == self.distant || self.rings.node(before).ticks <= tick {
                    break at;
                }
                at = before;
            }
        };
        self.rings.link_before(at, id);
    }

    /// Begins a block: moves its time-outs to the lists of their ticks.
    fn sift(&mut self) {
        let block = self.later + (self.now / SLOTS % SLOTS) as usize;
        loop {
            let first = self.rings.next(block);
            if first == block {
                break;
            }
            self.rings.unlink(first);
            self.place(first);
        }
        loop {
            let first = self.rings.next(self.distant);
            if first == self.distant || self.rings.node(first).ticks / SLOTS - self.now / SLOTS >= SLOTS {
                break;
            }
            self.rings.unlink(first);
            self.place(first);
        }
    }
}

impl BackEnd for ThreeWheel {
    #[inline]
    fn insert(&mut self, id: u32, ticks: u64) {
        self.rings.node(id as usize).ticks = self.now + ticks;
        self.place(id as usize);
    }

    #[inline]
    fn abort(&mut self, id: u32) {
        self.rings.unlink(id as usize);
    }

    #[inline]
    fn announce(&mut self, ticks: u64, mut fire: impl FnMut(u32, u64)) {
        for _ in 0..ticks {
            self.now += 1;
            if self.now.is_multiple_of(SLOTS) {
                self.sift();
            }
            let slot = self.soon + (self.now % SLOTS) as usize;
            loop {
                let first = self.rings.next(slot);
                if first == slot {
                    break;
                }
                let callback = self.rings.node(first).callback;
                self.rings.unlink(first);
                fire(callback as u32, self.now);
            }
        }
    }
}
