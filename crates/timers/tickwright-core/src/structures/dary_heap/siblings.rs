//! Finds the earliest among the children of one entry.

use super::buffer::Entry;
use crate::structure::Handle;

/// Returns the index of the earliest sibling. The cell with this index is unused only if all
/// siblings are unused.
///
/// A comparison of two keys of 96 bits takes two or three loads on 64-bit targets, and about six
/// loads on other targets.
#[inline(always)]
pub(super) fn earliest<P: Handle, const D: usize>(siblings: &[Entry<P>; D]) -> usize {
    #[cfg(target_pointer_width = "64")]
    return tournament(siblings);
    #[cfg(not(target_pointer_width = "64"))]
    return in_turn(siblings);
}

/// Finds the earliest by a tournament: with four siblings, two of the three comparisons are
/// independent. Conditional moves use the outcomes, because no branch predictor can guess the
/// outcomes.
///
/// We also measured a variant that compares arrival numbers only if the expiries are equal.
/// Compared with this function, the variant takes 0.96 times as long for timers with distinct
/// ticks, and 1.5 times as long if 20 timers share each tick.
#[cfg(any(all(test, feature = "alloc"), target_pointer_width = "64"))]
#[inline(always)]
fn tournament<P: Handle, const D: usize>(siblings: &[Entry<P>; D]) -> usize {
    use core::hint::select_unpredictable;

    let mut keys = siblings.each_ref().map(Entry::key);
    let mut winners: [usize; D] = core::array::from_fn(|at| at);
    let mut left = D;
    while left > 1 {
        left /= 2;
        for at in 0..left {
            let first = keys[2 * at] > keys[2 * at + 1];
            keys[at] = select_unpredictable(first, keys[2 * at], keys[2 * at + 1]);
            winners[at] = select_unpredictable(first, winners[2 * at], winners[2 * at + 1]);
        }
    }
    winners[0]
}

/// Finds the earliest by comparing the siblings one after the other. Many 32-bit processors have no
/// branch predictor, and have too few registers for several keys. On such processors this version
/// has less code than the tournament and runs fewer instructions.
#[cfg(any(all(test, feature = "alloc"), not(target_pointer_width = "64")))]
#[inline]
fn in_turn<P: Handle, const D: usize>(siblings: &[Entry<P>; D]) -> usize {
    let mut first = 0;
    // Invariant: `first` is the index of the earliest sibling before `at`.
    for at in 1..D {
        if siblings[at].precedes(&siblings[first]) {
            first = at;
        }
    }
    first
}

/// Returns the earliest of the siblings.
pub(super) fn pick<P: Handle, const D: usize>(siblings: &[Entry<P>; D]) -> Entry<P> {
    siblings[earliest(siblings)]
}

#[cfg(all(test, feature = "alloc"))]
mod tests;
