//! A batch: the entries of a short bucket, on their way into the run.
//!
//! ```text
//!   bucket, in order of arrival   t=97 slot 4   t=42 slot 7   t=97 slot 2
//!   key = tick << 6 | index       97*64 + 0     42*64 + 1     97*64 + 2
//!   rank: how many keys are less  1             0             2
//!   run, the latest first         97/2   97/4   42/7   (97/4 arrived before 97/2)
//! ```
//! A few entries are *ranked*: `k` entries take `k * k` comparisons, but no branch depends on a
//! comparison, and the compiler compares several keys at once. More entries are sorted by the
//! digits of their ticks, from the lowest up. A bucket of level 2 takes two passes. Both ways keep
//! the order of arrival among equal ticks.

use alloc::vec::Vec;

use super::near::Near;
use super::rungs::BUCKETS;
use crate::contract::Reject;

/// The most entries of a batch.
pub(super) const SORTED: usize = 448;

/// The most entries that are ranked.
const RANKED: usize = 48;

/// Batches whose ticks differ in more digits are compared as whole numbers.
const DIGITS: usize = 4;

const DIGIT: u32 = BUCKETS.trailing_zeros();
const INDEX: u32 = RANKED.next_power_of_two().trailing_zeros();

/// The keys that are compared at once.
const LANES: usize = 8;

// A key is not negative: all processors with vectors compare signed numbers of 32 bits.
const _: () = assert!(DIGIT * DIGITS as u32 + INDEX < 32);

/// The entries. There are at most `SORTED`.
#[derive(Debug)]
pub(super) struct Batch(Vec<Near>);

impl Batch {
    pub(super) const NEW: Self = Self(Vec::new());

    /// Makes room for `SORTED` entries.
    pub(super) fn reserve(&mut self) -> Result<(), Reject> {
        if self.0.capacity() < SORTED {
            self.0.try_reserve_exact(SORTED - self.0.len()).map_err(|_| Reject::Full)?;
        }
        Ok(())
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.0.capacity() * size_of::<Near>()
    }

    /// Adds an entry, for which there must be room.
    #[inline]
    pub(super) fn push(&mut self, near: Near) {
        debug_assert!(self.0.len() < SORTED, "more entries than a batch has");
        self.0.push(near);
    }

    /// Moves all entries into the run, whose memory has room for them. Their ticks differ in the
    /// lowest `digits` digits alone. If `in_order`, entries of equal ticks were pushed in the order
    /// of their arrivals.
    #[inline]
    pub(super) fn move_into(&mut self, run: &mut Vec<Near>, digits: usize, in_order: bool) {
        let (len, base) = (self.0.len(), run.len());
        let entries = &mut self.0;
        if !in_order || digits > DIGITS {
            entries.sort_unstable();
            run.extend(entries.iter().rev());
        } else if digits == 0 {
            run.extend(entries.iter().rev());
        } else {
            run.resize(base + len, Near::EMPTY);
            let sorted = &mut run[base..];
            if len <= RANKED {
                rank(entries, sorted);
            } else {
                sort_by_digits(entries, sorted, digits);
            }
        }
        debug_assert!(run[base..].is_sorted_by(|later, earlier| later >= earlier));
        if base > 0 && len > 0 && run[base - 1] < run[base] {
            merge(run, base, entries);
        }
        entries.clear();
    }
}

/// Writes the entries to `sorted`, the latest first. Their ticks differ in the lowest `digits`
/// digits alone.
fn sort_by_digits(entries: &[Near], sorted: &mut [Near], digits: usize) {
    let last = sorted.len().saturating_sub(1);
    let mut order = [0_u16; SORTED];
    let mut next = [0_u16; SORTED];
    for (at, place) in (0..).zip(&mut order[..entries.len()]) {
        *place = at;
    }
    for pass in 0..digits {
        let digit = |at: u16| (entries[at as usize].tick() >> (DIGIT * pass as u32)) as usize % BUCKETS;
        // The number of entries with each digit; then the place of the next entry with it.
        let mut places = [0_u16; BUCKETS];
        for &at in &order[..entries.len()] {
            places[digit(at)] += 1;
        }
        let mut before = 0;
        for place in &mut places {
            before += core::mem::replace(place, before);
        }
        for &at in &order[..entries.len()] {
            let place = &mut places[digit(at)];
            if pass + 1 < digits {
                next[*place as usize] = at;
            } else {
                sorted[last - *place as usize] = entries[at as usize];
            }
            *place += 1;
        }
        core::mem::swap(&mut order, &mut next);
    }
}

/// Merges the part of the run from `base` on into the part before it. Both parts are sorted.
/// `entries` is overwritten; it has as many entries as the second part.
#[cold]
fn merge(run: &mut [Near], base: usize, entries: &mut [Near]) {
    let (mut left, mut at, mut taken) = (base, run.len(), run.len() - base);
    entries.copy_from_slice(&run[base..]);
    // Invariant: `run[at..]` is merged. What remains are the first `left` entries of the run and
    // the first `taken` of the copy, both with the latest first.
    while taken > 0 {
        at -= 1;
        if left > 0 && run[left - 1] < entries[taken - 1] {
            left -= 1;
            run[at] = run[left];
        } else {
            taken -= 1;
            run[at] = entries[taken];
        }
    }
}

/// Writes the entries to `sorted`, the latest first. Their ticks differ in the lowest `DIGITS`
/// digits alone, and there are at most `RANKED`.
#[inline]
fn rank(entries: &[Near], sorted: &mut [Near]) {
    let last = entries.len().saturating_sub(1);
    let mut keys = [i32::MAX; RANKED];
    for ((at, near), key) in (0..).zip(entries).zip(&mut keys) {
        let low = near.tick() as u32 & ((1 << (DIGIT * DIGITS as u32)) - 1);
        *key = (low << INDEX) as i32 | at;
    }
    let (lanes, _) = keys[..entries.len().next_multiple_of(LANES).min(RANKED)].as_chunks::<LANES>();
    for (near, &key) in entries.iter().zip(&keys) {
        let mut less = [0_i32; LANES];
        for lane in lanes {
            for (less, &other) in less.iter_mut().zip(lane) {
                *less += i32::from(other < key);
            }
        }
        let rank = less.iter().sum::<i32>() as usize;
        if let Some(place) = sorted.get_mut(last - rank.min(last)) {
            *place = *near;
        }
    }
}
