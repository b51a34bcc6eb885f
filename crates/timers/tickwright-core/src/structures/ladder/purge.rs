//! Drops dead entries when there are too many, and computes the bounds of the memory for entries.
//!
//! A purge reads all lists, a few entries per call. The purge reads a list from the list's head,
//! and appends the live entries to a second list, which finally replaces the first list.

use super::pool::{CHUNK, List};
use super::record::Entry;
use super::state::{Ladder, Purge};
use crate::structure::{Handle, View};

/// One call reads this many entries, or a few more, in at most [`LISTS_AT_ONCE`] lists.
const ENTRIES_AT_ONCE: usize = 32;
const LISTS_AT_ONCE: usize = 64;

/// The number of chunks that one call moves out of a list that is being divided.
const CHUNKS_AT_ONCE: usize = 4;

impl<P: Handle> Ladder<P> {
    /// If many entries are dead, reads some entries and drops the dead entries among them.
    #[inline]
    pub(super) fn purge_if_many_are_dead(&mut self, nodes: &mut impl View<P, Self>) {
        if self.dead() > few_dead(self.live as usize) {
            self.purge_some(nodes);
        }
    }

    /// Reads some entries and drops the dead entries among them. If a list is being divided, this
    /// list is read first.
    #[inline(never)]
    pub(super) fn purge_some(&mut self, nodes: &mut impl View<P, Self>) {
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
            if self.is_big() {
                for entry in self.pool.first_chunk(&self.lists[at]) {
                    nodes.prefetch(P::from_number(entry.slot()));
                }
            }
            let list = &mut self.lists[at];
            let len = list.in_chunk();
            read += len;
            if len == list.len as usize && !self.purge.is_on {
                self.entries -= self.pool.compact(list, |entry| Self::keep_or_drop(nodes, entry));
                self.purge.at += 1;
                self.unmark_if_empty(at);
                continue;
            }
            self.purge.is_on = true;
            let (entries, places) = self.pool.take_chunk(list, CHUNK);
            // No branch depends on which entries are dead.
            let (mut live, mut kept) = ([Entry::EMPTY; CHUNK], 0);
            for &entry in &entries[places] {
                live[kept % CHUNK] = entry;
                kept += usize::from(Self::keep_or_drop(nodes, entry));
            }
            self.entries -= len - kept;
            for &entry in &live[..kept] {
                self.pool.push(&mut self.purge.done, entry);
            }
            if self.lists[at].len == 0 {
                let mut done = core::mem::replace(&mut self.purge.done, List::EMPTY);
                done.mixed = self.lists[at].mixed && done.len > 0;
                self.lists[at] = done;
                self.purge = Purge { at: at + 1, ..Purge::NEW };
                self.unmark_if_empty(at);
            }
        }
    }

    #[inline]
    fn keep_or_drop(nodes: &mut impl View<P, Self>, entry: Entry) -> bool {
        P::from_number(entry.slot()).is_some_and(|p| nodes.record_mut(p).keep_or_drop(entry))
    }

    /// Marks the bucket of `list` as unoccupied if the purge has left the list empty.
    fn unmark_if_empty(&mut self, list: usize) {
        if self.lists[list].len == 0
            && let Some((rung, bucket)) = self.place_of(list)
        {
            self.rungs[rung].unmark(bucket);
        }
    }

    /// Drops dead entries until there is room for one more entry, if the memory for entries is used
    /// up now.
    #[cold]
    pub(super) fn purge_until_there_is_room(&mut self, nodes: &mut impl View<P, Self>) {
        // The memory has more entries than there are pending timers, so some entries are dead.
        while self.entries >= self.limit && self.dead() > 0 {
            self.purge_some(nodes);
        }
    }
}

/// Returns the number of dead entries above which a purge begins: a quarter of the number of
/// timers, plus a few if there are few timers. A purge then reads at most five entries for each
/// entry that it drops.
#[inline]
const fn few_dead(timers: usize) -> usize {
    let more = timers / 8;
    timers / 4 + 8 + if more < 128 { more } else { 128 }
}

/// Returns the greatest number of entries for `timers` timers. The last summands are for the
/// entries that become dead while a purge is running.
pub(super) const fn most_entries(timers: usize) -> usize {
    timers + few_dead(timers) + timers / 16 + 2
}

/// Returns the greatest number of chunks for `entries` entries in `lists` lists. All chunks are
/// full, with two exceptions. The last chunk can be partly filled in each list, in a purge's list,
/// in the two parts of a list that is being divided, and in a list that is being read. The first
/// chunk can be partly read in one list per rung, and in a list that is being divided.
pub(super) fn most_chunks(entries: usize, lists: usize, rungs: usize) -> usize {
    let others = if rungs == 0 { 3 } else { 5 };
    entries.min(entries / CHUNK + lists + rungs + others) + 1
}
