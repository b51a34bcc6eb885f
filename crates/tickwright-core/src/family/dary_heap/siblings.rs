//! The earliest of the children of one entry.

use super::buffer::Entry;
use crate::storage::Handle;

/// Returns the index of the earliest sibling. It returns an unused cell only if all are unused.
///
/// A key of 96 bits takes two or three loads on 64-bit targets, and about six on others.
#[inline(always)]
pub(super) fn earliest<P: Handle, const D: usize>(siblings: &[Entry<P>; D]) -> usize {
    #[cfg(target_pointer_width = "64")]
    return by_expiry(siblings);
    #[cfg(not(target_pointer_width = "64"))]
    return in_turn(siblings);
}

/// A tournament of the expiries: with four siblings, two of the three comparisons are independent.
/// Conditional moves select by the outcomes, because no branch predictor can guess them. Arrivals
/// are compared only if another sibling has the earliest expiry too.
#[cfg(any(all(test, feature = "alloc"), target_pointer_width = "64"))]
#[inline(always)]
fn by_expiry<P: Handle, const D: usize>(siblings: &[Entry<P>; D]) -> usize {
    use core::hint::select_unpredictable;

    let mut ticks = siblings.each_ref().map(|entry| entry.ticks_to_end);
    let mut winners: [usize; D] = core::array::from_fn(|at| at);
    let mut left = D;
    let mut is_tie = false;
    while left > 1 {
        left /= 2;
        is_tie = ticks[0] == ticks[1];
        for at in 0..left {
            let first = ticks[2 * at] > ticks[2 * at + 1];
            ticks[at] = select_unpredictable(first, ticks[2 * at], ticks[2 * at + 1]);
            winners[at] = select_unpredictable(first, winners[2 * at], winners[2 * at + 1]);
        }
    }
    // The winner's neighbor lost in the first round, and the other finalist in the last.
    let neighbor = siblings[winners[0] ^ 1].ticks_to_end;
    if is_tie | (neighbor == ticks[0]) { among_equals(siblings) } else { winners[0] }
}

/// The same among siblings of which some are equally early.
#[cold]
#[inline(never)]
fn among_equals<P: Handle, const D: usize>(siblings: &[Entry<P>; D]) -> usize {
    in_turn(siblings)
}

/// Compares the siblings one after the other. A key does not fit in the registers of a 32-bit
/// processor, which rarely has a branch predictor. There this version has less code and runs fewer
/// instructions.
#[inline]
fn in_turn<P: Handle, const D: usize>(siblings: &[Entry<P>; D]) -> usize {
    let mut first = 0;
    // Invariant: `first` is the index of the earliest of the siblings before `at`.
    for at in 1..D {
        if siblings[at].precedes(&siblings[first]) {
            first = at;
        }
    }
    first
}

/// The earliest of the siblings.
pub(super) fn pick<P: Handle, const D: usize>(siblings: &[Entry<P>; D]) -> Entry<P> {
    siblings[earliest(siblings)]
}

#[cfg(all(test, feature = "alloc"))]
mod tests;
