//! Tools for the tests of the families: nodes in a vector, random numbers, and a sorted vector to
//! compare with.

use std::vec::Vec;

pub(crate) use tickwright_nodes::testing::{Random, STEPS, VecNodes, shuffled};

use crate::contract::{Inserted, Pending, Removed, Tick, TimerQueue};
use crate::storage::hook::{HookPtr, HookQueue, Timer};
use crate::storage::slab::{Idx, SlabQueue};
use crate::storage::{Family, Ordered};

/// A queue and a sorted vector side by side; every step compares them and verifies the structure.
struct Twin<Q: TimerQueue, V> {
    queue: Q,
    /// What to insert for an id.
    value: V,
    /// The id of a value.
    id: fn(&Q::Value) -> u32,
    /// All pending timers in order.
    in_order: fn(&Q) -> Vec<Pending<Q::Key>>,
    /// Expiry and id, in order.
    model: Vec<(Tick, u32)>,
    keys: Vec<Option<Q::Key>>,
}

impl<Q: TimerQueue, V: Fn(u32) -> Q::Value> Twin<Q, V> {
    fn enter(&mut self, id: u32, expiry: Tick) {
        let at = self.model.partition_point(|&(other, _)| other <= expiry);
        self.model.insert(at, (expiry, id));
    }

    fn leave(&mut self, id: u32) {
        self.model.retain(|&(_, other)| other != id);
    }

    fn is_head(&self, id: u32) -> bool {
        self.model.first().is_some_and(|&(_, head)| head == id)
    }

    fn insert(&mut self, id: u32, deadline: Tick) {
        let value = (self.value)(id);
        let Ok(Inserted { key, head: change }) = self.queue.insert(deadline, value) else {
            panic!("timer {id} was refused")
        };
        self.keys[id as usize] = Some(key);
        self.enter(id, deadline.max(self.queue.now()));
        assert_eq!(change.is_changed(), self.is_head(id), "report of inserting {id}");
        self.compare();
    }

    fn remove(&mut self, id: u32) {
        let was_head = self.is_head(id);
        let key = self.keys[id as usize].take().unwrap();
        let Removed { value, head: change } = self.queue.remove(key).unwrap();
        assert_eq!((self.id)(&value), id);
        self.leave(id);
        assert_eq!(change.is_changed(), was_head, "report of removing {id}");
        self.compare();
    }

    fn reschedule(&mut self, id: u32, deadline: Tick) {
        let was_head = self.is_head(id);
        let change = self.queue.reschedule(self.keys[id as usize].unwrap(), deadline).unwrap();
        self.leave(id);
        self.enter(id, deadline.max(self.queue.now()));
        assert_eq!(change.is_changed(), was_head || self.is_head(id), "report of rescheduling {id}");
        self.compare();
    }

    fn pop(&mut self, now: Tick) {
        let expired = self.queue.pop_expired(now);
        let now = self.queue.now();
        match self.model.first().copied().filter(|&(expiry, _)| expiry <= now) {
            Some((expiry, id)) => {
                let expired = expired.unwrap();
                assert_eq!(
                    (expired.expiry, expired.deadline, (self.id)(&expired.value)),
                    (expiry, expiry, id)
                );
                self.model.remove(0);
                self.keys[id as usize] = None;
            }
            None => assert!(expired.is_none()),
        }
        self.compare();
    }

    fn pop_and_reinsert(&mut self, delay: Tick) {
        let Some(&(expiry, id)) = self.model.first() else { return };
        let expired = self.queue.pop_and_reinsert(expiry, |at, _| at + delay).unwrap();
        assert_eq!(Some(expired.key), self.keys[id as usize]);
        self.leave(id);
        self.enter(id, (expiry + delay).max(self.queue.now()));
        self.compare();
    }

    fn compare(&self) {
        let pending = |at: usize| {
            let &(expiry, id) = self.model.get(at)?;
            Some(Pending { key: self.keys[id as usize]?, expiry })
        };
        assert_eq!(self.queue.check(), Ok(()));
        assert_eq!(self.queue.len(), self.model.len());
        assert_eq!(self.queue.peek(), pending(0));
        assert_eq!(self.queue.second(), pending(1));
        assert_eq!(self.queue.next_wake(), self.model.first().map(|&(expiry, _)| expiry));
        let in_order = (self.in_order)(&self.queue);
        assert!(in_order.iter().copied().eq((0..self.model.len()).filter_map(pending)), "{in_order:?}");
    }

    /// Random operations with many equal deadlines; the population swings between none and all.
    fn random(&mut self, seed: u64) {
        let mut random = Random::new(seed);
        let ids = u32::try_from(self.keys.len()).unwrap();
        for step in 0..STEPS {
            let id = random.below(ids);
            let deadline = self.queue.now() + Tick::from(random.below(ids));
            let growing = step / (4 * ids) % 2 == 0;
            match (self.keys[id as usize].is_some(), random.below(8)) {
                (false, 0..=1) => self.pop(deadline),
                (false, 2) => self.pop_and_reinsert(Tick::from(random.below(ids))),
                (false, 3..=5) if !growing => {}
                (false, _) => self.insert(id, deadline),
                (true, 0..=2) => self.reschedule(id, deadline),
                (true, 3..=5) if growing => {}
                (true, _) => self.remove(id),
            }
        }
    }

    /// Inserts a timer for each of `deadlines`, then removes them in the order that `next` chooses
    /// out of the model.
    fn fill_and_drain(&mut self, deadlines: &[u32], mut next: impl FnMut(&Self) -> u32) {
        for (id, &deadline) in (0..).zip(deadlines) {
            self.insert(id, self.queue.now() + Tick::from(deadline));
        }
        for _ in deadlines {
            let id = next(self);
            self.remove(id);
        }
    }

    /// The orders of insertion and removal that trees and lists are sensitive to.
    fn named_orders(&mut self) {
        let ids = u32::try_from(self.keys.len()).unwrap();
        let mut random = Random::new(7);
        let ascending: Vec<u32> = (0..ids).collect();
        let descending: Vec<u32> = (0..ids).rev().collect();
        let equal: Vec<u32> = (0..ids).map(|_| 5).collect();
        let mixed = shuffled(ids, &mut random);
        for deadlines in [&ascending, &descending, &equal, &mixed] {
            self.fill_and_drain(deadlines, |twin| twin.model[0].1);
            self.fill_and_drain(deadlines, |twin| twin.model[twin.model.len() - 1].1);
            self.fill_and_drain(deadlines, |twin| twin.model[twin.model.len() / 2].1);
            let mut inserted = 0..ids;
            self.fill_and_drain(deadlines, |_| inserted.next().unwrap());
            for (id, &deadline) in (0..).zip(deadlines) {
                self.insert(id, self.queue.now() + Tick::from(deadline));
            }
            for _ in deadlines {
                self.pop(Tick::from(2 * ids) + self.queue.now());
            }
        }
    }

    fn run(mut self) {
        self.named_orders();
        for seed in 0..4 {
            self.random(seed);
        }
    }
}

const IDS: u32 = if cfg!(miri) { 12 } else { 60 };

/// Holds a family to a sorted vector, over both storages.
pub(super) fn against_sorted_vec<F: Family>()
where
    F::Of<Idx>: Ordered<Idx>,
    F::Of<HookPtr<F>>: Ordered<HookPtr<F>>,
{
    let slab = Twin {
        queue: SlabQueue::<F, u32>::new(),
        value: |id| id,
        id: |&value| value,
        in_order: |queue| queue.iter().map(|(pending, _)| pending).collect(),
        model: Vec::new(),
        keys: (0..IDS).map(|_| None).collect(),
    };
    slab.run();
    let timers: Vec<Timer<F, u32>> = (0..IDS).map(Timer::new).collect();
    let hook = Twin {
        queue: HookQueue::<'_, F, u32>::new(),
        value: |id| &timers[id as usize],
        id: |timer| timer.payload,
        in_order: |queue| queue.iter().collect(),
        model: Vec::new(),
        keys: (0..IDS).map(|_| None).collect(),
    };
    hook.run();
}
