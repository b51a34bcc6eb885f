//! Drops dead entries before they are too many.
//!
//! A purge passes through all lists, some entries at a time. It reads a list from its head, and
//! appends the live entries to a second list, which then takes the place of the first.

use super::pool::{CHUNK, List};
use super::record::{Entry, LadderRecord};
use super::state::{Ladder, Purge};
use crate::storage::{Handle, Nodes};

/// One call reads this many entries or a few more, and looks at so many lists.
const ENTRIES_AT_ONCE: usize = 32;
const LISTS_AT_ONCE: usize = 64;

/// One call moves this many chunks of a list that is being divided.
const CHUNKS_AT_ONCE: usize = 4;

impl<P: Handle> Ladder<P> {
    /// Drops some dead entries if there are many: more than a quarter as many as timers.
    #[inline]
    pub(super) fn purge_if_many_are_dead(&mut self, nodes: &mut impl Nodes<P, LadderRecord>) {
        if self.dead() > self.live / 4 + 8 {
            self.purge_some(nodes);
        }
    }

    /// Reads some entries and drops the dead ones. A list that is being divided comes first.
    #[inline(never)]
    pub(super) fn purge_some(&mut self, nodes: &mut impl Nodes<P, LadderRecord>) {
        if self.split.is_on() {
            for _ in 0..CHUNKS_AT_ONCE {
                if self.split.is_on() {
                    self.split_chunk(nodes, CHUNK);
                }
            }
            return;
        }
        let (mut read, mut lists) = (0, 0);
        while read < ENTRIES_AT_ONCE && lists < LISTS_AT_ONCE {
            lists += 1;
            if self.purge.at >= self.lists.len() {
                self.purge = Purge::NEW;
            }
            let at = self.purge.at;
            if self.lists[at].len == 0 {
                self.purge.at += 1;
                continue;
            }
            self.purge.is_on = true;
            for entry in self.pool.first_chunk(&self.lists[at]) {
                nodes.prefetch(P::from_number(entry.slot()));
            }
            let (entries, places) = self.pool.take_chunk(&mut self.lists[at], CHUNK);
            read += places.len();
            for &entry in &entries[places] {
                if Self::may_live(nodes, entry) {
                    self.pool.push(&mut self.purge.done, entry);
                } else {
                    self.entries -= 1;
                    self.drop_dead(nodes, entry);
                }
            }
            if self.lists[at].len == 0 {
                let mut done = core::mem::replace(&mut self.purge.done, List::EMPTY);
                done.mixed = self.lists[at].mixed && done.len > 0;
                self.lists[at] = done;
                self.purge = Purge { at: at + 1, ..Purge::NEW };
                if done.len == 0
                    && let Some((rung, bucket)) = self.place_of(at)
                {
                    self.rungs[rung].unmark(bucket);
                }
            }
        }
    }

    /// Whether an entry may belong to a pending timer. Otherwise it is dead.
    pub(super) fn may_live(nodes: &impl Nodes<P, LadderRecord>, entry: Entry) -> bool {
        P::from_number(entry.slot()).is_some_and(|p| {
            let record = nodes.record(p);
            record.is_alive(entry) && record.placed() as u32 == entry.low()
        })
    }

    /// Makes room for one more entry, although the memory for entries is used up.
    #[cold]
    pub(super) fn purge_until_there_is_room(&mut self, nodes: &mut impl Nodes<P, LadderRecord>) {
        // Fewer timers pend than there is memory for, so entries are dead.
        while self.entries >= self.limit && self.dead() > 0 {
            self.purge_some(nodes);
        }
    }
}

/// The most entries of `timers` timers. A purge begins when a quarter as many entries are dead.
pub(super) const fn most_entries(timers: usize) -> usize {
    timers + timers / 4 + timers / 16 + 10
}

/// The most chunks for this many entries in this many lists. All are full, except the last of each
/// list, of a purge, of the two parts of the list that is being divided, and of one that is read. A
/// list of each rung, and one that is being divided, may have been taken in part.
pub(super) fn most_chunks(entries: usize, lists: usize, rungs: usize) -> usize {
    let others = if rungs == 0 { 3 } else { 5 };
    entries.min(entries / CHUNK + lists + rungs + others) + 1
}
