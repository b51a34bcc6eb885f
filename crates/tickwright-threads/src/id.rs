//! Names of threads.

use core::fmt;
use core::num::NonZeroU64;

/// Names one thread of a runtime for ever: another one that uses its record again has another generation.
///
/// 64 bits: the generation above, and below the number of the record. Never 0. Ids of two runtimes do not mix: what a runtime answers to
/// another's is not defined, but it is an answer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadId(NonZeroU64);

impl ThreadId {
    /// `generation` is at least 1.
    pub(crate) fn new(record: u32, generation: u32) -> Option<Self> {
        NonZeroU64::new(u64::from(generation) << 32 | u64::from(record)).filter(|_| generation > 0).map(Self)
    }

    pub(crate) fn record(self) -> u32 {
        (self.0.get() & u64::from(u32::MAX)) as u32
    }

    pub(crate) fn generation(self) -> u32 {
        (self.0.get() >> 32) as u32
    }

    /// The id as a number, never 0.
    #[must_use]
    pub fn to_bits(self) -> u64 {
        self.0.get()
    }

    /// The id with that number, as it came from [`to_bits`](Self::to_bits).
    #[must_use]
    pub fn from_bits(bits: u64) -> Option<Self> {
        Self::new((bits & u64::from(u32::MAX)) as u32, (bits >> 32) as u32)
    }
}

impl fmt::Debug for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ThreadId({}.{})", self.record(), self.generation())
    }
}

impl fmt::Display for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.record(), self.generation())
    }
}
