//! What time it is, and in which unit: nanoseconds of a clock, and ticks of a queue.

use core::fmt;
use core::time::Duration;
use std::sync::Arc;

use tickwright::clock::{Clock, SystemClock};

use crate::word::NEVER;

/// Where the time comes from. The clock of the machine is asked without a pointer in between.
pub(crate) enum Time {
    Machine,
    Other(Arc<dyn Clock>),
}

impl Time {
    /// Nanoseconds since the origin of the clock.
    #[inline]
    pub(crate) fn now(&self) -> u64 {
        match self {
            Self::Machine => SystemClock::Monotonic.now().as_nanos(),
            Self::Other(clock) => clock.now().as_nanos(),
        }
    }

    /// Whether a look at the clock is for a test, where it is to be exact rather than cheap.
    #[inline]
    pub(crate) fn is_machine(&self) -> bool {
        matches!(self, Self::Machine)
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_machine() { "Machine" } else { "Other" })
    }
}

/// How long a tick is, as a power of two in nanoseconds, and how many ticks are coalesced.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    shift: u32,
    /// Deadlines have none of these bits.
    coalesced: u64,
}

impl Scale {
    /// The longest tick that is not longer than `resolution`, from 8 ns to 1.07 s, and the most
    /// ticks that `slack` allows to be late.
    pub(crate) fn new(resolution: Duration, slack: Duration) -> Self {
        let power = |nanos: u64| nanos.max(1).ilog2();
        let shift = power(nanos(resolution)).clamp(3, 30);
        let ticks = nanos(slack) >> shift;
        Self { shift, coalesced: (1 << power(ticks).min(60)) - 1 }
    }

    /// The tick that begins at `nanos` or later, within the slack. Never early.
    #[inline]
    pub(crate) fn deadline(self, nanos: u64) -> u64 {
        let up = (1 << self.shift) - 1;
        let tick = (nanos >> self.shift) + u64::from(nanos & up > 0);
        (tick.saturating_add(self.coalesced) & !self.coalesced).min(NEVER)
    }

    /// The tick that the moment is in, before [`NEVER`].
    #[inline]
    pub(crate) fn now(self, nanos: u64) -> u64 {
        (nanos >> self.shift).min(NEVER - 1)
    }

    /// When a tick begins. [`u64::MAX`]: after the end of the clock.
    pub(crate) fn start(self, tick: u64) -> u64 {
        if tick > u64::MAX >> self.shift || tick >= NEVER { u64::MAX } else { tick << self.shift }
    }

    /// The length of a tick.
    pub(crate) fn resolution(self) -> Duration {
        Duration::from_nanos(1 << self.shift)
    }
}

/// Nanoseconds of a duration; [`u64::MAX`] for 584 years and longer.
#[inline]
pub(crate) fn nanos(duration: Duration) -> u64 {
    // Without a wide multiplication for the usual case.
    match duration.as_secs().checked_mul(1_000_000_000) {
        Some(seconds) => seconds.saturating_add(duration.subsec_nanos().into()),
        None => u64::MAX,
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
