//! The calls of a sample, and the loops that make them. Keys are drawn before any clock starts.

use std::collections::HashMap;

use clap::ValueEnum;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use super::subject::{How, Subject};
use crate::request;

/// A kind of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Keys {
    /// Ids in ascending order: a new id is the greatest
    Ascending,
    /// Addresses of control blocks, scattered over a heap; freed addresses are used again
    Addresses,
    /// Random numbers
    Random,
}

impl Keys {
    pub(crate) fn name(self) -> String {
        request::word(&self)
    }
}

/// A kind of call that is timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Measure {
    /// Destroy one object and create another.
    Churn,
    /// Look up a key that is present.
    Hit,
    /// Look up a key that is not present.
    Miss,
}

impl Measure {
    pub(crate) const ALL: [Self; 3] = [Self::Churn, Self::Hit, Self::Miss];

    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Churn => "destroy and create",
            Self::Hit => "look-up, found",
            Self::Miss => "look-up, not found",
        }
    }
}

/// The calls of a sample.
#[derive(Debug, Clone)]
pub(crate) enum Work {
    /// Objects to remove, and the keys under which the objects are inserted again.
    Churn(Vec<(u32, u64)>),
    Look(Vec<u64>),
}

/// Makes the calls. Returns a hash of the calls' results.
#[inline(never)]
pub(crate) fn perform<S: Subject>(subject: &mut S, work: &Work) -> u64 {
    let mut fold = 0;
    match work {
        Work::Churn(moves) => {
            for &(at, key) in moves {
                let done = subject.remove(at) && subject.insert(at, key);
                fold = folded(fold, done.then_some(at));
            }
        }
        Work::Look(keys) => {
            for &key in keys {
                fold = folded(fold, subject.find(key));
            }
        }
    }
    fold
}

/// Fills an empty subject with ascending keys. Returns whether all inserts succeeded, or `None` if
/// the subject does not support `how`.
#[inline(never)]
pub(crate) fn ascend<S: Subject>(subject: &mut S, count: u32, how: How) -> Option<bool> {
    let mut done = true;
    for at in 0..count {
        let key = u64::from(at) * 2;
        done &= match how {
            How::Search => subject.insert(at, key),
            how => subject.insert_last(at, key, how)?,
        };
    }
    Some(done)
}

#[inline]
fn folded(fold: u64, found: Option<u32>) -> u64 {
    (fold.rotate_left(5) ^ found.map_or(u64::MAX, u64::from)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// The size of a control block in bytes. The size is not a power of two, so that the low bits of
/// addresses vary.
const BLOCK: u64 = 0x240;
const HEAP: u64 = 0x7f00_0000_0000;

/// Draws the work of samples and computes the right results with a hash map of the standard library
/// and a list of the objects' keys.
pub(crate) struct Model {
    keys: Keys,
    random: Pcg64,
    /// The key of each object.
    live: Vec<u64>,
    by_key: HashMap<u64, u32>,
    /// Addresses that no object uses.
    spare: Vec<u64>,
    next: u64,
}

impl Model {
    /// Creates a model of `population` objects, which are inserted in the order of their numbers.
    pub(crate) fn new(keys: Keys, population: usize, seed: u64) -> Self {
        let mut random = Pcg64::seed_from_u64(seed);
        let mut model = Self {
            keys,
            live: Vec::with_capacity(population),
            by_key: HashMap::with_capacity(population),
            spare: Vec::new(),
            next: 0,
            random: Pcg64::seed_from_u64(seed ^ 1),
        };
        if keys == Keys::Addresses {
            let blocks = population + (population / 4).max(16);
            model.spare = (0..blocks as u64).map(|block| HEAP + block * BLOCK).collect();
            rand::seq::SliceRandom::shuffle(model.spare.as_mut_slice(), &mut random);
        }
        for at in (0..).take(population) {
            let key = model.fresh();
            model.live.push(key);
            model.by_key.insert(key, at);
        }
        model
    }

    /// Returns the keys of all objects, by number.
    pub(crate) fn live(&self) -> &[u64] {
        &self.live
    }

    /// Returns a key that no object has. All keys are even.
    fn fresh(&mut self) -> u64 {
        match self.keys {
            Keys::Ascending => {
                self.next += 2;
                self.next
            }
            Keys::Addresses => {
                let at = self.random.random_range(0..self.spare.len());
                self.spare.swap_remove(at)
            }
            Keys::Random => loop {
                let key = self.random.random::<u64>() & !1;
                if !self.by_key.contains_key(&key) {
                    break key;
                }
            },
        }
    }

    fn anyone(&mut self) -> u32 {
        let most = u32::try_from(self.live.len()).unwrap_or(u32::MAX);
        self.random.random_range(0..most.max(1))
    }

    /// Draws the work of a sample. Also returns the hash that [`perform`] must return for this
    /// work.
    pub(crate) fn draw(&mut self, measure: Measure, calls: usize) -> (Work, u64) {
        let mut fold = 0;
        let work = match measure {
            Measure::Churn => Work::Churn(
                (0..calls)
                    .map(|_| {
                        let at = self.anyone();
                        let old = self.live[at as usize];
                        self.by_key.remove(&old);
                        let key = self.fresh();
                        if self.keys == Keys::Addresses {
                            self.spare.push(old);
                        }
                        self.live[at as usize] = key;
                        self.by_key.insert(key, at);
                        fold = folded(fold, Some(at));
                        (at, key)
                    })
                    .collect(),
            ),
            Measure::Hit | Measure::Miss => Work::Look(
                (0..calls)
                    .map(|_| {
                        let at = self.anyone();
                        let key = self.live[at as usize] | u64::from(measure == Measure::Miss);
                        fold = folded(fold, self.by_key.get(&key).copied());
                        key
                    })
                    .collect(),
            ),
        };
        (work, fold)
    }
}
