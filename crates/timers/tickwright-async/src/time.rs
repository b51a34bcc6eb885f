//! The time of timers: its source, and its ticks.

use core::fmt;
use core::time::Duration;
use std::sync::Arc;

use tickwright::time::{self, Clock, SystemClock, Ticks};

use crate::coop;

#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
mod standard;

#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
pub use standard::Instant;
#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
pub(crate) use standard::{instant, nanos_at};
#[cfg(all(target_family = "wasm", target_os = "unknown"))]
pub use tickwright::time::Instant;

/// The clock of a core, and its ticks. All times are in nanoseconds since the origin of the
/// machine's clock, even if the core has another clock.
pub(crate) struct Time {
    source: Source,
    /// The ticks, whose length in nanoseconds is a power of two.
    ticks: Ticks,
    /// A mask of the low bits that are 0 in the tick of every deadline. Deadlines are rounded up to
    /// multiples of `coalesced + 1` ticks.
    coalesced: u64,
}

/// The source of the time. The clock of the machine is read without an indirect call.
enum Source {
    Machine,
    /// Another clock. A time of this clock plus `ahead` is a time of the machine's clock.
    Other {
        clock: Arc<dyn Clock>,
        ahead: i64,
        is_test: bool,
    },
}

impl Time {
    /// Chooses the longest tick that is at most `resolution`, from 8 ns to 1.07 s, and coalesces as
    /// many ticks as `slack` allows. If there is another clock, its times are shifted so that it
    /// starts at the current time of the machine's clock.
    pub(crate) fn new(
        resolution: Duration,
        slack: Duration,
        clock: Option<Arc<dyn Clock>>,
        is_test: bool,
    ) -> Self {
        let power = |nanos: u64| nanos.max(1).ilog2();
        let ticks = Ticks::of(1 << power(nanos(resolution)).clamp(3, 30));
        let coalesced = (1 << power(ticks.now(time::Instant::ZERO + slack)).min(60)) - 1;
        let source = clock.map_or(Source::Machine, |clock| {
            // A whole number of ticks, so that ticks of the other clock begin where ticks begin
            // here.
            let ahead = i128::from(machine()) - i128::from(clock.now().as_nanos());
            let ahead = ahead.clamp(-i128::from(i64::MAX), i64::MAX.into()) as i64;
            let ahead = if is_test { 0 } else { ahead - ahead % ticks.nanoseconds() as i64 };
            Source::Other { clock, ahead, is_test }
        });
        Self { source, ticks, coalesced }
    }

    #[inline]
    pub(crate) fn now(&self) -> u64 {
        match &self.source {
            Source::Machine => machine(),
            Source::Other { clock, ahead, .. } => clock.now().as_nanos().saturating_add_signed(*ahead),
        }
    }

    /// Converts a time to the time of the other clock.
    #[cfg(feature = "tokio")]
    pub(crate) fn convert_back(&self, nanos: u64) -> u64 {
        match self.source {
            Source::Machine => nanos,
            Source::Other { ahead, .. } => nanos.saturating_add_signed(-ahead),
        }
    }

    /// Returns how many units of the budget a poll takes that is ready without a wait. With the
    /// clock of a test it takes fewer units, because such a clock stands still while a task works,
    /// and because tests poll by hand.
    pub(crate) fn late_units(&self) -> u32 {
        if matches!(self.source, Source::Other { is_test: true, .. }) { coop::VALUE } else { coop::LATE }
    }

    /// Returns whether this is the machine's clock. Tests use another clock, whose reads must be
    /// exact rather than cheap.
    #[inline]
    pub(crate) fn is_machine(&self) -> bool {
        matches!(self.source, Source::Machine)
    }

    /// Returns the first coalesced tick that begins at `nanos` or later, so a timer is never early.
    /// No clock reaches the tick of [`u64::MAX`].
    #[inline]
    pub(crate) fn deadline(&self, nanos: u64) -> u64 {
        let tick = self.ticks.deadline(time::Instant::from_nanos(nanos));
        (tick + self.coalesced) & !self.coalesced
    }

    /// Returns the tick that contains `nanos`.
    #[inline]
    pub(crate) fn tick(&self, nanos: u64) -> u64 {
        self.ticks.now(time::Instant::from_nanos(nanos))
    }

    /// Returns when a tick begins, or [`u64::MAX`] if it begins beyond the clock's range.
    pub(crate) fn start(&self, tick: u64) -> u64 {
        self.ticks.start(tick).as_nanos()
    }

    /// Returns the length of a tick.
    pub(crate) fn resolution(&self) -> Duration {
        Duration::from_nanos(self.ticks.nanoseconds())
    }
}

#[inline]
pub(crate) fn machine() -> u64 {
    SystemClock::Monotonic.now().as_nanos()
}

/// On this target the standard library's `Instant` is not used, because its clock panics.
#[cfg(all(target_family = "wasm", target_os = "unknown"))]
pub(crate) fn instant(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

#[cfg(all(target_family = "wasm", target_os = "unknown"))]
pub(crate) fn nanos_at(at: Instant) -> u64 {
    at.as_nanos()
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_machine() { "Machine" } else { "Other" })
    }
}

/// Returns the nanoseconds of a duration, or [`u64::MAX`] if it is 584 years or longer.
#[inline]
pub(crate) fn nanos(duration: Duration) -> u64 {
    (time::Instant::ZERO + duration).as_nanos()
}

#[cfg(all(test, not(loom)))]
mod tests;
