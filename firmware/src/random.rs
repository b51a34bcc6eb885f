//! Random numbers that are the same on every board.

/// Xorshift, after Marsaglia 2003.
#[derive(Debug)]
pub struct Random(u64);

impl Random {
    /// Creates a generator. Each seed gives a different sequence.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// Returns the next number.
    #[expect(clippy::should_implement_trait, reason = "it has no end")]
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Returns the next number below `bound`.
    pub fn below(&mut self, bound: u32) -> u32 {
        (self.next() >> 32) as u32 % bound
    }
}
