//! A point in time on a clock.

use core::fmt;
use core::ops::{Add, AddAssign, Sub};
use core::time::Duration;

/// A point on a clock's steady timeline: nanoseconds since the clock's origin.
///
/// Each [`Clock`](super::Clock) has its own origin, so compare only instants of the same clock. The
/// first instant is [`ZERO`](Self::ZERO), and the last instant is [`MAX`](Self::MAX), 584 years
/// later. Arithmetic saturates at both.
///
/// ```
/// use core::time::Duration;
/// use tickwright::time::{Clock, Instant, VirtualHost};
///
/// let host = VirtualHost::new();
/// let clock = host.monotonic();
/// let start = clock.now();
/// host.advance(Duration::from_millis(2));
/// assert_eq!(clock.now(), start + Duration::from_millis(2));
/// assert_eq!(clock.now().duration_since(start), Duration::from_millis(2));
/// assert_eq!(start.duration_since(clock.now()), Duration::ZERO, "not negative");
/// assert_eq!(clock.now().as_nanos(), 2_000_000);
/// assert_eq!(Instant::MAX + Duration::from_secs(1), Instant::MAX, "saturates");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Instant(u64);

impl Instant {
    /// The clock's origin.
    pub const ZERO: Self = Self(0);
    /// The last point of a timeline. No clock advances beyond it.
    pub const MAX: Self = Self(u64::MAX);

    /// Returns the point `nanoseconds` after the clock's origin.
    #[inline]
    #[must_use]
    pub const fn from_nanos(nanoseconds: u64) -> Self {
        Self(nanoseconds)
    }

    /// Returns the nanoseconds since the clock's origin.
    #[inline]
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Returns the time from `earlier` to this point, or zero if `earlier` is the later one.
    #[inline]
    #[must_use]
    pub const fn duration_since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

/// The methods that [`TimeQueue`](crate::TimeQueue) and the timers of futures call. On targets
/// where the standard library has no time, they use this type in place of the standard library's
/// `Instant`.
#[cfg(all(target_family = "wasm", target_os = "unknown"))]
#[doc(hidden)]
#[allow(missing_docs)]
impl Instant {
    #[must_use]
    pub fn checked_add(self, span: Duration) -> Option<Self> {
        self.0.checked_add(nanos(span)).map(Self)
    }

    #[must_use]
    pub fn saturating_duration_since(self, earlier: Self) -> Duration {
        self.duration_since(earlier)
    }
}

/// The same as [`duration_since`](Instant::duration_since).
impl Sub for Instant {
    type Output = Duration;

    #[inline]
    fn sub(self, earlier: Self) -> Duration {
        self.duration_since(earlier)
    }
}

/// Saturates at [`MAX`](Instant::MAX).
impl Add<Duration> for Instant {
    type Output = Self;

    #[inline]
    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(nanos(span)))
    }
}

/// Saturates at [`MAX`](Instant::MAX).
impl AddAssign<Duration> for Instant {
    #[inline]
    fn add_assign(&mut self, span: Duration) {
        *self = *self + span;
    }
}

/// Saturates at [`ZERO`](Instant::ZERO).
impl Sub<Duration> for Instant {
    type Output = Self;

    #[inline]
    fn sub(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(nanos(span)))
    }
}

/// Prints the nanoseconds, for example `Instant(5 ns)`.
impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Instant({} ns)", self.0)
    }
}

/// Returns the nanoseconds of a duration, or [`u64::MAX`] if it is 584 years or longer.
#[inline]
pub(crate) const fn nanos(duration: Duration) -> u64 {
    // In the usual case this needs no 128-bit multiplication.
    match duration.as_secs().checked_mul(1_000_000_000) {
        Some(seconds) => seconds.saturating_add(duration.subsec_nanos() as u64),
        None => u64::MAX,
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
