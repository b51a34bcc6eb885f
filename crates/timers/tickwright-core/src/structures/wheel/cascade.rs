//! Cascades: when the minimum of a bucket above level 0 has come, the bucket's nodes move to
//! buckets at lower levels.
//!
//! ```text
//!   clock 1000                          bucket entered at its minimum: clock 69700 = 17 1 4
//!   level 2  [17] 69990 70000 69700     level 2  [17] (empty)
//!   level 1                        =>   level 1  [ 5] 69990 70000       digits 17 5 38, 17 5 48
//!   level 0                             level 0  [ 4] 69700             digits 17 1 4
//! ```
//! When the clock enters a bucket, all lower levels are empty. Each node goes to the end of its new
//! bucket, in the order of the old bucket, so nodes of equal expiry stay in the order of their
//! arrival. There are three ways to cascade:
//!
//! - **whole** ([`Hierarchy::cascade_whole`]): the budget covers every pending node. The function
//!   walks the chain once, and does not repair the links of the chain on the way.
//! - **half** ([`Hierarchy::cascade_some`]): the budget might be used up before the bucket is
//!   empty. The function unlinks each node before it moves the node, and [`Cascade`] records the
//!   bucket that holds the remaining nodes.
//! - **both ends** ([`Hierarchy::cascade_from_both_ends`]): a whole cascade calls this function for
//!   a long chain. Each step of a walk waits for memory, and with two walks the processor waits for
//!   two nodes at the same time.

use super::hierarchy::{Cascade, Hierarchy, WheelRecord};
use crate::contract::Tick;
use crate::structure::{Handle, View};
use crate::structures::digits::BucketNumber;
use tickwright_nodes::chain::{Chain, Links};

/// A whole cascade moves this many nodes before it walks from both ends, because setting up two
/// walks costs as much as moving this many nodes.
const FEW: usize = 8;

impl<P: Handle, const BUCKETS: usize, const LEVELS: usize> Hierarchy<P, BUCKETS, LEVELS> {
    /// Appends `p` to the bucket that `clock` and `expiry` determine. Returns that bucket if its
    /// minimum decreased or if it was empty.
    #[inline(always)]
    pub(super) fn push(
        &mut self,
        nodes: &mut impl View<P, Self>,
        p: P,
        expiry: Tick,
        clock: Tick,
    ) -> Option<BucketNumber<BUCKETS>> {
        debug_assert!(clock <= expiry, "the clock {clock} is later than the expiry {expiry}");
        let at = BucketNumber::of(clock, expiry);
        let chain = self.buckets.chain_mut(at);
        let prev = chain.tail.replace(p);
        // A bucket whose chain has a node is marked as occupied, so `lower_min` suffices.
        let fell = match prev {
            Some(last) => {
                nodes.record_mut(last).links.next = Some(p);
                self.buckets.lower_min(at, expiry)
            }
            None => {
                chain.head = Some(p);
                self.buckets.add(at, expiry)
            }
        };
        *nodes.record_mut(p) = WheelRecord { expiry, links: Links { next: None, prev }, bucket: at };
        fell.then_some(at)
    }

    /// Marks a bucket as empty, and ends the cascade that was emptying it.
    #[inline]
    pub(super) fn empty(&mut self, at: BucketNumber<BUCKETS>) {
        self.buckets.empty(at);
        if let Some(cascade) = self.cascade
            && cascade.from == at
        {
            // The cascade's clock determines the buckets of the nodes at lower levels. For nodes at
            // higher levels, the wheel's clock and the cascade's clock give the same bucket, since
            // both clocks have the same digits from this level up.
            self.clock = cascade.clock;
            self.cascade = None;
        }
    }

    /// Continues a cascade as far as the budget allows. Each move of a node uses one unit of the
    /// budget.
    pub(super) fn cascade_some(
        &mut self,
        nodes: &mut impl View<P, Self>,
        Cascade { from, clock }: Cascade<BUCKETS>,
        budget: &mut usize,
    ) {
        // Each node is linked into its new bucket before the next node is unlinked, so the wheel is
        // consistent at every step.
        while *budget > 0
            && let Some(p) = self.buckets.at(from).chain.head
        {
            let (expiry, links) = (nodes.record(p).expiry, nodes.record(p).links);
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

    /// Empties a bucket in one call. `clock` is the bucket's earliest expiry. Returns the number of
    /// nodes that the bucket held.
    pub(super) fn cascade_whole(
        &mut self,
        nodes: &mut impl View<P, Self>,
        from: BucketNumber<BUCKETS>,
        clock: Tick,
    ) -> usize {
        debug_assert!(from.level() > 0 && self.cascade.is_none() && self.buckets.first() == Some(from));
        let Chain { head, tail } = core::mem::replace(self.buckets.chain_mut(from), Chain::EMPTY);
        self.empty(from);
        self.clock = clock;
        let mut moved = 0;
        let mut at = head;
        // Invariant: the nodes before `at` are in their new buckets, and the nodes from `at` on are
        // not in any bucket.
        while let Some(p) = at {
            if moved == FEW
                && let Some(last) = tail
            {
                return moved + self.cascade_from_both_ends(nodes, p, last);
            }
            let (expiry, links) = (nodes.record(p).expiry, nodes.record(p).links);
            self.push(nodes, p, expiry, clock);
            moved += 1;
            at = links.next;
        }
        moved
    }

    /// Moves the nodes from `front` to `back`, including both, by walks from both ends of their
    /// chain. Before the call, the nodes were in the same bucket and have been taken out of it; the
    /// clock is in that bucket's granule. Returns the number of nodes.
    ///
    /// ```text
    ///   front ->  a  b  c  d  e  f  <- back        a, b, c: to the tails of their buckets
    ///                                              f, e, d: to the heads of chains aside
    ///   bucket 5 of the level below:  a c          bucket 5 aside:  d f
    ///   in the end:                   a c d f      deeper aside:    e
    /// ```
    /// The walk from `back` fills one separate chain for each bucket of the level just below, and
    /// one chain for all nodes that belong to deeper levels. When the walks have met, each chain is
    /// appended to its bucket.
    fn cascade_from_both_ends(&mut self, nodes: &mut impl View<P, Self>, front: P, back: P) -> usize {
        let mut aside = [Chain::EMPTY; BUCKETS];
        let mut deeper = Chain::EMPTY;
        let below = nodes.record(front).bucket.level().saturating_sub(1);
        let mut touched = 0u64;
        let mut moved = 0;
        let (mut front, mut back) = (front, back);
        // Invariant: `front`, `back` and the nodes between them still have to move.
        loop {
            let (expiry, links) = (nodes.record(front).expiry, nodes.record(front).links);
            if front == back {
                self.push(nodes, front, expiry, self.clock);
                moved += 1;
                break;
            }
            let (last, prev) = (nodes.record(back).expiry, nodes.record(back).links.prev);
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
            *nodes.record_mut(back) = WheelRecord { expiry: last, links: links_of_back, bucket: at };
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
            let (expiry, links) = (nodes.record(p).expiry, nodes.record(p).links);
            self.push(nodes, p, expiry, self.clock);
            at = links.next;
        }
        moved
    }
}
