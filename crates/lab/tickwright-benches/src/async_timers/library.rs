//! The timers of each library, as implementations of one trait.

use core::future::Future;
use core::pin::Pin;
use core::time::Duration;
use std::sync::LazyLock;
use std::time::Instant;

use tickwright_async::{Sleep, Slot, Timers};

/// A library with timers for futures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Library {
    Ours,
    /// Our timers, with one slot for each connection.
    Slot,
    Tokio,
    /// One sleep of tokio, pinned and reset for each time-out, as users write it by hand.
    Pinned,
    Pingora,
    AsyncIo,
    FuturesTimer,
}

impl Library {
    /// The libraries that have sleeps. Pingora comes last, because after its first use its thread
    /// wakes 100 times per second.
    pub(crate) const SLEEP: [Self; 5] =
        [Self::Ours, Self::Tokio, Self::AsyncIo, Self::FuturesTimer, Self::Pingora];

    /// All libraries, in the order of [`SLEEP`](Self::SLEEP).
    pub(crate) const ALL: [Self; 7] =
        [Self::Ours, Self::Slot, Self::Tokio, Self::Pinned, Self::AsyncIo, Self::FuturesTimer, Self::Pingora];

    /// Returns whether the library's timers need a runtime of tokio.
    pub(crate) const fn is_tokio(self) -> bool {
        matches!(self, Self::Tokio | Self::Pinned)
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Ours => "tickwright",
            Self::Slot => "tickwright, slot",
            Self::Tokio => "tokio",
            Self::Pinned => "tokio, pinned",
            Self::Pingora => "pingora-timeout",
            Self::AsyncIo => "async-io",
            Self::FuturesTimer => "futures-timer",
        }
    }

    /// Returns how early a sleep of the library is allowed to end. pingora-timeout truncates the
    /// time and the delay to whole milliseconds before it adds them.
    pub(crate) const fn may_be_early(self) -> Duration {
        match self {
            Self::Pingora => Duration::from_millis(2),
            _ => Duration::ZERO,
        }
    }
}

/// A sleep that can be moved.
pub(crate) trait Reset: Future + Send + 'static {
    /// Moves the sleep to an instant. A library that only accepts delays receives the delay until
    /// that instant.
    fn reset(self: Pin<&mut Self>, deadline: Instant);
}

impl Reset for Sleep {
    fn reset(self: Pin<&mut Self>, deadline: Instant) {
        self.get_mut().reset(deadline);
    }
}

impl Reset for tokio::time::Sleep {
    fn reset(self: Pin<&mut Self>, deadline: Instant) {
        tokio::time::Sleep::reset(self, deadline.into());
    }
}

impl Reset for async_io::Timer {
    fn reset(self: Pin<&mut Self>, deadline: Instant) {
        self.get_mut().set_at(deadline);
    }
}

impl Reset for futures_timer::Delay {
    fn reset(self: Pin<&mut Self>, deadline: Instant) {
        let after = deadline.saturating_duration_since(Instant::now());
        futures_timer::Delay::reset(self.get_mut(), after);
    }
}

/// The sleeps of a library, and its time-outs if it has them.
pub(crate) trait Sleeps {
    type Sleep: Future + Send + 'static;
    fn sleep(after: Duration) -> Self::Sleep;
}

/// Libraries that have time-outs for futures.
pub(crate) trait TimesOut {
    /// Returns whether `future` was ready in time.
    fn timeout<F: Future>(after: Duration, future: F) -> impl Future<Output = bool>;
}

/// Our timers, which a separate thread drives.
pub(crate) static TIMERS: LazyLock<Timers> = LazyLock::new(|| Timers::global().clone());

pub(crate) fn slot() -> Slot {
    TIMERS.slot()
}

pub(crate) struct Ours;
pub(crate) struct Tokio;
pub(crate) struct Pingora;
pub(crate) struct AsyncIo;
pub(crate) struct FuturesTimer;

impl Sleeps for Ours {
    type Sleep = Sleep;
    fn sleep(after: Duration) -> Sleep {
        TIMERS.sleep(after)
    }
}

impl TimesOut for Ours {
    fn timeout<F: Future>(after: Duration, future: F) -> impl Future<Output = bool> {
        let timeout = TIMERS.timeout(after, future);
        async { timeout.await.is_ok() }
    }
}

impl Sleeps for Tokio {
    type Sleep = tokio::time::Sleep;
    fn sleep(after: Duration) -> tokio::time::Sleep {
        tokio::time::sleep(after)
    }
}

impl TimesOut for Tokio {
    fn timeout<F: Future>(after: Duration, future: F) -> impl Future<Output = bool> {
        let timeout = tokio::time::timeout(after, future);
        async { timeout.await.is_ok() }
    }
}

impl Sleeps for Pingora {
    type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;
    fn sleep(after: Duration) -> Self::Sleep {
        Box::pin(pingora_timeout::fast_timeout::fast_sleep(after))
    }
}

impl TimesOut for Pingora {
    fn timeout<F: Future>(after: Duration, future: F) -> impl Future<Output = bool> {
        let timeout = pingora_timeout::fast_timeout::fast_timeout(after, future);
        async { timeout.await.is_ok() }
    }
}

impl Sleeps for AsyncIo {
    type Sleep = async_io::Timer;
    fn sleep(after: Duration) -> async_io::Timer {
        async_io::Timer::after(after)
    }
}

impl Sleeps for FuturesTimer {
    type Sleep = futures_timer::Delay;
    fn sleep(after: Duration) -> futures_timer::Delay {
        futures_timer::Delay::new(after)
    }
}
