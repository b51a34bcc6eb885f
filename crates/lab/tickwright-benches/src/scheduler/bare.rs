//! The same work as in the parent module, on the bare queue.

use core::time::Duration;

use tickwright::scheduler::Structure;
use tickwright::time::{Instant, Ticks};
use tickwright_core::structure::Shape;
use tickwright_core::{Family, Key, SlabQueue};

use crate::clock::Meter;

/// Adds, then deletes in the order of the adds. The first pass is a warm-up.
pub(super) struct Work<'a> {
    pub(super) delays: &'a [Duration],
    pub(super) ticks: Ticks,
    pub(super) passes: usize,
    pub(super) meter: &'a dyn Meter,
}

macro_rules! and_slab_only {
    ([$($head:tt)*] $($rows:tt)+) => {
        tickwright_core::for_each_slab_only_family!(table [$($rows)+]);
    };
}

macro_rules! table {
    ([$($id:literal => $family:ty;)+] $($slab_id:literal => $slab_family:ty;)+) => {
        /// Returns whether an insert walks a list.
        pub(super) fn is_linear(structure: Structure) -> bool {
            let shape = match structure.id() {
                $($id => Some(<$family as Family>::SHAPE),)+
                $($slab_id => Some(<$slab_family as Family>::SHAPE),)+
                _ => None,
            };
            matches!(shape, Some(Shape::List))
        }

        /// Returns the time of all adds and of all deletes in ns, on a queue with room for the
        /// timers; or `None` if a timer was lost.
        pub(super) fn times(structure: Structure, work: &Work<'_>) -> Option<(u64, u64)> {
            match structure.id() {
                $($id => of::<$family>(work),)+
                $($slab_id => of::<$slab_family>(work),)+
                _ => None,
            }
        }
    };
}

tickwright_core::for_each_family!(and_slab_only []);

fn of<F: Family>(work: &Work<'_>) -> Option<(u64, u64)> {
    let deadlines: Vec<u64> =
        work.delays.iter().map(|delay| work.ticks.deadline(Instant::ZERO + *delay)).collect();
    let mut queue = SlabQueue::<F, u32>::with_capacity(deadlines.len()).ok()?;
    let mut keys: Vec<Option<Key>> = vec![None; deadlines.len()];
    let (mut add, mut del) = (0, 0);
    for pass in 0..=work.passes {
        let start = work.meter.now();
        for ((id, &deadline), key) in (0..).zip(&deadlines).zip(&mut keys) {
            *key = queue.insert_at(deadline, id, 0).ok();
        }
        let added = work.meter.now();
        queue.next_expiry()?;
        let begun = work.meter.now();
        for key in &mut keys {
            queue.remove(key.take()?).ok()?;
        }
        let end = work.meter.now();
        if queue.next_expiry().is_some() {
            return None;
        }
        if pass > 0 {
            add += added.saturating_sub(start);
            del += end.saturating_sub(begun);
        }
    }
    Some((add, del))
}
