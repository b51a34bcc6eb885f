//! Cascades: a bucket above level 0 is emptied into lower ones when its minimum has come.
//!
//! ```text
//!   clock 1000                          bucket entered at its minimum: clock 69700 = 17 1 4
//!   level 2  [17] 69990 70000 69700     level 2  [17] (empty)
//!   level 1                        =>   level 1  [ 5] 69990 70000       digits 17 5 38, 17 5 48
//!   level 0                             level 0  [ 4] 69700             digits 17 1 4
//! ```
//! All lower levels are empty when a bucket is entered. Each node goes behind what its new bucket
//! holds, in the order of the old one, so equals stay in the order of their arrival.
//! There are three ways to do it:
//!
//! - **whole** ([`Hierarchy::cascade_whole`]): the budget covers every pending node. The chain is
//!   walked once and its links are not repaired on the way.
//! - **half** ([`Hierarchy::cascade_some`]): the budget may end inside the bucket. Each node is
//!   unlinked before it is moved, and [`Cascade`] remembers the rest.
//! - **both ends** ([`Hierarchy::cascade_from_both_ends`]): the way of a whole cascade over a
//!   long chain. Each step of a walk waits for memory; two walks wait at the same time.

use super::hierarchy::{Cascade, Hierarchy, WheelRecord};
use crate::contract::Tick;
use crate::family::digits::BucketNumber;
use crate::storage::{Handle, Nodes};
use tickwright_nodes::chain::{Chain, Links};

/// A walk from both ends begins after this many nodes: to set it up costs as much as to move them.
const FEW: usize = 8;

impl<P: Handle, const BUCKETS: usize, const LEVELS: usize> Hierarchy<P, BUCKETS, LEVELS> {
    /// Links `p` at the tail of the bucket that `clock` and `expiry` name. Returns that bucket if
    /// its minimum fell or began.
    #[inline]
    pub(super) fn push(
        &mut self,
        nodes: &mut impl Nodes<P, WheelRecord<P, BUCKETS>>,
        p: P,
        expiry: Tick,
        clock: Tick,
    ) -> Option<BucketNumber<BUCKETS>> {
        debug_assert!(clock <= expiry, "the clock {clock} is later than the expiry {expiry}");
        let at = BucketNumber::of(clock, expiry);
        let fell = self.buckets.add(at, expiry);
        let links = self.buckets.chain_mut(at).push_back(nodes, p);
        nodes.record_mut(p).set(expiry, links, at);
        fell.then_some(at)
    }

    /// Marks a bucket that has become empty, and ends the cascade that empties it.
    #[inline]
    pub(super) fn empty(&mut self, at: BucketNumber<BUCKETS>) {
        self.buckets.empty(at);
        if let Some(cascade) = self.cascade
            && cascade.from == at
        {
            // The nodes below are placed by the cascade's clock. For those above both clocks name
            // the same buckets, since they agree in the digits from this level up.
            self.clock = cascade.clock;
            self.cascade = None;
        }
    }

    /// Continues a cascade while there is budget. Each node that moves takes one from it.
    pub(super) fn cascade_some(
        &mut self,
        nodes: &mut impl Nodes<P, WheelRecord<P, BUCKETS>>,
        Cascade { from, clock }: Cascade<BUCKETS>,
        budget: &mut usize,
    ) {
        // The head is linked in its new bucket before the next node is touched: the wheel is whole
        // at every step.
        while *budget > 0
            && let Some(p) = self.buckets.at(from).chain.head
        {
            let &WheelRecord { expiry, links, .. } = nodes.record(p);
            self.buckets.chain_mut(from).unlink(nodes, links);
            self.push(nodes, p, expiry, clock);
            *budget -= 1;
        }
        if self.buckets.at(from).chain.is_empty() {
            self.empty(from);
        } else {
            self.buckets.mark_dirty(from);
        }
    }

    /// Empties a bucket at once; `clock` is its earliest expiry. Returns how many nodes it held.
    pub(super) fn cascade_whole(
        &mut self,
        nodes: &mut impl Nodes<P, WheelRecord<P, BUCKETS>>,
        from: BucketNumber<BUCKETS>,
        clock: Tick,
    ) -> usize {
        debug_assert!(from.level() > 0 && self.cascade.is_none() && self.buckets.first() == Some(from));
        let Chain { head, tail } = core::mem::replace(self.buckets.chain_mut(from), Chain::EMPTY);
        self.empty(from);
        self.clock = clock;
        let mut moved = 0;
        let mut at = head;
        // What `at` and its followers link is in no bucket yet; what was before is in its new one.
        while let Some(p) = at {
            if moved == FEW
                && let Some(last) = tail
            {
                return moved + self.cascade_from_both_ends(nodes, p, last);
            }
            let &WheelRecord { expiry, links, .. } = nodes.record(p);
            self.push(nodes, p, expiry, clock);
            moved += 1;
            at = links.next;
        }
        moved
    }

    /// Moves the nodes from `front` to `back`, both included, from both ends of their chain. They
    /// come from one bucket and are in none now; the clock is in that bucket's granule. Returns
    /// how many nodes they are.
    ///
    /// ```text
    ///   front ->  a  b  c  d  e  f  <- back        a, b, c: to the tails of their buckets
    ///                                              f, e, d: to the heads of chains aside
    ///   bucket 5 of the level below:  a c          bucket 5 aside:  d f
    ///   in the end:                   a c d f      deeper aside:    e
    /// ```
    /// There is a chain aside for each bucket of the level just below, and one for all nodes that
    /// belong deeper. When the walks have met, each chain goes behind what its bucket holds.
    fn cascade_from_both_ends(
        &mut self,
        nodes: &mut impl Nodes<P, WheelRecord<P, BUCKETS>>,
        front: P,
        back: P,
    ) -> usize {
        let mut aside = [Chain::EMPTY; BUCKETS];
        let mut deeper = Chain::EMPTY;
        let below = nodes.record(front).bucket.level().saturating_sub(1);
        let mut touched = 0u64;
        let mut moved = 0;
        let (mut front, mut back) = (front, back);
        // `front`, `back` and the nodes between them still have to move.
        loop {
            let &WheelRecord { expiry, links, .. } = nodes.record(front);
            if front == back {
                self.push(nodes, front, expiry, self.clock);
                moved += 1;
                break;
            }
            let &WheelRecord { expiry: last, links: Links { prev, .. }, .. } = nodes.record(back);
            self.push(nodes, front, expiry, self.clock);
            let at = BucketNumber::of(self.clock, last);
            let chain = if at.level() == below {
                touched |= at.bit();
                self.buckets.add(at, last);
                &mut aside[at.digit()]
            } else {
                &mut deeper
            };
            let links_of_back = chain.push_front(nodes, back);
            nodes.record_mut(back).set(last, links_of_back, at);
            moved += 2;
            let (Some(next), Some(prev)) = (links.next, prev) else { break };
            if next == back {
                break;
            }
            (front, back) = (next, prev);
        }
        while touched != 0 {
            let digit = touched.trailing_zeros() as usize % BUCKETS;
            touched &= touched - 1;
            self.buckets.array[below][digit].chain.append(nodes, aside[digit]);
        }
        let mut at = deeper.head;
        while let Some(p) = at {
            let &WheelRecord { expiry, links, .. } = nodes.record(p);
            self.push(nodes, p, expiry, self.clock);
            at = links.next;
        }
        moved
    }
}
