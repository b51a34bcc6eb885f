//! The time in both units: nanoseconds of a clock, and ticks of a queue.

use core::fmt;
use core::time::Duration;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use tickwright::time::{Clock, SystemClock};

use crate::coop;
use crate::word::NEVER;

/// Where the time comes from. The clock of the machine is read without a call through a pointer.
pub(crate) enum Time {
    Machine,
    /// Another clock, with the offsets to add and subtract to get the time of the machine's clock.
    Other {
        clock: Arc<dyn Clock>,
        add: u64,
        sub: u64,
        /// The clock is a [`TestClock`](crate::TestClock).
        is_test: bool,
    },
}

impl Time {
    /// Another clock. Its time continues from the present time of the machine's clock. The clock of
    /// a test began with that time, so its time is used without an offset.
    pub(crate) fn other(clock: Arc<dyn Clock>, is_test: bool, scale: Scale) -> Self {
        let (machine, other) = (machine(), clock.now().as_nanos());
        // The offsets are whole ticks, so that a time on a tick of that clock is on a tick here.
        let whole = |nanos| scale.start(scale.now(nanos));
        let (add, sub) = if is_test {
            (0, 0)
        } else {
            (whole(machine.saturating_sub(other)), whole(other.saturating_sub(machine)))
        };
        Self::Other { clock, add, sub, is_test }
    }

    /// Nanoseconds, as the clock of the machine counts them.
    #[inline]
    pub(crate) fn now(&self) -> u64 {
        match self {
            Self::Machine => machine(),
            Self::Other { clock, .. } => self.convert(clock.now().as_nanos()),
        }
    }

    /// Converts a time of the other clock to our time.
    fn convert(&self, nanos: u64) -> u64 {
        match self {
            Self::Machine => nanos,
            Self::Other { add, sub, .. } => nanos.saturating_add(*add).saturating_sub(*sub),
        }
    }

    /// Converts our time to the time of the other clock.
    #[cfg(feature = "tokio")]
    pub(crate) fn convert_back(&self, nanos: u64) -> u64 {
        match self {
            Self::Machine => nanos,
            Self::Other { add, sub, .. } => nanos.saturating_add(*sub).saturating_sub(*add),
        }
    }

    /// The units of the budget that a poll takes which is ready without a wait. While a task works,
    /// the clock of a test stands still. Tests poll by hand, so such a poll takes less.
    pub(crate) fn late_units(&self) -> u32 {
        if matches!(self, Self::Other { is_test: true, .. }) { coop::VALUE } else { coop::LATE }
    }

    /// Whether this is the machine's clock. A test uses another clock, whose reads must be exact
    /// rather than cheap.
    #[inline]
    pub(crate) fn is_machine(&self) -> bool {
        matches!(self, Self::Machine)
    }
}

#[inline]
pub(crate) fn machine() -> u64 {
    SystemClock::Monotonic.now().as_nanos()
}

/// The same moment on the standard library's clock and on the machine's. The standard library's
/// clock is read first, so that no conversion makes a deadline earlier.
#[inline]
fn anchor() -> (Instant, u64) {
    static ANCHOR: OnceLock<(Instant, u64)> = OnceLock::new();
    *ANCHOR.get_or_init(|| {
        let standard = Instant::now();
        (standard, machine())
    })
}

/// Converts our time to an instant of the standard library. If the platform has no such instant,
/// the result is thirty years ahead.
pub(crate) fn instant(nanos: u64) -> Instant {
    let (standard, ours) = anchor();
    if let Some(ahead) = nanos.checked_sub(ours) {
        let far = || standard.checked_add(Duration::from_secs(30 * 365 * 86_400)).unwrap_or(standard);
        standard.checked_add(Duration::from_nanos(ahead)).unwrap_or_else(far)
    } else {
        standard.checked_sub(Duration::from_nanos(ours - nanos)).unwrap_or(standard)
    }
}

/// Converts an instant of the standard library to our time. The result saturates at both ends of
/// our clock.
#[inline]
pub(crate) fn nanos_at(at: Instant) -> u64 {
    let (standard, ours) = anchor();
    match at.checked_duration_since(standard) {
        Some(ahead) => ours.saturating_add(nanos(ahead)),
        None => ours.saturating_sub(nanos(standard.duration_since(at))),
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_machine() { "Machine" } else { "Other" })
    }
}

/// The length of a tick, as a power of two in nanoseconds, and how many ticks are coalesced.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    shift: u32,
    /// A mask of low bits that are 0 in every deadline.
    coalesced: u64,
}

impl Scale {
    /// Chooses the longest tick up to `resolution`, from 8 ns to 1.07 s. It coalesces as many ticks
    /// as `slack` allows.
    pub(crate) fn new(resolution: Duration, slack: Duration) -> Self {
        let power = |nanos: u64| nanos.max(1).ilog2();
        let shift = power(nanos(resolution)).clamp(3, 30);
        let ticks = nanos(slack) >> shift;
        Self { shift, coalesced: (1 << power(ticks).min(60)) - 1 }
    }

    /// The coalesced tick that begins at `nanos` or later, within the slack. Never early.
    #[inline]
    pub(crate) fn deadline(self, nanos: u64) -> u64 {
        let up = (1 << self.shift) - 1;
        let tick = (nanos >> self.shift) + u64::from(nanos & up > 0);
        (tick.saturating_add(self.coalesced) & !self.coalesced).min(NEVER)
    }

    /// The tick that contains `nanos`; always less than [`NEVER`].
    #[inline]
    pub(crate) fn now(self, nanos: u64) -> u64 {
        (nanos >> self.shift).min(NEVER - 1)
    }

    /// When a tick begins, in nanoseconds. [`u64::MAX`] if it begins after the end of the clock.
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
