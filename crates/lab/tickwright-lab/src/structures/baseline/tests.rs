//! Compares the heaps that keep entries of moved or removed timers with the oracle, with random
//! operations.

use std::collections::BinaryHeap;

use super::lazy_heap::{Entry, Lazy};
use crate::models::verify::oracle::Oracle;
use crate::structures::candidate::{BenchQueue, Candidate};
use crate::structures::registry::Ties;

/// The number of timers.
const TIMERS: u32 = 12;
/// A structure sweeps when its dead entries outnumber the live entries by more than this number.
const SLACK: usize = 64;

/// Compares a structure with the oracle, at ticks that are `stride` apart. In every second phase,
/// no timer leaves at its deadline, so that dead entries accumulate unless they are swept. If keys
/// go `stale`, the keys of idle timers are used too, and these keys must not move or remove any
/// timer.
pub(super) fn agrees<C: Candidate>(ties: Ties, stale: bool, stride: u64) {
    const STRETCH: u32 = 500;
    let arena = C::arena(TIMERS as usize);
    let mut queue = C::queue(&arena, TIMERS as usize);
    let mut oracle = Oracle::default();
    let (mut random, mut now) = (7u64, 0);
    for step in 0..40 * STRETCH {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let id = (random >> 20) as u32 % TIMERS;
        let deadline = now + (random >> 30) % 9 * stride;
        let leaves = (step / STRETCH).is_multiple_of(2);
        match (random % 7, oracle.deadline(id).is_some()) {
            (0..2, false) => {
                queue.insert(id, deadline);
                oracle.insert(id, deadline);
            }
            (0..3, true) => {
                queue.reschedule(id, deadline);
                oracle.reschedule(id, deadline);
            }
            (3, true) => {
                queue.remove(id);
                oracle.remove(id);
            }
            (2, false) if stale => queue.remove(id),
            (3, false) if stale => queue.reschedule(id, deadline),
            (4, _) => assert_eq!(queue.second(), oracle.second()),
            (5.., _) if leaves => {
                let (first, expected) = (queue.pop(), oracle.first());
                assert_eq!(first.map(|first| first.1), expected.map(|first| first.1));
                assert!(ties == Ties::AnyOrder || first == expected, "{first:?} before {expected:?}");
                if let Some((id, deadline)) = first {
                    assert_eq!(oracle.deadline(id), Some(deadline));
                    now = deadline;
                    oracle.remove(id);
                }
            }
            _ => assert_eq!(queue.head(), oracle.head()),
        }
        let dead = queue.dead_entries().unwrap();
        assert!(dead <= oracle.len() + SLACK + 1, "{dead} dead entries of {} timers", oracle.len());
    }
}

#[test]
fn a_lazy_heap_agrees_and_sweeps() {
    agrees::<Lazy<BinaryHeap<Entry>>>(Ties::Fifo, false, 1);
}

#[cfg(feature = "rivals")]
#[test]
fn heaps_with_a_table_of_deadlines_agree_and_sweep() {
    use super::by_deadline::ByDeadline;
    for stride in [1, 1 << 20] {
        agrees::<ByDeadline<super::radix_heap::RadixHeap>>(Ties::AnyOrder, false, stride);
        #[cfg(target_feature = "avx2")]
        agrees::<ByDeadline<quickheap::SimdQuickHeap<u64>>>(Ties::AnyOrder, false, stride);
    }
}
