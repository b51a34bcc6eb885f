//! The ids of threads.

use core::fmt;
use core::num::NonZeroU64;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The number of lower bits in a generation. The lower bits count the threads that have used a
/// record, and the upper bits are the runtime's number.
const COUNT_BITS: u32 = 22;
/// The number of different runtime numbers, including the shared number 0.
const SERIES: u32 = 1 << (u32::BITS - COUNT_BITS);

/// The number of a runtime, which is a part of the ids of its threads.
pub(crate) struct Series(u32);

/// One bit for each number, which is set while a runtime has the number. All runtimes that got no
/// number of their own share the number 0.
static TAKEN: [AtomicU64; (SERIES / 64) as usize] = [const { AtomicU64::new(0) }; (SERIES / 64) as usize];

impl Series {
    fn place(number: u32) -> Option<(&'static AtomicU64, u64)> {
        Some((TAKEN.get((number / 64) as usize)?, 1 << (number % 64)))
    }

    /// Returns a free number. Numbers are tried in ascending order, beginning after the number that
    /// was tried last, so a freed number stays unused as long as possible. If no number is free,
    /// returns the shared number 0.
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let taken = (1..SERIES).find_map(|_| {
            let number = NEXT.fetch_add(1, Ordering::Relaxed) % (SERIES - 1) + 1;
            let (word, bit) = Self::place(number)?;
            (word.fetch_or(bit, Ordering::Relaxed) & bit == 0).then_some(number)
        });
        Self(taken.unwrap_or(0))
    }

    /// Returns the generation that precedes the first generation of a record.
    pub(crate) fn first(&self) -> u32 {
        self.0 << COUNT_BITS
    }

    /// Returns the next generation, or `None` if the record's generations are used up.
    pub(crate) fn next(generation: u32) -> Option<u32> {
        let next = generation.checked_add(1)?;
        (next.trailing_zeros() < COUNT_BITS).then_some(next)
    }
}

impl Drop for Series {
    fn drop(&mut self) {
        if self.0 != 0
            && let Some((word, bit)) = Self::place(self.0)
        {
            word.fetch_and(!bit, Ordering::Relaxed);
        }
    }
}

/// Identifies one thread forever: a later thread that uses the same record has another generation.
///
/// It has 64 bits: the generation in the upper half, and the number of the record in the lower
/// half. It is never 0. The upper 10 bits of the generation are the number of the runtime, so any
/// other runtime treats the id like the id of a thread that has ended. This holds while at most
/// 1023 runtimes exist. After a runtime has ended, its number is not reused before 1022 other
/// runtimes have started.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadId(NonZeroU64);

impl ThreadId {
    /// Creates the id of a thread. `generation` is at least 1.
    pub(crate) fn new(record: u32, generation: u32) -> Option<Self> {
        NonZeroU64::new(u64::from(generation) << 32 | u64::from(record)).filter(|_| generation > 0).map(Self)
    }

    pub(crate) fn record(self) -> u32 {
        (self.0.get() & u64::from(u32::MAX)) as u32
    }

    pub(crate) fn generation(self) -> u32 {
        (self.0.get() >> 32) as u32
    }

    /// Returns the id as a number, never 0.
    #[must_use]
    pub fn to_bits(self) -> u64 {
        self.0.get()
    }

    /// Returns the id whose [`to_bits`](Self::to_bits) is `bits`.
    #[must_use]
    pub fn from_bits(bits: u64) -> Option<Self> {
        Self::new((bits & u64::from(u32::MAX)) as u32, (bits >> 32) as u32)
    }
}

impl fmt::Debug for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ThreadId({self})")
    }
}

/// Prints the number of the runtime, the number of the record, and the count of threads that have
/// used the record.
impl fmt::Display for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let generation = self.generation();
        let (series, count) = (generation >> COUNT_BITS, generation & ((1 << COUNT_BITS) - 1));
        write!(f, "{series}.{}.{count}", self.record())
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
