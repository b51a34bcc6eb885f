//! The record of a slot, which serves whichever structure holds the timer.

use super::choice::Kind;
use crate::contract::Tick;
use crate::family::dary_heap::InCell;
use crate::family::digits::BucketNumber;
use crate::family::flat::FlatNode;
use crate::family::ladder::LadderNode;
use crate::family::wheel::WheelNode;
use crate::storage::{Handle, Record};
use tickwright_nodes::chain::{Chained, Links};

/// The buckets of a level of the wheel.
pub(super) const BUCKETS: usize = 64;

/// Which structure last held a timer in the slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Holder(u8);

impl Holder {
    /// The first ladder. A ladder is emptied when it is left: records that it wrote mean nothing to
    /// the next one.
    const LADDER: u8 = Kind::Ladder as u8;

    /// The greatest number of times that a ladder can be left.
    pub(super) const LEAVES: u8 = u8::MAX - Self::LADDER;

    /// A structure of that kind, after `left` ladders were left.
    #[inline]
    pub(super) const fn new(kind: Kind, left: u8) -> Self {
        match kind {
            Kind::Ladder => Self(Self::LADDER + left),
            kind => Self(kind as u8),
        }
    }

    #[inline]
    const fn is_ladder(self) -> bool {
        self.0 >= Self::LADDER
    }
}

/// The record of a slot.
///
/// ```text
///            flat     heap   wheel    ladder
///   expiry   expiry          expiry   expiry
///   links                    links    next: LIVE and the arrival number
///   place             cell            placed
///   bucket                   bucket
/// ```
/// For a vacant slot `links.next` is the next vacant slot.
#[derive(Debug)]
pub struct AdaptiveRecord<P> {
    expiry: Tick,
    links: Links<P>,
    place: u32,
    bucket: BucketNumber<BUCKETS>,
    holder: Holder,
}

impl<P: Handle> AdaptiveRecord<P> {
    #[inline]
    pub(super) fn holder(&self) -> Holder {
        self.holder
    }

    /// A structure is about to insert the timer of the slot.
    #[inline]
    pub(super) fn set_holder(&mut self, holder: Holder) {
        if holder.is_ladder() && self.holder != holder {
            *self = Self::IDLE;
        }
        self.holder = holder;
    }
}

impl<P: Handle> Record<P> for AdaptiveRecord<P> {
    const IDLE: Self = Self {
        expiry: 0,
        links: Links::NONE,
        place: 0,
        bucket: BucketNumber::new(0, 0),
        holder: Holder::new(Kind::Flat, 0),
    };

    #[inline]
    fn vacant(next: Option<P>) -> Self {
        Self { links: Links { next, prev: None }, ..Self::IDLE }
    }

    #[inline]
    fn next_vacant(&self) -> Option<P> {
        self.links.next
    }

    #[inline]
    fn set_vacant(&mut self, next: Option<P>) {
        self.links.next = next;
    }

    const REMEMBERS: bool = true;

    // A dead entry of a ladder may name a slot whose timer is in another structure.
    fn forget(&mut self) {
        if self.holder.is_ladder() {
            self.expiry = 0;
            self.place = 0;
        }
    }
}

impl<P: Handle> FlatNode<P> for AdaptiveRecord<P> {
    #[inline]
    fn expiry(&self) -> Tick {
        self.expiry
    }

    #[inline]
    fn set_expiry(&mut self, expiry: Tick) {
        self.expiry = expiry;
    }
}

impl<P: Handle> InCell for AdaptiveRecord<P> {
    #[inline]
    fn cell(&self) -> usize {
        self.place as usize
    }

    #[inline]
    fn set_cell(&mut self, cell: u32) {
        self.place = cell;
    }
}

impl<P> Chained<P> for AdaptiveRecord<P> {
    #[inline]
    fn links(&self) -> &Links<P> {
        &self.links
    }

    #[inline]
    fn links_mut(&mut self) -> &mut Links<P> {
        &mut self.links
    }
}

impl<P: Handle> WheelNode<P, BUCKETS> for AdaptiveRecord<P> {
    #[inline]
    fn expiry(&self) -> Tick {
        self.expiry
    }

    #[inline]
    fn bucket(&self) -> BucketNumber<BUCKETS> {
        self.bucket
    }

    #[inline]
    fn set(&mut self, expiry: Tick, links: Links<P>, bucket: BucketNumber<BUCKETS>) {
        self.expiry = expiry;
        self.links = links;
        self.bucket = bucket;
    }
}

impl<P: Handle> LadderNode<P> for AdaptiveRecord<P> {
    #[inline]
    fn expiry(&self) -> Tick {
        self.expiry
    }

    #[inline]
    fn placed_low(&self) -> u32 {
        self.place
    }

    // The slot is not live for a ladder if another structure holds its timer.
    #[inline]
    fn link(&self) -> u32 {
        if self.holder.is_ladder() { self.links.next.map_or(0, Handle::number) } else { 0 }
    }

    #[inline]
    fn write(&mut self, expiry: Tick, placed: u32, link: u32) {
        self.expiry = expiry;
        self.place = placed;
        self.links.next = P::from_number(link);
    }
}
