//! The earliest of the children of one entry.

use core::hint::select_unpredictable;

use super::buffer::Entry;
use crate::storage::Handle;

/// Which of the siblings is the earliest, and its key; an unused cell only if all are unused.
///
/// A tournament: with four siblings two of the three comparisons are independent, and the outcomes,
/// which no predictor can guess, select by conditional moves.
#[inline]
pub(super) fn earliest<P: Handle, const D: usize>(siblings: &[Entry<P>; D]) -> (usize, u128) {
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

/// The earliest of the siblings.
pub(super) fn pick<P: Handle, const D: usize>(siblings: &[Entry<P>; D]) -> Entry<P> {
    siblings[earliest(siblings).0]
}
