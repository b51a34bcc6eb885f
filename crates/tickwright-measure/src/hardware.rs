//! The processor's hardware counters for the calling thread: instructions, cycles, misses.
//!
//! The counters are one group, so all of them count during the same time. If other programs hold
//! counters too, the kernel lets the groups take turns. The counts are then scaled to the whole
//! time, and [`Counted::share`] is below 1.
//!
//! Only Linux has these counters. Elsewhere [`Hardware::start`] refuses.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod other;

#[cfg(target_os = "linux")]
pub use self::linux::Hardware;
#[cfg(not(target_os = "linux"))]
pub use self::other::Hardware;

/// The counted events, in the order of [`Counted::counts`].
pub const EVENTS: [&str; 4] = ["instructions", "cycles", "cache misses", "branch misses"];

/// The counters at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reading {
    /// The counts so far, in the order of [`EVENTS`]; `None` for an event that is not counted.
    pub(crate) values: [Option<u64>; EVENTS.len()],
    /// Time in ns during which the thread ran and the counters were enabled.
    pub(crate) enabled_ns: u64,
    /// The part of that time in which the counters really counted, in ns.
    pub(crate) running_ns: u64,
}

/// The events between two readings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Counted {
    /// The counts in the order of [`EVENTS`]. An event that was not counted is NaN.
    pub counts: [f64; EVENTS.len()],
    /// The share of the thread's time in which the counters counted, from 0 to 1. Below 1, the
    /// counts are estimates.
    pub share: f64,
}

impl Reading {
    /// The events since `before`, scaled to the whole time.
    #[must_use]
    pub fn since(&self, before: &Self) -> Counted {
        let enabled = self.enabled_ns.saturating_sub(before.enabled_ns) as f64;
        let running = self.running_ns.saturating_sub(before.running_ns) as f64;
        let share = if enabled > 0.0 { (running / enabled).min(1.0) } else { 0.0 };
        let count = |at: usize| match (self.values[at], before.values[at]) {
            (Some(now), Some(then)) if share > 0.0 => now.saturating_sub(then) as f64 / share,
            _ => f64::NAN,
        };
        Counted { counts: core::array::from_fn(count), share }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(instructions: u64, enabled_ns: u64, running_ns: u64) -> Reading {
        Reading { values: [Some(instructions), None, Some(7), Some(9)], enabled_ns, running_ns }
    }

    #[test]
    fn counts_are_differences() {
        let counted = reading(1_500, 3_000, 3_000).since(&reading(500, 1_000, 1_000));
        assert_eq!((counted.counts[0], counted.counts[2], counted.share), (1_000.0, 0.0, 1.0));
        assert!(counted.counts[1].is_nan(), "an event that is not counted is no 0");
    }

    #[test]
    fn counts_of_a_part_are_scaled_to_the_whole() {
        let counted = reading(1_500, 5_000, 2_000).since(&reading(500, 1_000, 1_000));
        assert_eq!((counted.counts[0], counted.share), (4_000.0, 0.25));
    }

    #[test]
    fn counters_that_never_ran_have_no_counts() {
        for counted in [
            reading(500, 5_000, 1_000).since(&reading(500, 1_000, 1_000)),
            reading(0, 0, 0).since(&reading(0, 0, 0)),
        ] {
            assert_eq!(counted.share, 0.0);
            assert!(counted.counts.iter().all(|count| count.is_nan()));
        }
    }
}
