//! Drops dead entries before there are too many of them, and bounds the memory of all entries.
//!
//! A purge passes through all lists, some entries at a time. It reads a list from its head, and
//! appends the live entries to a second list, which then takes the place of the first.

use super::pool::{CHUNK, List};
use super::record::Entry;
use super::state::{Ladder, Purge};
use crate::structure::{Handle, View};

/// One call reads this many entries or a few more, and visits at most [`LISTS_AT_ONCE`] lists.
const ENTRIES_AT_ONCE: usize = 32;
const LISTS_AT_ONCE: usize = 64;

/// The number of chunks that one call moves out of a list that is being divided.
const CHUNKS_AT_ONCE: usize = 4;

impl<P: Handle> Ladder<P> {
    /// Drops some dead entries if there are many.
    #[inline]
    pub(super) fn purge_if_many_are_dead(&mut self, nodes: &mut impl View<P, Self>) {
        if self.dead() > few_dead(self.live as usize) {
            self.purge_some(nodes);
        }
    }

    /// Reads some entries and drops the dead ones. A list that is being divided comes first.
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

    /// Unmarks the bucket of a list that the purge has read, if the list is now empty.
    fn unmark_if_empty(&mut self, list: usize) {
        if self.lists[list].len == 0
            && let Some((rung, bucket)) = self.place_of(list)
        {
            self.rungs[rung].unmark(bucket);
        }
    }

    /// Makes room for one more entry, although the memory for entries is used up.
    #[cold]
    pub(super) fn purge_until_there_is_room(&mut self, nodes: &mut impl View<P, Self>) {
        // Fewer timers are pending than the memory can hold entries, so some entries are dead.
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

/// Returns the greatest number of entries for `timers` timers. The last summands count the entries
/// that die while a purge reads.
pub(super) const fn most_entries(timers: usize) -> usize {
    timers + few_dead(timers) + timers / 16 + 2
}

/// Returns the greatest number of chunks for `entries` entries in `lists` lists. All chunks are
/// full, except the last chunk of each list, of a purge, of the two parts of the list that is being
/// divided, and of a list that is being read. In addition, entries might have been taken from the
/// first chunk of one list per rung, and of the list that is being divided.
pub(super) fn most_chunks(entries: usize, lists: usize, rungs: usize) -> usize {
    let others = if rungs == 0 { 3 } else { 5 };
    entries.min(entries / CHUNK + lists + rungs + others) + 1
}
