//! Tools for tests of structures: nodes in a vector, and random numbers.

use std::vec::Vec;

use crate::{Handle, Nodes};

/// The number of steps of a random test.
pub const STEPS: u32 = if cfg!(miri) { 120 } else { 3000 };

/// Nodes in a vector, named by their index.
#[derive(Debug)]
pub struct VecNodes<R>(pub Vec<R>);

impl Handle for usize {}

impl<R> Nodes<usize, R> for VecNodes<R> {
    fn record(&self, p: usize) -> &R {
        &self.0[p]
    }

    fn record_mut(&mut self, p: usize) -> &mut R {
        &mut self.0[p]
    }
}

/// Xorshift, after Marsaglia 2003.
#[derive(Debug)]
pub struct Random(u64);

impl Random {
    /// Creates a generator. Different seeds give different sequences.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// Returns the next random number, below `bound`.
    pub fn below(&mut self, bound: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 32) as u32) % bound
    }
}

/// Returns the numbers below `n`, in random order.
#[must_use]
pub fn shuffled(n: u32, random: &mut Random) -> Vec<u32> {
    let mut numbers: Vec<u32> = (0..n).collect();
    for i in (1..n).rev() {
        numbers.swap(i as usize, random.below(i + 1) as usize);
    }
    numbers
}
