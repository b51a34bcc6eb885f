//! The earliest of the children of one entry.

use super::buffer::Entry;
use crate::storage::Handle;

/// Which of the siblings is the earliest, and its key; an unused cell only if all are unused.
///
/// A key of 96 bits is two or three loads on 64-bit targets, and six words or so on others.
#[inline]
pub(super) fn earliest<P: Handle, const D: usize>(siblings: &[Entry<P>; D]) -> (usize, u128) {
    #[cfg(target_pointer_width = "64")]
    return tournament(siblings);
    #[cfg(not(target_pointer_width = "64"))]
    return in_turn(siblings);
}

/// A tournament: with four siblings two of the three comparisons are independent, and the outcomes,
/// which no predictor can guess, select by conditional moves.
#[cfg(any(all(test, feature = "alloc"), target_pointer_width = "64"))]
#[inline]
fn tournament<P: Handle, const D: usize>(siblings: &[Entry<P>; D]) -> (usize, u128) {
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
    (winners[0], keys[0])
}

/// One after the other. Keys do not fit in the registers of a 32-bit processor, which has no
/// predictor to spare either. There this is less code and fewer instructions.
#[cfg(any(all(test, feature = "alloc"), not(target_pointer_width = "64")))]
#[inline]
fn in_turn<P: Handle, const D: usize>(siblings: &[Entry<P>; D]) -> (usize, u128) {
    let mut first = 0;
    // The earliest of the siblings before `at` is at `first`.
    for at in 1..D {
        if siblings[at].precedes(&siblings[first]) {
            first = at;
        }
    }
    (first, siblings[first].key())
}

/// The earliest of the siblings.
pub(super) fn pick<P: Handle, const D: usize>(siblings: &[Entry<P>; D]) -> Entry<P> {
    siblings[earliest(siblings).0]
}

#[cfg(all(test, feature = "alloc"))]
mod tests;
