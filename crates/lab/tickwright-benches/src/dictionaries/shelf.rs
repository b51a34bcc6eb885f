//! All dictionaries, alive at the same time. One dynamic call starts each sample.

use tickwright_collections::{Avl, BPlusDict, RedBlack, SlabDict};

use super::intrusive;
use super::subject::{ByKey, Hooks, How, Intrusive, Kind, Mapped, Owned, Slab, Subject, nodes};
use super::work::{Work, ascend, perform};
use crate::clock::Meter;

/// A dictionary that is sampled repeatedly.
pub(crate) trait Sampler: Subject {
    /// Makes the calls of `work`. Returns the total time of the calls in ns, and a hash of their
    /// results.
    fn sample(&mut self, work: &Work, meter: &dyn Meter) -> (u64, u64);

    /// Fills the dictionary in ascending order, then empties it. Returns the time of the filling in
    /// ns, or `None` if the dictionary does not support `how` or lost an entry.
    fn ascend(&mut self, count: u32, how: How, meter: &dyn Meter) -> Option<u64>;
}

impl<S: Subject> Sampler for S {
    fn sample(&mut self, work: &Work, meter: &dyn Meter) -> (u64, u64) {
        let start = meter.now();
        let fold = perform(self, work);
        (meter.now().saturating_sub(start), fold)
    }

    fn ascend(&mut self, count: u32, how: How, meter: &dyn Meter) -> Option<u64> {
        let start = meter.now();
        let filled = ascend(self, count, how);
        let ns = meter.now().saturating_sub(start);
        let whole = filled == Some(true) && self.holds(count as usize);
        self.clear();
        whole.then_some(ns)
    }
}

/// A dictionary and its sampler.
pub(crate) struct Lane<'s> {
    pub(crate) kind: Kind,
    pub(crate) sampler: Box<dyn Sampler + 's>,
}

/// Calls `user` with empty dictionaries that have room for `count` objects.
pub(crate) fn with_all<R>(kinds: &[Kind], count: usize, user: impl FnOnce(Vec<Lane<'_>>) -> R) -> R {
    // Nodes are created only for the dictionaries that are measured.
    let of = |kind| if kinds.contains(&kind) { count } else { 0 };
    let red_black = nodes::<RedBlack>(of(Kind::OdictHook));
    let avl = nodes::<Avl>(of(Kind::AvlHook));
    let intrusive_nodes = intrusive::nodes(of(Kind::IntrusiveRbtree));
    let lane = |&kind: &Kind| -> Lane<'_> {
        let sampler: Box<dyn Sampler + '_> = match kind {
            Kind::OdictHook => Box::new(Hooks::new(&red_black)),
            Kind::AvlHook => Box::new(Hooks::new(&avl)),
            Kind::OdictSlab => Box::new(Slab::<RedBlack>::new(SlabDict::balanced(ByKey), count)),
            Kind::AvlSlab => Box::new(Owned::<SlabDict<_, _, Avl>>::new(SlabDict::balanced(ByKey), count)),
            Kind::Bplus => Box::new(Owned::new(BPlusDict::new(ByKey), count)),
            Kind::BtreeMap => Box::new(Mapped::<std::collections::BTreeMap<u64, u32>>::new(count)),
            Kind::HashMap => Box::new(Mapped::<std::collections::HashMap<u64, u32>>::new(count)),
            Kind::IntrusiveRbtree => Box::new(Intrusive::new(&intrusive_nodes)),
        };
        Lane { kind, sampler }
    };
    user(kinds.iter().map(lane).collect())
}
