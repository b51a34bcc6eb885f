//! Compares the wheel with a model that computes the expiries and their order by arithmetic,
//! without buckets.

use std::vec::Vec;

use super::super::{CoarseWheel, Geometry};
use crate::contract::{Span, Tick};
use crate::structures::testing::{Entry, Model, Random, twins};

/// A pending timer of the model.
#[derive(Clone, Copy, Debug)]
struct Placed {
    entry: Entry,
    /// The timer's level, or `DEPTH` if the timer was due when it was inserted.
    level: usize,
    /// The tick at which the timer entered its bucket, or the tick of its insert while it is far.
    arrival: u64,
    /// For a far timer, the tick at which it enters the top level.
    far_until: Option<Tick>,
}

#[derive(Debug, Default)]
struct Granular<const B: usize, const S: u32, const D: usize> {
    in_order: Vec<Placed>,
    arrivals: u64,
}

impl<const B: usize, const S: u32, const D: usize> Granular<B, S, D> {
    fn arrive(&mut self) -> u64 {
        self.arrivals += 1;
        self.arrivals
    }

    /// Sorts by expiry, then from higher to lower level, then by arrival. Far timers follow the
    /// timers of the top level; timers that were due when they were inserted come last.
    fn sort(&mut self) {
        self.in_order.sort_by_key(|&Placed { entry, level, arrival, far_until }| {
            let rank = if level == D { D } else { D - 1 - level };
            // Two buckets of level 0 end at the last tick.
            let granule = if level == 0 { entry.deadline } else { 0 };
            (entry.expiry, rank, granule, far_until.is_some(), arrival)
        });
    }

    /// Far timers enter the top level in the order in which they were inserted.
    fn refile(&mut self, now: Tick) {
        let mut far: Vec<usize> = (0..self.in_order.len())
            .filter(|&at| self.in_order[at].far_until.is_some_and(|until| until <= now))
            .collect();
        far.sort_by_key(|&at| (self.in_order[at].far_until, self.in_order[at].arrival));
        for at in far {
            self.in_order[at].arrival = self.arrive();
            self.in_order[at].far_until = None;
        }
    }

    /// Computes step by step in which far buckets a timer waits, and until when.
    fn far_until(deadline: Tick, now: Tick) -> Option<Tick> {
        let granule = Geometry::<B, S, D>::granule(D - 1);
        let last = deadline / granule * granule;
        let mut clock = now;
        while deadline / granule - clock / granule >= B as u64 {
            let power = 63 - (last ^ clock).leading_zeros();
            clock = last >> power << power;
        }
        (clock > now).then_some(clock)
    }
}

impl<const B: usize, const S: u32, const D: usize> Model for Granular<B, S, D> {
    fn len(&self) -> usize {
        self.in_order.len()
    }

    fn get(&self, at: usize) -> Option<Entry> {
        self.in_order.get(at).map(|placed| placed.entry)
    }

    fn insert(&mut self, id: u32, deadline: Tick, now: Tick) {
        self.refile(now);
        let deadline = deadline.max(now);
        let level = match Geometry::<B, S, D>::level(deadline - now) {
            _ if deadline == now => D,
            Some(level) => level,
            None => D - 1,
        };
        let expiry = if level == D { now } else { Geometry::<B, S, D>::bucket_end(deadline, level) };
        let (arrival, far_until) = (self.arrive(), Self::far_until(deadline, now));
        let entry = Entry { id, deadline, expiry };
        self.in_order.push(Placed { entry, level, arrival, far_until });
        self.sort();
    }

    fn remove(&mut self, id: u32) {
        self.in_order.retain(|placed| placed.entry.id != id);
    }

    /// A timer stays in its bucket if the bucket's end is a valid expiry for the new deadline.
    fn reschedule(&mut self, id: u32, deadline: Tick, now: Tick) {
        self.refile(now);
        let placed = self.in_order.iter_mut().find(|placed| placed.entry.id == id).unwrap();
        let stays = placed.far_until.is_none()
            && placed.level < D
            && placed.entry.expiry > now
            && deadline > now
            && Geometry::<B, S, D>::same_bucket(placed.entry.deadline, deadline, placed.level)
            && Geometry::<B, S, D>::level(deadline - now).unwrap_or(D) >= placed.level;
        if stays {
            placed.entry.deadline = deadline;
            self.sort();
        } else {
            self.remove(id);
            self.insert(id, deadline, now);
        }
    }

    /// Draws a span that has a random number of bits, or that is near the least delay of a level.
    fn span(random: &mut Random) -> Span {
        let bits = random.below(65);
        let any = u64::from(random.below(u32::MAX)) << 32 | u64::from(random.below(u32::MAX));
        match random.below(8) {
            0 => 0,
            1 => u64::from(random.below(4)),
            2..=4 => {
                let start = Geometry::<B, S, D>::start(random.below(D as u32 + 1) as usize);
                (start + u64::from(random.below(5))).saturating_sub(2)
            }
            5 => Span::MAX,
            6 => any.checked_shr(64 - bits.min(12)).unwrap_or(0),
            _ => any.checked_shr(64 - bits).unwrap_or(0),
        }
    }
}

fn against_the_model<const B: usize, const S: u32, const D: usize>() {
    let (ids, seeds) = if cfg!(miri) { (10, 1..11) } else { (40, 0..40) };
    twins::<CoarseWheel<B, S, D>, Granular<B, S, D>>(ids, seeds);
}

#[test]
fn agrees_with_the_model() {
    against_the_model::<64, 3, 9>();
}

#[test]
fn agrees_with_the_model_in_other_geometries() {
    against_the_model::<8, 2, 4>();
    against_the_model::<16, 4, 3>();
    against_the_model::<64, 3, 8>();
    against_the_model::<2, 1, 2>();
}
