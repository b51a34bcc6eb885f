//! The processor's own counter, for operations that take nanoseconds. If no counter can be trusted,
//! the system's clock is read instead.
#![allow(unsafe_code, reason = "the intrinsic that reads the counter is an unsafe function")]

use std::fmt;
use std::fs;

use serde::Serialize;

use crate::clock::{Meter, OsClock};

/// A counter that has a constant rate and is fast to read. It is calibrated against the system's
/// clock.
#[derive(Debug, Clone, Copy)]
pub struct Counter {
    source: Source,
    ns_per_count: f64,
}

#[derive(Debug, Clone, Copy)]
enum Source {
    /// The time-stamp counter of x86.
    #[cfg(any(target_arch = "x86_64", all(target_arch = "x86", target_feature = "sse2")))]
    TimeStamp,
    /// Nanoseconds.
    Clock(OsClock),
}

/// The properties of a counter, for reports.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Calibrated {
    /// The source of the counts: the processor or the system's clock.
    pub source: &'static str,
    /// Nanoseconds per count.
    pub ns_per_count: f64,
    /// Mean cost of a reading, in ns.
    pub reading_ns: f64,
}

/// Duration of one comparison of counter and clock. The median of several comparisons is used.
const COMPARED_NS: u64 = 5_000_000;
const COMPARISONS: usize = 5;
const READINGS: u32 = 4096;

impl Counter {
    /// Returns the best counter of this machine. Takes 25 ms.
    pub fn start() -> Self {
        let clock = OsClock::start();
        #[cfg(any(target_arch = "x86_64", all(target_arch = "x86", target_feature = "sse2")))]
        if even(&fs::read_to_string("/proc/cpuinfo").unwrap_or_default()) {
            let mut counter = Self { source: Source::TimeStamp, ns_per_count: 1.0 };
            let mut ratios: Vec<f64> = (0..COMPARISONS).map(|_| counter.against(clock)).collect();
            ratios.sort_by(f64::total_cmp);
            counter.ns_per_count = ratios[COMPARISONS / 2];
            return counter;
        }
        Self { source: Source::Clock(clock), ns_per_count: 1.0 }
    }

    /// Compares the counter with `clock` and returns ns per count.
    fn against(&self, clock: OsClock) -> f64 {
        let (from, counts) = (clock.now(), self.read());
        let mut to = from;
        while to.saturating_sub(from) < COMPARED_NS {
            to = clock.now();
        }
        (to - from) as f64 / self.read().wrapping_sub(counts).max(1) as f64
    }

    /// Reads the counter. At the reading, all earlier instructions of the program have completed,
    /// and no later one has begun.
    #[inline(always)]
    pub fn read(&self) -> u64 {
        match self.source {
            #[cfg(any(target_arch = "x86_64", all(target_arch = "x86", target_feature = "sse2")))]
            Source::TimeStamp => time_stamp(),
            Source::Clock(clock) => clock.now(),
        }
    }

    /// Converts counts to ns.
    pub fn ns(&self, counts: u64) -> f64 {
        counts as f64 * self.ns_per_count
    }

    /// Returns the source, the rate and the cost of the counter.
    pub fn calibrated(&self) -> Calibrated {
        let from = self.read();
        let last = (0..READINGS).fold(from, |_, _| self.read());
        let source = match self.source {
            #[cfg(any(target_arch = "x86_64", all(target_arch = "x86", target_feature = "sse2")))]
            Source::TimeStamp => "time-stamp counter",
            Source::Clock(_) => "system clock (no even cycle counter)",
        };
        let reading_ns = self.ns(last.wrapping_sub(from)) / f64::from(READINGS);
        Calibrated { source, ns_per_count: self.ns_per_count, reading_ns }
    }
}

impl fmt::Display for Calibrated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {:.3} ns a count, one reading costs {:.1} ns",
            self.source, self.ns_per_count, self.reading_ns
        )
    }
}

/// Whether the processor states that its counter keeps its rate and never stops.
fn even(cpuinfo: &str) -> bool {
    cpuinfo.lines().find(|line| line.starts_with("flags")).is_some_and(|flags| {
        ["constant_tsc", "nonstop_tsc"]
            .iter()
            .all(|wanted| flags.split_whitespace().any(|flag| flag == *wanted))
    })
}

#[cfg(any(target_arch = "x86_64", all(target_arch = "x86", target_feature = "sse2")))]
#[inline(always)]
fn time_stamp() -> u64 {
    #[cfg(target_arch = "x86")]
    use core::arch::x86::{_mm_lfence, _rdtsc};
    #[cfg(target_arch = "x86_64")]
    use core::arch::x86_64::{_mm_lfence, _rdtsc};
    // SAFETY: (1) the target has SSE2, as the cfg requires, and the fence needs nothing else.
    unsafe { _mm_lfence() };
    // SAFETY: 1. The target is x86, and the instruction is older than every processor that Rust
    // supports. 2. The instruction touches no memory. 3. Linux forbids the instruction only to
    // processes that ask for this.
    let stamp = unsafe { _rdtsc() };
    // SAFETY: as above.
    unsafe { _mm_lfence() };
    stamp
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flags_of_the_processor_decide() {
        assert!(even("model name\t: X\nflags\t\t: fpu constant_tsc rep_good nonstop_tsc\n"));
        for none in
            ["", "flags\t: fpu constant_tsc", "flags\t: nonstop_tsc", "other\t: constant_tsc nonstop_tsc"]
        {
            assert!(!even(none), "{none}");
        }
    }

    #[test]
    fn it_counts_up() {
        let counter = Counter::start();
        let first = counter.read();
        assert!(counter.read() >= first);
        assert!(counter.ns_per_count > 0.0);
        assert_eq!(counter.ns(0), 0.0);
    }
}
